//! Sums, and what is a sum until its last step.

use super::{Monoid, canonical};

/// `x₀ + x₁ + …` in f32, pairwise: the error is at most `⌈log₂ n⌉ · 2⁻²⁴ · Σ|xᵢ|` to first order.
///
/// The identity is −0.0, the one float that is neutral to the bit (`-0.0 + 0.0` is `0.0`, but `-0.0 + -0.0` is
/// `-0.0`). A sum over nothing is +0.0.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sum;

impl Monoid<f32> for Sum {
    type State = f32;
    type Answer = f32;

    #[inline]
    fn identity(self) -> f32 {
        -0.0
    }
    #[inline]
    fn lift(self, value: f32, _: u64) -> f32 {
        value
    }
    #[inline]
    fn combine(self, a: f32, b: f32) -> f32 {
        a + b
    }
    #[inline]
    fn finish(self, sum: f32) -> f32 {
        canonical(sum)
    }
    #[inline]
    fn empty(self) -> Option<f32> {
        Some(0.0)
    }
}

/// The arithmetic mean: the f32 [`Sum`], divided once by `count`. NaN over nothing.
///
/// The division is done in f64, so that a count past 2²⁴ is not rounded first. A sum that overflows gives an infinite
/// mean.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    /// How many elements the whole extent has.
    pub count: u64,
}

impl Monoid<f32> for Mean {
    type State = f32;
    type Answer = f32;

    #[inline]
    fn identity(self) -> f32 {
        Sum.identity()
    }
    #[inline]
    fn lift(self, value: f32, index: u64) -> f32 {
        Sum.lift(value, index)
    }
    #[inline]
    fn combine(self, a: f32, b: f32) -> f32 {
        Sum.combine(a, b)
    }
    #[inline]
    fn finish(self, sum: f32) -> f32 {
        canonical((f64::from(sum) / self.count as f64) as f32)
    }
    #[inline]
    fn empty(self) -> Option<f32> {
        Some(canonical(f32::NAN))
    }
}
