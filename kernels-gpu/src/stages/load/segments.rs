//! Where the segments of a launch lie: extents of any lengths, one after the other; and how warps share them out.
//!
//! Segments and their elements stand on one line: segment `s` at `offsets[s] + s × COST`, for a segment has a cost of its own
//! beside its elements'. The line is cut into ranges of as many places as a tile has elements, one for each warp. What begins in
//! its range, a warp folds: whole segments of at most a tile, and tiles of longer ones. So neither many empty segments nor one
//! huge one among tiny ones leave a warp with more than two ranges' work, and where a warp begins is found by a search.

use crate::{
    element::Type,
    simt::Simt,
    stages::load::{
        around::Around,
        extents::{Extents, Input, after},
        search::first_not,
        source::{At, Source},
    },
};

/// What a segment costs beside its elements, in bytes of elements: its offset, its answer, its finish.
const COST_BYTES: usize = 64;

/// Segments.
#[derive(Clone, Copy)]
pub struct Segments<T: Source> {
    /// The first element of each array, where segments follow one another.
    start: At<T>,
    count: u64,
    /// The number of each segment's first element, and that of all elements: `count + 1` numbers, none less than the one
    /// before.
    offsets: *const u64,
    /// Whether the segments lie apart: then `count` addresses follow the offsets, of the first element of each; and as
    /// many more for each further array.
    has_addresses: bool,
    /// Memory that may be read, where they do not lie apart.
    around: T::Each<Around>,
}

/// A segment, or the tile of it that begins in a range.
#[derive(Clone, Copy)]
pub struct SegmentPiece<T: Source> {
    /// What is to be folded; nothing where the segment is empty.
    pub input: Input<T>,
    /// Elements of the segment.
    pub len: u64,
    /// Elements of the array before the segment.
    pub offset: u64,
    /// The number of the tile in its segment.
    pub tile: u64,
    /// Whether there is such a segment, of which something begins in the range.
    pub exists: bool,
}

/// What a segment costs beside its elements, in elements of a type.
#[must_use]
pub const fn cost(element: Type) -> u64 {
    (COST_BYTES / element.bytes()) as u64
}

/// Where a segment begins and where it ends, in elements of the array.
#[derive(Clone, Copy)]
pub struct Ends(u64, u64);

impl Ends {
    /// Elements between them.
    fn len(self) -> u64 {
        self.1 - self.0
    }
}

/// How many words a number has: as many loads.
pub const NUMBER: usize = 2;

impl<T: Source> Extents<T> {
    /// What was passed of segments: the layout is their numbers.
    pub fn segments(self) -> Segments<T> {
        debug_assert!(!self.layout.is_null(), "numbers of segments");
        Segments {
            start: self.start,
            count: self.count,
            offsets: self.layout,
            has_addresses: T::all(T::map(self.step, |step| step != 0)),
            around: self.around,
        }
    }
}

impl<T: Source> Segments<T> {
    /// The number at `at` of those before the elements: `at <= count`, or where segments lie apart less than `count + 1` and `count` for each array.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn number<S: Simt>(self, simt: S, at: u64) -> u64 {
        let from = self.offsets.wrapping_add(at as usize).cast::<u32>();
        // SAFETY: there are so many, as the extents' maker has it.
        unsafe { u64::from(simt.load_input(from)) | u64::from(simt.load_input(from.wrapping_add(1))) << 32 }
    }

    /// The lowest segment that begins at place `place` of the line or behind it; `count` where there is none.
    ///
    /// Called by: all 32 lanes together, with the same place · Valid in: every lane
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn first_from<S: Simt>(self, simt: S, place: u64) -> u64 {
        first_not(simt, self.count, |at| {
            self.number(simt, at) + at * cost(T::ELEMENT) < place
        })
    }

    /// What may be read around a segment of `len` elements from `start` on.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn around_of(self, start: At<T>, len: u64) -> T::Each<Around> {
        if self.has_addresses {
            Input::<T>::alone(start, len).around
        } else {
            self.around
        }
    }

    /// What lane `from` has of its segment, which each lane names for itself: less than 2³² elements.
    ///
    /// Called by: all 32 lanes together · Valid in: every lane · Scratch: none
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn of_lane<S: Simt>(self, simt: S, mine: Input<T>, from: u32) -> Input<T> {
        let start = T::map(mine.start, |mine| {
            let address = mine.addr() as u64;
            let low = u64::from(simt.shuffle(address as u32, from));
            let high = u64::from(simt.shuffle((address >> 32) as u32, from));
            mine.with_addr((low | high << 32) as usize)
        });
        let len = u64::from(simt.shuffle(mine.len as u32, from));
        let around = self.around_of(start, len);
        Input { start, len, around }
    }

    /// Where the segment of that number begins and ends; nowhere if there is none.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn ends<S: Simt>(self, simt: S, number: u64) -> Ends {
        if number < self.count {
            Ends(self.number(simt, number), self.number(simt, number + 1))
        } else {
            Ends(0, 0)
        }
    }

    /// What begins in the range of `range` places from `place` on, of the segment of that number, whose ends are given: itself, or
    /// where it has more than `range` elements a tile of so many.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn piece<S: Simt>(self, simt: S, number: u64, ends: Ends, place: u64, range: u64) -> SegmentPiece<T> {
        let (offset, len) = (ends.0, ends.len());
        let begins = offset + number * cost(T::ELEMENT);
        // A tile's worth of places is a power of two.
        let tile = if begins < place {
            ((place - begins - 1) >> u32::trailing_zeros(range as u32)) + 1
        } else {
            0
        };
        let before = tile * range;
        let exists =
            number < self.count && begins + before < place + range && (tile == 0 || len > range && before < len);
        let left = if exists { (len - before).min(range) } else { 0 };
        let mut start = after::<T>(self.start, offset);
        if self.has_addresses && exists {
            start = T::each(|array| {
                let at = self.count + 1 + array as u64 * self.count + number;
                T::of(start, array).with_addr(self.number(simt, at) as usize)
            });
        }
        let around = self.around_of(start, len);
        let input = Input {
            start: after::<T>(start, before),
            len: left,
            around,
        };
        SegmentPiece {
            input,
            len,
            offset,
            tile,
            exists,
        }
    }
}

impl<T: Source> SegmentPiece<T> {
    /// Whether its segment has more than the tile.
    pub fn is_tile(&self, range: u64) -> bool {
        self.len > range
    }

    /// Tiles of its segment.
    pub fn tiles(&self, range: u64) -> u64 {
        ((self.len - 1) >> u32::trailing_zeros(range as u32)) + 1
    }

    /// The first slot of its segment, which has more than a tile: two for each tile that was before are enough, however
    /// segments divide them.
    pub fn first_slot(&self, range: u64) -> u64 {
        2 * (self.offset >> u32::trailing_zeros(range as u32))
    }
}
