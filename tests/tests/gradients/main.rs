//! Lists of tensors: the kernels on the emulator, in every shape, the CPU backend and the specification give the same bits; and those are near what exact arithmetic has.

mod running;

use half::{bf16, f16};
use proptest::prelude::*;
use warpfold::{
    Error, cpu,
    gradients::{Floats, FloatsMut, Order, TotalNorm, grad_norm},
    ops,
};
use warpfold_emulator::{TensorsShape, clip_tensors};
use warpfold_kernels::{
    monoids::{NormInf, NormL1, NormL2, NormLp},
    rowwise::RowElement,
};
use warpfold_tests::gradients::{
    GOLDEN, GOLDEN_LISTS, GOLDEN_PATH, ORDERS, Tensor, floats, golden, golden_list, list, spec,
};

fn bits(total: TotalNorm) -> (u32, u64) {
    (total.norm.to_bits(), total.not_finite)
}

/// The CPU's norm, which is the specification's.
fn on_cpu(order: Order, tensors: &[Tensor]) -> TotalNorm {
    let total = grad_norm(order).on_cpu(&floats(tensors)).expect("a norm");
    assert_eq!(
        bits(total),
        bits(spec(order, tensors)),
        "{order:?}: the CPU and the specification"
    );
    total
}

/// The kernel's, by the emulator.
fn emulated(order: Order, tensors: &[Tensor], shape: TensorsShape, seed: u64) -> TotalNorm {
    let tensors: Vec<_> = tensors
        .iter()
        .zip(0..)
        .map(|(tensor, i)| {
            let misalign = [0, 0, 1, 3, 2][(seed as usize + i) % 5];
            tensor.of(misalign)
        })
        .collect();
    let emulated = match order {
        Order::L1 => warpfold_emulator::grad_norm(NormL1, &tensors, shape, seed),
        Order::L2 => warpfold_emulator::grad_norm(NormL2, &tensors, shape, seed),
        Order::Inf => warpfold_emulator::grad_norm(NormInf, &tensors, shape, seed),
        Order::P(p) => warpfold_emulator::grad_norm(NormLp { p }, &tensors, shape, seed),
    };
    let (norm, not_finite) = emulated.unwrap_or_else(|fault| panic!("{fault}\n{order:?}, {shape:?}, seed {seed}"));
    TotalNorm::of_f32(norm, not_finite)
}

const SHAPES: [TensorsShape; 4] = [
    TensorsShape { leaves: 1, warps: 1 },
    TensorsShape { leaves: 1, warps: 4 },
    TensorsShape { leaves: 2, warps: 3 },
    TensorsShape { leaves: 8, warps: 4 },
];

fn agree(tensors: &[Tensor], seed: u64) {
    for order in ORDERS {
        let cpu = on_cpu(order, tensors);
        for shape in SHAPES {
            let lens: Vec<usize> = tensors.iter().map(|tensor| tensor.wide().len()).collect();
            let emulated = emulated(order, tensors, shape, seed);
            assert_eq!(bits(emulated), bits(cpu), "{order:?}, {shape:?}, seed {seed}, {lens:?}");
        }
    }
}

#[test]
fn the_kernels_give_the_cpus_bits_over_lists_of_all_kinds() {
    for seed in 0..12 {
        let tensors = list(seed, 9000);
        agree(&tensors, seed);
        let planted: Vec<Tensor> = tensors.into_iter().map(|tensor| tensor.planted(seed)).collect();
        agree(&planted, seed + 1);
    }
}

/// Where the leaves of a tensor are whole, whole vectors, or neither.
#[test]
fn every_edge_of_a_leaf_in_every_type() {
    for len in [
        0, 1, 2, 3, 4, 7, 8, 9, 127, 128, 129, 1023, 1024, 1025, 1028, 2047, 2048, 2056, 2049,
    ] {
        let tensors: Vec<Tensor> = (0..3).map(|of| Tensor::numbers(of, len, len as u64 + of)).collect();
        for seed in 0..3 {
            agree(&tensors, seed);
        }
    }
}

