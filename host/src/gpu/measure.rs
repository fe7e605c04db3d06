//! How long launches take: graphs of them, replayed, so that no gap between two launches is timed.

use std::ptr;

use cust::{
    event::{Event, EventFlags},
    stream::Stream,
};
use warpfold_driver::sys;

use super::status::{Status as _, check};
use crate::Error;

/// What was enqueued on a stream, captured once and launched as often as one likes.
struct Graph {
    graph: sys::Handle,
    exec: sys::Handle,
}

impl Graph {
    /// What `enqueue` puts on `stream`, which is not run for now.
    fn capture<E: From<Error>>(stream: &Stream, enqueue: impl FnOnce() -> Result<(), E>) -> Result<Self, E> {
        /// CU_STREAM_CAPTURE_MODE_THREAD_LOCAL
        const THREAD_LOCAL: u32 = 1;
        let raw = stream.as_inner().cast();
        let (mut graph, mut exec) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the stream is alive; each handle is written before it is read.
        unsafe {
            check("cuStreamBeginCapture", sys::cuStreamBeginCapture_v2(raw, THREAD_LOCAL))?;
            let enqueued = enqueue();
            check("cuStreamEndCapture", sys::cuStreamEndCapture(raw, &mut graph))?;
            enqueued?;
            check(
                "cuGraphInstantiate",
                sys::cuGraphInstantiateWithFlags(&mut exec, graph, 0),
            )?;
        }
        Ok(Self { graph, exec })
    }

    /// Enqueues all of it.
    fn launch(&self, stream: &Stream) -> Result<(), Error> {
        // SAFETY: the graph is instantiated, the stream alive.
        check("cuGraphLaunch", unsafe {
            sys::cuGraphLaunch(self.exec, stream.as_inner().cast())
        })
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: both were made by `capture`; the driver frees what a launch still needs behind it.
        unsafe {
            sys::cuGraphExecDestroy(self.exec);
            sys::cuGraphDestroy(self.graph);
        }
    }
}

/// Rounds that are not timed, so that clocks and caches are as in the others.
const WARM_UPS: usize = 3;

/// Median microseconds of what `enqueue` puts on the stream, of so many rounds, by the device's clock.
///
/// # Errors
///
/// Those of `enqueue`; [`Error::Driver`].
pub fn median<E: From<Error>>(
    stream: &Stream,
    rounds: usize,
    mut enqueue: impl FnMut() -> Result<(), E>,
) -> Result<f64, E> {
    let event = || Event::new(EventFlags::DEFAULT).or_fail("cuEventCreate");
    let (start, end) = (event()?, event()?);
    let mut times = Vec::new();
    for round in 0..rounds + WARM_UPS {
        start.record(stream).or_fail("cuEventRecord")?;
        enqueue()?;
        end.record(stream).or_fail("cuEventRecord")?;
        end.synchronize().or_fail("cuEventSynchronize")?;
        if round >= WARM_UPS {
            let milliseconds = end.elapsed_time_f32(&start).or_fail("cuEventElapsedTime")?;
            times.push(f64::from(milliseconds) * 1e3);
        }
    }
    times.sort_by(f64::total_cmp);
    Ok(times[times.len() / 2])
}

/// Median microseconds of a launch: of so many captured together, of 15 rounds, which have all ended when it answers. Each is told its number,
/// so that each can have memory of its own.
///
/// # Errors
///
/// Those of `launch`; [`Error::Driver`].
pub fn of_launches<E: From<Error>>(
    stream: &Stream,
    launches: u64,
    mut launch: impl FnMut(u64) -> Result<(), E>,
) -> Result<f64, E> {
    /// Rounds that are timed.
    const ROUNDS: usize = 15;
    let graph = Graph::capture(stream, || (0..launches).try_for_each(&mut launch))?;
    let us = median(stream, ROUNDS, || Ok::<(), E>(graph.launch(stream)?))?;
    Ok(us / launches as f64)
}
