//! Where vectors of rows are, and what is known of a row before it is read.

use super::Arguments;
use crate::{
    element::{Element, Item as _, Two},
    rowwise::{Given, RowOp, Target},
    simt::Simt,
    stages::load::{source::Source as _, words::load_element},
};

/// A vector of a row: of a leaf's rows the first.
#[derive(Clone, Copy)]
pub(super) struct Spot<T> {
    /// The number of the row.
    pub(super) row: u64,
    /// Its first element, in both arrays: of the second how far from that array's.
    pub(super) start: Two<*const T>,
    /// The place in the row of the vector's first element.
    pub(super) first: u64,
    /// Elements that are seen from there on.
    pub(super) present: u32,
}

impl<T> Spot<T> {
    /// So many elements further on.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn further(self, by: u64) -> Self {
        Self {
            first: self.first + by,
            present: u32::saturating_sub(self.present, by as u32),
            ..self
        }
    }
}

impl<T: Element> Arguments<T> {
    /// The vector at the same place of one of the rows that are so many `apart`. By additions: a product of 64 bits is four instructions.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn later_spot(self, spot: Spot<T>, number: usize, apart: u64) -> Spot<T> {
        let left = u64::saturating_sub(self.rows.count, spot.row).min(u32::MAX.into()) as u32;
        let further = Two::<T>::map(self.rows.stride, |stride| {
            ((apart as i64 * stride) * number as i64) as isize
        });
        Spot {
            row: spot.row + number as u64 * apart,
            start: Two::<T>::further(spot.start, further),
            first: spot.first,
            present: if number as u32 * (apart as u32) < left {
                spot.present
            } else {
                0
            },
        }
    }

    /// Where a vector of the first array begins.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn first(self, spot: Spot<T>) -> *const T {
        spot.start.0.wrapping_add(spot.first as usize)
    }

    /// And one of the second, whose elements are of the same size.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn second(self, spot: Spot<T>) -> *const T {
        self.other(spot, T::BYTES).cast()
    }

    /// Where a vector of the second array begins, whose elements are of so many bytes.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn other(self, spot: Spot<T>, bytes: usize) -> *const u8 {
        let further = (spot.start.1.addr() as isize / T::BYTES as isize).wrapping_add(spot.first as isize);
        self.other.wrapping_offset(further * bytes as isize)
    }

    /// What is given of a row, whose first element is there; nothing of one that is not.
    ///
    /// # Safety
    ///
    /// As [`map_leaves`](super::map_leaves).
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) unsafe fn given<S: Simt, O: RowOp>(self, simt: S, row: u64, start: *const T) -> Given {
        if row >= self.rows.count {
            return Target::Ignored.given(0.0);
        }
        // SAFETY: passed on to the caller.
        unsafe {
            if O::TARGETS {
                let target = self.target(simt, row);
                let here = self.here(target);
                let is_there = (0..self.rows.len as i64).contains(&here);
                if target == self.targets.ignored {
                    Target::Ignored.given(0.0)
                } else if is_there {
                    let at = start.wrapping_offset((here * self.rows.step.0) as isize);
                    // Where rows are mapped in place it is written later: no load of what nobody writes.
                    let bits = if T::BYTES == 2 {
                        simt.load_short(at.cast())
                    } else {
                        simt.load(at.cast())
                    };
                    Target::There.given(self.floats.widen(bits))
                } else if self.is_part::<O>() && (0..self.whole::<O>(self.rows.len) as i64).contains(&target) {
                    // Others have it: what a sum over all parts does not notice.
                    Target::There.given(-0.0)
                } else {
                    Target::Beyond.given(0.0)
                }
            } else if O::TAKES_COLUMNS {
                let [mean, reciprocal, ..] = self.known;
                let read = |from: *mut u32| {
                    if from.is_null() {
                        0.0
                    } else {
                        f32::from_bits(simt.load(from.wrapping_add(row as usize)))
                    }
                };
                [read(mean), read(reciprocal)]
            } else {
                [0.0; 2]
            }
        }
    }

    /// The target of a row; −1 where there are none.
    ///
    /// # Safety
    ///
    /// As [`given`](Self::given).
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) unsafe fn target<S: Simt>(self, simt: S, row: u64) -> i64 {
        let (start, row) = (self.targets.start, row as usize);
        if start.is_null() {
            return -1;
        }
        // SAFETY: passed on to the caller.
        unsafe {
            if self.targets.are_wide {
                load_element(simt, start.cast::<u64>().wrapping_add(row)) as i64
            } else {
                i64::from(simt.load_input(start.cast::<u32>().wrapping_add(row)) as i32)
            }
        }
    }

    /// One element.
    ///
    /// # Safety
    ///
    /// It is valid and unwritten.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) unsafe fn element<S: Simt>(self, simt: S, from: *const T) -> f32 {
        // SAFETY: passed on to the caller.
        self.floats.widen(unsafe { load_element(simt, from) } as u32)
    }
}
