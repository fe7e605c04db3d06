//! Columns: extents that are neighbours, so that the 16 bytes a lane reads are an element of each of several.

use crate::{
    element::{Element, Item as _},
    monoids::Monoid,
    simt::Simt,
    stages::{
        each::each,
        load::{
            extents::Extents,
            source::{At, Source},
            words::{Vectors, WORDS, load_element},
        },
        narrow,
    },
    tree::{ROWS, row_elements, vector_elements},
};

/// A column of the tree, of each answer of a vector.
#[derive(Clone, Copy)]
pub struct LaneColumn<T: Source> {
    /// The first element of the first answer.
    start: At<T>,
    /// From an element to the next of the same answer, in elements.
    step: T::Each<i64>,
    /// Elements from there on.
    present: u32,
    is_aligned: bool,
}

impl<T: Source> LaneColumn<T> {
    /// Of the vector of answers from number `answer` on, which are a number of whole vectors without a layout: from element `first` of each on. It is empty where there are no such answers.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn of<S: Simt>(simt: S, extents: Extents<T>, answer: u64, first: u64) -> Self {
        debug_assert!(
            extents.layout.is_null() && extents.count.is_multiple_of(vector_elements::<T>() as u64),
            "whole vectors"
        );
        debug_assert!(
            answer.is_multiple_of(vector_elements::<T>() as u64),
            "the first of a vector"
        );
        let len = if answer < extents.count { extents.len } else { 0 };
        let by = T::map(extents.step, |step| (first as i64 * step) as isize + answer as isize);
        Self {
            start: T::further(extents.start, by),
            step: extents.step,
            present: narrow(simt, u64::saturating_sub(len, first)),
            is_aligned: extents.is_first_aligned(),
        }
    }

    /// How many elements there are from there on.
    pub fn present(self) -> u32 {
        self.present
    }

    /// One of no elements.
    #[must_use]
    pub fn absent(self) -> Self {
        Self { present: 0, ..self }
    }

    /// The vectors of its rows, fillers where there is none.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn read<S: Simt, M: Monoid<T>>(self, simt: S, op: M) -> T::Each<Vectors<ROWS>> {
        let fillers = T::fillers(op.filler());
        T::each(|array| {
            let filler = T::of(fillers, array).unwrap_or([0; WORDS]);
            self.read_array(simt, array, filler)
        })
    }

    /// Those of an array.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn read_array<S: Simt>(self, simt: S, array: usize, filler: [u32; WORDS]) -> Vectors<ROWS> {
        let width = const { row_elements::<T>() };
        let start = T::of(self.start, array);
        let pitch = T::of(self.step, array) as isize * width as isize;
        let mut words = [filler; ROWS];
        if self.is_aligned {
            each!(row < ROWS => {
                let is_there = (row as u32 * width as u32) < self.present;
                let from = start.wrapping_offset(row as isize * pitch).cast();
                // SAFETY: a vector is of elements that there are, and aligned as the first.
                words[row] = unsafe { simt.load_input_vector_if(is_there, from, filler) };
            });
            return words;
        }
        // In a loop, for it is seldom run: each in turn is put behind the others.
        let (mut row, mut from) = (simt.opaque(0), start);
        while row < ROWS as u32 {
            let mut vector = filler;
            if row * (width as u32) < self.present {
                // SAFETY: as above, but for the alignment.
                vector = unsafe { elements(simt, from) };
            }
            each!(row < ROWS => words[row] = if row + 1 < ROWS { words[(row + 1) % ROWS] } else { vector });
            from = from.wrapping_offset(pitch);
            row = simt.opaque(row + 1);
        }
        words
    }

    /// The column behind it.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[must_use]
    pub fn next(self) -> Self {
        Self {
            start: T::further(self.start, T::map(self.step, |step| step as isize)),
            present: u32::saturating_sub(self.present, 1),
            ..self
        }
    }
}

/// A vector of elements that are not aligned as one.
///
/// # Safety
///
/// They are there, and nobody writes them.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
unsafe fn elements<S: Simt, T: Element>(simt: S, from: *const T) -> [u32; WORDS] {
    debug_assert!(vector_elements::<T>() <= 8, "as many as are written out");
    let mut words = [0; WORDS];
    each!(i < vector_elements::<T>() => {
        // SAFETY: the caller's word.
        let bits = unsafe { load_element(simt, from.wrapping_add(i)) };
        let byte = i * T::BYTES;
        words[byte / 4 % WORDS] |= (bits as u32) << (8 * (byte % 4));
        if T::BYTES == 8 {
            words[(byte / 4 + 1) % WORDS] = (bits >> 32) as u32;
        }
    });
    words
}
