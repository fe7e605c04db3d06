//! Sums and means in other accuracies than the native one, through the library: what each promises, and what the native sum loses.

use proptest::prelude::*;
use warpfold::{
    Plan, cpu, fold,
    layout::{Axes, Layout, Segments},
    ops::{
        Compensated, Exact, InF64, Mapped, Mean, Reduction, Step, Sum, Wide,
        element::{Element, Float, bf16, f16},
    },
    plan::Shape,
};
use warpfold_tests::{backends, cases, oracle};

const LENGTHS: [usize; 6] = [1, 31, 1000, 1025, 40_001, 300_007];

/// Any finite float.
fn finite() -> impl Strategy<Value = f32> {
    any::<u32>().prop_map(|bits| f32::from_bits(bits & 0xff7f_ffff))
}

#[test]
fn exact_is_the_nearest_to_the_exact() {
    for case in cases::ALL {
        for len in LENGTHS {
            let values = case.array(len);
            if !values.iter().all(|value| value.is_finite()) || values.iter().all(|value| *value == 0.0) {
                continue;
            }
            let exact = oracle::sum(values.iter().copied());
            let computed = cpu::reduce(Exact(Sum), &values).unwrap();
            assert_eq!(computed, exact.nearest(1), "{} of {len}", case.name);
            let computed = cpu::reduce(Exact(Mean), &values).unwrap();
            assert_eq!(computed, exact.nearest(len as u64), "{} of {len}", case.name);
        }
    }
}

/// A harmonic series that a plain sum gets wrong in the last places.
#[test]
fn each_accuracy_is_as_good_as_it_says() {
    let values: Vec<f32> = (1..=1_000_000).map(|i| 1.0 / i as f32).collect();
    let exact = oracle::sum(values.iter().copied()).nearest(1);
    assert_ne!(cpu::reduce(Sum, &values).unwrap(), exact);
    for computed in [
        cpu::reduce(Compensated(Sum), &values).unwrap(),
        cpu::reduce(Wide(Sum), &values).unwrap(),
        cpu::reduce(Exact(Sum), &values).unwrap(),
    ] {
        assert_eq!(computed, exact);
    }
    // Ones beside what is 2³⁰ times as large and cancels.
    let values: Vec<f64> = (0..30_000)
        .map(|i| [1.0, 2.0_f64.powi(70), -2.0_f64.powi(70)][i * 7 % 3])
        .collect();
    assert_ne!(cpu::reduce(Sum, &values).unwrap(), 10_000.0);
    assert_eq!(cpu::reduce(Compensated(Sum), &values).unwrap(), 10_000.0);
    assert_eq!(cpu::reduce(Compensated(Mean), &values).unwrap(), 1.0 / 3.0);
}

#[test]
fn small_floats_are_summed_in_f64() {
    // In f32 the ones would be lost, for its steps are 2 at 2²⁴.
    let mut values = vec![f16::from_f64(1.0); 4099];
    values.extend([f16::from_f64(32_768.0); 512]);
    values.extend([f16::from_f64(-32_768.0); 512]);
    assert_eq!(cpu::reduce(Wide(Sum), &values).unwrap(), f16::from_f64(4099.0));
    let values = [2.0_f64.powi(100), 3.0, -(2.0_f64.powi(100))].map(<bf16 as Float>::from_f64);
    assert_eq!(cpu::reduce(Wide(Sum), &values).unwrap(), <bf16 as Float>::from_f64(0.0));
    let values = [2.0_f64.powi(40), 3.0, -(2.0_f64.powi(40))].map(<bf16 as Float>::from_f64);
    assert_eq!(
        cpu::reduce(Wide(Mean), &values).unwrap(),
        <bf16 as Float>::from_f64(1.0)
    );
}

