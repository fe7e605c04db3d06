//! Extents of an operator that associates to the bit: in whatever order, so in that of memory.

use warpfold_kernels::{
    element::Item,
    monoids::{Monoid, Words as _},
    tree::{Part, PartFold as _, ROWS, leaf_elements, row_elements, vector_elements},
};

use super::{prefilter::Bar, states::Block};
use crate::ops::untyped::Lens;

/// States of 16 bytes that are folded side by side: two vectors of each field.
const LANES: usize = 16;

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
        *state = op.part_fold().fold_parts(op, op.identity(), || parts.next().map(Few));
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
        let (mut all, mut bar) = (op.identity(), None);
        for (number, leaf) in extent.chunks(const { leaf_elements::<T>() }).enumerate() {
            if !M::ALGEBRA.selects
                || number == 0
                || bar.get_or_insert_with(|| Bar::of(op, all)).may_change(op, all, leaf)
            {
                (all, bar) = (op.combine(all, op.part_fold().fold_part(Leaf(leaf))), None);
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
        let (mut all, mut rest) = (op.identity(), self.0);
        // A sum with a carry is nothing that the compiler knows for a reduction, so the lanes are written out.
        if const { M::State::COUNT == 4 && align_of::<M::State>() == 8 } {
            let (chunks, after) = rest.as_chunks::<LANES>();
            let mut lanes = Block::<u64, LANES, 2>::new();
            for lane in 0..LANES {
                lanes.set(lane, op.identity());
            }
            for chunk in chunks {
                for (lane, value) in chunk.iter().enumerate() {
                    let state = op.combine(lanes.at(lane), op.lift(*value, 0));
                    lanes.set(lane, state);
                }
            }
            for half in [8, 4, 2, 1] {
                for lane in 0..half {
                    let state = op.combine(lanes.at(lane), lanes.at(half + lane));
                    lanes.set(lane, state);
                }
            }
            (all, rest) = (lanes.at(0), after);
        }
        for value in rest {
            all = op.combine(all, op.lift(*value, 0));
        }
        Some(all)
    }
}
