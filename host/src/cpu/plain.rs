//! Extents on a machine without vector instructions that folds are compiled for: column by column, in little code.

use warpfold_kernels::{
    element::Item,
    monoids::Monoid,
    tree::{ColumnFold as _, Positional as _, Predicated, leaf_elements, row_elements},
};

use super::carries::Carries;
use crate::ops::untyped::Lens;

/// Folds extents: the one that starts at `starts[i]` to `states[i]`.
pub(super) fn fold_each<T: Item, M: Monoid<T>>(
    op: M,
    values: &[T],
    starts: &[i64],
    lens: Lens<'_>,
    states: &mut [M::State],
) {
    let mut columns = Vec::with_capacity(row_elements::<T>());
    for (i, (start, state)) in starts.iter().zip(states).enumerate() {
        let extent = &values[*start as usize..][..lens.of(i)];
        let mut carries = Carries::new();
        for leaf in extent.chunks(leaf_elements::<T>()) {
            let first = (carries.count() * leaf_elements::<T>()) as u64;
            carries.push(
                op.positional().shift(fold_leaf(op, leaf, &mut columns), first),
                |a, b| op.combine(a, b),
            );
        }
        *state = carries.total(|a, b| op.combine(a, b)).unwrap_or(op.identity());
    }
}

/// The columns of a leaf, each by itself, then neighbours.
fn fold_leaf<T: Item, M: Monoid<T>>(op: M, leaf: &[T], columns: &mut Vec<M::State>) -> M::State {
    let width = row_elements::<T>();
    columns.clear();
    columns.extend((0..width.min(leaf.len())).map(|column| {
        let places = std::array::from_fn(|row| {
            let value = leaf.get(row * width + column);
            Predicated {
                value: *value.unwrap_or(&leaf[0]),
                is_there: value.is_some(),
            }
        });
        op.column_fold().fold_column(places, column as u64, width as u64)
    }));
    while columns.len() > 1 {
        let pairs = columns.len() / 2;
        for pair in 0..pairs {
            columns[pair] = op.combine(columns[2 * pair], columns[2 * pair + 1]);
        }
        if columns.len() % 2 == 1 {
            columns[pairs] = columns[2 * pairs];
        }
        columns.truncate(columns.len().div_ceil(2));
    }
    columns[0]
}
