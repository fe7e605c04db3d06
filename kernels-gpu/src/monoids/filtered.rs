//! Operators over some of the elements: those that a mask selects, those that are numbers.

use core::marker::PhantomData;

use super::{Algebra, Monoid};
use crate::{
    element::{Element, Float, Item, Masked, Rank},
    kernels::OpParams,
    tree::{Again, ColumnFold, Part, PartFold, Predicated, Prefilter, ROWS, RelativeSum},
};

/// `M` over the elements that a filter keeps: any other lifts to the identity, which is neutral to the bit, whatever it is.
///
/// All others stay where they are in the canonical tree. So the bits of an operator that rounds are those of the tree with holes,
/// not of the array of what is kept; where all is kept, they are those of `M`. An operator that is exact has the same answer either
/// way, and indices are those in the whole array.
///
/// Where nothing is kept, the answer is what the identity finishes to: −0.0 of a sum (its identity, and equal to 0), 1 of a product,
/// NaN of a mean, of a variance and of the largest and the smallest of floats, and of an index [`NO_INDEX`](super::NO_INDEX); the
/// largest and the smallest of integers, which have no NaN, are then the lowest and the highest number there is. Over nothing it is
/// that of `M`.
///
/// The count that `finish` takes is that of all elements. An operator that divides by the number of those that were folded counts
/// them in its state, as [`CountedMean`](super::CountedMean) and the moments do, and [`Mean`](super::Mean) does not.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Filtered<F, M> {
    /// What is kept.
    pub filter: F,
    /// The operator.
    pub op: M,
}

/// Which elements are folded.
pub trait Filter<I>: Copy {
    /// What the operator folds of them.
    type Kept: Element;

    /// The element of an item, and whether it is kept.
    fn keep(self, item: I) -> (Self::Kept, bool);

    /// An item that is not kept.
    #[inline]
    fn nothing() -> Option<I> {
        None
    }
}

/// Numbers are kept, and a NaN is not.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Numbers;

impl<T: Float> Filter<T> for Numbers {
    type Kept = T;
    #[inline]
    fn keep(self, value: T) -> (T, bool) {
        (value, !value.rank().unordered())
    }
}

/// A column without its NaNs.
#[inline(always)]
pub(super) fn numbers<T: Float>(column: [Predicated<T>; ROWS]) -> [Predicated<T>; ROWS] {
    column.map(|place| place.filter(|value| Numbers.keep(value).1))
}

/// What a mask selects is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Selected;

impl<T: Element> Filter<Masked<T>> for Selected {
    type Kept = T;
    #[inline]
    fn keep(self, Masked(value, selected): Masked<T>) -> (T, bool) {
        (value, selected)
    }
    #[inline]
    fn nothing() -> Option<Masked<T>> {
        Some(Masked(T::from_bits(0), false))
    }
}

/// What a mask selects is kept, and of that what is no NaN, where a launch says so. Kernels that leave NaN out are those for masks,
/// [without one](crate::stages::load::mask::NO_MASK).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SelectedNumbers {
    /// Whether a NaN is left out.
    pub numbers_only: bool,
}

impl<T: Float> Filter<Masked<T>> for SelectedNumbers {
    type Kept = T;
    #[inline]
    fn keep(self, Masked(value, selected): Masked<T>) -> (T, bool) {
        (value, selected & !(self.numbers_only & value.rank().unordered()))
    }
    #[inline]
    fn nothing() -> Option<Masked<T>> {
        Some(Masked(T::from_bits(0), false))
    }
}

/// `M` over the elements that are not NaN.
pub type IgnoreNan<M> = Filtered<Numbers, M>;

/// `M` over the elements that a mask selects.
pub type Where<M> = Filtered<Selected, M>;

/// The same, or over those of them that are not NaN.
pub type WhereNumbers<M> = Filtered<SelectedNumbers, M>;

/// `op` over the elements that are not NaN.
#[allow(non_snake_case)] // as the type is called
pub const fn IgnoreNan<M>(op: M) -> IgnoreNan<M> {
    Filtered { filter: Numbers, op }
}

/// `op` over the elements that a mask selects.
#[allow(non_snake_case)] // as the type is called
pub const fn Where<M>(op: M) -> Where<M> {
    Filtered { filter: Selected, op }
}

impl<M> WhereNumbers<M> {
    /// By what a launch passes.
    #[inline(always)]
    #[must_use]
    pub fn of_params(op: M, params: OpParams) -> Self {
        let numbers_only = params.numbers_only;
        let filter = SelectedNumbers { numbers_only };
        Self { filter, op }
    }
}

impl<I: Item, F: Filter<I>, M: Monoid<F::Kept>> Monoid<I> for Filtered<F, M> {
    type State = M::State;
    type Answer = M::Answer;

    #[inline]
    fn identity(self) -> M::State {
        self.op.identity()
    }
    #[inline]
    fn lift(self, item: I, index: u64) -> M::State {
        let (value, is_kept) = self.filter.keep(item);
        if is_kept {
            self.op.lift(value, index)
        } else {
            self.op.identity()
        }
    }
    #[inline]
    fn combine(self, a: M::State, b: M::State) -> M::State {
        self.op.combine(a, b)
    }
    const ALGEBRA: Algebra = Algebra {
        sums_relative: M::ALGEBRA.sums_relative,
        ..M::ALGEBRA.behind()
    };
    #[inline]
    fn filler(self) -> Option<I> {
        F::nothing()
    }
    crate::opt_in!(F::Kept: Positional; of |outer| outer.op);
    crate::opt_in!(I: Prefilter, ColumnFold, PartFold, RelativeSum);
    #[inline]
    fn finish(self, state: M::State, count: u64) -> M::Answer {
        self.op.finish(state, count)
    }
    #[inline]
    fn empty(self) -> Option<M::Answer> {
        self.op.empty()
    }
}

