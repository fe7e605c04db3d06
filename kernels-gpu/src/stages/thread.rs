//! Thread stage: a lane folds its part of a leaf in registers.

use super::pairs;
use crate::{
    monoids::Monoid,
    simt::Simt,
    tree::{ROWS, VECTOR_BYTES, leaf_elements, row_elements, vector_elements},
};

/// The input of a fold: `len` elements from `start` on, read where they lie.
#[derive(Clone, Copy)]
pub struct Input<T> {
    /// The first element.
    pub start: *const T,
    /// How many there are.
    pub len: u64,
}

impl<T> Input<T> {
    /// How many leaves, from the first on, [`load_leaf`] can read: all that are whole, if the start is aligned.
    #[must_use]
    pub fn wide_leaves(self) -> u64 {
        if self.start.addr().is_multiple_of(VECTOR_BYTES) {
            self.len / leaf_elements::<T>() as u64
        } else {
            0
        }
    }
}

/// Elements in one lane's vector.
const COLUMNS: usize = vector_elements::<f32>();

/// This lane's part of a leaf: one vector of each row.
#[derive(Clone, Copy)]
pub struct Rows {
    words: [[u32; COLUMNS]; ROWS],
    base: u64,
}

/// Reads this lane's part of leaf `leaf`, all eight vectors in flight together.
///
/// Called by: any thread · Valid in: every lane, its own columns · Scratch: none
///
/// # Safety
///
/// `input` is valid and unwritten for the whole launch, and `leaf < input.wide_leaves()`.
#[inline(always)]
pub unsafe fn load_leaf<S: Simt>(simt: S, input: Input<f32>, leaf: u64) -> Rows {
    let base = base(simt, leaf);
    let from = input.start.wrapping_add(base as usize).cast::<u32>();
    let words = core::array::from_fn(|row| {
        // SAFETY: a wide leaf lies inside the input, and a lane's vectors keep its alignment.
        unsafe { simt.load_input_vector(from.wrapping_add(row * row_elements::<f32>())) }
    });
    Rows { words, base }
}

impl Rows {
    /// Folds what was read to one state.
    #[inline(always)]
    pub fn fold<M: Monoid<f32>>(self, op: M) -> M::State {
        fold_columns(op, self.base, |row, column| {
            op.lift(self.value(row, column), at(row, column))
        })
    }

    /// Whether any element could change a fold of earlier elements, `best`.
    #[inline(always)]
    pub fn may_change<M: Monoid<f32>>(self, op: M, best: M::State) -> bool {
        let mut any = false;
        for row in 0..ROWS {
            for column in 0..COLUMNS {
                any |= op.may_change(best, self.value(row, column));
            }
        }
        any
    }

    fn value(self, row: usize, column: usize) -> f32 {
        f32::from_bits(self.words[row][column])
    }
}

/// Reads and folds this lane's part of a leaf of any alignment and length: an element at a time, places past the end
/// giving the identity.
///
/// Called by: any thread · Valid in: every lane, its own columns · Scratch: none
///
/// # Safety
///
/// `input` is valid and unwritten for the whole launch.
#[inline(always)]
pub unsafe fn narrow_leaf<S: Simt, M: Monoid<f32>>(simt: S, op: M, input: Input<f32>, leaf: u64) -> M::State {
    let base = base(simt, leaf);
    let from = input.start.wrapping_add(base as usize).cast::<u32>();
    let present = u64::saturating_sub(input.len, base);
    fold_columns(op, base, |row, column| {
        let at = at(row, column);
        if at < present {
            // SAFETY: the element lies inside the input.
            op.lift(
                f32::from_bits(unsafe { simt.load_input(from.wrapping_add(at as usize)) }),
                at,
            )
        } else {
            op.identity()
        }
    })
}

/// Index of this lane's first element of a leaf.
fn base<S: Simt>(simt: S, leaf: u64) -> u64 {
    leaf * leaf_elements::<f32>() as u64 + u64::from(simt.lane()) * COLUMNS as u64
}

/// Where in a lane's part an element is: counted from the lane's first element, so that it is a constant.
const fn at(row: usize, column: usize) -> u64 {
    (row * row_elements::<f32>() + column) as u64
}

/// A lane's eight rows of four states: the rows first, then the columns.
#[inline(always)]
fn fold_columns<M: Monoid<f32>>(op: M, base: u64, state: impl Fn(usize, usize) -> M::State) -> M::State {
    let folded = pairs::<COLUMNS, f32, M>(op, 0, &|column| pairs::<ROWS, f32, M>(op, 0, &|row| state(row, column)));
    op.shift(folded, base)
}
