//! In segments, and of many arrays at once, the GPU gives each the bits that the CPU gives it alone.

use cust::memory::{CopyDestination, DeviceBuffer};
use warpfold::{
    DeviceView, Error, OffsetFault, cpu, fold,
    gpu::Gpu,
    layout::Segments,
    ops::{self, OpFacts, Reduction},
};
use warpfold_kernels::element::{Element, Type, bf16};
use warpfold_tests::{
    Bits, backends, each_operation, each_statistic,
    operations::extents,
    samples::{self, elements},
};

use crate::types::{Array, Cpu};

/// An array of a type in segments.
struct Case {
    segments: Segments,
    array: Array,
}

impl Case {
    fn new(ty: Type, number: usize, lens: Vec<u64>) -> Self {
        let segments = Segments::by_lens(lens).expect("few");
        let sample = samples::ALL[number % samples::ALL.len()];
        let array = Array::new(ty, sample, segments.len() as usize, number % extents(ty)[0]);
        Self { segments, array }
    }

    /// The elements of each segment.
    fn each(&self) -> impl Iterator<Item = &[u64]> {
        (0..self.segments.count()).map(|i| {
            let range = self.segments.get(i);
            &self.array.elements[range.start as usize..range.end as usize]
        })
    }

    fn answers<T: Element, R: Reduction<T>>(&self, op: R, gpu: &Gpu) -> Vec<Bits> {
        // SAFETY: the array has the segments' elements, and outlives the view.
        let view = unsafe { DeviceView::<T>::from_raw(self.array.address(), self.segments.len()) };
        let answers = fold(op).segments(self.segments.clone()).on(gpu, view);
        let answers = answers.expect("an answer of each");
        answers.into_iter().map(Bits::of).collect()
    }

    /// Each answer is the CPU's for the segment alone.
    fn agrees<T: Element, R: Reduction<T>>(&self, op: R, gpu: &Gpu, alone: impl Fn(&[u64]) -> Option<Bits>) {
        let expected: Vec<Bits> = self.each().map(|segment| alone(segment).expect("not empty")).collect();
        let offsets = &self.segments.offsets()[..5.min(self.segments.count())];
        assert_eq!(
            self.answers::<T, R>(op, gpu),
            expected,
            "{} of {}, {offsets:?}",
            R::NAME,
            T::TYPE.name()
        );
    }
}

/// Lengths about the edges of a vector, a row, a leaf and a tile, side by side and alike.
fn cases(ty: Type) -> Vec<Case> {
    let [vector, row, leaf] = extents(ty).map(|edge| edge as u64);
    let edges = [vector, 4 * vector, row, 2 * row, leaf, 8 * leaf];
    let around = edges.into_iter().flat_map(|edge| [edge - 1, edge, edge + 1]);
    let mixed: Vec<u64> = [1, 2, 3].into_iter().chain(around).filter(|len| *len > 0).collect();
    let backwards = mixed.iter().rev().copied().collect();
    let alike = [1, 2, vector, 4 * vector, row / 2, row, leaf].map(|len| vec![len; 100]);
    let all = [vec![mixed, backwards, vec![20 * leaf + 1]], alike.to_vec()].concat();
    all.into_iter()
        .enumerate()
        .map(|(i, lens)| Case::new(ty, i, lens))
        .collect()
}

pub fn quick_segments_of_every_type(gpu: &Gpu) {
    fn agrees<T: Element, R: Reduction<T>>(op: R, gpu: &Gpu, cpu: &Cpu, at: &mut Option<(Type, Vec<Case>)>) {
        if at.as_ref().is_none_or(|(ty, _)| *ty != T::TYPE) {
            *at = Some((T::TYPE, cases(T::TYPE)));
        }
        for case in at.iter().flat_map(|(_, cases)| cases) {
            case.agrees::<T, R>(op, gpu, |segment| cpu.of(R::NAME, T::TYPE).cpu(segment));
        }
    }
    each_operation!(agrees(gpu, &Cpu::new(), &mut None));
}

