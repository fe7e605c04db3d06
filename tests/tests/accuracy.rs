//! Sums and means in other accuracies than the native one, through the library: what each promises, and what the native sum loses.

use proptest::prelude::*;
use warpfold::{
    cpu,
    layout::{Axes, Layout, Segments},
    ops::{
        Compensated, Exact, Mean, Sum, Wide,
        element::{Float, bf16, f16},
    },
};
use warpfold_tests::{cases, oracle};

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
