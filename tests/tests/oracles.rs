//! Every operator against what mathematics answers: exactly where nothing is rounded, within the derived bound where
//! something is.

use approx::assert_relative_eq;
use proptest::prelude::*;
use warpfold::{
    cpu,
    ops::{
        All, Any, ArgMax, ArgMin, ArgMinMax, CountInf, CountNan, CountNonzero, Max, Mean, Min, MinMax, NormInf, NormL1,
        NormL2, Product, Reduction, Sum, SumOfSquares,
    },
};
use warpfold_tests::{
    Bits,
    backends::answer,
    cases,
    oracle::{self, Exact},
};

/// Lengths where the tree changes shape, and one to each side; then some of no meaning.
const LENGTHS: [usize; 17] = [
    1, 2, 3, 127, 128, 129, 1023, 1024, 1025, 2049, 8193, 32_769, 65_537, 100_003, 262_143, 524_287, 1_048_577,
];

/// The sum and the mean of finite values that nothing overflows.
fn sum_is_within_its_bound(values: &[f32], what: &str) {
    let (exact, size) = (oracle::sum(values.iter().copied()), oracle::sum_of_magnitudes(values));
    let (len, additions) = (values.len(), oracle::depth(values.len()));
    let sum = cpu::reduce(Sum, values).expect("a sum always is");
    assert!(
        Exact::of(sum).within(additions, &size, &exact),
        "sum of {len} {what}: {sum}"
    );

    // The division rounds twice, to f64 and to f32: less than two roundings to f32. Where the mean is subnormal its
    // spacing is a fixed one, and still below the rounding of elements of the same size.
    let mean = cpu::reduce(Mean, values).expect("a mean always is");
    let back = Exact::of(mean).times(len as u64);
    assert!(
        back.within(additions + 2, &size, &exact),
        "mean of {len} {what}: {mean}"
    );
    let divided = (f64::from(sum) / len as f64) as f32;
    assert_eq!(
        mean.to_bits(),
        divided.to_bits(),
        "mean of {len} {what} is its sum, divided"
    );
}

/// The extrema of any values.
fn extrema_are_exact(values: &[f32], what: &str) {
    let len = values.len();
    let number =
        |value: Option<f32>| value.map(|value| Bits(vec![if value.is_nan() { 0x7fc0_0000 } else { value.to_bits() }]));
    let index = |index: Option<usize>| index.map(|index| Bits(vec![index as u32, (index as u64 >> 32) as u32]));
    assert_eq!(
        answer(cpu::reduce(Min, values)),
        number(oracle::min(values)),
        "min of {len} {what}"
    );
    assert_eq!(
        answer(cpu::reduce(Max, values)),
        number(oracle::max(values)),
        "max of {len} {what}"
    );
    assert_eq!(
        answer(cpu::reduce(ArgMin, values)),
        index(oracle::argmin(values)),
        "argmin of {len} {what}"
    );
    assert_eq!(
        answer(cpu::reduce(ArgMax, values)),
        index(oracle::argmax(values)),
        "argmax of {len} {what}"
    );
}

#[test]
fn sums_and_means_are_within_their_bounds() {
    for case in cases::FINITE {
        for len in LENGTHS {
            sum_is_within_its_bound(&case.array(len), case.name);
        }
    }
}

/// The answer of an operator that has one over these values.
fn of<R: Reduction<f32>>(op: R, values: &[f32]) -> R::Answer {
    cpu::reduce(op, values).expect("not empty")
}

/// The norms of finite values of which no sum overflows.
fn norms_are_within_their_bounds(values: &[f32], what: &str) {
    let (len, additions) = (values.len(), oracle::depth(values.len()));
    let size = oracle::sum_of_magnitudes(values);
    let l1 = of(NormL1, values);
    assert!(
        Exact::of(l1).within(additions, &size, &size),
        "l1 of {len} {what}: {l1}"
    );

    // The additions round to f64, and the answer once to f32, which is 2²⁹ parts in 2⁵³; one part more is for their products.
    // An answer that is subnormal is rounded to their spacing instead, one that is too large is infinite.
    let squares = oracle::sum_of_squares(values);
    let (to_f32, sum) = (1 << 29, of(SumOfSquares, values));
    if sum.is_normal() {
        let near = Exact::of(sum).near(to_f32 + additions + 1, &squares);
        assert!(near, "sumsq of {len} {what}: {sum}");
    }
    // Squaring back doubles the last rounding, and adds its square, 2⁵ parts; the root had halved the error of the sum.
    let l2 = of(NormL2, values);
    assert!(l2.is_finite(), "l2 of {len} {what}");
    if l2.is_normal() {
        let near = Exact::of(l2)
            .squared()
            .near(2 * to_f32 + additions + (1 << 5) + 2, &squares);
        assert!(near, "l2 of {len} {what}: {l2}");
    }
    let largest = values.iter().fold(0.0, |largest: f32, value| largest.max(value.abs()));
    assert_eq!(of(NormInf, values), largest, "linf of {len} {what}");
}

