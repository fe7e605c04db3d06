//! What becomes of what a lane has read, and what is written of it.

use super::{Mode, RowArguments, Variant, read::Lane};
use crate::{
    element::{Element, Item as _},
    rowwise::{Given, RowOp},
    simt::Simt,
    stages::{
        columns::{Held, MOST},
        each::each,
        load::words::{Vectors, WORDS},
        reduce::leaf::PackedLeaf as _,
    },
    tree::{place, vector_elements},
};

/// What maps what a lane holds of a leaf.
#[derive(Clone, Copy)]
pub(super) struct Writer<S, T: Element, O: RowOp, V, const N: usize> {
    lane: Lane<S, T, O, V, N>,
    reference: f32,
    factors: O::Factors,
}

impl<S: Simt, T: Element, O: RowOp, V: Variant, const N: usize> Writer<S, T, O, V, N> {
    /// Of what a lane holds, by its leaf's reference and factors.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn new(lane: Lane<S, T, O, V, N>, reference: f32, factors: O::Factors) -> Self {
        Self {
            lane,
            reference,
            factors,
        }
    }

    /// Maps and writes it: vector by vector, if they are whole or absent.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn write(mut self) {
        let Lane {
            simt,
            arguments,
            position,
            ..
        } = self.lane;
        if arguments.out.start().is_null() {
            return;
        }
        if V::PLAIN {
            if !O::KEEPS {
                self.lane = self.lane.again();
            }
            // Weights and biases are asked for a row ahead: those of all take too many registers.
            self.lane.ask_late(0);
            each!(row < N, 4 => {
                self.lane.ask_late(row + 1);
                self.write_vector(row);
            });
        } else {
            let mut row = simt.opaque(0);
            while row < N as u32 {
                self.write_vector(0);
                self.lane = self.lane.next_row();
                row = simt.opaque(row + 1);
            }
        }
        if O::TARGETS {
            self.write_target(position.first());
        }
    }

    /// Maps and writes the vector of a row.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn write_vector(self, row: usize) {
        let Lane {
            simt,
            arguments,
            is_wide,
            ..
        } = self.lane;
        let position = self.lane.position_of(row);
        let most = vector_elements::<T>();
        let to = arguments.out.row(position.row());
        if is_wide {
            // What is not visible has an answer, too.
            let is_there = if V::PLAIN && O::MASKS && self.lane.row_step.is_none() {
                position.first() < arguments.rows.len()
            } else {
                position.present() > 0
            };
            if is_there {
                let values = self.mapped(row, most as u32);
                arguments.out.store(simt, to, position.first(), values, most);
            }
            return;
        }
        let left = u64::saturating_sub(arguments.rows.len(), position.first()).min(most as u64) as u32;
        if left == 0 {
            return;
        }
        let values = self.mapped(row, left);
        each!(column < most => if (column as u32) < left {
            arguments.out.store_one(simt, to, position.first() + column as u64, values[column]);
        });
    }

    /// What becomes of the vector of a row, of which so many elements are there.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn mapped(&self, row: usize, left: u32) -> Held<f32> {
        let op = self.lane.op;
        let of = self.lane.vector(row);
        let mut values = [0.0; MOST];
        // Half a vector at a time: weights take many registers.
        each!(half < vector_elements::<T>() / WORDS, 2 => {
            let before = half * WORDS;
            let columns = self.lane.first_columns(row, half, left);
            each!(i < WORDS, 4 => {
                let beside = op.relative(of[before + i], self.reference);
                values[before + i] = op.map(beside, self.factors, columns.column(i));
            });
        });
        values
    }

    /// What becomes of the row's target, if it is among the lane's elements, of which the first is said.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn write_target(self, first: u64) {
        let Lane {
            simt,
            op,
            arguments,
            position,
            given,
            ..
        } = self.lane;
        let target = arguments.target(simt, position.row());
        let here = arguments.here(target) as u64;
        let further = here.wrapping_sub(first);
        let is_mine = further < place::<T>(N, 0) && further % place::<T>(1, 0) < vector_elements::<T>() as u64;
        if is_mine && here < arguments.rows.len() && target != arguments.targets.ignored {
            let relative = op.relative(O::value_of(given[0][0]), self.reference);
            let value = op.at_target(relative, self.factors);
            let row = arguments.out.row(position.row());
            arguments.out.store_one(simt, row, here, value);
        }
    }
}

