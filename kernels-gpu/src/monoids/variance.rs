//! Operators on [moments](super::moments): how far elements spread.
//!
//! States are f64, and answers are rounded to f32 once: where nothing is ill-conditioned past 2²⁰ or so, they are the exact
//! ones, rounded. A NaN or an infinity gives NaN (the mean of infinities apart), and so does nothing at all.

use super::{Moments2, Moments4, Monoid, canonical};

/// An element, as the moments take it.
#[inline(always)]
fn lift(value: f32) -> f64 {
    f64::from(value)
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

        impl Monoid<f32> for $name {
            type State = $state;
            type Answer = $answer;

            #[inline]
            fn identity(self) -> $state {
                $state::EMPTY
            }
            #[inline]
            fn lift(self, value: f32, _: u64) -> $state {
                $state::of(lift(value))
            }
            #[inline]
            fn combine(self, a: $state, b: $state) -> $state {
                a.combine(b)
            }
            #[inline]
            fn finish(self, $moments: $state) -> $answer {
                let $op = self;
                $finish
            }
            #[inline]
            fn empty(self) -> Option<$answer> {
                Some(self.finish($state::EMPTY))
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
    Variance { correction }, Moments2 -> f32, |op, moments| canonical(moments.variance(op.correction) as f32)
);
operator!(
    /// The standard deviation: the root of the [`Variance`], finite wherever it fits an f32 itself.
    StdDev { correction }, Moments2 -> f32, |op, moments| canonical(moments.std(op.correction) as f32)
);
operator!(
    /// The mean and the [`Variance`], in one pass. The mean of infinities is ±∞ if they agree, otherwise NaN.
    MeanVariance { correction }, Moments2 -> (f32, f32), |op, moments| {
        let variance = moments.variance(op.correction);
        (canonical(moments.mean() as f32), canonical(variance as f32))
    }
);
operator!(
    /// The skewness of the elements themselves, without a correction for bias: 0 if they lie symmetrically, positive if the
    /// larger ones reach further. NaN where no two differ.
    Skewness {}, Moments4 -> f32, |_op, moments| canonical(moments.skewness() as f32)
);
operator!(
    /// The excess kurtosis of the elements themselves, without a correction for bias: 0 for a normal distribution, at least
    /// −2, positive if the tails are heavier. NaN where no two differ.
    Kurtosis {}, Moments4 -> f32, |_op, moments| canonical(moments.kurtosis() as f32)
);
