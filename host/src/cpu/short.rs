//! Extents of at most a row of the canonical tree, side by side: every element is a column.

use pulp::Simd;
use warpfold_kernels::{
    element::Item,
    monoids::{Bounded, Monoid},
};

use super::{
    run::{WIDTH, are_bounded},
    states::{States, Word, meet},
};

/// Folds extents of `len` elements: the one that starts at `starts[i]` to `states[i]`, positions counted from its start.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "the buffers are the caller's")]
pub(super) fn fold<S: Simd, T: Item, M: Monoid<T>, W: Word, const FIELDS: usize>(
    simd: S,
    op: M,
    values: &[T],
    starts: &[i64],
    len: usize,
    states: &mut [M::State],
    columns: &mut States<W, WIDTH, FIELDS>,
    pairs: &mut States<W, { WIDTH / 2 }, FIELDS>,
) {
    if const { M::ALGEBRA.sums_beside }
        && starts
            .iter()
            .all(|start| are_bounded(op, &values[*start as usize..][..len]))
    {
        return fold_of(simd, Bounded(op), values, starts, len, states, columns, pairs);
    }
    fold_of(simd, op, values, starts, len, states, columns, pairs);
}

#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "the buffers are the caller's")]
fn fold_of<S: Simd, T: Item, M: Monoid<T>, W: Word, const FIELDS: usize>(
    simd: S,
    op: M,
    values: &[T],
    starts: &[i64],
    len: usize,
    states: &mut [M::State],
    columns: &mut States<W, WIDTH, FIELDS>,
    pairs: &mut States<W, { WIDTH / 2 }, FIELDS>,
) {
    let width = len.next_power_of_two();
    let lot = WIDTH / width;
    for (starts, states) in starts.chunks(lot).zip(states.chunks_mut(lot)) {
        for (i, start) in starts.iter().enumerate() {
            let extent = &values[*start as usize..][..len];
            let mut states = columns.part(i * width, width);
            for (at, value) in extent.iter().enumerate() {
                states.set(at, op.lift(*value, at as u64));
            }
            columns.fill(i * width + len, (i + 1) * width, op.identity());
        }
        meet(simd, op, columns, pairs, width, states);
    }
}