/// Carried in f64, and answered so: what [`Wide`] rounds.
#[test]
fn a_sum_in_f64_is_what_a_wide_one_rounds() {
    fn agrees<T: Float + Element<Wide = f32> + std::fmt::Debug>(values: &[T])
    where
        Wide<Sum>: Reduction<T, Answer = T>,
        Wide<Mean>: Reduction<T, Answer = T>,
        InF64<Sum>: Reduction<T, Answer = f64>,
        InF64<Mean>: Reduction<T, Answer = f64>,
    {
        let wide: Vec<f64> = values.iter().map(|value| value.to_f64()).collect();
        let exact = cpu::reduce(Exact(Sum), &wide).unwrap();
        let magnitudes: f64 = values.iter().map(|value| value.to_f64().abs()).sum();
        let depth = f64::from(values.len().next_power_of_two().ilog2());
        let (sum, mean) = (
            cpu::reduce(InF64(Sum), values).unwrap(),
            cpu::reduce(InF64(Mean), values).unwrap(),
        );
        assert!((sum - exact).abs() <= depth * f64::EPSILON * magnitudes);
        assert_eq!(mean.to_bits(), (sum / values.len() as f64).to_bits());
        assert_eq!(cpu::reduce(Wide(Sum), values).unwrap(), T::from_f64(sum));
        assert_eq!(cpu::reduce(Wide(Mean), values).unwrap(), T::from_f64(mean));
    }
    for len in [1, 2, 1023, 1024, 1025, 70_001] {
        let values: Vec<f32> = cases::UNIFORM.array(len);
        agrees(&values);
        let narrow: Vec<f16> = values.iter().map(|value| f16::from_f64((*value).into())).collect();
        agrees(&narrow);
        let narrow: Vec<bf16> = values
            .iter()
            .map(|value| <bf16 as Float>::from_f64((*value).into()))
            .collect();
        agrees(&narrow);
    }
    assert_eq!(cpu::reduce::<f32, _>(InF64(Sum), &[]).unwrap().to_bits(), 0);
    assert!(cpu::reduce::<f32, _>(InF64(Mean), &[]).unwrap().is_nan());
    // Whatever the sign and payload that hardware makes of two: every answer has one.
    let nan = [0xffc1_2345, 0x7fc5_4321, 0x3f80_0000].map(f32::from_bits);
    for answer in [cpu::reduce(InF64(Sum), &nan), cpu::reduce(InF64(Mean), &nan)] {
        assert_eq!(answer.unwrap().to_bits(), 0x7ff8_0000_0000_0000);
    }
}

#[test]
fn nothing_overflows_on_the_way() {
    let len = 9001;
    let mut values = vec![f32::MAX; len];
    assert_eq!(cpu::reduce(Mean, &values).unwrap(), f32::INFINITY);
    assert_eq!(cpu::reduce(Exact(Mean), &values).unwrap(), f32::MAX);
    assert_eq!(cpu::reduce(Wide(Mean), &values).unwrap(), f32::MAX);
    // As a plain sum, a compensated one has no more room than its elements.
    assert_eq!(cpu::reduce(Compensated(Mean), &values).unwrap(), f32::INFINITY);
    values.extend(vec![-f32::MAX; len - 1]);
    assert_eq!(cpu::reduce(Exact(Sum), &values).unwrap(), f32::MAX);
    values[77] = f32::NEG_INFINITY;
    assert_eq!(cpu::reduce(Exact(Sum), &values).unwrap(), f32::NEG_INFINITY);
    assert_eq!(cpu::reduce(Compensated(Sum), &values).unwrap().to_bits(), 0x7fc0_0000);
}

#[test]
fn axes_and_segments_have_the_bits_of_their_elements_alone() {
    let (rows, columns) = (37, 1031);
    let values = cases::UNIFORM.array(rows * columns);
    let layout = Layout::c_order(&[rows as u64, columns as u64]).unwrap();
    let folded = cpu::reduce_axes(Exact(Sum), &values, &layout, &Axes::of(&[1])).unwrap();
    let segments = Segments::by_size(values.len() as u64, columns as u64).unwrap();
    assert_eq!(
        folded.answers,
        cpu::reduce_segments(Exact(Sum), &values, &segments).unwrap()
    );
    for (row, sum) in values.chunks(columns).zip(&folded.answers) {
        assert_eq!(*sum, oracle::sum(row.iter().copied()).nearest(1));
    }
    let folded = cpu::reduce_axes(Exact(Mean), &values, &layout, &Axes::of(&[0])).unwrap();
    for (column, mean) in folded.answers.iter().enumerate() {
        let column = values.iter().copied().skip(column).step_by(columns);
        assert_eq!(*mean, oracle::sum(column).nearest(rows as u64));
    }
}

/// Finite f64 of all digits: of about one size, with some far from it, and of any exponent.
fn doubles(len: usize) -> [Vec<f64>; 3] {
    let hash = |i: usize| {
        (i as u64 + 1)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(29)
            .wrapping_mul(0xbf58_476d_1ce4_e5b9)
    };
    let tame = |i: usize| f64::from_bits(0x3ff << 52 | hash(i) >> 12) - 1.5;
    let of_any = |i: usize| f64::from_bits(hash(i) & !(1 << 62));
    let mixed = |i: usize| match hash(i) % 500 {
        0 => 1e300,
        1 => -1e300,
        2 => tame(i) * 1e-200,
        _ => tame(i),
    };
    [
        (0..len).map(tame).collect(),
        (0..len).map(mixed).collect(),
        (0..len).map(of_any).collect(),
    ]
}

#[test]
fn exact_sums_of_doubles_are_the_nearest_to_the_exact() {
    for len in LENGTHS {
        for values in doubles(len) {
            let exact = oracle::sum_of_doubles(values.iter().copied());
            assert_eq!(
                cpu::reduce(Exact(Sum), &values).unwrap(),
                exact.nearest_double(1),
                "{len}"
            );
            assert_eq!(
                cpu::reduce(Exact(Mean), &values).unwrap(),
                exact.nearest_double(len as u64),
                "{len}"
            );
        }
    }
}

