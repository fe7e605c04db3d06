//! A user's own operators, from the crate among the host library's examples: the CPU's answers against plain loops, and the
//! emulator's kernels against the CPU's bits. `device/own.rs` has the GPU's. [`attention`] and [`total_variation`] are kernels of a user's own.

mod attention;
mod total_variation;

use std::num::FpCategory;

use half::{bf16, f16};
use own_operator::{Affine, Census, Compose, GeometricMean, L2Normalise, MeanDistance, TakeCensus};
use proptest::prelude::*;
use warpfold::{
    Error, Plan, View, cpu,
    layout::{Axes, Extents, Layout, Segments},
    ops::Reduction,
    plan::Shape,
    row::{self, RowElement},
};
use warpfold_kernels::{
    element::Element,
    kernels::{Kernel, MOST_WORDS},
    testing::{check_laws, check_parameter, check_row_laws, check_row_params},
};
use warpfold_tests::{
    Bits, backends, cases,
    partials::{self, Divided, Way, splits},
    rows,
};

const LEAF: usize = 1024;

/// The mean of the logarithms, added one after the other in twice the parts, and what has none.
fn geometric_mean(values: &[f64]) -> (f64, u64) {
    let (mut sum, mut lost, mut count) = (0.0_f64, 0.0_f64, 0_u32);
    for value in values.iter().filter(|value| **value > 0.0) {
        let term = value.ln();
        // What an addition rounds off (Neumaier).
        let next = sum + term;
        if next.is_finite() {
            lost += if sum.abs() >= term.abs() {
                (sum - next) + term
            } else {
                (term - next) + sum
            };
        }
        (sum, count) = (next, count + 1);
    }
    (
        ((sum + lost) / f64::from(count)).exp(),
        values.len() as u64 - u64::from(count),
    )
}

fn census(values: &[f32]) -> Census {
    let count = |is: &dyn Fn(f32) -> bool| values.iter().filter(|value| is(**value)).count() as u64;
    let category = |category: FpCategory| count(&|value| value.classify() == category);
    Census {
        nan: category(FpCategory::Nan),
        infinite: category(FpCategory::Infinite),
        normal: category(FpCategory::Normal),
        subnormal: category(FpCategory::Subnormal),
        zero: category(FpCategory::Zero),
        negative: count(&|value| value.to_bits() >> 31 != 0),
        whole: count(&|value| value.is_finite() && value.fract() == 0.0),
        past_f16: count(&|value| value.is_finite() && value.abs() >= 65_520.0),
    }
}

#[test]
fn the_cpu_answers_what_plain_loops_answer() {
    for case in cases::ALL {
        for len in [0, 1, 7, 1000, 5003, 70_001] {
            let values = case.array(len);
            assert_eq!(
                cpu::reduce(TakeCensus, &values).expect("an answer"),
                census(&values),
                "{}",
                case.name
            );

            let wide: Vec<f64> = values.iter().map(|value| f64::from(*value)).collect();
            let (expected, left_out) = geometric_mean(&wide);
            for (mean, others) in
                [cpu::reduce(GeometricMean, &values), cpu::reduce(GeometricMean, &wide)].map(Result::unwrap)
            {
                assert_eq!(others, left_out, "{}", case.name);
                let close =
                    mean == expected || mean.is_nan() && expected.is_nan() || (mean / expected - 1.0).abs() < 1e-12;
                assert!(close, "{}: {mean} and {expected}", case.name);
            }
        }
    }
    let mean = |values: &[f64]| cpu::reduce(GeometricMean, values).expect("an answer");
    assert_eq!(mean(&[2.0, 8.0, -1.0, 0.0, f64::NAN]), (4.0, 3));
    assert!(mean(&[-1.0]).0.is_nan() && mean(&[]).0.is_nan());
    // Where the product of the elements would be infinite, or zero.
    assert!((mean(&[1e300; 5]).0 / 1e300 - 1.0).abs() < 1e-12 && (mean(&[1e-300; 5]).0 / 1e-300 - 1.0).abs() < 1e-12);
}

