//! Extents of at most a row of the canonical tree, side by side: every element is a column.

use pulp::Simd;
use warpfold_kernels::{element::Item, monoids::Monoid};

use super::{
    leaves::WIDTH,
    states::{Block, States, Word, combine_columns},
};

/// Elements that are lifted at once: so many that the compiler makes vector code of it.
const BLOCK: usize = 32;

/// Folds extents of `len` elements: the one that starts at `starts[i]` to `states[i]`, positions counted from its start. An operator of much code to lift an
/// element lifts them `IN_BLOCKS`, for else there is no vector code of it; one of little takes less time in one loop.
#[inline(always)]
#[expect(clippy::too_many_arguments, reason = "the buffers are the caller's")]
pub(super) fn fold<S: Simd, T: Item, M: Monoid<T>, W: Word, const FIELDS: usize, const IN_BLOCKS: bool>(
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
            let mut first = 0;
            if IN_BLOCKS {
                for values in extent.as_chunks::<BLOCK>().0 {
                    let mut block = Block::<W, BLOCK, FIELDS>::new();
                    for (at, value) in values.iter().enumerate() {
                        block.set(at, op.lift(*value, (first + at) as u64));
                    }
                    states.put(first, &block);
                    first += BLOCK;
                }
            }
            for (at, value) in extent.iter().enumerate().skip(first) {
                states.set(at, op.lift(*value, at as u64));
            }
            columns.fill(i * width + len, (i + 1) * width, op.identity());
        }
        combine_columns(simd, op, columns, pairs, width, states);
    }
}
