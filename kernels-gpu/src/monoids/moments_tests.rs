extern crate std;

use std::{vec, vec::Vec};

use num_bigint::BigInt;
use proptest::prelude::*;

use super::*;
use crate::{
    arithmetic::oracle::{fixed, ratio},
    monoids::{
        Kurtosis, MeanVariance, Monoid, Skewness, StdDev, Variance,
        testing::{Same, answer, bits, check_laws, fold, same, special_or_any},
    },
    tree::Place,
};

const U: f64 = 1.0 / (1_u64 << 53) as f64;

/// Moments of f64, as an operator to fold with.
#[derive(Clone, Copy)]
struct Wide;

impl Monoid<f64> for Wide {
    type State = Moments4;
    type Answer = (f64, f64);

    fn identity(self) -> Moments4 {
        Moments4::EMPTY
    }
    fn lift(self, value: f64, _: u64) -> Moments4 {
        Moments4::of(value)
    }
    fn combine(self, a: Moments4, b: Moments4) -> Moments4 {
        a.combine(b)
    }
    fn finish(self, state: Moments4, _: u64) -> (f64, f64) {
        let one = |x: f64| if x.is_nan() { f64::NAN } else { x };
        (one(state.skewness()), one(state.kurtosis()))
    }
    fn empty(self) -> Option<(f64, f64)> {
        None
    }
}

/// `Σ (n · xᵢ − Σ x)ᵏ`, the numbers in units of 2⁻³⁰⁰: the moment times `nᵏ` times a scale. Exact for f32.
fn exact_moment(values: &[f64], k: u32) -> BigInt {
    let (n, values) = (
        values.len(),
        values.iter().map(|x| fixed(*x) >> 1100_u32).collect::<Vec<_>>(),
    );
    let sum: BigInt = values.iter().sum();
    values.iter().map(|x| (x * n - &sum).pow(k)).sum()
}

/// How far `moment` is from the exact one, relatively.
fn off(values: &[f64], k: u32, moment: f64) -> f64 {
    let exact = exact_moment(values, k);
    // The moment in the same units.
    let scaled = (fixed(moment) >> (1400 - 300 * k)) * BigInt::from(values.len()).pow(k);
    ratio(&(scaled - &exact), &exact).abs()
}

/// Folds eight neighbours at once, as kernels fold a column, and what is left over; then the results in pairs.
fn fold_by_columns<M: Monoid<f32>>(op: M, values: &[f32]) -> M::State {
    let (columns, rest) = values.as_chunks();
    let last = core::array::from_fn(|row| rest.get(row).map_or(Place::empty(), |value| Place::of(*value)));
    let columns = columns.iter().map(|column| column.map(Place::of)).chain([last]);
    let mut states: Vec<M::State> = columns.map(|column| op.fold_column(column, 0, 1)).collect();
    while states.len() > 1 {
        let pair = |pair: &[M::State]| op.combine(pair[0], pair.get(1).copied().unwrap_or(op.identity()));
        states = states.chunks(2).map(pair).collect();
    }
    states.first().copied().unwrap_or(op.identity())
}

/// How far the mean is from the exact one.
fn mean_off(values: &[f64], mean: f64) -> f64 {
    let sum: BigInt = values.iter().map(|x| fixed(*x)).sum();
    ratio(&(fixed(mean) * values.len() - &sum), &(fixed(1.0) * values.len())).abs()
}

/// The root of the exact variance, to double precision.
fn exact_std(values: &[f64], correction: usize) -> f64 {
    let n = BigInt::from(values.len());
    let divisor = &n * &n * (values.len() - correction);
    ratio(&exact_moment(values, 2), &(divisor << 600_u32)).sqrt()
}

