//! The bits and the error of sums of exponentials.

extern crate std;

use std::vec::Vec;

use num_bigint::BigInt;
use proptest::prelude::*;

use super::{
    Bounded, Exponentials, LogSumExp, Monoid,
    relative::{self, Terms},
    testing::{answer, check_laws, fold, same, special_or_any},
};
use crate::{
    arithmetic::{oracle, power},
    element::{Float, Item, bf16},
    tree::{Part, Predicated, RelativeSum, fold_column_in_pairs, fold_part, place},
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
        let bound = (d + 6.5 + 0.23 * n.ln()) * u + f64::from(y.abs()) * u;
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
    let mut state = Monoid::<f32>::lift(LogSumExp, 7.5, 0);
    for doublings in 0..64 {
        assert_eq!(state.sum, power::mantissa(7.5) * 2.0_f32.powi(doublings));
        state = Monoid::<f32>::combine(LogSumExp, state, state);
    }
    let answer: f32 = LogSumExp.finish(state, 1);
    assert_eq!(answer, (7.5 + 64.0 * core::f64::consts::LN_2) as f32);
}

/// The elements of a lane's part.
#[derive(Clone, Copy)]
struct Held<'a, T, const COLUMNS: usize>(&'a [T]);

impl<T: Item, const COLUMNS: usize> Part<T> for Held<'_, T, COLUMNS> {
    const COLUMNS: usize = COLUMNS;
    const AT_HAND: bool = true;

    fn lift<M: Monoid<T>>(self, op: M, row: usize, column: usize) -> M::State {
        match self.0.get(row * COLUMNS + column) {
            Some(value) => op.lift(*value, place::<T>(row, column)),
            None => op.identity(),
        }
    }
}

/// Elements that a sum relative to the largest could get wrong: far apart, by steps at which a sum is just lost in the next or just not, by
/// halves of a last place, infinite, and so large that their products with log₂ e have no fraction.
fn tricky() -> impl Strategy<Value = Vec<f32>> {
    const STEP: f32 = 25.0 * core::f32::consts::LN_2;
    let value = prop_oneof![
        4 => (0..=8_i8, -3..=3_i8).prop_map(|(steps, off)| -f32::from(steps) * STEP + f32::from(off) * 0.23),
        2 => (0..=200_u8).prop_map(|powers| -f32::from(powers) * core::f32::consts::LN_2),
        2 => -170.0_f32..1.0,
        1 => Just(f32::NEG_INFINITY),
    ];
    let shift = prop_oneof![
        3 => Just(0.0_f32),
        2 => -1e3_f32..1e3,
        1 => prop::sample::select(&[1.399e6_f32, -1.399e6, 1.41e6, -1.42e6, 2.9e6, -2.9e6, 3.1e6, 5.9e6, 1e9, -1e20, 3e38][..]),
    ];
    (prop::collection::vec(value, 1..=64), shift, 0..8_u8).prop_map(|(values, shift, kind)| {
        let there = |value: &f32| kind > 1 || *value > f32::NEG_INFINITY;
        let mut values: Vec<f32> = values.into_iter().filter(there).map(|value| value + shift).collect();
        match kind {
            2 => values.push(f32::NAN),
            3 => values.push(f32::INFINITY),
            4 => values.fill(f32::NEG_INFINITY),
            _ => {}
        }
        values
    })
}

/// What is summed relative to one element has the bits of the tree.
fn is_one<T: core::fmt::Debug>(a: Exponentials, b: Exponentials, values: &[T]) {
    assert!(same(a, b), "{a:?} {b:?} of {values:?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn a_part_relative_to_its_largest_has_the_bits_of_the_tree(values in tricky()) {
        fn of_part<T: Float<Wide = f32> + Item + core::fmt::Debug, const COLUMNS: usize>(values: &[T]) {
            let part = Held::<T, COLUMNS>(values);
            let tree = fold_part(LogSumExp, part);
            is_one(relative::fold_part(LogSumExp, part), tree, values);
            let largest = relative::largest(LogSumExp, part);
            if RelativeSum::<T, _>::is_bounded(LogSumExp, largest) {
                let terms = Terms { op: LogSumExp, largest };
                let state = RelativeSum::<T, _>::of_terms(LogSumExp, largest, fold_part(terms, part), true);
                is_one(state, tree, values);
            }
        }
        of_part::<f32, 4>(&values);
        of_part::<f32, 1>(&values);
        let narrow: Vec<bf16> = values.iter().map(|value| Float::from_f64(f64::from(*value))).collect();
        of_part::<bf16, 8>(&narrow);
    }

    #[test]
    fn within_bounds_it_has_the_same_bits(values in tricky()) {
        let is_bounded = values.iter().all(|value| RelativeSum::<f32, _>::is_bounded(LogSumExp, *value));
        if is_bounded {
            is_one(fold(Bounded(LogSumExp), &values), fold(LogSumExp, &values), &values);
        } else {
            prop_assert!(values.iter().any(|value| value.is_nan() || value.abs() > power::BOUND));
        }
        let column: [Predicated<f32>; 8] = core::array::from_fn(|row| match values.get(row) {
            Some(value) => Predicated::of(*value),
            None => Predicated::empty(),
        });
        let (state, is_bounded) = relative::fold_column(LogSumExp, column);
        if is_bounded {
            is_one(state, fold_column_in_pairs(LogSumExp, column, 0, 128), &values);
        } else {
            let no_number = |value: &f32| value.is_nan() || value.abs() > power::BOUND;
            prop_assert!(values.iter().take(8).any(no_number));
        }
    }

    /// Of elements so large that f32 has few between them and none, against f64, within the operator's bound.
    #[test]
    fn large_elements_have_all_their_bits(
        steps in prop::collection::vec(0..300_u16, 1..40),
        shift in prop::sample::select(&[1.45e6_f32, -1.45e6, 2.9e6, 3e6, -4e6, 5.8e6, 6e6, 1.2e7, -1.2e7, 1e9][..]),
    ) {
        let values: Vec<f32> = steps.iter().map(|step| shift - f32::from(*step) * 0.125).collect();
        let largest = values.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let sum: f64 = values.iter().map(|value| (f64::from(*value) - f64::from(largest)).exp()).sum();
        let state = fold(LogSumExp, &values);
        prop_assert_eq!(state.max, largest);
        // Less the largest, beside which f32 and f64 have few digits left.
        let ours = f64::from(state.sum / power::mantissa(largest)).ln();
        let n = values.len() as f64;
        let bound = (n.log2().ceil() + 6.5 + 0.23 * n.ln()) * 2.0_f64.powi(-24);
        let off = (ours - sum.ln()).abs();
        prop_assert!(off <= bound * 1.001, "{off:e} past {bound:e}");
    }
}

#[test]
fn bits_are_as_recorded() {
    let values: Vec<f32> = (0..1000_u16).map(|i| f32::from(i * 37 % 251) / 16.0 - 8.0).collect();
    assert_eq!(answer(LogSumExp, &values).to_bits(), 1_094_517_467, "f32");
    // An answer has few of the sum's digits.
    assert_eq!(fold(LogSumExp, &values).sum.to_bits(), 1_115_937_697, "the sum");
    let wide: Vec<f64> = values.iter().map(|value| f64::from(*value) / 3.0).collect();
    assert_eq!(answer(LogSumExp, &wide).to_bits(), 4_620_467_848_649_534_726, "f64");
}
