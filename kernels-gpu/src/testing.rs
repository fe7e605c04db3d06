//! The laws of an operator and of a row operation, checked: for the tests of a crate of your own (feature `testing`).
//!
//! ```
//! use warpfold_kernels::{monoids::Sum, testing::check_laws};
//!
//! check_laws(Sum, &[0.0_f32, -0.0, 1.5, -3.0, 1e38, f32::INFINITY, f32::NAN]);
//! ```

extern crate std;

mod rows;

pub use rows::{check_row_laws, check_row_params};

use std::{fmt::Debug, vec::Vec};

use crate::{
    arithmetic::single,
    element::Element,
    monoids::{Bounded, Monoid, Words},
    ops::OwnOperator,
    tree::{
        self, AtHand, ByWords as _, ColumnFold as _, Part, PartFold as _, Place, Positional as _, Prefilter as _, ROWS,
        RelativeSum as _, Unordered as _, row_elements, vector_elements,
    },
};

/// Checks what every operator promises, **to the bit**, over states of one, two and three of `samples`, so pick those with which it
/// could go wrong: both zeros, NaN, infinities, the largest and smallest numbers, equal ones, and some of no distinction.
///
/// * The identity is neutral, on either side.
/// * Two states may change places, and so may their answer; but [in order](crate::monoids::InOrder).
/// * A state survives its journey as words, each of which is asked for once and in order.
/// * A state that is shifted is one of elements further on.
/// * No fold notices a [`filler`](Monoid::filler), of an operator that has one.
/// * A column has the state that pairs of neighbours have, unless the operator [folds columns](crate::monoids::Algebra::folds_columns) in its own way; of nothing it is the
///   identity.
/// * What `may_change` says changes nothing, changes nothing; and `may_change_among` misses no element that may change something.
/// * Of one that [associates](crate::monoids::Algebra::associates), three states may meet in either order, and none is changed by a shift.
/// * Of one that sets something [aside](crate::monoids::Algebra::unordered_words), either part of a state is what it is without the other, what is aside associates,
///   `fold_fast` and `fold_slow` give what the canonical tree gives, and where nothing may change what is aside, nothing does.
/// * A `fold_part` of the operator's own gives what the canonical tree gives.
/// * Of one that [sums relative to the largest element](crate::monoids::Algebra::sums_relative), such sums have the bits of states that are combined.
///
/// * Of one that has a [maximum of words](crate::monoids::Algebra::has_word_maximum), the larger of two elements in words may what either may.
///
/// NaNs of a state count as one, for their payloads are the hardware's choice: words that differ are let pass where both are a NaN,
/// as an f32 or, in pairs, as an f64. An answer has one bit pattern.
///
/// # Panics
///
/// Where a law does not hold; the message says which, and over what.
pub fn check_laws<T: Element + Debug, M: Monoid<T>>(op: M, samples: &[T]) {
    assert!(!samples.is_empty(), "no samples");
    let runs: Vec<Vec<T>> = (1..=3)
        .flat_map(|len| (0..samples.len()).map(move |first| (first, len)))
        .map(|(first, len)| samples.iter().cycle().skip(first).take(len).copied().collect())
        .collect();
    let identity = op.identity();
    same(op.combine(identity, identity), identity, "two identities", &());
    for a in &runs {
        let state = fold(op, a, 7);
        same(op.combine(identity, state), state, "the identity first", a);
        same(op.combine(state, identity), state, "the identity last", a);
        check_journey(state, a);
        check_journey(op.finish(state, a.len() as u64), a);
        for by in [1, 1 << 33] {
            same(
                op.positional().shift(state, by),
                fold(op, a, 7 + by),
                "shifted elements",
                a,
            );
        }
        for b in &runs {
            let other = fold(op, b, 100);
            let (ab, ba) = (op.combine(state, other), op.combine(other, state));
            if M::ALGEBRA.commutes {
                same(ab, ba, "two states that change places", &(a, b));
                let count = (a.len() + b.len()) as u64;
                let answers = [ab, ba].map(|state| words(op.finish(state, count)));
                assert_eq!(answers[0], answers[1], "the answer of {a:?} and {b:?} in either order");
            }
            if M::ALGEBRA.associates {
                let third = fold(op, &runs[0], 300);
                let last = op.combine(state, op.combine(other, third));
                same(op.combine(ab, third), last, "three states, the last two first", &(a, b));
                same(
                    op.positional().shift(state, 5),
                    state,
                    "a shifted state of an operator that associates",
                    a,
                );
            }
        }
        if M::ALGEBRA.unordered_words > 0 {
            for b in &runs {
                check_aside(op, [state, fold(op, b, 100), fold(op, &runs[0], 300)], &(a, b));
            }
            check_known(op, samples, state);
        }
        if M::ALGEBRA.asks_at_once {
            check_at_once(op, samples, state);
        }
        if M::ALGEBRA.sums_relative {
            check_relative(op, a, state);
        }
        if M::ALGEBRA.has_word_maximum {
            check_by_words(op, samples, state);
        }
        if let Some(filler) = op.filler() {
            let filler = [7, 1000].map(|index| op.lift(filler, index));
            for filler in [filler[0], filler[1], op.combine(filler[0], filler[1])] {
                same(op.combine(filler, state), state, "a filler first", a);
                same(op.combine(state, filler), state, "a filler last", a);
            }
        }
        for value in samples {
            if M::ALGEBRA.selects && !op.prefilter().may_change(state, *value) {
                let after = op.combine(state, op.lift(*value, 1000));
                same(after, state, "an element that may not change the fold", &(a, value));
            }
        }
    }
    check_parts(op, samples);
    check_columns(op, samples);
}

