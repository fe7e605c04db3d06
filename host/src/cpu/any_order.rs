//! Extents of an operator that associates to the bit: in whatever order, so in that of memory.

use warpfold_kernels::{
    element::Item,
    monoids::Monoid,
    tree::{Part, ROWS, leaf_elements, row_elements, vector_elements},
};

use super::run::may_change;
use crate::ops::untyped::Lens;

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
        *state = op.fold_parts(op.identity(), || parts.next().map(Few));
    }
}

/// The same where states are small: a leaf at a time, element after element, in a loop that the compiler knows for a reduction, so that it
/// makes lanes of its own. A leaf that cannot change the best so far is only looked at.
#[inline(always)]
pub(super) fn fold_leaves<T: Item, M: Monoid<T>>(
    op: M,
    values: &[T],
    starts: &[i64],
    lens: Lens<'_>,
    states: &mut [M::State],
) {
    for (i, (start, state)) in starts.iter().zip(states).enumerate() {
        let extent = &values[*start as usize..][..lens.of(i)];
        let mut all = op.identity();
        for (number, leaf) in extent.chunks(const { leaf_elements::<T>() }).enumerate() {
            if !M::ALGEBRA.selects || number == 0 || may_change(op, all, leaf) {
                all = op.combine(all, op.fold_part(Leaf(leaf)));
            }
        }
        *state = all;
    }
}

/// As many elements side by side as a lane has of a leaf, or fewer.
#[derive(Clone, Copy)]
struct Few<'a, T>(&'a [T]);

impl<T: Item> Part<T> for Few<'_, T> {
    const COLUMNS: usize = vector_elements::<T>();

    #[inline(always)]
    fn lift<M: Monoid<T>>(self, op: M, row: usize, column: usize) -> M::State {
        match self.0.get(row * Self::COLUMNS + column) {
            Some(value) => op.lift(*value, 0),
            None => op.identity(),
        }
    }
}

/// The elements of a leaf, or fewer.
#[derive(Clone, Copy)]
struct Leaf<'a, T>(&'a [T]);

impl<T: Item> Part<T> for Leaf<'_, T> {
    const COLUMNS: usize = row_elements::<T>();

    #[inline(always)]
    fn lift<M: Monoid<T>>(self, op: M, row: usize, column: usize) -> M::State {
        match self.0.get(row * Self::COLUMNS + column) {
            Some(value) => op.lift(*value, 0),
            None => op.identity(),
        }
    }

    #[inline(always)]
    fn fold_in_loop<M: Monoid<T>>(self, op: M) -> Option<M::State> {
        let mut all = op.identity();
        for value in self.0 {
            all = op.combine(all, op.lift(*value, 0));
        }
        Some(all)
    }
}
