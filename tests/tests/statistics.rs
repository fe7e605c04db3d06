//! Variance and higher moments, log-sum-exp, norms of any power: operators whose states are rounded, against references that
//! share nothing with them, and the kernels in the emulator against the CPU.

use std::array;

use approx::assert_relative_eq;
use warpfold::{
    Plan, cpu,
    layout::{Axes, Extents, Layout, Segments},
    ops::{
        Describe, IgnoreNan, Kurtosis, LogSumExp, MeanVariance, NormLp, Reduction, Skewness, StdDev, Sum, Variance,
        element::{Element, Float, bf16, f16},
    },
    plan::Shape,
};
use warpfold_kernels::{
    kernels::Kernel,
    monoids::{self, ColumnFold as _, Monoid},
    tree::{Predicated, ROWS, leaf_elements, row_elements},
};
use warpfold_tests::{
    Bits, backends, cases, each_statistic, golden, operations, oracle,
    partials::{self, Divided, Way, splits},
    samples,
};

/// Central moments in f64, in two passes: count, mean, and the means of the second, third and fourth powers.
fn moments(values: &[f64]) -> (f64, f64, [f64; 3]) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    // The rest of the mean, which rounding left.
    let mean = mean + values.iter().map(|value| value - mean).sum::<f64>() / n;
    let power = |p| values.iter().map(|value| (value - mean).powi(p)).sum::<f64>() / n;
    (n, mean, [2, 3, 4].map(power))
}

const LENGTHS: [usize; 8] = [2, 3, 127, 1000, 1024, 1025, 40_001, 300_007];

#[test]
fn moments_agree_with_two_passes() {
    for case in [
        cases::CYCLE,
        cases::UNIFORM,
        cases::NEAR_ONE,
        cases::ASCENDING,
        cases::TIES,
    ] {
        for len in LENGTHS {
            let values = case.array(len);
            let wide: Vec<f64> = values.iter().copied().map(f64::from).collect();
            let (n, mean, [m2, m3, m4]) = moments(&wide);
            let variance = m2 * n / (n - 1.0);
            // An f32 is off by half a place, f64 by little beside it; of what cancels, as a skewness does, an absolute error
            // is left.
            let single = |answer: f32, exact: f64| {
                assert_relative_eq!(f64::from(answer), exact, max_relative = 6e-8, epsilon = 1e-9);
            };
            single(cpu::reduce(Variance { correction: 1.0 }, &values).unwrap(), variance);
            single(cpu::reduce(StdDev { correction: 0.0 }, &values).unwrap(), m2.sqrt());
            let both = cpu::reduce(MeanVariance::default(), &values).unwrap();
            single(both.0, mean);
            single(both.1, variance);
            if m2 > 0.0 {
                single(cpu::reduce(Skewness, &values).unwrap(), m3 / m2.powf(1.5));
                single(cpu::reduce(Kurtosis, &values).unwrap(), m4 / (m2 * m2) - 3.0);
            }
            let double = |answer: f64, exact: f64| {
                assert_relative_eq!(answer, exact, max_relative = 1e-9, epsilon = 1e-12);
            };
            double(cpu::reduce(Variance { correction: 1.0 }, &wide).unwrap(), variance);
            double(cpu::reduce(MeanVariance::default(), &wide).unwrap().0, mean);
        }
    }
}

