//! Two arrays, element by element: dot products and cosines of whole arrays, and of rows with one query. The bytes are those of
//! both arrays, a query's once, and of the answers.

use cust::memory::DeviceBuffer;
use warpfold::{
    fold,
    gpu::Prepared,
    layout::Layout,
    ops::{
        Cosine, Dot, Reduction,
        element::{Two, bf16},
    },
};

use super::{Bench, Outcome, Sample, length, line, words};

pub(crate) fn run(bench: &Bench) -> Outcome<()> {
    of::<f32, _>(bench, Dot)?;
    of::<f32, _>(bench, Cosine)?;
    of::<bf16, _>(bench, Dot)?;
    of::<bf16, _>(bench, Cosine)
}

fn of<T: Sample, R: Reduction<Two<T>>>(bench: &Bench, op: R) -> Outcome<()> {
    let pattern = bench.fill::<T>()?;
    let bytes = size_of::<T>() as u64;
    for (len, second) in [
        (1000, 4000),
        (100_001, 64),
        (1 << 21, 1 << 20),
        (1 << 21, (1 << 20) + 1),
    ] {
        let both = (bench.view::<T>(0, len), bench.view::<T>(second, len));
        let on_gpu = words(fold(op).on(&bench.gpu, both)?);
        if on_gpu != words(fold(op).on_cpu((&pattern[..len], &pattern[second..][..len]))?) {
            return Err(format!("{} of {len}: GPU and CPU differ", R::NAME).into());
        }
    }
    let name = T::TYPE.name();
    for log in [16, 20, 24, 28] {
        let len = 1_u64 << log;
        let prepared = bench.gpu.prepare::<Two<T>, R>(op, len)?;
        let us = time(bench, &prepared, [len, len])?;
        line(
            ["pairs", R::NAME],
            length(len as usize),
            name,
            us,
            (2 * len * bytes) as usize,
        );
    }
    for (rows, columns) in [(32_768, 768), (262_144, 128), (4096, 16_384)] {
        let matrix = Layout::c_order(&[rows, columns])?;
        let query = Layout::c_order(&[columns])?.broadcast(&[rows, columns])?;
        let prepared = fold(op).axis(-1).prepare::<Two<T>>(&bench.gpu, (&matrix, &query))?;
        let us = time(bench, &prepared, [rows * columns, columns])?;
        let moved = (rows * columns + columns + rows) * bytes;
        line(
            ["pairs", R::NAME],
            format!("{rows}x{columns}"),
            name,
            us,
            moved as usize,
        );
    }
    Ok(())
}

/// Median microseconds of one launch over two arrays of so many elements.
fn time<T: Sample, R: Reduction<Two<T>>>(
    bench: &Bench,
    prepared: &Prepared<R, Two<T>>,
    lens: [u64; 2],
) -> Outcome<f64> {
    let [first, second] = lens.map(|len| (len * size_of::<T>() as u64).next_multiple_of(256));
    let both = first + second;
    let buffers = (bench.pool.len() as u64 * 4 / both).clamp(1, 64);
    let inner: u64 = if both > 1 << 28 { 2 } else { 32 };
    let mut workspace = prepared.workspace()?;
    let answer = DeviceBuffer::<u64>::zeroed(prepared.plan().count as usize)?;
    let pool = bench.pool.as_device_ptr().as_raw();
    let launch = |i: u64| -> Outcome<()> {
        let from = pool + i % buffers * both;
        let answer = answer.as_device_ptr().as_raw();
        // SAFETY: pool, answer and workspace outlive what `launches` waits for.
        unsafe { prepared.launch_raw(&bench.stream, [from, from + first], answer, &mut workspace)? };
        Ok(())
    };
    bench.launches(inner, launch)
}
