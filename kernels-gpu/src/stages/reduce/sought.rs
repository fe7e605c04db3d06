//! The index of a largest element by words: how large it is first, and then which elements are. That is a third of the instructions of keys and indices that
//! compete from one element to the next.

use super::packed::{Packed, has_maximum};
use crate::{
    monoids::Monoid,
    simt::Simt,
    stages::{
        each::each,
        load::{
            source::Source,
            words::{WORDS, word_elements},
        },
    },
    tree::{row_elements, vector_elements},
};

/// Whether an operator [selects](crate::monoids::Algebra::selects) the index of such a largest element, and nothing else.
pub const fn seeks_maximum<S: Simt, T, M: Monoid<T>>() -> bool {
    has_maximum::<S, T, M>() && M::WORD_EQUAL.is_some()
}

/// An operator that [seeks the index of a largest element](seeks_maximum), in extents of less than 2³² elements: a state is the element's key above the
/// place, so the larger of two states is the better. Not of NaNs, which are all alike.
#[derive(Clone, Copy)]
pub struct Sought<M>(pub M);

/// The places of a vector's elements among which none is equal.
const NONE: u32 = 0;

impl<M> Sought<M> {
    /// The largest element of a vector, at all places of a word.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn largest<T: Source>(self, vector: [u32; WORDS]) -> u32
    where
        M: Monoid<T>,
    {
        let word = Packed(self.0).word([vector]);
        if word_elements::<T>() == 2 {
            Packed(self.0).combine(word, u32::rotate_left(word, 16))
        } else {
            word
        }
    }

    /// A bit for each element of a vector that is as large as `largest`, those of lower indices lower.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn marks<T: Source>(self, vector: [u32; WORDS], largest: u32) -> u32
    where
        M: Monoid<T>,
    {
        let Some(equal) = M::WORD_EQUAL else {
            return NONE;
        };
        let sought = largest ^ self.0.turned_signs();
        let mut marks = NONE;
        each!(i < WORDS, 4 => {
            let of_word = if word_elements::<T>() == 2 { 1 << (2 * i) | 1 << (2 * i + 17) } else { 1 << i };
            marks |= equal(vector[i], sought) & of_word;
        });
        if word_elements::<T>() == 2 {
            marks = (marks | marks >> 16) & 0xff;
        }
        marks
    }

    /// Whether all places of a word have a NaN, if one has.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn is_nan<T: Source>(self, largest: u32) -> bool
    where
        M: Monoid<T>,
    {
        M::WORD_EQUAL.is_some_and(|equal| equal(largest, largest) == 0)
    }

    /// The state of a lane's elements of which those that have a mark are as large as `largest`, if any has. They are marked in the order of their
    /// indices: the lowest is `first`, in as many bits as a vector has elements, and the next such bits are a row of the leaf further on.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn state<T: Source>(self, largest: u32, marks: u32, first: u32) -> u64
    where
        M: Monoid<T>,
    {
        if marks == NONE {
            return Monoid::<T>::identity(self);
        }
        let turned = self.0.turned_places();
        let number = if turned == 0 {
            u32::trailing_zeros(marks)
        } else {
            31 - u32::leading_zeros(marks)
        };
        let (row, column) = (
            number / vector_elements::<T>() as u32,
            number % vector_elements::<T>() as u32,
        );
        let place = (first + row * row_elements::<T>() as u32 + column) ^ turned;
        u64::from(key::<T>(largest)) << 32 | u64::from(!place)
    }

    /// The operator's own state.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn found<T: Source>(self, state: u64) -> M::State
    where
        M: Monoid<T>,
    {
        let key = (state >> 32) as u32;
        // What `key` did, the other way.
        let bits = key ^ (((!key as i32) >> 31) as u32 | 1 << 31);
        let element = if word_elements::<T>() == 2 { bits >> 16 } else { bits };
        let element = Packed(self.0).element([element; WORDS], 0);
        self.0
            .lift(element, u64::from(!(state as u32) ^ self.0.turned_places()))
    }
}

/// An unsigned number of the order of floats, zeros being one; 0 is less than any's. Of two in a word it is the upper one's.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn key<T: Source>(word: u32) -> u32 {
    let bits = if word_elements::<T>() == 2 {
        word & 0xffff_0000
    } else {
        word
    };
    // −0.0 and +0.0 make +0.0. Those of 16 bits are some other f32, of the same order.
    let bits = (f32::from_bits(bits) + 0.0).to_bits();
    bits ^ (((bits as i32) >> 31) as u32 | 1 << 31)
}

