//! A few elements summed beside the largest of them, of operators that [may](Algebra::sums_beside): it is looked for first, then each adds a term.

use super::{Algebra, Monoid};
use crate::{
    arithmetic::single,
    element::Item,
    tree::{self, Part, Place, ROWS},
};

/// The state of a part [at hand](Part::AT_HAND), whichever elements it has, in the canonical tree.
#[inline(always)]
pub(crate) fn fold_part<T: Item, M: Monoid<T>>(op: M, part: impl Part<T>) -> M::State {
    let largest = largest(op, part);
    op.of_terms(largest, tree::fold_part(AnyTerms { op, largest }, part), false)
}

/// The largest element of a part, by words where a machine has the instruction.
#[inline(always)]
pub(crate) fn largest<T: Item, M: Monoid<T>, P: Part<T>>(op: M, part: P) -> f32 {
    match part.largest(op, 0, P::COLUMNS) {
        Some(largest) => op.number(largest),
        None => tree::chains(Largest { op }, part),
    }
}

/// The largest element.
#[derive(Clone, Copy)]
pub(crate) struct Largest<M> {
    pub(crate) op: M,
}

/// The sum of terms beside the largest element, which is within bounds.
#[derive(Clone, Copy)]
pub(crate) struct Terms<M> {
    pub(crate) op: M,
    pub(crate) largest: f32,
}

/// The same whichever it is.
#[derive(Clone, Copy)]
struct AnyTerms<M> {
    op: M,
    largest: f32,
}

/// A monoid of numbers, whose answer is its state.
macro_rules! monoid {
    ($monoid:ty, $nothing:expr, |$this:ident, $value:ident| $lift:expr, |$a:ident, $b:ident| $both:expr) => {
        impl<T, M: Monoid<T>> Monoid<T> for $monoid {
            type State = f32;
            type Answer = f32;

            #[inline(always)]
            fn identity(self) -> f32 {
                $nothing
            }
            #[inline(always)]
            fn lift(self, $value: T, _: u64) -> f32 {
                let $this = self;
                $lift
            }
            #[inline(always)]
            fn combine(self, $a: f32, $b: f32) -> f32 {
                $both
            }
            #[inline(always)]
            fn filler(self) -> Option<T> {
                self.op.filler()
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
    };
}

monoid!(
    Largest<M>,
    f32::NEG_INFINITY,
    |this, value| this.op.number(value),
    |a, b| single::maximum(a, b)
);
monoid!(
    Terms<M>,
    0.0,
    |this, value| this.op.term(this.largest, this.op.number(value), true),
    |a, b| a + b
);
monoid!(
    AnyTerms<M>,
    0.0,
    |this, value| this.op.term(this.largest, this.op.number(value), false),
    |a, b| a + b
);

/// The operator inside, of the same bits, for elements within bounds. All of them must be.
#[derive(Clone, Copy, Debug)]
pub struct Bounded<M>(pub M);

impl<T, M: Monoid<T>> Monoid<T> for Bounded<M> {
    type State = M::State;
    type Answer = M::Answer;

    #[inline(always)]
    fn identity(self) -> M::State {
        self.0.identity()
    }
    #[inline(always)]
    fn lift(self, value: T, _: u64) -> M::State {
        let number = self.0.number(value);
        self.0.of_terms(number, self.0.term(number, number, true), true)
    }
    #[inline(always)]
    fn combine(self, a: M::State, b: M::State) -> M::State {
        self.0.combine_bounded(a, b)
    }
    #[inline(always)]
    fn filler(self) -> Option<T> {
        self.0.filler()
    }
    const ALGEBRA: Algebra = M::ALGEBRA.behind();
    #[inline(always)]
    fn fold_column(self, [a, b, c, d, e, f, g, h]: [Place<T>; ROWS], _: u64, _: u64) -> M::State {
        let op = self.0;
        let number = |place: Place<T>| {
            let number = op.number(place.value);
            if place.is_there { number } else { f32::NEG_INFINITY }
        };
        let (a, b, c, d) = (number(a), number(b), number(c), number(d));
        let (e, f, g, h) = (number(e), number(f), number(g), number(h));
        let four = |a, b, c, d| single::larger(single::larger(a, b), single::larger(c, d));
        let largest = single::larger(four(a, b, c, d), four(e, f, g, h));
        let term = |number| op.term(largest, number, true);
        let low = (term(a) + term(b)) + (term(c) + term(d));
        let high = (term(e) + term(f)) + (term(g) + term(h));
        op.of_terms(largest, low + high, true)
    }
    #[inline(always)]
    fn finish(self, state: M::State, count: u64) -> M::Answer {
        self.0.finish(state, count)
    }
    #[inline(always)]
    fn empty(self) -> Option<M::Answer> {
        self.0.empty()
    }
}