pub fn quick_segments_of_statistics(gpu: &Gpu) {
    fn agrees<T: Element, R: Reduction<T>>(op: R, gpu: &Gpu) {
        for case in cases(T::TYPE) {
            case.agrees::<T, R>(op, gpu, |segment| backends::cpu(op, &elements::<T>(segment)));
        }
    }
    each_statistic!(agrees(gpu));
}

/// Lengths as they come, from a sequence that is the same in each run: `of` makes one of a number.
fn drawn(len: u64, of: impl Fn(u64) -> u64) -> Vec<u64> {
    let (mut lens, mut left, mut state) = (vec![], len, 1_u64);
    while left > 0 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let len = of(state >> 33).min(left);
        lens.push(len);
        left -= len;
    }
    lens
}

/// Segments of all lengths, empty ones among them, and long ones whose tiles meet in one turn and in two.
pub fn segments_of_every_size(gpu: &Gpu) {
    fn agrees<T: Element, R: Reduction<T>>(op: R, gpu: &Gpu, number: usize, lens: Vec<u64>) {
        let lens = if OpFacts::of::<T, R>(op).check_extent(0).is_err() {
            lens.into_iter().map(|len| len.max(1)).collect()
        } else {
            lens
        };
        let case = Case::new(T::TYPE, number, lens);
        let values = elements::<T>(&case.array.elements);
        let expected = cpu::reduce_segments(op, &values, &case.segments).expect("answers");
        let expected: Vec<Bits> = expected.into_iter().map(Bits::of).collect();
        assert!(case.answers::<T, R>(op, gpu) == expected, "{}, case {number}", R::NAME);
    }
    let power_law = |draw: u64| (1 << 31) / (draw + 1) % 3_000_000;
    let among = |long: u64| {
        [
            vec![3; 10_000],
            vec![long],
            vec![1; 50_000],
            vec![long / 3],
            vec![0; 999],
        ]
        .concat()
    };
    for (i, lens) in [
        drawn(3_000_000, |draw| draw % 17),
        drawn(3_000_000, |draw| draw % 700),
        drawn(9_000_000, |draw| draw % 5000),
        drawn(9_000_000, power_law),
        among(9_000_001),
        vec![0; 100_000],
        vec![1; 100_000],
    ]
    .into_iter()
    .enumerate()
    {
        agrees::<f32, _>(ops::Sum, gpu, i, lens.clone());
        agrees::<f32, _>(ops::ArgMax, gpu, i, lens.clone());
        agrees::<bf16, _>(ops::LogSumExp, gpu, i, lens.clone());
        agrees::<u8, _>(ops::Max, gpu, i, lens.clone());
        agrees::<f64, _>(ops::Sum, gpu, i, lens.clone());
        agrees::<f64, _>(ops::Exact(ops::Sum), gpu, i, lens.clone());
        agrees::<f32, _>(ops::InF64(ops::Sum), gpu, i, lens.clone());
        agrees::<f32, _>(ops::Describe::default(), gpu, i, lens);
    }
}

pub fn quick_batch(gpu: &Gpu) {
    let lens = [1, 0, 5, 4096, 31, 100_001, 8, 1024, 3000];
    let values: Vec<f32> = elements(&samples::ALL[0].array(Type::F32, 108_167));
    let arrays: Vec<Vec<f32>> = lens.iter().map(|len| values[..*len].to_vec()).collect();
    let buffers: Vec<_> = arrays
        .iter()
        .map(|array| DeviceBuffer::from_slice(array).expect("device memory"))
        .collect();
    // Not all of them aligned.
    let slices: Vec<_> = buffers
        .iter()
        .map(|buffer| buffer.index(usize::from(buffer.len() > 2)..))
        .collect();
    let slices: Vec<_> = slices.iter().collect();
    let sums = gpu.reduce_batch(ops::NormL2, &slices).expect("answers");
    for ((array, slice), sum) in arrays.iter().zip(&slices).zip(sums) {
        let alone = cpu::reduce(ops::NormL2, &array[array.len() - slice.len()..]).expect("an answer");
        assert_eq!(sum.to_bits(), alone.to_bits(), "{}", array.len());
    }
    let wrong = gpu.reduce_batch(ops::Max, &slices);
    assert!(
        matches!(wrong, Err(Error::EmptySegment { segment: 1, .. })),
        "{wrong:?}"
    );
    assert!(gpu.reduce_batch::<f32, _>(ops::Max, &[]).expect("no arrays").is_empty());
}

