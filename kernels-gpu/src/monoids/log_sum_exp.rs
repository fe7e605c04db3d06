//! The logarithm of a sum of exponentials, without overflow.

use super::{Algebra, Monoid, Words};
use crate::{
    arithmetic::{double, single},
    element::Float,
};

/// `Σ exp(xᵢ)` as `sum · exp(max)`, `max` being the largest `xᵢ`: in this form it neither over- nor underflows.
///
/// `max` is NaN if an element is. Where it is infinite or NaN, `sum` is the number of elements that are. Otherwise `sum`
/// is between 1 and the number of all elements; over nothing the state is (−∞, 0).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scaled<T> {
    /// The largest element.
    pub max: T,
    /// The sum of `exp(xᵢ − max)`.
    pub sum: T,
}

impl<T: Words> Words for Scaled<T> {
    const COUNT: usize = <(T, T)>::COUNT;
    #[inline]
    fn word(self, i: usize) -> u32 {
        (self.max, self.sum).word(i)
    }
    #[inline]
    fn from_words(word: impl FnMut(usize) -> u32) -> Self {
        let (max, sum) = <(T, T)>::from_words(word);
        Self { max, sum }
    }
}

/// `ln(exp(x₀) + exp(x₁) + …)`, in one pass. All −∞ gives −∞, as nothing does; a +∞ gives +∞; a NaN gives NaN.
///
/// # Error
///
/// To first order, with `d = ⌈log₂ n⌉`, the absolute error is at most
///
/// ```text
/// f32: (2.2 · d + 1.07 · ln n) · 2⁻²⁴, and the rounding of the answer
/// f64: (2.3 · d + ln n) · 2⁻⁵³,        and two roundings of at most 0.65 ulp of the answer or of ln n
/// ```
///
/// A meeting multiplies by an exponential (off by 1.2 · 2⁻²⁴ at most) and rounds once: 2.2 for each of `d` levels. The
/// exponents that an element is multiplied by on its way up sum to its distance from the maximum, and each is off by 1.07
/// roundings of itself. Weighted with the elements' shares of the sum these distances come to at most `ln n`, for they are
/// the entropy of the shares, which is `ln n` at most, less `ln sum`. Terms below `e⁻⁸⁷` of a maximum (`e⁻⁷⁰⁸` in f64)
/// count as that much: nothing, beside a sum of at least 1.
///
/// # Cost
///
/// One exponential for each meeting, whichever of the two is larger: M. Milakov and N. Gimelshein, *Online normalizer
/// calculation for softmax* (2018), made symmetric.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LogSumExp;

/// What the sums of exponentials of both float types have alike.
pub trait Exponentials<T>: Words {
    /// Of no elements.
    fn empty() -> Self;
    /// Of one element.
    fn of(x: T) -> Self;
    /// Of the elements of both. Neutral with [`empty`](Self::empty) and commutative, to the bit.
    #[must_use]
    fn combine(self, other: Self) -> Self;
    /// The logarithm of what this stands for.
    fn ln(self) -> f64;
}

/// The states of one float type, by its functions.
macro_rules! operator {
    ($float:ident, $arithmetic:ident) => {
        impl Scaled<$float> {
            /// Of no elements.
            pub const EMPTY: Self = Self {
                max: $float::NEG_INFINITY,
                sum: 0.0,
            };

            /// Of one element.
            #[inline]
            #[must_use]
            pub fn of(x: $float) -> Self {
                Self { max: x, sum: 1.0 }
            }

            /// Of the elements of both. Neutral with [`EMPTY`](Self::EMPTY) and commutative, to the bit.
            // Equal maxima, and infinite or NaN ones, have a gap of 0 or NaN, whose exponential is 1: then it does not matter
            // which sum is called the larger one's.
            #[inline]
            #[must_use]
            pub fn combine(self, other: Self) -> Self {
                let gap = self.max - other.max;
                let (larger, smaller) = if gap < 0.0 {
                    (other.sum, self.sum)
                } else {
                    (self.sum, other.sum)
                };
                Self {
                    max: $arithmetic::maximum(self.max, other.max),
                    sum: $arithmetic::fma(smaller, $arithmetic::exp_gap(gap), larger),
                }
            }

            /// The logarithm of what this stands for.
            #[inline]
            #[must_use]
            pub fn ln(self) -> f64 {
                f64::from(self.max) + double::ln(f64::from(self.sum))
            }
        }

        impl Exponentials<$float> for Scaled<$float> {
            #[inline]
            fn empty() -> Self {
                Self::EMPTY
            }
            #[inline]
            fn of(x: $float) -> Self {
                Self::of(x)
            }
            #[inline]
            fn combine(self, other: Self) -> Self {
                self.combine(other)
            }
            #[inline]
            fn ln(self) -> f64 {
                self.ln()
            }
        }
    };
}

operator!(f32, single);
operator!(f64, double);

impl<T: Float> Monoid<T> for LogSumExp
where
    Scaled<T::Wide>: Exponentials<T::Wide>,
{
    type State = Scaled<T::Wide>;
    type Answer = T;

    #[inline]
    fn identity(self) -> Scaled<T::Wide> {
        Exponentials::empty()
    }
    #[inline]
    fn lift(self, value: T, _: u64) -> Scaled<T::Wide> {
        Exponentials::of(value.wide())
    }
    #[inline]
    fn combine(self, a: Scaled<T::Wide>, b: Scaled<T::Wide>) -> Scaled<T::Wide> {
        Exponentials::combine(a, b)
    }
    const ALGEBRA: Algebra = Algebra {
        fuses: true,
        ..Algebra::PLAIN
    };
    #[inline]
    fn finish(self, state: Scaled<T::Wide>, _: u64) -> T {
        // In f64, so that the answer is rounded once.
        T::from_f64(state.ln())
    }
    #[inline]
    fn empty(self) -> Option<T> {
        Some(T::from_f64(f64::NEG_INFINITY))
    }
}

