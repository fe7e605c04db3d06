extern crate std;

use std::vec::Vec;

use proptest::prelude::*;

use super::*;
use crate::monoids::{
    Arg, CountedMean, Extremum, Mean, NO_INDEX, Product, StdDev, Sum, Variance,
    testing::{answer, bits, check_laws, fold, special_or_any},
};

const NAN: f32 = f32::NAN;

fn without(values: &[f32]) -> Vec<f32> {
    values.iter().copied().filter(|value| !value.is_nan()).collect()
}

/// The answer, or that over nothing.
fn answer_of<M: Monoid<f32>>(op: M, values: &[f32]) -> Option<Vec<u32>> {
    if values.is_empty() {
        op.empty().map(bits)
    } else {
        Some(bits(answer(op, values)))
    }
}

/// NaNs at the end are what an array is padded with; and where there is none, `plain` gives the same.
fn is_plain<M: Monoid<f32>, P: Monoid<f32>>(op: M, plain: P, values: &[f32]) {
    let numbers = without(values);
    let mut padded = numbers.clone();
    padded.resize(values.len(), NAN);
    let expected = answer_of(plain, &numbers);
    assert_eq!(answer_of(IgnoreNan(op), &numbers), expected, "{numbers:?}");
    if !numbers.is_empty() {
        assert_eq!(answer_of(IgnoreNan(op), &padded), expected, "{padded:?}");
    }
}

proptest! {
    #[test]
    fn laws_of_moments_hold_to_the_bit(runs in [special_or_any(), special_or_any()]) {
        check_laws::<f32, _>(IgnoreNan(Variance { correction: 1.0 }), &runs);
        let wide = runs.map(|run| run.into_iter().map(f64::from).collect::<Vec<_>>());
        check_laws::<f64, _>(IgnoreNan(StdDev { correction: 0.0 }), &wide);
    }

    #[test]
    fn where_no_hole_is_left_it_is_the_plain_operator(values in special_or_any()) {
        is_plain(Sum, Sum, &values);
        is_plain(Product, Product, &values);
        is_plain(CountedMean, Mean, &values);
        is_plain(Extremum::SMALLEST, Extremum::SMALLEST, &values);
        is_plain(Arg::LARGEST.last(), Arg::LARGEST.last(), &values);
        is_plain(Variance { correction: 0.0 }, Variance { correction: 0.0 }, &values);
        is_plain(StdDev::default(), StdDev::default(), &values);
    }

    #[test]
    fn exact_operators_answer_as_over_the_numbers_alone(values in special_or_any()) {
        let numbers = without(&values);
        prop_assume!(!numbers.is_empty());
        for op in [Extremum::LARGEST, Extremum::SMALLEST] {
            prop_assert_eq!(bits(answer(IgnoreNan(op), &values)), bits(answer(op, &numbers)));
        }
        let places: Vec<u64> = (0..).zip(&values).filter(|(_, value)| !value.is_nan()).map(|(i, _)| i).collect();
        for op in [Arg::LARGEST, Arg::SMALLEST.last()] {
            let index = answer(op, &numbers);
            prop_assert_eq!(answer(IgnoreNan(op), &values), places[index as usize]);
        }
    }

    /// What nothing but NaN came before, any number may change.
    #[test]
    fn a_value_that_may_not_change_a_fold_does_not(values in special_or_any(), nans in 0..3_usize) {
        fn law<M: Monoid<f32, State: PartialEq + core::fmt::Debug>>(op: M, before: &[f32], value: f32) {
            let best = fold(op, before);
            let next = op.lift(value, 100);
            if !op.prefilter().may_change(best, value) {
                assert_eq!(op.combine(best, next), best, "{before:?} then {value}");
            } else {
                assert!(!value.is_nan());
            }
        }
        let (value, before) = values.split_last().expect("a run has an element");
        let before = [&[NAN; 3][..=nans], before].concat();
        for before in [&before[..], &before[..=nans]] {
            for value in [*value, f32::NEG_INFINITY, f32::INFINITY, NAN] {
                for end in [Extremum::LARGEST, Extremum::SMALLEST] {
                    law(IgnoreNan(end), before, value);
                }
                for op in [Arg::LARGEST, Arg::SMALLEST, Arg::LARGEST.last(), Arg::SMALLEST.last()] {
                    law(IgnoreNan(op), before, value);
                }
            }
        }
    }
}

#[test]
fn of_nans_alone_there_is_what_the_documentation_says() {
    let nans = [NAN, -NAN, NAN];
    assert_eq!(answer(IgnoreNan(Sum), &nans).to_bits(), (-0.0_f32).to_bits());
    assert_eq!(answer(IgnoreNan(Product), &nans), 1.0);
    for nan in [
        answer(IgnoreNan(CountedMean), &nans),
        answer(IgnoreNan(Extremum::LARGEST), &nans),
        answer(IgnoreNan(Extremum::SMALLEST), &nans),
        answer(IgnoreNan(Variance { correction: 0.0 }), &nans),
        answer(IgnoreNan(StdDev::default()), &nans),
    ] {
        assert_eq!(nan.to_bits(), 0x7fc0_0000);
    }
    for op in [Arg::LARGEST, Arg::SMALLEST, Arg::LARGEST.last(), Arg::SMALLEST.last()] {
        assert_eq!(answer(IgnoreNan(op), &nans), NO_INDEX);
    }
}

#[test]
fn infinities_are_numbers() {
    let values = [NAN, f32::NEG_INFINITY, NAN];
    assert_eq!(answer(IgnoreNan(Extremum::LARGEST), &values), f32::NEG_INFINITY);
    assert_eq!(answer(IgnoreNan(Arg::LARGEST), &values), 1);
    assert_eq!(answer(IgnoreNan(CountedMean), &[NAN, 1.0, 4.0, NAN]), 2.5);
    let infinities = [f32::NEG_INFINITY, NAN, f32::INFINITY];
    assert!(answer(IgnoreNan(Sum), &infinities).is_nan());
}
