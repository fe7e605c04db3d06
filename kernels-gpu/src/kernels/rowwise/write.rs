//! What becomes of what a lane has read, and what is written of it.

use super::{Arguments, Mode, Spot, read::turned};
use crate::{
    element::Element,
    rowwise::{Column, Given, RowOp},
    simt::Simt,
    stages::columns::{Columns, Held, MOST, each},
    tree::{place, vector_elements},
};

/// What maps what a lane has read of a leaf.
#[derive(Clone, Copy)]
pub(super) struct Writer<S, T: Element, O: RowOp> {
    pub(super) simt: S,
    pub(super) op: O,
    pub(super) arguments: Arguments<T>,
    /// The leaf's.
    pub(super) reference: f32,
    pub(super) factors: O::Factors,
    /// The lane's first vector.
    pub(super) spot: Spot<T>,
    pub(super) given: Given,
}

impl<S: Simt, T: Element, O: RowOp> Writer<S, T, O> {
    /// Maps and writes the lane's part of a leaf, or of a row of `N = 1`: vector by vector, each of which is there as a whole or not at all, if they are wide.
    ///
    /// # Safety
    ///
    /// As [`map_leaves`](super::map_leaves).
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) unsafe fn write<const N: usize>(self, kept: Held<O::Kept, N>, is_wide: bool) {
        let Self {
            simt, arguments, spot, ..
        } = self;
        if arguments.out.start.is_null() {
            return;
        }
        let to = arguments.out.row(spot.row);
        // SAFETY: passed on to the caller.
        unsafe {
            if is_wide {
                self.write_vectors(&kept, to);
            } else {
                self.write_elements(kept, to);
            }
            if O::TARGETS {
                let target = arguments.target(simt, spot.row);
                let further = (target as u64).wrapping_sub(spot.first);
                let is_mine = further < place::<T>(N, 0) && further % place::<T>(1, 0) < vector_elements::<T>() as u64;
                if is_mine && (target as u64) < arguments.rows.len && target != arguments.targets.ignored {
                    let beside = self.op.beside(O::value_of(self.given[0]), self.reference);
                    let kept = self.op.kept(beside);
                    let value = self.op.at_target(kept, self.factors);
                    arguments.out.store_one(simt, to, target as u64, value);
                }
            }
        }
    }

    /// # Safety
    ///
    /// As [`write`](Self::write).
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn write_vectors<const N: usize>(self, kept: &Held<O::Kept, N>, to: *mut u8) {
        let Self {
            simt, arguments, spot, ..
        } = self;
        let left = crate::stages::narrow(simt, u64::saturating_sub(arguments.rows.len, spot.first));
        let to = arguments.out.element(to, spot.first);
        let columns = arguments.columns.from(spot.first);
        each!(row < N => {
            let first = place::<T>(row, 0) as u32;
            if first < left {
                let mut params = Columns::plain();
                if O::HAS_COLUMNS {
                    // SAFETY: passed on to the caller.
                    params = unsafe { columns.load(simt, first, vector_elements::<T>()) };
                }
                let mut values = [0.0; MOST];
                each!(column < vector_elements::<T>() => {
                    values[column] = self.op.map(kept[row][column], self.factors, params.column(column));
                });
                // SAFETY: passed on to the caller.
                unsafe { arguments.out.store(simt, to, first, values, vector_elements::<T>()) };
            }
        });
    }

    /// Element by element, whatever the alignment: in a loop, for it is seldom run.
    ///
    /// # Safety
    ///
    /// As [`write`](Self::write).
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn write_elements<const N: usize>(self, mut kept: Held<O::Kept, N>, to: *mut u8) {
        let Self {
            simt, arguments, spot, ..
        } = self;
        let mut row = simt.opaque(0);
        while row < N as u32 {
            let first = spot.first + u64::from(row) * place::<T>(1, 0);
            each!(column < vector_elements::<T>() => if first + (column as u64) < arguments.rows.len {
                let at = first + column as u64;
                let mut params = Column::PLAIN;
                // SAFETY: passed on to the caller.
                unsafe {
                    if O::HAS_COLUMNS {
                        params = arguments.columns.load_one(simt, at);
                    }
                    let value = self.op.map(kept[0][column], self.factors, params);
                    arguments.out.store_one(simt, to, at, value);
                }
            });
            kept = turned(kept);
            row = simt.opaque(row + 1);
        }
    }
}

impl<T: Element> Arguments<T> {
    /// Writes what else is known of a row.
    ///
    /// # Safety
    ///
    /// As [`map_leaves`](super::map_leaves); one lane of the row calls this.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) unsafe fn note<S: Simt, O: RowOp>(
        self,
        simt: S,
        op: O,
        row: u64,
        state: O::State,
        seen: u64,
        given: Given,
    ) {
        let [a, b, c, d] = self.known;
        if O::TAKES_COLUMNS || a.is_null() && b.is_null() && c.is_null() && d.is_null() {
            return;
        }
        let mut given = given;
        let kept = self.target_kept();
        if O::TARGETS && self.mode == Mode::Map && !kept.is_null() {
            // An answer may have been written over the target's element: it lies here since the launch before.
            // SAFETY: passed on to the caller.
            given[0] = f32::from_bits(unsafe { simt.load(kept.wrapping_add(row as usize)) });
        }
        let known = op.known(state, seen, given);
        each!(i < 4 => if !self.known[i].is_null() {
            let bits = if known[i].is_nan() { 0x7fc0_0000 } else { known[i].to_bits() };
            // SAFETY: passed on to the caller.
            unsafe { simt.store(self.known[i].wrapping_add(row as usize), bits) };
        });
    }
}
