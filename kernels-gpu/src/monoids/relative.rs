//! A few elements summed relative to the largest of them, of operators that [may](Algebra::sums_relative): the largest is found first, then each element adds a term.

use super::{Algebra, Monoid};
use crate::{
    arithmetic::{power, single},
    element::Item,
    tree::{self, Again, Part, PartFold, Predicated, ROWS, RelativeSum},
};

/// The state of a part [at hand](Part::AT_HAND), whichever elements it has, in the canonical tree.
#[inline(always)]
pub(crate) fn fold_part<T: Item, M: Monoid<T>>(op: M, part: impl Part<T>) -> M::State {
    let largest = largest(op, part);
    op.relative_sum()
        .of_terms(largest, tree::fold_part(AnyTerms { op, largest }, part), false)
}

/// The state of a part at hand without a hole, for an operator to have as [`RelativeSum::fold_at_hand`].
#[inline(always)]
pub(crate) fn fold_at_hand<T: Item, M: Monoid<T>, P: Again<T> + Part<T>>(op: M, part: P) -> M::State {
    const {
        assert!(
            P::ROWS * P::COLUMNS <= 1 << power::DEPTH,
            "more than may be summed relative to one"
        )
    };
    let largest = largest(op, part);
    if op.relative_sum().is_bounded(largest) {
        op.relative_sum()
            .of_terms(largest, part.fold_in_halves(Terms { op, largest }), true)
    } else {
        part.fold_in_turns(Relative(op))
    }
}

/// The largest element of a part, by words where a machine has the instruction.
#[inline(always)]
pub(crate) fn largest<T: Item, M: Monoid<T>, P: Part<T>>(op: M, part: P) -> f32 {
    match part.largest(op, 0, P::COLUMNS) {
        Some(largest) => op.relative_sum().number(largest),
        None => tree::chains(Largest { op }, part),
    }
}

/// The largest element.
#[derive(Clone, Copy)]
pub(crate) struct Largest<M> {
    pub(crate) op: M,
}

/// The sum of terms relative to the largest element, which is within bounds.
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

/// What an element adds.
#[inline(always)]
fn term<T, State>(op: impl RelativeSum<T, State>, largest: f32, value: T, is_bounded: bool) -> f32 {
    op.term(largest, op.number(value), is_bounded)
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
    |this, value| this.op.relative_sum().number(value),
    |a, b| single::maximum(a, b)
);
monoid!(
    Terms<M>,
    0.0,
    |this, value| term(this.op.relative_sum(), this.largest, value, true),
    |a, b| a + b
);
monoid!(
    AnyTerms<M>,
    0.0,
    |this, value| term(this.op.relative_sum(), this.largest, value, false),
    |a, b| a + b
);

/// The operator inside, each part of it summed relative to its own largest element, whichever that is.
#[derive(Clone, Copy)]
pub(crate) struct Relative<M>(pub(crate) M);

impl<T, M: Monoid<T>> Monoid<T> for Relative<M> {
    type State = M::State;
    type Answer = M::Answer;

    #[inline(always)]
    fn identity(self) -> M::State {
        self.0.identity()
    }
    #[inline(always)]
    fn lift(self, value: T, index: u64) -> M::State {
        self.0.lift(value, index)
    }
    #[inline(always)]
    fn combine(self, a: M::State, b: M::State) -> M::State {
        self.0.combine(a, b)
    }
    const ALGEBRA: Algebra = M::ALGEBRA.behind();
    crate::opt_in!(T: PartFold);
    #[inline(always)]
    fn finish(self, state: M::State, count: u64) -> M::Answer {
        self.0.finish(state, count)
    }
    #[inline(always)]
    fn empty(self) -> Option<M::Answer> {
        self.0.empty()
    }
}

impl<T, M: Monoid<T>> PartFold<T, M::State> for Relative<M> {
    #[inline(always)]
    fn fold_part(self, part: impl Part<T>) -> M::State
    where
        T: Item,
    {
        fold_part(self.0, part)
    }
}

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
        let op = self.0.relative_sum();
        let number = op.number(value);
        op.of_terms(number, op.term(number, number, true), true)
    }
    #[inline(always)]
    fn combine(self, a: M::State, b: M::State) -> M::State {
        self.0.relative_sum().combine_bounded(a, b)
    }
    #[inline(always)]
    fn filler(self) -> Option<T> {
        self.0.filler()
    }
    const ALGEBRA: Algebra = M::ALGEBRA.behind();
    #[inline(always)]
    fn finish(self, state: M::State, count: u64) -> M::Answer {
        self.0.finish(state, count)
    }
    #[inline(always)]
    fn empty(self) -> Option<M::Answer> {
        self.0.empty()
    }
}

/// The state of a column, whose elements are where `is_there`; and whether the largest is within bounds and none is a NaN, for otherwise the state is any.
// Without branches, so that a compiler makes vector code of it; and without closures, for nothing obliges it to inline those.
#[inline(always)]
pub fn fold_column<T, M: Monoid<T>>(op: M, [a, b, c, d, e, f, g, h]: [Predicated<T>; ROWS]) -> (M::State, bool) {
    let op = op.relative_sum();
    let (a, b, c, d) = (number(op, a), number(op, b), number(op, c), number(op, d));
    let (e, f, g, h) = (number(op, e), number(op, f), number(op, g), number(op, h));
    // Which the larger one is not, of a NaN and a number.
    let any_nan = (((a + b) + (c + d)) + ((e + f) + (g + h))).is_nan();
    let low = single::larger(single::larger(a, b), single::larger(c, d));
    let high = single::larger(single::larger(e, f), single::larger(g, h));
    let largest = single::larger(low, high);
    let (a, b) = (op.term(largest, a, true), op.term(largest, b, true));
    let (c, d) = (op.term(largest, c, true), op.term(largest, d, true));
    let (e, f) = (op.term(largest, e, true), op.term(largest, f, true));
    let (g, h) = (op.term(largest, g, true), op.term(largest, h, true));
    let terms = ((a + b) + (c + d)) + ((e + f) + (g + h));
    let is_bounded = op.is_bounded(largest) & !any_nan;
    (op.of_terms(largest, terms, true), is_bounded)
}

/// What is at a place as a number.
#[inline(always)]
fn number<T, State>(op: impl RelativeSum<T, State>, place: Predicated<T>) -> f32 {
    let number = op.number(place.value);
    if place.is_there { number } else { f32::NEG_INFINITY }
}