proptest! {
    #[test]
    fn laws_hold_to_the_bit(runs in [special_or_any(), special_or_any()]) {
        for correction in [0.0, 1.0] {
            check_laws(Variance { correction }, &runs);
            check_laws(StdDev { correction }, &runs);
            check_laws(MeanVariance { correction }, &runs);
        }
        check_laws(Skewness {}, &runs);
        check_laws(Kurtosis {}, &runs);
    }

    #[test]
    fn laws_hold_to_the_bit_for_f64(
        runs in [prop::collection::vec(any::<f64>(), 1..10), prop::collection::vec(any::<f64>(), 1..10)],
    ) {
        check_laws(Wide, &runs);
    }

    /// Of f32, whatever their sizes: nothing over- or underflows.
    #[test]
    fn errors_are_within_their_bounds(
        values in prop::collection::vec(-1.0_f32..1.0, 2..300),
        scale in prop::sample::select(&[1e-38_f32, 1e-3, 1.0, 1e38][..]),
        shift in prop::sample::select(&[0.0_f32, 1.0, 1e4][..]),
    ) {
        let values: Vec<f32> = values.iter().map(|x| (x + shift) * scale).filter(|x| x.is_finite()).collect();
        let wide: Vec<f64> = values.iter().copied().map(f64::from).collect();
        let sigma = if wide.len() < 2 { 0.0 } else { exact_std(&wide, 0) };
        prop_assume!(sigma > 0.0);
        let d = (values.len() as f64).log2().ceil();
        let largest = wide.iter().fold(0.0_f64, |max, x| max.max(x.abs()));
        let condition = largest / sigma;

        for state in [fold(Variance::default(), &values), fold_by_columns(Variance::default(), &values)] {
            prop_assert!(mean_off(&wide, state.mean) <= 2.0 * d * largest * U);
            let off2 = off(&wide, 2, state.m2);
            prop_assert!(off2 <= 4.0 * d * (1.0 + condition) * U, "{off2:e}");
        }

        let (state, in_columns) = (fold(Skewness {}, &values), fold_by_columns(Skewness {}, &values));
        prop_assert_eq!(bits(state.lower), bits(fold(Variance::default(), &values)));
        prop_assert_eq!(bits(in_columns.lower), bits(fold_by_columns(Variance::default(), &values)));
        // The third moment may cancel: its error is held against Σ |x − mean|³, which is at most this.
        let n = wide.len() as f64;
        let third = exact_moment(&wide, 3);
        let skewness = ratio(&third, &(BigInt::from(1) << 900_u32)) / n.powi(4) / sigma.powi(3);
        let kurtosis = ratio(&exact_moment(&wide, 4), &(BigInt::from(1) << 1200_u32)) / n.powi(5) / sigma.powi(4);
        let tolerance = 8.0 * d * (1.0 + condition) * U;
        for state in [state, in_columns] {
            let (skewness_off, kurtosis_off) = (state.skewness() - skewness, state.kurtosis() + 3.0 - kurtosis);
            prop_assert!(skewness_off.abs() <= 2.0 * tolerance * kurtosis.powf(0.75), "{}", state.skewness());
            prop_assert!(kurtosis_off.abs() <= 3.0 * tolerance * kurtosis, "{}", state.kurtosis());
        }
    }

    /// The fast way for equal counts and the general one are the same formula.
    #[test]
    fn equal_counts_are_no_special_case(means in [-1e30_f64..1e30, -1e30_f64..1e30], count in 1..1_u64 << 40) {
        let [a, b] = means;
        let (general, equal) = (Meeting::of((count, count), (a, b)), Meeting::of_equals(count, (a, b)));
        prop_assert_eq!(general.delta.to_bits(), equal.delta.to_bits());
        prop_assert_eq!(general.parts, equal.parts);
        prop_assert_eq!(general.weight.to_bits(), equal.weight.to_bits());
        // But for the rounding of delta.
        prop_assert!((general.mean - equal.mean).abs() <= U * (a.abs() + b.abs()));
    }
}