/// A step in front of an operator gives what the operator gives of an array that the step was taken on.
#[test]
fn a_step_in_front_is_the_step_and_the_operator() {
    for case in cases::ALL {
        for (len, from) in [(0, 1.0), (1, 0.0), (5003, -2.5), (70_001, 1e30)] {
            let values = case.array(len);
            let distances: Vec<f32> = values.iter().map(|value| (value - from).abs()).collect();
            let (fused, apart) = (
                cpu::reduce(MeanDistance { from }, &values).expect("an answer"),
                cpu::reduce(warpfold::ops::Mean, &distances).expect("an answer"),
            );
            assert_eq!(fused.to_bits(), apart.to_bits(), "{} of {len}", case.name);
        }
    }
}

/// The emulator's kernels against the CPU's bits: of whole arrays, along axes, in segments.
fn agrees<T: Element, R: Reduction<T>>(op: R, values: &[T], shape: Shape, misalign: usize, seed: u64) {
    let expected = backends::cpu(op, values);
    for plan in backends::plans(op, values.len() as u64, shape) {
        let emulated = backends::emulator(op, values, &plan, misalign, seed).map(|emulated| emulated.answer);
        assert_eq!(emulated, expected, "{plan}, misaligned by {misalign}, seed {seed}");
    }

    let len = values.len() as u64;
    for (columns, axis) in [(1, 0), (7, 0), (7, 1), (100, 0), (3, 0)] {
        let layout = Layout::c_order(&[len / columns, columns]).expect("small");
        let extents = Extents::new(&layout, &Axes::of(&[axis])).expect("an axis");
        let plan = Plan::along(op.entry(), &extents).expect("few blocks");
        let answers = backends::emulator_along(op.monoid(), values, &plan, &extents, misalign, seed).0;
        let expected = cpu::reduce_axes(op, values, &layout, &Axes::of(&[axis])).expect("an answer over nothing");
        let bits = |answers: Vec<R::Answer>| answers.into_iter().map(Bits::of).collect::<Vec<_>>();
        assert_eq!(
            bits(answers),
            bits(expected.answers),
            "{plan}, misaligned by {misalign}, seed {seed}"
        );
    }

    for lens in [
        vec![len],
        vec![0, len / 3, 1, 0, len - len / 3 - 1],
        vec![3; values.len() / 3],
    ] {
        let segments = Segments::by_lens(lens).expect("few");
        let values = &values[..segments.len() as usize];
        let plan = Plan::segments(op.entry(), segments.len(), segments.count() as u64).expect("few blocks");
        let expected = cpu::reduce_segments(op, values, &segments).expect("an answer over nothing");
        for apart in [false, true] {
            let answers = backends::emulator_segments(op.monoid(), values, &plan, &segments, apart, seed).0;
            let bits = |answers: &[R::Answer]| answers.iter().copied().map(Bits::of).collect::<Vec<_>>();
            assert_eq!(bits(&answers), bits(&expected), "{plan}, apart: {apart}, seed {seed}");
        }
    }
}

#[test]
fn the_kernels_give_the_cpus_bits_on_the_emulator() {
    let shapes = [(1, 1, 1), (1, 2, 5), (4, 4, 2), (8, 1, 7)];
    for (i, len) in [1, 127, LEAF - 1, LEAF + 1, 9 * LEAF + 5, 40 * LEAF]
        .into_iter()
        .enumerate()
    {
        let (warps, leaves_per_warp, blocks) = shapes[i % shapes.len()];
        let shape = Shape {
            warps,
            leaves_per_warp,
            blocks,
        };
        let values = [cases::CYCLE, cases::MIXED, cases::WIDE][i % 3].array(len);
        agrees(TakeCensus, &values, shape, i % 4, i as u64);
        agrees(GeometricMean, &values, shape, (i + 1) % 4, i as u64);
        agrees(MeanDistance { from: 0.75 }, &values, shape, (i + 2) % 4, i as u64);
    }
}