#[cfg(test)]
mod tests {
    extern crate std;

    use std::vec::Vec;

    use num_bigint::BigInt;
    use proptest::prelude::*;

    use super::*;
    use crate::{
        arithmetic::oracle,
        monoids::testing::{answer, check_laws, special_or_any},
    };

    /// `y − ln Σ exp(xᵢ)` for small enough `xᵢ`: `(e^y − Σ) / Σ`, but for its square.
    fn error(values: impl Iterator<Item = f64>, y: f64) -> f64 {
        const POINT: i64 = 700;
        let fixed = |x: f64| {
            let (mantissa, exponent) = oracle::exp(x);
            mantissa << (POINT + exponent)
        };
        let sum = values.map(fixed).fold(BigInt::ZERO, |a, b| a + b);
        oracle::ratio(&(fixed(y) - &sum), &sum)
    }

    proptest! {
        #[test]
        fn laws_hold_to_the_bit(runs in [special_or_any(), special_or_any()]) {
            check_laws::<f32, _>(LogSumExp, &runs);
            let wide = runs.map(|run| run.into_iter().map(f64::from).collect::<Vec<_>>());
            check_laws::<f64, _>(LogSumExp, &wide);
        }

        #[test]
        fn the_error_is_within_its_bound(
            values in prop::collection::vec(-60.0_f32..60.0, 1..700),
            scale in prop::sample::select(&[1e-3_f32, 0.1, 1.0][..]),
            shift in -1.0_f32..1.0,
        ) {
            let values: Vec<f32> = values.iter().map(|value| value * scale + shift).collect();
            let n = values.len() as f64;
            let (d, u) = (n.log2().ceil(), 2.0_f64.powi(-24));

            let y = answer(LogSumExp, &values);
            let bound = (2.2 * d + 1.07 * n.ln()) * u + f64::from(y.abs()) * u;
            let off = error(values.iter().copied().map(f64::from), f64::from(y)).abs();
            prop_assert!(off <= bound * 1.001, "{off:e} past {bound:e}");

            let wide: Vec<f64> = values.iter().map(|value| f64::from(*value) * 1.1).collect();
            let (y, u) = (answer(LogSumExp, &wide), 2.0_f64.powi(-53));
            let bound = (2.3 * d + n.ln()) * u + (1.3 * n.ln() + y.abs()) * u;
            let off = error(wide.iter().copied(), y).abs();
            prop_assert!(off <= bound * 1.001, "{off:e} past {bound:e}");
        }
    }

    #[test]
    fn edges() {
        const INF: f32 = f32::INFINITY;
        let nan = f32::NAN;
        for (values, expected) in [
            (&[][..], -INF),
            (&[-INF], -INF),
            (&[-INF, -INF, -INF], -INF),
            (&[-INF, 3.0], 3.0),
            (&[-INF, 3.0, -INF, -INF], 3.0),
            (&[INF], INF),
            (&[INF, INF, INF], INF),
            (&[1.0, INF, -INF], INF),
            (&[f32::MAX, -f32::MAX], f32::MAX),
            (&[f32::MAX, f32::MAX], f32::MAX),
            (&[-f32::MAX], -f32::MAX),
            (&[-0.0], 0.0),
            (&[88.0, 88.0], 88.693_146),
            (&[1e30, 1e30], 1e30),
            (&[-1000.0, -1000.0], -999.306_8),
        ] {
            assert_eq!(answer(LogSumExp, values).to_bits(), expected.to_bits(), "{values:?}");
            let wide: Vec<f64> = values.iter().copied().map(f64::from).collect();
            let wide = answer(LogSumExp, &wide);
            assert_eq!(wide as f32, expected, "{values:?}");
        }
        for values in [
            &[nan][..],
            &[nan, INF],
            &[-INF, nan, 1.0],
            &[INF, -INF, nan],
            &[nan, nan],
            &[-nan, 0.0],
        ] {
            assert_eq!(answer(LogSumExp, values).to_bits(), 0x7fc0_0000, "{values:?}");
            let wide: Vec<f64> = values.iter().copied().map(f64::from).collect();
            assert_eq!(answer(LogSumExp, &wide).to_bits(), f64::NAN.to_bits());
        }
        assert_eq!(Monoid::<f32>::empty(LogSumExp), Some(-INF));
    }

    /// Equal elements add up exactly, as far as f32 counts powers of two.
    #[test]
    fn equal_elements_are_counted() {
        let mut state = Scaled::<f32>::of(7.5);
        for doublings in 0..64 {
            assert_eq!(state.sum, 2.0_f32.powi(doublings));
            state = state.combine(state);
        }
        assert_eq!(state.ln(), 7.5 + 64.0 * core::f64::consts::LN_2);
    }

    #[test]
    fn bits_are_as_recorded() {
        let values: Vec<f32> = (0..1000_u16).map(|i| f32::from(i * 37 % 251) / 16.0 - 8.0).collect();
        assert_eq!(answer(LogSumExp, &values).to_bits(), 1_094_517_467, "f32");
        let wide: Vec<f64> = values.iter().map(|value| f64::from(*value) / 3.0).collect();
        assert_eq!(answer(LogSumExp, &wide).to_bits(), 4_620_467_848_649_534_726, "f64");
    }
}