impl<I: Item, F: Filter<I>, M: Monoid<F::Kept>> Prefilter<I, M::State> for Filtered<F, M> {
    #[inline]
    fn may_change(self, best: M::State, item: I) -> bool {
        let (value, is_kept) = self.filter.keep(item);
        // `best` is the identity where nothing was kept before: any element changes that.
        (!M::ALGEBRA.selects | is_kept) & self.op.prefilter().may_change(best, value)
    }
}

impl<I: Item, F: Filter<I>, M: Monoid<F::Kept>> ColumnFold<I, M::State> for Filtered<F, M> {
    #[inline(always)]
    fn fold_column(self, column: [Predicated<I>; ROWS], index: u64, pitch: u64) -> M::State {
        let kept = |place: Predicated<I>| {
            let there = place.filter(|item| self.filter.keep(item).1);
            there.map(|item| self.filter.keep(item).0)
        };
        self.op.column_fold().fold_column(column.map(kept), index, pitch)
    }
}

impl<I: Item, F: Filter<I>, M: Monoid<F::Kept>> PartFold<I, M::State> for Filtered<F, M> {
    #[inline(always)]
    fn fold_part(self, part: impl Part<I>) -> M::State {
        self.op.part_fold().fold_part(Kept::of(self.filter, part))
    }
    #[inline(always)]
    fn fold_parts<P: Part<I>>(
        self,
        _: impl Monoid<I, State = M::State>,
        state: M::State,
        mut next: impl FnMut() -> Option<P>,
    ) -> M::State {
        let next = || Some(Kept::of(self.filter, next()?));
        self.op.part_fold().fold_parts(self.op, state, next)
    }
}

impl<I: Item, F: Filter<I>, M: Monoid<F::Kept>> RelativeSum<I, M::State> for Filtered<F, M> {
    #[inline(always)]
    fn number(self, item: I) -> f32 {
        let (value, is_kept) = self.filter.keep(item);
        let number = self.op.relative_sum().number(value);
        if is_kept { number } else { f32::NEG_INFINITY }
    }
    #[inline(always)]
    fn is_bounded(self, number: f32) -> bool {
        self.op.relative_sum().is_bounded(number)
    }
    #[inline(always)]
    fn term(self, largest: f32, number: f32, is_bounded: bool) -> f32 {
        self.op.relative_sum().term(largest, number, is_bounded)
    }
    #[inline(always)]
    fn of_terms(self, largest: f32, terms: f32, is_bounded: bool) -> M::State {
        self.op.relative_sum().of_terms(largest, terms, is_bounded)
    }
    #[inline(always)]
    fn combine_bounded(self, a: M::State, b: M::State) -> M::State {
        self.op.relative_sum().combine_bounded(a, b)
    }
    #[inline(always)]
    fn fold_at_hand<P: Again<I> + Part<I>>(self, part: P) -> M::State {
        self.op.relative_sum().fold_at_hand(Kept::of(self.filter, part))
    }
}

/// A part in which only what is kept is an element, in whichever way an operator folds it.
struct Kept<I, F, P> {
    filter: F,
    part: P,
    items: PhantomData<fn(I)>,
}

impl<I, F: Copy, P: Copy> Copy for Kept<I, F, P> {}
impl<I, F: Copy, P: Copy> Clone for Kept<I, F, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<I, F, P> Kept<I, F, P> {
    #[inline(always)]
    fn of(filter: F, part: P) -> Self {
        let items = PhantomData;
        Self { filter, part, items }
    }
}

impl<T: Element, I: Item, F: Filter<I, Kept = T>, P: Part<I>> Part<T> for Kept<I, F, P> {
    const ROWS: usize = P::ROWS;
    const COLUMNS: usize = P::COLUMNS;
    const AT_HAND: bool = P::AT_HAND;

    #[inline(always)]
    fn lift<M: Monoid<T>>(self, op: M, row: usize, column: usize) -> M::State {
        let filter = self.filter;
        self.part.lift(Filtered { filter, op }, row, column)
    }
    #[inline(always)]
    fn fold_in_loop<M: Monoid<T>>(self, op: M) -> Option<M::State> {
        let filter = self.filter;
        self.part.fold_in_loop(Filtered { filter, op })
    }
}

impl<T: Element, I: Item, F: Filter<I, Kept = T>, P: Again<I>> Again<T> for Kept<I, F, P> {
    #[inline(always)]
    fn fold<M: Monoid<T>>(self, op: M) -> M::State {
        let filter = self.filter;
        self.part.fold(Filtered { filter, op })
    }
    #[inline(always)]
    fn fold_in_turns<M: Monoid<T>>(self, op: M) -> M::State {
        let filter = self.filter;
        self.part.fold_in_turns(Filtered { filter, op })
    }
    #[inline(always)]
    fn fold_in_halves<M: Monoid<T>>(self, op: M) -> M::State {
        let filter = self.filter;
        self.part.fold_in_halves(Filtered { filter, op })
    }
}

#[cfg(test)]
#[path = "ignore_nan_tests.rs"]
mod ignore_nan_tests;
#[cfg(test)]
#[path = "select_tests.rs"]
mod select_tests;
