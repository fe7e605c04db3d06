//! One fold, and two ways to finish it.

use super::{Algebra, Monoid, Words};
use crate::kernels::OpParams;

/// Two operators that fold alike: a sum and a mean, a variance and its root. It folds as the first and finishes as either, so that
/// kernels are built once for both.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Either<A, B> {
    first: A,
    second: B,
    /// Whether the second finishes.
    is_second: bool,
}

impl<A, B> Either<A, B> {
    /// By what a launch passes.
    #[inline(always)]
    #[must_use]
    pub fn of_params(first: A, second: B, params: OpParams) -> Self {
        Self {
            first,
            second,
            is_second: params.also,
        }
    }
}

impl<T, A: Monoid<T>, B: Monoid<T, State = A::State>> Monoid<T> for Either<A, B> {
    type State = A::State;
    /// The words of the second's, where that finishes.
    type Answer = A::Answer;

    #[inline(always)]
    fn identity(self) -> A::State {
        self.first.identity()
    }
    #[inline(always)]
    fn lift(self, value: T, index: u64) -> A::State {
        self.first.lift(value, index)
    }
    #[inline(always)]
    fn combine(self, a: A::State, b: A::State) -> A::State {
        self.first.combine(a, b)
    }
    const ALGEBRA: Algebra = Algebra {
        fuses: A::ALGEBRA.fuses || B::ALGEBRA.fuses,
        ..A::ALGEBRA.behind()
    };
    #[inline]
    fn filler(self) -> Option<T> {
        self.first.filler()
    }
    crate::opt_in!(T: Positional, Prefilter, ColumnFold, PartFold; of |either| either.first);
    #[inline(always)]
    fn finish(self, state: A::State, count: u64) -> A::Answer {
        const {
            assert!(
                A::Answer::COUNT == B::Answer::COUNT && A::Answer::UNIT == B::Answer::UNIT,
                "the answers of both are as large"
            );
        }
        if self.is_second {
            let answer = self.second.finish(state, count);
            A::Answer::from_words(|i| answer.word(i))
        } else {
            self.first.finish(state, count)
        }
    }
    #[inline(always)]
    fn empty(self) -> Option<A::Answer> {
        if self.is_second {
            let answer = self.second.empty()?;
            Some(A::Answer::from_words(|i| answer.word(i)))
        } else {
            self.first.empty()
        }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::{fmt::Debug, vec::Vec};

    use proptest::prelude::*;

    use super::*;
    use crate::{
        element::Element,
        monoids::{
            Arg, Compensated, Extremum, Kurtosis, Mean, NormL2, Skewness, StdDev, Sum, SumOfSquares, Variance,
            testing::{Same, answer, bits, fold, same, special_or_any},
        },
        tree::Prefilter as _,
    };

    /// Folding as either gives what the one that is asked for gives.
    fn is_either<T: Element, A: Monoid<T, State: Same>, B: Monoid<T, State = A::State>>(
        first: A,
        second: B,
        run: &[T],
    ) {
        let either = |also| {
            Either::of_params(
                first,
                second,
                OpParams {
                    also,
                    ..OpParams::default()
                },
            )
        };
        assert_eq!(bits(answer(either(false), run)), bits(answer(first, run)));
        assert_eq!(bits(answer(either(true), run)), bits(answer(second, run)));
        assert!(same(fold(either(true), run), fold(second, run)));
        assert_eq!(either(false).empty().map(bits), first.empty().map(bits));
        assert_eq!(either(true).empty().map(bits), second.empty().map(bits));
    }

    /// Signed integers, folded as the unsigned ones of their bits.
    fn folds_alike<S: Element, U: Element, M: Monoid<S>, N: Monoid<U>>(own: M, unsigned_op: N, run: &[u64])
    where
        M::State: Debug,
    {
        let (signed, unsigned): (Vec<S>, Vec<U>) =
            run.iter().map(|&bits| (S::from_bits(bits), U::from_bits(bits))).unzip();
        assert_eq!(bits(fold(own, &signed)), bits(fold(unsigned_op, &unsigned)));
        // As the host reads it.
        let words = bits(answer(unsigned_op, &unsigned));
        assert_eq!(bits(answer(own, &signed)), bits(M::Answer::from_words(|i| words[i])));
        // An operator that selects says no to the same elements.
        let last = run.len() - 1;
        let (state, other) = (
            fold(own, &signed[..last.max(1)]),
            fold(unsigned_op, &unsigned[..last.max(1)]),
        );
        assert_eq!(
            own.prefilter().may_change(state, signed[last]),
            unsigned_op.prefilter().may_change(other, unsigned[last])
        );
    }

    proptest! {
        #[test]
        fn folding_as_either_is_folding_as_the_one(run in special_or_any(), correction in 0.0..2.0) {
            is_either(Sum, Mean, &run);
            is_either(Compensated(Sum), Compensated(Mean), &run);
            is_either(SumOfSquares, NormL2, &run);
            is_either(Variance { correction }, StdDev { correction }, &run);
            is_either(Skewness {}, Kurtosis {}, &run);
        }

        #[test]
        fn signed_integers_fold_as_the_unsigned_ones_of_their_bits(run in prop::collection::vec(any::<u64>(), 1..9)) {
            for number in 0..4 {
                let (own, params) = (OpParams { number, ..OpParams::default() }, OpParams { number, signed: true, ..OpParams::default() });
                macro_rules! each {
                    ($($signed:ty, $unsigned:ty;)*) => {$(
                        folds_alike::<$signed, $unsigned, _, _>(Extremum::of_params(own), Extremum::of_params(params), &run);
                        folds_alike::<$signed, $unsigned, _, _>(Arg::of_params(own), Arg::of_params(params), &run);
                        let ends = |params| (Arg::SMALLEST.signed(params), Extremum::LARGEST.signed(params));
                        folds_alike::<$signed, $unsigned, _, _>(ends(own), ends(params), &run);
                    )*};
                }
                each!(i8, u8; i16, u16; i32, u32; i64, u64;);
            }
        }
    }
}