/// Halves are exact in f64, in which they are folded, and the answer is rounded once.
#[test]
fn moments_of_halves_are_rounded_once() {
    fn agrees<T: Float>(half_a_place: f64)
    where
        Variance: Reduction<T, Answer = T>,
        StdDev: Reduction<T, Answer = T>,
        MeanVariance: Reduction<T, Answer = (T, T)>,
        Skewness: Reduction<T, Answer = T>,
        Kurtosis: Reduction<T, Answer = T>,
        NormLp: Reduction<T, Answer = T>,
        IgnoreNan<Variance>: Reduction<T, Answer = T>,
    {
        for len in LENGTHS {
            let halves: Vec<T> = cases::CYCLE
                .array(len)
                .iter()
                .map(|value| T::from_f64(f64::from(*value)))
                .collect();
            let wide: Vec<f64> = halves.iter().map(|half| half.to_f64()).collect();
            let (n, mean, [m2, m3, m4]) = moments(&wide);
            let variance = m2 * n / (n - 1.0);
            // Of what cancels, as a skewness does, an absolute error is left.
            let rounded = |answer: T, exact: f64| {
                assert_relative_eq!(
                    answer.to_f64(),
                    exact,
                    max_relative = 1.001 * half_a_place,
                    epsilon = 1e-7
                );
            };
            rounded(cpu::reduce(Variance { correction: 1.0 }, &halves).unwrap(), variance);
            rounded(cpu::reduce(StdDev { correction: 0.0 }, &halves).unwrap(), m2.sqrt());
            let both = cpu::reduce(MeanVariance::default(), &halves).unwrap();
            rounded(both.0, mean);
            rounded(both.1, variance);
            rounded(
                cpu::reduce(IgnoreNan(Variance { correction: 0.0 }), &halves).unwrap(),
                m2,
            );
            if m2 > 0.0 {
                rounded(cpu::reduce(Skewness, &halves).unwrap(), m3 / m2.powf(1.5));
                rounded(cpu::reduce(Kurtosis, &halves).unwrap(), m4 / (m2 * m2) - 3.0);
            }
            let cubes: f64 = wide.iter().map(|value| value.abs().powi(3)).sum();
            rounded(cpu::reduce(NormLp { p: 3.0 }, &halves).unwrap(), cubes.cbrt());
        }
    }
    agrees::<f16>(2_f64.powi(-11));
    agrees::<bf16>(2_f64.powi(-8));
}

/// NaNs are counted and left out: the rest is described as an array without them, in sums whose order their places change.
#[test]
fn a_description_agrees_with_two_passes_over_the_numbers() {
    for case in [cases::CYCLE, cases::UNIFORM, cases::TIES] {
        for len in LENGTHS {
            let mut values = case.array(len);
            (0..len).step_by(7).for_each(|at| values[at] = f32::NAN);
            let numbers: Vec<f32> = values.iter().copied().filter(|value| !value.is_nan()).collect();
            let wide: Vec<f64> = numbers.iter().copied().map(f64::from).collect();
            let summary = cpu::reduce(Describe { correction: 0.0 }, &values).unwrap();
            assert_eq!((summary.count, summary.nan), (len as u64, len.div_ceil(7) as u64));
            assert_eq!(
                summary.zeros,
                numbers.iter().filter(|number| **number == 0.0).count() as u64
            );
            assert_eq!((summary.positive_infinities, summary.negative_infinities), (0, 0));
            assert_eq!(
                (summary.min, summary.max),
                (oracle::min(&numbers), oracle::max(&numbers))
            );
            let place = |end: Option<f32>| values.iter().position(|value| Some(*value) == end).map(|at| at as u64);
            assert_eq!(
                (summary.argmin, summary.argmax),
                (place(summary.min), place(summary.max))
            );

            let (_, mean, [m2, m3, m4]) = moments(&wide);
            let close = |answer: f32, exact: f64| {
                assert_relative_eq!(f64::from(answer), exact, max_relative = 6e-8, epsilon = 1e-9);
            };
            close(summary.mean, mean);
            close(summary.variance, m2);
            close(summary.std, m2.sqrt());
            if m2 > 0.0 {
                close(summary.skewness, m3 / m2.powf(1.5));
                close(summary.kurtosis, m4 / (m2 * m2) - 3.0);
            }
            close(summary.l2, wide.iter().map(|value| value * value).sum::<f64>().sqrt());
            let largest = wide.iter().fold(0.0, |most: f64, value| most.max(value.abs()));
            assert_eq!(f64::from(summary.linf), largest);
            // Summed in f32: `⌈log₂ n⌉ · u` of the magnitudes, and as much of f64 for the references'.
            let l1: f64 = wide.iter().map(|value| value.abs()).sum();
            let bound = 1.01 * (oracle::depth(len) + 1) as f64 * 2_f64.powi(-24) * l1;
            assert!((f64::from(summary.l1) - l1).abs() <= bound, "{summary:?}");
            assert!(
                (f64::from(summary.sum) - wide.iter().sum::<f64>()).abs() <= bound,
                "{summary:?}"
            );
        }
    }
}

