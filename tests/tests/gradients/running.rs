//! Tensors one after the other, whole and in pieces, and lists with f64 and FP8.

use warpfold::{
    Error,
    gradients::{Floats, Order, TotalNorm, grad_norm},
    ops,
};
use warpfold_tests::{
    gradients::{AnyTensor, ORDERS, any_list, spec_of_any},
    rows::doubles,
};

/// What the CPU has of tensors of any types, which is the specification's.
fn any_on_cpu(order: Order, tensors: &[AnyTensor]) -> TotalNorm {
    let floats: Vec<Floats<'_>> = tensors.iter().map(AnyTensor::floats).collect();
    let total = grad_norm(order).on_cpu(&floats).expect("a norm");
    let (norm, not_finite) = spec_of_any(order, tensors);
    assert_eq!(total.norm_f64.to_bits(), norm.to_bits(), "{order:?}");
    assert_eq!(total.not_finite, not_finite, "{order:?}");
    if !norm.is_nan() {
        assert_eq!(total.norm, norm as f32, "{order:?}");
    }
    total
}

/// The same list, one tensor after the other, some whole and some in pieces of a length that the seed chooses.
fn running(order: Order, tensors: &[Floats<'_>], seed: u64) -> TotalNorm {
    let mut running = grad_norm(order).running().expect("an order");
    for (tensor, i) in tensors.iter().zip(seed..) {
        if i % 3 == 0 {
            running.push(*tensor);
            continue;
        }
        let piece = 4096 << (i % 4);
        let mut pieces = running.tensor(tensor.element(), piece).expect("a type that has norms");
        for first in (0..tensor.len()).step_by(piece as usize) {
            pieces.push(part(*tensor, first, piece as usize)).expect("a piece");
        }
        pieces.end();
    }
    assert_eq!(running.tensors(), tensors.len());
    running.finish()
}

/// Some elements of a tensor.
fn part(tensor: Floats<'_>, first: usize, len: usize) -> Floats<'_> {
    let range = first..(first + len).min(tensor.len());
    match tensor {
        Floats::F32(values) => values[range].into(),
        Floats::F16(values) => values[range].into(),
        Floats::Bf16(values) => values[range].into(),
        Floats::F64(values) => values[range].into(),
        Floats::F8E4M3(values) => values[range].into(),
        Floats::F8E5M2(values) => values[range].into(),
    }
}

/// Tensors of all types, at once and one after the other, whole and in pieces.
#[test]
fn running_norms_have_the_bits_of_the_whole_list() {
    for seed in 0..24 {
        let mut tensors = any_list(seed, 50_000);
        for tensor in &mut tensors {
            match tensor {
                AnyTensor::Narrow(tensor) if seed % 4 == 3 => *tensor = tensor.clone().planted(seed),
                AnyTensor::F64(values) if seed % 4 == 1 && !values.is_empty() => {
                    let at = seed as usize % values.len();
                    values[at] = [f64::NAN, f64::INFINITY][seed as usize / 4 % 2];
                }
                _ => {}
            }
        }
        let floats: Vec<Floats<'_>> = tensors.iter().map(AnyTensor::floats).collect();
        for order in ORDERS {
            let whole = any_on_cpu(order, &tensors);
            let all = |total: TotalNorm| (total.norm.to_bits(), total.norm_f64.to_bits(), total.not_finite);
            for split in 0..3 {
                assert_eq!(
                    all(running(order, &floats, split)),
                    all(whole),
                    "{order:?}, seed {seed}"
                );
            }
        }
    }
}

/// The bounds of `docs/gradients.md` for lists with f64, whose numbers would overflow f32.
#[test]
fn norms_of_f64_are_near_those_of_exact_arithmetic() {
    let v = 2.0_f64.powi(-53);
    for (seed, exponent) in [(1, 0), (2, 900), (3, -1000), (4, 40)] {
        let lists = [1, 64, 4097, 30_000].map(|len| doubles(len, seed, exponent));
        let tensors = lists.clone().map(AnyTensor::F64);
        let values = lists.concat();
        let largest = values.iter().fold(0.0_f64, |largest, x| largest.max(x.abs()));
        // Twice the precision: sums of what is no larger than 1, and of their squares with their rounding errors.
        let sum = |term: &dyn Fn(f64) -> (f64, f64)| {
            let (mut sum, mut rest) = (0.0_f64, 0.0);
            for x in &values {
                let (term, error) = term(x.abs() / largest);
                let next = sum + term;
                let back = next - sum;
                rest += (sum - (next - back)) + (term - back) + error;
                sum = next;
            }
            sum + rest
        };
        let d = f64::from(9 + 1 + 30_000_u32.div_ceil(512).next_power_of_two().ilog2() + 2);
        let near = |order: Order, exact: f64, bound: f64| {
            let norm = any_on_cpu(order, &tensors).norm_f64;
            // The division by the largest is rounded, too.
            assert!(
                (norm / largest - exact).abs() <= (bound + 2.0 * v) * exact,
                "{order:?}, 2^{exponent}"
            );
        };
        near(Order::L1, sum(&|x| (x, 0.0)), d * v);
        near(
            Order::L2,
            sum(&|x| (x * x, x.mul_add(x, -(x * x)))).sqrt(),
            (d / 2.0 + 2.0) * v,
        );
        near(Order::Inf, 1.0, 0.0);
        let n = values.len() as f64;
        let logarithm = largest.ln().abs() + 60.0;
        let cubes = sum(&|x| (x * x * x, 0.0)).cbrt();
        near(
            Order::P(3.0),
            cubes,
            (4.0 * logarithm + 1.0 + (2.3 * d + 3.0 * n.ln() + 3.0) / 3.0) * v,
        );
    }
}

/// Of f32 alone the f64 norm is the same number; an empty tensor of f64 makes the list one of f64, and changes no number.
#[test]
fn edges_of_lists_with_f64() {
    let (nothing, ones) = ([0.0_f64; 0], [1.0_f32; 9]);
    for order in ORDERS {
        let of = |tensors: &[Floats<'_>]| grad_norm(order).on_cpu(tensors).expect("a norm");
        assert_eq!(of(&[(&nothing).into()]), TotalNorm::default(), "{order:?}");
        let narrow = of(&[(&ones).into()]);
        assert_eq!(narrow.norm_f64, f64::from(narrow.norm), "{order:?}");
        assert_eq!(of(&[(&ones).into(), (&nothing).into()]).norm, narrow.norm, "{order:?}");
        let large = of(&[(&[1e300_f64, -1e300]).into(), (&ones).into()]);
        assert_eq!((large.norm, large.not_finite), (f32::INFINITY, 0), "{order:?}");
        assert!(large.norm_f64.is_finite(), "{order:?}");
        for (value, expected) in [(f64::NAN, f64::NAN), (f64::NEG_INFINITY, f64::INFINITY)] {
            let total = of(&[(&ones).into(), (&[value]).into(), (&ones).into()]);
            assert_eq!(
                (total.norm_f64.to_bits(), total.not_finite),
                (expected.to_bits(), 1),
                "{order:?}"
            );
            assert_eq!(total.norm.to_bits(), (expected as f32).to_bits(), "{order:?}");
        }
        let narrow = of(&[(&[f32::NAN]).into(), (&[1.0_f64]).into()]);
        assert_eq!(
            (narrow.norm_f64.to_bits(), narrow.not_finite),
            (f64::NAN.to_bits(), 1),
            "{order:?}"
        );
    }
}

/// What a running norm refuses leaves it as it was.
#[test]
fn pieces_that_do_not_fit_are_refused() {
    let mut running = grad_norm(Order::L2).running().expect("an order");
    let values = vec![1.0_f32; 5000];
    running.push((&values).into());
    let message = |error: Error| error.to_string();
    let integers = running.tensor(ops::element::Type::I64, 4096).map(drop);
    assert!(message(integers.expect_err("integers")).starts_with("tensor 1 is of i64"));
    let odd = running.tensor(ops::element::Type::F32, 1000).map(drop);
    assert!(matches!(odd, Err(Error::PieceLength { .. })));
    let mut tensor = running.tensor(ops::element::Type::F32, 1024).expect("f32");
    let mixed = tensor.push((&[1.0_f64]).into()).expect_err("f64");
    assert!(message(mixed).starts_with("a piece of f64 of tensor 1, which is of f32"));
    let long = tensor.push((&values).into());
    assert!(matches!(long, Err(Error::PieceOrder { .. })));
    // Dropped, not ended.
    drop(tensor);
    assert_eq!(
        running.finish(),
        grad_norm(Order::L2).on_cpu(&[(&values).into()]).expect("a norm")
    );
    assert!(grad_norm(Order::P(0.5)).running().is_err());
}