/// Checks that an operator's own `fold_part` gives what the canonical tree gives.
fn check_parts<T: Element + Debug, M: Monoid<T>>(op: M, samples: &[T]) {
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
fn check_columns<T: Element + Debug, M: Monoid<T>>(op: M, samples: &[T]) {
    let fold = |column| op.column_fold().fold_column(column, 3, 128);
    same(fold([Place::empty(); ROWS]), op.identity(), "a column of nothing", &());
    if M::ALGEBRA.folds_columns {
        return;
    }
    for first in 0..samples.len() {
        for len in [1, ROWS - 1, ROWS] {
            let mut column = [Place::empty(); ROWS];
            for (row, place) in column.iter_mut().take(len).enumerate() {
                *place = Place::of(samples[(first + row) % samples.len()]);
            }
            let pairs = tree::fold_column_in_pairs(op, column, 3, 128);
            same(fold(column), pairs, "a column", &(first, len));
        }
    }
}

/// Checks that the larger of two elements, found by words, may what either may: change a fold, or be its state.
fn check_by_words<T: Element + Debug, M: Monoid<T>>(op: M, samples: &[T], best: M::State) {
    let words = op.by_words();
    let of = |value: T| match size_of::<T>() {
        2 => 0x0001_0001 * (value.word(0) & 0xffff) ^ words.turned_signs(),
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

/// Checks that what is set aside of three states may meet in any order, and that neither part of a state asks for the other.
fn check_aside<T, M: Monoid<T>>(op: M, [a, b, c]: [M::State; 3], of: &dyn Debug) {
    let parts = |state| [false, true].map(|aside| part_of::<T, M>(op, state, aside));
    let both = op.combine(a, b);
    let left = parts(op.combine(both, c))[1];
    let right = parts(op.combine(a, op.combine(b, c)))[1];
    same(left, right, "what is set aside of three states, the last two first", of);
    for (part, name) in [(0, "what meets in the tree, alone"), (1, "what is set aside, alone")] {
        let alone = op.combine(parts(a)[part], parts(b)[part]);
        same(parts(alone)[part], parts(both)[part], name, of);
    }
}

/// Checks that sums relative to the largest element of a run are its fold.
fn check_relative<T: Element + Debug, M: Monoid<T>>(op: M, run: &[T], state: M::State) {
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
fn check_at_once<T: Element, M: Monoid<T>>(op: M, samples: &[T], best: M::State) {
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
fn check_known<T: Element, M: Monoid<T>>(op: M, samples: &[T], before: M::State) {
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

/// Checks that an operator and the one that its kernels make of [`parameter`](OwnOperator::parameter) fold `samples` alike.
///
/// # Panics
///
/// Where they do not.
pub fn check_parameter<T: Element + Debug, R: OwnOperator<Monoid: Monoid<T>>>(op: R, samples: &[T]) {
    let (there, here) = (R::of_parameter(op.parameter()).monoid(), op.monoid());
    same(there.identity(), here.identity(), "the identity by the parameter", &());
    for len in 1..=samples.len() {
        let state = |op| fold(op, &samples[..len], 0);
        same(state(there), state(here), "a fold by the parameter", &len);
        let answer = |op: R::Monoid| words(op.finish(state(op), len as u64));
        assert_eq!(
            answer(there),
            answer(here),
            "the answer by the parameter, of {:?}",
            &samples[..len]
        );
    }
}

/// The state of a run whose first element has index `first`.
fn fold<T: Copy, M: Monoid<T>>(op: M, run: &[T], first: u64) -> M::State {
    let lifted = (first..).zip(run).map(|(index, value)| op.lift(*value, index));
    lifted.reduce(|a, b| op.combine(a, b)).unwrap_or(op.identity())
}

fn words<W: Words>(value: W) -> Vec<u32> {
    (0..W::COUNT).map(|i| value.word(i)).collect()
}

fn check_journey<W: Words>(value: W, of: &dyn Debug) {
    let mut asked = 0;
    let back = W::from_words(|i| {
        assert_eq!(i, asked, "words are asked for once each and in order");
        asked += 1;
        value.word(i)
    });
    assert_eq!(asked, W::COUNT, "as many words as `COUNT` says");
    assert_eq!(
        words(back),
        words(value),
        "a value came back from its words another, of {of:?}"
    );
}

/// Fails unless two states are the same but for the payloads of NaNs.
fn same<W: Words>(a: W, b: W, what: &str, over: &dyn Debug) {
    let (a, b) = (words(a), words(b));
    let single = |word: u32| f32::from_bits(word).is_nan();
    let double = |words: &[u32], high: usize| {
        high > 0 && f64::from_bits(u64::from(words[high]) << 32 | u64::from(words[high - 1])).is_nan()
    };
    let nan =
        |words: &[u32], i: usize| single(words[i]) || double(words, i) || i + 1 < words.len() && double(words, i + 1);
    for i in 0..a.len() {
        assert!(
            a[i] == b[i] || nan(&a, i) && nan(&b, i),
            "{what}: {a:x?} is not {b:x?}, over {over:?}"
        );
    }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        monoids::{Algebra, Arg, Describe, Extremum, Map, Mean, PartFold, Product, Sum, Transform},
        ops::Commutative,
    };

    const SAMPLES: [f32; 8] = [0.0, -0.0, 1.5, -3.0, 1e38, 1e-40, f32::INFINITY, f32::NAN];

    /// The size of a number, as a step in front of another operator.
    #[derive(Clone, Copy, Debug)]
    struct Size;

    impl Transform<f32> for Size {
        type Output = f64;
        fn apply(self, value: f32) -> f64 {
            f64::from(value.abs())
        }
    }

    #[test]
    fn operators_and_steps_in_front_of_them_keep_the_laws() {
        check_laws(Sum, &SAMPLES);
        check_laws(Product, &SAMPLES);
        check_laws((Extremum::SMALLEST, Extremum::LARGEST), &SAMPLES);
        check_laws(Arg::LARGEST, &SAMPLES);
        check_laws(Sum, &[3_u8, 0, 255, 7]);
        check_laws(Arg::SMALLEST.last(), &[3_u8, 0, 255, 7, 128, 3]);
        check_laws((Extremum::SMALLEST, Extremum::LARGEST), &[3_i16, 0, -1, i16::MIN, 256]);
        let of_size = |op| Map { transform: Size, op };
        check_laws(of_size(Arg::LARGEST), &SAMPLES);
        check_laws(
            Map {
                transform: Size,
                op: Mean,
            },
            &SAMPLES,
        );
        // The state of a step and an operator is the operator's state of what the step makes.
        for value in SAMPLES {
            let (through, direct) = (
                of_size(Arg::LARGEST).lift(value, 5),
                Arg::LARGEST.lift(Size.apply(value), 5),
            );
            same(through, direct, "a step in front", &value);
        }
    }

    /// Descriptions keep those of what is set aside; a sum that is does not.
    #[test]
    fn what_is_set_aside_associates() {
        let samples = [
            0.5_f32,
            -0.0,
            0.0,
            1.5,
            -3.0,
            1e30,
            1e-40,
            f32::INFINITY,
            f32::NAN,
            -2.0,
        ];
        check_laws(Describe::default(), &samples);
        check_laws(Describe::default(), &samples.map(f64::from));
        // Without what is not finite, so that something is known of more.
        check_laws(Describe::default(), &samples[..7]);

        #[derive(Clone, Copy)]
        struct Careless;

        impl Monoid<f32> for Careless {
            type State = (u32, f32);
            type Answer = u32;
            fn identity(self) -> (u32, f32) {
                (0, -0.0)
            }
            fn lift(self, value: f32, _: u64) -> (u32, f32) {
                (1, value)
            }
            fn combine(self, a: (u32, f32), b: (u32, f32)) -> (u32, f32) {
                (a.0 + b.0, a.1 + b.1)
            }
            const ALGEBRA: Algebra = Algebra {
                unordered_words: 1,
                ..Algebra::PLAIN
            };
            fn finish(self, state: (u32, f32), _: u64) -> u32 {
                state.0
            }
            fn empty(self) -> Option<u32> {
                None
            }
        }
        let law =
            std::panic::catch_unwind(|| check_laws(Careless, &[1.0_f32, 1e-8, -1.0, 3.0])).expect_err("it rounds");
        let said = law.downcast::<std::string::String>().expect("a message");
        assert!(said.starts_with("what is set aside of three states"), "{said}");
    }

    /// Operators that each break one law.
    #[derive(Clone, Copy, Debug)]
    enum Broken {
        Identity,
        Order,
        Fold,
        Parameter,
    }

    impl Monoid<f32> for Broken {
        type State = f32;
        type Answer = f32;
        fn identity(self) -> f32 {
            if matches!(self, Self::Identity) { 0.0 } else { -0.0 }
        }
        fn lift(self, value: f32, _: u64) -> f32 {
            value
        }
        fn combine(self, a: f32, b: f32) -> f32 {
            match self {
                // The first that is none.
                Self::Order if a.to_bits() == (-0.0_f32).to_bits() => b,
                Self::Order => a,
                _ => a + b,
            }
        }
        fn part_fold(self) -> impl PartFold<f32, f32> {
            self
        }
        fn finish(self, sum: f32, _: u64) -> f32 {
            if sum.is_nan() { f32::NAN } else { sum }
        }
        fn empty(self) -> Option<f32> {
            Some(0.0)
        }
    }

    impl PartFold<f32, f32> for Broken {
        fn fold_part(self, part: impl Part<f32>) -> f32 {
            match self {
                Self::Fold => tree::chain(self, part),
                _ => tree::fold_part(self, part),
            }
        }
    }

    impl Commutative for Broken {}

    impl OwnOperator for Broken {
        type Monoid = Self;
        fn monoid(self) -> Self {
            self
        }
        fn of_parameter(_: u64) -> Self {
            Self::Identity
        }
    }

    #[test]
    #[should_panic(expected = "the identity first")]
    fn an_identity_that_changes_a_bit_is_found() {
        check_laws(Broken::Identity, &SAMPLES);
    }

    #[test]
    #[should_panic(expected = "two states that change places")]
    fn an_operator_that_does_not_commute_is_found() {
        check_laws(Broken::Order, &[0.0, 1.5, 1.0]);
    }

    #[test]
    #[should_panic(expected = "its own fold")]
    fn another_order_in_a_lane_is_found() {
        check_laws(Broken::Fold, &[1.0, 1e8, -1e8, 3.0]);
    }

    #[test]
    #[should_panic(expected = "by the parameter")]
    fn a_parameter_that_loses_something_is_found() {
        check_parameter(Broken::Parameter, &[0.0_f32]);
    }
}
