//! Of what a mask selects the GPU gives the CPU's bits.

use cust::memory::DeviceBuffer;
use warpfold::{
    DeviceView, Error, View, fold,
    gpu::Gpu,
    layout::{Axes, Layout, Segments},
    ops::{
        All, Any, ArgMax, ArgMinLast, CountInf, CountNan, CountNonzero, IgnoreNan, Kurtosis, LogSumExp, Max, Mean, Min,
        NormInf, NormL1, NormL2, Product, Reduction, StdDev, Sum, SumOfSquares, TakesMask, Variance, Where,
    },
};
use warpfold_kernels::{
    element::{Element, Masked, bf16, f16},
    tree::{leaf_elements, row_elements, vector_elements},
};
use warpfold_tests::Bits;

/// An array or a mask, here and on the device, its first element some elements past a boundary of 16 bytes.
struct Array<T> {
    values: Vec<T>,
    buffer: DeviceBuffer<u8>,
    misalign: usize,
}

impl<T: Element> Array<T> {
    fn new(len: usize, misalign: usize, of: impl Fn(usize) -> u64) -> Self {
        // Around it other bits.
        let bits = (0..misalign).map(|_| u64::MAX).chain((0..len).map(&of));
        let bytes = bits
            .chain([u64::MAX; 64])
            .flat_map(|bits| bits.to_le_bytes().into_iter().take(size_of::<T>()));
        let buffer = DeviceBuffer::from_slice(&bytes.collect::<Vec<u8>>()).expect("device memory");
        cust::context::CurrentContext::synchronize().expect("cuCtxSynchronize");
        Self {
            values: (0..len).map(|i| T::from_bits(of(i))).collect(),
            buffer,
            misalign,
        }
    }

    fn on_device(&self) -> DeviceView<'_, T> {
        let address = self.buffer.as_device_ptr().as_raw() + (self.misalign * size_of::<T>()) as u64;
        // SAFETY: the buffer holds the elements, and lives as long as the view.
        unsafe { DeviceView::from_raw(address, self.values.len() as u64) }
    }

    fn on_device_as(&self, layout: &Layout) -> DeviceView<'_, T> {
        self.on_device().with_layout(layout).expect("within the array")
    }
}

/// Elements of an array, and where they lie.
fn view<'a, T: Element>(values: &'a [T], layout: &Layout) -> View<'a, T> {
    View::new(values, layout).expect("within the array")
}

/// Numbers whose bits are few, above `base`.
fn array<T: Element>(base: u64, len: usize, misalign: usize) -> Array<T> {
    Array::new(len, misalign, |i| base + (i * 37 % 251) as u64)
}

/// Most are selected, by whatever byte is not 0.
fn mask(len: usize, seed: usize, misalign: usize) -> Array<u8> {
    Array::new(len, misalign, |i| {
        u64::from(!((i + seed) * 7 + i / 31).is_multiple_of(5)) << (i % 8)
    })
}

fn check<A: warpfold_kernels::monoids::Words>(answers: Result<Vec<A>, Error>, expected: Vec<A>, what: &str) {
    let bits = |answers: Vec<A>| answers.into_iter().map(Bits::of).collect::<Vec<_>>();
    assert_eq!(bits(answers.expect("answers")), bits(expected), "{what}");
}

fn whole<T: Element, Op: TakesMask>(gpu: &Gpu, op: Op, base: u64, lens: &[usize])
where
    Where<Op>: Reduction<Masked<T>>,
{
    for (i, len) in lens.iter().enumerate().filter(|(_, len)| **len > 0) {
        for misaligned in [[0, 0], [0, 1], [i % vector_elements::<T>(), (i + 3) % 16]] {
            let (values, truths) = (array::<T>(base, *len, misaligned[0]), mask(*len, i, misaligned[1]));
            let answer = fold(op).masked(truths.on_device()).on(gpu, values.on_device());
            let expected = fold(op)
                .masked(&truths.values)
                .on_cpu(&values.values)
                .expect("one length");
            let what = format!("{} of {len} {}, misaligned by {misaligned:?}", Op::NAME, T::TYPE.name());
            check(answer.map(|answer| vec![answer]), vec![expected], &what);
        }
    }
}

fn edges<T: Element, Op: TakesMask>(gpu: &Gpu, op: Op, base: u64)
where
    Where<Op>: Reduction<Masked<T>>,
{
    let [vector, row, leaf] = [vector_elements::<T>(), row_elements::<T>(), leaf_elements::<T>()];
    let edges = [1, vector, row, leaf, 2 * leaf, 16 * leaf].into_iter();
    let lens: Vec<usize> = edges.flat_map(|edge| [edge - 1, edge, edge + 1]).collect();
    whole::<T, Op>(gpu, op, base, &lens);
}

