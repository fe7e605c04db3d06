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

/// This lane's part of leaf `leaf`: one vector of each row, folded to one state.
///
/// A whole leaf of 16-byte aligned input takes [`ROWS`] wide loads, all in flight together. Any other is read an element
/// at a time, places past the end giving the identity: the same states, so the same bits.
///
/// Called by: any thread · Valid in: every lane, its own columns · Scratch: none
///
/// # Safety
///
/// `input` is valid and unwritten for the whole launch.
pub unsafe fn leaf<S: Simt, M: Monoid<f32>>(simt: S, op: M, input: Input<f32>, leaf: u64) -> M::State {
    const COLUMNS: usize = vector_elements::<f32>();
    let base = leaf * leaf_elements::<f32>() as u64 + u64::from(simt.lane()) * COLUMNS as u64;
    let whole = (leaf + 1) * leaf_elements::<f32>() as u64 <= input.len;
    let aligned = input.start.addr() % VECTOR_BYTES == 0;
    let from = input.start.wrapping_add(base as usize).cast::<u32>();

    // Positions are counted from the lane's first element, so that they are constants; `shift` adds the rest.
    let at = |row: usize, column: usize| (row * row_elements::<f32>() + column) as u64;
    let state = if whole && aligned {
        // SAFETY: a whole leaf lies inside the input, and a lane's vectors keep its alignment.
        let rows: [_; ROWS] =
            core::array::from_fn(|row| unsafe { simt.load_input_vector(from.add(row * row_elements::<f32>())) });
        fold_columns(op, |row, column| {
            op.lift(f32::from_bits(rows[row][column]), at(row, column))
        })
    } else {
        fold_columns(op, |row, column| {
            let at = at(row, column);
            if base + at < input.len {
                // SAFETY: the element lies inside the input.
                op.lift(f32::from_bits(unsafe { simt.load_input(from.add(at as usize)) }), at)
            } else {
                op.identity()
            }
        })
    };
    op.shift(state, base)
}

/// A lane's [`ROWS`] × 4 states: the rows first, then the columns.
#[inline(always)]
fn fold_columns<M: Monoid<f32>>(op: M, state: impl Fn(usize, usize) -> M::State) -> M::State {
    pairs::<{ vector_elements::<f32>() }, f32, M>(op, 0, &|column| {
        pairs::<ROWS, f32, M>(op, 0, &|row| state(row, column))
    })
}
