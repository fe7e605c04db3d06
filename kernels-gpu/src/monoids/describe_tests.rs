extern crate std;

use std::vec::Vec;

use proptest::prelude::*;

use super::{
    super::{
        Arg, Count, Extremum, Kurtosis, MeanVariance, NormInf, NormL2, Skewness, StdDev, Variance,
        testing::{Bits, answer, bits, fold, special_or_any},
    },
    *,
};
use crate::{
    element::{bf16, f16},
    tree::{self, ROWS, row_elements, vector_elements},
};

const OP: Describe = Describe { correction: 1.0 };

/// The words of a state, whose NaNs all count as one.
fn state_bits<T: Float>((sums, found): Described<T>) -> Bits {
    let one = |x: f64| if x.is_nan() { f64::NAN } else { x };
    let moments = sums.moments;
    let floats = [
        moments.lower.mean,
        moments.lower.m2,
        moments.m3,
        moments.m4,
        sums.squares.sum,
    ]
    .map(one);
    let scales = [bits(moments.lower.scale), bits(sums.squares.scale)].concat();
    let wide = |wide: T::Wide| bits(T::total(wide));
    let counts = bits(moments.lower.count);
    let rest = [counts, wide(sums.sum), wide(sums.magnitudes), bits(found), scales].concat();
    floats.into_iter().flat_map(bits).chain(rest).collect()
}

/// Described, the numbers have the answers of the operators that answer each.
fn agrees_with_each<T: Float>(values: &[f32]) {
    let values: &[T] = &values
        .iter()
        .map(|value| T::from_f64(f64::from(*value)))
        .collect::<Vec<_>>();
    let summary = answer(OP, values);
    let is = |field: Bits, expected: Bits| assert_eq!(field, expected, "{} elements", values.len());
    is(bits(summary.sum), bits(answer(Sum, values)));
    is(bits(summary.min.unwrap()), bits(answer(Extremum::SMALLEST, values)));
    is(bits(summary.max.unwrap()), bits(answer(Extremum::LARGEST, values)));
    is(bits(summary.argmin.unwrap()), bits(answer(Arg::SMALLEST, values)));
    is(bits(summary.argmax.unwrap()), bits(answer(Arg::LARGEST, values)));
    let correction = 1.0;
    let (mean, variance) = answer(MeanVariance { correction }, values);
    is(bits(summary.mean), bits(mean));
    is(bits(summary.variance), bits(variance));
    is(bits(summary.variance), bits(answer(Variance { correction }, values)));
    is(bits(summary.std), bits(answer(StdDev { correction }, values)));
    is(bits(summary.skewness), bits(answer(Skewness {}, values)));
    is(bits(summary.kurtosis), bits(answer(Kurtosis {}, values)));
    is(bits(summary.l1), bits(answer(NormL1, values)));
    is(bits(summary.l2), bits(answer(NormL2, values)));
    let count = values.len() as u64;
    assert_eq!((summary.count, summary.nan), (count, 0));
    assert_eq!(summary.zeros, count - answer(Count::nonzero(T::TYPE), values));
    assert_eq!(bits(summary.linf), bits(answer(NormInf, values)));
    let infinities = summary.positive_infinities + summary.negative_infinities;
    assert_eq!(infinities, answer(Count::infinite(T::TYPE), values));
    let count = |infinity: f64| values.iter().filter(|value| value.to_f64() == infinity).count() as u64;
    assert_eq!(summary.positive_infinities, count(f64::INFINITY));
    assert_eq!(summary.negative_infinities, count(f64::NEG_INFINITY));
}

/// Any floats but NaN.
fn numbers() -> impl Strategy<Value = Vec<f32>> {
    special_or_any().prop_map(|values| {
        let number = |value: f32| if value.is_nan() { 0.5 } else { value };
        values.into_iter().map(number).collect()
    })
}

