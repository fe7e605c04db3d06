//! Elements of other types, of as many bytes.

use warpfold::{
    cpu, fold,
    ops::{
        ArgMax, BitXor, CountNonzero, Max, MinMax, NormInf, NormL2, Reduction, Skewness, StdDev, Sum,
        element::{bf16, complex32, complex64, complex128, f8e4m3, f8e5m2, f16},
    },
};

use super::{Bench, Outcome, Sample, line, words};

pub(crate) fn run(bench: &Bench) -> Outcome<()> {
    typed::<f32>(bench)?;
    typed::<bf16>(bench)?;
    typed::<f16>(bench)?;
    typed::<f64>(bench)?;
    typed::<i8>(bench)?;
    typed::<u8>(bench)?;
    typed::<i16>(bench)?;
    typed::<i32>(bench)?;
    typed::<i64>(bench)?;
    fp8::<f8e4m3>(bench)?;
    fp8::<f8e5m2>(bench)?;
    complex::<complex32>(bench)?;
    complex::<complex64>(bench)?;
    complex::<complex128>(bench)?;
    moments::<bf16>(bench)?;
    moments::<f16>(bench)?;
    moments::<f32>(bench)?;
    moments::<f64>(bench)?;
    bits::<u8>(bench)?;
    bits::<i32>(bench)?;
    bits::<i64>(bench)
}

/// Sizes of arrays, by name.
const SIZES: [(usize, &str); 2] = [(1 << 28, "256 MiB"), (1 << 30, "1 GiB")];

/// Elements of one type. Overwrites the pool.
fn typed<T: Sample>(bench: &Bench) -> Outcome<()>
where
    Sum: Reduction<T>,
    Max: Reduction<T>,
    ArgMax: Reduction<T>,
    MinMax: Reduction<T>,
    CountNonzero: Reduction<T>,
{
    let pattern = bench.fill::<T>()?;
    plain(bench, Sum, &pattern)?;
    plain(bench, Max, &pattern)?;
    plain(bench, ArgMax, &pattern)?;
    plain(bench, MinMax, &pattern)?;
    plain(bench, CountNonzero, &pattern)
}

/// FP8, which has few operators.
fn fp8<T: Sample>(bench: &Bench) -> Outcome<()>
where
    Sum: Reduction<T>,
    Max: Reduction<T>,
    ArgMax: Reduction<T>,
    NormInf: Reduction<T>,
{
    let pattern = bench.fill::<T>()?;
    plain(bench, Sum, &pattern)?;
    plain(bench, Max, &pattern)?;
    plain(bench, ArgMax, &pattern)?;
    plain(bench, NormInf, &pattern)
}

/// Complex numbers, which have no order.
fn complex<T: Sample>(bench: &Bench) -> Outcome<()>
where
    Sum: Reduction<T>,
    NormL2: Reduction<T>,
    NormInf: Reduction<T>,
{
    let pattern = bench.fill::<T>()?;
    plain(bench, Sum, &pattern)?;
    plain(bench, NormL2, &pattern)?;
    plain(bench, NormInf, &pattern)
}

/// Moments, whose states are f64 whatever the elements.
fn moments<T: Sample>(bench: &Bench) -> Outcome<()>
where
    NormL2: Reduction<T>,
    StdDev: Reduction<T>,
    Skewness: Reduction<T>,
{
    let pattern = bench.fill::<T>()?;
    plain(bench, NormL2, &pattern)?;
    plain(bench, StdDev::default(), &pattern)?;
    plain(bench, Skewness, &pattern)
}

/// Integers bit by bit.
fn bits<T: Sample>(bench: &Bench) -> Outcome<()>
where
    BitXor: Reduction<T>,
{
    let pattern = bench.fill::<T>()?;
    plain(bench, BitXor, &pattern)
}

pub(crate) fn op<T: Sample, R: Reduction<T>>(
    bench: &Bench,
    [group, name]: [&str; 2],
    op: R,
    pattern: &[T],
) -> Outcome<()> {
    for (len, misalign) in [(1, 0), (1000, 1), (100_001, 1), (100_001, 0), (pattern.len() - 1, 1)] {
        let on_gpu = words(fold(op).on(&bench.gpu, bench.view::<T>(misalign, len))?);
        if on_gpu != words(cpu::reduce(op, &pattern[misalign..misalign + len])?) {
            return Err(format!("{} of {len} {}: GPU and CPU differ", R::NAME, T::TYPE.name()).into());
        }
    }
    for (bytes, size) in SIZES {
        let len = bytes / size_of::<T>();
        let us = bench.time(&bench.gpu.prepare::<T, R>(op, len as u64)?, 0)?;
        line([group, name], size, T::TYPE.name(), us, bytes);
    }
    Ok(())
}

/// Of whole arrays, and of one that begins an element past any vector.
fn plain<T: Sample, R: Reduction<T>>(bench: &Bench, op: R, pattern: &[T]) -> Outcome<()> {
    self::op(bench, ["types", R::NAME], op, pattern)?;
    let (bytes, size) = SIZES[0];
    let len = bytes / size_of::<T>() - 16;
    let us = bench.time(&bench.gpu.prepare::<T, R>(op, len as u64)?, 1)?;
    let name = format!("{} unaligned", R::NAME);
    line(["types", &name], size, T::TYPE.name(), us, len * size_of::<T>());
    Ok(())
}
