//! Products of two arrays, element by element: their dot product, and the cosine of the angle between them.

use super::Monoid;
use crate::{
    arithmetic::double,
    element::{Accumulator as _, Float, Two, Wide},
};

/// `a₀·b₀ + a₁·b₁ + …`, pairwise. Over nothing, 0.
///
/// f16, bf16 and f32 are multiplied and summed in f32, and the answer rounded once to their own type; f64 in f64. Each product is
/// rounded by itself, never fused into the sum: the bits are those of the [`Sum`](super::Sum) of the array of products. Products of
/// f16 are exact, and so are those of bf16 that neither over- nor underflow f32. With `u` 2⁻²⁴ or 2⁻⁵³, the error is at most
/// `(⌈log₂ n⌉ + 1) · u · Σ|aᵢ·bᵢ|` to first order, before the answer is rounded.
///
/// It is symmetric to the bit. A NaN, or a 0 times an infinity, gives NaN.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Dot;

impl<T: Float> Monoid<Two<T>> for Dot {
    type State = T::Wide;
    type Answer = T::Total;

    #[inline]
    fn identity(self) -> T::Wide {
        T::Wide::NOTHING
    }
    #[inline]
    fn lift(self, Two(a, b): Two<T>, _: u64) -> T::Wide {
        a.wide().times(b.wide())
    }
    #[inline]
    fn combine(self, a: T::Wide, b: T::Wide) -> T::Wide {
        a.plus(b)
    }
    #[inline]
    fn finish(self, sum: T::Wide, _: u64) -> T::Total {
        T::total(sum)
    }
    #[inline]
    fn empty(self) -> Option<T::Total> {
        Some(T::total(T::Wide::ZERO))
    }
}

/// The cosine similarity, `Σaᵢ·bᵢ / √(Σaᵢ² · Σbᵢ²)`, from three sums in one pass, all in f64, and rounded to the elements' type
/// once. Never outside −1 to 1, and 1 of an array and itself (of f64 within a rounding, where the product of sums of squares leaves
/// f64). NaN where either array is all zeros (0 / 0), of a NaN or an infinity,
/// and over nothing.
///
/// Products of f16, bf16 and f32 are exact in f64, and no sum over- or underflows there: with `d = ⌈log₂ n⌉` and `C` the cosine of
/// the magnitudes, the error is at most `(d · (C + 1) + 3) · 2⁻⁵³` to first order before the answer is rounded. Of f64, products are
/// rounded, and each array's sum of squares must be within f64: NaN where one is not finite, a NaN or a wrong number where it
/// underflows (elements all below some 10⁻¹⁵⁴).
///
/// It is symmetric to the bit.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Cosine;

/// The sum of products, and each array's of squares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Products {
    /// Of both arrays' elements.
    pub both: f64,
    /// Of the first array's.
    pub first: f64,
    /// Of the second array's.
    pub second: f64,
}

crate::words_of_fields!(Products {
    both: f64,
    first: f64,
    second: f64
});

impl<T: Float> Monoid<Two<T>> for Cosine {
    type State = Products;
    type Answer = T;

    #[inline]
    fn identity(self) -> Products {
        // Neutral to the bit: a product may be −0.0, a square never is.
        Products {
            both: -0.0,
            first: 0.0,
            second: 0.0,
        }
    }
    #[inline]
    fn lift(self, Two(a, b): Two<T>, _: u64) -> Products {
        let (a, b) = (a.to_f64(), b.to_f64());
        Products {
            both: a * b,
            first: a * a,
            second: b * b,
        }
    }
    #[inline]
    fn combine(self, a: Products, b: Products) -> Products {
        Products {
            both: a.both + b.both,
            first: a.first + b.first,
            second: a.second + b.second,
        }
    }
    #[inline]
    fn finish(self, sums: Products, _: u64) -> T {
        T::from_f64(cosine(sums))
    }
    #[inline]
    fn empty(self) -> Option<T> {
        Some(T::from_f64(f64::NAN))
    }
}

/// The least and the most product of squares whose root is taken: far enough from the ends of f64 that nothing is lost.
const ROOTED: core::ops::Range<f64> = 1e-280..1e300;

#[allow(clippy::manual_clamp)] // `clamp` has a panic in it
#[inline]
fn cosine(Products { both, first, second }: Products) -> f64 {
    let square = first * second;
    let norms = if ROOTED.contains(&square) {
        // One root, so that an array and itself have a cosine of 1: the root of a rounded square is the number.
        double::sqrt(square)
    } else {
        double::sqrt(first) * double::sqrt(second)
    };
    let cosine = both / norms;
    if norms == f64::INFINITY {
        f64::NAN
    } else if cosine > 1.0 {
        1.0
    } else if cosine < -1.0 {
        -1.0
    } else {
        cosine
    }
}

#[cfg(test)]
#[path = "dot_tests.rs"]
mod tests;
