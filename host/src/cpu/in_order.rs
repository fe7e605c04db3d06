//! Extents whose elements meet one beside the other, for an operator that does not commute.

use warpfold_kernels::{
    element::Item,
    monoids::Monoid,
    tree::{self, Part, ROWS},
};

use crate::ops::algebra::Lens;

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
    // Subtrees that wait for their right neighbours, the largest first.
    let mut waiting: Vec<M::State> = Vec::new();
    for (number, eight) in values.chunks(ROWS).enumerate() {
        let mut state = op.shift(tree::fold_column(op, Eight(eight), 0), (number * ROWS) as u64);
        for _ in 0..number.trailing_ones() {
            let left = waiting.pop().expect("one waits for each of the number's last ones");
            state = op.combine(left, state);
        }
        waiting.push(state);
    }
    let last = waiting.pop().unwrap_or(op.identity());
    waiting
        .into_iter()
        .rev()
        .fold(last, |right, left| op.combine(left, right))
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
