//! What benchmarks on a GPU have in common: memory of many times any cache, a pattern in it, and the time of a graph's replays.

use std::error::Error;

use cust::{
    memory::{CopyDestination, DeviceBuffer},
    stream::{Stream, StreamFlags},
};
use warpfold::gpu::{Gpu, measure};
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

    /// Median microseconds of what `enqueue` puts on the stream.
    pub(crate) fn median(&self, rounds: usize, enqueue: impl FnMut() -> Outcome<()>) -> Outcome<f64> {
        measure::median(&self.stream, rounds, enqueue)
    }

    /// Median microseconds of a launch, of so many that are captured together and replayed, all of which have ended when it answers.
    pub(crate) fn launches(&self, launches: u64, launch: impl FnMut(u64) -> Outcome<()>) -> Outcome<f64> {
        measure::of_launches(&self.stream, launches, launch)
    }
}

pub(crate) fn check(code: u32) -> Outcome<()> {
    if code == 0 {
        Ok(())
    } else {
        Err(format!("CUDA error {code}").into())
    }
}

/// The heads of what [`line`] prints.
pub(crate) const HEADS: &str = "group,op,case,dtype,us,GB/s,bytes";

/// Prints what was measured: CSV, which `cargo xtask bench` reads. No two lines of a program have the same group, operation, case and type.
pub(crate) fn line([group, op]: [&str; 2], case: impl std::fmt::Display, dtype: &str, us: f64, bytes: usize) {
    println!("{group},{op},{case},{dtype},{us:.3},{:.0},{bytes}", gb_per_s(bytes, us));
}

pub(crate) fn gb_per_s(bytes: usize, us: f64) -> f64 {
    bytes as f64 / us / 1e3
}