/// The correction of `semantics`: nothing is left to divide by.
#[test]
fn a_divisor_of_nothing_gives_nan() {
    for len in [0, 1] {
        let values = vec![1.5_f32; len];
        assert!(cpu::reduce(Variance::default(), &values).unwrap().is_nan());
        assert!(cpu::reduce(StdDev::default(), &values).unwrap().is_nan());
        assert!(cpu::reduce(Skewness, &values).unwrap().is_nan());
    }
    assert_eq!(cpu::reduce(Variance { correction: 0.0 }, &[1.5_f32]).unwrap(), 0.0);
    assert!(
        cpu::reduce(Variance { correction: 3.0 }, &[1.0_f32, 2.0, 3.0])
            .unwrap()
            .is_nan()
    );
    assert!(
        cpu::reduce(Variance::default(), &[1.0, f32::INFINITY])
            .unwrap()
            .is_nan()
    );
}

/// Where NaN is left out, the rest is counted.
#[test]
fn variances_without_nan_are_those_of_the_numbers() {
    for len in LENGTHS {
        let numbers = cases::UNIFORM.array(len);
        let wide: Vec<f64> = numbers.iter().copied().map(f64::from).collect();
        let (op, std) = (Variance { correction: 1.0 }, StdDev { correction: 0.0 });
        let plain = cpu::reduce(op, &numbers).unwrap();
        assert_eq!(cpu::reduce(IgnoreNan(op), &numbers).unwrap().to_bits(), plain.to_bits());
        let plain_std = cpu::reduce(std, &wide).unwrap();
        assert_eq!(
            cpu::reduce(IgnoreNan(std), &wide).unwrap().to_bits(),
            plain_std.to_bits()
        );
        // A hole behind every third number.
        let with_holes: Vec<f32> = numbers
            .chunks(3)
            .flat_map(|numbers| [numbers, &[f32::NAN]].concat())
            .collect();
        assert_relative_eq!(
            cpu::reduce(IgnoreNan(op), &with_holes).unwrap(),
            plain,
            max_relative = 2e-7
        );
        let with_holes: Vec<f64> = with_holes.into_iter().map(f64::from).collect();
        assert_relative_eq!(
            cpu::reduce(IgnoreNan(std), &with_holes).unwrap(),
            plain_std,
            max_relative = 1e-12
        );
    }
    let one = [f32::NAN, 2.0, f32::NAN];
    assert!(
        cpu::reduce(IgnoreNan(Variance { correction: 1.0 }), &one)
            .unwrap()
            .is_nan()
    );
    assert_eq!(cpu::reduce(IgnoreNan(Variance { correction: 0.0 }), &one).unwrap(), 0.0);
    assert!(
        cpu::reduce(IgnoreNan(StdDev { correction: 0.0 }), &[f32::NAN; 5])
            .unwrap()
            .is_nan()
    );
}

