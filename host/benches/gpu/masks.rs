//! Folds of what a mask selects of whole arrays: seven elements of ten. The bytes are those of array and mask.

use cust::memory::{CopyDestination, DeviceBuffer};
use warpfold::{
    fold,
    gpu::Prepared,
    ops::{
        ArgMax, Max, Reduction, StdDev, Sum, TakesMask, Where,
        element::{Masked, bf16},
    },
};
use warpfold_kernels::monoids::Words;

use super::{Bench, Outcome, Sample, length, line, words};

pub(crate) fn run(bench: &Bench) -> Outcome<()> {
    let mask = mask()?;
    of::<f32, _>(bench, Sum, &mask)?;
    of::<f32, _>(bench, Max, &mask)?;
    of::<f32, _>(bench, ArgMax, &mask)?;
    of::<f32, _>(bench, StdDev::default(), &mask)?;
    of::<bf16, _>(bench, Sum, &mask)?;
    of::<bf16, _>(bench, StdDev::default(), &mask)
}

/// Bytes of the mask: as many as the longest array has elements.
const MASK: usize = 1 << 30;

fn mask() -> Outcome<DeviceBuffer<u8>> {
    let pattern: Vec<u8> = (0..1_u32 << 24)
        .map(|i| u8::from(i.wrapping_mul(2_654_435_761) % 10 < 7))
        .collect();
    // SAFETY: filled below, before anything reads it.
    let mask = unsafe { DeviceBuffer::<u8>::uninitialized(MASK)? };
    for start in (0..MASK).step_by(pattern.len()) {
        mask.index(start..start + pattern.len()).copy_from(&pattern)?;
    }
    Ok(mask)
}

fn of<T: Sample, Op: TakesMask>(bench: &Bench, op: Op, mask: &DeviceBuffer<u8>) -> Outcome<()>
where
    Where<Op>: Reduction<Masked<T>>,
{
    let pattern = bench.fill::<T>()?;
    let bytes = size_of::<T>() as u64;
    for (len, first) in [(1000, 0), (100_001, 64), (100_001, 3), (1 << 21, 0)] {
        let mut selected = vec![0_u8; len];
        mask.index(first..first + len).copy_to(&mut selected)?;
        let slice = mask.index(first..first + len);
        let on_gpu = words(fold(op).masked(&slice).on(&bench.gpu, bench.view::<T>(0, len))?);
        if on_gpu != words(fold(op).masked(&selected).on_cpu(&pattern[..len])?) {
            return Err(format!("{} of {len} under a mask: GPU and CPU differ", Op::NAME).into());
        }
    }
    for log in [20, 24, 28] {
        let len = 1_u64 << log;
        let prepared = bench.gpu.prepare::<Masked<T>, Where<Op>>(Where(op), len)?;
        let us = time(bench, &prepared, mask.as_device_ptr().as_raw(), len)?;
        let moved = (len * (bytes + 1)) as usize;
        line(["masks", Op::NAME], length(len as usize), T::TYPE.name(), us, moved);
    }
    Ok(())
}

/// Median microseconds of one launch.
fn time<T: Sample, Op: TakesMask>(
    bench: &Bench,
    prepared: &Prepared<Where<Op>, Masked<T>>,
    mask: u64,
    len: u64,
) -> Outcome<f64>
where
    Where<Op>: Reduction<Masked<T>>,
{
    let bytes = len * size_of::<T>() as u64;
    let buffers = (bench.pool.len() as u64 * 4 / bytes)
        .min(MASK as u64 / len)
        .clamp(1, 64);
    let inner: u64 = if bytes > 1 << 28 { 2 } else { 32 };
    let mut workspace = prepared.workspace()?;
    let answer = DeviceBuffer::<u64>::zeroed(<Where<Op> as Reduction<Masked<T>>>::Answer::COUNT)?;
    let pool = bench.pool.as_device_ptr().as_raw();
    let launch = |i: u64| -> Outcome<()> {
        let buffer = i % buffers;
        let inputs = [pool + buffer * bytes, mask + buffer * len];
        let answer = answer.as_device_ptr().as_raw();
        // SAFETY: pool, mask, answer and workspace outlive what `launches` waits for.
        unsafe { prepared.launch_raw(&bench.stream, inputs, answer, &mut workspace)? };
        Ok(())
    };
    bench.launches(inner, launch)
}
