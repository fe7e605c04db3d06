//! The laws of what only some operators are.

extern crate std;

use std::{fmt::Debug, vec::Vec};

use super::{fold, same};
use crate::{
    arithmetic::single,
    element::Element,
    monoids::{Bounded, Monoid, Words},
    tree::{
        self, AtHand, ByWords as _, ColumnFold as _, Part, PartFold as _, Positional as _, Predicated, Prefilter as _,
        ROWS, RelativeSum as _, Unordered as _, row_elements, vector_elements,
    },
};

/// Checks that an operator's own `fold_part` gives what the canonical tree gives.
pub(super) fn check_parts<T: Element + Debug, M: Monoid<T>>(op: M, samples: &[T]) {
    for first in 0..samples.len() {
        for len in [0, 1, vector_elements::<T>() + 1, ROWS * vector_elements::<T>()] {
            let part = Cycle { samples, first, len };
            let own = op.part_fold().fold_part(part);
            same(
                own,
                tree::fold_part(op, part),
                "its own fold of a lane's part",
                &(first, len),
            );
        }
    }
}

/// Checks that columns have the states that pairs of neighbours have, unless the operator has a way of its own; and that nothing has the identity.
pub(super) fn check_columns<T: Element + Debug, M: Monoid<T>>(op: M, samples: &[T]) {
    let fold = |column| op.column_fold().fold_column(column, 3, 128);
    same(
        fold([Predicated::empty(); ROWS]),
        op.identity(),
        "a column of nothing",
        &(),
    );
    if M::ALGEBRA.folds_columns {
        return;
    }
    for first in 0..samples.len() {
        for len in [1, ROWS - 1, ROWS] {
            let mut column = [Predicated::empty(); ROWS];
            for (row, place) in column.iter_mut().take(len).enumerate() {
                *place = Predicated::of(samples[(first + row) % samples.len()]);
            }
            let pairs = tree::fold_column_in_pairs(op, column, 3, 128);
            same(fold(column), pairs, "a column", &(first, len));
        }
    }
}

/// Checks that the larger of two elements, found by words, may what either may: change a fold, or be its state.
pub(super) fn check_by_words<T: Element + Debug, M: Monoid<T>>(op: M, samples: &[T], best: M::State) {
    let words = op.by_words();
    let of = |value: T| match size_of::<T>() {
        2 => (0x0001_0001 * (value.word(0) & 0xffff)) ^ words.turned_signs(),
        _ => value.word(0) ^ words.turned_signs(),
    };
    for (i, a) in samples.iter().enumerate() {
        let b = samples[(i + 1) % samples.len()];
        let word = words.maximum(of(*a), of(b)) ^ words.turned_signs();
        let larger = T::from_words(|_| word & (u32::MAX >> (32 - 8 * size_of::<T>())));
        let may = |value| op.prefilter().may_change(best, value);
        assert_eq!(may(larger), may(*a) | may(b), "the larger of {a:?} and {b:?} by words");
        if M::ALGEBRA.associates {
            let both = op.combine(op.lift(*a, 0), op.lift(b, 0));
            same(op.lift(larger, 0), both, "the larger of two by words", &(a, b));
        }
    }
}

/// Checks that what is set aside of three states may be combined in any order, and that neither part of a state asks for the other.
pub(super) fn check_aside<T, M: Monoid<T>>(op: M, [a, b, c]: [M::State; 3], of: &dyn Debug) {
    let parts = |state| [false, true].map(|aside| part_of::<T, M>(op, state, aside));
    let both = op.combine(a, b);
    let left = parts(op.combine(both, c))[1];
    let right = parts(op.combine(a, op.combine(b, c)))[1];
    same(left, right, "what is set aside of three states, the last two first", of);
    for (part, name) in [
        (0, "what is combined in the tree, alone"),
        (1, "what is set aside, alone"),
    ] {
        let alone = op.combine(parts(a)[part], parts(b)[part]);
        same(parts(alone)[part], parts(both)[part], name, of);
    }
}

