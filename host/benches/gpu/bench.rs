//! What benchmarks on a GPU have in common: memory of many times any cache, a pattern in it, and the time of a graph's replays.

use std::{error::Error, ptr};

use cust::{
    event::{Event, EventFlags},
    memory::{CopyDestination, DeviceBuffer},
    stream::{Stream, StreamFlags},
};
use warpfold::gpu::Gpu;
use warpfold_driver::sys;

use super::Sample;

pub(crate) type Outcome<T> = Result<T, Box<dyn Error>>;

/// Elements of all buffers together: 4 GiB, many times any L2 cache.
pub(crate) const POOL: usize = 1 << 30;
/// Elements of the pattern that fills them.
pub(crate) const PATTERN: usize = 1 << 22;

pub(crate) struct Bench {
    pub(crate) stream: Stream,
    pub(crate) pool: DeviceBuffer<f32>,
    pub(crate) pattern: Vec<f32>,
    // Last, so that it outlives what is of its context.
    pub(crate) gpu: Gpu,
}

impl Bench {
    /// On the first GPU; where there is none it says so.
    pub fn open() -> Outcome<Option<Self>> {
        let gpu = match Gpu::new(0) {
            Ok(gpu) => gpu,
            Err(error) => {
                println!("# skipped: {error}");
                return Ok(None);
            }
        };
        gpu.make_current()?;
        println!("# {}", gpu.facts());
        Self::new(gpu).map(Some)
    }

    pub(crate) fn new(gpu: Gpu) -> Outcome<Self> {
        let pattern: Vec<f32> = (0..PATTERN as u32)
            .map(|i| {
                let hash = i.wrapping_mul(2_654_435_761);
                ((hash ^ hash >> 15) & 0xffff) as f32 / 65536.0 - 0.5
            })
            .collect();
        // SAFETY: filled below, before anything reads it.
        let pool = unsafe { DeviceBuffer::<f32>::uninitialized(POOL)? };
        for start in (0..POOL).step_by(PATTERN) {
            pool.index(start..start + PATTERN).copy_from(&pattern)?;
        }
        let stream = Stream::new(StreamFlags::DEFAULT, None)?;
        Ok(Self {
            gpu,
            stream,
            pool,
            pattern,
        })
    }

    /// The yardstick: a device-to-device copy, bytes read and written.
    pub(crate) fn copy(&self) -> Outcome<()> {
        let half = POOL / 2;
        let mut to = self.pool.index(half..);
        let from = self.pool.index(..half);
        let us = self.median(9, || {
            use cust::memory::AsyncCopyDestination;
            // SAFETY: both halves live as long as the bench, and nothing else uses them meanwhile.
            unsafe { to.async_copy_from(&from, &self.stream)? };
            Ok(())
        })?;
        println!(
            "# device-to-device copy of {} bytes: {us:.2} us, {:.0} GB/s read and written",
            half * 4,
            gb_per_s(half * 8, us)
        );
        Ok(())
    }

    /// Fills the pool with elements of a type: the pattern, again and again.
    pub(crate) fn fill<T: Sample>(&self) -> Outcome<Vec<T>> {
        let pattern: Vec<T> = self.pattern.iter().map(|number| T::of(*number)).collect();
        self.fill_with(&pattern)?;
        Ok(pattern)
    }

    /// The same with a pattern of another kind.
    pub(crate) fn fill_with<T: Sample>(&self, pattern: &[T]) -> Outcome<()> {
        let bytes: &[u8] = bytemuck::cast_slice(pattern);
        let pool = self.pool.as_device_ptr().as_raw();
        for start in (0..4 * POOL).step_by(bytes.len()) {
            // SAFETY: within the pool, whose every bit pattern is a number.
            check(unsafe { sys::cuMemcpyHtoD_v2(pool + start as u64, bytes.as_ptr().cast(), bytes.len()) })?;
        }
        Ok(())
    }

    /// Median microseconds of what `enqueue` puts on the stream, after three rounds of warming up.
    pub(crate) fn median(&self, rounds: usize, mut enqueue: impl FnMut() -> Outcome<()>) -> Outcome<f64> {
        let (start, end) = (Event::new(EventFlags::DEFAULT)?, Event::new(EventFlags::DEFAULT)?);
        let mut times = Vec::new();
        for round in 0..rounds + 3 {
            start.record(&self.stream)?;
            enqueue()?;
            end.record(&self.stream)?;
            end.synchronize()?;
            if round >= 3 {
                times.push(f64::from(end.elapsed_time_f32(&start)?) * 1e3);
            }
        }
        times.sort_by(f64::total_cmp);
        Ok(times[times.len() / 2])
    }
}

/// A captured graph, ready to launch.
pub(crate) struct Graph {
    graph: sys::Handle,
    exec: sys::Handle,
}

impl Graph {
    pub(crate) fn capture(stream: &Stream, enqueue: impl FnOnce() -> Outcome<()>) -> Outcome<Self> {
        const THREAD_LOCAL: u32 = 1;
        let raw = stream.as_inner().cast();
        let (mut graph, mut exec) = (ptr::null_mut(), ptr::null_mut());
        // SAFETY: the stream is alive; what is captured is launched while its buffers live, which `Bench::time` sees to.
        unsafe {
            check(sys::cuStreamBeginCapture_v2(raw, THREAD_LOCAL))?;
            let enqueued = enqueue();
            check(sys::cuStreamEndCapture(raw, &mut graph))?;
            enqueued?;
            check(sys::cuGraphInstantiateWithFlags(&mut exec, graph, 0))?;
        }
        Ok(Self { graph, exec })
    }

    pub(crate) fn launch(&self, stream: &Stream) -> Outcome<()> {
        // SAFETY: the graph is instantiated, the stream alive.
        check(unsafe { sys::cuGraphLaunch(self.exec, stream.as_inner().cast()) })
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // SAFETY: both were made by `capture`, and every launch was waited for.
        unsafe {
            sys::cuGraphExecDestroy(self.exec);
            sys::cuGraphDestroy(self.graph);
        }
    }
}

pub(crate) fn check(code: u32) -> Outcome<()> {
    if code == 0 {
        Ok(())
    } else {
        Err(format!("CUDA error {code}").into())
    }
}

pub(crate) fn gb_per_s(bytes: usize, us: f64) -> f64 {
    bytes as f64 / us / 1e3
}
