//! Every error is typed, carries its numbers, and leaves everything as it was.

use cust::{
    context::legacy::{Context, ContextFlags, ContextStack},
    device::Device,
    memory::{CopyDestination, DeviceBuffer, DevicePointer, DeviceSlice},
};
use warpfold::{
    DeviceView, Error, fold,
    gpu::Gpu,
    ops::{ArgMax, Max, Reduction, Sum},
    plan::Shape,
};
use warpfold_driver::sys;
use warpfold_tests::{Bits, backends, cases, each_operator, spec};

use crate::on_device::{Answer, Array, keeps_free_memory, launch_and_wait, reduce, stream};

/// Over nothing, every way to ask gives what `docs/canonical-tree.md` has: an answer, or an error that names the operator.
pub fn quick_emptiness(gpu: &Gpu) {
    fn check<R: Reduction<f32>>(op: R, gpu: &Gpu) {
        let expected = spec::answer(R::NAME, &[]);
        for misalign in 0..2 {
            assert_eq!(reduce(gpu, op, &Array::new(&[], misalign)), expected, "{}", R::NAME);
        }
        // A slice of no buffer at all, and a null address.
        let nothing = DeviceBuffer::from_slice(&[]).expect("no memory is needed");
        assert_eq!(backends::answer(gpu.reduce(op, &nothing)), expected, "{}", R::NAME);
        // SAFETY: no element is read.
        let nowhere = unsafe { DeviceView::<f32>::from_raw(0, 0) };
        assert_eq!(backends::answer(fold(op).on(gpu, nowhere)), expected, "{}", R::NAME);
        assert_eq!(backends::answer(gpu.reduce_host(op, &[])), expected, "{}", R::NAME);
        match gpu.prepare(op, 0) {
            Ok(prepared) => assert_eq!(Some(launch_and_wait(&prepared, &Array::new(&[], 0))), expected),
            Err(Error::EmptyExtent { op }) => assert_eq!((op, expected), (R::NAME, None)),
            Err(error) => panic!("{error}"),
        }
    }
    each_operator!(check(gpu));
}

/// No kernels are built for compute capability 7.0.
pub fn quick_no_kernels_for_the_device(gpu: &Gpu) {
    let old = Gpu::with_kernels_for(gpu.facts().index, (7, 0)).expect("the same device");
    match old.prepare::<f32, _>(Sum, 1).map(|_| ()) {
        Err(Error::NoPtx {
            entry,
            compute_capability,
            built,
            ..
        }) => {
            assert_eq!((entry, compute_capability), ("sum_small_f32", (7, 0)));
            assert_eq!(built, warpfold::ptx::archs());
        }
        other => panic!("{other:?}"),
    }
}

pub fn quick_no_such_device(_: &Gpu) {
    let there = Gpu::count().expect("a driver");
    for wrong in [there, there + 1, usize::MAX] {
        match Gpu::new(wrong).map(|gpu| gpu.facts().clone()) {
            Err(Error::NoDevice { index, count }) => assert_eq!((index, count), (wrong, there)),
            other => panic!("{other:?} for device {wrong} of {there}"),
        }
    }
}

pub fn quick_wrong_arguments(gpu: &Gpu) {
    let values = cases::UNIFORM.array(100_003);
    let (input, answer, stream) = (Array::new(&values, 0), Answer::new(), stream());
    let prepared = gpu.prepare::<f32, _>(Sum, values.len() as u64).expect("prepared");
    let mut workspace = prepared.workspace().expect("a workspace");
    let mut float = DeviceBuffer::from_slice(&[0.5_f32, 0.25]).expect("device memory");

    let error = |result: Result<(), Error>| result.expect_err("wrong arguments");
    // SAFETY: nothing is launched: every call has something wrong with it.
    unsafe {
        let short = input.slice().index(1..);
        match error(prepared.launch(&stream, &short, &mut float, &mut workspace)) {
            Error::LengthMismatch { prepared, got } => assert_eq!((prepared, got), (100_003, 100_002)),
            other => panic!("{other}"),
        }
        let mut no_room = float.index(0..0);
        match error(prepared.launch(&stream, &input.slice(), &mut no_room, &mut workspace)) {
            Error::OutputTooSmall { needed, got } => assert_eq!((needed, got), (1, 0)),
            other => panic!("{other}"),
        }
        for (input, answer) in [
            (input.address() + 2, answer.address()),
            (input.address(), answer.address() + 1),
        ] {
            let wrong = if input % 4 == 0 { answer } else { input };
            match error(prepared.launch_raw(&stream, [input, 0], answer, &mut workspace)) {
                Error::Misaligned { address, alignment: 4 } => assert_eq!(address, wrong),
                other => panic!("{other}"),
            }
        }
        match fold(Sum).on(gpu, DeviceView::<f32>::from_raw(input.address() + 3, 1)) {
            Err(Error::Misaligned { address, alignment: 4 }) => assert_eq!(address, input.address() + 3),
            other => panic!("{other:?}"),
        }
        // An address of the host's, and one past everything.
        for address in [values.as_ptr().addr() as u64, 1 << 60] {
            let foreign = DeviceSlice::<f32>::from_raw_parts(DevicePointer::from_raw(address), 10);
            match gpu.reduce(Sum, &foreign) {
                Err(Error::ForeignMemory { address: named, index }) => {
                    assert_eq!((named, index), (address, gpu.facts().index));
                }
                other => panic!("{other:?}"),
            }
        }
        let long = gpu
            .prepare_shaped::<f32, _>(Sum, 100_003, shape(1, 1, 9))
            .expect("a legal shape");
        let mut small = gpu
            .prepare::<f32, _>(Sum, 1)
            .and_then(|one| one.workspace())
            .expect("a workspace");
        assert!(prepared.plan().workspace_words() > 0 && !small.fits(long.plan().workspace_words()));
        match error(long.launch_raw(&stream, [input.address(), 0], answer.address(), &mut small)) {
            Error::WorkspaceTooSmall { needed, got } => {
                assert_eq!((needed, got), (4 * long.plan().workspace_words(), small.bytes()));
            }
            other => panic!("{other}"),
        }
    }
    for wrong in [
        shape(3, 1, 1),
        shape(32, 1, 1),
        shape(0, 1, 1),
        shape(1, 256, 1),
        shape(1, 1, 0),
    ] {
        match gpu.prepare_shaped::<f32, _>(Sum, 5, wrong).map(|_| ()) {
            Err(Error::Shape { entry, shape }) => assert_eq!((entry, shape), ("sum_f32", wrong)),
            other => panic!("{other:?} for {wrong:?}"),
        }
    }
    for len in [1 << 61, u64::MAX] {
        match gpu.prepare::<f32, _>(Max, len).map(|_| ()) {
            Err(Error::LengthOverflow {
                elements,
                element_bytes,
            }) => assert_eq!((elements, element_bytes), (len, 4)),
            other => panic!("{other:?} for {len} elements"),
        }
    }

    // Nothing was written, and everything still works.
    stream.synchronize().expect("cuStreamSynchronize");
    answer.assert_unwritten();
    let mut kept = [0.0; 2];
    float.copy_to(&mut kept).expect("cuMemcpyDtoH");
    assert_eq!(kept, [0.5, 0.25]);
    // SAFETY: everything lives until the stream has been waited for.
    unsafe { prepared.launch(&stream, &input.slice(), &mut float, &mut workspace) }.expect("launched");
    stream.synchronize().expect("cuStreamSynchronize");
    float.copy_to(&mut kept).expect("cuMemcpyDtoH");
    assert_eq!(Some(Bits::of(kept[0])), backends::cpu(Sum, &values));
    assert_eq!(kept[1], 0.25, "one answer is written");
    input.assert_holds(&values);
}

