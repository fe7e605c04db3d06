//! Exact sums against sums of large integers.

extern crate std;

use std::vec::Vec;

use num_bigint::BigInt;
use proptest::prelude::*;

use super::*;
use crate::{
    monoids::{
        Mean, Sum,
        testing::{answer, bits, check_laws, fold, special_or_any},
    },
    tree::{ROWS, place},
};

/// A finite f32 in units of 2⁻¹⁴⁹.
fn units(value: f32) -> BigInt {
    let magnitude = value.abs().to_bits();
    let exponent = (magnitude >> 23).max(1);
    let significand = magnitude - ((exponent - 1) << 23);
    let units = BigInt::from(significand) << (exponent - 1);
    if value.is_sign_negative() { -units } else { units }
}

/// The f32 nearest to `sum / count` units, of two the even one: by halves.
fn nearest(sum: &BigInt, count: u64) -> f32 {
    let sign = if sum.sign() == num_bigint::Sign::Minus {
        -1.0
    } else {
        1.0
    };
    let magnitude = BigInt::from(sum.magnitude().clone());
    // What would follow the largest number stands for infinity.
    let of = |bits: u32| {
        if bits == INFINITY {
            BigInt::from(1_u32) << 277
        } else {
            units(f32::from_bits(bits))
        }
    };
    // Whether twice the quotient reaches twice a number, or the sum of two.
    let reaches = |twice: BigInt| &magnitude * 2_u32 >= twice * count;
    let (mut low, mut high) = (0, INFINITY + 1);
    while high - low > 1 {
        let middle = low + (high - low) / 2;
        if reaches(of(middle) * 2_u32) {
            low = middle
        } else {
            high = middle
        }
    }
    if low < INFINITY {
        let middle = of(low) + of(low + 1);
        if reaches(middle.clone()) && (low % 2 == 1 || &magnitude * 2_u32 > middle * count) {
            low += 1;
        }
    }
    sign * f32::from_bits(low)
}

/// What the answers are, sum and mean; without specials.
fn expected(values: &[f32]) -> [u32; 2] {
    let is = |what: fn(&f32) -> bool| values.iter().any(what);
    let (positive, negative) = (is(|x| *x == f32::INFINITY), is(|x| *x == f32::NEG_INFINITY));
    let special = if is(|x| x.is_nan()) || positive && negative {
        Some(f32::NAN)
    } else if positive {
        Some(f32::INFINITY)
    } else if negative {
        Some(f32::NEG_INFINITY)
    } else if values.iter().all(|x| x.to_bits() == NEUTRAL) {
        Some(-0.0)
    } else {
        None
    };
    [1, values.len() as u64].map(|divisor| {
        let exact = || nearest(&values.iter().copied().map(units).sum(), divisor);
        let answer = special.unwrap_or_else(exact);
        if answer.is_nan() { 0x7fc0_0000 } else { answer.to_bits() }
    })
}

fn agrees(values: &[f32]) {
    let computed = [answer(Exact(Sum), values), answer(Exact(Mean), values)].map(f32::to_bits);
    assert_eq!(computed, expected(values), "{values:?}");
}

/// A part of `N` rows, the places from `values.len()` on empty.
#[derive(Clone, Copy)]
struct Values<'a, const N: usize>(&'a [f32]);

impl<const N: usize> Part<f32> for Values<'_, N> {
    const ROWS: usize = N;
    const COLUMNS: usize = 4;
    fn lift<M: Monoid<f32>>(self, op: M, row: usize, column: usize) -> M::State {
        match self.0.get(4 * row + column) {
            Some(value) => op.lift(*value, place::<f32>(row, column)),
            None => op.identity(),
        }
    }
}

fn part_folds_as_its_elements_do(values: &[f32]) {
    let parts = [
        Exact(Sum).fold_part(Values::<ROWS>(values)),
        Exact(Sum).fold_part(Values::<2>(&values[..values.len().min(8)])),
    ];
    for (part, len) in parts.into_iter().zip([values.len(), 8]) {
        let values = &values[..values.len().min(len)];
        let one_by_one = values
            .iter()
            .fold(Fixed::NOTHING, |sum, value| sum.plus(Fixed::of(*value)));
        assert_eq!(part, one_by_one, "{values:?}");
    }
}

