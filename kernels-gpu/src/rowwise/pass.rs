//! What a row operation does in each of its passes, and above, as monoids: stages fold those.

use super::{RowOp, Sums as _, Value as _};
use crate::monoids::{Algebra, Monoid};

/// A pass over a leaf.
pub trait Pass<O: RowOp>: Monoid<f32> {
    /// Whether it would notice what is absent.
    const NOTICES: bool;
    /// What it has of an element.
    fn of(self, value: O::Value) -> Self::State;
    /// What it has of an absent one.
    #[inline(always)]
    fn absent(self) -> Self::State {
        Monoid::<f32>::identity(self)
    }
}

/// The first pass.
#[derive(Clone, Copy)]
pub struct ReferencePass<O>(pub O);

/// The second, by the reference of the first.
#[derive(Clone, Copy)]
pub struct TermsPass<O> {
    /// The operation.
    pub op: O,
    /// What elements are beside.
    pub reference: f32,
}

/// The sum of the elements.
#[derive(Clone, Copy)]
pub struct TotalPass<O>(pub O);

/// The states of leaves.
#[derive(Clone, Copy)]
pub struct StatesPass<O>(pub O);

macro_rules! monoid {
    ($pass:ty, $state:ty, $fuses:literal, |$this:ident| $nothing:expr, |$that:ident, $a:ident, $b:ident| $both:expr) => {
        impl<O: RowOp> Monoid<f32> for $pass {
            type State = $state;
            type Answer = $state;

            const ALGEBRA: Algebra = Algebra {
                fuses: $fuses,
                ..Algebra::PLAIN
            };

            #[inline(always)]
            fn identity(self) -> $state {
                let $this = self;
                $nothing
            }
            #[inline(always)]
            fn lift(self, _: f32, _: u64) -> $state {
                Monoid::<f32>::identity(self)
            }
            #[inline(always)]
            fn combine(self, $a: $state, $b: $state) -> $state {
                let $that = self;
                $both
            }
            #[inline(always)]
            fn finish(self, state: $state, _: u64) -> $state {
                state
            }
            #[inline(always)]
            fn empty(self) -> Option<$state> {
                None
            }
        }
    };
}

monoid!(ReferencePass<O>, f32, false, |this| this.0.nothing(), |this, a, b| this
    .0
    .both(a, b));
monoid!(
    TermsPass<O>,
    O::Sums,
    false,
    |_this| O::Sums::nothing(),
    |_this, a, b| a.plus(b)
);
monoid!(TotalPass<O>, f32, false, |_this| -0.0, |_this, a, b| a + b);
monoid!(StatesPass<O>, O::State, true, |this| this.0.identity(), |this, a, b| {
    this.0.combine(a, b)
});

impl<O: RowOp> Pass<O> for ReferencePass<O> {
    const NOTICES: bool = false;
    #[inline(always)]
    fn of(self, value: O::Value) -> f32 {
        self.0.first(value)
    }
}

impl<O: RowOp> Pass<O> for TotalPass<O> {
    const NOTICES: bool = true;
    #[inline(always)]
    fn of(self, value: O::Value) -> f32 {
        value.each()[0]
    }
}

impl<O: RowOp> Pass<O> for TermsPass<O> {
    const NOTICES: bool = O::MOVES;

    #[inline(always)]
    fn of(self, value: O::Value) -> O::Sums {
        self.op.term(self.op.relative(value, self.reference))
    }
    #[inline(always)]
    fn absent(self) -> O::Sums {
        self.of(self.op.moved(self.reference))
    }
}
