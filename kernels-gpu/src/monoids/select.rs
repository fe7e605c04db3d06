//! Operators under a mask.

use super::Monoid;
use crate::{
    element::{Element, Item, Masked},
    tree::{Part, Place, ROWS},
};

/// `M` over the elements that a mask selects: one that is not selected lifts to the identity, which is neutral to the bit, whatever
/// it is.
///
/// All others stay where they are in the canonical tree. So the bits of an operator that rounds are those of the tree with holes,
/// not of the array of what is selected; where all is selected, they are those of `M`. An operator that is exact has the same answer
/// either way, and indices are those in the whole array.
///
/// Where nothing is selected, the answer is what the identity finishes to, as with [`IgnoreNan`](super::IgnoreNan) of NaN alone:
/// −0.0 of a sum (its identity, and equal to 0), 1 of a product, NaN of a mean, of a variance and of the largest and the smallest
/// of floats, and of an index [`NO_INDEX`](super::NO_INDEX); the largest and the smallest of integers, which have no NaN, are then
/// the lowest and the highest number there is. Over nothing it is that of `M`.
///
/// The count that `finish` is told is that of all elements: as with `IgnoreNan`, an operator that divides counts by itself, as
/// [`CountedMean`](super::CountedMean) does.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Where<M>(pub M);

impl<T: Element, M: Monoid<T>> Monoid<Masked<T>> for Where<M> {
    type State = M::State;
    type Answer = M::Answer;

    #[inline]
    fn identity(self) -> M::State {
        self.0.identity()
    }
    #[inline]
    fn lift(self, Masked(value, selected): Masked<T>, index: u64) -> M::State {
        if selected {
            self.0.lift(value, index)
        } else {
            self.0.identity()
        }
    }
    #[inline]
    fn combine(self, a: M::State, b: M::State) -> M::State {
        self.0.combine(a, b)
    }
    #[inline]
    fn shift(self, state: M::State, by: u64) -> M::State {
        self.0.shift(state, by)
    }
    const SELECTS: bool = M::SELECTS;
    #[inline]
    fn may_change(self, best: M::State, Masked(value, selected): Masked<T>) -> bool {
        // `best` is the identity where nothing was selected before: any element changes that.
        selected & self.0.may_change(best, value)
    }
    #[inline(always)]
    fn fold_part(self, part: impl Part<Masked<T>>) -> M::State {
        self.0.fold_part(Selected(part))
    }
    const ASSOCIATES: bool = M::ASSOCIATES;
    #[inline(always)]
    fn fold_parts<P: Part<Masked<T>>>(self, state: M::State, mut next: impl FnMut() -> Option<P>) -> M::State {
        self.0.fold_parts(state, || next().map(Selected))
    }
    const FOLDS_COLUMNS: bool = M::FOLDS_COLUMNS;
    #[inline(always)]
    fn fold_column(self, column: [Place<Masked<T>>; ROWS], index: u64, pitch: u64) -> M::State
    where
        Masked<T>: Item,
    {
        let selected = column.map(|place| place.filter(|item| item.1).map(|item| item.0));
        self.0.fold_column(selected, index, pitch)
    }
    const FUSES: bool = M::FUSES;
    #[inline]
    fn finish(self, state: M::State, count: u64) -> M::Answer {
        self.0.finish(state, count)
    }
    #[inline]
    fn empty(self) -> Option<M::Answer> {
        self.0.empty()
    }
}

/// A part in which only what is selected is an element, in whichever way an operator folds it.
#[derive(Clone, Copy)]
struct Selected<P>(P);

impl<T: Element, P: Part<Masked<T>>> Part<T> for Selected<P> {
    const ROWS: usize = P::ROWS;
    const COLUMNS: usize = P::COLUMNS;
    const AT_HAND: bool = P::AT_HAND;

    #[inline(always)]
    fn lift<M: Monoid<T>>(self, op: M, row: usize, column: usize) -> M::State {
        self.0.lift(Where(op), row, column)
    }
    #[inline(always)]
    fn fold_in_loop<M: Monoid<T>>(self, op: M) -> Option<M::State> {
        self.0.fold_in_loop(Where(op))
    }
}

#[cfg(test)]
#[path = "select_tests.rs"]
mod tests;