/// Maps and writes the vectors of short rows, of plain launches: what weights and biases they have is read once for all of them.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub(super) fn write_short<S: Simt, T: Element, O: RowOp, V: Variant, const K: usize>(
    lane: Lane<S, T, O, V, K>,
    references: [f32; K],
    factors: [O::Factors; K],
) {
    let (op, floats) = (lane.op, lane.arguments.floats);
    let mut words = [[0; WORDS]; K];
    each!(half < vector_elements::<T>() / WORDS, 2 => {
        let before = half * WORDS;
        let columns = lane.first_columns(0, half, lane.position.present());
        each!(row < K, 4 => {
            let (of, mut values) = (lane.vector(row), [0.0; WORDS]);
            each!(i < WORDS, 4 => {
                values[i] = op.map(op.relative(of[before + i], references[row]), factors[row], columns.column(i));
            });
            if T::BYTES == 2 {
                words[row][2 * half % WORDS] = floats.narrow(values[0], values[1]);
                words[row][(2 * half + 1) % WORDS] = floats.narrow(values[2], values[3]);
            } else {
                words[row] = values.map(|value| floats.narrow(value, 0.0));
            }
        });
    });
    store_short(lane, words);
}

/// Writes a vector of each short row.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn store_short<S: Simt, T: Element, O: RowOp, V: Variant, const K: usize>(
    lane: Lane<S, T, O, V, K>,
    words: Vectors<K>,
) {
    let (out, position) = (lane.arguments.out, lane.position);
    let first = T::BYTES * position.first() as usize;
    let start = out.row(position.row()).address().wrapping_add(first);
    let pitch = lane.row_step.unwrap_or(0) as i64 * out.stride() * T::BYTES as i64;
    each!(row < K, 4 => if lane.position_of(row).present() > 0 {
        let to = start.wrapping_offset((pitch * row as i64) as isize).cast();
        // SAFETY: the row has that vector, which has one lane.
        unsafe { lane.simt.store_vector(to, words[row]) };
    });
}

impl<T: Element> RowArguments<T> {
    /// Whether anything else that is known of rows is to be written.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn stores_known<O: RowOp>(self) -> bool {
        let [a, b, c, d] = self.known;
        !(O::TAKES_COLUMNS || a.is_null() && b.is_null() && c.is_null() && d.is_null())
    }

    /// Writes what else is known of a row.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn store_known<S: Simt, O: RowOp>(
        self,
        simt: S,
        op: O,
        row: u64,
        state: O::State,
        seen: u64,
        given: Given,
    ) {
        if !self.stores_known::<O>() {
            return;
        }
        debug_assert!(row < self.rows.count(), "a row that is there");
        let mut given = given;
        let kept = self.target_kept();
        if O::TARGETS && self.mode == Mode::Map && self.run == 0 && !kept.is_null() {
            // An answer may have been written over the target's element: it lies here since the launch before.
            // SAFETY: there is a number for each row.
            given[0] = f32::from_bits(unsafe { simt.load(kept.wrapping_add(row as usize)) });
        }
        let known = op.known(state, seen, given);
        each!(i < 4 => if !self.known[i].is_null() {
            let bits = if known[i].is_nan() { 0x7fc0_0000 } else { known[i].to_bits() };
            // SAFETY: there is room for a number of each row, which has one such lane.
            unsafe { simt.store(self.known[i].wrapping_add(row as usize), bits) };
        });
    }
}
