//! How fast the GPU folds: CUDA-graph replays over rotating buffers, so that neither launch gaps nor the L2 cache flatter
//! the figures. Prints CSV: `group,op,case,dtype,us,GB/s,bytes`; a `#` starts a remark.
//!
//! `cargo bench --bench gpu [-- NAME …] [--shapes]`: a NAME is an operator, or one of the parts in `main`. `first-calls`, which must be
//! alone, is what a process waits for at its first call. Without a GPU it says so and ends well. `--shapes` times the kernel of any
//! length in many shapes beside the tuned plan, which is how the table in `warpfold::plan` began.

mod axes;
mod bench;
mod distinct;
mod exact;
mod first_calls;
mod large_states;
#[path = "../length.rs"]
mod length;
mod masks;
mod pairs;
mod sample;
mod segments;
mod steps;
mod types;

use std::time::Instant;

use cust::memory::{CopyDestination, DeviceBuffer};
use warpfold::{
    DeviceView, cpu,
    gpu::Prepared,
    ops::{
        All, Any, ArgMax, ArgMin, ArgMinMax, Compensated, CountInf, CountNan, CountNonzero, Describe, Exact, IgnoreNan,
        Kurtosis, LogSumExp, Max, Mean, MeanVariance, Min, MinMax, NormInf, NormL1, NormL2, NormLp, Operator, Product,
        Reduction, Skewness, StdDev, Sum, SumOfSquares, Variance, Wide, element::Element,
    },
    plan::{Plan, Shape},
};
use warpfold_kernels::monoids::Words;

pub(crate) use bench::{Bench, Outcome, PATTERN, POOL, line};
use length::length;
pub(crate) use sample::Sample;

/// A part, by its name.
type Part = (&'static str, fn(&Bench) -> Outcome<()>);

fn main() -> Outcome<()> {
    let asked: Vec<String> = std::env::args().skip(1).filter(|arg| arg != "--bench").collect();
    match &asked[..] {
        [call, name] if call == "first-call" => return first_calls::one(name),
        [calls] if calls == "first-calls" => return first_calls::run(),
        _ => {}
    }
    let shapes = asked.iter().any(|arg| arg == "--shapes");
    let wanted = |name: &str| asked.iter().all(|arg| arg.starts_with("--")) || asked.iter().any(|arg| arg == name);
    let Some(bench) = Bench::open()? else {
        return Ok(());
    };
    bench.first_call()?;
    bench.copy()?;
    println!("{}", bench::HEADS);
    macro_rules! lengths {
        ($group:literal, $logs:expr; $($op:expr),* $(,)?) => {$(
            if wanted($group) || wanted(name($op)) {
                if shapes { bench.shapes($op)? } else { bench.lengths($group, $op, &$logs)? }
            }
        )*};
    }
    lengths!("whole", [10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30]; Sum, Max, ArgMax);
    lengths!(
        "operators", [12, 16, 20, 24, 28];
        Mean, Min, ArgMin, Product, MinMax, ArgMinMax, NormL1, NormL2, NormInf, SumOfSquares, CountNonzero, CountNan, CountInf,
        Any, All, LogSumExp, Skewness, Kurtosis, Variance::default(), StdDev::default(), MeanVariance::default(),
        NormLp { p: 3.0 }, Describe::default(), Compensated(Sum), Wide(Sum), Exact(Sum), Compensated(Mean), Wide(Mean),
        Exact(Mean), IgnoreNan(Sum), IgnoreNan(Product), IgnoreNan(Mean), IgnoreNan(Max), IgnoreNan(ArgMax),
        IgnoreNan(Variance::default()),
    );
    let parts: [Part; 12] = [
        ("unaligned", Bench::unaligned),
        ("host", Bench::host_cost),
        ("rising", Bench::rising),
        ("axes", axes::run),
        ("segments", segments::run),
        ("pairs", pairs::run),
        ("masks", masks::run),
        ("steps", steps::run),
        ("distinct", distinct::run),
        ("exact", exact::run),
        ("large-states", large_states::run),
        ("types", types::run),
    ];
    for (_, run) in parts.iter().filter(|(name, _)| !shapes && wanted(name)) {
        run(&bench)?;
    }
    Ok(())
}

/// Arrays of up to so many elements, as a power of two, are folded by launches that start early, too.
const MOST_EARLY: u32 = 22;

/// What an operator is called.
fn name<Op: Operator>(_: Op) -> &'static str {
    Op::NAME
}

