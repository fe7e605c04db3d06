//! Sums that carry the rounding errors along.

use super::{Monoid, Words, sum::SumOrMean};
use crate::element::{Accumulator as _, Element, Float, Wide};

/// A [`Sum`](super::Sum) or [`Mean`](super::Mean) in about twice the precision: of f32 in pairs of f32, of f64 in pairs of f64.
///
/// A state is the plain sum and, beside it, the sum of what its additions rounded off, each error found exactly by additions
/// alone. So infinities, NaN, overflow and the sign of zero are those of the plain sum, and so is the answer over nothing. With
/// `d = ⌈log₂ n⌉`, `u` = 2⁻²⁴ or 2⁻⁵³ and `s` the exact sum, where nothing overflows, to first order in each term,
///
/// ```text
/// |computed − s|  ≤  u · |s| + 2 · d² · u² · Σ|xᵢ|
/// ```
///
/// The errors of the plain sum are at most `d · u · Σ|xᵢ|` together, and the sum of those is rounded at most `2 · d` times: the
/// argument of T. Ogita, S. M. Rump and S. Oishi (*Accurate Sum and Dot Product*, 2005, algorithm Sum2), with the depth of the tree
/// in place of the number of elements. A mean has two roundings more, the division's in f64 and its own.
///
/// To combine two states is ten additions, comparisons and choices where a plain sum has one addition.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compensated<Op>(pub Op);

/// A sum and what it lacks: the exact sum is about `sum + rest`.
///
/// The rest is never −0.0, and +0.0 where the sum is not finite: then ∞ − ∞ cannot make a NaN of it, and the identity is neutral to
/// the bit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SumAndRest<W> {
    /// The plain sum.
    pub sum: W,
    /// The sum of its errors.
    pub rest: W,
}

impl<W: Words> Words for SumAndRest<W> {
    const COUNT: usize = 2 * W::COUNT;
    #[inline]
    fn word(self, i: usize) -> u32 {
        (self.sum, self.rest).word(i)
    }
    #[inline]
    fn from_words(word: impl FnMut(usize) -> u32) -> Self {
        let (sum, rest) = <(W, W)>::from_words(word);
        Self { sum, rest }
    }
}

/// A float whose additions give away their error.
pub trait TwoSum: Wide {
    /// The rounded sum of two, and the exact error: the two together are what `self` and `other` are together, where the sum does
    /// not overflow. T. J. Dekker's (*A Floating-Point Technique for Extending the Available Precision*, 1971), of the larger and
    /// the smaller: as many instructions as Knuth's, which overflows beside the largest number, and then in one order of the two
    /// only.
    fn two_sum(self, other: Self) -> (Self, Self);

    /// Whether it is neither infinite nor NaN.
    fn is_finite(self) -> bool;

    /// Whether it is a zero.
    fn is_zero(self) -> bool;
}

macro_rules! two_sum {
    ($($float:ident)*) => {
        $(impl TwoSum for $float {
            #[inline(always)]
            fn two_sum(self, other: Self) -> (Self, Self) {
                let (larger, smaller) = if self.abs() >= other.abs() { (self, other) } else { (other, self) };
                let sum = larger + smaller;
                (sum, smaller - (sum - larger))
            }
            #[inline(always)]
            fn is_finite(self) -> bool {
                $float::is_finite(self)
            }
            #[inline(always)]
            fn is_zero(self) -> bool {
                self == 0.0
            }
        })*
    };
}

two_sum!(f32 f64);

impl<T, Op> Monoid<T> for Compensated<Op>
where
    T: Float + Element<Wide: TwoSum + Into<f64>>,
    Op: SumOrMean,
{
    type State = SumAndRest<T::Wide>;
    type Answer = T;

    #[inline]
    fn identity(self) -> Self::State {
        SumAndRest {
            sum: T::Wide::NOTHING,
            rest: T::Wide::ZERO,
        }
    }
    #[inline]
    fn lift(self, value: T, _: u64) -> Self::State {
        SumAndRest {
            sum: value.wide(),
            rest: T::Wide::ZERO,
        }
    }
    #[inline]
    fn filler(self) -> Option<T> {
        Some(T::nothing())
    }
    #[inline]
    fn combine(self, a: Self::State, b: Self::State) -> Self::State {
        let (sum, error) = a.sum.two_sum(b.sum);
        let rest = a.rest.plus(b.rest).plus(error);
        SumAndRest {
            sum,
            rest: if sum.is_finite() { rest } else { T::Wide::ZERO },
        }
    }
    #[inline]
    fn finish(self, SumAndRest { sum, rest }: Self::State, count: u64) -> T {
        let plain: f64 = sum.into();
        // A rest of 0 would take the sign off a sum of −0.0; one that overflowed tells nothing.
        let total = if rest.is_zero() || !rest.is_finite() {
            plain
        } else {
            plain + rest.into()
        };
        T::from_f64(total / Op::divisor(count) as f64)
    }
    #[inline]
    fn empty(self) -> Option<T> {
        Some(T::from_f64(Op::OF_NOTHING))
    }
}

#[cfg(test)]
#[path = "compensated_tests.rs"]
mod tests;
