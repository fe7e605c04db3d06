//! Compensated sums against exact ones, and their laws.

extern crate std;

use std::vec::Vec;

use num_bigint::BigInt;
use proptest::prelude::*;

use super::*;
use crate::monoids::{
    Mean, Sum, Wide as WideSum,
    testing::{answer, bits, check_laws, fold, special_or_any},
};

/// `value · 2^1074`, of a finite value: a whole number.
fn units(value: f64) -> BigInt {
    let magnitude = value.abs().to_bits();
    let exponent = (magnitude >> 52).max(1);
    let units = BigInt::from(magnitude - ((exponent - 1) << 52)) << (exponent - 1);
    if value.is_sign_negative() { -units } else { units }
}

/// Whether a computed sum keeps the bound `u · |s| + 2 · d² · u² · Σ|x|`, one part in a thousand for what is not of first order, and
/// half a step of subnormal numbers, u being 2^-`digits`.
fn keeps_its_bound(computed: f64, values: &[f64], digits: usize) -> bool {
    let exact: BigInt = values.iter().copied().map(units).sum();
    let magnitudes: BigInt = values.iter().map(|value| units(value.abs())).sum();
    let depth = u32::ilog2(u32::next_power_of_two(values.len() as u32));
    let error = BigInt::from((units(computed) - &exact).magnitude().clone());
    let bound = (BigInt::from(exact.magnitude().clone()) << digits) + magnitudes * (2 * depth * depth);
    error << (2 * digits) <= bound + bound_slack(&exact, digits)
}

fn bound_slack(exact: &BigInt, digits: usize) -> BigInt {
    (BigInt::from(exact.magnitude().clone()) << digits) / 1000_u32
}

/// Numbers that cancel: a large part that goes away again, and a small one that is left.
fn cancelling() -> impl Strategy<Value = Vec<f32>> {
    let large = prop::collection::vec(-1e9_f32..1e9, 1..200);
    let small = prop::collection::vec(-1.0_f32..1.0, 1..200);
    (large, small).prop_flat_map(|(large, small)| {
        let back = large.iter().map(|x| -x);
        let all: Vec<f32> = large.iter().copied().chain(back).chain(small).collect();
        Just(all).prop_shuffle()
    })
}

#[test]
fn what_a_plain_sum_loses_is_kept() {
    let values = [1e8_f32, 1.0, -1e8, 1.0, 1.0];
    assert_eq!(answer(Sum, &values), 1.0);
    assert_eq!(answer(Compensated(Sum), &values), 3.0);
    assert_eq!(answer(Compensated(Mean), &values), 0.6);
    assert_eq!(answer(Compensated(Sum), &values.map(|x| f64::from(x) * 1e8)), 3e8);
    assert_eq!(answer(WideSum(Sum), &values), 3.0);
}

#[test]
fn specials_are_those_of_the_plain_sum() {
    let (max, inf, nan) = (f32::MAX, f32::INFINITY, f32::NAN);
    for values in [
        &[max, max, -max][..],
        &[max, max, -inf],
        &[inf, 1.0, 2.0],
        &[-inf, max, max],
        &[inf, -inf, 1.0],
        &[1.0, nan],
        &[-0.0, -0.0, -0.0],
        &[-0.0, 0.0],
        &[1.0, -1.0],
    ] {
        let plain = answer(Sum, values);
        let compensated = answer(Compensated(Sum), values);
        assert_eq!(compensated.to_bits(), plain.to_bits(), "{values:?}");
        let wide: Vec<f64> = values.iter().map(|x| f64::from(*x) * 1e270).collect();
        let plain = answer(Sum, &wide);
        assert_eq!(answer(Compensated(Sum), &wide).to_bits(), plain.to_bits(), "{wide:?}");
    }
    // In f64 nothing of f32 overflows on the way.
    assert_eq!(answer(WideSum(Sum), &[max, max, -max]), max);
    assert_eq!(answer(WideSum(Sum), &[-0.0_f32; 3]).to_bits(), (-0.0_f32).to_bits());
    for op in [Compensated(Sum).empty(), WideSum(Sum).empty()] {
        assert_eq!(op.map(f32::to_bits), Some(0));
    }
    let mean: Option<f32> = Compensated(Mean).empty();
    assert!(mean.is_some_and(f32::is_nan));
}

/// Beside the largest number Knuth's sum of two overflows on the way, in one order and not in the other.
#[test]
fn errors_beside_the_largest_number_are_exact() {
    let step = 2.0_f32.powi(104);
    for part in [0.25, 0.5, 0.75, 1.0, 1.25, 1.5, 1.75, 2.5] {
        for (a, b) in [(f32::MAX, -part * step), (-part * step, f32::MAX)] {
            let (sum, error) = a.two_sum(b);
            assert_eq!(f64::from(sum) + f64::from(error), f64::from(a) + f64::from(b), "{part}");
        }
    }
}

proptest! {
    #[test]
    fn laws(runs in [special_or_any(), special_or_any()]) {
        check_laws(Compensated(Sum), &runs);
        check_laws(Compensated(Mean), &runs);
        let wide = runs.map(|run| run.into_iter().map(|x| f64::from(x) * 1e270).collect::<Vec<f64>>());
        check_laws(Compensated(Sum), &wide);
    }

    #[test]
    fn the_plain_sum_is_kept_beside(values in special_or_any()) {
        let canonical = |x: f32| if x.is_nan() { 0 } else { x.to_bits() };
        prop_assert_eq!(canonical(fold(Compensated(Sum), &values).sum), canonical(fold(Sum, &values)));
    }

    #[test]
    fn sums_keep_their_bounds(values in cancelling()) {
        let wide: Vec<f64> = values.iter().copied().map(f64::from).collect();
        prop_assert!(keeps_its_bound(answer(Compensated(Sum), &values).into(), &wide, 24));
        let thirds: Vec<f64> = wide.iter().map(|x| x / 3.0).collect();
        prop_assert!(keeps_its_bound(answer(Compensated(Sum), &thirds), &thirds, 53));
    }

    #[test]
    fn two_and_their_error_are_exact(a: u32, b: u32) {
        let (a, b) = (f32::from_bits(a), f32::from_bits(b));
        let (sum, error) = a.two_sum(b);
        if sum.is_finite() {
            let exact = |x: f32| units(x.into());
            prop_assert_eq!(exact(sum) + exact(error), exact(a) + exact(b));
        }
        prop_assert_eq!(bits(a.two_sum(b).0).len(), 1);
    }
}