#[test]
fn norms_of_finite_values_are_within_their_bounds() {
    for case in cases::FINITE {
        for len in LENGTHS {
            norms_are_within_their_bounds(&case.array(len), case.name);
        }
    }
}

/// Where squares in f32 would over- and underflow, and where the norm itself does.
#[test]
fn norms_reach_as_far_as_their_answers() {
    let large = (3e38_f32, 1e38_f32);
    let exact = f64::from(large.0).hypot(f64::from(large.1)) as f32;
    assert_eq!(of(NormL2, &[large.0, -large.1]), exact);
    let tiny = f32::from_bits;
    assert_eq!(of(NormL2, &[tiny(2), tiny(3)]), tiny(4), "√13 is 3.6");
    assert_eq!(of(NormL2, &[tiny(1); 4]), tiny(2));
    assert_eq!(of(NormL2, &[f32::MAX, f32::MAX]), f32::INFINITY);
    assert_eq!(of(NormL2, &[f32::NEG_INFINITY, 1.0]), f32::INFINITY);
    assert_eq!(of(NormL2, &[-0.0]).to_bits(), 0);
    assert_eq!(of(SumOfSquares, &[1e20, 1.0]), f32::INFINITY);
    let nan_and_infinity = [f32::INFINITY, f32::NAN];
    for answer in [
        of(NormL1, &nan_and_infinity),
        of(NormL2, &nan_and_infinity),
        of(NormInf, &nan_and_infinity),
    ] {
        assert_eq!(answer.to_bits(), 0x7fc0_0000, "a NaN wins");
    }
}

/// Counts, truths and pairs against plain scans.
#[test]
fn counts_truths_and_pairs_are_exact_over_every_case() {
    for case in cases::ALL {
        for len in LENGTHS {
            let values = case.array(len);
            let what = format!("{len} {}", case.name);
            let count = |is: fn(&f32) -> bool| values.iter().filter(|value| is(value)).count() as u64;
            assert_eq!(of(CountNan, &values), count(|value| value.is_nan()), "{what}");
            assert_eq!(of(CountInf, &values), count(|value| value.is_infinite()), "{what}");
            let nonzero = count(|value| *value != 0.0);
            assert_eq!(of(CountNonzero, &values), nonzero, "{what}");
            assert_eq!(of(Any, &values), nonzero > 0, "{what}");
            assert_eq!(of(All, &values), nonzero == len as u64, "{what}");

            let bits = |(min, max): (f32, f32)| (min.to_bits(), max.to_bits());
            let apart = (of(Min, &values), of(Max, &values));
            assert_eq!(bits(of(MinMax, &values)), bits(apart), "{what}");
            let places = (
                oracle::argmin(&values).unwrap() as u64,
                oracle::argmax(&values).unwrap() as u64,
            );
            assert_eq!(of(ArgMinMax, &values), places, "{what}");
        }
    }
}

/// ⌈log₂ n⌉ roundings is what a tree of pairs has; a running sum has n. That the bound tells them apart shows that it is
/// worth checking.
#[test]
fn a_running_sum_is_not_within_that_bound() {
    let values = vec![0.1_f32; 1 << 20];
    let (exact, size) = (oracle::sum(values.iter().copied()), oracle::sum_of_magnitudes(&values));
    let running: f32 = values.iter().sum();
    assert!(!Exact::of(running).within(oracle::depth(values.len()), &size, &exact));
    sum_is_within_its_bound(&values, "tenths");
}

#[test]
fn products_are_within_their_bound() {
    for len in LENGTHS.into_iter().filter(|&len| len <= 40_000) {
        let values = cases::NEAR_ONE.array(len);
        let exact = oracle::product(&values);
        let product = cpu::reduce(Product, &values).expect("a product always is");
        let within = Exact::of(product).within(len as u64 - 1, &exact, &exact);
        assert!(within, "product of {len}: {product}");
    }
}

#[test]
fn extrema_are_exact_over_every_case() {
    for case in cases::ALL {
        for len in LENGTHS {
            extrema_are_exact(&case.array(len), case.name);
        }
    }
}

/// What a sum of special values answers follows from what is in the array, not from its order.
#[test]
fn sums_of_special_values_follow_ieee() {
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    for len in LENGTHS.into_iter().filter(|&len| len >= 2) {
        let with = |specials: &[(usize, f32)]| {
            let mut values = cases::UNIFORM.array(len);
            for &(at, value) in specials {
                values[at] = value;
            }
            cpu::reduce(Sum, &values).expect("a sum always is")
        };
        assert_eq!(with(&[(len / 2, inf)]), inf, "len {len}");
        assert_eq!(with(&[(0, -inf), (len - 1, -inf)]), -inf, "len {len}");
        assert_eq!(with(&[(0, -inf), (len - 1, inf)]).to_bits(), 0x7fc0_0000, "len {len}");
        assert_eq!(with(&[(0, nan), (len - 1, inf)]).to_bits(), 0x7fc0_0000, "len {len}");
        assert_eq!(with(&[(len - 1, -nan)]).to_bits(), 0x7fc0_0000, "len {len}");
    }
}

