//! complex128, whose elements are vectors of their own: the specification by parts, and the bits of the CPU from each kernel on the
//! emulator. The other tests hold an element in 64 bits.

use warpfold::{
    Plan, cpu,
    layout::{Axes, Extents, Layout, Segments},
    ops::{Mean, NormInf, NormL2, Product, Reduction, Sum, element::complex128},
    plan::Shape,
};
use warpfold_kernels::kernels::Kernel;
use warpfold_tests::{Bits, backends, samples, spec::fold_columns};

/// Elements in a row of the tree, and in a leaf.
const ROW: usize = 32;
const LEAF: usize = 8 * ROW;

const LENGTHS: [usize; 9] = [1, 2, 31, ROW, ROW + 1, LEAF - 1, LEAF, 5 * LEAF + 7, 70_001];

fn parts(values: &[complex128]) -> [Vec<f64>; 2] {
    [
        values.iter().map(|value| value.re).collect(),
        values.iter().map(|value| value.im).collect(),
    ]
}

fn sum(values: &[f64]) -> f64 {
    fold_columns(ROW, values, -0.0, |a, b| a + b)
}

/// By 1, the number itself; else each product is rounded, and the sum of two.
fn product(a: [f64; 2], b: [f64; 2]) -> [f64; 2] {
    let is_one = |[re, im]: [f64; 2]| re == 1.0 && im.to_bits() == 0;
    match (is_one(a), is_one(b)) {
        (_, true) => a,
        (true, _) => b,
        _ => [a[0] * b[0] - a[1] * b[1], a[0] * b[1] + a[1] * b[0]],
    }
}

/// As an answer has it: one NaN.
fn bits(value: f64) -> u64 {
    if value.is_nan() {
        f64::NAN.to_bits() & !(1 << 63)
    } else {
        value.to_bits()
    }
}

fn both(value: complex128) -> [u64; 2] {
    [value.re, value.im].map(bits)
}

#[test]
fn answers_are_those_of_the_parts() {
    for len in LENGTHS {
        for special in [false, true] {
            let values = samples::complex128s(len, special);
            let [re, im] = parts(&values);
            let sums = [sum(&re), sum(&im)];
            assert_eq!(both(cpu::reduce(Sum, &values).unwrap()), sums.map(bits), "{len}");
            let [re, im] = fold_columns(
                ROW,
                &values.iter().map(|value| [value.re, value.im]).collect::<Vec<_>>(),
                [1.0, 0.0],
                product,
            );
            assert_eq!(
                both(cpu::reduce(Product, &values).unwrap()),
                [re, im].map(bits),
                "{len}"
            );
            let means = sums.map(|sum| bits(sum / len as f64));
            assert_eq!(both(cpu::reduce(Mean, &values).unwrap()), means, "{len}");
            let squares: Vec<f64> = values
                .iter()
                .map(|value| value.re * value.re + value.im * value.im)
                .collect();
            let root = fold_columns(ROW, &squares, 0.0, |a, b| a + b).sqrt();
            assert_eq!(bits(cpu::reduce(NormL2, &values).unwrap()), bits(root), "{len}");
            let largest = cpu::reduce(NormInf, &values).unwrap();
            let has_nan = values.iter().any(|value| value.re.is_nan() || value.im.is_nan());
            let moduli = values.iter().map(|value| value.re.hypot(value.im));
            let expected = moduli.fold(0.0, |a: f64, b| if b > a { b } else { a });
            if has_nan {
                assert_eq!(largest.to_bits(), bits(f64::NAN));
            } else if expected.is_finite() {
                // Each is less than 2 units in the last place from the exact one.
                assert!(
                    (largest - expected).abs() <= 4.0 * f64::EPSILON * expected,
                    "{largest} {expected}"
                );
            } else {
                assert_eq!(largest, expected);
            }
        }
    }
}

#[test]
fn whole_numbers_are_summed_exactly() {
    let values: Vec<complex128> = (1..=1000)
        .map(|i| complex128::new(f64::from(i), -2.0 * f64::from(i)))
        .collect();
    assert_eq!(
        cpu::reduce(Sum, &values).unwrap(),
        complex128::new(500_500.0, -1_001_000.0)
    );
    assert_eq!(cpu::reduce(Mean, &values).unwrap(), complex128::new(500.5, -1001.0));
    assert_eq!(cpu::reduce(NormInf, &[complex128::new(3e300, -4e300)]).unwrap(), 5e300);
    // As those of f64, squares are scaled where they would over- or underflow.
    for size in [3e300, 3e-300] {
        assert_eq!(cpu::reduce(NormL2, &[complex128::new(size, 0.0)]).unwrap(), size);
    }
    let turns = [complex128::new(1.0, 1.0); 8];
    assert_eq!(cpu::reduce(Product, &turns).unwrap(), complex128::new(16.0, 0.0));
    // Nothing of a number is lost by 1.
    let ones = [
        complex128::new(1.0, 0.0),
        complex128::new(f64::INFINITY, -0.0),
        complex128::new(1.0, 0.0),
    ];
    assert_eq!(both(cpu::reduce(Product, &ones).unwrap()), both(ones[1]));
    assert_eq!(
        cpu::reduce::<complex128, _>(Product, &[]).unwrap(),
        complex128::new(1.0, 0.0)
    );
    assert_eq!(both(cpu::reduce::<complex128, _>(Sum, &[]).unwrap()), [0, 0]);
    assert!(cpu::reduce::<complex128, _>(Mean, &[]).unwrap().re.is_nan());
}

