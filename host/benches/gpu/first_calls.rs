//! What a process waits for at its first call of an operator, most of it the driver compiling PTX: `-- first-calls`. Each is a process of
//! its own, with the driver's cache off. Prints JSON, a figure a line, as the peers' program does.

use std::{env, process::Command, time::Instant};

use bytemuck::{NoUninit, Pod};
use serde_json::json;
use warpfold::{
    View,
    gpu::Gpu,
    layout::Layout,
    ops::{
        ArgMax, Describe, LogSumExp, Max, NormL2, NormLp, Product, Reduction, Skewness, StdDev, Sum,
        element::{Element, bf16, f16},
    },
    row::{self, Operation, Row, RowElement},
};

use super::Outcome;

/// The elements of a call, which are copied to the device: a millisecond or two of what is told.
const COUNT: usize = 1 << 22;

macro_rules! calls {
    ($($name:literal: $op:expr, $element:ty;)* rows { $($row:literal: $row_op:expr, $of:ty;)* }) => {
        const CALLS: &[&str] = &[$($name,)* $($row),*];

        /// Does the call of that name, and tells its milliseconds.
        pub(crate) fn one(name: &str) -> Outcome<()> {
            let gpu = Gpu::new(0)?;
            gpu.make_current()?;
            match name {
                $($name => call::<$element, _>(&gpu, $op),)*
                $($row => call_row::<$of, _>(&gpu, $row_op),)*
                _ => Err(format!("no call {name}").into()),
            }
        }
    };
}

calls! {
    "sum f32": Sum, f32;
    "max f32": Max, f32;
    "argmax f32": ArgMax, f32;
    "prod f32": Product, f32;
    "l2 f64": NormL2, f64;
    "logsumexp f32": LogSumExp, f32;
    "std f32": StdDev { correction: 1.0 }, f32;
    "std f64": StdDev { correction: 1.0 }, f64;
    "skew f32": Skewness, f32;
    "describe f32": Describe { correction: 1.0 }, f32;
    "sum bf16": Sum, bf16;
    "sum f16": Sum, f16;
    "argmax f16": ArgMax, f16;
    "std f16": StdDev { correction: 1.0 }, f16;
    "lp f16": NormLp { p: 3.0 }, f16;
    rows {
        "softmax f32": row::softmax(), f32;
        "softmax bf16": row::softmax(), bf16;
        "softmax masked bf16": row::softmax().causal(), bf16;
        "log_softmax bf16": row::log_softmax(), bf16;
        "layer_norm bf16": row::layer_norm(1e-5), bf16;
        "rms_norm bf16": row::rms_norm(1e-6), bf16;
        "cross_entropy bf16": row::cross_entropy(&[0_i64; ROWS as usize]), bf16;
        "log_sum_exp f16": row::log_sum_exp(), f16;
    }
}

/// Rows of a call of a row operation.
const ROWS: u64 = 1024;

fn call_row<T: RowElement + Pod, Op: Operation>(gpu: &Gpu, row: Row<'_, Op>) -> Outcome<()> {
    let layout = Layout::c_order(&[ROWS, COUNT as u64 / ROWS])?;
    let values = vec![T::from_bits(0); COUNT];
    let start = Instant::now();
    row.on::<_, T>(gpu, View::new(&values, &layout)?)?;
    println!("{:.1}", start.elapsed().as_secs_f64() * 1e3);
    Ok(())
}

fn call<T: Element + NoUninit, R: Reduction<T>>(gpu: &Gpu, op: R) -> Outcome<()> {
    let values = vec![T::from_bits(0); COUNT];
    let start = Instant::now();
    gpu.reduce_host(op, &values)?;
    println!("{:.1}", start.elapsed().as_secs_f64() * 1e3);
    Ok(())
}

pub(crate) fn run() -> Outcome<()> {
    for name in CALLS {
        let output = Command::new(env::current_exe()?)
            .args(["first-call", name])
            .env("CUDA_CACHE_DISABLE", "1")
            .output()?;
        let printed = String::from_utf8_lossy(&output.stdout);
        let Ok(ms) = printed.trim().parse::<f64>() else {
            return Err(format!("{name}: {printed}{}", String::from_utf8_lossy(&output.stderr)).into());
        };
        println!(
            "{}",
            json!({
                "who": "warpfold", "group": "first-calls", "op": name, "dtype": "", "case": "cold cache", "metric": "ms", "value": ms
            })
        );
    }
    Ok(())
}
