//! Behind a step the GPU gives the CPU's bits.

use cust::memory::DeviceBuffer;
use warpfold::{
    Error, cpu,
    gpu::Gpu,
    layout::{Axes, Layout, Segments},
    ops::{ArgMax, ArgMin, ArgMinLast, Mapped, Max, Mean, Min, Product, Reduction, Step, Sum},
};
use warpfold_kernels::element::{Float, bf16, f16};
use warpfold_tests::Bits;

fn array<T: Float>(len: usize) -> Vec<T> {
    let number = |i: usize| ((i * 7919 + 13) % 10_007) as f64 / 1001.0 - 4.9;
    (0..len).map(|i| T::from_f64(number(i))).collect()
}

/// Of every length, along both axes and in segments.
fn agrees<T: Float + bytemuck::NoUninit, R: Reduction<T>>(gpu: &Gpu, op: R, step: Step) {
    let what = |len: usize| format!("{} of {len} {} behind {step:?}", R::NAME, T::TYPE.name());
    for len in [1, 77, 4099, 150_001] {
        let values = array::<T>(len);
        let answer = gpu.reduce_host(op, &values).expect("an answer");
        let expected = cpu::reduce(op, &values).expect("an answer");
        assert_eq!(Bits::of(answer), Bits::of(expected), "{}", what(len));
    }
    let bits = |answers: Vec<R::Answer>| answers.into_iter().map(Bits::of).collect::<Vec<_>>();
    for (rows, columns) in [(500, 3), (77, 130), (9, 9000)] {
        let values = array::<T>(rows * columns);
        let layout = Layout::c_order(&[rows as u64, columns as u64]).expect("small");
        for axis in [0, 1] {
            let axes = Axes::of(&[axis]);
            let answers = gpu
                .reduce_host_axes(op, &values, &layout, &axes)
                .expect("answers")
                .answers;
            let expected = cpu::reduce_axes(op, &values, &layout, &axes).expect("answers").answers;
            assert_eq!(
                bits(answers),
                bits(expected),
                "{}, rows of {columns}, axis {axis}",
                what(rows * columns)
            );
        }
    }
    let lens = [1, 5000, 2, 33, 700, 1, 1, 100_000, 64];
    let values = array::<T>(lens.iter().sum::<u64>() as usize);
    let segments = Segments::by_lens(lens).expect("small");
    let answers = gpu.reduce_host_segments(op, &values, &segments).expect("answers");
    let expected = cpu::reduce_segments(op, &values, &segments).expect("answers");
    assert_eq!(bits(answers), bits(expected), "{} in segments", what(values.len()));
}

fn each<T: Float<Computed: Float> + bytemuck::NoUninit>(gpu: &Gpu)
where
    Mapped<Sum>: Reduction<T>,
    Mapped<Mean>: Reduction<T>,
    Mapped<Max>: Reduction<T>,
    Mapped<Min>: Reduction<T>,
    Mapped<ArgMax>: Reduction<T>,
    Mapped<ArgMin>: Reduction<T>,
    Mapped<ArgMinLast>: Reduction<T>,
{
    for step in [Step::CAST, Step::ABS, Step::minus(1.25), Step::minus(-2.5).square()] {
        agrees::<T, _>(gpu, Mapped(Sum, step), step);
        agrees::<T, _>(gpu, Mapped(Mean, step), step);
        agrees::<T, _>(gpu, Mapped(Max, step), step);
        agrees::<T, _>(gpu, Mapped(Min, step), step);
        agrees::<T, _>(gpu, Mapped(ArgMax, step), step);
        agrees::<T, _>(gpu, Mapped(ArgMin, step), step);
        agrees::<T, _>(gpu, Mapped(ArgMinLast, step), step);
    }
    for step in [Step::EXP, Step::minus(5.0).exp()] {
        agrees::<T, _>(gpu, Mapped(Sum, step), step);
        agrees::<T, _>(gpu, Mapped(Mean, step), step);
    }
}

pub fn quick_steps(gpu: &Gpu) {
    each::<f16>(gpu);
    each::<bf16>(gpu);
    each::<f32>(gpu);
    each::<f64>(gpu);
}

/// What there is no kernel of is an error, and the CPU has it.
pub fn quick_steps_without_a_kernel(gpu: &Gpu) {
    let values = DeviceBuffer::from_slice(&[1.0_f32, -2.0]).expect("device memory");
    let errors = [
        (gpu.reduce(Mapped(Product, Step::ABS), &values).err(), "prod", "f32"),
        (gpu.reduce(Mapped(Max, Step::EXP), &values).err(), "max", "f32"),
        (gpu.reduce_host(Mapped(Sum, Step::ABS), &[1_i8, -2]).err(), "sum", "i8"),
    ];
    for (error, of, elements) in errors {
        assert!(
            matches!(error, Some(Error::NoKernel { op, element }) if (op, element) == (of, elements)),
            "{error:?}"
        );
    }
    let bad = Mapped(Sum, Step::minus(f64::NAN));
    assert!(matches!(
        gpu.reduce(bad, &values),
        Err(Error::Parameter { name: "minus", .. })
    ));
}
