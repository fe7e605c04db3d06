//! Where the extents of a launch lie: each is folded to an answer of its own.
//!
//! What stands here is a view: a launch makes it once, by its word that the memory is valid, and what is read through it is within.

use crate::{
    simt::Simt,
    stages::{
        load::{
            around::Around,
            mask,
            source::{At, Source, load_item},
        },
        narrow,
    },
    tree::{leaf_elements, vector_elements},
};

/// Where one of the arrays lies, as a launch passes it.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Array {
    /// The first element of the first extent.
    pub start: *const u8,
    /// From the start of an extent to that of the next, in elements.
    pub stride: i64,
    /// From an element of an extent to the next, in elements.
    pub step: i64,
    /// Memory that may be read: all between the first element and the last.
    pub around: Around,
}

impl Array {
    /// Of no memory.
    pub const NONE: Self = Self {
        start: core::ptr::null(),
        stride: 0,
        step: 0,
        around: Around(0, 0),
    };
}

/// Extents of one length.
#[derive(Clone, Copy)]
pub struct Extents<T: Source> {
    pub(super) start: At<T>,
    pub(super) len: u64,
    pub(super) count: u64,
    pub(super) stride: T::Each<i64>,
    pub(super) step: T::Each<i64>,
    pub(super) layout: *const u64,
    pub(super) around: T::Each<Around>,
}

/// Numbers in a layout before the dimensions.
pub const LAYOUT_HEAD: usize = 2;

impl<T: Source> Extents<T> {
    /// `count` extents of `len` elements, of as many of the arrays as items have.
    ///
    /// The layout is, of segments, their numbers ([`Segments`](super::segments::Segments)), which lie apart where no `step` is 0. Otherwise it is null, or the
    /// dimensions, where an extent's number or an element's stands for several indices: how many are kept and
    /// how many are folded, then the size of each and its stride in each array, the innermost first, those that are kept before those
    /// that are folded. Strides and steps of arrays count where there is none.
    ///
    /// # Safety
    ///
    /// All elements of the extents, the layout, and the memory around are valid for the whole launch, and nobody writes them, but the threads that read an element once they have. Second
    /// arrays without an address are not read.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub unsafe fn new([first, second]: [Array; 2], len: u64, count: u64, layout: *const u64) -> Self {
        let each = |array: usize| if array == 0 { first } else { second };
        Self {
            start: T::each(|array| each(array).start.cast()),
            len,
            count,
            stride: T::each(|array| each(array).stride),
            step: T::each(|array| each(array).step),
            layout,
            around: T::each(|array| each(array).around),
        }
    }

    /// Elements of an extent.
    pub fn len(self) -> u64 {
        self.len
    }

    /// Whether extents have no elements.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// How many extents there are.
    pub fn count(self) -> u64 {
        self.count
    }

    /// The first element of the first extent.
    pub fn start(self) -> At<T> {
        self.start
    }

    /// From the start of an extent to that of the next, in elements, unless there is a layout.
    pub fn stride(self) -> T::Each<i64> {
        self.stride
    }

    /// From an element of an extent to the next, in elements, unless there is a layout.
    pub fn step(self) -> T::Each<i64> {
        self.step
    }

    /// The layout; null where there is none.
    pub fn layout(self) -> *const u64 {
        self.layout
    }

    /// Memory that may be read.
    pub fn around(self) -> T::Each<Around> {
        self.around
    }

    /// The same without a layout: strides and steps are all there is.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[must_use]
    pub fn without_layout(self) -> Self {
        let layout = core::ptr::null();
        Self { layout, ..self }
    }

    /// The same of a length that is each turn's own to a compiler: what it makes of one would wait in registers from turn to turn.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[must_use]
    pub fn in_turn<S: Simt>(self, simt: S, turn: u32) -> Self {
        let len = u64::from(simt.opaque(self.len as u32 ^ turn) ^ turn);
        Self { len, ..self }
    }

    /// The only extent, which lies in one run.
    pub fn whole(self) -> Input<T> {
        debug_assert!(self.count == 1 && self.layout.is_null(), "one extent, in one run");
        self.run_from(self.start)
    }

    /// All elements of an array that is folded whole or in segments.
    pub fn all(self) -> Input<T> {
        self.run_from(self.start)
    }

    /// Nothing of it.
    pub fn nothing(self) -> Input<T> {
        Input {
            len: 0,
            ..self.run_from(self.start)
        }
    }

    /// An extent whose first element is there.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn run_from(self, start: At<T>) -> Input<T> {
        Input {
            start,
            len: self.len,
            around: self.around,
        }
    }

    /// Whether the first extent is aligned to vectors.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(crate) fn is_first_aligned(self) -> bool {
        self.run_from(self.start).is_aligned()
    }

    /// The extent of that number, which there is, and which lies in one run.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn run<S: Simt>(self, simt: S, number: u64) -> Input<T> {
        debug_assert!(number < self.count, "an extent that is there");
        self.run_from(self.first(simt, number))
    }

    /// The same, and nothing where there is no such extent; by strides where it is `regular`, without a layout.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn run_or_nothing<S: Simt>(self, simt: S, number: u64, regular: bool) -> Input<T> {
        let start = if regular {
            self.regular_start(number)
        } else {
            self.first(simt, number)
        };
        if number < self.count {
            self.run_from(start)
        } else {
            self.nothing()
        }
    }

    /// The address of the first element of an extent where there is no layout.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(crate) fn regular_start(self, number: u64) -> At<T> {
        let offset = T::map(self.stride, |stride| (number as i64 * stride) as isize);
        T::further(self.start, offset)
    }

    /// The address of the first element of an extent.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn first<S: Simt>(self, simt: S, number: u64) -> At<T> {
        if self.layout.is_null() {
            return self.regular_start(number);
        }
        let offset = self.offset(simt, Of::Kept, number);
        T::further(self.start, T::map(offset, |offset| offset as isize))
    }

    /// How far the element of that number is from its extent's first.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn within<S: Simt>(self, simt: S, number: u64) -> T::Each<i64> {
        if self.layout.is_null() {
            T::map(self.step, |step| step * number as i64)
        } else {
            self.within_layout(simt, number)
        }
    }

    /// The same by the layout that there is.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn within_layout<S: Simt>(self, simt: S, number: u64) -> T::Each<i64> {
        self.offset(simt, Of::Folded, number)
    }

    /// The sum of a number's digits, each times its dimension's stride.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn offset<S: Simt>(self, simt: S, of: Of, mut number: u64) -> T::Each<i64> {
        // SAFETY: so this view's maker has it: the heads, then a size and a stride in each array for each dimension.
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