const fn shape(warps: u32, leaves_per_warp: u32, blocks: u32) -> Shape {
    Shape {
        warps,
        leaves_per_warp,
        blocks,
    }
}

/// Work on a stream of another context would not be ordered with anything of this one.
pub fn quick_a_stream_of_another_context(gpu: &Gpu) {
    let values = cases::UNIFORM.array(5000);
    let (input, answer) = (Array::new(&values, 0), Answer::new());
    let prepared = gpu.prepare::<f32, _>(ArgMax, values.len() as u64).expect("prepared");
    let mut workspace = prepared.workspace().expect("a workspace");

    let device = Device::get_device(0).expect("there was one");
    let other = Context::create_and_push(ContextFlags::SCHED_AUTO, device).expect("cuCtxCreate");
    let foreign = stream();
    let launch = |workspace: &mut _| {
        // SAFETY: nothing is launched.
        unsafe { prepared.launch_raw(&foreign, [input.address(), 0], answer.address(), workspace) }
    };
    // Whichever context is current, the stream's own is what counts.
    assert!(matches!(launch(&mut workspace), Err(Error::ForeignStream)));
    ContextStack::pop().expect("cuCtxPopCurrent");
    assert!(matches!(launch(&mut workspace), Err(Error::ForeignStream)));

    // A call of this GPU's while the other context is current leaves that one current.
    ContextStack::push(&other).expect("cuCtxPushCurrent");
    let before = current_context();
    let ours = backends::answer(gpu.reduce_host(ArgMax, &values));
    assert_eq!(ours, backends::cpu(ArgMax, &values));
    assert_eq!(current_context(), before);
    drop(foreign);
    ContextStack::pop().expect("cuCtxPopCurrent");
    drop(other);

    answer.assert_unwritten();
    assert_eq!(Some(launch_and_wait(&prepared, &input)), backends::cpu(ArgMax, &values));
}

fn current_context() -> sys::Handle {
    let mut context = std::ptr::null_mut();
    // SAFETY: writes one handle.
    assert_eq!(unsafe { sys::cuCtxGetCurrent(&mut context) }, 0, "cuCtxGetCurrent");
    context
}

/// More slots than any device has memory for: an error, and nothing is kept.
pub fn quick_out_of_memory(gpu: &Gpu) {
    const LEN: u64 = 1 << 60;
    let values = cases::UNIFORM.array(5000);
    let input = Array::new(&values, 0);
    let prepared = gpu.prepare::<f32, _>(Sum, LEN).expect("a plan is arithmetic");
    let needed = 4 * prepared.plan().workspace_words();
    let check = |error: Option<Error>| match error {
        Some(Error::OutOfMemory { bytes, free, total }) => {
            assert_eq!(bytes, needed);
            assert!(0 < free && free <= total && total < bytes, "{free} free of {total}");
        }
        other => panic!("{other:?}"),
    };
    keeps_free_memory(|| {
        check(prepared.workspace().err());
        // SAFETY: nothing is launched, for want of a workspace.
        let input = unsafe { DeviceView::<f32>::from_raw(input.address(), LEN) };
        check(fold(Sum).on(gpu, input).err());
    });
    assert_eq!(reduce(gpu, Sum, &input), backends::cpu(Sum, &values));
}