/// A batch that was prepared follows what its arrays hold, launch after launch.
pub fn quick_batch_without_waiting(gpu: &Gpu) {
    let lens = [700, 1, 0, 40_003];
    let filled = |turn: usize| -> Vec<Vec<f32>> {
        let number = |i: usize| ((i * 37 + turn * 91) % 251) as f32 / 97.0 - 1.1;
        lens.iter().map(|len| (0..*len).map(number).collect()).collect()
    };
    let mut buffers: Vec<_> = filled(0)
        .iter()
        .map(|array| DeviceBuffer::from_slice(array).expect("device memory"))
        .collect();
    let slices: Vec<_> = buffers.iter().map(|buffer| buffer.index(..)).collect();
    let slices: Vec<_> = slices.iter().collect();
    let batch = gpu.prepare_batch(ops::NormL2, &slices).expect("a plan");
    let mut workspace = batch.workspace().expect("device memory");
    let mut answers = DeviceBuffer::from_slice(&[0.0_f32; 4]).expect("device memory");
    let stream = cust::stream::Stream::new(cust::stream::StreamFlags::DEFAULT, None).expect("a stream");
    for turn in 0..3 {
        let arrays = filled(turn);
        for (buffer, array) in buffers.iter_mut().zip(&arrays).filter(|(_, array)| !array.is_empty()) {
            buffer.copy_from(&array[..]).expect("a copy");
        }
        cust::context::CurrentContext::synchronize().expect("cuCtxSynchronize");
        // SAFETY: arrays, answers and workspace live until the stream was waited for.
        unsafe { batch.launch(&stream, &mut answers, &mut workspace) }.expect("a launch");
        stream.synchronize().expect("the fold");
        let mut found = [0.0_f32; 4];
        answers.copy_to(&mut found).expect("a copy");
        for (array, norm) in arrays.iter().zip(found) {
            assert_eq!(
                norm.to_bits(),
                cpu::reduce(ops::NormL2, array).expect("a norm").to_bits(),
                "turn {turn}"
            );
        }
    }
    // SAFETY: nothing is enqueued.
    let few = unsafe { batch.launch(&stream, &mut answers.index(..3), &mut workspace) };
    assert!(
        matches!(few, Err(Error::OutputTooSmall { needed: 4, got: 3 })),
        "{few:?}"
    );
    let odd = gpu.prepare_batch_raw::<f32, _>(ops::Sum, &[(slices[0].as_device_ptr().as_raw() + 2, 5)]);
    assert!(matches!(odd, Err(Error::Misaligned { .. })));
}

