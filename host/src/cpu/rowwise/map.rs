//! What becomes of rows once their leaves are folded: their states, what is known of them, and the answers of a leaf's elements.

use std::iter::zip;

use pulp::{Simd, WithSimd};
use warpfold_kernels::rowwise::{Column, Given, RowElement, RowOp, Value as _};

use super::strip::{Leaf, PLAIN, StripPlace};

/// Neighbours are combined until one state is left.
pub(super) struct Neighbours<'a, O: RowOp> {
    pub(super) op: O,
    pub(super) states: &'a mut [O::State],
}

impl<O: RowOp> WithSimd for Neighbours<'_, O> {
    type Output = O::State;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> O::State {
        let Self { op, states } = self;
        let mut left = states.len();
        while left > 1 {
            for pair in 0..left / 2 {
                states[pair] = op.combine(states[2 * pair], states[2 * pair + 1]);
            }
            // One that has no neighbour is combined with nothing.
            if left % 2 == 1 {
                states[left / 2] = states[left - 1];
            }
            left = left.div_ceil(2);
        }
        states.first().copied().unwrap_or_else(|| op.identity())
    }
}

/// What else is known of a row: compiled for the machine's instructions, or each `fma` would be a call.
pub(super) struct Known<O: RowOp> {
    pub(super) op: O,
    /// Its state, and how many of its elements are seen.
    pub(super) row: (O::State, u64),
    pub(super) given: Given,
}

impl<O: RowOp> WithSimd for Known<O> {
    type Output = [f32; 4];

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) -> [f32; 4] {
        let (state, len) = self.row;
        self.op.known(state, len, self.given)
    }
}

/// Maps a leaf's elements to the answers, each rounded: this alone is compiled for every type of those, for an array of f32 between cost a tenth of a row of bf16.
pub(super) struct Map<'a, O: RowOp, U> {
    pub(super) place: StripPlace<'a, O>,
    pub(super) leaf: Leaf<O>,
    /// The state of the row, and how many of its elements are seen.
    pub(super) row: (O::State, u64),
    /// Whether the row is at most a leaf.
    pub(super) is_alone: bool,
    /// The place of the row's target, if that is in the leaf.
    pub(super) target: Option<usize>,
    pub(super) elements: [&'a [f32]; 2],
    /// What was kept of them, in their place.
    pub(super) kept: Option<&'a [O::Relative]>,
    pub(super) spread: &'a [Vec<f32>; 2],
    /// The answers, those of elements that are not seen too.
    pub(super) to: &'a mut [U],
}

impl<O: RowOp, U: RowElement> WithSimd for Map<'_, O, U> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, _: S) {
        let Self {
            place,
            leaf: Leaf { reference, state },
            elements: [firsts, seconds],
            to,
            ..
        } = self;
        let (op, (row, seen)) = (place.op, self.row);
        let factors = if self.is_alone {
            op.factors(reference, None, row, seen, place.given)
        } else {
            op.factors(reference, Some(state), row, seen, place.given)
        };
        let (to, unseen) = to.split_at_mut(place.seen);
        unseen.fill(U::narrowed(op.map(
            op.relative(op.absent(), reference),
            factors,
            Column::PLAIN,
        )));
        if let Some(kept) = self.kept {
            const { assert!(!(O::KEEPS && (O::HAS_COLUMNS || O::TARGETS))) };
            for (to, kept) in zip(&mut *to, kept) {
                *to = U::narrowed(op.map(*kept, factors, Column::PLAIN));
            }
        } else {
            // What takes columns before the first look needs them no more, and they may not be spread.
            let [weights, biases] = if O::HAS_COLUMNS {
                place.weights_and_biases(self.spread)
            } else {
                PLAIN.each_ref().map(|column| &column[..place.seen])
            };
            for ((to, (first, second)), (weight, bias)) in
                zip(zip(&mut *to, zip(firsts, seconds)), zip(weights, biases))
            {
                let (weight, bias) = (*weight, *bias);
                let column = if O::HAS_COLUMNS {
                    Column { weight, bias }
                } else {
                    Column::PLAIN
                };
                let beside = op.relative(O::Value::of([*first, *second]), reference);
                *to = U::narrowed(op.map(beside, factors, column));
            }
        }
        if let Some(target) = self.target.filter(|target| *target < to.len()) {
            let beside = op.relative(O::value_of(firsts[target]), reference);
            to[target] = U::narrowed(op.at_target(beside, factors));
        }
    }
}
