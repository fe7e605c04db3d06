//! Along axes, the GPU gives each extent the bits that the CPU gives it alone.

use cust::memory::DeviceBuffer;
use warpfold::{
    DeviceView, Error, View, fold,
    gpu::Gpu,
    layout::{Axes, Extents, Folded, Layout},
    ops::{self, Reduction},
};
use warpfold_kernels::{
    element::{Element, Type, bf16},
    monoids::Words,
};
use warpfold_tests::{
    Bits, backends, each_operation, each_statistic,
    operations::extents,
    samples::{self, elements},
};

use crate::types::{Array, Cpu};

/// An array at an address, as a layout has it: the test has its elements there, and keeps them for as long.
fn view<'a, T: Element>(address: u64, layout: &Layout) -> DeviceView<'a, T> {
    let len = layout.reach().map_or(0, |reach| reach.1);
    // SAFETY: as above.
    let view = unsafe { DeviceView::from_raw(address, len) };
    view.with_layout(layout).expect("within the array")
}

/// An array of a type, a layout of it, and the axis that is folded.
struct Case {
    layout: Layout,
    axis: i64,
    array: Array,
}

impl Case {
    /// In C order, misaligned by as many elements as its number says.
    fn new(ty: Type, number: usize, shape: &[u64], axis: i64) -> Self {
        let layout = Layout::c_order(shape).expect("small");
        let misalign = if number.is_multiple_of(2) {
            0
        } else {
            number % extents(ty)[0]
        };
        let sample = samples::ALL[number % samples::ALL.len()];
        let array = Array::new(ty, sample, layout.len() as usize, misalign);
        Self { layout, axis, array }
    }

    /// The elements of each extent.
    fn extents(&self) -> impl Iterator<Item = Vec<u64>> {
        let extents = Extents::new(&self.layout, &Axes::of(&[self.axis])).expect("an axis");
        (0..extents.count).map(move |answer| {
            let start = extents.start(answer);
            let at = |element| self.array.elements[start.wrapping_add_signed(extents.step(element)) as usize];
            (0..extents.len).map(at).collect()
        })
    }

    fn folded<T: Element, R: Reduction<T>>(&self, op: R, gpu: &Gpu) -> Result<Folded<R::Answer>, Error> {
        let view = view::<T>(self.array.address(), &self.layout);
        fold(op).axis(self.axis).on(gpu, view)
    }

    fn answers<T: Element, R: Reduction<T>>(&self, op: R, gpu: &Gpu) -> Vec<Bits> {
        let folded = self.folded::<T, R>(op, gpu);
        folded.expect("not empty").answers.into_iter().map(Bits::of).collect()
    }
}

/// Rows, columns and middle axes about the edges of a vector, a row and a leaf of the tree.
fn cases(ty: Type) -> Vec<Case> {
    let [vector, row, leaf] = extents(ty).map(|edge| edge as u64);
    let mut shapes = vec![];
    for (i, len) in [
        1,
        2,
        vector,
        vector + 1,
        row - 1,
        row,
        3 * row,
        leaf - vector,
        leaf,
        leaf + 1,
        5 * leaf + 3,
    ]
    .into_iter()
    .enumerate()
    {
        let others = [1, 5, 33][i % 3];
        shapes.push((vec![others, len], 1));
        shapes.push((vec![len, others], 0));
        shapes.push((vec![2, len, 3], 1));
    }
    let case = |(i, (shape, axis)): (usize, (Vec<u64>, i64))| Case::new(ty, i, &shape, axis);
    shapes.into_iter().enumerate().map(case).collect()
}

