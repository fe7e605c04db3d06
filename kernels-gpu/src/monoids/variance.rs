//! Operators on [moments](super::moments): how far elements spread.
//!
//! States are f64, and answers are rounded to the elements' type once (those of integers stay f64): where nothing is
//! ill-conditioned past 2²⁰ or so, they are the exact ones, rounded. A NaN or an infinity gives NaN (the mean of infinities apart), and so does nothing at all.

use super::{Algebra, Moments2, Moments4, Monoid};
use crate::{
    element::{Real, Type},
    tree::{self, ColumnFold, Predicated, ROWS},
};

/// What stands for an element that is not there: neutral in a sum.
fn nothing<T: Real>() -> T {
    let is_float = matches!(T::TYPE, Type::F16 | Type::Bf16 | Type::F32 | Type::F64);
    let sign = if is_float { 1 << (8 * T::TYPE.bytes() - 1) } else { 0 };
    T::from_bits(sign)
}

/// How states are combined of elements of type `T`. A lane has so many small ones that registers are dearer than operations.
trait Combines<T: Real> {
    fn with(self, other: Self) -> Self;
}

impl<T: Real> Combines<T> for Moments2<T::Scale> {
    #[inline(always)]
    fn with(self, other: Self) -> Self {
        self.combine(other)
    }
}

impl<T: Real> Combines<T> for Moments4<T::Scale> {
    #[inline(always)]
    fn with(self, other: Self) -> Self {
        if tree::is_long::<T>() {
            self.combine_by_parts(other)
        } else {
            self.combine(other)
        }
    }
}

/// An operator on moments: its state, and its answer.
macro_rules! operator {
    ($(#[$doc:meta])* $name:ident { $($field:ident),* }, $state:ident -> $answer:ty, |$op:ident, $moments:ident| $finish:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $name {
            $(
                /// What is taken off the number of elements to divide by: 1 for an estimate from a sample, 0 for the
                /// elements themselves.
                pub $field: f64,
            )*
        }

        impl<T: Real> Monoid<T> for $name {
            type State = $state<T::Scale>;
            type Answer = $answer;

            #[inline]
            fn identity(self) -> $state<T::Scale> {
                $state::EMPTY
            }
            #[inline]
            fn lift(self, value: T, _: u64) -> $state<T::Scale> {
                $state::of(value.to_f64())
            }
            #[inline]
            fn combine(self, a: $state<T::Scale>, b: $state<T::Scale>) -> $state<T::Scale> {
                Combines::<T>::with(a, b)
            }
            const ALGEBRA: Algebra = Algebra {
                folds_columns: true,
                fuses: true,
                ..Algebra::PLAIN
            };
            crate::opt_in!(T: ColumnFold);
            #[inline]
            fn finish(self, $moments: $state<T::Scale>, _: u64) -> $answer {
                let $op = self;
                $finish
            }
            #[inline]
            fn empty(self) -> Option<$answer> {
                Some(Monoid::<T>::finish(self, $state::EMPTY, 0))
            }
        }

        impl<T: Real> ColumnFold<T, $state<T::Scale>> for $name {
            #[inline(always)]
            fn fold_column(self, column: [Predicated<T>; ROWS], _: u64, _: u64) -> $state<T::Scale> {
                let there = column.map(|place| place.is_there);
                // Widened whatever is there: without a branch.
                let column = column.map(|place| if place.is_there { place.value } else { nothing() }.to_f64());
                $state::of_column(column, there, T::TYPE.bytes() <= 4)
            }
        }

        impl Default for $name {
            /// With a correction of 1, if it has one.
            fn default() -> Self {
                Self { $($field: 1.0),* }
            }
        }
    };
}

operator!(
    /// The variance, `Σ (xᵢ − mean)² / max(0, n − correction)`; NaN where `n ≤ correction`.
    Variance { correction }, Moments2 -> T::Mean, |op, moments| T::measure(moments.variance(op.correction))
);
operator!(
    /// The standard deviation: the root of the [`Variance`], finite wherever it fits its type itself.
    StdDev { correction }, Moments2 -> T::Mean, |op, moments| T::measure(moments.std(op.correction))
);
operator!(
    /// The mean and the [`Variance`], in one pass. The mean of infinities is ±∞ if they agree, otherwise NaN.
    MeanVariance { correction }, Moments2 -> (T::Mean, T::Mean), |op, moments| {
        let variance = moments.variance(op.correction);
        (T::measure(moments.mean()), T::measure(variance))
    }
);
operator!(
    /// The skewness of the elements themselves, without a correction for bias: 0 if they lie symmetrically, positive if the
    /// larger ones reach further. NaN where no two differ.
    Skewness {}, Moments4 -> T::Mean, |_op, moments| T::measure(moments.skewness())
);
operator!(
    /// The excess kurtosis of the elements themselves, without a correction for bias: 0 for a normal distribution, at least
    /// −2, positive if the tails are heavier. NaN where no two differ.
    Kurtosis {}, Moments4 -> T::Mean, |_op, moments| T::measure(moments.kurtosis())
);
