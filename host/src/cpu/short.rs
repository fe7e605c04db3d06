//! Extents of at most a row of the canonical tree, side by side: every element is a column.

use warpfold_kernels::{element::Item, monoids::Monoid};

use super::{
    run::WIDTH,
    states::{States, Word},
};

/// Folds extents of `len` elements: the one that starts at `starts[i]` to `states[i]`, positions counted from its start.
#[inline(always)]
pub(super) fn fold<T: Item, M: Monoid<T>, W: Word, const FIELDS: usize>(
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
        meet(op, columns, pairs, width, states);
    }
}

/// Each `width` columns, a power of two, meet to a state.
#[inline(always)]
fn meet<T, M: Monoid<T>, W: Word, const FIELDS: usize>(
    op: M,
    columns: &mut States<W, WIDTH, FIELDS>,
    pairs: &mut States<W, { WIDTH / 2 }, FIELDS>,
    mut width: usize,
    states: &mut [M::State],
) {
    let count = states.len();
    while width > 1 {
        pairs.pair_up(op, columns, count * width / 2);
        if width == 2 {
            for (i, state) in states.iter_mut().enumerate() {
                *state = pairs.at(i);
            }
            return;
        }
        columns.pair_up(op, pairs, count * width / 4);
        width /= 4;
    }
    for (i, state) in states.iter_mut().enumerate() {
        *state = columns.at(i);
    }
}
