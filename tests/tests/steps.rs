//! Operators behind a step: on the CPU, and by the kernels on the emulator, those of the array that the step makes.

use proptest::prelude::*;
use warpfold::{
    Plan, cpu, fold,
    layout::{Axes, Extents, Layout, Segments},
    ops::{ArgMax, ArgMin, Describe, IgnoreNan, Mapped, Max, Mean, Reduction, Step, Sum, TakesMask, Then, Variance},
    plan::Shape,
};
use warpfold_kernels::element::{Element, bf16};
use warpfold_tests::{Bits, backends, spec};

/// Numbers of either sign, long mantissas and a few exponents; some are special.
fn array(len: usize, special: bool) -> Vec<f32> {
    let number = |i: usize| match i % 97 {
        13 if special => f32::NAN,
        29 if special => f32::NEG_INFINITY,
        31 => -0.0,
        _ => ((i * 7919 + 13) % 10_007) as f32 / 1001.0 - 4.9,
    };
    (0..len).map(number).collect()
}

/// What the step makes of it, in f32, by other words.
fn made(step: Step, values: &[f32]) -> Vec<f32> {
    let of = |x: &f32| {
        let rest = x - step.minus as f32;
        match step.then {
            Then::Itself => rest,
            Then::Magnitude => f32::from_bits(rest.to_bits() << 1 >> 1),
            Then::Square => rest * rest,
            Then::Exp => warpfold_kernels::arithmetic::single::exp(rest),
        }
    };
    values.iter().map(of).collect()
}

const STEPS: [Step; 7] = [
    Step::CAST,
    Step::ABS,
    Step::SQUARE,
    Step::EXP,
    Step::minus(1.25),
    Step::minus(-2.5).square(),
    Step::minus(5.0).exp(),
];

/// Of f32, the answers over the array that the step makes, to the bit, in every shape.
fn is_of_what_is_made<Op: Reduction<f32>>(op: Op, step: Step, values: &[f32]) {
    let (made, mapped) = (made(step, values), Mapped(op, step));
    let what = || format!("{} of {} behind {step:?}", Op::NAME, values.len());
    assert_eq!(backends::cpu(mapped, values), backends::cpu(op, &made), "{}", what());
    let (rows, columns) = (values.len() / 30, 30);
    let layout = Layout::c_order(&[rows as u64, columns]).expect("small");
    for axes in [Axes::of(&[0]), Axes::of(&[1])] {
        let answers = |folded: Result<warpfold::layout::Folded<Op::Answer>, _>| -> Vec<Bits> {
            let folded = folded
                .map_err(|error: warpfold::Error| error.to_string())
                .expect("answers");
            folded.answers.into_iter().map(Bits::of).collect()
        };
        assert_eq!(
            answers(cpu::reduce_axes(mapped, values, &layout, &axes)),
            answers(cpu::reduce_axes(op, &made, &layout, &axes)),
            "{}",
            what()
        );
    }
}

#[test]
fn the_cpu_folds_what_a_step_makes() {
    for special in [false, true] {
        let values = array(5000, special);
        for step in STEPS {
            is_of_what_is_made(Sum, step, &values);
            is_of_what_is_made(Mean, step, &values);
            is_of_what_is_made(Max, step, &values);
            is_of_what_is_made(ArgMin, step, &values);
            is_of_what_is_made(Variance { correction: 1.0 }, step, &values);
            is_of_what_is_made(IgnoreNan(Sum), step, &values);
        }
    }
}

/// The tree is that of the elements' own type: bf16 has 256 columns, and they are added up in f32.
#[test]
fn halves_are_cast_in_the_tree_of_halves() {
    let wide = array(9000, false);
    let values: Vec<bf16> = wide
        .iter()
        .map(|x| bf16::from_bits((x.to_bits() >> 16) as u16))
        .collect();
    let exact: Vec<f32> = wide.iter().map(|x| f32::from_bits(x.to_bits() >> 16 << 16)).collect();
    for step in STEPS {
        let sum = spec::fold_columns(256, &made(step, &exact), -0.0, |a, b| a + b);
        let answer: f32 = cpu::reduce(Mapped(Sum, step), &values).expect("a sum");
        assert_eq!(answer.to_bits(), sum.to_bits(), "{step:?}");
    }
}

/// Places are those of the elements, of which a row has more than of what is made of them.
#[test]
fn a_description_of_what_is_cast_finds_its_ends() {
    let values: Vec<bf16> = (0..5000_u32)
        .map(|i| bf16::from_bits(0x3f80 + (i.wrapping_mul(2_654_435_761) >> 26) as u16))
        .collect();
    for at in [3, 700, 1800, 4999] {
        let mut values = values.clone();
        (values[at], values[4998 - at / 2]) = (bf16::from_bits(0x4200), bf16::from_bits(0xc200));
        let described = cpu::reduce(Mapped(Describe { correction: 1.0 }, Step::CAST), &values).expect("numbers");
        let ends = (cpu::reduce(ArgMin, &values), cpu::reduce(ArgMax, &values));
        assert_eq!((described.argmin, described.argmax), (ends.0.ok(), ends.1.ok()));
        assert_eq!(described.argmax, Some(at as u64));
    }
}

