//! Elements that have a size: what norms are of.

use super::{Element, Float, Rank};
use crate::monoids::Words;

/// Elements that have a size, and may be NaN: those that have fractions.
pub trait Normed: Element {
    /// What sizes compare as.
    type Size: Rank;
    /// How large it is; NaN of a NaN.
    fn size(self) -> Self::Size;
    /// What the largest size is answered as.
    type Largest: Words;
    /// The answer; every NaN gives the same one.
    fn largest(size: Self::Size) -> Self::Largest;

    /// Whether it is a NaN.
    fn is_nan(self) -> bool;

    /// The square of its size, in f64.
    fn square(self) -> f64;
    /// What other norms are answered as.
    type Norm: Words;
    /// A norm that was computed in f64, rounded once; every NaN gives the same one.
    fn norm(value: f64) -> Self::Norm;
    /// The square root of a sum of squares of such elements, rounded once.
    fn norm_of_square(square: f64) -> Self::Norm;
}

/// Their sizes are their magnitudes, and norms are of their own type.
impl<T: Float> Normed for T {
    type Size = T::Rank;
    #[inline]
    fn size(self) -> T::Rank {
        self.magnitude()
    }
    type Largest = Self;
    #[inline]
    fn largest(size: T::Rank) -> Self {
        T::from_rank(size)
    }
    #[inline]
    fn is_nan(self) -> bool {
        self.rank().unordered()
    }
    #[inline]
    fn square(self) -> f64 {
        self.to_f64() * self.to_f64()
    }
    type Norm = Self;
    #[inline]
    fn norm(value: f64) -> Self {
        T::from_f64(value)
    }
    #[inline]
    fn norm_of_square(square: f64) -> Self {
        T::root(square)
    }
}
