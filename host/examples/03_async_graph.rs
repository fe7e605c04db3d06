//! Asynchronous folds, captured once in a CUDA graph and replayed.
//!
//! A prepared launch allocates nothing and waits for nothing, which is what a capture asks for. Here the graph holds two
//! folds of one buffer; each replay folds what the buffer then holds.
//!
//! `cargo run --release --example 03_async_graph`; without a GPU it says so and ends well.

use std::{error::Error, ptr};

use cust::{
    memory::{CopyDestination, DeviceBuffer},
    stream::{Stream, StreamFlags},
    sys::{self, CUresult, CUstreamCaptureMode},
};
use warpfold::{
    cpu,
    gpu::Gpu,
    ops::{ArgMax, Sum},
};

const LEN: usize = 1 << 20;

fn main() -> Result<(), Box<dyn Error>> {
    let gpu = match Gpu::new(0) {
        Ok(gpu) => gpu,
        Err(error) => {
            println!("nothing to show: {error}");
            return Ok(());
        }
    };
    println!("on {}", gpu.facts());

    // All that allocates, before the capture. cust's own calls work in the current context.
    gpu.make_current()?;
    let stream = Stream::new(StreamFlags::DEFAULT, None)?;
    let (sum, argmax) = (
        gpu.prepare::<f32, _>(Sum, LEN as u64)?,
        gpu.prepare(ArgMax, LEN as u64)?,
    );
    let (mut for_sum, mut for_argmax) = (sum.workspace()?, argmax.workspace()?);
    let mut input = DeviceBuffer::<f32>::zeroed(LEN)?;
    let (mut total, mut place) = (DeviceBuffer::<f32>::zeroed(1)?, DeviceBuffer::<u64>::zeroed(1)?);

    let (mut graph, mut replay) = (ptr::null_mut(), ptr::null_mut());
    // SAFETY: buffers and workspaces outlive the last replay, and nothing else uses them while one runs.
    unsafe {
        let mode = CUstreamCaptureMode::CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
        check(sys::cuStreamBeginCapture_v2(stream.as_inner(), mode))?;
        sum.launch(&stream, &input, &mut total, &mut for_sum)?;
        argmax.launch(&stream, &input, &mut place, &mut for_argmax)?;
        check(sys::cuStreamEndCapture(stream.as_inner(), &mut graph))?;
        check(sys::cuGraphInstantiateWithFlags(&mut replay, graph, 0))?;
    }

    for round in 1..=3_u64 {
        let values: Vec<f32> = (0..LEN as u64).map(|i| ((i * round) % 4093) as f32 / 7.0).collect();
        input.copy_from(&values)?;
        // SAFETY: the graph is instantiated, and all that its launches use is alive.
        check(unsafe { sys::cuGraphLaunch(replay, stream.as_inner()) })?;
        stream.synchronize()?;
        let (total, place) = (total.as_host_vec()?[0], place.as_host_vec()?[0]);
        println!("replay {round}: sum {total}, largest at {place}");
        assert_eq!(total.to_bits(), cpu::reduce(Sum, &values)?.to_bits());
        assert_eq!(place, cpu::reduce(ArgMax, &values)?);
    }

    // SAFETY: both were made above, and every replay was waited for.
    unsafe {
        check(sys::cuGraphExecDestroy(replay))?;
        check(sys::cuGraphDestroy(graph))?;
    }
    Ok(())
}

fn check(code: CUresult) -> Result<(), String> {
    let ok = code == CUresult::CUDA_SUCCESS;
    ok.then_some(()).ok_or_else(|| format!("the driver answers {code:?}"))
}
