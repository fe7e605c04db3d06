//! Sums, and what is a sum until its last step.

use super::{Algebra, Monoid};
use crate::{
    element::{Accumulator, Element, Wide},
    tree::{self, Part, PartFold},
};

/// `x₀ + x₁ + …`, pairwise. Over nothing, 0.
///
/// f16, bf16 and f32 are summed in f32, and the answer rounded once to their own type; FP8 in f32, which is its answer; f64 in f64: the error is at most
/// `⌈log₂ n⌉ · u · Σ|xᵢ|` to first order, u being 2⁻²⁴ or 2⁻⁵³. Integers and bool are answered in 64 bits and wrap around there.
///
/// The identity of floats is −0.0, the one float that is neutral to the bit (`-0.0 + 0.0` is `0.0`, but `-0.0 + -0.0` is
/// `-0.0`). A sum over nothing is +0.0.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sum;

impl<T: Element> Monoid<T> for Sum {
    type State = T::Accumulator;
    type Answer = T::Total;

    #[inline]
    fn identity(self) -> T::Accumulator {
        T::Accumulator::NOTHING
    }
    #[inline]
    fn lift(self, value: T, _: u64) -> T::Accumulator {
        T::accumulator(value.wide())
    }
    #[inline]
    fn filler(self) -> Option<T> {
        Some(T::nothing())
    }
    #[inline]
    fn combine(self, a: T::Accumulator, b: T::Accumulator) -> T::Accumulator {
        a.plus(b)
    }
    crate::opt_in!(T: PartFold);
    const ALGEBRA: Algebra = Algebra {
        associates: T::Accumulator::EXACT,
        ..Algebra::PLAIN
    };
    #[inline]
    fn finish(self, sum: T::Accumulator, _: u64) -> T::Total {
        T::sum(sum)
    }
    #[inline]
    fn empty(self) -> Option<T::Total> {
        Some(T::sum(T::Accumulator::ZERO))
    }
}

impl<T: Element> PartFold<T, T::Accumulator> for Sum {
    #[inline(always)]
    fn fold_part(self, part: impl Part<T>) -> T::Accumulator {
        match T::SMALL {
            Some(small) => T::accumulator(T::Wide::of_small(total(part, small))),
            None if T::LEAF_IN_WIDE => T::accumulator(tree::fold_part(SumInWide, part)),
            None => tree::fold_part(self, part),
        }
    }
}

/// The sum of a leaf's elements or fewer, which [`Wide`] holds.
#[derive(Clone, Copy)]
struct SumInWide;

impl<T: Element> Monoid<T> for SumInWide {
    type State = T::Wide;
    type Answer = T::Total;

    #[inline(always)]
    fn identity(self) -> T::Wide {
        T::Wide::NOTHING
    }
    #[inline(always)]
    fn lift(self, value: T, _: u64) -> T::Wide {
        value.wide()
    }
    #[inline(always)]
    fn combine(self, a: T::Wide, b: T::Wide) -> T::Wide {
        a.plus(b)
    }
    const ALGEBRA: Algebra = Algebra {
        associates: T::Wide::EXACT,
        ..Algebra::PLAIN
    };
    #[inline(always)]
    fn finish(self, sum: T::Wide, _: u64) -> T::Total {
        T::total(sum)
    }
    #[inline(always)]
    fn empty(self) -> Option<T::Total> {
        None
    }
}

/// The arithmetic mean: the [`Sum`], divided once by the count. NaN over nothing.
///
/// The division is done in f64, so that a count past 2²⁴ is not rounded first. A sum that overflows gives an infinite
/// mean. That of integers is an f64, of their sum in as many bits as it needs: it never wraps around.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Mean;

impl<T: Element> Monoid<T> for Mean {
    type State = T::Accumulator;
    type Answer = T::Mean;

    #[inline]
    fn identity(self) -> T::Accumulator {
        Monoid::<T>::identity(Sum)
    }
    #[inline]
    fn lift(self, value: T, index: u64) -> T::Accumulator {
        Sum.lift(value, index)
    }
    #[inline]
    fn filler(self) -> Option<T> {
        Sum.filler()
    }
    #[inline]
    fn combine(self, a: T::Accumulator, b: T::Accumulator) -> T::Accumulator {
        Monoid::<T>::combine(Sum, a, b)
    }
    crate::opt_in!(T: PartFold; of |_| Sum);
    const ALGEBRA: Algebra = Algebra {
        associates: T::Accumulator::EXACT,
        ..Algebra::PLAIN
    };
    #[inline]
    fn finish(self, sum: T::Accumulator, count: u64) -> T::Mean {
        T::mean(sum, count)
    }
    #[inline]
    fn empty(self) -> Option<T::Mean> {
        // 0 / 0.
        Some(T::mean(T::Accumulator::ZERO, 0))
    }
}