/// Checks that sums relative to the largest element of a run are its fold.
pub(super) fn check_relative<T: Element + Debug, M: Monoid<T>>(op: M, run: &[T], state: M::State) {
    let relative = op.relative_sum();
    let numbers: Vec<f32> = run.iter().map(|value| relative.number(*value)).collect();
    let largest = numbers.iter().copied().fold(f32::NEG_INFINITY, single::maximum);
    let all_bounded = numbers.iter().all(|number| relative.is_bounded(*number));
    for is_bounded in [false, all_bounded] {
        let terms = numbers.iter().map(|number| relative.term(largest, *number, is_bounded));
        let terms = terms.reduce(|a, b| a + b).unwrap_or(0.0);
        same(
            relative.of_terms(largest, terms, is_bounded),
            state,
            "a sum relative to the largest",
            &run,
        );
    }
    if all_bounded {
        same(fold(Bounded(op), run, 7), state, "elements within bounds", &run);
    }
}

/// Checks that no element of a word that may change a fold is missed.
pub(super) fn check_at_once<T: Element, M: Monoid<T>>(op: M, samples: &[T], best: M::State) {
    let bits = 8 * size_of::<T>() as u32;
    assert!(bits < 32, "a word holds several elements");
    for first in 0..samples.len() {
        let places = (0..32 / bits).map(|place| samples[(first + place as usize) % samples.len()]);
        let word = places.clone().rev().fold(0, |word, value| {
            word << bits | value.word(0) & (u32::MAX >> (32 - bits))
        });
        let expected = places.into_iter().any(|value| op.prefilter().may_change(best, value));
        let found = op.prefilter().may_change_among(best, word) != 0;
        assert!(
            found || !expected,
            "`may_change_among` of {word:#x}, elements from number {first} on"
        );
    }
}

/// Checks the ways to fold a part without holes, after others that folded to `before`.
pub(super) fn check_known<T: Element, M: Monoid<T>>(op: M, samples: &[T], before: M::State) {
    for first in 0..samples.len() {
        // Of one sample alone, and of all: few parts of all can change nothing.
        for samples in [&samples[first..=first], samples] {
            let len = ROWS * vector_elements::<T>();
            let part = AtHand(Cycle { samples, first, len });
            let expected = tree::fold_part(op, part.0);
            let (state, is_folded) = op.unordered().fold_fast(part, false);
            if is_folded {
                same(state, expected, "`fold_fast`", &first);
            }
            same(op.unordered().fold_slow(part), expected, "`fold_slow`", &first);
            if samples.iter().any(|value| op.prefilter().may_change(before, *value)) {
                continue;
            }
            let (state, is_folded) = op.unordered().fold_fast(part, true);
            if is_folded {
                let tree = |state| part_of::<T, M>(op, state, false);
                same(tree(state), tree(expected), "`fold_fast` of what is known", &first);
                let after = |state| part_of::<T, M>(op, op.combine(before, op.positional().shift(state, 1000)), true);
                same(after(state), after(expected), "what may change nothing", &first);
            }
        }
    }
}

/// What of a state is set aside, or what is not, the other part being that of nothing.
fn part_of<T, M: Monoid<T>>(op: M, state: M::State, aside: bool) -> M::State {
    let nothing = op.identity();
    M::State::from_words(|i| {
        if (i >= M::State::COUNT - M::ALGEBRA.unordered_words) == aside {
            state.word(i)
        } else {
            nothing.word(i)
        }
    })
}

/// A lane's part of a leaf that holds `len` elements, the samples in turns from number `first` on.
#[derive(Clone, Copy)]
struct Cycle<'a, T> {
    samples: &'a [T],
    first: usize,
    len: usize,
}

impl<T: Element> Part<T> for Cycle<'_, T> {
    const COLUMNS: usize = vector_elements::<T>();

    fn lift<M: Monoid<T>>(self, op: M, row: usize, column: usize) -> M::State {
        let number = row * vector_elements::<T>() + column;
        if number < self.len {
            let value = self.samples[(self.first + number) % self.samples.len()];
            op.lift(value, (row * row_elements::<T>() + column) as u64)
        } else {
            op.identity()
        }
    }
}
