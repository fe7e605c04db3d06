//! The leaves of a strip: rows of each leaf, column by column, then all columns, neighbours first.

use pulp::Simd;
use warpfold_kernels::{
    element::Item,
    monoids::{Bounded, Monoid},
    tree::{leaf_elements, row_elements},
};

use super::{
    rows::Rows,
    states::{States, Word, combine_columns},
};

/// Columns of the leaves in a strip, together: with two buffers, 6 KiB for each word of a state.
pub(super) const WIDTH: usize = 1024;

/// Leaves in a strip.
pub(super) const fn strip<T: Item>() -> usize {
    WIDTH / row_elements::<T>()
}

/// Folds the leaves of a strip or fewer, positions counted from the first element.
#[inline(always)]
pub(super) fn fold_leaves<S: Simd, T: Item, M: Monoid<T>, W: Word, const FIELDS: usize>(
    simd: S,
    op: M,
    values: &[T],
    columns: &mut States<W, WIDTH, FIELDS>,
    pairs: &mut States<W, { WIDTH / 2 }, FIELDS>,
) -> M::State {
    let (length, width) = const { (leaf_elements::<T>(), row_elements::<T>()) };
    let whole = values.chunks_exact(length);
    let ragged = whole.remainder();
    let (mut leaves, mut all_bounded) = (whole.len(), M::ALGEBRA.sums_relative);
    for (j, leaf) in whole.enumerate() {
        let rows = Rows::whole(leaf);
        all_bounded &= rows.fold(op, columns.part(j * width, width), (j * length) as u64);
    }
    if let Some(last) = ragged.last() {
        let mut row = [*last; row_elements::<u8>()];
        let rows = Rows::ragged(ragged, &mut row);
        all_bounded &= rows.fold(op, columns.part(leaves * width, width), (leaves * length) as u64);
        leaves += 1;
    }
    let even = leaves.next_power_of_two();
    columns.fill(leaves * width, even * width, op.identity());
    // The columns of a leaf, then the leaves: neighbours both times.
    let mut state = [op.identity()];
    if const { M::ALGEBRA.sums_relative } && all_bounded {
        combine_columns(simd, Bounded(op), columns, pairs, even * width, &mut state);
    } else {
        combine_columns(simd, op, columns, pairs, even * width, &mut state);
    }
    state[0]
}