#[test]
fn signed_zeros_sum_as_ieee_has_them() {
    for len in LENGTHS {
        let mut values = vec![-0.0_f32; len];
        assert_eq!(
            cpu::reduce(Sum, &values).unwrap().to_bits(),
            (-0.0_f32).to_bits(),
            "len {len}"
        );
        values[len / 2] = 0.0;
        assert_eq!(
            cpu::reduce(Sum, &values).unwrap().to_bits(),
            0.0_f32.to_bits(),
            "len {len}"
        );
        assert_eq!(
            cpu::reduce(Max, &values).unwrap().to_bits(),
            0.0_f32.to_bits(),
            "len {len}"
        );
        let smallest = if len == 1 { 0.0_f32 } else { -0.0 };
        assert_eq!(
            cpu::reduce(Min, &values).unwrap().to_bits(),
            smallest.to_bits(),
            "len {len}"
        );
        // They tie, so the first is both the largest and the smallest.
        assert_eq!(cpu::reduce(ArgMax, &values).unwrap(), 0, "len {len}");
        assert_eq!(cpu::reduce(ArgMin, &values).unwrap(), 0, "len {len}");
    }
}

/// Powers of two multiply exactly, so signs, zeros, infinities and subnormals can be told beforehand.
#[test]
fn products_of_powers_of_two_are_exact() {
    for len in LENGTHS {
        // 2, ½, 2, ½ … with every third negative.
        let mut values: Vec<f32> = (0..len).map(|at| if at % 2 == 0 { 2.0 } else { 0.5 }).collect();
        values.iter_mut().step_by(3).for_each(|value| *value = -*value);
        let sign = if len.div_ceil(3) % 2 == 0 { 1.0 } else { -1.0 };
        let product = |values: &[f32]| cpu::reduce(Product, values).unwrap();
        // In a column of a leaf every row has the same parity, so a partial product is at most 2⁸, and columns cancel.
        let expected = sign * if len % 2 == 0 { 1.0 } else { 2.0 };
        assert_eq!(product(&values), expected, "len {len}");
        values[len / 2] = 0.0;
        assert_eq!(product(&values).abs(), 0.0, "len {len}");
        values[0] = f32::INFINITY;
        let special = if len == 1 { f32::INFINITY.to_bits() } else { 0x7fc0_0000 };
        assert_eq!(product(&values).to_bits(), special, "len {len}");
    }
}

/// Closed forms that anyone can check by hand.
#[test]
fn sums_that_mathematics_knows() {
    let n = 1_000_000_u32;
    let bound = |n: u32| oracle::depth(n as usize) as f32 * f32::EPSILON / 2.0;

    let numbers: Vec<f32> = (1..=n).map(|i| i as f32).collect();
    let triangle = (f64::from(n) * f64::from(n + 1) / 2.0) as f32;
    assert_relative_eq!(cpu::reduce(Sum, &numbers).unwrap(), triangle, max_relative = bound(n));
    assert_relative_eq!(cpu::reduce(Mean, &numbers).unwrap(), 500_000.5, max_relative = bound(n));

    // Each term is rounded once before it is added. What the series has left after n terms is 1/n.
    let squares: Vec<f32> = (1..=n).map(|i| (1.0 / f64::from(i).powi(2)) as f32).collect();
    let basel = std::f32::consts::PI.powi(2) / 6.0 - 1.0 / n as f32;
    assert_relative_eq!(cpu::reduce(Sum, &squares).unwrap(), basel, max_relative = bound(2 * n));

    // (1 + 1/n)ⁿ by telescoping: 2/1 · 3/2 · … · n/(n-1) = n.
    let ratios: Vec<f32> = (2..=1000_u32).map(|i| i as f32 / (i - 1) as f32).collect();
    assert_relative_eq!(
        cpu::reduce(Product, &ratios).unwrap(),
        1000.0,
        max_relative = 2000.0 * f32::EPSILON / 2.0
    );
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 256, ..ProptestConfig::default() })]

    #[test]
    fn sums_of_anything_finite_are_within_their_bounds(
        values in prop::collection::vec(any::<f32>().prop_filter("finite", |value| value.abs() < 1e30), 1..5000),
    ) {
        sum_is_within_its_bound(&values, "random values");
    }

    #[test]
    fn extrema_of_anything_are_exact(
        values in prop::collection::vec(
            prop_oneof![
                4 => any::<u32>().prop_map(|bits| f32::from_bits(bits & 0xbfff_ffff)), // no infinity, no NaN
                1 => prop::sample::select(&cases::SPECIAL[..17]).prop_map(f32::from_bits),
            ],
            1..5000,
        ),
        nan in prop::option::weighted(0.25, (any::<prop::sample::Index>(), 1..1_u32 << 23)),
    ) {
        let mut values = values;
        if let Some((at, payload)) = nan {
            let at = at.index(values.len());
            values[at] = f32::from_bits(0xff80_0000 | payload);
        }
        extrema_are_exact(&values, "random values");
    }
}
