//! Exact sums against sums of large integers.

extern crate std;

use std::{fmt::Debug, vec::Vec};

use num_bigint::BigInt;
use proptest::prelude::*;

use super::{
    singles::{NEUTRAL, SPAN},
    *,
};
use crate::{
    element::{Element, Item},
    monoids::{
        Mean, Sum, Words,
        testing::{answer, bits, check_laws, fold, special_or_any},
    },
    tree::{ROWS, place, vector_elements},
};

/// A type of floats, as these tests know it: by bits.
trait Binary: Element + Words {
    const FRACTION: u32;
    const INFINITY: u64;
    const SIGN: u64;
    fn bits(self) -> u64;

    /// A finite one in units of the smallest.
    fn units(self) -> BigInt {
        let units = units_of(self.bits() & (Self::SIGN - 1), Self::FRACTION);
        if self.bits() & Self::SIGN != 0 { -units } else { units }
    }
}

impl Binary for f32 {
    const FRACTION: u32 = 23;
    const INFINITY: u64 = 0xff << 23;
    const SIGN: u64 = 1 << 31;
    fn bits(self) -> u64 {
        self.to_bits().into()
    }
}

impl Binary for f64 {
    const FRACTION: u32 = 52;
    const INFINITY: u64 = 0x7ff << 52;
    const SIGN: u64 = 1 << 63;
    fn bits(self) -> u64 {
        self.to_bits()
    }
}

/// What follows the largest number stands for infinity.
fn units_of(magnitude: u64, fraction: u32) -> BigInt {
    let exponent = (magnitude >> fraction).max(1);
    let significand = magnitude - ((exponent - 1) << fraction);
    BigInt::from(significand) << (exponent - 1)
}

/// The bits of the float nearest to `sum / count` units, of two the even one: by halves.
fn nearest<T: Binary>(sum: &BigInt, count: u64) -> u64 {
    let sign = if sum.sign() == num_bigint::Sign::Minus {
        T::SIGN
    } else {
        0
    };
    let magnitude = BigInt::from(sum.magnitude().clone());
    let of = |bits: u64| units_of(bits, T::FRACTION);
    // Whether twice the quotient reaches twice a number, or the sum of two.
    let reaches = |twice: BigInt| &magnitude * 2_u32 >= twice * count;
    let (mut low, mut high) = (0, T::INFINITY + 1);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if reaches(of(middle) * 2_u32) {
            low = middle
        } else {
            high = middle
        }
    }
    if low < T::INFINITY {
        let middle = of(low) + of(low + 1);
        if reaches(middle.clone()) && (low % 2 == 1 || &magnitude * 2_u32 > middle * count) {
            low += 1;
        }
    }
    sign | low
}

/// What the answers are, sum and mean.
fn expected<T: Binary>(values: &[T]) -> [u64; 2] {
    let nan = T::INFINITY | 1 << (T::FRACTION - 1);
    let is = |what: &dyn Fn(u64) -> bool| values.iter().any(|value| what(value.bits()));
    let positive = is(&|bits| bits == T::INFINITY);
    let negative = is(&|bits| bits == T::INFINITY | T::SIGN);
    let special = if is(&|bits| bits & (T::SIGN - 1) > T::INFINITY) || positive && negative {
        Some(nan)
    } else if positive {
        Some(T::INFINITY)
    } else if negative {
        Some(T::INFINITY | T::SIGN)
    } else if !is(&|bits| bits != T::SIGN) {
        Some(T::SIGN)
    } else {
        None
    };
    [1, values.len() as u64]
        .map(|divisor| special.unwrap_or_else(|| nearest::<T>(&values.iter().copied().map(T::units).sum(), divisor)))
}

fn agrees<T: Binary + Debug>(values: &[T])
where
    Exact<Sum>: Monoid<T, Answer = T>,
    Exact<Mean>: Monoid<T, Answer = T>,
{
    let computed = [answer(Exact(Sum), values), answer(Exact(Mean), values)].map(T::bits);
    assert_eq!(computed, expected(values), "{values:?}");
}

fn sum_of<T, State>(sum: State, count: u64) -> T
where
    Exact<Sum>: Monoid<T, State = State, Answer = T>,
{
    Exact(Sum).finish(sum, count)
}