fn long<T: Element, Op: TakesMask>(gpu: &Gpu, op: Op, base: u64)
where
    Where<Op>: Reduction<Masked<T>>,
{
    whole::<T, Op>(gpu, op, base, &[1 << 20, 3_000_017, (1 << 24) + 1]);
}

fn along<T: Element, Op: TakesMask>(gpu: &Gpu, op: Op, base: u64)
where
    Where<Op>: Reduction<Masked<T>>,
{
    let c = |shape: &[u64]| Layout::c_order(shape).expect("small");
    let check = |layout: &Layout, of_mask: &Layout, axis: i64| {
        let room = |layout: &Layout| layout.reach().expect("elements").1 as usize;
        let (values, truths) = (array::<T>(base, room(layout), 0), mask(room(of_mask), 1, 1));
        let axes = Axes::of(&[axis]);
        let on_device = fold(op).along(axes.clone()).masked(truths.on_device_as(of_mask));
        let answers = on_device.on(gpu, values.on_device_as(layout));
        let on_cpu = fold(op).along(axes).masked(view(&truths.values, of_mask));
        let expected = on_cpu.on_cpu(view(&values.values, layout)).expect("one shape");
        let what = format!("{} of {}: {layout:?}, {of_mask:?}", Op::NAME, T::TYPE.name());
        check(answers.map(|folded| folded.answers), expected.answers, &what);
    };
    for (rows, columns) in [(70, 5), (33, 64), (40, 768), (3, 5000), (2, 100_001)] {
        let matrix = c(&[rows, columns]);
        check(&matrix, &matrix, 1);
        check(&matrix, &c(&[columns]), 1);
        check(&matrix, &c(&[rows, 1]), 0);
        check(&matrix, &Layout::fortran_order(&[rows, columns]).expect("small"), 0);
    }
    let cube = c(&[3, 400, 5]);
    check(&cube, &Layout::fortran_order(&[3, 400, 5]).expect("small"), 1);
}

fn segments<T: Element, Op: TakesMask>(gpu: &Gpu, op: Op, base: u64)
where
    Where<Op>: Reduction<Masked<T>>,
{
    let leaf = leaf_elements::<T>() as u64;
    let lens = [3, 2, leaf, 17, 40 * leaf + 1, 1, 300, 64]
        .into_iter()
        .cycle()
        .take(200);
    let segments = Segments::by_lens(lens).expect("few");
    let len = segments.len() as usize;
    for misalign in [0, 1] {
        let (values, truths) = (array::<T>(base, len, 0), mask(len, 2, misalign));
        let on_device = fold(op).segments(segments.clone()).masked(truths.on_device());
        let answers = on_device.on(gpu, values.on_device());
        let expected = fold(op)
            .segments(segments.clone())
            .masked(&truths.values)
            .on_cpu(&values.values)
            .expect("one length");
        check(answers, expected, &format!("{} of {}", Op::NAME, T::TYPE.name()));
    }
}

