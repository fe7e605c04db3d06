//! What is written, what is allocated, and what comes back.

use std::thread;

use cust::memory::{CopyDestination, DeviceBuffer, mem_get_info};
use warpfold::{
    Error, fold,
    gpu::Gpu,
    layout::{Axes, Layout},
    ops::{ArgMin, Reduction, Sum},
    plan::Shape,
};
use warpfold_tests::{Bits, backends, cases, each_operator};

use crate::on_device::{Answer, Array, free, keeps_free_memory, launch, reduce, stream};

/// A shape of many tiles: a slot for each leaf.
const TINY_TILES: Shape = Shape {
    warps: 1,
    leaves_per_warp: 1,
    blocks: 64,
};

/// Canaries around the answer, poison around the input, and buffers of canaries where the allocator puts neighbours of
/// the workspace: none is touched.
pub fn quick_nothing_beside_the_outputs_is_written(gpu: &Gpu) {
    fn launch_among_canaries<R: Reduction<f32>>(op: R, gpu: &Gpu, values: &[f32]) {
        const PATTERN: [u32; 128] = [0x5eed_5eed; 128];
        let canaries = || -> Vec<_> {
            let canary = || DeviceBuffer::from_slice(&PATTERN).expect("device memory");
            (0..32).map(|_| canary()).collect()
        };
        let input = Array::new(values, 1);
        let expected = backends::cpu(op, values).expect("not empty");
        let len = values.len() as u64;
        let shaped = gpu.prepare_shaped(op, len, TINY_TILES).expect("a legal shape");
        for prepared in [gpu.prepare(op, len).expect("prepared"), shaped] {
            let (before, answer) = (canaries(), Answer::new());
            let mut workspace = prepared.workspace().expect("a workspace");
            let after = canaries();
            let stream = stream();
            launch(&prepared, &stream, &input, &answer, &mut workspace);
            stream.synchronize().expect("cuStreamSynchronize");
            assert_eq!(answer.read(prepared.plan().entry), expected, "{}", prepared.plan());
            for canary in before.iter().chain(&after) {
                let mut words = PATTERN.map(|_| 0);
                canary.copy_to(&mut words).expect("cuMemcpyDtoH");
                assert_eq!(words, PATTERN, "beside the workspace of {}", prepared.plan());
            }
        }
        input.assert_holds(values);
    }
    for len in [1, 1025, 120_001] {
        each_operator!(launch_among_canaries(gpu, &cases::CYCLE.array(len)));
    }
}

pub fn quick_the_input_is_left_alone(gpu: &Gpu) {
    fn fold<R: Reduction<f32>>(op: R, gpu: &Gpu, input: &Array) {
        assert!(reduce(gpu, op, input).is_some());
    }
    // Payloads and signalling NaNs are changed by a careless copy.
    for case in [cases::MIXED, cases::ALL_NAN, cases::SUBNORMALS] {
        let values = case.array(130_001);
        let input = Array::new(&values, 0);
        each_operator!(fold(gpu, &input));
        input.assert_holds(&values);
    }
}

pub fn quick_a_launch_allocates_nothing(gpu: &Gpu) {
    let values = cases::CYCLE.array(1 << 18);
    let (input, answer, stream) = (Array::new(&values, 0), Answer::new(), stream());
    let prepared = gpu.prepare::<f32, _>(ArgMin, values.len() as u64).expect("prepared");
    let mut workspace = prepared.workspace().expect("a workspace");
    // The driver may finish loading a kernel at its first launch.
    launch(&prepared, &stream, &input, &answer, &mut workspace);
    keeps_free_memory(|| {
        for _ in 0..100 {
            launch(&prepared, &stream, &input, &answer, &mut workspace);
        }
    });
}

/// Blocking calls keep what they need; everything else comes back.
pub fn nothing_is_leaked(gpu: &Gpu) {
    let values = cases::CYCLE.array((1 << 22) + 1);
    let work = |gpu: &Gpu| {
        let input = Array::new(&values, 0);
        for len in [1, 70_000, values.len()] {
            let prepared = gpu
                .prepare_shaped::<f32, _>(Sum, len as u64, TINY_TILES)
                .expect("a legal shape");
            drop(prepared.workspace().expect("a workspace"));
            let part = Array::new(&values[..len], 3);
            assert!(reduce(gpu, Sum, &part).is_some() && reduce(gpu, ArgMin, &part).is_some());
        }
        assert!(gpu.reduce_host(Sum, &values).is_ok());
        assert!(reduce(gpu, Sum, &input).is_some());
    };
    work(gpu);
    keeps_free_memory(|| (0..20).for_each(|_| work(gpu)));
    // A GPU's own stream, modules and buffers.
    keeps_free_memory(|| (0..5).for_each(|_| work(&Gpu::new(0).expect("there was one"))));
}

/// A workspace may be dropped where no context is current: its memory comes back all the same.
pub fn a_workspace_is_freed_from_any_thread(gpu: &Gpu) {
    // A slot for each of 2²⁴ leaves: 64 MiB, and no input is needed to plan for.
    let prepared = gpu
        .prepare_shaped::<f32, _>(Sum, 1 << 34, TINY_TILES)
        .expect("a legal shape");
    drop(prepared.workspace().expect("a workspace"));
    keeps_free_memory(|| {
        let workspace = prepared.workspace().expect("a workspace");
        thread::spawn(move || drop(workspace)).join().expect("dropped");
    });
}

/// Where the device is nearly full, an array in host memory is folded in pieces that fit, to the same bits; a piece that
/// does not fit is a typed error.
pub fn a_full_device_folds_in_smaller_pieces(_: &Gpu) {
    const LEFT: usize = 48 << 20;
    // Its staging buffer is yet to be made.
    let gpu = Gpu::new(0).expect("there was one");
    let values = cases::CYCLE.array(1 << 25);
    // The kernels are loaded first, while there is room.
    assert!(gpu.reduce_host(Sum, &values[..5000]).is_ok() && gpu.reduce_host(Sum, &values[..5_000_000]).is_ok());
    let mut filling: Vec<DeviceBuffer<u8>> = vec![];
    let mut step = 1_usize << 40;
    while step >= 1 << 20 {
        // SAFETY: never read.
        match unsafe { DeviceBuffer::uninitialized(step) } {
            Ok(buffer) if free() >= LEFT => filling.push(buffer),
            _ => step /= 2,
        }
    }
    let before = free();
    // Along axes an array is on the device all at once.
    let line = Layout::c_order(&[1, values.len() as u64]).expect("small");
    match gpu.reduce_host_axes(Sum, &values, &line, &Axes::of(&[1])) {
        Err(Error::OutOfMemory { bytes, free, total }) => {
            assert_eq!(bytes, size_of_val(&values[..]));
            assert!(free < bytes && bytes < total, "{bytes} bytes, {free} free of {total}");
        }
        other => panic!("{other:?} where {before} bytes are free"),
    }
    let piece = gpu.piece_len::<f32>().expect("free memory");
    assert!(piece < values.len(), "pieces of {piece} where {before} bytes are free");
    assert_eq!(
        backends::answer(gpu.reduce_host(Sum, &values)),
        backends::cpu(Sum, &values)
    );
    let state = fold(Sum).state_on(&gpu, &values);
    assert_eq!(state.map(Bits::of).ok(), backends::cpu(Sum, &values));
    drop(filling);
    assert!(
        mem_get_info().expect("cuMemGetInfo").0 > before,
        "the filling came back"
    );
    assert_eq!(
        fold(Sum).state_on(&gpu, &values).map(Bits::of).ok(),
        backends::cpu(Sum, &values)
    );
}
