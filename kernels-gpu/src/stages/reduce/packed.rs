//! Maxima of words as memory has them: two floats of 16 bits at a time, or one of 32, in one instruction. Only what is left of a lane's
//! vectors, or of a row, becomes a state.
//!
//! No order of a maximum changes a bit, so elements need not be combined as the canonical tree has them.

use crate::{
    monoids::Monoid,
    simt::Simt,
    stages::{
        each::each,
        load::{
            source::Source,
            words::{Vectors, WORDS, word_elements},
        },
    },
    tree::vector_elements,
};

/// Whether an operator has [a maximum of words](Monoid::WORD_MAXIMUM), and the machine an instruction for it.
pub const fn has_maximum<S: Simt, T, M: Monoid<T>>() -> bool {
    S::HAS_WORD_MAXIMUM && M::WORD_MAXIMUM.is_some()
}

/// Whether that maximum is all that an operator folds: it asks for no element's index, and what memory has not is a filler.
pub const fn is_maximum<S: Simt, T, M: Monoid<T>>() -> bool {
    has_maximum::<S, T, M>() && M::ALGEBRA.associates
}

/// An operator by words of elements, each the largest so far at its place, with [signs turned](Monoid::turned_signs).
#[derive(Clone, Copy)]
pub struct Packed<M>(pub M);

impl<M> Packed<M> {
    /// The largest at each place of a vector.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn vector<T: Source, const N: usize>(self, vectors: Vectors<N>) -> [u32; WORDS]
    where
        M: Monoid<T>,
    {
        let mut largest = [0; WORDS];
        each!(row < N => each!(i < WORDS, 4 => {
            let word = vectors[row][i] ^ self.0.turned_signs();
            largest[i] = if row == 0 { word } else { self.combine(largest[i], word) };
        }));
        largest
    }

    /// The largest at each place of a word.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn word<T: Source, const N: usize>(self, vectors: Vectors<N>) -> u32
    where
        M: Monoid<T>,
    {
        self.word_of(vectors, 0, vector_elements::<T>())
    }

    /// The same of the words of `count` columns from column `first` on: of one, two or four whole words.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn word_of<T: Source, const N: usize>(self, vectors: Vectors<N>, first: usize, count: usize) -> u32
    where
        M: Monoid<T>,
    {
        let words = self.vector(vectors);
        let word = |number: usize| words[(first / word_elements::<T>() + number) % WORDS];
        match count / word_elements::<T>() {
            1 => word(0),
            2 => self.combine(word(0), word(1)),
            _ => self.combine(self.combine(word(0), word(1)), self.combine(word(2), word(3))),
        }
    }

    /// An element of such a vector.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn element<T: Source>(self, largest: [u32; WORDS], number: usize) -> T
    where
        M: Monoid<T>,
    {
        let words = largest.map(|word| word ^ self.0.turned_signs());
        T::item(&T::each(|_| [words]), 0, number)
    }

    /// The operator's state of a word's elements.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn state<T: Source>(self, word: u32) -> M::State
    where
        M: Monoid<T>,
    {
        self.0.lift(self.finish(word, 0), 0)
    }
}

impl<T: Source, M: Monoid<T>> Monoid<T> for Packed<M> {
    type State = u32;
    type Answer = T;

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn identity(self) -> u32 {
        T::of(T::fillers(self.0.filler()), 0).unwrap_or_default()[0] ^ self.0.turned_signs()
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn lift(self, value: T, _: u64) -> u32 {
        T::of(T::fillers(Some(value)), 0).unwrap_or_default()[0] ^ self.0.turned_signs()
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn combine(self, a: u32, b: u32) -> u32 {
        match M::WORD_MAXIMUM {
            Some(maximum) => maximum(a, b),
            None => a,
        }
    }
    /// The largest element.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn finish(self, word: u32, _: u64) -> T {
        let largest = if word_elements::<T>() == 2 {
            self.combine(word, word >> 16)
        } else {
            word
        };
        self.element([largest; WORDS], 0)
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn empty(self) -> Option<T> {
        None
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::{fmt::Debug, vec::Vec};

    use proptest::prelude::*;

    use super::*;
    use crate::{
        element::{Real, bf16, f16},
        monoids::{Arg, End, Extremum, Monoid, Words as _},
        tree::{ROWS, vector_elements},
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
        let any = elements.iter().any(|value| op.may_change(best, *value));
        assert_eq!(
            op.may_change(best, Packed(op).finish(word, 0)),
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
}
