//! The GPU counts as many distinct elements as the CPU, in every launch.

use cust::{
    memory::{CopyDestination, DeviceBuffer},
    stream::{Stream, StreamFlags},
};
use warpfold::{
    Error, cpu,
    gpu::Gpu,
    layout::{Axes, Layout, Segments},
    ops::Sum,
};
use warpfold_kernels::element::{Element, bf16, complex32, complex64, f8e4m3, f8e5m2, f16};
use warpfold_tests::samples::{self, elements};

use crate::types::Array;

/// Every type of elements.
macro_rules! each_type {
    ($agrees:ident($($argument:expr),*)) => {
        $agrees::<bool>($($argument),*);
        $agrees::<i8>($($argument),*);
        $agrees::<i16>($($argument),*);
        $agrees::<i32>($($argument),*);
        $agrees::<i64>($($argument),*);
        $agrees::<u8>($($argument),*);
        $agrees::<u16>($($argument),*);
        $agrees::<u32>($($argument),*);
        $agrees::<u64>($($argument),*);
        $agrees::<f16>($($argument),*);
        $agrees::<bf16>($($argument),*);
        $agrees::<f32>($($argument),*);
        $agrees::<f64>($($argument),*);
        $agrees::<f8e4m3>($($argument),*);
        $agrees::<f8e5m2>($($argument),*);
        $agrees::<complex32>($($argument),*);
        $agrees::<complex64>($($argument),*);
    };
}

