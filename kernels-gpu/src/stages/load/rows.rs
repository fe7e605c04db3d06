//! Rows of whole vectors, of at most a leaf each: a warp reads 4 KiB of them at once.

use crate::{
    simt::Simt,
    stages::{
        load::{
            extents::Extents,
            source::Source,
            words::{ALL, Span, Vectors, each_row, load_whole},
        },
        narrow,
    },
    tree::{LANES, ROWS, row_elements, vector_elements},
};

/// Vectors that a lane has in flight together.
pub const VECTORS: usize = ROWS;

/// How a warp's lanes and their vectors are divided among rows: by powers of two, so there are shifts and masks, and no division.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tiling {
    /// Vectors of a row.
    pub vectors: u32,
    /// Binary logarithm of the lanes that share a row.
    pub lanes: u32,
    /// Binary logarithm of the vectors that a lane has of one: those of a column of the leaf.
    pub depth: u32,
}

impl Tiling {
    /// Of rows of 1 to 256 vectors.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[must_use]
    pub const fn of(vectors: u32) -> Self {
        let lanes = if vectors < LANES { vectors } else { LANES };
        Self {
            vectors,
            lanes: log_ceil(lanes),
            depth: log_ceil(vectors.div_ceil(LANES)),
        }
    }

    /// Binary logarithm of the rows that a lane has vectors of, its slots.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[must_use]
    pub const fn slots(self) -> u32 {
        u32::ilog2(VECTORS as u32) - self.depth
    }

    /// Rows of a slot, neighbours.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[must_use]
    pub const fn in_slot(self) -> u32 {
        LANES >> self.lanes
    }

    /// Rows of a warp.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[must_use]
    pub const fn rows(self) -> u32 {
        self.in_slot() << self.slots()
    }

    /// Whether every lane has a whole vector in each place, and rows fill 4 KiB.
    const fn is_full(self) -> bool {
        self.vectors == 1 << (self.lanes + self.depth)
    }

    /// This lane's number among those of its row.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn lane<S: Simt>(self, simt: S) -> u32 {
        simt.lane() & ((1 << self.lanes) - 1)
    }

    /// The row of the leaf that a vector is of, by its number.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(crate) const fn leaf_row(self, vector: usize) -> u32 {
        vector as u32 & ((1 << self.depth) - 1)
    }
}

/// The binary logarithm of a number, at least 1, rounded up.
const fn log_ceil(number: u32) -> u32 {
    u32::BITS - u32::leading_zeros(number - 1)
}

/// Rows that are read as this file does it: whole vectors, aligned, a regular stride apart.
#[derive(Clone, Copy)]
pub struct Tiled<T: Source> {
    extents: Extents<T>,
    tiling: Tiling,
}

/// What a lane has read of its warp's rows. Slot `s` has vectors from number `s << depth` on, a row of the leaf after another.
#[derive(Clone, Copy)]
pub struct RowVectors {
    /// The vectors, as memory has them; a filler where nothing was read.
    pub vectors: Vectors<VECTORS>,
    /// A bit for each that was read.
    pub present: u32,
    /// How they are divided.
    pub tiling: Tiling,
}

impl<T: Source> Tiled<T> {
    /// These extents, if they are such rows.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[must_use]
    pub fn of(extents: Extents<T>) -> Option<Self> {
        let vector = vector_elements::<T>() as u64;
        let is_regular = extents.layout.is_null() && extents.is_first_aligned();
        let odd = extents.len | T::of(extents.stride, 0) as u64;
        let is_plain = T::ARRAYS == 1 && is_regular && odd.is_multiple_of(vector) && extents.len > 0;
        is_plain.then(|| {
            let tiling = Tiling::of((extents.len / vector) as u32);
            Self { extents, tiling }
        })
    }

    /// How they are divided.
    pub fn tiling(self) -> Tiling {
        self.tiling
    }

    /// Reads this lane's vectors of the rows from number `first` on, of which there is one, all in flight together.
    ///
    /// ```text
    /// slot 0: row 0 by the first lanes, row 1 by the next … ─ slot 1: as many rows further on ─ …
    /// ```
    ///
    /// Called by: any thread · Valid in: every lane, its own vectors · Scratch: none
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn load<S: Simt>(self, simt: S, first: u64, filler: Option<T>) -> RowVectors {
        let Self { extents, tiling } = self;
        let (start, stride) = (T::of(extents.start, 0), T::of(extents.stride, 0));
        let after = |row: u64, vector: u32| {
            let elements = row as i64 * stride + i64::from(vector) * vector_elements::<T>() as i64;
            start.wrapping_offset(elements as isize)
        };
        debug_assert!(first < extents.count, "a row that is there");
        let left = extents.count - first;
        let filler = T::of(T::fillers(filler), 0);
        let mut present = ALL;
        let vectors = if tiling.is_full() && stride as u64 == extents.len && left >= tiling.rows().into() {
            // One run of memory, without a test.
            // SAFETY: a warp's vectors are those of so many rows, and aligned.
            let span = unsafe { Span::new(after(first, simt.lane()), ALL, T::of(extents.around, 0), filler) };
            load_whole::<S, T::Element, VECTORS>(simt, span)
        } else {
            let (number, lane) = (simt.lane() >> tiling.lanes, tiling.lane(simt));
            let from = after(first + u64::from(number), lane);
            let left = u32::saturating_sub(narrow(simt, left), number);
            let further = stride << (u32::ilog2(LANES) - tiling.lanes);
            present = 0;
            each_row(|i| {
                let (slot, row) = (i as u32 >> tiling.depth, tiling.leaf_row(i));
                let is_there = slot * tiling.in_slot() < left && row * LANES + lane < tiling.vectors;
                present |= u32::from(is_there) << i;
                let elements = i64::from(slot) * further + i64::from(row) * row_elements::<T>() as i64;
                let from = from.wrapping_offset(elements as isize).cast();
                // SAFETY: the vector is one of a row's, if it is there.
                unsafe { simt.load_input_vector_if(is_there, from, filler.unwrap_or_default()) }
            })
        };
        RowVectors {
            vectors,
            present,
            tiling,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_warp_has_eight_vectors_a_lane() {
        for (vectors, lanes, depth, rows) in [
            (1, 0, 0, 256),
            (2, 1, 0, 128),
            (3, 2, 0, 64),
            (16, 4, 0, 16),
            (17, 5, 0, 8),
            (32, 5, 0, 8),
            (33, 5, 1, 4),
            (64, 5, 1, 4),
            (65, 5, 2, 2),
            (129, 5, 3, 1),
            (256, 5, 3, 1),
        ] {
            let tiling = Tiling::of(vectors);
            assert_eq!(tiling, Tiling { vectors, lanes, depth });
            assert_eq!(tiling.rows(), rows, "{tiling:?}");
            assert_eq!(tiling.is_full(), u32::is_power_of_two(vectors), "{tiling:?}");
        }
    }
}
