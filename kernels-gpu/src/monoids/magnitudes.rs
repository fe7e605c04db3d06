//! Operators over magnitudes, by the kernels of elements.

use super::{Algebra, Monoid};
use crate::{
    element::{Item, Normed},
    tree::{self, Part},
};

/// `M` over elements, or where a launch says so over their magnitudes: a norm by the kernels of a sum or an extremum, for one bitwise
/// operation an element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Magnitudes<M> {
    op: M,
    /// All ones where signs are left out.
    mask: u32,
}

impl<M> Magnitudes<M> {
    /// Over magnitudes, if `yes`.
    #[inline(always)]
    #[must_use]
    pub fn when(yes: bool, op: M) -> Self {
        Self {
            op,
            mask: u32::from(yes).wrapping_neg(),
        }
    }

    #[inline(always)]
    fn of<T: Normed>(self, value: T) -> T {
        // Its words are the sign's bit.
        let sign = T::nothing();
        T::from_words(|i| value.word(i) & !(sign.word(i) & self.mask))
    }
}

impl<T: Normed + Item, M: Monoid<T>> Monoid<T> for Magnitudes<M> {
    type State = M::State;
    type Answer = M::Answer;

    /// The largest of no magnitudes is 0, which none is below.
    #[inline]
    fn identity(self) -> M::State {
        if M::ALGEBRA.selects && self.mask != 0 {
            self.op.lift(T::from_bits(0), 0)
        } else {
            self.op.identity()
        }
    }
    #[inline]
    fn lift(self, value: T, index: u64) -> M::State {
        self.op.lift(self.of(value), index)
    }
    #[inline]
    fn filler(self) -> Option<T> {
        let filler = self.op.filler()?;
        Some(if self.mask == 0 { filler } else { T::from_bits(0) })
    }
    #[inline]
    fn combine(self, a: M::State, b: M::State) -> M::State {
        self.op.combine(a, b)
    }
    const ALGEBRA: Algebra = M::ALGEBRA.behind();
    #[inline]
    fn may_change(self, best: M::State, value: T) -> bool {
        self.op.may_change(best, self.of(value))
    }
    #[inline(always)]
    fn fold_part(self, part: impl Part<T>) -> M::State {
        if M::ALGEBRA.selects {
            tree::fold_exactly(self, part)
        } else {
            tree::fold_part(self, part)
        }
    }
    #[inline]
    fn finish(self, state: M::State, count: u64) -> M::Answer {
        self.op.finish(state, count)
    }
    /// Nothing has a largest magnitude though it has no largest element; the host, which knows either operator, answers that.
    #[inline]
    fn empty(self) -> Option<M::Answer> {
        self.op.empty()
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec::Vec;

    use proptest::prelude::*;

    use super::*;
    use crate::{
        element::{Float, bf16, f16},
        monoids::{
            Extremum, IgnoreNan, NormInf, NormL1, Sum,
            testing::{answer, bits, check_laws, special_or_any},
        },
    };

    /// As the operator that `op` is instead of answers; and otherwise as the one that it is made of.
    fn is<T: Float, A: Monoid<T, Answer = T>, B: Monoid<T, Answer = T>>(norm: A, op: B, run: &[T]) {
        let with = |yes| Magnitudes::when(yes, op);
        assert_eq!(bits(answer(with(true), run)), bits(answer(norm, run)));
        assert_eq!(bits(answer(with(false), run)), bits(answer(op, run)));
        // Nothing is selected.
        let nothing = |state: A::State| bits(norm.finish(state, 1));
        assert_eq!(
            bits(with(true).finish(with(true).identity(), 1)),
            nothing(norm.identity())
        );
        assert_eq!(bits(with(false).identity()), bits(op.identity()));
        // It skips no element that would change it.
        let (last, before) = run.split_last().expect("an element");
        if let Some(first) = before.first() {
            let state = before[1..].iter().fold(with(true).lift(*first, 0), |state, value| {
                with(true).combine(state, with(true).lift(*value, 0))
            });
            let after = with(true).combine(state, with(true).lift(*last, 0));
            assert!(bits(after) == bits(state) || with(true).may_change(state, *last));
        }
    }

    proptest! {
        #[test]
        fn a_norm_is_a_fold_of_magnitudes(run in special_or_any()) {
            is(NormL1, Sum, &run);
            is(NormInf, Extremum::LARGEST, &run);
            is(IgnoreNan(NormL1), IgnoreNan(Sum), &run);
            let doubles: Vec<f64> = run.iter().map(|x| f64::from(*x)).collect();
            is(NormL1, Sum, &doubles);
            is(NormInf, Extremum::LARGEST, &doubles);
            let halves: Vec<f16> = doubles.iter().map(|x| <f16 as Float>::from_f64(*x)).collect();
            is(NormL1, Sum, &halves);
            let brains: Vec<bf16> = doubles.iter().map(|x| <bf16 as Float>::from_f64(*x)).collect();
            is(NormL1, Sum, &brains);
            is(NormInf, Extremum::LARGEST, &brains);
        }

        #[test]
        fn it_is_a_monoid(a in special_or_any(), b in special_or_any(), yes in any::<bool>()) {
            check_laws(Magnitudes::when(yes, Sum), &[a, b]);
        }
    }
}