#[test]
fn integers_are_folded_in_f64() {
    let values: Vec<i16> = (0..3000_i32).map(|i| (i * 7919 % 65_536 - 32_768) as i16).collect();
    // Exact, so in any order.
    let squares: f64 = values.iter().map(|&x| f64::from(x) * f64::from(x)).sum();
    assert_eq!(cpu::reduce(Mapped(Sum, Step::SQUARE), &values).ok(), Some(squares));
    let apart = values.iter().map(|&x| (f64::from(x) - 0.5).abs()).sum::<f64>() / 3000.0;
    assert_eq!(
        cpu::reduce(Mapped(Mean, Step::minus(0.5).abs()), &values).ok(),
        Some(apart)
    );
    assert_eq!(
        cpu::reduce(Mapped(Sum, Step::CAST), &[true, false, true]).ok(),
        Some(2.0)
    );
    assert_eq!(cpu::reduce(Mapped(Sum, Step::CAST), &[] as &[u8]).ok(), Some(0.0));
}

#[test]
fn a_mask_stands_in_front_of_a_step() {
    fn agrees<Op: TakesMask + Reduction<f32>>(op: Op, values: &[f32], mask: &[bool], alone: &[f32])
    where
        warpfold::ops::Where<Op>: Reduction<warpfold_kernels::element::Masked<f32>, Answer = Op::Answer>,
    {
        let masked = Bits::of(fold(op).masked(mask).on_cpu(values).expect("an answer"));
        assert_eq!(masked, Bits::of(cpu::reduce(op, alone).expect("an answer")));
    }
    let values = array(2000, false);
    let mask: Vec<bool> = (0..2000).map(|i| i % 3 == 1).collect();
    // What is not selected becomes a number that no maximum is.
    let alone: Vec<f32> = values
        .iter()
        .zip(&mask)
        .map(|(x, on)| if *on { *x } else { 1.0 })
        .collect();
    agrees(Mapped(Max, Step::minus(1.0).abs()), &values, &mask, &alone);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn the_emulator_has_the_cpus_bits(len in 1_usize..9000, misalign in 0_usize..4, seed in any::<u64>()) {
        let shape = Shape { warps: 4, leaves_per_warp: 1, blocks: 2 };
        fn whole<T: Element, R: Reduction<T>>(op: R, values: &[T], shape: Shape, misalign: usize, seed: u64) {
            for plan in backends::plans::<T, R>(op, values.len() as u64, shape) {
                let emulated = backends::emulator(op, values, &plan, misalign, seed).map(|emulated| emulated.answer);
                assert_eq!(emulated, backends::cpu(op, values), "{plan}");
            }
        }
        let values = array(len, seed % 2 == 0);
        let halves: Vec<bf16> = values.iter().map(|x| bf16::from_bits((x.to_bits() >> 16) as u16)).collect();
        let step = STEPS[len % STEPS.len()];
        whole(Mapped(Sum, step), &values, shape, misalign, seed);
        whole(Mapped(Sum, step), &halves, shape, misalign, seed);
        if step.then != Then::Exp {
            whole(Mapped(ArgMin, step), &values, shape, misalign, seed);
        }
    }

    #[test]
    fn so_it_has_along_axes_and_in_segments(rows in 1_u64..70, columns in 1_u64..140, seed in any::<u64>()) {
        let values = array((rows * columns) as usize, false);
        let op = Mapped(Sum, STEPS[seed as usize % STEPS.len()]);
        let layout = Layout::c_order(&[rows, columns]).expect("small");
        let bits = |answers: Vec<f32>| answers.into_iter().map(f32::to_bits).collect::<Vec<_>>();
        for axis in [0, 1] {
            let extents = Extents::new(&layout, &Axes::of(&[axis])).expect("an axis");
            let plan = Plan::along(Reduction::<f32>::entry(op), &extents).expect("few blocks");
            let emulated = backends::emulator_along(Reduction::<f32>::monoid(op), &values, &plan, &extents, 1, seed).0;
            let expected = cpu::reduce_axes(op, &values, &layout, &Axes::of(&[axis])).expect("answers").answers;
            prop_assert_eq!(bits(emulated), bits(expected), "{}", plan);
        }
        let segments = Segments::by_lens((0..rows).map(|i| if i % 2 == 0 { 0 } else { 2 * columns }).chain([columns * (rows % 2)]))
            .expect("small");
        let plan = Plan::segments(Reduction::<f32>::entry(op), segments.len(), segments.count() as u64).expect("few blocks");
        let emulated = backends::emulator_segments(Reduction::<f32>::monoid(op), &values, &plan, &segments, false, seed).0;
        prop_assert_eq!(bits(emulated), bits(cpu::reduce_segments(op, &values, &segments).expect("answers")));
    }
}
