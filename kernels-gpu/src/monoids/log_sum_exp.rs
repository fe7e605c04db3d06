//! The logarithm of a sum of exponentials, without overflow.

use super::{Algebra, Monoid, Words};
use crate::{
    arithmetic::{double, single},
    element::{Float, in_pairs},
    tree::{Place, ROWS},
};

/// `Σ exp(xᵢ)` as `sum · exp(max)`, `max` being the largest `xᵢ`: in this form it neither over- nor underflows.
///
/// `max` is NaN if an element is; beside it `sum` means nothing. Where it is +∞, `sum` is the number of elements that are. Of a finite one
/// `sum` is between 1 and the number of all elements; over nothing, and over −∞ alone, the state is (−∞, 0).
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
/// f32: (2.2 · d + 2.7 + 1.23 · ln n) · 2⁻²⁴, and the rounding of the answer
/// f64: (2.3 · d + 1.3 + ln n) · 2⁻⁵³,        and two roundings of at most 0.65 ulp of the answer or of ln n
/// ```
///
/// An element of a column becomes an exponential beside the column's largest (off by 2.7 · 2⁻²⁴ at most), and three levels of sums round
/// once each. A meeting above multiplies by another (off by 1.2 · 2⁻²⁴) and rounds once: 2.2 for each level. The
/// exponents that an element is multiplied by on its way up sum to its distance from the maximum, and each is off by at most 1.23
/// roundings of itself. Weighted with the elements' shares of the sum these distances come to at most `ln n`, for they are
/// the entropy of the shares, which is `ln n` at most, less `ln sum`. Terms that are too small for that count as nothing, beside a sum of at
/// least 1: in f32 those below `2⁻¹²⁶` of a column's maximum are 0. Those below `e⁻⁸⁷` of another column's, and in f64 those below `e⁻⁷⁰⁸` of
/// either, count as that much.
///
/// # Cost
///
/// One exponential for each element, and one for each meeting of two columns, whichever of the two is larger: M. Milakov and N. Gimelshein,
/// *Online normalizer calculation for softmax* (2018), of columns in place of elements and made symmetric.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LogSumExp;

/// What the sums of exponentials of both float types have alike.
pub trait Exponentials<T>: Words {
    /// Of no elements.
    fn empty() -> Self;
    /// Of one element.
    fn of(x: T) -> Self;
    /// Of a column, which has −∞ where there is no element: those that are there are told.
    fn of_column(column: [T; ROWS], are_there: [bool; ROWS]) -> Self;
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
                let sum = if x == $float::NEG_INFINITY { 0.0 } else { 1.0 };
                Self { max: x, sum }
            }

            /// Of a column, which has −∞ where there is no element: those that are there are told. For where a compiler knows of it, no exponential is
            /// made of what is not.
            #[inline(always)]
            #[must_use]
            pub fn of_column(column: [$float; ROWS], are_there: [bool; ROWS]) -> Self {
                let max = in_pairs(column, $arithmetic::maximum);
                // Beside −∞, and a NaN, no distance is a number.
                let reference = if max > $float::NEG_INFINITY { max } else { 0.0 };
                // One by one: of so much code no compiler unrolls a loop.
                let power = |row: usize| {
                    if are_there[row] {
                        $arithmetic::exp_below(column[row], reference)
                    } else {
                        0.0
                    }
                };
                let powers = [
                    power(0),
                    power(1),
                    power(2),
                    power(3),
                    power(4),
                    power(5),
                    power(6),
                    power(7),
                ];
                let sum = in_pairs(powers, |a, b| a + b);
                Self { max, sum }
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
            #[inline(always)]
            fn of_column(column: [$float; ROWS], are_there: [bool; ROWS]) -> Self {
                Self::of_column(column, are_there)
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
    fn filler(self) -> Option<T> {
        Some(T::from_f64(f64::NEG_INFINITY))
    }
    #[inline]
    fn combine(self, a: Scaled<T::Wide>, b: Scaled<T::Wide>) -> Scaled<T::Wide> {
        Exponentials::combine(a, b)
    }
    const ALGEBRA: Algebra = Algebra {
        fuses: true,
        folds_columns: true,
        ..Algebra::PLAIN
    };
    #[inline(always)]
    fn fold_column(self, column: [Place<T>; ROWS], _: u64, _: u64) -> Scaled<T::Wide> {
        let nothing = T::from_f64(f64::NEG_INFINITY);
        let value = |place: Place<T>| if place.is_there { place.value } else { nothing }.wide();
        Exponentials::of_column(column.map(value), column.map(|place| place.is_there))
    }
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
            let bound = (2.2 * d + 2.7 + 1.21 * n.ln()) * u + f64::from(y.abs()) * u;
            let off = error(values.iter().copied().map(f64::from), f64::from(y)).abs();
            prop_assert!(off <= bound * 1.001, "{off:e} past {bound:e}");

            let wide: Vec<f64> = values.iter().map(|value| f64::from(*value) * 1.1).collect();
            let (y, u) = (answer(LogSumExp, &wide), 2.0_f64.powi(-53));
            let bound = (2.3 * d + 1.3 + n.ln()) * u + (1.3 * n.ln() + y.abs()) * u;
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

    /// Where a column has no element it has −∞, wherever its elements stand; of one element it is that one's state.
    #[test]
    fn columns_are_folded_beside_their_largest() {
        let there = |value: f32| Place { value, is_there: true };
        for place in 0..ROWS {
            let mut column = [Place {
                value: 7.0,
                is_there: false,
            }; ROWS];
            assert_eq!(LogSumExp.fold_column(column, 0, 1), Scaled::<f32>::EMPTY);
            for value in [3.5_f32, -f32::MAX, f32::INFINITY, -f32::INFINITY] {
                column[place] = there(value);
                assert_eq!(LogSumExp.fold_column(column, 0, 1), Scaled::<f32>::of(value));
            }
        }
        let column = [1.0_f32, 3.0, -f32::INFINITY, 3.0, -200.0, 2.0, 3.0, f32::MIN].map(there);
        let state = LogSumExp.fold_column(column, 0, 1);
        let sum = (single::exp_below(-2.0, 0.0) + 1.0) + 1.0 + (single::exp_below(-1.0, 0.0) + 1.0);
        assert_eq!(state, Scaled { max: 3.0, sum });
        let infinite = LogSumExp.fold_column(
            [f32::INFINITY, 1.0, f32::INFINITY, 2.0, 3.0, 4.0, 5.0, 6.0].map(there),
            0,
            1,
        );
        assert_eq!(
            infinite,
            Scaled {
                max: f32::INFINITY,
                sum: 2.0
            }
        );
    }

    #[test]
    fn bits_are_as_recorded() {
        let values: Vec<f32> = (0..1000_u16).map(|i| f32::from(i * 37 % 251) / 16.0 - 8.0).collect();
        assert_eq!(answer(LogSumExp, &values).to_bits(), 1_094_517_467, "f32");
        let wide: Vec<f64> = values.iter().map(|value| f64::from(*value) / 3.0).collect();
        assert_eq!(answer(LogSumExp, &wide).to_bits(), 4_620_467_848_649_534_726, "f64");
    }
}