impl Bench {
    /// Elements of the pool, from number `first` on: any bits are elements.
    fn view<T: Element>(&self, first: usize, len: usize) -> DeviceView<'_, T> {
        assert!((first + len) * size_of::<T>() <= 4 * self.pool.len(), "within the pool");
        let address = self.pool.as_device_ptr().as_raw() + (first * size_of::<T>()) as u64;
        // SAFETY: they are, and the pool lives as long as the view.
        unsafe { DeviceView::from_raw(address, len as u64) }
    }

    /// What a process waits for once: the module's compilation and load.
    fn first_call(&self) -> Outcome<()> {
        let start = Instant::now();
        self.gpu.reduce(Sum, &self.pool.index(..1024))?;
        println!(
            "# first call after the context exists: {:.1} ms",
            start.elapsed().as_secs_f64() * 1e3
        );
        Ok(())
    }

    fn lengths<R: Reduction<f32>>(&self, group: &str, op: R, logs: &[u32]) -> Outcome<()> {
        self.check(op)?;
        for log in logs {
            let len = 1_usize << log;
            let us = self.time(&self.gpu.prepare(op, len as u64)?, 0)?;
            line([group, R::NAME], length(len), "f32", us, 4 * len);
            if group == "whole" && *log <= MOST_EARLY {
                let us = self.time(&self.gpu.prepare(op, len as u64)?.early(), 0)?;
                let name = format!("{} early", R::NAME);
                line([group, &name], length(len), "f32", us, 4 * len);
            }
        }
        Ok(())
    }

    fn unaligned(&self) -> Outcome<()> {
        for log in [12, 20, 28] {
            let len = (1_usize << log) - 4;
            let us = self.time(&self.gpu.prepare::<f32, _>(Sum, len as u64)?, 1)?;
            line(["unaligned", "sum"], format!("2^{log} - 4"), "f32", us, 4 * len);
        }
        Ok(())
    }

    /// The worst case of an operator that selects: each element beats all before it, so no leaf is spared. Overwrites the
    /// pool.
    fn rising(&self) -> Outcome<()> {
        for start in (0..POOL).step_by(PATTERN) {
            // The bits of positive floats rise with their values; below 2³⁰ they are finite.
            let values: Vec<f32> = (start..start + PATTERN)
                .map(|bits| f32::from_bits(bits as u32))
                .collect();
            self.pool.index(start..start + PATTERN).copy_from(&values)?;
        }
        for log in [20, 24, 28] {
            let len = 1usize << log;
            if self.gpu.reduce(ArgMax, &self.pool.index(..len))? != len as u64 - 1 {
                return Err(format!("argmax of {len} rising elements is not the last").into());
            }
            let [argmax, max] = [
                self.time(&self.gpu.prepare::<f32, _>(ArgMax, len as u64)?, 0)?,
                self.time(&self.gpu.prepare::<f32, _>(Max, len as u64)?, 0)?,
            ];
            line(["rising", "argmax"], length(len), "f32", argmax, 4 * len);
            line(["rising", "max"], length(len), "f32", max, 4 * len);
        }
        Ok(())
    }

    fn shapes<R: Reduction<f32>>(&self, op: R) -> Outcome<()> {
        self.check(op)?;
        for log in 10..=30 {
            let len = 1usize << log;
            let mut timed = Vec::new();
            for warps in (0..6).map(|log| 1 << log) {
                for leaves_per_warp in (0..6).map(|log| 1 << log) {
                    let tile = 1024 * (warps * leaves_per_warp) as usize;
                    let tiles = len.div_ceil(tile);
                    if tiles > 1 << 16 || (tile > 2 * len && tile > 1024) {
                        continue;
                    }
                    let multiprocessors = self.gpu.facts().multiprocessors;
                    for blocks in [tiles as u32, multiprocessors, 2 * multiprocessors, 4 * multiprocessors] {
                        let shape = Shape {
                            warps,
                            leaves_per_warp,
                            blocks,
                        };
                        if blocks as usize > tiles {
                            continue;
                        }
                        if let Ok(prepared) = self.gpu.prepare_shaped(op, len as u64, shape) {
                            timed.push((self.time(&prepared, 0)?, *prepared.plan()));
                        }
                    }
                }
            }
            timed.sort_by(|a, b| a.0.total_cmp(&b.0));
            let chosen = self.gpu.plan::<f32, _>(op, len as u64)?;
            let rank = |plan: &Plan| if *plan == chosen { " <- the plan" } else { "" };
            for (us, plan) in timed
                .iter()
                .filter(|(_, plan)| *plan == chosen)
                .chain(timed.iter().take(4))
            {
                println!("# {us:.3} us {plan}{}", rank(plan));
            }
        }
        Ok(())
    }

    /// Never time a wrong kernel: the bits are the CPU's.
    fn check<R: Reduction<f32>>(&self, op: R) -> Outcome<()> {
        for len in [1, 1000, 4096, 100_001, PATTERN] {
            let on_gpu = words(self.gpu.reduce(op, &self.pool.index(..len))?);
            if on_gpu != words(cpu::reduce(op, &self.pattern[..len])?) {
                return Err(format!("{} of {len} elements: GPU and CPU differ", R::NAME).into());
            }
        }
        Ok(())
    }

    /// Median microseconds of one launch, over buffers `offset` elements past a multiple of 16 bytes.
    fn time<T: Element, R: Reduction<T>>(&self, prepared: &Prepared<R, T>, offset: usize) -> Outcome<f64> {
        let len = prepared.plan().elements() as usize;
        let stride = len.next_power_of_two();
        let buffers = (4 * POOL / (stride * size_of::<T>())).clamp(1, 64);
        let inner = match stride * size_of::<T>() {
            0..=0x400_0000 => 32,
            0x400_0001..=0x1000_0000 => 8,
            _ => 2,
        };
        let mut workspace = prepared.workspace()?;
        let plan = prepared.plan();
        let answer = DeviceBuffer::<u8>::zeroed(plan.entry.answer_bytes * plan.count.max(1) as usize)?;
        let launch = |i: u64| -> Outcome<()> {
            let start = (i as usize % buffers) * stride + offset;
            let input = self.pool.as_device_ptr().as_raw() + (start * size_of::<T>()) as u64;
            let answer = answer.as_device_ptr().as_raw();
            // SAFETY: pool, answer and workspace outlive what `launches` waits for.
            unsafe { prepared.launch_raw(&self.stream, [input, 0], answer, &mut workspace)? };
            Ok(())
        };
        self.launches(inner, launch)
    }

    /// What an asynchronous call costs the host: many calls, none waited for.
    fn host_cost(&self) -> Outcome<()> {
        let prepared = self.gpu.prepare::<f32, _>(Sum, 1024)?;
        let mut workspace = prepared.workspace()?;
        let mut answer = DeviceBuffer::<f32>::zeroed(1)?;
        let input = self.pool.index(..1024);
        let mut times = Vec::new();
        for _ in 0..20 {
            let start = Instant::now();
            for _ in 0..200 {
                // SAFETY: everything lives until the synchronisation below.
                unsafe { prepared.launch(&self.stream, &input, &mut answer, &mut workspace)? };
            }
            times.push(start.elapsed().as_secs_f64() * 1e6 / 200.0);
            self.stream.synchronize()?;
        }
        times.sort_by(f64::total_cmp);
        let us = times[times.len() / 2];
        line(["host", "asynchronous call"], length(1024), "f32", us, 4 * 1024);
        Ok(())
    }
}

fn words<W: Words>(answer: W) -> Vec<u32> {
    (0..W::COUNT).map(|i| answer.word(i)).collect()
}
