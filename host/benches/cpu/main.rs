//! The CPU backend beside the speed of this machine's memory and beside its peers: `cargo bench -p warpfold --bench cpu`.
//!
//! First a table: each operator at a length that no cache holds and at lengths that caches hold, a plain read of the same bytes
//! between two folds, and the peers, each in a process of its own: NumPy on one thread, PyTorch on as many as we have. Then the same of row operations, beside a
//! plain copy, and criterion's own measurements, which remember the last run.
//!
//! `-- table`, `-- rows` and `-- criterion` do one of them. A filter of criterion's is passed on. `-- json` prints both tables as JSON, a figure a
//! line, which `cargo xtask bench` reads.

mod json;
#[path = "../length.rs"]
mod length;
mod peers;
mod rows;
mod table;

use std::{env, fmt::Debug, hint::black_box};

use criterion::{BenchmarkId, Criterion, Throughput};
use rayon::prelude::*;
use warpfold::{
    cpu, fold,
    ops::{ArgMax, LogSumExp, Min, Reduction, StdDev, Sum},
    partial::Partial,
};

/// The plainest way to touch every byte: each thread adds up its part as integers, in any order, in whole vectors.
fn read<T: bytemuck::NoUninit>(values: &[T]) -> u32 {
    let words: &[u32] = bytemuck::cast_slice(values);
    let parts = words.len().div_ceil(rayon::current_num_threads()).max(1);
    words
        .par_chunks(parts)
        .map(|part| pulp::Arch::new().dispatch(|| part.iter().fold(0_u32, |sum, word| sum.wrapping_add(*word))))
        .reduce(|| 0, u32::wrapping_add)
}

fn op<R: Reduction<f32>>(criterion: &mut Criterion, op: R, values: &[f32])
where
    R::Answer: Debug,
{
    let mut group = criterion.benchmark_group("cpu");
    group.throughput(Throughput::Bytes(size_of_val(values) as u64));
    group.bench_function(BenchmarkId::new(R::NAME, values.len()), |bencher| {
        bencher.iter(|| cpu::reduce(op, black_box(values)).expect("there are elements"));
    });
}

fn folds(criterion: &mut Criterion) {
    for bits in [10, 20, 26] {
        // 251 is prime: no two tiles are alike.
        let values: Vec<f32> = (0..1_u32 << bits).map(|i| (i % 251) as f32 - 125.0).collect();
        let mut group = criterion.benchmark_group("cpu");
        group.throughput(Throughput::Bytes(size_of_val(values.as_slice()) as u64));
        group.bench_function(BenchmarkId::new("read bandwidth", values.len()), |bencher| {
            bencher.iter(|| read(black_box(&values)));
        });
        group.finish();
        op(criterion, Sum, &values);
        op(criterion, Min, &values);
        op(criterion, ArgMax, &values);
        op(criterion, StdDev { correction: 1.0 }, &values);
        op(criterion, LogSumExp, &values);
    }
}

/// Numbers of distinct elements: of few, of as many as there are, and of bytes.
fn distinct(criterion: &mut Criterion) {
    for bits in [10, 20, 24] {
        let numbers = || (0..1_u32 << bits).map(|number| number.wrapping_mul(0x9e37_79b1));
        let few: Vec<u32> = numbers().map(|number| number % 1000).collect();
        let all: Vec<u32> = numbers().collect();
        let bytes: Vec<u8> = numbers().map(|number| number as u8).collect();
        let mut group = criterion.benchmark_group("cpu distinct");
        group.throughput(Throughput::Elements(1 << bits));
        group.bench_function(BenchmarkId::new("of 1000", few.len()), |bencher| {
            bencher.iter(|| cpu::distinct(black_box(&few)));
        });
        group.bench_function(BenchmarkId::new("all different", all.len()), |bencher| {
            bencher.iter(|| cpu::distinct(black_box(&all)));
        });
        group.bench_function(BenchmarkId::new("bytes", bytes.len()), |bencher| {
            bencher.iter(|| cpu::distinct(black_box(&bytes)));
        });
    }
}

/// Partials of 64 ragged runs: folded, and merged through bytes in an order of no meaning.
fn partials(criterion: &mut Criterion) {
    let values: Vec<f32> = (0..1_u32 << 26).map(|i| (i % 251) as f32 - 125.0).collect();
    let len = values.len() / 64 - 1;
    let run = |number: usize| number * len..if number == 63 { values.len() } else { (number + 1) * len };
    let part = |number: usize| {
        let run = run(number);
        fold(Sum).partial_on_cpu(&values[run.clone()], run.start as u64)
    };
    let mut group = criterion.benchmark_group("cpu partials");
    group.throughput(Throughput::Bytes(size_of_val(values.as_slice()) as u64));
    group.bench_function(BenchmarkId::new("folded", 64), |bencher| {
        bencher.iter(|| {
            (0..64)
                .map(|number| part(black_box(number)).expect("a part").to_bytes().len())
                .sum::<usize>()
        });
    });
    let messages: Vec<Vec<u8>> = (0..64)
        .map(|number| part(number * 37 % 64).expect("a part").to_bytes())
        .collect();
    group.throughput(Throughput::Elements(64));
    group.bench_function(BenchmarkId::new("merged", 64), |bencher| {
        bencher.iter(|| {
            let mut merged = Partial::<_, f32>::from_bytes(Sum, &messages[0]).expect("its bytes");
            for message in &messages[1..] {
                let part = Partial::from_bytes(Sum, black_box(message)).expect("its bytes");
                merged.merge(part).expect("disjoint runs");
            }
            merged.finish(values.len() as u64).expect("all of it")
        });
    });
}

/// How what was measured is printed.
#[derive(Clone, Copy, PartialEq)]
enum Print {
    Table,
    Json,
}

fn main() {
    let asked = env::args()
        .skip(1)
        .find(|arg| !arg.starts_with("--"))
        .unwrap_or_default();
    if asked != "criterion" {
        let print = if asked == "json" { Print::Json } else { Print::Table };
        let mut peers = peers::Peers::start(print);
        if asked != "rows" {
            table::print(&mut peers, print);
        }
        if asked != "table" {
            rows::print(&mut peers, print);
        }
    }
    if !["table", "rows", "json"].contains(&&*asked) {
        let mut criterion = Criterion::default().configure_from_args();
        folds(&mut criterion);
        distinct(&mut criterion);
        partials(&mut criterion);
        criterion.final_summary();
    }
}