#[test]
fn log_sum_exp_agrees_with_two_passes() {
    for case in [
        cases::UNIFORM,
        cases::CYCLE,
        cases::ASCENDING,
        cases::TIES,
        cases::ALL_HUGE,
    ] {
        for len in LENGTHS {
            let values = case.array(len);
            let reference = |values: &[f64]| {
                let max = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                max + values.iter().map(|value| (value - max).exp()).sum::<f64>().ln()
            };
            let wide: Vec<f64> = values.iter().copied().map(f64::from).collect();
            let exact = reference(&wide);
            // The bounds of `LogSumExp`, the roundings of the answer, and of the reference's plain sum: one an element.
            let (n, levels) = (len as f64, (len as f64).log2().ceil());
            let bound = |single: f64, double: f64| {
                (levels + 6.5 + 0.23 * n.ln() + exact.abs()) * single
                    + (2.3 * levels + 2.0 * n + 4.0 * exact.abs()) * double
            };
            let (single, double) = (2_f64.powi(-24), 2_f64.powi(-53));
            let off = (f64::from(cpu::reduce(LogSumExp, &values).unwrap()) - exact).abs();
            assert!(off <= bound(single, double), "{off:e} of {len}, {}", case.name);
            let off = (cpu::reduce(LogSumExp, &wide).unwrap() - exact).abs();
            assert!(off <= bound(0.0, double), "{off:e} of {len} f64, {}", case.name);
        }
    }
    assert_eq!(cpu::reduce::<f32, _>(LogSumExp, &[]).unwrap(), f32::NEG_INFINITY);
    // Halves are folded as f32, and the answer is rounded to f32 and then to them: half a place between 8 and 16, and the fold's own error.
    fn off<T: Float>() -> f64
    where
        LogSumExp: Reduction<T, Answer = T>,
    {
        let values = cases::UNIFORM.array(5000);
        let halves: Vec<T> = values.iter().map(|value| T::from_f64(f64::from(*value))).collect();
        let exact = halves.iter().map(|half| half.to_f64().exp()).sum::<f64>().ln();
        assert!((8.0..16.0).contains(&exact));
        (cpu::reduce(LogSumExp, &halves).unwrap().to_f64() - exact).abs()
    }
    let fold = (13.0 + 6.5 + 0.23 * 5000_f64.ln()) * 2_f64.powi(-24);
    assert!(off::<f16>() <= 2_f64.powi(-8) + fold);
    assert!(off::<bf16>() <= 2_f64.powi(-5) + fold);
}

#[test]
fn norms_of_any_power_agree_with_powers() {
    for p in [0.5, 1.0, 2.0, 3.0, 7.25] {
        for len in LENGTHS {
            let values = cases::CYCLE.array(len);
            let sum: f64 = values.iter().map(|value| f64::from(value.abs()).powf(p)).sum();
            let norm = f64::from(cpu::reduce(NormLp { p }, &values).unwrap());
            assert_relative_eq!(norm, sum.powf(1.0 / p), max_relative = 6e-8);
        }
    }
    assert_eq!(cpu::reduce(NormLp { p: 3.0 }, &[3e38_f32, 0.0]).unwrap(), 3e38);
    assert!(cpu::reduce(NormLp { p: 3.0 }, &[1.0, f32::NAN]).unwrap().is_nan());
}

/// The kernels, whatever the launch, the alignment and the schedule.
#[test]
fn the_emulator_gives_the_cpus_bits() {
    fn agrees<T: Element, R: Reduction<T>>(op: R, values: &[T], shape: Shape, misalign: usize, seed: u64) {
        let cpu = backends::cpu(op, values);
        for plan in backends::plans(op, values.len() as u64, shape) {
            let emulated = backends::emulator(op, values, &plan, misalign, seed);
            assert_eq!(emulated.map(|emulated| emulated.answer), cpu, "{plan}");
        }
    }
    for (i, case) in [cases::CYCLE, cases::WIDE, cases::MIXED, cases::ALL_MINUS_INFINITY]
        .into_iter()
        .enumerate()
    {
        for (j, len) in [1, 2, 130, 1023, 1025, 5003].into_iter().enumerate() {
            let values = case.array(len);
            let shape = Shape {
                warps: 1 << (j % 3),
                leaves_per_warp: 1 + (i as u32 % 2),
                blocks: 1 + j as u32 % 3,
            };
            each_statistic!(@of f32, agrees(&values, shape, (i + j) % 4, (7 * i + j) as u64));
        }
    }
}

