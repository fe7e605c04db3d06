//! A step of one's own in front of an operator.

use core::marker::PhantomData;

use super::{Algebra, Monoid};
use crate::{
    element::{Element, Item},
    tree::{self, ColumnFold, Part, PartFold, Predicated, Prefilter, ROWS},
};

/// What becomes of each element before it is folded. Its arithmetic is that of [`arithmetic`](crate::arithmetic) and of
/// IEEE 754's operations, so that its bits are the same on every machine; and like an operator's methods, mark it `#[inline]`.
pub trait Transform<T>: Copy {
    /// What the operator behind folds.
    type Output: Element;

    /// What becomes of `value`.
    fn apply(self, value: T) -> Self::Output;

    /// Whether it is written with fused multiply-adds, as `exp` and `ln` are: see [`Algebra::fuses`].
    const FUSES: bool = false;
}

/// An operator on what a [`Transform`] makes of each element, in the same pass: no array between the two is written and read.
///
/// The canonical tree is that of the elements: the bits are those of the transformed array folded by itself wherever that has
/// elements of the same size.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Map<F, M> {
    /// The step in front.
    pub transform: F,
    /// The operator.
    pub op: M,
}

impl<T, F: Transform<T>, M: Monoid<F::Output>> Monoid<T> for Map<F, M> {
    type State = M::State;
    type Answer = M::Answer;

    #[inline]
    fn identity(self) -> M::State {
        self.op.identity()
    }
    #[inline]
    fn lift(self, value: T, index: u64) -> M::State {
        self.op.lift(self.transform.apply(value), index)
    }
    #[inline]
    fn combine(self, a: M::State, b: M::State) -> M::State {
        self.op.combine(a, b)
    }
    const ALGEBRA: Algebra = Algebra {
        fuses: F::FUSES || M::ALGEBRA.fuses,
        ..M::ALGEBRA.behind()
    };
    crate::opt_in!(F::Output: Positional; of |outer| outer.op);
    crate::opt_in!(T: Prefilter, ColumnFold, PartFold);
    #[inline]
    fn finish(self, state: M::State, count: u64) -> M::Answer {
        self.op.finish(state, count)
    }
    #[inline]
    fn empty(self) -> Option<M::Answer> {
        self.op.empty()
    }
}

impl<T, F: Transform<T>, M: Monoid<F::Output>> Prefilter<T, M::State> for Map<F, M> {
    #[inline]
    fn may_change(self, best: M::State, value: T) -> bool {
        self.op.prefilter().may_change(best, self.transform.apply(value))
    }
}

impl<T, F: Transform<T>, M: Monoid<F::Output>> ColumnFold<T, M::State> for Map<F, M> {
    #[inline(always)]
    fn fold_column(self, column: [Predicated<T>; ROWS], index: u64, pitch: u64) -> M::State
    where
        T: Item,
    {
        let transformed = column.map(|place| place.map(|value| self.transform.apply(value)));
        self.op.column_fold().fold_column(transformed, index, pitch)
    }
}

impl<T, F: Transform<T>, M: Monoid<F::Output>> PartFold<T, M::State> for Map<F, M> {
    #[inline(always)]
    fn fold_part(self, part: impl Part<T>) -> M::State
    where
        T: Item,
    {
        if M::ALGEBRA.selects || is_of_one_width::<T, F::Output>() && M::ALGEBRA.associates {
            self.op.part_fold().fold_part(Transformed::of(self.transform, part))
        } else {
            tree::fold_part(self, part)
        }
    }
    #[inline(always)]
    fn fold_parts<P: Part<T>>(
        self,
        op: impl Monoid<T, State = M::State>,
        mut state: M::State,
        mut next: impl FnMut() -> Option<P>,
    ) -> M::State
    where
        T: Item,
    {
        if is_of_one_width::<T, F::Output>() {
            let next = || Some(Transformed::of(self.transform, next()?));
            return self.op.part_fold().fold_parts(self.op, state, next);
        }
        while let Some(part) = next() {
            state = op.combine(state, self.fold_part(part));
        }
        state
    }
}

/// Whether as many of what a step makes as of what it is made of are a vector: an operator may count on the columns of a part.
const fn is_of_one_width<T, O>() -> bool {
    size_of::<T>() == size_of::<O>()
}

/// A part of what a step makes of elements, in whichever way the operator behind it folds it.
struct Transformed<T, F, P> {
    transform: F,
    part: P,
    elements: PhantomData<fn(T)>,
}

impl<T, F, P> Transformed<T, F, P> {
    fn of(transform: F, part: P) -> Self {
        let elements = PhantomData;
        Self {
            transform,
            part,
            elements,
        }
    }
}

impl<T, F: Copy, P: Copy> Clone for Transformed<T, F, P> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, F: Copy, P: Copy> Copy for Transformed<T, F, P> {}

impl<T, F: Transform<T>, P: Part<T>> Part<F::Output> for Transformed<T, F, P> {
    const ROWS: usize = P::ROWS;
    const COLUMNS: usize = P::COLUMNS;

    #[inline(always)]
    fn lift<M: Monoid<F::Output>>(self, op: M, row: usize, column: usize) -> M::State {
        let transform = self.transform;
        self.part.lift(Map { transform, op }, row, column)
    }
    #[inline(always)]
    fn fold_in_loop<M: Monoid<F::Output>>(self, op: M) -> Option<M::State> {
        let transform = self.transform;
        self.part.fold_in_loop(Map { transform, op })
    }
}

/// How a state of several fields travels as words: field after field, each of a type that is [`Words`](crate::monoids::Words) itself.
///
/// ```
/// #[derive(Clone, Copy, Debug)]
/// struct Range {
///     low: f32,
///     high: f32,
///     count: u64,
/// }
///
/// warpfold_kernels::words_of_fields!(Range { low: f32, high: f32, count: u64 });
///
/// assert_eq!(<Range as warpfold_kernels::monoids::Words>::COUNT, 4);
/// ```
#[macro_export]
macro_rules! words_of_fields {
    ($state:ty { $($field:ident: $type:ty),* $(,)? }) => {
        impl $crate::monoids::Words for $state {
            const COUNT: usize = 0 $(+ <$type as $crate::monoids::Words>::COUNT)*;

            #[inline]
            fn word(self, i: usize) -> u32 {
                let first = 0;
                $(
                    let end = first + <$type as $crate::monoids::Words>::COUNT;
                    if i < end {
                        return $crate::monoids::Words::word(self.$field, i - first);
                    }
                    let first = end;
                )*
                let _ = first;
                0
            }

            #[inline]
            fn from_words(mut word: impl FnMut(usize) -> u32) -> Self {
                let first = 0;
                $(
                    let $field = <$type as $crate::monoids::Words>::from_words(|i| word(first + i));
                    let first = first + <$type as $crate::monoids::Words>::COUNT;
                )*
                let _ = first;
                Self { $($field),* }
            }
        }
    };
}
