//! Extents of at most a row of the canonical tree, side by side: every element is a column.

use pulp::Simd;
use warpfold_kernels::{
    element::Item,
    monoids::{Bounded, Monoid},
};

use super::{
    rows::are_bounded,
    run::WIDTH,
    states::{Block, States, Word, meet},
};

/// Elements that are lifted at once: so many that the compiler makes vector code of it.
const BLOCK: usize = 32;

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
    let mut all_bounded = M::ALGEBRA.sums_relative;
    if const { M::ALGEBRA.sums_relative } {
        for start in starts {
            all_bounded &= are_bounded(op, &values[*start as usize..][..len]);
        }
    }
    if const { M::ALGEBRA.sums_relative } && all_bounded {
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
            // An exponential for each is vector code in blocks alone; what is less is so in one loop.
            let in_blocks = if const { M::ALGEBRA.sums_relative } { len } else { 0 };
            let (blocks, rest) = extent[..in_blocks].as_chunks::<BLOCK>();
            for (number, values) in blocks.iter().enumerate() {
                let first = number * BLOCK;
                let mut block = Block::<W, BLOCK, FIELDS>::new();
                for (at, value) in values.iter().enumerate() {
                    block.set(at, op.lift(*value, (first + at) as u64));
                }
                states.put(first, &block);
            }
            let first = blocks.len() * BLOCK;
            let rest = if const { M::ALGEBRA.sums_relative } {
                rest
            } else {
                extent
            };
            for (at, value) in rest.iter().enumerate() {
                states.set(first + at, op.lift(*value, (first + at) as u64));
            }
            columns.fill(i * width + len, (i + 1) * width, op.identity());
        }
        meet(simd, op, columns, pairs, width, states);
    }
}