/// What does not commute is folded in order: its answer is what the elements do one after the other.
#[test]
fn an_operator_in_order_is_right() {
    let words = |len: usize| -> Vec<u32> { (0..len as u32).map(|i| i.wrapping_mul(2_654_435_761) ^ 77).collect() };
    let in_turn =
        |steps: &mut dyn Iterator<Item = u32>, seed: u32| steps.fold(seed, |x, step| Affine::of(step).apply(x));
    for len in [0, 1, 7, 8, 9, 1000, 5003, 300_001] {
        let values = words(len);
        let bytes: Vec<u8> = values.iter().map(|word| (word >> 9) as u8).collect();
        let (all, small) = (cpu::reduce(Compose, &values), cpu::reduce(Compose, &bytes));
        let (all, small) = (all.expect("a map"), small.expect("a map"));
        for seed in [0, 1, 0x9e37_79b9] {
            assert_eq!(all.apply(seed), in_turn(&mut values.iter().copied(), seed), "of {len}");
            let mut steps = bytes.iter().map(|&byte| byte.into());
            assert_eq!(small.apply(seed), in_turn(&mut steps, seed), "of {len} bytes");
        }
        assert_eq!(
            backends::pieces(Compose, &values, LEAF),
            backends::cpu(Compose, &values)
        );
    }
    let matrix = words(60 * 700);
    for (shape, axis) in [([60, 700], 0), ([60, 700], 1), ([14_000, 3], 1)] {
        let layout = Layout::c_order(&shape).expect("small");
        let folded = cpu::reduce_axes(Compose, &matrix, &layout, &Axes::of(&[axis])).expect("maps");
        let [rows, columns] = shape.map(|extent| extent as usize);
        for (i, map) in folded.answers.iter().enumerate() {
            let (first, step, count) = if axis == 0 {
                (i, columns, rows)
            } else {
                (i * columns, 1, columns)
            };
            let mut steps = matrix[first..].iter().step_by(step).take(count).copied();
            assert_eq!(
                map.apply(5),
                in_turn(&mut steps, 5),
                "extent {i} of {shape:?} along {axis}"
            );
        }
    }
    let shapes = [(1, 1, 1), (1, 2, 5), (4, 4, 2), (8, 1, 7)];
    for (i, len) in [1, 127, LEAF + 1, 5 * LEAF + 5].into_iter().enumerate() {
        let (warps, leaves_per_warp, blocks) = shapes[i % shapes.len()];
        let shape = Shape {
            warps,
            leaves_per_warp,
            blocks,
        };
        agrees(Compose, &words(len), shape, i % 4, i as u64);
        let bytes: Vec<u8> = words(len).iter().map(|word| (word >> 9) as u8).collect();
        agrees(Compose, &bytes, shape, i % 16, i as u64);
    }
}

/// A row divided by its L2 norm, in f64, and what an answer in f32 may be off where no square over- or underflows, in halves of a unit in the last place: the sum of
/// squares is off by one for each level of its tree and one for the squares, its root by half of that and one, the reciprocal and the product by one each.
fn l2_normalise_is_near<T: RowElement>(len: usize, spread: f32, epsilon: f32) {
    const U: f64 = 1.0 / (1 << 24) as f64;
    let row: Vec<T> = rows::numbers::<f32>(len, 3)
        .iter()
        .map(|x| T::narrowed(x * spread))
        .collect();
    let mapped = row::own(L2Normalise { epsilon })
        .on_cpu::<_, f32>(&row)
        .expect("a meaning");
    let wide: Vec<f64> = row.iter().map(|x| f64::from(x.wide())).collect();
    let norm = wide.iter().map(|x| x * x).sum::<f64>().sqrt();
    let (divisor, levels) = (norm.max(epsilon.into()), (len as f64).log2().ceil());
    // What is left of half a rounding is for the products of errors.
    let of_norm = (levels / 2.0 + 2.0) * U;
    let known = f64::from(mapped.known.numbers[0][0]);
    assert!(
        (known - norm).abs() <= norm * of_norm,
        "the norm of {len}, {spread}: {known} for {norm}"
    );
    for (x, y) in wide.iter().zip(&mapped.values) {
        let (exact, y) = (x / divisor, f64::from(*y));
        let bound = exact.abs() * (of_norm + 2.0 * U) + f64::from(f32::MIN_POSITIVE) * U;
        assert!(
            (y - exact).abs() <= bound,
            "{len}, {spread}, {epsilon}: {y:e} for {exact:e}"
        );
    }
}

#[test]
fn l2_normalise_is_within_its_bound() {
    for len in [1, 2, 100, 512, 513, 5000, 100_000] {
        for epsilon in [1e-12, 0.5, 1e6] {
            for spread in [1e-6, 1.0, 1e6] {
                l2_normalise_is_near::<f32>(len, spread, epsilon);
                l2_normalise_is_near::<bf16>(len, spread, epsilon);
            }
            l2_normalise_is_near::<f16>(len, 1.0, epsilon);
        }
    }
}