/// More tiles, and more tensors, than a warp folds at once.
#[test]
fn many_tiles_and_many_tensors_meet_level_by_level() {
    let shape = TensorsShape { leaves: 1, warps: 4 };
    let long = [
        Tensor::numbers(2, 5, 1),
        Tensor::numbers(0, 1024 * 257 + 3, 2),
        Tensor::numbers(1, 2, 3),
    ];
    for order in [Order::L1, Order::L2] {
        assert_eq!(
            bits(emulated(order, &long, shape, 5)),
            bits(on_cpu(order, &long)),
            "{order:?}"
        );
    }
    let many: Vec<Tensor> = (0..270).map(|i| Tensor::numbers(i, i as usize % 5, i)).collect();
    for order in ORDERS {
        assert_eq!(
            bits(emulated(order, &many, shape, 6)),
            bits(on_cpu(order, &many)),
            "{order:?}"
        );
    }
}

/// pytorch#134393: there the norms of the tensors are put in groups by device and type, so their order, and with it the total norm, depends on the grouping. Here a
/// tensor's state has its place by the list alone.
#[test]
fn gradient_norms_order() {
    // A norm of norms, in f32, as grouping has it.
    let norm = |values: &[f32]| values.iter().map(|x| x * x).sum::<f32>().sqrt();
    let mut differ = 0;
    for seed in 0..24 {
        let tensors: Vec<Tensor> = (0..9)
            .map(|i| Tensor::numbers(i * 7 + seed, 30 + 3 * i as usize, seed + i))
            .collect();
        let norms: Vec<(bool, f32)> = tensors
            .iter()
            .map(|tensor| {
                let norm = grad_norm(Order::L2).on_cpu(&[tensor.floats()]).expect("a norm").norm;
                (matches!(tensor, Tensor::F32(_)), norm)
            })
            .collect();
        let of = |wanted: bool| norms.iter().filter(move |(is, _)| *is == wanted).map(|(_, norm)| *norm);
        let in_order = norm(&norms.iter().map(|(_, norm)| *norm).collect::<Vec<_>>());
        let grouped = norm(&of(true).chain(of(false)).collect::<Vec<_>>());
        differ += u32::from(in_order.to_bits() != grouped.to_bits());
        for order in ORDERS {
            let cpu = on_cpu(order, &tensors);
            // However launches group them: tiles, blocks, schedules, addresses.
            for (shape, schedule) in SHAPES.into_iter().zip(seed..) {
                assert_eq!(
                    bits(emulated(order, &tensors, shape, schedule)),
                    bits(cpu),
                    "{order:?}, {shape:?}"
                );
            }
            // However many threads there are.
            for threads in [1, 3] {
                let pool = rayon(threads, || grad_norm(order).on_cpu(&floats(&tensors)).expect("a norm"));
                assert_eq!(bits(pool), bits(cpu), "{order:?}, {threads} threads");
            }
        }
    }
    assert!(differ > 0, "grouping shows in a norm of norms");
}

/// Empty tensors are places in the list, where the identity is.
#[test]
fn empty_tensors_and_lists() {
    for order in ORDERS {
        let nothing = [Tensor::F32(vec![]), Tensor::F16(vec![]), Tensor::Bf16(vec![])];
        for tensors in [&[][..], &nothing[..1], &nothing] {
            let total = on_cpu(order, tensors);
            assert_eq!(bits(total), (0, 0), "{order:?}");
            for shape in SHAPES {
                assert_eq!(bits(emulated(order, tensors, shape, 1)), (0, 0), "{order:?}");
            }
        }
        // Behind the others they change no bit.
        let some = list(5, 3000);
        let more = [&some[..], &nothing].concat();
        assert_eq!(bits(on_cpu(order, &some)), bits(on_cpu(order, &more)), "{order:?}");
    }
}

/// The norm of one tensor is that of the operator.
#[test]
fn one_tensor_has_the_norm_that_it_has_alone() {
    for len in [1, 5, 1000, 1025, 70_000] {
        let values = numbers(len);
        let of = |order| {
            grad_norm(order)
                .on_cpu(&[(&values).into()])
                .expect("a norm")
                .norm
                .to_bits()
        };
        let bits = |norm: Result<f32, Error>| norm.expect("a norm").to_bits();
        assert_eq!(of(Order::L1), bits(cpu::reduce(ops::NormL1, &values)));
        assert_eq!(of(Order::L2), bits(cpu::reduce(ops::NormL2, &values)));
        assert_eq!(of(Order::Inf), bits(cpu::reduce(ops::NormInf, &values)));
        assert_eq!(of(Order::P(2.5)), bits(cpu::reduce(ops::NormLp { p: 2.5 }, &values)));
        // Of narrower ones the same, but for the rounding to their type.
        let halves: Vec<f16> = values.iter().map(|x| f16::from_f32(*x)).collect();
        let total = grad_norm(Order::Inf).on_cpu(&[(&halves).into()]).expect("a norm").norm;
        assert_eq!(
            f16::from_f32(total),
            cpu::reduce(ops::NormInf, &halves).expect("a norm")
        );
    }
}

