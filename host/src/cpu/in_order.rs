//! Extents whose elements are combined in their order, for an operator that does not commute.

use warpfold_kernels::{
    element::Item,
    monoids::Monoid,
    tree::{self, Part, Positional as _, ROWS},
};

use super::carries::Carries;
use crate::ops::untyped::Lens;

/// Folds extents: the one that starts at `starts[i]` to `states[i]`, positions counted from its start.
pub(super) fn fold_each<T: Item, M: Monoid<T>>(
    op: M,
    values: &[T],
    starts: &[i64],
    lens: Lens<'_>,
    states: &mut [M::State],
) {
    for (i, (start, state)) in starts.iter().zip(states).enumerate() {
        *state = fold(op, &values[*start as usize..][..lens.of(i)]);
    }
}

/// Eight elements, then their neighbours' eight, as binary addition carries.
fn fold<T: Item, M: Monoid<T>>(op: M, values: &[T]) -> M::State {
    let mut carries = Carries::new();
    for eight in values.chunks(ROWS) {
        let first = (carries.count() * ROWS) as u64;
        carries.push(
            op.positional().shift(tree::fold_column(op, Eight(eight), 0), first),
            |a, b| op.combine(a, b),
        );
    }
    carries.total(|a, b| op.combine(a, b)).unwrap_or(op.identity())
}

/// At most eight elements, as a column.
#[derive(Clone, Copy)]
struct Eight<'a, T>(&'a [T]);

impl<T: Item> Part<T> for Eight<'_, T> {
    const COLUMNS: usize = 1;

    fn lift<M: Monoid<T>>(self, op: M, row: usize, _: usize) -> M::State {
        match self.0.get(row) {
            Some(value) => op.lift(*value, row as u64),
            None => op.identity(),
        }
    }
}
