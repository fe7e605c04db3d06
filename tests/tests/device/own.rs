//! A user's own operators: the GPU gives the CPU's bits with kernels that another crate brought.

#[path = "../../../host/examples/attention/launch.rs"]
mod launch;
#[path = "../../../host/examples/total_variation/launch.rs"]
mod variation;

use cust::{
    memory::{CopyDestination, DeviceBuffer, DeviceCopy},
    stream::{Stream, StreamFlags},
};
use half::{bf16, f16};
use own_operator::{
    Compose, GeometricMean, L2Normalise, MeanDistance, TakeCensus,
    attention::{Plan, Sizes, attend_on_cpu},
};
use warpfold::{
    Error, View, cpu,
    gpu::Gpu,
    layout::{Axes, Layout, Segments},
    ops::Reduction,
    row,
};
use warpfold_kernels::{element::Element, monoids::Words};
use warpfold_tests::{Bits, backends, cases, rows::numbers, spec};

use super::rows;

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

/// A kernel of a user's own around an operator of the library's: the bits of its tree.
pub fn quick_total_variation(gpu: &Gpu) -> Option<String> {
    for len in [0, 1, 2, 2048, 2049, 2050, 70_001, 262_144, 1_000_003] {
        for case in [cases::UNIFORM, cases::WIDE, cases::CYCLE] {
            let mut values = case.array(len);
            // One NaN in the longest, so that its answer is one.
            if len == 1_000_003 {
                values[len / 3] = -f32::NAN;
            }
            let sum = match variation::on_gpu(gpu, &values) {
                Ok(sum) => sum,
                Err(error) if matches!(error.downcast_ref(), Some(Error::NoPtx { .. })) => {
                    return Some(error.to_string());
                }
                Err(error) => panic!("{error}"),
            };
            assert_eq!(
                sum.to_bits(),
                spec::total_variation(&values).to_bits(),
                "{len} elements"
            );
        }
    }
    None
}

pub fn quick_own_row_operations(gpu: &Gpu) -> Option<String> {
    let op = || row::own(L2Normalise { epsilon: 1e-12 });
    match op().prepare::<f32, f32>(gpu, &Layout::c_order(&[1, 1]).expect("small")) {
        Err(error @ Error::NoPtx { .. }) => return Some(error.to_string()),
        prepared => drop(prepared.expect("kernels of this very source")),
    }
    // Each way that a kernel has, and a row of more leaves than a warp combines: the kernel of states.
    for (i, (count, len)) in [
        (7, 0),
        (7, 1),
        (70, 8),
        (7, 33),
        (33, 256),
        (7, 1000),
        (5, 4096),
        (3, 40_000),
        (3, 300_000),
    ]
    .into_iter()
    .enumerate()
    {
        let (layout, seed) = (Layout::c_order(&[count, len]).expect("small"), i as u64);
        rows::agrees::<f32, f32, _>(gpu, &op(), &layout, seed);
        rows::agrees::<bf16, bf16, _>(gpu, &op(), &layout, seed);
        rows::agrees::<f16, f32, _>(gpu, &op(), &layout, seed);
        // Elements that lie apart.
        rows::agrees::<f32, f32, _>(gpu, &op().axis(0), &layout, seed);
        rows::agrees::<f16, f16, _>(gpu, &op().axis(0), &layout, seed);
        let mask: Vec<bool> = (0..count * len).map(|i| i % 3 != 1).collect();
        let mask = View::new(&mask, &layout).expect("in bounds");
        rows::agrees::<f32, f32, _>(gpu, &op().mask(mask), &layout, seed);
    }
    // Each value of a parameter is one launch's own.
    let layout = Layout::c_order(&[9, 1024]).expect("small");
    for epsilon in [1.0, 100.0, 1e30] {
        rows::agrees::<f32, f32, _>(gpu, &row::own(L2Normalise { epsilon }), &layout, 3);
    }
    on_a_stream(gpu, &layout);
    None
}

/// Prepared, on a stream of one's own.
fn on_a_stream(gpu: &Gpu, layout: &Layout) {
    let op = row::own(L2Normalise { epsilon: 1e-12 });
    let values = numbers::<f32>(layout.len() as usize, 5);
    let prepared = op.prepare::<f32, f32>(gpu, layout).expect("a plan");
    assert_eq!(prepared.plan().entry.library, &own_operator::ROW_LIBRARY);
    let stream = Stream::new(StreamFlags::DEFAULT, None).expect("a stream");
    let input = DeviceBuffer::from_slice(&values).expect("room");
    let mut output = DeviceBuffer::from_slice(&vec![0.0_f32; values.len()]).expect("room");
    let mut workspace = prepared.workspace().expect("room");
    // SAFETY: all of it lives past the synchronisation.
    unsafe {
        prepared
            .launch(&stream, &input, &mut output, &mut workspace)
            .expect("a launch");
    }
    stream.synchronize().expect("no fault");
    let mut answers = vec![0.0; values.len()];
    output.copy_to(&mut answers).expect("a copy");
    let view = View::new(&values, layout).expect("in bounds");
    assert_eq!(answers, op.on_cpu::<_, f32>(view).expect("a meaning").values);
}
