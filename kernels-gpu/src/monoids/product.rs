//! Products.

use super::{Monoid, canonical};

/// `x₀ · x₁ · …` in f32, pairwise: a relative error of at most `(n - 1) · 2⁻²⁴` to first order, where no product on
/// the way over- or underflows. A product over nothing is 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Product;

impl Monoid<f32> for Product {
    type State = f32;
    type Answer = f32;

    #[inline]
    fn identity(self) -> f32 {
        1.0
    }
    #[inline]
    fn lift(self, value: f32, _: u64) -> f32 {
        value
    }
    #[inline]
    fn combine(self, a: f32, b: f32) -> f32 {
        a * b
    }
    #[inline]
    fn finish(self, product: f32) -> f32 {
        canonical(product)
    }
    #[inline]
    fn empty(self) -> Option<f32> {
        Some(1.0)
    }
}
