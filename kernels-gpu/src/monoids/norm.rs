//! Norms: how large an array is as a vector. Over nothing, 0.

use super::{Algebra, Monoid};
use crate::{
    element::{Accumulator as _, Float, Normed, Rank, Scale as _, Squares, in_pairs},
    tree::{ColumnFold, Exactly, PartFold, Predicated, Prefilter, ROWS},
};

/// `|x₀| + |x₁| + …`, pairwise, in f32 for f16, bf16 and f32 and in f64 for f64: a relative error of at most
/// `⌈log₂ n⌉ · u` to first order, before it is rounded to the elements' type.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NormL1;

impl<T: Float> Monoid<T> for NormL1 {
    type State = T::Wide;
    type Answer = T::Total;

    #[inline]
    fn identity(self) -> T::Wide {
        T::Wide::NOTHING
    }
    #[inline]
    fn lift(self, value: T, _: u64) -> T::Wide {
        value.wide_magnitude()
    }
    #[inline]
    fn filler(self) -> Option<T> {
        Some(T::from_bits(0))
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

/// `x₀² + x₁² + …`, summed in f64 and rounded to the elements' type once. Squares of f16, bf16 and f32 are exact in f64 and
/// cannot over- or underflow there, so the answer is infinite only if an element is, or if it is too large for its type:
/// a relative error of at most `⌈log₂ n⌉ · 2⁻⁵³` to first order before that rounding. Squares of f64 are rounded, of numbers that are
/// [scaled](crate::element::Scale) where they would over- or underflow, so the answer is infinite only where it is too large.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SumOfSquares;

impl<T: Normed> Monoid<T> for SumOfSquares {
    type State = Squares<T::Scale>;
    type Answer = T::Norm;

    #[inline]
    fn identity(self) -> Squares<T::Scale> {
        Squares::NOTHING
    }
    #[inline]
    fn lift(self, value: T, _: u64) -> Squares<T::Scale> {
        let scale = T::Scale::of(value.reach());
        let sum = value.square(scale.factor());
        Squares { sum, scale }
    }
    #[inline]
    fn filler(self) -> Option<T> {
        Some(T::from_bits(0))
    }
    #[inline]
    fn combine(self, a: Squares<T::Scale>, b: Squares<T::Scale>) -> Squares<T::Scale> {
        a.plus(b)
    }
    const ALGEBRA: Algebra = Algebra {
        // The bits are those of pairs: it is less code.
        folds_columns: T::Scale::SCALES,
        ..Algebra::PLAIN
    };
    crate::opt_in!(T: ColumnFold);
    #[inline]
    fn finish(self, squares: Squares<T::Scale>, _: u64) -> T::Norm {
        T::norm(squares.value())
    }
    #[inline]
    fn empty(self) -> Option<T::Norm> {
        Some(T::norm(0.0))
    }
}

impl<T: Normed> ColumnFold<T, Squares<T::Scale>> for SumOfSquares {
    #[inline(always)]
    fn fold_column(self, column: [Predicated<T>; ROWS], _: u64, _: u64) -> Squares<T::Scale> {
        let of = |place: Predicated<T>, of: fn(T, f64) -> f64, factor| {
            if place.is_there { of(place.value, factor) } else { 0.0 }
        };
        let scale = T::Scale::of_column(column.map(|place| of(place, |x, _| x.reach(), 1.0)));
        let squares = column.map(|place| of(place, T::square, scale.factor()));
        let sum = in_pairs(squares, |a, b| a + b);
        Squares { sum, scale }
    }
}

/// `√(x₀² + x₁² + …)`: the f64 sum of [`SumOfSquares`], its root rounded to the elements' type once. Of f16, bf16 and f32 it
/// is finite wherever the norm itself fits, and subnormal numbers count. Of FP8 it is an f32; of complex numbers that of their moduli,
/// which is real.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NormL2;

impl<T: Normed> Monoid<T> for NormL2 {
    type State = Squares<T::Scale>;
    type Answer = T::Norm;

    #[inline]
    fn identity(self) -> Squares<T::Scale> {
        Monoid::<T>::identity(SumOfSquares)
    }
    #[inline]
    fn lift(self, value: T, index: u64) -> Squares<T::Scale> {
        SumOfSquares.lift(value, index)
    }
    #[inline]
    fn filler(self) -> Option<T> {
        Some(T::from_bits(0))
    }
    #[inline]
    fn combine(self, a: Squares<T::Scale>, b: Squares<T::Scale>) -> Squares<T::Scale> {
        Monoid::<T>::combine(SumOfSquares, a, b)
    }
    const ALGEBRA: Algebra = Algebra {
        folds_columns: T::Scale::SCALES,
        ..Algebra::PLAIN
    };
    crate::opt_in!(T: ColumnFold; of |_| SumOfSquares);
    #[inline]
    fn finish(self, squares: Squares<T::Scale>, _: u64) -> T::Norm {
        T::norm_of_squares(squares)
    }
    #[inline]
    fn empty(self) -> Option<T::Norm> {
        Some(T::norm(0.0))
    }
}

/// The largest magnitude; NaN if there is a NaN. It has the elements' type; of complex numbers it is
/// the largest modulus.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NormInf;

/// A key of sizes of `T`.
type SizeKey<T> = <<T as Normed>::Size as Rank>::Key;

impl<T: Normed> Monoid<T> for NormInf {
    type State = SizeKey<T>;
    type Answer = T::Largest;

    #[inline]
    fn identity(self) -> SizeKey<T> {
        T::from_bits(0).size().key()
    }
    #[inline]
    fn lift(self, value: T, _: u64) -> SizeKey<T> {
        value.size().key()
    }
    #[inline]
    fn filler(self) -> Option<T> {
        Some(T::from_bits(0))
    }
    #[inline]
    fn combine(self, a: SizeKey<T>, b: SizeKey<T>) -> SizeKey<T> {
        if b > a { b } else { a }
    }
    const ALGEBRA: Algebra = Algebra {
        selects: true,
        ..Algebra::PLAIN
    };
    crate::opt_in!(T: Prefilter);
    #[inline(always)]
    fn part_fold(self) -> impl PartFold<T, SizeKey<T>> {
        Exactly(self)
    }
    #[inline]
    fn finish(self, best: SizeKey<T>, _: u64) -> T::Largest {
        T::largest(T::Size::of_key(best))
    }
    #[inline]
    fn empty(self) -> Option<T::Largest> {
        Some(T::largest(T::from_bits(0).size()))
    }
}

impl<T: Normed> Prefilter<T, SizeKey<T>> for NormInf {
    #[allow(clippy::neg_cmp_op_on_partial_ord)] // one instruction, and true for a NaN
    #[inline]
    fn may_change(self, best: SizeKey<T>, value: T) -> bool {
        !(value.size() <= T::Size::of_key(best))
    }
}