proptest! {
    #[test]
    fn each_answer_is_that_of_its_own_operator(values in numbers()) {
        agrees_with_each::<f32>(&values);
        agrees_with_each::<f64>(&values);
        agrees_with_each::<f16>(&values);
        agrees_with_each::<bf16>(&values);
    }

    #[test]
    fn the_identity_is_neutral_and_the_order_of_two_does_not_matter(runs in [special_or_any(), special_or_any()]) {
        let [a, b] = [0, 1].map(|i| fold(OP, &runs[i]));
        let b = Positional::shift(OP, b, 100);
        let combine = |a, b| Monoid::<f32>::combine(OP, a, b);
        let nothing: Described<f32> = OP.identity();
        for state in [a, b, nothing] {
            assert_eq!(state_bits::<f32>(combine(nothing, state)), state_bits::<f32>(state));
            assert_eq!(state_bits::<f32>(combine(state, nothing)), state_bits::<f32>(state));
            assert_eq!(bits(Described::<f32>::from_words(|i| state.word(i))), bits(state));
        }
        assert_eq!(state_bits::<f32>(combine(a, b)), state_bits::<f32>(combine(b, a)));
        assert_eq!(bits(Monoid::<f32>::finish(OP, combine(a, b), 30)), bits(Monoid::<f32>::finish(OP, combine(b, a), 30)));
    }

    /// A NaN is counted, and otherwise as if there were the identity at its place.
    #[test]
    fn a_nan_is_left_out(values in special_or_any()) {
        let summary = answer(OP, &values);
        let states: Vec<_> = values.iter().enumerate().map(|(i, value)| {
            if value.is_nan() { OP.identity() } else { OP.lift(*value, i as u64) }
        }).collect();
        let pairs = |states: &[Described<f32>]| states.chunks(2).map(|pair| {
            Monoid::<f32>::combine(OP, pair[0], pair.get(1).copied().unwrap_or(OP.identity()))
        }).collect::<Vec<_>>();
        let mut states = states;
        while states.len() > 1 {
            states = pairs(&states);
        }
        assert_eq!(bits(summary), bits(Monoid::<f32>::finish(OP, states[0], values.len() as u64)));
        assert_eq!(summary.nan, values.iter().filter(|value| value.is_nan()).count() as u64);
        let numbers = values.iter().copied().filter(|value| !value.is_nan());
        assert_eq!(summary.min.map(f32::to_bits), numbers.clone().min_by(f32::total_cmp).map(f32::to_bits));
        assert_eq!(summary.max.map(f32::to_bits), numbers.clone().max_by(f32::total_cmp).map(f32::to_bits));
        let first = |wanted: Option<f32>| values.iter().position(|value| Some(*value) == wanted).map(|at| at as u64);
        assert_eq!((summary.argmin, summary.argmax), (first(summary.min), first(summary.max)));
    }
}

/// A part whose elements lie in rows, those from `present` on missing.
#[derive(Clone, Copy)]
struct Places<'a, T, const N: usize> {
    elements: &'a [T],
    present: usize,
}

impl<T: Float, const N: usize> Part<T> for Places<'_, T, N> {
    const ROWS: usize = N;
    const COLUMNS: usize = vector_elements::<T>();
    fn lift<M: Monoid<T>>(self, op: M, row: usize, column: usize) -> M::State {
        let place = row * row_elements::<T>() + column;
        if place < self.present {
            op.lift(self.elements[row * vector_elements::<T>() + column], place as u64)
        } else {
            op.identity()
        }
    }
    fn full(self) -> Option<Self> {
        (self.present == usize::MAX).then_some(self)
    }
}

fn folds_as_the_tree_has_it<T: Float, const N: usize>(values: &[f32], present: usize) {
    let elements: Vec<T> = values.iter().map(|value| T::from_f64(f64::from(*value))).collect();
    let elements = &elements[..N * vector_elements::<T>()];
    let part = Places::<T, N> { elements, present };
    let expected = tree::fold_part(OP, part);
    assert_eq!(
        state_bits::<T>(OP.fold_part(part)),
        state_bits::<T>(expected),
        "{present} of {N} rows"
    );
}

