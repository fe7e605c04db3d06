//! Powers of two that keep powers of numbers within f64.
//!
//! A sum of squares, or of fourth powers, may leave f64 where its root does not. So numbers are scaled before they are multiplied, by a power
//! of two that their magnitude tells, which rounds nothing. Of two states the one of smaller numbers is scaled down to the other.

use core::fmt::Debug;

use super::Accumulator;
use crate::{leaf::ROWS, words::Words};

/// By what powers are scaled.
pub trait Scale: Words + PartialEq + Debug {
    /// That of zeros: no other is smaller.
    const LEAST: Self;
    /// Whether anything is scaled.
    const SCALES: bool = false;

    /// That of a number.
    fn of(x: f64) -> Self;
    /// That of the numbers of a column, as large as the largest of them needs; a NaN's is above all.
    #[inline(always)]
    fn of_column(column: [f64; ROWS]) -> Self {
        // Magnitudes compare as the integers of their bits do, which all GPUs have units for.
        let bits = column.map(|x| x.to_bits() & (u64::MAX >> 1));
        Self::of(f64::from_bits(in_pairs(bits, |a, b| if b > a { b } else { a })))
    }
    /// The larger of two.
    #[must_use]
    fn larger(self, other: Self) -> Self;
    /// What a number is multiplied by.
    fn factor(self) -> f64;
    /// What is left to multiply by of a number that was scaled by this, to be scaled by a larger one. It may be so little that nothing is
    /// left of the number.
    fn to(self, larger: Self) -> f64;
    /// What was made of scaled numbers, a root of their squares, say, as it would be of the numbers themselves.
    fn back(self, value: f64) -> f64;
}

/// Of elements whose fourth powers f64 has room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unscaled;

impl Words for Unscaled {
    const COUNT: usize = 0;
    #[inline(always)]
    fn word(self, _: usize) -> u32 {
        0
    }
    #[inline(always)]
    fn from_words(_: impl FnMut(usize) -> u32) -> Self {
        Self
    }
}

impl Scale for Unscaled {
    const LEAST: Self = Self;

    #[inline(always)]
    fn of(_: f64) -> Self {
        Self
    }
    #[inline(always)]
    fn larger(self, _: Self) -> Self {
        Self
    }
    #[inline(always)]
    fn factor(self) -> f64 {
        1.0
    }
    #[inline(always)]
    fn to(self, _: Self) -> f64 {
        1.0
    }
    #[inline(always)]
    fn back(self, value: f64) -> f64 {
        value
    }
}

/// Of f64: what numbers are multiplied by, a power of two. It is 1 for magnitudes from 2⁻²⁰⁰ up to 2²⁴⁰, and for every 440 binary orders
/// above or below that many less or more; so what is scaled lies there, too. The squares of 2⁶⁰ numbers then add up to less than 2⁵⁴⁰, and
/// their fourth powers to 2¹⁰²⁰.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Factor(f64);

/// A power of two.
const fn power(exponent: i32) -> f64 {
    f64::from_bits(((1023 + exponent) as u64) << 52)
}

impl Words for Factor {
    const COUNT: usize = f64::COUNT;
    #[inline(always)]
    fn word(self, i: usize) -> u32 {
        self.0.word(i)
    }
    #[inline(always)]
    fn from_words(word: impl FnMut(usize) -> u32) -> Self {
        Self(f64::from_words(word))
    }
}

impl Scale for Factor {
    const LEAST: Self = Self(power(880));
    const SCALES: bool = true;

    #[inline(always)]
    fn of(x: f64) -> Self {
        let x = f64::from_bits(x.to_bits() & (u64::MAX >> 1));
        // Selected, not looked up, and no branch: it is asked of each column. A NaN is less than nothing, so it ends with the largest.
        let small = if x >= power(-640) { power(440) } else { power(880) };
        let large = if x < power(680) { power(-440) } else { power(-880) };
        let factor = if x >= power(-200) { 1.0 } else { small };
        Self(if x < power(240) { factor } else { large })
    }
    #[inline(always)]
    fn larger(self, other: Self) -> Self {
        Self(if other.0 < self.0 { other.0 } else { self.0 })
    }
    #[inline(always)]
    fn factor(self) -> f64 {
        self.0
    }
    #[inline(always)]
    fn to(self, larger: Self) -> f64 {
        larger.0 * self.inverse()
    }
    #[inline(always)]
    fn back(self, value: f64) -> f64 {
        value * self.inverse()
    }
}

