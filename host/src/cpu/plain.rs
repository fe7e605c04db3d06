//! Extents on a machine without vector instructions that folds are compiled for: column by column, in little code.

use warpfold_kernels::{
    element::Item,
    monoids::Monoid,
    tree::{Place, leaf_elements, row_elements},
};

use crate::ops::algebra::Lens;

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
        // Subtrees that wait for their right neighbours, the largest first: binary addition, whose carries are pairs of one size.
        let mut waiting: Vec<M::State> = Vec::new();
        for (number, leaf) in extent.chunks(leaf_elements::<T>()).enumerate() {
            let mut state = op.shift(
                fold_leaf(op, leaf, &mut columns),
                (number * leaf_elements::<T>()) as u64,
            );
            for _ in 0..number.trailing_ones() {
                let left = waiting.pop().expect("one waits for each of the number's last ones");
                state = op.combine(left, state);
            }
            waiting.push(state);
        }
        // What is missing to a power of two is identities, neutral to the bit.
        let last = waiting.pop().unwrap_or(op.identity());
        *state = waiting.into_iter().rfold(last, |right, left| op.combine(left, right));
    }
}

/// The columns of a leaf, each by itself, then neighbours.
fn fold_leaf<T: Item, M: Monoid<T>>(op: M, leaf: &[T], columns: &mut Vec<M::State>) -> M::State {
    let width = row_elements::<T>();
    columns.clear();
    columns.extend((0..width.min(leaf.len())).map(|column| {
        let places = std::array::from_fn(|row| {
            let value = leaf.get(row * width + column);
            Place {
                value: *value.unwrap_or(&leaf[0]),
                is_there: value.is_some(),
            }
        });
        op.fold_column(places, column as u64, width as u64)
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
