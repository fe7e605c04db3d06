//! An operator with a state and an answer of its own.

use warpfold_kernels::{
    arithmetic::double,
    element::Float,
    monoids::{Algebra, Monoid},
    ops::{Commutative, OwnOperator},
    words_of_fields,
};

/// The geometric mean of the positive elements, in f64, with how many are not: zeros, negative numbers and NaN have no logarithm
/// that could be averaged. Where none is positive the mean is NaN; an infinity makes it infinite.
///
/// It is `exp(Σ ln xᵢ / n)`, so nothing over- or underflows on the way.
#[derive(Clone, Copy, Debug)]
pub struct GeometricMean;

/// What is carried up the tree.
#[derive(Clone, Copy, Debug)]
pub struct Logs {
    /// The sum of the logarithms of the positive elements.
    pub sum: f64,
    /// How many are not positive.
    pub others: u64,
}

words_of_fields!(Logs { sum: f64, others: u64 });

impl<T: Float> Monoid<T> for GeometricMean {
    type State = Logs;
    /// The mean, and how many elements it leaves out.
    type Answer = (f64, u64);

    #[inline]
    fn identity(self) -> Logs {
        // −0.0 is the one float that changes no other: 0.0 would make −0.0 to 0.0.
        Logs { sum: -0.0, others: 0 }
    }
    #[inline]
    fn lift(self, value: T, _: u64) -> Logs {
        let value = value.to_f64();
        if value > 0.0 {
            Logs {
                sum: double::ln(value),
                others: 0,
            }
        } else {
            Logs { sum: -0.0, others: 1 }
        }
    }
    #[inline]
    fn combine(self, a: Logs, b: Logs) -> Logs {
        Logs {
            sum: a.sum + b.sum,
            others: a.others + b.others,
        }
    }
    const ALGEBRA: Algebra = Algebra {
        // As `ln` and `exp` are written.
        fuses: true,
        ..Algebra::PLAIN
    };
    #[inline]
    fn finish(self, logs: Logs, count: u64) -> (f64, u64) {
        let positive = count - logs.others;
        let mean = if positive == 0 {
            f64::NAN
        } else {
            double::exp(logs.sum / positive as f64)
        };
        (mean, logs.others)
    }
    #[inline]
    fn empty(self) -> Option<(f64, u64)> {
        Some((f64::NAN, 0))
    }
}

impl Commutative for GeometricMean {}

impl OwnOperator for GeometricMean {
    type Monoid = Self;

    fn monoid(self) -> Self {
        self
    }
    fn of_parameter(_: u64) -> Self {
        Self
    }
}

#[cfg(test)]
mod tests {
    use warpfold_kernels::testing::check_laws;

    use super::*;

    #[test]
    fn laws_hold() {
        check_laws(
            GeometricMean,
            &[1.0_f32, 2.5, 1e-40, 3e38, 0.0, -1.0, f32::INFINITY, f32::NAN],
        );
        check_laws(
            GeometricMean,
            &[1.0_f64, 2.5, 1e-310, 1e300, -0.0, -1.0, f64::INFINITY, f64::NAN],
        );
    }
}
