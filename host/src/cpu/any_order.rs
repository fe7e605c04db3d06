//! Extents of an operator that associates to the bit: in whatever order, so in that of memory.

use warpfold_kernels::{
    element::Item,
    monoids::Monoid,
    tree::{Part, ROWS, vector_elements},
};

use super::run::Lens;

/// Folds extents: the one that starts at `starts[i]` to `states[i]`.
pub(super) fn fold_each<T: Item, M: Monoid<T>>(
    op: M,
    values: &[T],
    starts: &[i64],
    lens: Lens<'_>,
    states: &mut [M::State],
) {
    for (i, (start, state)) in starts.iter().zip(states).enumerate() {
        let extent = &values[*start as usize..][..lens.of(i)];
        let mut parts = extent.chunks(const { ROWS * vector_elements::<T>() });
        *state = op.fold_parts(op.identity(), || parts.next().map(Run));
    }
}

/// Elements side by side, as many as a lane has of a leaf, or fewer.
#[derive(Clone, Copy)]
struct Run<'a, T>(&'a [T]);

impl<T: Item> Part<T> for Run<'_, T> {
    const COLUMNS: usize = vector_elements::<T>();

    #[inline(always)]
    fn lift<M: Monoid<T>>(self, op: M, row: usize, column: usize) -> M::State {
        match self.0.get(row * Self::COLUMNS + column) {
            Some(value) => op.lift(*value, 0),
            None => op.identity(),
        }
    }
}