/// The [`Mean`] by an operator that counts the elements itself, and so divides by the number of those that were folded: what
/// [`IgnoreNan`](super::Filtered) needs. NaN over nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct CountedMean;

impl<T: Element> Monoid<T> for CountedMean {
    type State = (T::Accumulator, u64);
    type Answer = T::Mean;

    #[inline]
    fn identity(self) -> (T::Accumulator, u64) {
        (T::Accumulator::NOTHING, 0)
    }
    #[inline]
    fn lift(self, value: T, _: u64) -> (T::Accumulator, u64) {
        (T::accumulator(value.wide()), 1)
    }
    #[inline]
    fn combine(self, a: (T::Accumulator, u64), b: (T::Accumulator, u64)) -> (T::Accumulator, u64) {
        (a.0.plus(b.0), a.1 + b.1)
    }
    crate::opt_in!(T: PartFold);
    #[inline]
    fn finish(self, (sum, count): (T::Accumulator, u64), _: u64) -> T::Mean {
        T::mean(sum, count)
    }
    #[inline]
    fn empty(self) -> Option<T::Mean> {
        Monoid::<T>::empty(Mean)
    }
}

impl<T: Element> PartFold<T, (T::Accumulator, u64)> for CountedMean {
    #[inline(always)]
    fn fold_part(self, part: impl Part<T>) -> (T::Accumulator, u64) {
        let (sum, count) = tree::fold_part(FewCounted, part);
        (sum, count as u64)
    }
}

/// The same within a part, whose count fits 32 bits.
#[derive(Clone, Copy)]
struct FewCounted;

impl<T: Element> Monoid<T> for FewCounted {
    type State = (T::Accumulator, i32);
    type Answer = i32;

    #[inline(always)]
    fn identity(self) -> (T::Accumulator, i32) {
        (T::Accumulator::NOTHING, 0)
    }
    #[inline(always)]
    fn lift(self, value: T, _: u64) -> (T::Accumulator, i32) {
        (T::accumulator(value.wide()), 1)
    }
    #[inline(always)]
    fn combine(self, a: (T::Accumulator, i32), b: (T::Accumulator, i32)) -> (T::Accumulator, i32) {
        (a.0.plus(b.0), a.1 + b.1)
    }
    #[inline(always)]
    fn finish(self, (_, count): (T::Accumulator, i32), _: u64) -> i32 {
        count
    }
    #[inline(always)]
    fn empty(self) -> Option<i32> {
        Some(0)
    }
}

/// [`Sum`] or [`Mean`]: what is done with a sum that was found in another way, as [`Compensated`](super::Compensated),
/// [`Wide`](super::Wide) and [`Exact`](super::Exact) do.
pub trait SumOrMean: Copy {
    /// The answer over nothing.
    const OF_NOTHING: f64;

    /// What the sum of `count` elements is divided by.
    fn divisor(count: u64) -> u64;
}

impl SumOrMean for Sum {
    const OF_NOTHING: f64 = 0.0;
    #[inline]
    fn divisor(_: u64) -> u64 {
        1
    }
}

impl SumOrMean for Mean {
    const OF_NOTHING: f64 = f64::NAN;
    #[inline]
    fn divisor(count: u64) -> u64 {
        count
    }
}

/// A part's sum in 32 bits, `small` being an element's share of it.
#[inline(always)]
pub(super) fn total<T>(part: impl Part<T>, small: impl Fn(T) -> i32 + Copy) -> i32 {
    tree::chain(Small(small), part)
}

/// Sums of at most 128 elements, each as a small number.
#[derive(Clone, Copy)]
struct Small<F>(F);

impl<T, F: Fn(T) -> i32 + Copy> Monoid<T> for Small<F> {
    type State = i32;
    type Answer = i32;

    #[inline(always)]
    fn identity(self) -> i32 {
        0
    }
    #[inline(always)]
    fn lift(self, value: T, _: u64) -> i32 {
        self.0(value)
    }
    #[inline(always)]
    fn combine(self, a: i32, b: i32) -> i32 {
        a + b
    }
    #[inline(always)]
    fn finish(self, sum: i32, _: u64) -> i32 {
        sum
    }
    #[inline(always)]
    fn empty(self) -> Option<i32> {
        Some(0)
    }
}