proptest! {
    #[test]
    fn equal_counts_meet_as_any_do(
        values in prop::collection::vec(
            prop_oneof![any::<f32>().prop_map(f64::from), -1e3..1e3, Just(0.0), Just(-0.0), Just(1e200), Just(-1e308)],
            32,
        ),
    ) {
        // Of 1, 2, 4, 8 and 16 elements each.
        let mut states: Vec<Moments4> = values.into_iter().map(Moments4::of).collect();
        while states.len() > 1 {
            states = states
                .chunks(2)
                .map(|pair| {
                    let (got, expected) = (pair[0].combine(pair[1]), pair[0].combine_by_parts(pair[1]));
                    assert!(same(got, expected), "{:?} and {:?}: {got:?}, not {expected:?}", pair[0], pair[1]);
                    got
                })
                .collect();
        }
    }
}

/// Skewness is NaN, not 0, where a square of a distance is infinite.
#[test]
fn elements_too_far_apart_have_no_skewness() {
    let (skewness, _) = answer(Wide, &[1e200, -1e200]);
    assert!(skewness.is_nan());
}

#[test]
fn equal_elements_have_no_variance() {
    for x in [0.1_f32, -1e38, 1e-45, 3.0, -0.0] {
        for n in [1, 2, 3, 7, 100, 1000] {
            let values = vec![x; n];
            for state in [
                fold(Variance::default(), &values),
                fold_by_columns(Variance::default(), &values),
            ] {
                assert_eq!(
                    (state.count, state.mean, state.m2),
                    (n as u64, f64::from(x), 0.0),
                    "{n} of {x}"
                );
            }
            for moments in [fold(Skewness {}, &values), fold_by_columns(Skewness {}, &values)] {
                assert_eq!((moments.m3, moments.m4), (0.0, 0.0));
                assert!(moments.skewness().is_nan() && moments.kurtosis().is_nan());
            }
        }
    }
}

#[test]
fn edges() {
    let variance = |correction, values: &[f32]| {
        let op = Variance { correction };
        answer(op, values)
    };
    let mean = |values: &[f32]| answer(MeanVariance::default(), values).0;
    const INF: f32 = f32::INFINITY;
    for (correction, values) in [
        (1.0, &[][..]),
        (0.0, &[]),
        (1.0, &[2.0]),
        (3.0, &[1.0, 2.0]),
        (f64::NAN, &[1.0, 2.0]),
        (0.0, &[INF]),
        (0.0, &[INF, 1.0]),
        (0.0, &[1.0, 2.0, -INF]),
        (0.0, &[f32::NAN, 1.0]),
        (0.0, &[1.0, 2.0, -f32::NAN]),
    ] {
        assert_eq!(
            variance(correction, values).to_bits(),
            0x7fc0_0000,
            "{correction} {values:?}"
        );
    }
    assert_eq!(variance(0.0, &[2.0]), 0.0);
    assert_eq!(variance(1.0, &[1.0, 2.0, 3.0, 4.0]), 5.0 / 3.0);
    assert_eq!(variance(0.0, &[1.0, 2.0, 3.0, 4.0]), 1.25);
    assert_eq!(variance(-1.0, &[1.0, 3.0, 5.0]), 2.0);
    assert_eq!(variance(0.0, &[f32::MAX, -f32::MAX]), INF);
    let std = StdDev { correction: 0.0 };
    assert_eq!(answer(std, &[f32::MAX, -f32::MAX]), f32::MAX);
    assert_eq!(answer(std, &[1e-45, -1e-45]), 1e-45);

    assert_eq!(
        (mean(&[INF, 1.0, 2.0]), mean(&[1.0, 2.0, -INF]), mean(&[INF, INF])),
        (INF, -INF, INF)
    );
    for values in [&[INF, -INF][..], &[INF, 1.0, -INF], &[INF, f32::NAN], &[]] {
        assert_eq!(mean(values).to_bits(), 0x7fc0_0000, "{values:?}");
    }
    assert_eq!(mean(&[f32::MAX; 3]), f32::MAX);
    assert_eq!(
        Monoid::<f32>::empty(MeanVariance::default()).map(|answer| answer.0.is_nan() && answer.1.is_nan()),
        Some(true)
    );
    let nothing = [Monoid::<f32>::empty(Skewness {}), Monoid::<f32>::empty(Kurtosis {})];
    assert!(nothing.iter().all(|answer| answer.is_some_and(f32::is_nan)));

    // f64: as far as it goes.
    let wide = |values: &[f64]| fold(Wide, values).lower;
    assert_eq!(
        wide(&[f64::MAX; 5]),
        Moments2 {
            count: 5,
            mean: f64::MAX,
            m2: 0.0
        }
    );
    assert_eq!(wide(&[f64::MAX, -f64::MAX, f64::MAX]).variance(1.0), f64::INFINITY);
    assert!((wide(&[f64::MAX, -f64::MAX, f64::MAX]).mean / f64::MAX - 1.0 / 3.0).abs() < 1e-15);
    assert_eq!(wide(&[9e153, -9e153]).variance(0.0), 9e153 * 9e153);
    // The variance would fit, their sum of squares does not.
    assert_eq!(wide(&[1e154, -1e154]).variance(0.0), f64::INFINITY);
}

