//! Maxima of words as memory has them: two floats of 16 bits at a time, or one of 32, in one instruction where the machine has it. Only what is left of a lane's
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
    tree::{ByWords, vector_elements},
};

/// Whether an operator has [a maximum of words](ByWords), and the machine an instruction for it.
pub const fn has_maximum<S: Simt, T, M: Monoid<T>>() -> bool {
    S::HAS_WORD_MAXIMUM && M::ALGEBRA.has_word_maximum
}

/// Whether that maximum is all that an operator folds: it asks for no element's index, and what memory has not is a filler.
pub const fn is_maximum<S: Simt, T, M: Monoid<T>>() -> bool {
    S::HAS_WORD_MAXIMUM && is_of_words::<T, M>()
}

/// The same of any machine: where words are what there is room for, it is worth several instructions.
pub const fn is_of_words<T, M: Monoid<T>>() -> bool {
    M::ALGEBRA.has_word_maximum && M::ALGEBRA.associates
}

/// An operator by words of elements, each the largest so far at its place, with [signs turned](ByWords::turned_signs).
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
            let word = vectors[row][i] ^ self.0.by_words().turned_signs();
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
        let words = largest.map(|word| word ^ self.0.by_words().turned_signs());
        T::item(&T::each(|_| [words]), 0, number)
    }

    /// This lane's state of words with elements of two neighbouring lanes' answers, this one's in the lower half if its number is even. The neighbour has read those at other
    /// places.
    ///
    /// Called by: all 32 lanes together · Valid in: every lane, its own answer's · Scratch: none
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn state_of_shared<S: Simt, T: Source, const N: usize>(self, simt: S, words: Vectors<N>) -> M::State
    where
        M: Monoid<T>,
    {
        debug_assert!(word_elements::<T>() == 2, "two neighbours share a word");
        let mine = self.word(words);
        let both = self.combine(mine, simt.shuffle_xor(mine, 1));
        let element = both >> (16 * (simt.lane() & 1)) & 0xffff;
        self.state(element | element << 16)
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
        T::of(T::fillers(self.0.filler()), 0).unwrap_or_default()[0] ^ self.0.by_words().turned_signs()
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn lift(self, value: T, _: u64) -> u32 {
        T::of(T::fillers(Some(value)), 0).unwrap_or_default()[0] ^ self.0.by_words().turned_signs()
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn combine(self, a: u32, b: u32) -> u32 {
        self.0.by_words().maximum(a, b)
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