pub fn quick_axes_of_every_type(gpu: &Gpu) {
    fn agrees<T: Element, R: Reduction<T>>(op: R, gpu: &Gpu, cpu: &Cpu, at: &mut Option<(Type, Vec<Case>)>) {
        if at.as_ref().is_none_or(|(ty, _)| *ty != T::TYPE) {
            *at = Some((T::TYPE, cases(T::TYPE)));
        }
        for case in at.iter().flat_map(|(_, cases)| cases) {
            let alone = |extent: Vec<u64>| cpu.of(R::NAME, T::TYPE).cpu(&extent).expect("not empty");
            let expected: Vec<Bits> = case.extents().map(alone).collect();
            let what = (R::NAME, T::TYPE, &case.layout, case.axis);
            assert_eq!(case.answers::<T, R>(op, gpu), expected, "{what:?}");
        }
    }
    each_operation!(agrees(gpu, &Cpu::new(), &mut None));
}

pub fn quick_axes_of_statistics(gpu: &Gpu) {
    fn agrees<T: Element, R: Reduction<T>>(op: R, gpu: &Gpu) {
        for case in cases(T::TYPE) {
            let alone = |extent: Vec<u64>| backends::cpu(op, &elements::<T>(&extent)).expect("not empty");
            let expected: Vec<Bits> = case.extents().map(alone).collect();
            let what = (R::NAME, T::TYPE, &case.layout, case.axis);
            assert_eq!(case.answers::<T, R>(op, gpu), expected, "{what:?}");
        }
    }
    each_statistic!(agrees(gpu));
}

/// Many answers, and long extents of few: every way to divide the work. A row's answer is the same among others and alone.
pub fn axes_of_every_size(gpu: &Gpu) {
    fn agrees<T: Element, R: Reduction<T>>(op: R, gpu: &Gpu, number: usize, shape: &[u64], axis: i64) {
        let case = Case::new(T::TYPE, number, shape, axis);
        let alone = |extent: Vec<u64>| backends::cpu(op, &elements::<T>(&extent)).expect("not empty");
        let expected: Vec<Bits> = case.extents().map(alone).collect();
        assert_eq!(
            case.answers::<T, R>(op, gpu),
            expected,
            "{} of {shape:?} along {axis}",
            R::NAME
        );
    }
    let shapes: [(&[u64], i64); 12] = [
        (&[70_001, 3], 1),
        (&[70_001, 3], 0),
        (&[20_000, 100], 1),
        (&[20_000, 100], 0),
        (&[3000, 1025], 1),
        (&[3000, 1025], 0),
        (&[2, 1_500_000], 1),
        (&[2, 1_500_000], 0),
        (&[1_500_000, 2], 0),
        (&[40, 60, 1000], 1),
        (&[1000, 50_257], 1),
        (&[5, 300_000, 7], 1),
    ];
    for (i, (shape, axis)) in shapes.into_iter().enumerate() {
        agrees::<f32, _>(ops::Sum, gpu, 2 * i, shape, axis);
        agrees::<f32, _>(ops::ArgMax, gpu, i, shape, axis);
        agrees::<bf16, _>(ops::LogSumExp, gpu, i, shape, axis);
        agrees::<u8, _>(ops::Max, gpu, i, shape, axis);
        agrees::<f64, _>(ops::Sum, gpu, i, shape, axis);
        agrees::<f64, _>(ops::Exact(ops::Sum), gpu, i, shape, axis);
        agrees::<f32, _>(ops::InF64(ops::Sum), gpu, i, shape, axis);
        agrees::<f32, _>(ops::Describe::default(), gpu, i, shape, axis);
    }
}

fn bits<A: Words>(folded: Folded<A>) -> (Vec<u64>, Vec<Bits>) {
    (folded.shape, folded.answers.into_iter().map(Bits::of).collect())
}

