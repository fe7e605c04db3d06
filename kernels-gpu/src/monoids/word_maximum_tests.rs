//! That words of elements fold as the elements do, to the bit.

extern crate std;

use std::{fmt::Debug, vec::Vec};

use proptest::prelude::*;

use super::{Arg, End, Extremum, Monoid, Words as _};
use crate::{
    element::{Real, bf16, f16},
    stages::{
        load::{
            source::Source,
            words::{Vectors, WORDS},
        },
        reduce::packed::Packed,
    },
    tree::{Prefilter as _, ROWS, vector_elements},
};

/// Bits of 16 that are numbers of every kind, and NaNs of both signs, as both types have them.
const HALVES: [u16; 20] = [
    0, 0x8000, 1, 0x8001, 0x007f, 0x0080, 0x83ff, 0x0400, 0x3c00, 0xbc00, 0x3f80, 0xbf80, 0x7bff, 0x7c00, 0xfc00,
    0x7c01, 0xfe00, 0x7f80, 0xff80, 0xffff,
];

/// Those of 32: the same with something behind them, or nothing.
fn single(half: u16, low: u16) -> u32 {
    u32::from(half) << 16 | u32::from(low)
}

/// Vectors of these words fold to what their elements do one after the other, and ask for what one of them asks for.
fn check<T: Real + Source<Each<Vectors<ROWS>> = Vectors<ROWS>> + Debug>(vectors: Vectors<ROWS>, before: T) {
    let columns = vector_elements::<T>();
    let elements: Vec<T> = (0..ROWS * columns)
        .map(|at| T::item(&vectors, at / columns, at % columns))
        .collect();
    for op in [Extremum::LARGEST, Extremum::SMALLEST] {
        let packed = Packed(op);
        let lift = |value: &T| Monoid::<T>::lift(op, *value, 0);
        let all = |a: &[T]| {
            let nothing = Monoid::<T>::identity(op);
            a.iter()
                .fold(nothing, |all, value| Monoid::<T>::combine(op, all, lift(value)))
        };
        let word = packed.word::<T, ROWS>(vectors);
        assert_eq!(
            packed.state::<T>(word).word(0),
            all(&elements).word(0),
            "{op:?} of {elements:?}"
        );
        // Words with a filler, or another element's, are what its state would be.
        let filler: T = op.filler().expect("floats have one");
        let filled = Monoid::<T>::combine(packed, word, Monoid::<T>::lift(packed, filler, 0));
        assert_eq!(
            packed.state::<T>(filled).word(0),
            all(&elements).word(0),
            "{op:?} of {elements:?}"
        );
        let with = Monoid::<T>::combine(packed, word, Monoid::<T>::lift(packed, before, 0));
        let state = Monoid::<T>::combine(op, all(&elements), lift(&before));
        assert_eq!(
            packed.state::<T>(with).word(0),
            state.word(0),
            "{op:?} of {before:?} and {elements:?}"
        );
        // Each column by itself.
        let vector = packed.vector::<T, ROWS>(vectors);
        for column in 0..columns {
            let of: Vec<T> = elements.iter().copied().skip(column).step_by(columns).collect();
            let state = lift(&packed.element::<T>(vector, column));
            assert_eq!(state.word(0), all(&of).word(0), "{op:?} of {of:?}");
        }
        check_may_change(op, lift(&before), &elements, word);
        let arg = if op.order.end == End::Largest {
            Arg::LARGEST
        } else {
            Arg::SMALLEST
        };
        for arg in [arg, arg.last()] {
            check_may_change(arg, Monoid::<T>::lift(arg, before, 0), &elements, word);
        }
    }
}

fn check_may_change<T: Source + Debug, M: Monoid<T> + Debug>(op: M, best: M::State, elements: &[T], word: u32) {
    let any = elements.iter().any(|value| op.prefilter().may_change(best, *value));
    assert_eq!(
        op.prefilter().may_change(best, Packed(op).finish(word, 0)),
        any,
        "{op:?} of {elements:?}"
    );
}

proptest! {
    #[test]
    fn words_fold_as_their_elements_do(
        halves in prop::collection::vec(prop::sample::select(&HALVES[..]), 64),
        lows in prop::collection::vec(prop::sample::select(&[0, 0, 1, 0xffff][..]), 32),
        before in prop::sample::select(&HALVES[..]),
        kinds in 0..HALVES.len(),
    ) {
        // Of few kinds, too, so that NaN and infinities are not always there.
        let of = |at: usize| {
            let half = halves[at];
            if HALVES.iter().position(|other| *other == half) < Some(kinds) { half } else { HALVES[at % 2] }
        };
        let mut pairs = [[0; WORDS]; ROWS];
        let mut singles = pairs;
        for at in 0..ROWS * WORDS {
            pairs[at / WORDS][at % WORDS] = single(of(2 * at + 1), of(2 * at));
            singles[at / WORDS][at % WORDS] = single(of(at), lows[at]);
        }
        check::<bf16>(pairs, bf16::from_bits(before));
        check::<f16>(pairs, f16::from_bits(before));
        check::<f32>(singles, f32::from_bits(single(before, lows[0])));
    }
}

/// Every two of them, in either place of a word.
#[test]
fn the_larger_of_two_is_that_of_the_higher_key() {
    for a in HALVES {
        for b in HALVES {
            let word = single(a, b);
            let of = |row: usize| {
                if row == 0 {
                    [word, single(b, a), single(a, a), word]
                } else {
                    [single(b, b); WORDS]
                }
            };
            let vectors = [0, 1, 1, 1, 1, 1, 1, 1].map(of);
            check::<bf16>(vectors, bf16::from_bits(a));
            check::<f16>(vectors, f16::from_bits(a));
            check::<f32>(vectors, f32::from_bits(word));
        }
    }
}

/// Halves of words are equal where their elements are, whatever the other halves.
fn check_equal<T: Real>(from: impl Fn(u16) -> T) {
    let equal = T::WORD_EQUAL.expect("floats of 16 bits have it");
    for (a, b) in HALVES.iter().flat_map(|a| HALVES.map(|b| (*a, b))) {
        let both = if from(a).to_f64() == from(b).to_f64() {
            0xffff
        } else {
            0
        };
        for (low, high) in [(0x3c00, 0x3c00), (0x3c00, 0xbc00)] {
            let others = if low == high { 0xffff } else { 0 };
            let word = |lower: u16, upper: u16| single(upper, lower);
            assert_eq!(
                equal(word(a, low), word(b, high)),
                both | others << 16,
                "{a:#x} and {b:#x}"
            );
            assert_eq!(
                equal(word(low, a), word(high, b)),
                others | both << 16,
                "{a:#x} and {b:#x}"
            );
        }
    }
}

#[test]
fn halves_are_equal_where_their_elements_are() {
    check_equal(f16::from_bits);
    check_equal(bf16::from_bits);
}