fn each(f: impl Fn(&dyn Fold)) {
    f(&Of(Sum));
    f(&Of(Product));
    f(&Of(Mean));
    f(&Of(NormL2));
    f(&Of(NormInf));
}

struct Of<R>(R);

/// An operator, by what is asked of it.
trait Fold {
    fn whole(&self, values: &[complex128], shape: Shape, seed: u64);
    fn along(&self, values: &[complex128], extents: &Extents, layout: &Layout, axis: i64, seed: u64) -> Kernel;
    fn segments(&self, values: &[complex128], segments: &Segments, apart: bool, seed: u64);
}

impl<R: Reduction<complex128>> Fold for Of<R> {
    fn whole(&self, values: &[complex128], shape: Shape, seed: u64) {
        for plan in backends::plans(self.0, values.len() as u64, shape) {
            let emulated = backends::emulator(self.0, values, &plan, 0, seed).map(|emulated| emulated.answer);
            assert_eq!(emulated, backends::cpu(self.0, values), "{plan}");
        }
    }
    fn along(&self, values: &[complex128], extents: &Extents, layout: &Layout, axis: i64, seed: u64) -> Kernel {
        let plan = Plan::along(self.0.entry(), extents).unwrap();
        let emulated = backends::emulator_along(self.0.monoid(), values, &plan, extents, 0, seed).0;
        let emulated: Vec<Bits> = emulated.into_iter().map(Bits::of).collect();
        let folded = cpu::reduce_axes(self.0, values, layout, &Axes::of(&[axis])).unwrap();
        assert_eq!(
            emulated,
            folded.answers.into_iter().map(Bits::of).collect::<Vec<_>>(),
            "{plan}"
        );
        plan.entry.kernel
    }
    fn segments(&self, values: &[complex128], segments: &Segments, apart: bool, seed: u64) {
        let plan = Plan::segments(self.0.entry(), segments.len(), segments.count() as u64).unwrap();
        let emulated = backends::emulator_segments(self.0.monoid(), values, &plan, segments, apart, seed).0;
        let folded = cpu::reduce_segments(self.0, values, segments).unwrap();
        let bits = |answers: Vec<R::Answer>| answers.into_iter().map(Bits::of).collect::<Vec<_>>();
        assert_eq!(bits(emulated), bits(folded), "{plan}");
    }
}

#[test]
fn kernels_have_the_cpus_bits() {
    for (i, len) in LENGTHS.into_iter().take(8).enumerate() {
        let values = samples::complex128s(len, i % 2 == 1);
        let shape = Shape {
            warps: 1 << (i % 3),
            leaves_per_warp: 1 + i as u32 % 2,
            blocks: 1 + i as u32 % 3,
        };
        each(|op| op.whole(&values, shape, i as u64));
    }
}

#[test]
fn kernels_along_axes_have_the_cpus_bits() {
    let mut kernels = vec![];
    for (i, len) in [1_u64, 2, 3, 31, 32, 33, 255, 256, 257].into_iter().enumerate() {
        for (shape, axis) in [(vec![5, len], 1), (vec![len, 5], 0), (vec![2, len, 3], 1)] {
            let mut layout = Layout::c_order(&shape).unwrap();
            if i % 3 == 1 {
                // Each dimension backwards, so that nothing is a run.
                let strides: Vec<i64> = layout.strides().iter().map(|stride| -stride).collect();
                layout = Layout::strided(&shape, &strides, layout.len() - 1).unwrap();
            }
            let values = samples::complex128s(layout.len() as usize, i % 2 == 1);
            let extents = Extents::new(&layout, &Axes::of(&[axis])).unwrap();
            let met = std::cell::RefCell::new(&mut kernels);
            each(|op| {
                met.borrow_mut()
                    .push(op.along(&values, &extents, &layout, axis, i as u64))
            });
        }
    }
    for kernel in [Kernel::All, Kernel::Rows, Kernel::Strided] {
        assert!(kernels.contains(&kernel), "{kernel:?} is not met");
    }
    // Of two axes that are no dimension together, an index is made for each element.
    let layout = Layout::strided(&[3, 4, 5], &[40, 5, 2], 0).unwrap();
    let values = samples::complex128s(200, false);
    let folded = cpu::reduce_axes(Sum, &values, &layout, &Axes::of(&[0, 2])).unwrap();
    let extents = Extents::new(&layout, &Axes::of(&[0, 2])).unwrap();
    let plan = Plan::along(Reduction::<complex128>::entry(Sum), &extents).unwrap();
    let emulated = backends::emulator_along(Reduction::<complex128>::monoid(Sum), &values, &plan, &extents, 0, 3).0;
    assert_eq!(emulated, folded.answers);
}

#[test]
fn kernels_in_segments_have_the_cpus_bits() {
    let lens = [0, 1, 2, 3, 31, 32, 33, 64, 0, 255, 256, 257, 2000, 1, 1];
    let values = samples::complex128s(lens.iter().sum::<u64>() as usize, true);
    let segments = Segments::by_lens(lens).unwrap();
    for apart in [false, true] {
        each(|op| op.segments(&values, &segments, apart, 7));
    }
}
