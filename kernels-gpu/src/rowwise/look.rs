//! What a row operation does in each of its looks, and above, as monoids: stages fold those.

use super::{RowOp, Sums as _, Valued};
use crate::monoids::{Algebra, Monoid};

/// The first look.
#[derive(Clone, Copy)]
pub struct First<O>(pub O);

impl<T: Valued<O::Value>, O: RowOp> Monoid<T> for First<O> {
    type State = f32;
    type Answer = f32;

    #[inline(always)]
    fn identity(self) -> f32 {
        self.0.nothing()
    }
    #[inline(always)]
    fn lift(self, item: T, _: u64) -> f32 {
        self.0.first(item.value())
    }
    #[inline(always)]
    fn combine(self, a: f32, b: f32) -> f32 {
        self.0.both(a, b)
    }
    #[inline(always)]
    fn filler(self) -> Option<T> {
        self.0.filler().map(T::filled)
    }
    #[inline(always)]
    fn finish(self, state: f32, _: u64) -> f32 {
        state
    }
    #[inline(always)]
    fn empty(self) -> Option<f32> {
        None
    }
}

/// The second, by the reference of the first.
#[derive(Clone, Copy)]
pub struct Second<O> {
    /// The operation.
    pub op: O,
    /// What elements are beside.
    pub reference: f32,
}

impl<T: Valued<O::Value>, O: RowOp> Monoid<T> for Second<O> {
    type State = O::Sums;
    type Answer = O::Sums;

    #[inline(always)]
    fn identity(self) -> O::Sums {
        O::Sums::nothing()
    }
    #[inline(always)]
    fn lift(self, item: T, _: u64) -> O::Sums {
        self.op.term(item.value(), self.reference)
    }
    #[inline(always)]
    fn combine(self, a: O::Sums, b: O::Sums) -> O::Sums {
        a.plus(b)
    }
    #[inline(always)]
    fn filler(self) -> Option<T> {
        self.op.filler().map(T::filled)
    }
    #[inline(always)]
    fn finish(self, sums: O::Sums, _: u64) -> O::Sums {
        sums
    }
    #[inline(always)]
    fn empty(self) -> Option<O::Sums> {
        None
    }
}

/// The states of leaves.
#[derive(Clone, Copy)]
pub struct States<O>(pub O);

impl<O: RowOp> Monoid<f32> for States<O> {
    type State = O::State;
    type Answer = O::State;

    const ALGEBRA: Algebra = Algebra {
        fuses: O::FUSES,
        ..Algebra::PLAIN
    };

    #[inline(always)]
    fn identity(self) -> O::State {
        self.0.identity()
    }
    #[inline(always)]
    fn lift(self, _: f32, _: u64) -> O::State {
        self.0.identity()
    }
    #[inline(always)]
    fn combine(self, a: O::State, b: O::State) -> O::State {
        self.0.combine(a, b)
    }
    #[inline(always)]
    fn finish(self, state: O::State, _: u64) -> O::State {
        state
    }
    #[inline(always)]
    fn empty(self) -> Option<O::State> {
        None
    }
}