#[test]
fn skewness_and_kurtosis_are_scipys() {
    // Moments of 1, 2, 3, 10 about 4: 50, 180, 1394.
    let values = [1.0_f32, 2.0, 3.0, 10.0];
    let state = fold(Skewness {}, &values);
    assert_eq!((state.lower.m2, state.m3, state.m4), (50.0, 180.0, 1394.0));
    assert_eq!(
        Monoid::<f32>::finish(Skewness {}, state, 5),
        (45.0 / 12.5_f64.powf(1.5)) as f32
    );
    assert_eq!(
        Monoid::<f32>::finish(Kurtosis {}, state, 5),
        (348.5 / 156.25 - 3.0) as f32
    );
    // Two values, evenly: the least kurtosis there is.
    assert_eq!(answer(Kurtosis {}, &[1.0_f32, -1.0, 1.0, -1.0]), -2.0);
}

/// The digits that agree.
fn digits(got: f64, certified: f64) -> f64 {
    if got == certified {
        16.0
    } else {
        -((got - certified) / certified).abs().log10()
    }
}

/// NIST's Statistical Reference Datasets, univariate: mean and standard deviation, certified to 15 digits.
#[test]
fn nist_reference_sets() {
    const MAVRO: [u16; 50] = [
        180, 170, 180, 190, 180, 170, 150, 140, 150, 150, 170, 180, 180, 190, 190, 210, 200, 160, 140, 130, 130, 150,
        150, 160, 150, 140, 130, 140, 150, 140, 150, 160, 150, 160, 190, 200, 200, 210, 220, 230, 240, 250, 270, 260,
        260, 260, 270, 260, 250, 240,
    ];
    const MICHELSO: [u16; 100] = [
        850, 740, 900, 1070, 930, 850, 950, 980, 980, 880, 1000, 980, 930, 650, 760, 810, 1000, 1000, 960, 960, 960,
        940, 960, 940, 880, 800, 850, 880, 900, 840, 830, 790, 810, 880, 880, 830, 800, 790, 760, 800, 880, 880, 880,
        860, 720, 720, 620, 860, 970, 950, 880, 910, 850, 870, 840, 840, 850, 840, 840, 840, 890, 810, 810, 820, 800,
        770, 760, 740, 750, 760, 910, 920, 890, 860, 880, 720, 840, 850, 850, 780, 890, 840, 780, 810, 760, 810, 790,
        810, 820, 850, 870, 870, 810, 740, 810, 940, 950, 800, 810, 870,
    ];
    let alternating = |first: f64, low: f64, high: f64| -> Vec<f64> {
        (0..1001)
            .map(|i| {
                if i == 0 {
                    first
                } else if i % 2 == 1 {
                    low
                } else {
                    high
                }
            })
            .collect()
    };
    let mavro = MAVRO.map(|x| (200_000.0 + f64::from(x)) / 1e5);
    let michelso = MICHELSO.map(|x| (299_000.0 + f64::from(x)) / 1e3);
    // The mean has all 15 digits of all sets; of the standard deviation these, against NIST and against the exact one of the
    // f64 that the decimals became.
    let check = |name, values: &[f64], mean, std, least: [f64; 2]| {
        let state = fold(Wide, values).lower;
        let got =
            [(state.std(1.0), std), (state.std(1.0), exact_std(values, 1))].map(|(got, right)| digits(got, right));
        let mean = digits(state.mean, mean);
        std::eprintln!("{name}: mean {mean:.1} digits, standard deviation {got:.1?}");
        assert!(
            mean >= 15.0 && got[0] >= least[0] && got[1] >= least[1],
            "{name}: {mean} {got:?}"
        );
    };
    check("Mavro", &mavro, 2.001856, 0.000_429_123_454_003_053, [12.5, 12.4]);
    check("Michelso", &michelso, 299.8524, 0.079_010_547_819_051_8, [12.6, 12.6]);
    check(
        "NumAcc1",
        &[10_000_001.0, 10_000_003.0, 10_000_002.0],
        10_000_002.0,
        1.0,
        [15.0, 15.0],
    );
    check("NumAcc2", &alternating(1.2, 1.1, 1.3), 1.2, 0.1, [15.0, 15.0]);
    check(
        "NumAcc3",
        &alternating(1_000_000.2, 1_000_000.1, 1_000_000.3),
        1_000_000.2,
        0.1,
        [9.4, 12.0],
    );
    check(
        "NumAcc4",
        &alternating(10_000_000.2, 10_000_000.1, 10_000_000.3),
        10_000_000.2,
        0.1,
        [8.2, 10.5],
    );
}