/// An extent that lies in one run, read where it is.
#[derive(Clone, Copy)]
pub struct Input<T: Source> {
    pub(super) start: At<T>,
    pub(super) len: u64,
    pub(super) around: T::Each<Around>,
}

/// The address `items` items further in each array.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub(crate) fn after<T: Source>(start: At<T>, items: u64) -> At<T> {
    T::further(start, T::each(|_| items as isize))
}

impl<T: Source> Input<T> {
    /// `len` elements from `start` on, by themselves.
    ///
    /// # Safety
    ///
    /// They are valid, and unwritten for the whole launch.
    #[must_use]
    pub unsafe fn new(start: At<T>, len: u64) -> Self {
        Self::alone(start, len)
    }

    /// The same of elements that a view has.
    pub(super) fn alone(start: At<T>, len: u64) -> Self {
        let around = T::map(T::zip(start, T::pitches()), |(start, pitch)| {
            let first = start.addr();
            Around(first, first + len as usize * pitch)
        });
        Self { start, len, around }
    }

    /// How many elements there are.
    pub fn len(self) -> u64 {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// The first so many of its elements, of which it has no fewer.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[must_use]
    pub fn first(self, len: u64) -> Self {
        debug_assert!(len <= self.len, "so many elements");
        Self { len, ..self }
    }

    /// Those from element `number` on.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[must_use]
    pub fn from(self, number: u64) -> Self {
        Self {
            start: after::<T>(self.start, number),
            len: u64::saturating_sub(self.len, number),
            ..self
        }
    }

    /// The element of that number, if there is one.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn get<S: Simt>(self, simt: S, number: u64) -> Option<T> {
        // SAFETY: it is one of this view's.
        (number < self.len).then(|| unsafe { load_item(simt, after::<T>(self.start, number)) })
    }

    /// The elements from number `first` on, one by one.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn items<S: Simt>(self, simt: S, first: u64) -> Items<T> {
        Items {
            start: after::<T>(self.start, first),
            present: narrow(simt, u64::saturating_sub(self.len, first)),
        }
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

/// Elements that follow one another, by number: as many as a part may have.
#[derive(Clone, Copy)]
pub struct Items<T: Source> {
    start: At<T>,
    present: u32,
}

impl<T: Source> Items<T> {
    /// The element of that number, if there is one.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn get<S: Simt>(self, simt: S, number: u32) -> Option<T> {
        // SAFETY: it is present.
        (number < self.present).then(|| unsafe { load_item(simt, after::<T>(self.start, number.into())) })
    }

    /// Those from element `number` on.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[must_use]
    pub fn from(self, number: u32) -> Self {
        Self {
            start: after::<T>(self.start, number.into()),
            present: u32::saturating_sub(self.present, number),
        }
    }
}