fn mean_of<T, State>(sum: State, count: u64) -> T
where
    Exact<Mean>: Monoid<T, State = State, Answer = T>,
{
    Exact(Mean).finish(sum, count)
}

/// A part of `N` rows, the places from `values.len()` on empty.
#[derive(Clone, Copy)]
struct Values<'a, T, const N: usize>(&'a [T]);

impl<T: Item, const N: usize> Part<T> for Values<'_, T, N> {
    const ROWS: usize = N;
    const COLUMNS: usize = vector_elements::<T>();
    fn lift<M: Monoid<T>>(self, op: M, row: usize, column: usize) -> M::State {
        match self.0.get(Self::COLUMNS * row + column) {
            Some(value) => op.lift(*value, place::<T>(row, column)),
            None => op.identity(),
        }
    }
}

fn part_folds_as_its_elements_do<T: Binary + Debug>(values: &[T])
where
    Exact<Sum>: Monoid<T>,
{
    let few = &values[..values.len().min(2 * vector_elements::<T>())];
    let parts = [
        Exact(Sum).part_fold().fold_part(Values::<T, ROWS>(values)),
        Exact(Sum).part_fold().fold_part(Values::<T, 2>(few)),
    ];
    for (part, values) in parts.into_iter().zip([values, few]) {
        assert_eq!(bits(part), bits(fold(Exact(Sum), values)), "{values:?}");
    }
}

/// All parts of a lane together.
fn parts_fold_as_their_elements_do<T: Binary + Debug>(values: &[T])
where
    Exact<Sum>: Monoid<T>,
{
    let mut parts = values.chunks(ROWS * vector_elements::<T>()).map(Values::<T, ROWS>);
    let together =
        Monoid::<T>::part_fold(Exact(Sum)).fold_parts(Exact(Sum), Monoid::<T>::identity(Exact(Sum)), || parts.next());
    assert_eq!(bits(together), bits(fold(Exact(Sum), values)), "{values:?}");
}

/// Some values, and perhaps what cancels half of them.
fn perhaps_cancelling<T: Copy + core::ops::Neg<Output = T> + Debug>(
    value: impl Strategy<Value = T>,
    most: usize,
) -> impl Strategy<Value = Vec<T>> {
    (prop::collection::vec(value, 1..=most), any::<bool>()).prop_map(|(mut values, cancels)| {
        if cancels {
            let half = values.len() / 2;
            for i in 0..half {
                values[half + i] = -values[i];
            }
        }
        values
    })
}

/// The same of f64.
fn wild_doubles(most: usize) -> impl Strategy<Value = Vec<f64>> {
    let value = prop_oneof![
        3 => (any::<u64>()).prop_map(|bits| f64::from_bits(bits & !(1 << 62))),
        1 => (any::<u64>()).prop_map(|bits| f64::from_bits(bits & !(1 << 52))),
        8 => -100.0_f64..100.0,
        2 => (any::<u64>()).prop_map(|bits| f64::from_bits(bits & ((1 << 63) | ((2 << 52) - 1)))),
        1 => prop::sample::select(&[0.0, -0.0, f64::MAX, f64::MIN, 5e-324, -5e-324, f64::MIN_POSITIVE, 1e300, 1.0][..]),
    ];
    perhaps_cancelling(value, most)
}

/// Floats of any exponent; of few near each other; subnormals; and what cancels.
fn wild() -> impl Strategy<Value = Vec<f32>> {
    let value = prop_oneof![
        3 => (any::<u32>()).prop_map(|bits| f32::from_bits(bits & 0xff7f_ffff)),
        3 => -100.0_f32..100.0,
        2 => (any::<u32>()).prop_map(|bits| f32::from_bits(bits & 0x80ff_ffff)),
        1 => prop::sample::select(&[0.0, -0.0, f32::MAX, f32::MIN, 1e-45, -1e-45, f32::MIN_POSITIVE][..]),
    ];
    perhaps_cancelling(value, 32)
}