/// The same of small elements, of which a vector has so many that their columns are folded in a loop: the states, for answers of so
/// few digits would hide another tree.
#[test]
fn the_emulator_gives_the_cpus_states_of_halves() {
    fn agrees<T: Float, R: Reduction<T>>(op: R, with_nan: bool) {
        let halves = |len: usize| -> Vec<T> {
            let mut halves: Vec<T> = cases::CYCLE
                .array(len)
                .into_iter()
                .map(|value| T::from_f64(value.into()))
                .collect();
            if with_nan {
                let some = halves.iter_mut().skip(11).step_by(97);
                some.for_each(|half| *half = T::from_f64(f64::NAN));
            }
            halves
        };
        let expected = |values: &[T]| Bits::of(cpu::fold(op, values));
        let [vector, row, leaf] = operations::extents(T::TYPE);
        let lens = [1, vector + 1, row + 3, leaf - 1, leaf, 3 * leaf + row + 5];
        for (i, len) in lens.into_iter().enumerate() {
            let shape = Shape {
                warps: 2,
                leaves_per_warp: 1,
                blocks: 2,
            };
            let values = halves(len);
            for plan in backends::plans(op, len as u64, shape) {
                for misalign in [0, i % vector, vector - 1] {
                    let emulated = backends::emulator(op, &values, &plan, misalign, i as u64).expect("an answer");
                    assert_eq!(emulated.state, expected(&values), "{plan}");
                    assert_eq!(Some(emulated.answer), backends::cpu(op, &values), "{plan}");
                }
            }
        }
        let mut kernels = vec![];
        for (i, (shape, axis)) in [
            ([7, 5], 1),
            ([7, vector as u64], 1),
            ([3, 2 * row as u64 + 9], 1),
            ([3, leaf as u64], 1),
            ([2, leaf as u64 + 300], 1),
            ([40, 3], 0),
            ([leaf as u64 + 5, 64], 0),
        ]
        .into_iter()
        .enumerate()
        {
            let (layout, axes) = (Layout::c_order(&shape).expect("small"), Axes::of(&[axis]));
            let values = halves(layout.len() as usize);
            let extents = Extents::new(&layout, &axes).expect("an axis");
            let plan = Plan::along(op.entry(), &extents).expect("few blocks");
            kernels.push(plan.entry.kernel);
            let (_, states) = backends::emulator_along(op.monoid(), &values, &plan, &extents, i % 2, i as u64);
            let columns = shape[1] as usize;
            for (number, state) in states.into_iter().enumerate() {
                let extent: Vec<T> = if axis == 1 {
                    values[number * columns..][..columns].to_vec()
                } else {
                    values[number..].iter().step_by(columns).copied().collect()
                };
                assert_eq!(Bits::of(state), expected(&extent), "{plan}, answer {number}");
            }
        }
        for kernel in [Kernel::All, Kernel::Rows, Kernel::Strided] {
            assert!(kernels.contains(&kernel), "{kernel:?} is not tried");
        }
        let lens = [1, vector, 3, row + 1, leaf, 2 * leaf + 5, 9, 20 * leaf + 1, 17];
        let segments = Segments::by_lens(lens.map(|len| len as u64)).expect("few");
        let values = halves(segments.len() as usize);
        let plan = Plan::segments(op.entry(), segments.len(), segments.count() as u64).expect("few blocks");
        for apart in [false, true] {
            let (_, states) = backends::emulator_segments(op.monoid(), &values, &plan, &segments, apart, 3);
            for (number, state) in states.into_iter().enumerate() {
                let segment = segments.get(number);
                let segment = &values[segment.start as usize..segment.end as usize];
                assert_eq!(Bits::of(state), expected(segment), "{plan}, segment {number}");
            }
        }
    }
    agrees::<f16, _>(IgnoreNan(Variance { correction: 1.0 }), true);
    agrees::<f16, _>(Variance { correction: 1.0 }, false);
    agrees::<bf16, _>(Kurtosis, false);
}

