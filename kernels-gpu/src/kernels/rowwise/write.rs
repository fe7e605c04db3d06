//! What becomes of what a lane has read, and what is written of it.

use super::{Arguments, Mode, read::Lane};
use crate::{
    element::Element,
    rowwise::{Given, RowOp},
    simt::Simt,
    stages::{
        columns::{Held, Loaded, MOST, each},
        load::words::WORDS,
        reduce::leaf::Packed as _,
    },
    tree::{place, vector_elements},
};

/// What maps what a lane holds of a leaf, or of the first of its short rows.
#[derive(Clone, Copy)]
pub(super) struct Writer<S, T: Element, O: RowOp, const ADDED: bool, const N: usize> {
    pub(super) lane: Lane<S, T, O, ADDED, N>,
    /// The leaf's.
    pub(super) reference: f32,
    pub(super) factors: O::Factors,
}

impl<S: Simt, T: Element, O: RowOp, const ADDED: bool, const N: usize> Writer<S, T, O, ADDED, N> {
    /// Maps and writes it: vector by vector, if they are whole or absent.
    ///
    /// # Safety
    ///
    /// As [`map_leaves`](super::map_leaves).
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) unsafe fn write(mut self) {
        let Lane {
            simt, arguments, spot, ..
        } = self.lane;
        if arguments.out.start.is_null() {
            return;
        }
        let to = arguments.out.row(spot.row);
        let mut row = simt.opaque(0);
        while row < N as u32 {
            // SAFETY: passed on to the caller.
            unsafe { self.write_vector(to) };
            if self.lane.apart.is_some() {
                break;
            }
            self.lane = self.lane.next_row();
            row = simt.opaque(row + 1);
        }
        if O::TARGETS {
            // SAFETY: passed on to the caller.
            unsafe { self.write_target(to, spot.first) };
        }
    }

    /// The vector of the first row.
    ///
    /// # Safety
    ///
    /// As [`write`](Self::write).
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn write_vector(self, to: *mut u8) {
        let Lane {
            simt,
            arguments,
            spot,
            is_wide,
            ..
        } = self.lane;
        let most = vector_elements::<T>();
        let left = u64::saturating_sub(arguments.rows.len, spot.first).min(most as u64) as u32;
        if left == 0 {
            return;
        }
        // SAFETY: passed on to the caller.
        unsafe {
            let values = self.mapped(left);
            if is_wide {
                arguments
                    .out
                    .store(simt, arguments.out.element(to, spot.first), values, most);
            } else {
                each!(column < most => if (column as u32) < left {
                    arguments.out.store_one(simt, to, spot.first + column as u64, values[column]);
                });
            }
        }
    }

    /// What becomes of the vector of the first row, of which so many elements are there.
    ///
    /// # Safety
    ///
    /// As [`write`](Self::write).
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn mapped(&self, left: u32) -> Held<f32> {
        let Lane {
            simt,
            op,
            arguments,
            spot,
            is_wide,
            ..
        } = self.lane;
        let of = self.lane.vector();
        let mut values = [0.0; MOST];
        // Half a vector at a time: weights take many registers.
        each!(half < vector_elements::<T>() / WORDS, 2 => {
            let mut columns = Loaded::PLAIN;
            if O::HAS_COLUMNS {
                let before = half * WORDS;
                let left = u32::saturating_sub(left, before as u32);
                // SAFETY: passed on to the caller.
                columns = unsafe { arguments.columns.load(simt, spot.first + before as u64, left, is_wide) };
            }
            each!(i < WORDS, 4 => {
                let beside = op.beside(of[half * WORDS + i], self.reference);
                values[half * WORDS + i] = op.map(beside, self.factors, columns.column(i));
            });
        });
        values
    }

    /// What becomes of the row's target, if it is among the lane's elements.
    ///
    /// # Safety
    ///
    /// As [`write`](Self::write).
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn write_target(self, to: *mut u8, first: u64) {
        let Lane {
            simt,
            op,
            arguments,
            spot,
            given,
            ..
        } = self.lane;
        // SAFETY: passed on to the caller.
        unsafe {
            let target = arguments.target(simt, spot.row);
            let further = (target as u64).wrapping_sub(first);
            let rows = if self.lane.apart.is_some() { 1 } else { N };
            let is_mine = further < place::<T>(rows, 0) && further % place::<T>(1, 0) < vector_elements::<T>() as u64;
            if is_mine && (target as u64) < arguments.rows.len && target != arguments.targets.ignored {
                let beside = op.beside(O::value_of(given[0][0]), self.reference);
                let value = op.at_target(beside, self.factors);
                arguments.out.store_one(simt, to, target as u64, value);
            }
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