/// Each family; floats are 1 and a little more, by their bits.
macro_rules! each {
    ($f:ident($gpu:expr)) => {{
        const SINGLE: u64 = 0x3f80_0000;
        const DOUBLE: u64 = 0x3ff0_0000_0000_0000;
        $f::<f32, _>($gpu, Sum, SINGLE);
        $f::<f64, _>($gpu, Sum, DOUBLE);
        $f::<f16, _>($gpu, Sum, 0x3c00);
        $f::<bf16, _>($gpu, Sum, 0x3f80);
        $f::<u8, _>($gpu, Sum, 0);
        $f::<i8, _>($gpu, Sum, 0);
        $f::<i32, _>($gpu, Sum, 0);
        $f::<i64, _>($gpu, Sum, 0);
        $f::<f32, _>($gpu, Mean, SINGLE);
        $f::<f64, _>($gpu, Mean, DOUBLE);
        $f::<f16, _>($gpu, Mean, 0x3c00);
        $f::<bf16, _>($gpu, Mean, 0x3f80);
        $f::<f32, _>($gpu, Max, SINGLE);
        $f::<f64, _>($gpu, Min, DOUBLE);
        $f::<f16, _>($gpu, Max, 0x3c00);
        $f::<bf16, _>($gpu, Min, 0x3f80);
        $f::<f32, _>($gpu, ArgMax, SINGLE);
        $f::<f64, _>($gpu, ArgMinLast, DOUBLE);
        $f::<f32, _>($gpu, StdDev::default(), SINGLE);
        $f::<f64, _>($gpu, StdDev::default(), DOUBLE);
        $f::<f16, _>($gpu, StdDev::default(), 0x3c00);
        $f::<bf16, _>($gpu, Variance { correction: 1.0 }, 0x3f80);
        $f::<f32, _>($gpu, Variance { correction: 0.0 }, SINGLE);
        $f::<f64, _>($gpu, Variance { correction: 0.0 }, DOUBLE);
        $f::<u16, _>($gpu, Sum, 0);
        $f::<i16, _>($gpu, Sum, 0);
        $f::<u32, _>($gpu, Sum, 0);
        $f::<u8, _>($gpu, Min, 1);
        $f::<i8, _>($gpu, Max, 0x7f);
        $f::<u16, _>($gpu, Max, 0);
        $f::<i32, _>($gpu, Min, 0);
        $f::<i64, _>($gpu, Max, 0);
        $f::<f32, _>($gpu, Product, SINGLE);
        $f::<f64, _>($gpu, Product, DOUBLE);
        $f::<f16, _>($gpu, Product, 0x3c00);
        $f::<bf16, _>($gpu, Product, 0x3f80);
        $f::<f32, _>($gpu, NormL1, SINGLE);
        $f::<f64, _>($gpu, NormL1, DOUBLE);
        $f::<f16, _>($gpu, NormL1, 0x3c00);
        $f::<bf16, _>($gpu, NormL1, 0x3f80);
        $f::<f32, _>($gpu, NormL2, SINGLE);
        $f::<f64, _>($gpu, SumOfSquares, DOUBLE);
        $f::<f16, _>($gpu, SumOfSquares, 0x3c00);
        $f::<bf16, _>($gpu, NormL2, 0x3f80);
        $f::<f32, _>($gpu, NormInf, SINGLE);
        $f::<f64, _>($gpu, NormInf, DOUBLE);
        $f::<f16, _>($gpu, NormInf, 0x3c00);
        $f::<bf16, _>($gpu, NormInf, 0x3f80);
        $f::<f32, _>($gpu, CountNonzero, SINGLE);
        $f::<f64, _>($gpu, CountNonzero, DOUBLE);
        $f::<u8, _>($gpu, CountNonzero, 0);
        $f::<i32, _>($gpu, CountNonzero, 0);
        $f::<i64, _>($gpu, CountNonzero, 0);
        $f::<f32, _>($gpu, All, SINGLE);
        $f::<f64, _>($gpu, Any, DOUBLE);
        $f::<i8, _>($gpu, All, 0);
        $f::<u32, _>($gpu, Any, 0);
        $f::<u64, _>($gpu, All, 0);
        $f::<f32, _>($gpu, LogSumExp, SINGLE);
        $f::<f64, _>($gpu, LogSumExp, DOUBLE);
        $f::<f16, _>($gpu, LogSumExp, 0x3c00);
        $f::<bf16, _>($gpu, LogSumExp, 0x3f80);
        $f::<f32, _>($gpu, IgnoreNan(Sum), SINGLE);
        $f::<f64, _>($gpu, IgnoreNan(StdDev::default()), DOUBLE);
        $f::<bf16, _>($gpu, IgnoreNan(ArgMax), 0x7f80);
        $f::<f16, _>($gpu, ArgMinLast, 0x3c00);
        $f::<f16, _>($gpu, CountNan, 0x7c00);
        $f::<f32, _>($gpu, CountInf, SINGLE);
        $f::<bf16, _>($gpu, Any, 0);
        $f::<i16, _>($gpu, CountNonzero, 0);
    }};
}

pub fn quick_masks(gpu: &Gpu) {
    each!(edges(gpu));
}

pub fn masks_of_every_size(gpu: &Gpu) {
    each!(long(gpu));
}

pub fn quick_masks_along_axes(gpu: &Gpu) {
    each!(along(gpu));
}

pub fn quick_masks_in_segments(gpu: &Gpu) {
    each!(segments(gpu));
}

pub fn quick_masks_that_are_wrong(gpu: &Gpu) {
    let values = [1.0_f32, 2.0, f32::NAN];
    let input = DeviceBuffer::from_slice(&values).expect("device memory");
    let [short, long] = [2, 3].map(|len| DeviceBuffer::from_slice(&vec![true; len]).expect("device memory"));
    let wrong = fold(Sum).masked(&short).on(gpu, &input).expect_err("another length");
    assert!(matches!(wrong, Error::MaskMismatch { .. }), "{wrong}");
    let wrong = fold(Kurtosis).masked(&long).on(gpu, &input).expect_err("no kernel");
    assert!(
        matches!(
            wrong,
            Error::NoKernel {
                op: "kurtosis",
                element: "f32"
            }
        ),
        "{wrong}"
    );
    let host = fold(Sum)
        .masked(&[true, true, false])
        .on(gpu, &values)
        .expect("an answer");
    assert_eq!(host, 3.0);
}