/// A leaf by the page on the tree, where the elements of a column are folded at once: of 8 and of 16 columns in a vector, and of states
/// that have positions.
#[test]
fn columns_follow_the_tree() {
    fn combine_pairs<S: Copy>(mut states: Vec<S>, combine: impl Fn(S, S) -> S) -> S {
        while states.len() > 1 {
            states = states.chunks(2).map(|pair| combine(pair[0], pair[1])).collect();
        }
        states[0]
    }
    fn state<T: Element, M: Monoid<T>>(op: M, values: &[T]) -> M::State {
        let columns = row_elements::<T>();
        let column = |first: usize| {
            let at = |row: usize| values.get(row * columns + first);
            let places: [_; ROWS] =
                array::from_fn(|row| at(row).map_or(Predicated::empty(), |value| Predicated::of(*value)));
            op.column_fold().fold_column(places, first as u64, columns as u64)
        };
        combine_pairs((0..columns).map(column).collect(), |a, b| op.combine(a, b))
    }
    fn agrees<T: Element, R: Reduction<T>, M: Monoid<T>>(of_one_type: R, op: M, of: impl Fn(f32) -> T) {
        let [vector, row, leaf] = operations::extents(T::TYPE);
        for (i, len) in [1, 3, vector, vector + 1, row, 2 * row + 3, 4 * row - 1, leaf - 1, leaf]
            .into_iter()
            .enumerate()
        {
            let values: Vec<T> = cases::CYCLE.array(3 * len).into_iter().map(&of).collect();
            let layout = Layout::c_order(&[3, len as u64]).expect("small");
            let extents = Extents::new(&layout, &Axes::of(&[1])).expect("an axis");
            let plan = Plan::along(of_one_type.entry(), &extents).expect("few blocks");
            assert_eq!(plan.entry.kernel, Kernel::Rows);
            let (_, states) = backends::emulator_along(op, &values, &plan, &extents, i % 3, i as u64);
            for (found, extent) in states.into_iter().zip(values.chunks(len)) {
                assert_eq!(Bits::of(found), Bits::of(state(op, extent)), "{len} of {:?}", T::TYPE);
            }
        }
    }
    let variance = monoids::Variance { correction: 1.0 };
    agrees::<f16, _, _>(Sum, variance, |value| f16::from_f64(value.into()));
    agrees::<bf16, _, _>(Sum, monoids::Skewness {}, |value| bf16::from_f64(value.into()));
    agrees::<f16, _, _>(Sum, (variance, monoids::Arg::LARGEST), |value| {
        f16::from_f64(value.into())
    });
    agrees::<u8, _, _>(Sum, variance, |value| (value.abs() * 97.0) as u8);
    agrees::<u8, _, _>(Sum, (variance, monoids::Arg::SMALLEST), |value| {
        (value.abs() * 97.0) as u8
    });
}

/// In whatever parts.
#[test]
fn parts_are_the_whole() {
    fn in_parts<T: Element, R: Reduction<T>>(op: R, number: &mut u64) {
        *number += 1;
        let (sample, way) = (
            [samples::PLAIN, samples::ANY][*number as usize % 2],
            [Way::Whole, Way::Around(2, 3)][*number as usize / 2 % 2],
        );
        let len = partials::length(leaf_elements::<T>(), *number as usize) / way.unit() * way.unit();
        let values = samples::elements(&sample.array(T::TYPE, len * way.cells()));
        partials::check(&Divided::new::<T, R>(op, values, way), *number, splits(10, 1));
    }
    let mut number = 0;
    each_statistic!(in_parts(&mut number));
}

/// Bits that were recorded once (`WARPFOLD_BLESS=1` records them anew), of arrays whose bits are a function of their length.
#[test]
fn bits_are_as_recorded() {
    fn line<T: Element, R: Reduction<T>>(op: R, values: &[T], text: &mut String) {
        let bits: Option<Bits> = backends::cpu(op, values);
        let (parameter, bits) = (op.parameter(), bits.expect("an answer"));
        *text += &format!("{} {parameter:x} {} {bits}\n", R::NAME, values.len());
    }
    let mut text =
        String::from("# Operator, parameter as bits, elements of the case `cycle`, answer in hexadecimal.\n");
    for len in [5, 1025, 33_000] {
        each_statistic!(@of f32, line(&cases::CYCLE.array(len), &mut text));
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/golden/statistics-v1.txt");
    golden::assert_recorded(path, include_str!("../golden/statistics-v1.txt"), &text);
}