/// Floats of any exponent; of few near each other; subnormals; and what cancels.
fn wild() -> impl Strategy<Value = Vec<f32>> {
    let value = prop_oneof![
        3 => (any::<u32>()).prop_map(|bits| f32::from_bits(bits & 0xff7f_ffff)),
        3 => -100.0_f32..100.0,
        2 => (any::<u32>()).prop_map(|bits| f32::from_bits(bits & 0x80ff_ffff)),
        1 => prop::sample::select(&[0.0, -0.0, f32::MAX, f32::MIN, 1e-45, -1e-45, f32::MIN_POSITIVE][..]),
    ];
    (prop::collection::vec(value, 1..33), any::<bool>()).prop_map(|(mut values, cancels)| {
        if cancels {
            let half = values.len() / 2;
            for i in 0..half {
                values[half + i] = -values[i];
            }
        }
        values
    })
}

#[test]
fn sums_that_overflow_on_the_way_come_back() {
    let max = f32::MAX;
    assert_eq!(answer(Exact(Sum), &[max, max, max, -max, -max]), max);
    assert_eq!(answer(Exact(Mean), &[max, max, max]), max);
    assert_eq!(answer(Exact(Sum), &[max, max]), f32::INFINITY);
    assert_eq!(answer(Exact(Sum), &[1.0, 1e30, 1e-45, -1e30, -1.0]), 1e-45);
    // Half a step past the largest number rounds to infinity, and just below it does not.
    let half = 2.0_f32.powi(103);
    assert_eq!(answer(Exact(Sum), &[max, half]), f32::INFINITY);
    assert_eq!(answer(Exact(Sum), &[max, half, -1e-45]), max);
    assert_eq!(answer(Exact(Mean), &[1e-45, 0.0]).to_bits(), 0);
    assert_eq!(answer(Exact(Mean), &[1e-45, 1e-45, 0.0]), 1e-45);
}

#[test]
fn zeros_have_the_sign_of_ieee() {
    let bits = |values: &[f32]| answer(Exact(Sum), values).to_bits();
    assert_eq!(bits(&[-0.0; 5]), NEUTRAL);
    assert_eq!(bits(&[-0.0, 0.0]), 0);
    assert_eq!(bits(&[1.5, -0.0, -1.5]), 0);
    for zeros in [[-0.0; 32], [0.0; 32]] {
        part_folds_as_its_elements_do(&zeros);
    }
    let empty = |of_nothing: Option<f32>| of_nothing.map(f32::to_bits);
    assert_eq!(empty(Exact(Sum).empty()), Some(0));
    assert_eq!(empty(Exact(Mean).empty()), Some(0x7fc0_0000));
}

/// As many elements as there can be, each as large as can be.
#[test]
fn nothing_overflows() {
    for (value, largest) in [(f32::MAX, f32::INFINITY), (f32::MIN, f32::NEG_INFINITY)] {
        let mut total = Fixed::of(value);
        for _ in 0..64 {
            total = total.plus(total);
        }
        let finish = |of: f32| of.to_bits();
        assert_eq!(finish(Exact(Sum).finish(total, u64::MAX)), finish(largest));
        let back = (0..64).fold(total, |sum, _| sum.plus(Fixed::of(-value)));
        let mean: f32 = Exact(Mean).finish(back, u64::MAX);
        assert_eq!(mean, value);
    }
}

proptest! {
    #[test]
    fn answers_are_the_nearest_to_the_exact(values in wild()) {
        agrees(&values);
    }

    #[test]
    fn specials_are_told(values in special_or_any()) {
        agrees(&values);
    }

    #[test]
    fn laws(a in special_or_any(), b in wild()) {
        check_laws(Exact(Sum), &[a.clone(), b.clone()]);
        check_laws(Exact(Mean), &[b, a]);
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
        let exact: BigInt = values.iter().copied().map(units).sum::<BigInt>() << doublings;
        let mean: f32 = Exact(Mean).finish(sum, count);
        let expected = match values.iter().all(|value| value.to_bits() == NEUTRAL) {
            true => -0.0,
            false => nearest(&exact, count),
        };
        prop_assert_eq!(mean.to_bits(), expected.to_bits(), "{:?} 2^{} / {}", values, doublings, count);
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