/// Computed with Python's fractions.
#[test]
fn exact_sums_of_doubles_are_as_recorded() {
    let recorded = [
        (0xc032_8979_b0a6_5dfb, 0xbf6e_5a53_1a64_95fe),
        (0x7e37_e43c_8800_759c, 0x7d73_8f6a_9c7a_28b8),
        (0x401b_82f7_d6b8_6617, 0x3f56_8623_c9f0_df95),
    ];
    for (values, (sum, mean)) in doubles(5003).iter().zip(recorded) {
        assert_eq!(cpu::reduce(Exact(Sum), values).unwrap().to_bits(), sum);
        assert_eq!(cpu::reduce(Exact(Mean), values).unwrap().to_bits(), mean);
    }
}

/// Axes and segments, what a policy leaves out, what a step makes, pieces: each by the elements that it is of.
#[test]
fn exact_sums_of_doubles_are_the_same_everywhere() {
    let (rows, columns) = (37, 1031);
    let [_, values, _] = doubles(rows * columns);
    let exact = |of: &mut dyn Iterator<Item = f64>| oracle::sum_of_doubles(of).nearest_double(1);
    let layout = Layout::c_order(&[rows as u64, columns as u64]).unwrap();
    let of_rows: Vec<f64> = values
        .chunks(columns)
        .map(|row| exact(&mut row.iter().copied()))
        .collect();
    let of_columns: Vec<f64> = (0..columns)
        .map(|column| exact(&mut values.iter().copied().skip(column).step_by(columns)))
        .collect();
    let along = |axis| {
        cpu::reduce_axes(Exact(Sum), &values, &layout, &Axes::of(&[axis]))
            .unwrap()
            .answers
    };
    assert_eq!((along(1), along(0)), (of_rows.clone(), of_columns));
    let segments = Segments::by_size(values.len() as u64, columns as u64).unwrap();
    assert_eq!(cpu::reduce_segments(Exact(Sum), &values, &segments).unwrap(), of_rows);

    let mask: Vec<bool> = (0..values.len()).map(|i| i % 3 == 1).collect();
    let selected = exact(
        &mut values
            .iter()
            .zip(&mask)
            .filter(|(_, selected)| **selected)
            .map(|(value, _)| *value),
    );
    assert_eq!(fold(Exact(Sum)).masked(&mask).on_cpu(&values).unwrap(), selected);
    let magnitudes = exact(&mut values.iter().map(|value| value.abs()));
    assert_eq!(cpu::reduce(Mapped(Exact(Sum), Step::ABS), &values).unwrap(), magnitudes);
    let all = exact(&mut values.iter().copied());
    assert_eq!(
        backends::pieces(Exact(Sum), &values, 8192),
        backends::cpu(Exact(Sum), &values)
    );
    assert_eq!(cpu::reduce(Exact(Sum), &values).unwrap(), all);
}

/// The kernel of doubles, whatever the launch, the alignment and the schedule: a warp's leaves may be any number.
#[test]
fn the_emulators_exact_sums_of_doubles_have_the_cpus_bits() {
    for (i, len) in [1, 2, 3, 511, 513, 5003, 12_345].into_iter().enumerate() {
        let specials = vec![f64::MAX, f64::INFINITY, -0.0, f64::MAX];
        for (j, values) in doubles(len).into_iter().chain([specials, vec![-0.0; len]]).enumerate() {
            let shape = Shape {
                warps: 1 << ((i + j) % 3),
                leaves_per_warp: [1, 3, 2, 5][(i + j) % 4],
                blocks: 1 + j as u32 % 3,
            };
            fn agrees<R: Reduction<f64>>(op: R, values: &[f64], shape: Shape, seed: usize) {
                let tuned = Plan::new(op.entry(), values.len() as u64);
                let shaped = Plan::with_shape(op.entry(), values.len() as u64, shape).expect("a legal shape");
                for plan in [tuned, shaped] {
                    let emulated = backends::emulator(op, values, &plan, seed % 2, seed as u64);
                    let answer = emulated.map(|emulated| emulated.answer);
                    assert_eq!(answer, backends::cpu(op, values), "{plan}");
                }
            }
            agrees(Exact(Sum), &values, shape, 5 * i + j);
            agrees(Exact(Mean), &values, shape, 5 * i + j);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn no_order_changes_an_exact_sum(
        (values, shuffled) in prop::collection::vec(finite(), 1..3000)
            .prop_flat_map(|values| (Just(values.clone()), Just(values).prop_shuffle())),
    ) {
        let sum = |values: &[f32]| cpu::reduce(Exact(Sum), values).unwrap().to_bits();
        prop_assert_eq!(sum(&values), sum(&shuffled));
        let mean = |values: &[f32]| cpu::reduce(Exact(Mean), values).unwrap().to_bits();
        prop_assert_eq!(mean(&values), mean(&shuffled));
        let exact = oracle::sum(values.iter().copied());
        prop_assert_eq!(f32::from_bits(sum(&values)), exact.nearest(1));
    }
}
