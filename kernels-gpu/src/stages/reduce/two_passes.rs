//! The index of a largest element in two passes over words: the maximum, and then a mask of the elements that equal it. A lane's part by itself is searched so by
//! the operator, one element after the other; here two floats of 16 bits are compared at a time, and all rows of a warp together.

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
    tree::{ByWords as _, row_elements, vector_elements},
};

/// Whether an operator [selects](crate::monoids::Algebra::selects) the index of such a largest element, and nothing else.
pub const fn takes_two_passes<S: Simt, T, M: Monoid<T>>() -> bool {
    has_maximum::<S, T, M>() && M::ALGEBRA.selects && M::ALGEBRA.has_word_equal
}

/// An operator that [seeks the index of a largest element](takes_two_passes), in extents of less than 2³² elements: a state is the element's key above the
/// place, so the larger of two states is the better. Not of NaNs, which are all alike.
#[derive(Clone, Copy)]
pub struct TwoPasses<M>(pub M);

/// No element matches.
const NONE: u32 = 0;

impl<M> TwoPasses<M> {
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
    pub fn matches<T: Source>(self, vector: [u32; WORDS], largest: u32) -> u32
    where
        M: Monoid<T>,
    {
        let by_words = self.0.by_words();
        let sought = largest ^ by_words.turned_signs();
        let mut matches = NONE;
        each!(i < WORDS, 4 => {
            let of_word = if word_elements::<T>() == 2 { 1 << (2 * i) | 1 << (2 * i + 17) } else { 1 << i };
            matches |= by_words.equal(vector[i], sought) & of_word;
        });
        if word_elements::<T>() == 2 {
            matches = (matches | matches >> 16) & 0xff;
        }
        matches
    }

    /// Whether all places of a word have a NaN, if one has.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn is_nan<T: Source>(self, largest: u32) -> bool
    where
        M: Monoid<T>,
    {
        self.0.by_words().equal(largest, largest) == 0
    }

    /// The state of a lane's elements that [match](Self::matches) `largest`, if any does. Bit 0 is element `first`. Each group of as many bits as a vector has
    /// elements is a row of the leaf further on.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn state<T: Source>(self, largest: u32, matches: u32, first: u32) -> u64
    where
        M: Monoid<T>,
    {
        if matches == NONE {
            return Monoid::<T>::identity(self);
        }
        let turned = self.0.by_words().turned_indices();
        let number = if turned == 0 {
            u32::trailing_zeros(matches)
        } else {
            31 - u32::leading_zeros(matches)
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
            .lift(element, u64::from(!(state as u32) ^ self.0.by_words().turned_indices()))
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

impl<T: Source, M: Monoid<T>> Monoid<T> for TwoPasses<M> {
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
        u64::from(!(state as u32) ^ self.0.by_words().turned_indices())
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn empty(self) -> Option<u64> {
        None
    }
}
