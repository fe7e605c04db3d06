//! Where the extents of a launch lie: each is folded to an answer of its own.

use crate::{
    simt::Simt,
    stages::load::{
        around::Around,
        mask,
        source::{At, Source},
    },
    tree::{leaf_elements, vector_elements},
};

/// `count` extents of `len` elements.
#[derive(Clone, Copy)]
pub struct Extents<T: Source> {
    /// The first element of the first extent, of each array.
    pub start: At<T>,
    /// Elements of an extent.
    pub len: u64,
    /// How many extents there are.
    pub count: u64,
    /// From the start of an extent to that of the next, in elements; unless there is a `layout`.
    pub stride: T::Each<i64>,
    /// From an element of an extent to the next, in elements; unless there is a `layout`.
    pub step: T::Each<i64>,
    /// Of segments their numbers ([`Segments`](crate::stages::load::segments::Segments)), which lie apart where no `step` is 0. Otherwise null, or the dimensions, where an extent's number or an element's stands for several indices: how many are kept and
    /// how many are folded, then the size of each and its stride in each array, the innermost first, those that are kept before those
    /// that are folded.
    pub layout: *const u64,
    /// Memory that may be read: all between the first element and the last.
    pub around: T::Each<Around>,
}

/// Numbers in a layout before the dimensions.
pub const LAYOUT_HEAD: usize = 2;

impl<T: Source> Extents<T> {
    /// One extent, in one run: a whole array.
    #[must_use]
    pub fn one(start: At<T>, len: u64) -> Self {
        Self {
            start,
            len,
            count: 1,
            stride: T::each(|_| 0),
            step: T::each(|_| 1),
            layout: core::ptr::null(),
            around: Input::<T>::new(start, len).around,
        }
    }

    /// The only extent, which lies in one run.
    pub fn whole(self) -> Input<T> {
        Input {
            start: self.start,
            len: self.len,
            around: self.around,
        }
    }

    /// The extent of that number, which lies in one run.
    ///
    /// # Safety
    ///
    /// The layout is valid and unwritten for the whole launch.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub unsafe fn run<S: Simt>(self, simt: S, number: u64) -> Input<T> {
        Input {
            // SAFETY: passed on to the caller.
            start: unsafe { self.first(simt, number) },
            len: self.len,
            around: self.around,
        }
    }

    /// The same where there is no layout: extents lie a stride apart.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn regular(self, number: u64) -> Input<T> {
        let offset = T::map(self.stride, |stride| (number as i64 * stride) as isize);
        Input {
            start: T::further(self.start, offset),
            len: self.len,
            around: self.around,
        }
    }

    /// The address of the first element of an extent.
    ///
    /// # Safety
    ///
    /// As [`run`](Self::run).
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub unsafe fn first<S: Simt>(self, simt: S, number: u64) -> At<T> {
        if self.layout.is_null() {
            return self.regular(number).start;
        }
        // SAFETY: passed on to the caller.
        let offset = unsafe { self.offset(simt, Of::Kept, number) };
        T::further(self.start, T::map(offset, |offset| offset as isize))
    }

    /// How far the element of that number is from its extent's first, by the layout.
    ///
    /// # Safety
    ///
    /// As [`run`](Self::run), and there is a layout.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub unsafe fn within<S: Simt>(self, simt: S, number: u64) -> T::Each<i64> {
        // SAFETY: passed on to the caller.
        unsafe { self.offset(simt, Of::Folded, number) }
    }

    /// The sum of a number's digits, each times its dimension's stride.
    ///
    /// # Safety
    ///
    /// As [`within`](Self::within).
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn offset<S: Simt>(self, simt: S, of: Of, mut number: u64) -> T::Each<i64> {
        // SAFETY: passed on to the caller: the heads, then a size and a stride in each array for each dimension.
        let at = |i: usize| unsafe {
            let word = |half: usize| u64::from(simt.load(self.layout.wrapping_add(i).cast::<u32>().wrapping_add(half)));
            word(0) | word(1) << 32
        };
        let kept = at(0) as usize;
        let (first, dimensions) = match of {
            Of::Kept => (0, kept),
            Of::Folded => (kept, at(1) as usize),
        };
        let mut offset = T::each(|_| 0);
        let mut dimension = 0;
        while dimension < dimensions {
            let of_dimension = LAYOUT_HEAD + (1 + T::ARRAYS) * (first + dimension);
            // No size is 0. That it is said so is for the compiler, which would have a panic for it.
            let size = at(of_dimension).max(1);
            let digit = (number % size) as i64;
            let strides = T::each(|array| at(of_dimension + 1 + array) as i64);
            offset = T::map(T::zip(offset, strides), |(offset, stride)| offset + digit * stride);
            number /= size;
            dimension += 1;
        }
        offset
    }
}

/// Which dimensions.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    Kept,
    Folded,
}

/// An extent that lies in one run: `len` elements from `start` on, read where they are.
#[derive(Clone, Copy)]
pub struct Input<T: Source> {
    /// The first element, of each array.
    pub start: At<T>,
    /// How many there are.
    pub len: u64,
    /// Memory that may be read around it: small elements share their words with others.
    pub around: T::Each<Around>,
}

/// The address `items` items further in each array.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub(crate) fn after<T: Source>(start: At<T>, items: u64) -> At<T> {
    T::further(start, T::each(|_| items as isize))
}

impl<T: Source> Input<T> {
    /// An extent by itself.
    #[must_use]
    pub fn new(start: At<T>, len: u64) -> Self {
        let around = T::map(T::zip(start, T::pitches()), |(start, pitch)| {
            let first = start.addr();
            Around(first, first + len as usize * pitch)
        });
        Self { start, len, around }
    }

    /// Whether its start is one that a wide load takes, in each array: of a mask one of as many bytes as a vector has elements.
    #[must_use]
    pub fn is_aligned(self) -> bool {
        T::all(T::map(T::zip(self.start, T::pitches()), |(start, pitch)| {
            start.addr().is_multiple_of(pitch * vector_elements::<T>())
        }))
    }

    /// How many leaves are whole: the first.
    #[must_use]
    pub fn whole_leaves(self) -> u64 {
        self.len / leaf_elements::<T>() as u64
    }

    /// Whether all words that it touches may be read, in each array: of elements of whole words they may.
    #[must_use]
    pub fn has_words(self) -> bool {
        T::all(T::map(
            T::zip(self.start, T::zip(self.around, T::pitches())),
            |(start, (around, pitch))| {
                let is_read = !T::MASKED || mask::is_there(start);
                pitch >= 4 || !is_read || around.has_words(start.addr(), pitch * self.len as usize)
            },
        ))
    }
}