/// What the operation's documentation says of edges.
#[test]
fn l2_normalise_at_its_edges() {
    const NAN: f32 = f32::NAN;
    const INF: f32 = f32::INFINITY;
    let cases: [(&[f32], &[f32], f32); 7] = [
        (&[], &[], 0.0),
        (&[0.0, -0.0], &[0.0, -0.0], 0.0),
        (&[3.0, -4.0], &[0.6, -0.8], 5.0),
        (&[1.0, NAN], &[NAN, NAN], NAN),
        (&[1.0, INF, -INF], &[0.0, NAN, NAN], INF),
        (&[1e30, -1.0], &[0.0, -0.0], INF),
        (&[1e-30, 0.0], &[1e-18, 0.0], 0.0),
    ];
    for (row, answers, norm) in cases {
        let layout = Layout::c_order(&[1, row.len() as u64]).expect("small");
        let view = View::new(row, &layout).expect("in bounds");
        let mapped = row::own(L2Normalise { epsilon: 1e-12 })
            .on_cpu::<_, f32>(view)
            .expect("a meaning");
        let bits = |values: &[f32]| {
            values
                .iter()
                .map(|x| if x.is_nan() { NAN.to_bits() } else { x.to_bits() })
                .collect::<Vec<_>>()
        };
        assert_eq!(bits(&mapped.values), bits(answers), "{row:?}");
        assert_eq!(bits(&mapped.known.numbers[0]), bits(&[norm, 0.0, 0.0, 0.0]), "{row:?}");
    }
    // A NaN that is left out does not show.
    let row = row::own(L2Normalise { epsilon: 1e-12 }).mask(&[true, false, true]);
    let mapped = row.on_cpu::<_, f32>(&[3.0_f32, NAN, 4.0]).expect("a meaning");
    assert_eq!(mapped.values, [0.6, 0.0, 0.8]);
}

#[test]
fn entries_are_of_their_own_library() {
    let census = Reduction::<f32>::entry(TakeCensus);
    assert_eq!((census.state_words, census.answer_words), (MOST_WORDS, MOST_WORDS));
    assert_eq!(census.name, "census_f32");
    assert_eq!(census.library, &own_operator::LIBRARY);
    assert_eq!(own_operator::LIBRARY.entries().count(), 6 * Kernel::ALL.len());
    for entry in own_operator::LIBRARY.entries() {
        for kernel in Kernel::ALL {
            let other = entry.with(kernel).expect("each kernel");
            assert_eq!(
                (other.op, other.element, other.kernel),
                (entry.op, entry.element, kernel)
            );
        }
    }
    assert!(warpfold_kernels::kernels::entry("census_f32").is_none());
}

/// Parts of arrays, in whatever order they are merged: of one that does not commute, too.
#[test]
fn parts_are_the_whole() {
    let values = || cases::MIXED.array(20_003);
    let steps = (0..5003_u32).map(|i| i.wrapping_mul(2_654_435_761));
    partials::check(&Divided::new(TakeCensus, values(), Way::Whole), 1, splits(50, 1));
    partials::check(&Divided::new(GeometricMean, values(), Way::Whole), 2, splits(50, 1));
    partials::check(
        &Divided::new::<u32, _>(Compose, steps.collect(), Way::Around(1, 1)),
        3,
        splits(50, 1),
    );
}

/// Pieces, which carry states from call to call.
#[test]
fn pieces_are_the_whole() {
    let values = cases::MIXED.array(100_003);
    for piece in [LEAF, 16 * LEAF] {
        assert_eq!(
            backends::pieces(TakeCensus, &values, piece),
            backends::cpu(TakeCensus, &values)
        );
        assert_eq!(
            backends::pieces(GeometricMean, &values, piece),
            backends::cpu(GeometricMean, &values)
        );
    }
    assert!(matches!(cpu::reduce(TakeCensus, &[]), Ok::<_, Error>(nothing) if nothing == Census::default()));
}

proptest! {
    #[test]
    fn laws_hold_for_any_floats(bits in prop::collection::vec(any::<u32>(), 1..6), from: f32) {
        let values: Vec<f32> = bits.into_iter().map(f32::from_bits).collect();
        check_laws(GeometricMean, &values);
        check_laws(TakeCensus, &values);
        let op = MeanDistance { from };
        check_laws(Reduction::<f32>::monoid(op), &values);
        check_parameter(op, &values);
        for epsilon in [f32::MIN_POSITIVE, 1.0] {
            check_row_laws(L2Normalise { epsilon }, &values);
            check_row_params(L2Normalise { epsilon }, &values);
        }
    }
}
