//! A user's own operators: the GPU gives the CPU's bits with kernels that another crate brought.

#[path = "../../../host/examples/attention/launch.rs"]
mod launch;

use cust::{
    memory::{DeviceBuffer, DeviceCopy},
    stream::{Stream, StreamFlags},
};
use own_operator::{
    Compose, GeometricMean, MeanDistance, TakeCensus,
    attention::{Plan, Sizes, attend_on_cpu},
};
use warpfold::{
    Error, cpu,
    gpu::Gpu,
    layout::{Axes, Layout, Segments},
    ops::Reduction,
};
use warpfold_kernels::{element::Element, monoids::Words};
use warpfold_tests::{Bits, backends, cases};

/// Lengths about the edges of a leaf and of plans, those for one answer and those for the longest.
const LENS: [usize; 9] = [0, 1, 1023, 1025, 4097, 70_001, 262_143, 1_000_003, 9_000_001];

fn bits<W: Words>(answers: impl IntoIterator<Item = W>) -> Vec<Bits> {
    answers.into_iter().map(Bits::of).collect()
}

/// Of a whole array, in device memory and in the host's; along both axes of matrices; in segments.
fn agrees<T: Element + DeviceCopy + bytemuck::NoUninit, R: Reduction<T>>(op: R, gpu: &Gpu, values: &[T]) {
    let len = values.len() as u64;
    let what = (R::NAME, T::TYPE, len);
    let array = DeviceBuffer::from_slice(values).expect("device memory");
    let expected = backends::cpu(op, values);
    assert_eq!(backends::answer(gpu.reduce(op, &array)), expected, "{what:?}");
    if len > 1 {
        // Off any vector's boundary.
        let (unaligned, rest) = (array.index(1..), &values[1..]);
        assert_eq!(
            backends::answer(gpu.reduce(op, &unaligned)),
            backends::cpu(op, rest),
            "{what:?} unaligned"
        );
    }
    assert_eq!(
        backends::answer(gpu.reduce_host(op, values)),
        expected,
        "{what:?} of the host"
    );

    for columns in [1, 5, 100, 5000] {
        let layout = Layout::c_order(&[len / columns, columns]).expect("small");
        for axes in [Axes::of(&[0]), Axes::of(&[1])] {
            let expected = cpu::reduce_axes(op, values, &layout, &axes).expect("an answer over nothing");
            let answers = gpu
                .reduce_axes(op, &array, &layout, &axes)
                .expect("an answer over nothing");
            assert_eq!(
                bits(answers.answers),
                bits(expected.answers),
                "{what:?}, {columns} columns, {axes:?}"
            );
        }
    }

    let third = len / 3;
    for lens in [
        vec![len],
        vec![third, 0, len - third],
        vec![7; values.len() / 7],
        vec![1500; values.len() / 1500],
    ] {
        let segments = Segments::by_lens(lens).expect("few");
        let (values, array) = (
            &values[..segments.len() as usize],
            array.index(..segments.len() as usize),
        );
        let expected = cpu::reduce_segments(op, values, &segments).expect("an answer over nothing");
        let answers = gpu
            .reduce_segments(op, &array, &segments)
            .expect("an answer over nothing");
        assert_eq!(bits(answers), bits(expected), "{what:?}, {} segments", segments.count());
    }
}

pub fn quick_own_operators(gpu: &Gpu) -> Option<String> {
    // The PTX is of a crate that need not have been built for this program.
    match gpu.prepare::<f32, _>(TakeCensus, 1) {
        Err(error @ Error::NoPtx { .. }) => return Some(error.to_string()),
        prepared => drop(prepared.expect("kernels of this very source")),
    }
    for (i, len) in LENS.into_iter().enumerate() {
        let case = [cases::CYCLE, cases::MIXED, cases::WIDE][i % 3];
        let values = case.array(len);
        agrees(TakeCensus, gpu, &values);
        agrees(GeometricMean, gpu, &values);
        agrees(MeanDistance { from: 0.75 }, gpu, &values);
        let wide: Vec<f64> = values.iter().map(|value| f64::from(*value)).collect();
        agrees(GeometricMean, gpu, &wide);
        // What does not commute, in order.
        let words: Vec<u32> = (0..len as u32).map(|i| i.wrapping_mul(2_654_435_761) ^ 77).collect();
        agrees(Compose, gpu, &words);
        let bytes: Vec<u8> = words.iter().map(|word| (word >> 9) as u8).collect();
        agrees(Compose, gpu, &bytes);
    }
    // Each value of a parameter is one launch's own.
    let values = cases::CYCLE.array(5003);
    for from in [0.0, -1e9, f32::INFINITY] {
        agrees(MeanDistance { from }, gpu, &values);
    }
    None
}

/// A kernel of a user's own: the CPU's bits in every shape of launch, and again by the tickets that it leaves.
pub fn quick_attention(gpu: &Gpu) -> Option<String> {
    match gpu.prepare::<f32, _>(TakeCensus, 1) {
        Err(error @ Error::NoPtx { .. }) => return Some(error.to_string()),
        prepared => drop(prepared.expect("kernels of this very source")),
    }
    let stream = Stream::new(StreamFlags::DEFAULT, None).expect("a stream");
    for size in [1, 40, 64, 80, 128, 256] {
        for keys in [0, 1, 31, 33, 64, 257, 4099, 20_000] {
            for sizes in [Sizes::full(3, 1, keys, size), Sizes::full(2, 3, keys, size).causal()] {
                let of = |case: cases::Case, rows: u64| case.array((rows * size) as usize);
                let queries = of(cases::CYCLE, sizes.rows());
                let (keys, values) = (
                    of(cases::UNIFORM, sizes.heads * sizes.keys),
                    of(cases::WIDE, sizes.heads * sizes.keys),
                );
                let mut expected = vec![0.0; queries.len()];
                attend_on_cpu(&sizes, &queries, &keys, &values, &mut expected);
                let shaped =
                    [(1, 2), (2, 1), (2, 16), (4, 4), (8, 2)].map(|(warps, steps)| Plan::shaped(&sizes, warps, steps));
                let planned = Plan::new(&sizes, gpu.facts().multiprocessors);
                for plan in shaped.into_iter().chain([planned]).flatten() {
                    let attention =
                        launch::OnGpu::new(gpu, sizes, plan, [&queries, &keys, &values]).expect("device memory");
                    for _ in 0..2 {
                        attention.launch(&stream).expect("a launch");
                        stream.synchronize().expect("an end");
                        let answers = attention.answers().expect("answers");
                        assert_eq!(bits(answers), bits(expected.clone()), "{sizes:?}, {plan:?}");
                    }
                }
            }
        }
    }
    None
}
