extern crate std;

use std::{vec, vec::Vec};

use num_bigint::BigInt;
use proptest::prelude::*;

use super::*;
use crate::{
    arithmetic::oracle::{fixed, ratio},
    element::{Factor, Real},
    monoids::{
        Kurtosis, MeanVariance, Monoid, Skewness, StdDev, Variance,
        testing::{Same, answer, bits, check_laws, fold, same, special_or_any},
    },
    tree::{ColumnFold as _, Predicated},
};

const U: f64 = 1.0 / (1_u64 << 53) as f64;

/// Moments of f64, as an operator to fold with.
#[derive(Clone, Copy)]
struct Wide;

impl Monoid<f64> for Wide {
    type State = Moments4<Factor>;
    type Answer = (f64, f64);

    fn identity(self) -> Moments4<Factor> {
        Moments4::EMPTY
    }
    fn lift(self, value: f64, _: u64) -> Moments4<Factor> {
        Moments4::of(value)
    }
    fn combine(self, a: Moments4<Factor>, b: Moments4<Factor>) -> Moments4<Factor> {
        a.combine(b)
    }
    fn finish(self, state: Moments4<Factor>, _: u64) -> (f64, f64) {
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
fn fold_by_columns<T: Real, M: Monoid<T>>(op: M, values: &[T]) -> M::State {
    let (columns, rest) = values.as_chunks();
    let last = core::array::from_fn(|row| {
        rest.get(row)
            .map_or(Predicated::empty(), |value| Predicated::of(*value))
    });
    let columns = columns.iter().map(|column| column.map(Predicated::of)).chain([last]);
    let mut states: Vec<M::State> = columns
        .map(|column| op.column_fold().fold_column(column, 0, 1))
        .collect();
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
        let (general, equal) = (Merge::of((count, count), (a, b), Unscaled), Merge::of_equals(count, (a, b), Unscaled));
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
            prop_oneof![any::<f32>().prop_map(f64::from), -1e3..1e3, Just(0.0), Just(-0.0), Just(1e60), Just(-1e70)],
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

/// Whatever elements are multiplied by: their shape is the same, and their spread as large as they are.
#[test]
fn nothing_over_or_underflows_where_the_answer_fits() {
    let shape = [3.0_f64, 4.0, 4.0, -1.0, 10.0, 3.5, 2.0, 2.25, 0.5, -7.0];
    for by in [
        f64::MIN_POSITIVE,
        1e-300,
        1e-200,
        1e-100,
        1e-70,
        1.0,
        1e70,
        1e100,
        1e200,
        1e300,
        1e307,
    ] {
        // By a power of two near it, so that nothing is rounded.
        let by = f64::from_bits(by.to_bits() >> 52 << 52);
        let scaled = shape.map(|x| x * by);
        let (plain, moments) = (fold(Wide, &shape), fold(Wide, &scaled));
        assert_eq!(moments.lower.std(0.0), plain.lower.std(0.0) * by, "{by:e}");
        assert_eq!(moments.lower.mean(), plain.lower.mean() * by, "{by:e}");
        assert_eq!(moments.skewness(), plain.skewness(), "{by:e}");
        assert_eq!(moments.kurtosis(), plain.kurtosis(), "{by:e}");
        let by_columns = fold_by_columns(StdDev { correction: 0.0 }, &scaled);
        assert_eq!(
            by_columns.std(0.0),
            fold_by_columns(StdDev { correction: 0.0 }, &shape).std(0.0) * by,
            "{by:e}"
        );
    }
    // The largest and the smallest among others.
    let (std, kurtosis) = (
        |values: &[f64]| fold(Wide, values).lower.std(0.0),
        |values: &[f64]| fold(Wide, values).kurtosis(),
    );
    assert_eq!(std(&[3e200, 4e200]), 5e199);
    assert_eq!(std(&[f64::MAX, -f64::MAX]), f64::MAX);
    assert_eq!(std(&[1e200, 0.0, 1e-200, 1e200]), 5e199);
    assert_eq!(kurtosis(&[1e300, -1e300, 1e-300, 0.0]), -1.0);
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
            m2: 0.0,
            scale: Factor::of(f64::MAX),
        }
    );
    assert_eq!(wide(&[f64::MAX, -f64::MAX, f64::MAX]).variance(1.0), f64::INFINITY);
    assert!((wide(&[f64::MAX, -f64::MAX, f64::MAX]).mean / f64::MAX - 1.0 / 3.0).abs() < 1e-15);
    assert_eq!(wide(&[9e153, -9e153]).variance(0.0), 9e153 * 9e153);
    // The sum of squares would not fit.
    assert_eq!(wide(&[1e154, -1e154]).variance(0.0), 1e154 * 1e154);
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