#[test]
fn sums_that_overflow_on_the_way_come_back() {
    let max = f32::MAX;
    assert_eq!(answer(Exact(Sum), &[max, max, max, -max, -max]), max);
    assert_eq!(answer(Exact(Mean), &[max, max, max]), max);
    assert_eq!(answer(Exact(Sum), &[max, max]), f32::INFINITY);
    assert_eq!(answer(Exact(Sum), &[1.0_f32, 1e30, 1e-45, -1e30, -1.0]), 1e-45);
    // Half a step past the largest number rounds to infinity, and just below it does not.
    let half = 2.0_f32.powi(103);
    assert_eq!(answer(Exact(Sum), &[max, half]), f32::INFINITY);
    assert_eq!(answer(Exact(Sum), &[max, half, -1e-45]), max);
    assert_eq!(answer(Exact(Mean), &[1e-45_f32, 0.0]).to_bits(), 0);
    assert_eq!(answer(Exact(Mean), &[1e-45_f32, 1e-45, 0.0]), 1e-45);
}

#[test]
fn zeros_have_the_sign_of_ieee() {
    let bits = |values: &[f32]| answer(Exact(Sum), values).to_bits();
    assert_eq!(bits(&[-0.0; 5]), NEUTRAL);
    assert_eq!(bits(&[-0.0, 0.0]), 0);
    assert_eq!(bits(&[1.5, -0.0, -1.5]), 0);
    for zeros in [[-0.0; 32], [0.0; 32]] {
        part_folds_as_its_elements_do::<f32>(&zeros);
        parts_fold_as_their_elements_do(&zeros.map(f64::from));
    }
    for zeros in [
        &[-0.0_f64; 5][..],
        &[-0.0, 0.0],
        &[1.5, -0.0, -1.5],
        &[-1e-300, -0.0, 1e-300],
    ] {
        agrees(zeros);
        parts_fold_as_their_elements_do(zeros);
    }
    let empty = |of_nothing: Option<f32>| of_nothing.map(f32::to_bits);
    assert_eq!(empty(Monoid::<f32>::empty(Exact(Sum))), Some(0));
    assert_eq!(empty(Monoid::<f32>::empty(Exact(Mean))), Some(0x7fc0_0000));
}

/// As many elements as there can be, each as large as can be.
#[test]
fn nothing_overflows() {
    for (value, largest) in [(f32::MAX, f32::INFINITY), (f32::MIN, f32::NEG_INFINITY)] {
        let mut total = Fixed::<11>::of(value);
        for _ in 0..64 {
            total = total.plus(total);
        }
        let finish = |of: f32| of.to_bits();
        assert_eq!(finish(sum_of(total, u64::MAX)), finish(largest));
        let back = (0..64).fold(total, |sum, _| sum.plus(Fixed::of(-value)));
        let mean: f32 = mean_of(back, u64::MAX);
        assert_eq!(mean, value);
    }
    for (value, largest) in [(f64::MAX, f64::INFINITY), (f64::MIN, f64::NEG_INFINITY)] {
        let total = (0..64).fold(Fixed::<68>::of(value), |total, _| total.plus(total));
        let sum: f64 = sum_of(total, u64::MAX);
        assert_eq!(sum, largest);
        let back = (0..64).fold(total, |sum, _| sum.plus(Fixed::of(-value)));
        let mean: f64 = mean_of(back, u64::MAX);
        assert_eq!(mean, value);
    }
}

#[test]
fn sums_of_doubles_that_overflow_on_the_way_come_back() {
    let (max, half) = (f64::MAX, 2.0_f64.powi(969 + 1));
    for values in [
        &[max, max, max, -max, -max][..],
        &[max, max],
        &[max, half],
        &[max, half, -5e-324],
        &[1.0, 1e300, 5e-324, -1e300, -1.0],
        &[5e-324, 0.0],
        &[5e-324, 5e-324, 0.0],
        &[-5e-324, 0.0, 0.0],
        &[f64::MIN_POSITIVE, 5e-324, 0.0, 0.0],
        &[max; 40],
    ] {
        agrees(values);
        parts_fold_as_their_elements_do(values);
    }
    assert_eq!(answer(Exact(Sum), &[max, half]), f64::INFINITY);
    assert_eq!(answer(Exact(Sum), &[max, half, -5e-324]), max);
}