/// Offsets that only the device has, others in each launch of one plan.
pub fn quick_segments_by_offsets_on_the_device(gpu: &Gpu) {
    const LEN: usize = 300_001;
    let values: Vec<f32> = elements(&samples::ALL[0].array(Type::F32, LEN));
    let input = DeviceBuffer::from_slice(&values).expect("device memory");
    let prepared = gpu
        .prepare_segmented::<f32, _>(ops::Sum, LEN as u64, 5)
        .expect("a plan");
    let ends = gpu
        .prepare_segmented::<f32, _>(ops::Max, LEN as u64, 5)
        .expect("a plan");
    let mut workspace = prepared.workspace().expect("device memory");
    let mut answers = DeviceBuffer::from_slice(&[0.0_f32; 5]).expect("device memory");
    let stream = cust::stream::Stream::new(cust::stream::StreamFlags::DEFAULT, None).expect("a stream");
    // All of it; much left out at both ends; one segment with nearly all, and empty ones; nothing at all.
    for offsets in [
        [0, 1, 4100, 4101, 70_000, LEN as u64],
        [5000, 5003, 9000, 9128, 200_000, 200_001],
        [3, 3, 10, 299_000, 299_000, 299_999],
        [7; 6],
    ] {
        let on_device = DeviceBuffer::from_slice(&offsets).expect("device memory");
        cust::context::CurrentContext::synchronize().expect("cuCtxSynchronize");
        let mut found = [[0.0_f32; 5]; 2];
        for (found, is_sum) in found.iter_mut().zip([true, false]) {
            // SAFETY: all of them live until the stream was waited for, and the offsets rise and end within the array.
            unsafe {
                if is_sum {
                    prepared.launch(&stream, &input, &on_device, &mut answers, &mut workspace)
                } else {
                    ends.launch(&stream, &input, &on_device, &mut answers, &mut workspace)
                }
            }
            .expect("a launch");
            stream.synchronize().expect("the fold");
            answers.copy_to(found).expect("a copy");
        }
        for (i, range) in offsets.windows(2).enumerate() {
            let segment = &values[range[0] as usize..range[1] as usize];
            let sum = cpu::reduce(ops::Sum, segment).expect("a sum");
            let most = cpu::reduce(ops::Max, segment).unwrap_or(f32::NAN);
            assert_eq!(Bits::of(found[0][i]), Bits::of(sum), "sum {i} of {offsets:?}");
            assert_eq!(Bits::of(found[1][i]), Bits::of(most), "max {i} of {offsets:?}");
        }
    }
    let few = DeviceBuffer::from_slice(&[0_u64; 5]).expect("device memory");
    // SAFETY: nothing is enqueued.
    let [odd, few] = unsafe {
        let (from, to) = (input.as_device_ptr().as_raw(), answers.as_device_ptr().as_raw());
        let odd = few.as_device_ptr().as_raw() + 4;
        [
            prepared.launch_raw(&stream, from, odd, to, &mut workspace),
            prepared.launch(&stream, &input, &few, &mut answers, &mut workspace),
        ]
    };
    let missing = OffsetFault::Missing;
    assert!(
        matches!(few, Err(Error::Offset { at: 5, fault }) if fault == missing),
        "{few:?}"
    );
    assert!(matches!(odd, Err(Error::Misaligned { alignment: 8, .. })), "{odd:?}");
}

pub fn quick_segments_that_are_wrong(gpu: &Gpu) {
    let input = DeviceBuffer::from_slice(&[1.0_f32; 12]).expect("device memory");
    let fold =
        |lens: &[u64]| gpu.reduce_segments(ops::Max, &input, &Segments::by_lens(lens.iter().copied()).expect("few"));
    assert!(matches!(fold(&[5, 8]), Err(Error::Offset { at: 2, .. })));
    assert!(matches!(fold(&[5, 6]), Err(Error::Offset { at: 2, .. })));
    assert!(matches!(fold(&[5, 0, 7]), Err(Error::EmptySegment { segment: 1, .. })));
    assert_eq!(fold(&[5, 7]).expect("answers"), [1.0, 1.0]);
    let prepared = gpu
        .prepare_segments::<f32, _>(ops::Sum, &Segments::by_size(12, 5).expect("segments"))
        .expect("a plan");
    let mut workspace = prepared.workspace().expect("device memory");
    let mut answers = DeviceBuffer::from_slice(&[0.0_f32; 3]).expect("device memory");
    let stream = cust::stream::Stream::new(cust::stream::StreamFlags::DEFAULT, None).expect("a stream");
    // SAFETY: all of them live until the stream was waited for.
    unsafe {
        let short = prepared.launch(&stream, &input.index(..11), &mut answers, &mut workspace);
        assert!(matches!(short, Err(Error::LengthMismatch { prepared: 12, got: 11 })));
        let few = prepared.launch(&stream, &input, &mut answers.index(..2), &mut workspace);
        assert!(matches!(few, Err(Error::OutputTooSmall { needed: 3, got: 2 })));
        prepared
            .launch(&stream, &input, &mut answers, &mut workspace)
            .expect("launches");
    }
    stream.synchronize().expect("done");
    assert_eq!(answers.as_host_vec().expect("a copy"), [5.0, 5.0, 2.0]);
}