/// Strides that skip, go backwards or repeat, and dimensions that are no one run.
pub fn quick_any_strides(gpu: &Gpu) {
    let len = 60_000;
    let array = Array::new(Type::F32, samples::ALL[0], len, 0);
    let values = elements::<f32>(&array.elements);
    let layouts: [(&[u64], &[i64], u64); 6] = [
        (&[100, 50], &[600, 2], 1),
        (&[100, 50], &[-600, -3], 59_999),
        (&[30, 40, 20], &[1, 1000, 40], 5),
        (&[7, 1000, 3], &[0, 3, 1], 0),
        (&[5, 20, 10, 12], &[12_000, 60, 1200, 5], 0),
        (&[2, 3, 2, 3, 2, 3], &[9, 100, -3, 1000, 1, 10_000], 50),
    ];
    for (shape, strides, offset) in layouts {
        let layout = Layout::strided(shape, strides, offset).expect("small");
        layout.check(len as u64).expect("within the array");
        let whole = fold(ops::ArgMin).on(gpu, view::<f32>(array.address(), &layout));
        let expected = fold(ops::ArgMin).on_cpu(View::new(&values, &layout).expect("within the array"));
        assert_eq!(whole.expect("not empty"), expected.expect("not empty"), "{layout:?}");
        let rank = shape.len() as i64;
        for folded in 0..1_u64 << rank {
            let axes: Vec<i64> = (0..rank).filter(|axis| folded >> axis & 1 == 1).collect();
            let axes = Axes::of(&axes);
            let expected = warpfold::cpu::reduce_axes(ops::ArgMin, &values, &layout, &axes).expect("not empty");
            let answers = fold(ops::ArgMin)
                .along(axes.clone())
                .on(gpu, view::<f32>(array.address(), &layout));
            assert_eq!(
                bits(answers.expect("not empty")),
                bits(expected),
                "{layout:?} along {axes:?}"
            );
            let expected = warpfold::cpu::reduce_axes(ops::Sum, &values, &layout, &axes).expect("not empty");
            let answers = gpu
                .reduce_host_axes(ops::Sum, &values, &layout, &axes)
                .expect("not empty");
            assert_eq!(bits(answers), bits(expected), "{layout:?} along {axes:?}");
            let op = ops::Describe::default();
            let expected = warpfold::cpu::reduce_axes(op, &values, &layout, &axes).expect("an array");
            let answers = gpu.reduce_host_axes(op, &values, &layout, &axes).expect("an array");
            assert_eq!(bits(answers), bits(expected), "{layout:?} along {axes:?}");
            let (op, values) = (
                ops::Exact(ops::Sum),
                values.iter().map(|value| f64::from(*value)).collect::<Vec<_>>(),
            );
            let expected = warpfold::cpu::reduce_axes(op, &values, &layout, &axes).expect("an array");
            let answers = gpu.reduce_host_axes(op, &values, &layout, &axes).expect("an array");
            assert_eq!(bits(answers), bits(expected), "{layout:?} along {axes:?}");
        }
    }
}

pub fn quick_axes_that_are_wrong(gpu: &Gpu) {
    let input = DeviceBuffer::from_slice(&[1.0_f32; 12]).expect("device memory");
    let layout = Layout::c_order(&[3, 4]).expect("small");
    let fold = |layout: &Layout, axes: &[i64]| gpu.reduce_axes(ops::Max, &input, layout, &Axes::of(axes));
    assert!(matches!(fold(&layout, &[2]), Err(Error::NoAxis { .. })));
    assert!(matches!(fold(&layout, &[1, -1]), Err(Error::AxisTwice { .. })));
    let larger = Layout::c_order(&[3, 5]).expect("small");
    assert!(matches!(fold(&larger, &[0]), Err(Error::OutOfBounds { .. })));
    let empty = Layout::c_order(&[3, 0]).expect("small");
    assert!(matches!(fold(&empty, &[1]), Err(Error::EmptyExtent { .. })));
    assert!(fold(&empty, &[0]).expect("no extents").answers.is_empty());
    let sums = gpu
        .reduce_axes(ops::Sum, &input, &empty, &Axes::of(&[1]))
        .expect("a sum of nothing");
    assert_eq!((sums.shape, sums.answers), (vec![3], vec![0.0; 3]));
}