impl Factor {
    /// One over it: the exponent turned round.
    #[inline(always)]
    fn inverse(self) -> f64 {
        f64::from_bits((2046 << 52) - self.0.to_bits())
    }
}

/// Combines a column's eight, neighbours in pairs.
#[inline(always)]
pub(crate) fn in_pairs<X>([a, b, c, d, e, f, g, h]: [X; ROWS], combine: impl Fn(X, X) -> X) -> X {
    let low = combine(combine(a, b), combine(c, d));
    let high = combine(combine(e, f), combine(g, h));
    combine(low, high)
}

/// A sum of squares.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Squares<S> {
    /// That of the numbers, scaled.
    pub sum: f64,
    /// By which.
    pub scale: S,
}

impl<S: Scale> Squares<S> {
    /// Of one number.
    #[inline(always)]
    pub fn of(x: f64) -> Self {
        let scale = S::of(x);
        let x = x * scale.factor();
        Self { sum: x * x, scale }
    }

    /// The sum, which may be too large for f64, or too small.
    #[inline(always)]
    pub fn value(self) -> f64 {
        self.scale.back(self.scale.back(self.sum))
    }
}

impl<S: Scale> Accumulator for Squares<S> {
    /// Squares are never −0.0, so +0.0 is neutral to the bit.
    const NOTHING: Self = Self {
        sum: 0.0,
        scale: S::LEAST,
    };
    const ZERO: Self = Self::NOTHING;

    #[inline(always)]
    fn plus(self, other: Self) -> Self {
        let scale = S::larger(self.scale, other.scale);
        let (a, b) = (self.scale.to(scale), other.scale.to(scale));
        Self {
            sum: self.sum * a * a + other.sum * b * b,
            scale,
        }
    }
}

impl<S: Scale> Words for Squares<S> {
    const COUNT: usize = 2 + S::COUNT;
    #[inline(always)]
    fn word(self, i: usize) -> u32 {
        (self.sum, self.scale).word(i)
    }
    #[inline(always)]
    fn from_words(word: impl FnMut(usize) -> u32) -> Self {
        let (sum, scale) = Words::from_words(word);
        Self { sum, scale }
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec::Vec;

    use proptest::prelude::*;

    use super::*;

    fn sum<S: Scale>(values: &[f64]) -> Squares<S> {
        values.iter().fold(Squares::NOTHING, |sum, x| sum.plus(Squares::of(*x)))
    }

    #[test]
    fn factors_leave_no_gap_and_bring_every_number_to_the_middle() {
        for exponent in -1074..1024_i32 {
            let x = if exponent < -1022 {
                f64::from_bits(1 << (exponent + 1074))
            } else {
                power(exponent)
            };
            let scaled = x * Factor::of(x).factor();
            assert!((power(-200)..power(240)).contains(&scaled), "2^{exponent}");
            assert_eq!(Factor::of(x).back(scaled), x);
            assert_eq!(Factor::of(-x), Factor::of(x));
        }
        assert_eq!(Factor::of(0.0), Factor::LEAST);
        assert_eq!(Factor::of(f64::NAN), Factor::of(f64::INFINITY));
        assert!((f64::INFINITY * Factor::of(f64::INFINITY).factor()).is_infinite());
    }

    proptest! {
        /// Where nothing leaves f64 on the way the bits are those of the plain sum.
        #[test]
        fn squares_that_fit_are_those_of_plain_f64(
            values in prop::collection::vec((-1.0_f64..1.0, -160_i32..500), 1..40),
        ) {
            let values: Vec<f64> = values.iter().map(|(x, exponent)| x * power(*exponent)).collect();
            prop_assert_eq!(sum::<Factor>(&values).value(), sum::<Unscaled>(&values).sum);
        }

        /// All scaled by a power of two: so is the norm.
        #[test]
        fn norms_are_as_large_as_their_numbers(
            values in prop::collection::vec(1.0_f64..2.0, 1..40),
            exponent in -1000_i32..1000,
        ) {
            let scaled: Vec<f64> = values.iter().map(|x| x * power(exponent)).collect();
            let of = |values: &[f64]| {
                let squares = sum::<Factor>(values);
                squares.scale.back(squares.sum.sqrt())
            };
            prop_assert_eq!(of(&scaled), of(&values) * power(exponent));
        }
    }
}