#[test]
fn bits_are_as_recorded() {
    let values: Vec<f32> = (0..1000_u16).map(|i| f32::from(i * 37 % 251) / 977.0 - 0.1).collect();
    let state = fold(Kurtosis {}, &values);
    let floats: Vec<u64> = state.floats().iter().map(|x| x.to_bits()).collect();
    assert_eq!(
        floats,
        [
            4652007308841189376,
            4583671618573747356,
            4617889954934310708,
            4563953190637150932,
            4588028279357656188
        ]
    );
    assert!(same(state.lower, fold(Variance::default(), &values)));
}

/// A column of eight whose moments are whole numbers, by hand; and what is not finite.
#[test]
fn a_column_is_folded_at_once() {
    // About 4: −3, −3, −1, −1, 1, 1, 3, 3.
    let column = [1.0_f32, 1.0, 3.0, 3.0, 5.0, 5.0, 7.0, 7.0];
    let lower = Moments2 {
        count: 8,
        mean: 4.0,
        m2: 40.0,
    };
    assert_eq!(Variance::default().fold_column(column.map(Place::of), 0, 1), lower);
    let moments = Skewness {}.fold_column(column.map(Place::of), 0, 1);
    assert_eq!((moments.lower, moments.m3, moments.m4), (lower, 0.0, 328.0));
    let skewed = Skewness {}.fold_column([0.0_f32, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 8.0].map(Place::of), 0, 1);
    assert_eq!((skewed.lower.m2, skewed.m3, skewed.m4), (56.0, 336.0, 2408.0));

    for (special, mean) in [
        (f32::INFINITY, f64::INFINITY),
        (f32::NEG_INFINITY, f64::NEG_INFINITY),
        (f32::NAN, f64::NAN),
    ] {
        let mut column = column;
        column[5] = special;
        let state = Skewness {}.fold_column(column.map(Place::of), 0, 1);
        assert_eq!(state.lower.mean.to_bits() << 1 >> 52, mean.to_bits() << 1 >> 52);
        assert!(state.lower.mean == mean || mean.is_nan());
        assert!(state.lower.m2.is_nan() && state.m3.is_nan() && state.m4.is_nan());
    }
    // The sum of eight would be infinite, the mean is not.
    let large = MeanVariance::default().fold_column([Place::of(f64::MAX); 8], 0, 1);
    assert_eq!((large.mean, large.m2), (f64::MAX, 0.0));
}