fn numbers(len: usize) -> Vec<f32> {
    match Tensor::numbers(0, len, len as u64) {
        Tensor::F32(values) => values,
        other => panic!("{other:?}"),
    }
}

/// The sum of powers of magnitudes, with an error far below that of the norms.
fn exact_sum(tensors: &[Tensor], power: impl Fn(f64) -> f64) -> f64 {
    let (mut sum, mut rest) = (0.0_f64, 0.0);
    for x in tensors.iter().flat_map(Tensor::wide) {
        let term = power(f64::from(x).abs());
        let next = sum + term;
        rest += if sum >= term {
            term - (next - sum)
        } else {
            sum - (next - term)
        };
        sum = next;
    }
    sum + rest
}

/// Levels of the tree: of the leaf of the largest, the leaves, the tensors.
fn levels(tensors: &[Tensor]) -> f64 {
    let log = |n: usize| f64::from(usize::BITS - n.max(1).saturating_sub(1).leading_zeros());
    let leaves = tensors.iter().map(|tensor| tensor.wide().len().div_ceil(1024)).max();
    11.0 + log(leaves.unwrap_or(0)) + log(tensors.len())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// The bounds of `docs/gradients.md`.
    #[test]
    fn norms_are_near_those_of_exact_arithmetic(seed in any::<u64>(), scale in -60_i32..60) {
        let tensors: Vec<Tensor> = list(seed, 20_000)
            .into_iter()
            .map(|tensor| match tensor {
                Tensor::F32(values) => Tensor::F32(values.iter().map(|x| x * 2.0_f32.powi(scale)).collect()),
                other => other,
            })
            .collect();
        let d = levels(&tensors);
        let (u, v) = (2.0_f64.powi(-24), 2.0_f64.powi(-53));
        let n: f64 = tensors.iter().map(|tensor| tensor.wide().len() as f64).sum();
        let near = |order: Order, exact: f64, bound: f64| {
            let total = on_cpu(order, &tensors);
            let off = (f64::from(total.norm) - exact).abs();
            // What is subnormal is rounded to a step.
            assert!(off <= bound * exact + 2.0_f64.powi(-150), "{order:?}: {} for {exact}, of {bound}", total.norm);
        };
        near(Order::L1, exact_sum(&tensors, |x| x), d * u / (1.0 - d * u) + 1e-14);
        near(Order::L2, exact_sum(&tensors, |x| x * x).sqrt(), u + (d / 2.0 + 2.0) * v);
        let largest = tensors.iter().flat_map(Tensor::wide).map(|x| f64::from(x).abs()).fold(0.0, f64::max);
        near(Order::Inf, largest, 0.0);
        if largest > 0.0 {
            let p = 3.0;
            let exact = largest * exact_sum(&tensors, |x| (x / largest).powi(3)).cbrt();
            let lp = u + (4.0 * 103.3 + 1.0 + (2.3 * d + 3.0 * n.ln()) / p) * v;
            near(Order::P(p), exact, lp + 1e-13);
        }
    }

    /// A list in two has the norm of both.
    #[test]
    fn what_is_not_finite_is_found_wherever_it_is(seed in any::<u64>(), of in 0_u64..3, at in 0_usize..5000, which in 0_usize..3) {
        let mut tensors = list(seed, 4000);
        let mut odd = Tensor::numbers(of, 5000, seed);
        let value = [f32::NAN, f32::INFINITY, f32::NEG_INFINITY][which];
        match &mut odd {
            Tensor::F32(values) => values[at] = value,
            Tensor::F16(values) => values[at] = f16::narrowed(value),
            Tensor::Bf16(values) => values[at] = bf16::narrowed(value),
        }
        tensors.insert(seed as usize % (tensors.len() + 1), odd);
        for order in ORDERS {
            let total = on_cpu(order, &tensors);
            prop_assert_eq!(total.not_finite, 1);
            let expected = if which == 0 { f32::NAN } else { f32::INFINITY };
            prop_assert_eq!(total.norm.to_bits(), expected.to_bits());
            let mut clipped = tensors.clone();
            let mut views: Vec<FloatsMut<'_>> = clipped.iter_mut().map(Tensor::floats_mut).collect();
            grad_norm(order).clip_on_cpu(&mut views, 1e-3).expect("a norm");
            prop_assert_eq!(all_bits(&clipped), all_bits(&tensors), "left as they are");
        }
    }
}

