//! Asynchronous calls: they do not wait, they do not disturb each other, and they give the same bits every time.

use std::{
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use cust::memory::{CopyDestination, DeviceBuffer};
use warpfold::{
    DeviceView, Error, cpu, fold,
    gpu::{Gpu, RawStream, Workspace},
    layout::{Axes, Layout},
    ops::{ArgMax, Max, Mean, Min, Reduction, Sum},
    plan::Shape,
};
use warpfold_driver::sys;
use warpfold_kernels::monoids::Words;
use warpfold_tests::{Bits, backends, cases, each_operator};

use crate::on_device::{Answer, Array, launch, launch_and_wait, stream};

/// Many launches in a row, each with an answer of its own.
fn one_bit_pattern<R: Reduction<f32>>(op: R, gpu: &Gpu, input: &Array, values: &[f32], launches: usize) {
    let expected = backends::cpu(op, values).expect("not empty");
    let tuned = gpu.prepare(op, values.len() as u64).expect("prepared");
    // Many blocks, in a hurry to be last.
    let shape = Shape {
        warps: 1,
        leaves_per_warp: 1,
        blocks: 300,
    };
    let shaped = gpu
        .prepare_shaped(op, values.len() as u64, shape)
        .expect("a legal shape");
    for prepared in [tuned, shaped] {
        let (stream, bytes) = (stream(), R::Answer::COUNT * R::Answer::UNIT);
        let mut workspace = prepared.workspace().expect("a workspace");
        let answers = DeviceBuffer::<u8>::zeroed(launches * bytes).expect("device memory");
        cust::context::CurrentContext::synchronize().expect("cuCtxSynchronize");
        for i in 0..launches {
            let answer = answers.as_device_ptr().as_raw() + (i * bytes) as u64;
            // SAFETY: everything lives until the stream has been waited for; nothing else uses the workspace.
            unsafe { prepared.launch_raw(&stream, [input.address(), 0], answer, &mut workspace) }.expect("launched");
        }
        stream.synchronize().expect("cuStreamSynchronize");
        let mut packed = vec![0; answers.len()];
        answers.copy_to(&mut packed[..]).expect("cuMemcpyDtoH");
        let expected: Vec<u8> = expected
            .0
            .iter()
            .flat_map(|word| word.to_le_bytes()[..R::Answer::UNIT].to_vec())
            .collect();
        for (i, answer) in packed.chunks(bytes).enumerate() {
            assert_eq!(answer, expected, "launch {i} of {}", prepared.plan());
        }
    }
}

pub fn quick_one_bit_pattern(gpu: &Gpu) {
    let values = cases::WIDE.array(200_001);
    let input = Array::new(&values, 0);
    each_operator!(one_bit_pattern(gpu, &input, &values, 20));
}

pub fn a_thousand_launches_give_one_bit_pattern(gpu: &Gpu) {
    let values = cases::WIDE.array((1 << 20) + 77);
    let input = Array::new(&values, 0);
    each_operator!(one_bit_pattern(gpu, &input, &values, 1000));
}

/// The streams that each context has, and a workspace of memory that holds anything.
pub fn quick_streams_and_memory_of_others(gpu: &Gpu) {
    let values = cases::WIDE.array(300_001);
    let input = Array::new(&values, 0);
    let prepared = gpu.prepare::<f32, _>(Sum, values.len() as u64).expect("prepared");
    let expected = launch_and_wait(&prepared, &input);
    let words = prepared.plan().workspace_words();
    assert!(words > 0, "tiles meet in the workspace");
    let memory = DeviceBuffer::from_slice(&vec![u32::MAX; words]).expect("device memory");
    let address = memory.as_device_ptr().as_raw();
    // SAFETY: it has so many words, and nothing else uses them.
    let mut workspace = unsafe { Workspace::from_raw(address, words) };
    for stream in [RawStream::NULL, RawStream::PER_THREAD] {
        for _ in 0..3 {
            let answer = DeviceBuffer::<f32>::zeroed(1).expect("device memory");
            // SAFETY: everything lives until the device has been waited for.
            unsafe {
                prepared.launch_raw(
                    stream,
                    [input.address(), 0],
                    answer.as_device_ptr().as_raw(),
                    &mut workspace,
                )
            }
            .expect("launched");
            gpu.synchronize().expect("cuCtxSynchronize");
            let mut sum = [0.0_f32];
            answer.copy_to(&mut sum).expect("cuMemcpyDtoH");
            assert_eq!(sum[0].to_bits(), expected.0[0], "on stream {}", stream.as_raw());
        }
        assert!(!gpu.is_capturing(stream).expect("a stream"));
    }
    // SAFETY: as above.
    let mut short = unsafe { Workspace::from_raw(address, words - 1) };
    // SAFETY: nothing is launched.
    let refused = unsafe { prepared.launch_raw(RawStream::NULL, [input.address(), 0], address, &mut short) };
    assert!(matches!(refused, Err(Error::WorkspaceTooSmall { .. })));
}

/// A stream that is held up by the host: a launch that waited for it would wait until the host gives up.
pub fn a_launch_does_not_wait(gpu: &Gpu) {
    const NOT_READY: u32 = 600;
    let values = cases::CYCLE.array(150_001);
    let (input, answer, stream) = (Array::new(&values, 1), Answer::new(), stream());
    let prepared = gpu.prepare::<f32, _>(Sum, values.len() as u64).expect("prepared");
    let mut workspace = prepared.workspace().expect("a workspace");
    // The driver may finish loading a kernel at its first launch.
    let expected = launch_and_wait(&prepared, &input);

    let (release, held) = mpsc::channel::<()>();
    let patience = Duration::from_secs(20);
    let hold = move || {
        let _ = held.recv_timeout(patience);
    };
    stream.add_callback(Box::new(hold)).expect("cuLaunchHostFunc");
    let start = Instant::now();
    for _ in 0..10 {
        launch(&prepared, &stream, &input, &answer, &mut workspace);
    }
    // SAFETY: the stream is live.
    let query = unsafe { sys::cuStreamQuery(stream.as_inner().cast()) };
    release.send(()).expect("the stream is still held");
    assert_eq!(
        query,
        NOT_READY,
        "the stream was held up, and is done after {:?}",
        start.elapsed()
    );
    stream.synchronize().expect("cuStreamSynchronize");
    assert!(start.elapsed() < patience, "a launch waited for its stream");
    assert_eq!(answer.read(prepared.plan().entry), expected);
}

/// A workspace serves one launch after another, of any operator and length that it is large enough for.
pub fn quick_operators_take_turns_in_one_workspace(gpu: &Gpu) {
    fn take_turn<R: Reduction<f32>>(
        op: R,
        gpu: &Gpu,
        input: &Array,
        values: &[f32],
        stream: &cust::stream::Stream,
        workspace: &mut Workspace,
    ) {
        let (prepared, answer) = (gpu.prepare(op, values.len() as u64).expect("prepared"), Answer::new());
        launch(&prepared, stream, input, &answer, workspace);
        let expected = backends::cpu(op, values).expect("not empty");
        assert_eq!(answer.read(prepared.plan().entry), expected, "{}", prepared.plan());
    }
    let shape = Shape {
        warps: 1,
        leaves_per_warp: 1,
        blocks: 50,
    };
    let widest = gpu
        .prepare_shaped::<f32, _>(ArgMax, 1 << 18, shape)
        .expect("a legal shape");
    let (mut workspace, stream) = (widest.workspace().expect("a workspace"), stream());
    for len in [1, 5000, 100_003, 1 << 18, 30_000] {
        let values = cases::CYCLE.array(len);
        let input = Array::new(&values, 0);
        each_operator!(take_turn(gpu, &input, &values, &stream, &mut workspace));
    }
}

/// One whose tickets lie where another's slots were.
pub fn quick_plans_of_few_and_many_tickets_take_turns(gpu: &Gpu) {
    const ROWS: u64 = 96;
    const COLUMNS: u64 = 40_000;
    let values = cases::CYCLE.array((ROWS * COLUMNS) as usize);
    let input = Array::new(&values, 0);
    let matrix = Layout::c_order(&[ROWS, COLUMNS]).expect("small");
    let whole = gpu.prepare::<f32, _>(Sum, ROWS * COLUMNS).expect("prepared");
    let along = fold(Sum).axis(1).prepare::<f32>(gpu, &matrix).expect("prepared");
    assert!(along.plan().ticket_words() > whole.plan().ticket_words() && along.plan().tiles > 1);
    let is_larger = whole.plan().workspace_words() > along.plan().workspace_words();
    let workspace = if is_larger {
        whole.workspace()
    } else {
        along.workspace()
    };
    let (mut workspace, stream) = (workspace.expect("a workspace"), stream());
    let expected = cpu::reduce_axes(Sum, &values, &matrix, &Axes::of(&[1]))
        .expect("sums")
        .answers;
    let mut total = DeviceBuffer::from_slice(&[0.0_f32]).expect("device memory");
    let mut sums = DeviceBuffer::from_slice(&[0.0_f32; ROWS as usize]).expect("device memory");
    for _ in 0..3 {
        // SAFETY: all of them outlive the stream's work, which is waited for, and nothing else uses them.
        unsafe {
            whole
                .launch(&stream, &input.slice(), &mut total, &mut workspace)
                .expect("launched");
            along
                .launch(&stream, &input.slice(), &mut sums, &mut workspace)
                .expect("launched");
        }
        stream.synchronize().expect("cuStreamSynchronize");
        let (mut one, mut each) = ([0.0], [0.0; ROWS as usize]);
        total.copy_to(&mut one).expect("cuMemcpyDtoH");
        sums.copy_to(&mut each).expect("cuMemcpyDtoH");
        assert_eq!(Some(Bits::of(one[0])), backends::cpu(Sum, &values));
        assert_eq!(
            each.map(f32::to_bits).to_vec(),
            expected.iter().map(|sum| sum.to_bits()).collect::<Vec<_>>()
        );
    }
}

/// Launches on many streams at once, each with its own workspace.
pub fn streams_side_by_side(gpu: &Gpu) {
    let arrays: Vec<Vec<f32>> = (0..6).map(|i| cases::WIDE.array(100_003 * (i + 1))).collect();
    let mut lanes: Vec<_> = arrays
        .iter()
        .map(|values| {
            let prepared = gpu.prepare::<f32, _>(Sum, values.len() as u64).expect("prepared");
            let workspace = prepared.workspace().expect("a workspace");
            let answers: Vec<Answer> = (0..50).map(|_| Answer::new()).collect();
            (prepared, workspace, Array::new(values, 0), answers, stream())
        })
        .collect();
    for turn in 0..50 {
        for (prepared, workspace, input, answers, stream) in &mut lanes {
            launch(prepared, stream, input, &answers[turn], workspace);
        }
    }
    for (values, (prepared, _, _, answers, stream)) in arrays.iter().zip(&lanes) {
        stream.synchronize().expect("cuStreamSynchronize");
        let expected = backends::cpu(Sum, values).expect("not empty");
        for (turn, answer) in answers.iter().enumerate() {
            assert_eq!(
                answer.read(prepared.plan().entry),
                expected,
                "turn {turn} of {}",
                prepared.plan()
            );
        }
    }
}

/// Threads that share the GPU, each with its own stream and workspace.
pub fn threads_side_by_side(gpu: &Gpu) {
    fn work<R: Reduction<f32>>(op: R, gpu: &Gpu, values: &[f32]) {
        gpu.make_current().expect("cuCtxSetCurrent");
        let input = Array::new(values, 0);
        let prepared = gpu.prepare(op, values.len() as u64).expect("prepared");
        let (stream, answer) = (stream(), Answer::new());
        let mut workspace = prepared.workspace().expect("a workspace");
        let expected: Bits = backends::cpu(op, values).expect("not empty");
        for _ in 0..50 {
            launch(&prepared, &stream, &input, &answer, &mut workspace);
            stream.synchronize().expect("cuStreamSynchronize");
            assert_eq!(answer.read(prepared.plan().entry), expected, "{}", prepared.plan());
        }
    }
    let values = &cases::WIDE.array(1_000_003);
    thread::scope(|scope| {
        scope.spawn(|| work(Sum, gpu, values));
        scope.spawn(|| work(ArgMax, gpu, &values[1..]));
        scope.spawn(|| work(Min, gpu, &values[2..]));
        scope.spawn(|| work(Mean, gpu, &values[..70_000]));
    });
}

/// Blocking calls take turns, whichever thread they come from, and need no context of the thread's own.
pub fn blocking_calls_from_threads(gpu: &Gpu) {
    fn work<R: Reduction<f32>>(op: R, gpu: &Gpu, input: &Array, values: &[f32]) {
        let expected = backends::cpu(op, values);
        for _ in 0..25 {
            // SAFETY: the array outlives the scope of the threads, and nobody writes to it.
            let view = unsafe { DeviceView::<f32>::from_raw(input.address(), values.len() as u64) };
            assert_eq!(
                backends::answer(fold(op).on(gpu, view)),
                expected,
                "{} in device memory",
                R::NAME
            );
            let from_host = gpu.reduce_host(op, &values[..50_000]);
            assert_eq!(
                backends::answer(from_host),
                backends::cpu(op, &values[..50_000]),
                "{} in host memory",
                R::NAME
            );
        }
    }
    let values = &cases::WIDE.array(1_000_003);
    let input = &Array::new(values, 1);
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| work(Sum, gpu, input, values));
            scope.spawn(|| work(ArgMax, gpu, input, values));
            scope.spawn(|| work(Max, &gpu.clone(), input, values));
        }
    });
}