proptest! {
    #[test]
    fn answers_are_the_nearest_to_the_exact(values in wild(), doubles in wild_doubles(40)) {
        agrees(&values);
        agrees(&doubles);
    }

    #[test]
    fn specials_are_told(values in special_or_any()) {
        agrees(&values);
        let doubles: Vec<f64> = values.into_iter().map(f64::from).collect();
        agrees(&doubles);
        parts_fold_as_their_elements_do(&doubles);
    }

    #[test]
    fn parts_of_doubles_are_exact(values in wild_doubles(100), specials in special_or_any(), at in 0..100_usize) {
        parts_fold_as_their_elements_do(&values);
        part_folds_as_its_elements_do(&values[..values.len().min(16)]);
        let mut values = values;
        let specials: Vec<f64> = specials.into_iter().map(f64::from).collect();
        let at = at % (values.len() + 1);
        values.splice(at..at, specials);
        parts_fold_as_their_elements_do(&values);
    }

    #[test]
    fn laws(a in special_or_any(), b in wild()) {
        check_laws(Exact(Sum), &[a.clone(), b.clone()]);
        check_laws(Exact(Mean), &[b.clone(), a.clone()]);
        let wide = [b, a].map(|run| run.into_iter().map(f64::from).collect());
        check_laws::<f64, _>(Exact(Sum), &wide);
    }

    #[test]
    fn no_order_changes_a_bit((values, shuffled) in wild().prop_flat_map(|v| (Just(v.clone()), Just(v).prop_shuffle()))) {
        prop_assert_eq!(bits(fold(Exact(Sum), &values)), bits(fold(Exact(Sum), &shuffled)));
    }

    #[test]
    fn parts_are_exact(values in prop_oneof![wild(), special_or_any()]) {
        part_folds_as_its_elements_do(&values);
    }

    /// Quotients by any count, of sums of any size.
    #[test]
    fn means_are_the_nearest_to_the_exact(values in wild(), count in 1..u64::MAX, doublings in 0..60_u32) {
        let sum = (0..doublings).fold(fold(Exact(Sum), &values), |sum, _| sum.plus(sum));
        let exact: BigInt = values.iter().copied().map(f32::units).sum::<BigInt>() << doublings;
        let mean: f32 = mean_of(sum, count);
        let expected = match values.iter().all(|value| value.to_bits() == NEUTRAL) {
            true => f32::SIGN,
            false => nearest::<f32>(&exact, count),
        };
        prop_assert_eq!(mean.bits(), expected, "{:?} 2^{} / {}", values, doublings, count);
    }

    #[test]
    fn means_of_doubles_are_the_nearest_to_the_exact(values in wild_doubles(10), count in 1..u64::MAX, doublings in 0..60_u32) {
        let sum = (0..doublings).fold(fold(Exact(Sum), &values), |sum, _| sum.plus(sum));
        let exact: BigInt = values.iter().copied().map(f64::units).sum::<BigInt>() << doublings;
        let mean: f64 = mean_of(sum, count);
        let expected = match values.iter().all(|value| value.bits() == f64::SIGN) {
            true => f64::SIGN,
            false => nearest::<f64>(&exact, count),
        };
        prop_assert_eq!(mean.bits(), expected, "{:?} 2^{} / {}", values, doublings, count);
    }
}

/// As far apart as a part is added in one go, and one order further: all bits count, of either sign.
#[test]
fn parts_of_just_one_span_are_exact() {
    for orders in SPAN - 1..=SPAN + 2 {
        for low in [0_u32, 1, 2, 100, 231] {
            let high = (low + orders) << 23 | 0x007f_ffff;
            for sign in [0, NEUTRAL] {
                let mut values = [f32::from_bits(sign | high); 32];
                part_folds_as_its_elements_do(&values);
                values[17] = f32::from_bits(low << 23 | 1);
                part_folds_as_its_elements_do(&values);
                values[3] = -values[4];
                values[30] = f32::from_bits(NEUTRAL | low << 23 | 1);
                part_folds_as_its_elements_do(&values);
            }
        }
    }
}