/// Whichever way a part is folded: without holes, with them, with NaNs, infinities and zeros.
#[test]
fn a_part_folds_as_the_tree_has_it() {
    let specials = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, 0.0];
    for round in 0..200_usize {
        let mut values: Vec<f32> = (0..64)
            .map(|i| ((i * 37 + round * 11) % 251) as f32 / 16.0 + 0.25)
            .collect();
        for (i, special) in specials.iter().enumerate().filter(|(i, _)| round >> i & 1 == 1) {
            values[(round * 7 + i * 13) % 64] = *special;
            values[(round * 3 + i * 5) % 8] = *special;
        }
        for present in [usize::MAX, 0, 1, 3, round * 9] {
            folds_as_the_tree_has_it::<f32, ROWS>(&values, present);
            folds_as_the_tree_has_it::<f64, ROWS>(&values, present);
            folds_as_the_tree_has_it::<f16, ROWS>(&values, present);
            folds_as_the_tree_has_it::<bf16, ROWS>(&values, present);
            folds_as_the_tree_has_it::<f32, 1>(&values, present);
            folds_as_the_tree_has_it::<f32, 2>(&values, present);
            folds_as_the_tree_has_it::<f16, 4>(&values, present);
        }
    }
}

/// Exact for numbers whose sums are: SciPy and pandas say the same.
#[test]
fn a_few_numbers_are_described() {
    let values = [1.0_f32, f32::NAN, -3.0, 0.0, -0.0, 2.0];
    let summary = answer(OP, &values);
    assert_eq!((summary.count, summary.nan, summary.zeros), (6, 1, 2));
    assert_eq!(
        (summary.min, summary.argmin, summary.max, summary.argmax),
        (Some(-3.0), Some(2), Some(2.0), Some(5))
    );
    assert_eq!((summary.sum, summary.l1, summary.linf), (0.0, 6.0, 3.0));
    assert!(summary.mean.abs() < 1e-16);
    // 14 / 4, √(14 / 4), √14, (1 − 27 + 8) / 5 / 2.8^1.5, (1 + 81 + 16) / 5 / 2.8² − 3.
    assert_eq!(
        (summary.variance, summary.std, summary.l2),
        (3.5, 1.870_828_7, 3.741_657_5)
    );
    assert_eq!((summary.skewness, summary.kurtosis), (-0.768_361_3, -0.5));
}

#[test]
fn of_no_numbers_there_are_no_ends() {
    let nothing = Monoid::<f32>::empty(OP).unwrap();
    let nans = answer(OP, &[f32::NAN; 3]);
    for (summary, count) in [(nothing, 0), (nans, 3)] {
        assert_eq!((summary.count, summary.nan, summary.zeros), (count, count, 0));
        assert_eq!(
            (summary.min, summary.max, summary.argmin, summary.argmax),
            (None, None, None, None)
        );
        for zero in [summary.sum, summary.l1, summary.l2, summary.linf] {
            assert_eq!(zero.to_bits(), 0);
        }
        let moments = [
            summary.mean,
            summary.variance,
            summary.std,
            summary.skewness,
            summary.kurtosis,
        ];
        assert!(moments.iter().all(|moment| moment.is_nan()));
        let back = Summary::<f32>::from_words(|i| summary.word(i));
        assert_eq!(bits(back), bits(summary));
        assert_eq!((back.min, back.argmin), (None, None));
    }
}

#[test]
fn infinities_take_part() {
    let summary = answer(OP, &[1.0_f32, f32::INFINITY, f32::INFINITY]);
    assert_eq!((summary.positive_infinities, summary.negative_infinities), (2, 0));
    assert_eq!(
        (summary.min, summary.max, summary.argmax),
        (Some(1.0), Some(f32::INFINITY), Some(1))
    );
    assert_eq!(
        (summary.sum, summary.mean, summary.linf),
        (f32::INFINITY, f32::INFINITY, f32::INFINITY)
    );
    assert!(summary.variance.is_nan() && summary.kurtosis.is_nan());
    let both = answer(OP, &[f32::NEG_INFINITY, f32::INFINITY]);
    assert_eq!((both.positive_infinities, both.negative_infinities), (1, 1));
    assert!(both.mean.is_nan() && both.sum.is_nan());
    assert_eq!(both.l1, f32::INFINITY);
}