/// Numbers, the same in each run.
fn drawn(number: u64) -> u64 {
    let bits = (number + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    (bits ^ bits >> 29).wrapping_mul(0xbf58_476d_1ce4_e5b9)
}

pub fn quick_distinct_of_every_type(gpu: &Gpu) {
    fn agrees<T: Element>(gpu: &Gpu) {
        for (i, sample) in samples::ALL.into_iter().enumerate() {
            for len in [0, 1, 31, 1000, 1025, 40_001] {
                let array = Array::new(T::TYPE, sample, len, i % (16 / T::TYPE.bytes()));
                let expected = cpu::distinct(&elements::<T>(&array.elements));
                // SAFETY: the array has so many elements of the type, and is waited for.
                let found = unsafe { gpu.distinct_raw::<T>(array.address(), len as u64) };
                assert_eq!(found.expect("an answer"), expected, "{}, {len}", T::TYPE.name());
            }
        }
    }
    each_type!(agrees(gpu));
}

/// Few distinct elements, which all lanes want at once; as many as elements; and between. Each several times.
pub fn distinct_of_every_kind(gpu: &Gpu) {
    for log in [16, 20, 24] {
        for kinds in [1, 2, 1000, 1 << 16, u64::MAX] {
            let values: Vec<u64> = (0..1_u64 << log).map(|i| drawn(drawn(i) % kinds)).collect();
            let narrow: Vec<u32> = values.iter().map(|value| *value as u32).collect();
            let half: Vec<u16> = values.iter().map(|value| *value as u16).collect();
            let expected = [cpu::distinct(&values), cpu::distinct(&narrow), cpu::distinct(&half)];
            for _ in 0..3 {
                let found = [
                    gpu.distinct_host(&values).expect("an answer"),
                    gpu.distinct_host(&narrow).expect("an answer"),
                    gpu.distinct_host(&half).expect("an answer"),
                ];
                assert_eq!(found, expected, "u64, u32 and u16, 2^{log}, {kinds} kinds");
            }
        }
    }
    let each: Vec<i32> = (0..1 << 24).collect();
    assert_eq!(gpu.distinct_host(&each).expect("an answer"), 1 << 24);
}

pub fn quick_distinct_along_axes(gpu: &Gpu) {
    fn agrees<T: Element>(gpu: &Gpu) {
        let cube = Layout::c_order(&[9, 70, 33]).expect("few");
        let turned = cube.transposed(&[2, 0, 1]).expect("an order");
        let mirrored = cube.sliced(1, 69, 23, -3).expect("a slice");
        let repeated = Layout::strided(&[40, 9, 70], &[0, 2310, 33], 5).expect("a layout");
        for (i, sample) in samples::ALL.into_iter().enumerate().take(4) {
            let array = Array::new(T::TYPE, sample, 9 * 70 * 33, i % (16 / T::TYPE.bytes()));
            let values = elements::<T>(&array.elements);
            for layout in [&cube, &turned, &mirrored, &repeated] {
                for axes in [&[0][..], &[1], &[2], &[0, 2], &[0, 1, 2], &[]] {
                    let axes = Axes::of(axes);
                    let expected = cpu::distinct_axes(&values, layout, &axes).expect("answers");
                    // SAFETY: the array has the layout's elements, and is waited for.
                    let found = unsafe { gpu.distinct_axes_raw::<T>(array.address(), layout, &axes) };
                    assert_eq!(found.expect("answers"), expected, "{}, {axes:?}", T::TYPE.name());
                }
            }
        }
    }
    each_type!(agrees(gpu));
    let nothing = Layout::c_order(&[3, 0]).expect("none");
    let found = |axis| {
        gpu.distinct_host_axes::<f32>(&[], &nothing, &Axes::of(&[axis]))
            .expect("answers")
    };
    assert_eq!((found(1).answers, found(0).answers), (vec![0; 3], vec![]));
}

pub fn quick_distinct_in_segments(gpu: &Gpu) {
    fn agrees<T: Element>(gpu: &Gpu) {
        for (i, lens) in [
            vec![0, 1, 5, 0, 0, 4000, 3, 1, 0],
            vec![3; 5000],
            vec![0; 100],
            vec![1000; 33],
            vec![20_001],
            vec![],
        ]
        .into_iter()
        .enumerate()
        {
            let segments = Segments::by_lens(lens).expect("few");
            let array = Array::new(T::TYPE, samples::ALL[i % 4], segments.len() as usize, i % 2);
            let values = elements::<T>(&array.elements);
            let expected = cpu::distinct_segments(&values, &segments).expect("answers");
            // SAFETY: the array has the segments' elements, and is waited for.
            let found = unsafe { gpu.distinct_segments_raw::<T>(array.address(), &segments) };
            assert_eq!(found.expect("answers"), expected, "{}, case {i}", T::TYPE.name());
        }
    }
    each_type!(agrees(gpu));
}

/// One workspace serves launches one after the other, whatever is in it, and a graph's replays.
pub fn quick_distinct_launches_and_errors(gpu: &Gpu) {
    let values: Vec<f32> = (0..5000).map(|i| (i % 700) as f32 - 3.0).collect();
    let input = DeviceBuffer::from_slice(&values).expect("device memory");
    let mut answers = DeviceBuffer::from_slice(&[u64::MAX; 2]).expect("device memory");
    let stream = Stream::new(StreamFlags::DEFAULT, None).expect("a stream");
    let prepared = gpu.prepare_distinct::<f32>(5000).expect("a plan");
    let mut workspace = prepared.workspace().expect("device memory");
    assert!(workspace.bytes() >= prepared.plan().workspace_bytes());
    for _ in 0..3 {
        // SAFETY: all of them live until the stream was waited for.
        unsafe {
            prepared
                .launch(&stream, &input, &mut answers, &mut workspace)
                .expect("launches");
        }
    }
    stream.synchronize().expect("done");
    let mut found = [0; 2];
    answers.copy_to(&mut found).expect("a copy");
    // The second place is not the launch's.
    assert_eq!(found, [700, u64::MAX]);
    // A table is no tickets: a sum in the same workspace finds them zeroed.
    let sum = gpu.prepare::<f32, _>(Sum, 5000).expect("a plan");
    assert!(workspace.fits(sum.plan().workspace_words()));
    let mut answer = DeviceBuffer::from_slice(&[0_f32]).expect("device memory");
    // SAFETY: all of them live until the stream was waited for.
    unsafe {
        sum.launch(&stream, &input, &mut answer, &mut workspace)
            .expect("launches")
    };
    stream.synchronize().expect("done");
    let mut total = [0.0];
    answer.copy_to(&mut total).expect("a copy");
    assert_eq!(total, [cpu::reduce(Sum, &values).expect("an answer")]);

    let few = gpu.prepare_distinct::<f32>(10).expect("a plan");
    let mut small = few.workspace().expect("device memory");
    // SAFETY: nothing is enqueued.
    unsafe {
        let short = prepared.launch(&stream, &input.index(..4999), &mut answers, &mut workspace);
        assert!(
            matches!(
                short,
                Err(Error::LengthMismatch {
                    prepared: 5000,
                    got: 4999
                })
            ),
            "{short:?}"
        );
        let none = prepared.launch(&stream, &input, &mut answers.index(..0), &mut workspace);
        assert!(
            matches!(none, Err(Error::OutputTooSmall { needed: 1, got: 0 })),
            "{none:?}"
        );
        let small = prepared.launch(&stream, &input, &mut answers, &mut small);
        assert!(matches!(small, Err(Error::WorkspaceTooSmall { .. })), "{small:?}");
        let address = input.as_device_ptr().as_raw() + 2;
        let odd = prepared.launch_raw(&stream, address, answers.as_device_ptr().as_raw(), &mut workspace);
        assert!(matches!(odd, Err(Error::Misaligned { alignment: 4, .. })), "{odd:?}");
    }
    let matrix = Layout::c_order(&[50, 101]).expect("few");
    let outside = gpu.distinct_axes(&input, &matrix, &Axes::of(&[0]));
    assert!(matches!(outside, Err(Error::OutOfBounds { .. })), "{outside:?}");
    let segments = Segments::by_lens([4999]).expect("few");
    let other = gpu.distinct_segments(&input, &segments);
    assert!(matches!(other, Err(Error::Offset { .. })), "{other:?}");
    assert_eq!(gpu.distinct(&input).expect("an answer"), 700);
    assert_eq!(gpu.distinct_host::<f64>(&[]).expect("an answer"), 0);
    let huge = gpu.prepare_distinct::<f64>(1 << 60);
    assert!(matches!(huge, Err(Error::LengthOverflow { .. })));
}