fn all_bits(tensors: &[Tensor]) -> Vec<Vec<u32>> {
    tensors.iter().map(|tensor| tensor.of(0).bits).collect()
}

/// The kernel that clips, in and off a boundary, and the CPU; and by PyTorch's formula.
#[test]
fn clipping_multiplies_each_element_once() {
    for seed in 0..8 {
        let mut tensors = list(seed, 5000);
        tensors.push(Tensor::numbers(seed, 4096 + 8, seed));
        for max_norm in [1.0_f32, 0.03, 1e9] {
            let total = on_cpu(Order::L2, &tensors);
            let mut clipped = tensors.clone();
            let mut views: Vec<FloatsMut<'_>> = clipped.iter_mut().map(Tensor::floats_mut).collect();
            let told = grad_norm(Order::L2).clip_on_cpu(&mut views, max_norm).expect("a norm");
            assert_eq!(bits(told), bits(total));
            let factor = (max_norm / (total.norm + 1e-6)).min(1.0);
            for (before, after) in tensors.iter().zip(&clipped) {
                let narrowed = |x: f32| match before {
                    Tensor::F32(_) => x,
                    Tensor::F16(_) => f16::from_f32(x).to_f32(),
                    Tensor::Bf16(_) => bf16::from_f32(x).to_f32(),
                };
                let expected: Vec<f32> = before.wide().iter().map(|x| narrowed(x * factor)).collect();
                assert_eq!(after.wide(), expected);
            }
            for (i, shape) in SHAPES.into_iter().enumerate() {
                let gap = [0, 8, 1, 3][(i + seed as usize) % 4];
                let inputs: Vec<_> = tensors.iter().map(|tensor| tensor.of([0, 0, 2, 1][i])).collect();
                let emulated = clip_tensors(&inputs, [total.norm, max_norm], gap, shape, seed);
                let emulated = emulated.unwrap_or_else(|fault| panic!("{fault}\n{shape:?}, seed {seed}"));
                for (got, after) in emulated.into_iter().zip(&clipped) {
                    let after = after.of(0).bits;
                    match got {
                        Some(got) => assert_eq!(got, after, "{shape:?}, seed {seed}"),
                        None => assert!(factor >= 1.0 || after.is_empty(), "{shape:?}, seed {seed}"),
                    }
                }
            }
        }
    }
    // A norm that is not finite leaves them as they are.
    let tensors = [Tensor::numbers(0, 40, 1).of(0)];
    for norm in [f32::NAN, f32::INFINITY] {
        let clipped = clip_tensors(&tensors, [norm, 1.0], 0, SHAPES[1], 1).expect("no fault");
        assert_eq!(clipped, [None]);
    }
}

#[test]
fn what_has_no_meaning_is_told() {
    let values = [1.0_f32];
    let tensors: [Floats<'_>; 1] = [(&values).into()];
    for p in [0.5, 0.0, -1.0, f64::NAN, f64::NEG_INFINITY] {
        let error = grad_norm(Order::P(p)).on_cpu(&tensors).expect_err("no order");
        assert!(error.to_string().contains("the order is"), "{error}");
    }
    assert_eq!(
        [1.0, 2.0, f64::INFINITY, 2.5].map(Order::of),
        [Order::L1, Order::L2, Order::Inf, Order::P(2.5)]
    );
    let mut values = vec![3.0_f32];
    for max_norm in [-1.0, f32::NAN] {
        let error = grad_norm(Order::L2)
            .clip_on_cpu(&mut [(&mut values).into()], max_norm)
            .expect_err("none");
        assert!(error.to_string().contains("max_norm is"), "{error}");
    }
    assert_eq!(values, [3.0]);
}

/// The recorded bits: `WARPFOLD_BLESS=1` writes them anew, with a new version.
#[test]
fn golden_gradients() {
    let text = golden();
    if std::env::var_os("WARPFOLD_BLESS").is_some() {
        std::fs::write(GOLDEN_PATH, &text).expect("written");
    }
    assert_eq!(text, GOLDEN, "the bits of a norm changed");
    for number in 0..GOLDEN_LISTS {
        on_cpu(Order::L2, &golden_list(number));
    }
}

/// What `f` gives on so many threads of its own.
fn rayon<R: Send>(threads: usize, f: impl FnOnce() -> R + Send) -> R {
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads)
        .build()
        .expect("threads")
        .install(f)
}