/// A column as the page on the tree has it; elements `are_short` of at most 32 bits.
fn by_the_page(column: [Option<f64>; ROWS], are_short: bool) -> Moments4 {
    let sum = |nothing: f64, of: &dyn Fn(f64) -> f64| {
        let mut sums = column.map(|x| x.map_or(nothing, of)).to_vec();
        while sums.len() > 1 {
            sums = sums.chunks(2).map(|pair| pair[0] + pair[1]).collect();
        }
        sums[0]
    };
    let there: Vec<f64> = column.into_iter().flatten().collect();
    let part = 1.0 / there.len() as f64;
    let eighths = || sum(-0.0, &|x| x / 8.0);
    let mean = match there[..] {
        [] => 0.0,
        _ if are_short => sum(-0.0, &|x| x) * part,
        [_, _, _, _, _, _, _, _] => eighths(),
        [p, ..] => match p - sum(0.0, &|x| p - x) * part {
            mean if mean.is_finite() => mean,
            _ => eighths() * (8.0 * part),
        },
    };
    let [e, rest @ ..] = column.map(|x| x.map_or(0.0, |x| x - mean));
    let (mut m2, mut m3, mut m4) = (e * e, e * e * e, e * e * (e * e));
    for e in rest {
        (m2, m3, m4) = (e.mul_add(e, m2), (e * e).mul_add(e, m3), (e * e).mul_add(e * e, m4));
    }
    let count = there.len() as u64;
    Moments4 {
        lower: Moments2 { count, mean, m2 },
        m3,
        m4,
    }
}

/// Whatever places hold nothing; and of equal elements their value, and no variance.
#[test]
fn a_column_has_any_places_empty() {
    fn law<T: crate::element::Real>(values: [T; ROWS]) {
        let op = Kurtosis {};
        for places in 0..1_u32 << ROWS {
            let is_there = |row: usize| places >> row & 1 == 1;
            let column = core::array::from_fn(|row| Place::of(values[row]).filter(|_| is_there(row)));
            let expected = by_the_page(
                core::array::from_fn(|row| is_there(row).then(|| values[row].to_f64())),
                size_of::<T>() <= 4,
            );
            assert!(same(op.fold_column(column, 0, 1), expected), "{places:b}");
            assert!(same(Variance::default().fold_column(column, 0, 1), expected.lower));
            let value = values[5].to_f64();
            let equal = op.fold_column(column.map(|place| place.map(|_| values[5])), 0, 1);
            let moments = (equal.lower.mean, equal.lower.m2, equal.m3, equal.m4);
            assert!(places == 0 || value.is_infinite() || moments == (value, 0.0, 0.0, 0.0));
        }
    }
    law([0.1_f32, -7.5, 1e10, 3.0, 0.7, 16_777_213.0 / 3.0, -1e-3, 99.0]);
    law([0.1_f64, -7.5, 1e10, 3.0, 0.7, 1.0 / 3.0, -1e-3, 99.0]);
    law([u32::MAX, 3, u32::MAX - 1, 0, 7, u32::MAX - 37, 1, 99]);
    law([i64::MAX, i64::MIN, 3, -7, i64::MAX / 3, i64::MAX - 77, 0, 1]);
    // Too far apart for a difference, and infinite.
    law([f64::MAX, -f64::MAX, 1.0, f64::MAX, -f64::MAX, -f64::MAX, 0.0, 3.0]);
    law([f64::MAX, 1.0, f64::INFINITY, 2.0, -3.0, f64::INFINITY, -0.0, 3.0]);
}

#[test]
fn reciprocals_are_chosen_as_they_stand() {
    for count in 1..=ROWS as u32 {
        assert_eq!(reciprocal(count), 1.0 / f64::from(count));
    }
}
