//! Sums of small floats in f64.

use super::{Monoid, sum::SumOrMean};
use crate::element::{Element, Float};

/// A [`Sum`](super::Sum) or [`Mean`](super::Mean) of f16, bf16 or f32 that is carried in f64 and rounded to the elements' type
/// once. With `d = ⌈log₂ n⌉` and `s` the exact sum, to first order, before that rounding,
///
/// ```text
/// |computed − s|  ≤  d · 2⁻⁵³ · Σ|xᵢ|
/// ```
///
/// A mean is divided in f64 first. Nothing overflows on the way. Sums of n elements of f16 are exact up to the rounding where
/// `n ≤ 2¹³`. Infinities, NaN, zeros and the answer over nothing are as those of the plain sum.
///
/// GPUs of data centres have half as many units for f64 as for f32, others a 64th: there the arithmetic, not the memory, sets the
/// speed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wide<Op>(pub Op);

impl<T, Op> Monoid<T> for Wide<Op>
where
    T: Float + Element<Wide = f32>,
    Op: SumOrMean,
{
    type State = f64;
    type Answer = T;

    #[inline]
    fn identity(self) -> f64 {
        -0.0
    }
    #[inline]
    fn lift(self, value: T, _: u64) -> f64 {
        value.to_f64()
    }
    #[inline]
    fn filler(self) -> Option<T> {
        Some(T::nothing())
    }
    #[inline]
    fn combine(self, a: f64, b: f64) -> f64 {
        a + b
    }
    #[inline]
    fn finish(self, sum: f64, count: u64) -> T {
        T::from_f64(sum / Op::divisor(count) as f64)
    }
    #[inline]
    fn empty(self) -> Option<T> {
        Some(T::from_f64(Op::OF_NOTHING))
    }
}
