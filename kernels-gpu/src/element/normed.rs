//! Elements that have a size: what norms are of.

use super::{Element, Float, Rank, Scale as _, Squares};
use crate::words::Words;

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

    /// The magnitude that its square is scaled by, if it is.
    fn reach(self) -> f64;
    /// The square of its size times a factor, in f64.
    fn square(self, factor: f64) -> f64;
    /// What other norms are answered as.
    type Norm: Words;
    /// A norm that was computed in f64, rounded once; every NaN gives the same one.
    fn norm(value: f64) -> Self::Norm;
    /// The square root of a sum of squares of such elements, rounded once.
    fn norm_of_squares(squares: Squares<Self::Scale>) -> Self::Norm;
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
    fn reach(self) -> f64 {
        f64::from_bits(self.to_f64().to_bits() & (u64::MAX >> 1))
    }
    #[inline]
    fn square(self, factor: f64) -> f64 {
        let size = self.to_f64() * factor;
        size * size
    }
    type Norm = Self;
    #[inline]
    fn norm(value: f64) -> Self {
        T::from_f64(value)
    }
    #[inline(always)]
    fn norm_of_squares(squares: Squares<T::Scale>) -> Self {
        // Elements that are scaled are f64, whose roots are no further rounded.
        T::from_f64(squares.scale.back(T::root(squares.sum).to_f64()))
    }
}