impl<T: Source, M: Monoid<T>> Monoid<T> for Sought<M> {
    type State = u64;
    type Answer = u64;

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn identity(self) -> u64 {
        0
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn lift(self, value: T, index: u64) -> u64 {
        let word = Monoid::<T>::lift(Packed(self.0), value, 0);
        self.state::<T>(word, 1, index as u32)
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn combine(self, a: u64, b: u64) -> u64 {
        a.max(b)
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn finish(self, state: u64, _: u64) -> u64 {
        u64::from(!(state as u32) ^ self.0.turned_places())
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn empty(self) -> Option<u64> {
        None
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec::Vec;

    use proptest::prelude::{Strategy, *};

    use super::*;
    use crate::{
        element::{Real, bf16, f16},
        monoids::Arg,
    };

    /// Few different numbers, so that many are equal; zeros of both signs, subnormal ones, infinities.
    fn numbers() -> impl Strategy<Value = Vec<f32>> {
        const SOME: [f32; 10] = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            1.5,
            -3.0e-5,
            3.0e-5,
            f32::INFINITY,
            f32::NEG_INFINITY,
            7.0e-6,
        ];
        prop::collection::vec(prop::sample::select(&SOME[..]), 8)
    }

    /// The vectors of elements, the operator's state of each vector by words, and that of them all.
    fn is_sought<T: Real + Source>(values: &[f32], from: impl Fn(f32) -> T) -> Result<(), TestCaseError> {
        let width = vector_elements::<T>();
        for op in [Arg::LARGEST, Arg::SMALLEST, Arg::LARGEST.last(), Arg::SMALLEST.last()] {
            let (mut by_words, mut expected) = (Monoid::<T>::identity(Sought(op)), Monoid::<T>::identity(op));
            for (number, values) in values.chunks(width).enumerate() {
                let first = (number * width) as u32;
                let mut vector = [0; WORDS];
                for (i, &value) in values.iter().enumerate() {
                    let value = from(value);
                    vector[i / word_elements::<T>()] |=
                        value.word(0) << (32 / word_elements::<T>() * (i % word_elements::<T>()));
                    let index = u64::from(first) + i as u64;
                    expected = Monoid::<T>::combine(op, expected, op.lift(value, index));
                }
                let largest = Sought(op).largest::<T>(vector);
                prop_assert!(!Sought(op).is_nan::<T>(largest));
                let marks = Sought(op).marks::<T>(vector, largest);
                let state = Sought(op).state::<T>(largest, marks, first);
                by_words = Monoid::<T>::combine(Sought(op), by_words, state);
            }
            prop_assert!(Sought(op).found::<T>(by_words) == expected, "{op:?} of {values:?}");
            prop_assert_eq!(
                Monoid::<T>::finish(Sought(op), by_words, 8),
                Monoid::<T>::finish(op, expected, 8)
            );
        }
        Ok(())
    }

    proptest! {
        #[test]
        fn an_index_by_words_is_the_operators(values in numbers()) {
            is_sought::<f32>(&values, |value| value)?;
            is_sought::<f16>(&values, |value| <f16 as crate::element::Float>::from_f64(value.into()))?;
            is_sought::<bf16>(&values, |value| <bf16 as crate::element::Float>::from_f64(value.into()))?;
        }
    }

    #[test]
    fn a_nan_is_told() {
        for op in [Arg::LARGEST, Arg::SMALLEST] {
            for at in 0..4 {
                let mut vector = [1.0_f32.to_bits(); WORDS];
                vector[at] = f32::NAN.to_bits();
                assert!(Sought(op).is_nan::<f32>(Sought(op).largest::<f32>(vector)));
                vector = [0x3f80_3f80; WORDS];
                vector[at] = 0x7fc0_3f80;
                assert!(Sought(op).is_nan::<bf16>(Sought(op).largest::<bf16>(vector)));
            }
            let none = Sought(op).state::<f32>(0, 0, 0);
            assert_eq!(none, Monoid::<f32>::identity(Sought(op)));
        }
    }
}
