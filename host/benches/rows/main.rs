//! How fast a GPU's row operations are: matrices along their last axis, and serving's shapes. Prints CSV: `op,case,dtype,us,GB/s,bytes`, the bytes being
//! those that are read and written, each once; a `#` starts a remark. `cargo bench --bench rows [-- OP …]`. Without a GPU it says so and ends well.

#[path = "../gpu/bench.rs"]
mod bench;
#[path = "../gpu/sample.rs"]
mod sample;

use bytemuck::Pod;
use cust::memory::DeviceBuffer;
use warpfold::{
    View,
    gpu::{ColumnPlaces, RowPlaces},
    layout::Layout,
    plan::row::Form,
    row::{self, Later, MeanAndDeviation, Operation, ReciprocalRoot, Row, RowElement, Targets},
};

use bench::{Bench, Outcome, line};
use sample::Sample;

/// Rows and columns of training, and of long vocabularies.
const SHAPES: [(u64, u64); 9] = [
    (32_768, 256),
    (32_768, 768),
    (32_768, 1024),
    (16_384, 4096),
    (8192, 8192),
    (4096, 16_384),
    (2048, 65_536),
    (1024, 152_064),
    (1024, 262_144),
];

/// Rows of a vocabulary that is generated from.
const FEW: [(u64, u64); 4] = [(1, 152_064), (16, 152_064), (64, 152_064), (256, 152_064)];

/// Rows and columns of which the bits are compared first.
const CHECKED: [[u64; 2]; 6] = [[70, 256], [9, 1000], [5, 4096], [3, 40_000], [2, 262_144], [1, 1 << 20]];

/// Samples, channels and sides of images in networks that make some.
const IMAGES: [[u64; 4]; 4] = [
    [16, 320, 64, 64],
    [16, 640, 32, 32],
    [8, 1280, 16, 16],
    [4, 128, 512, 512],
];

fn main() -> Outcome<()> {
    let Some(bench) = Bench::open()? else {
        return Ok(());
    };
    bench.copy()?;
    println!("{}", bench::HEADS);
    of::<half::bf16>(&bench)?;
    of::<f32>(&bench)?;
    gpt2(&bench)?;
    serving(&bench)
}

/// GPT-2's layer norm, of 4 texts of 1024 tokens, and the softmax of its 12 heads' causal attention.
fn gpt2(bench: &Bench) -> Outcome<()> {
    let both = Beside {
        weights: true,
        biases: true,
        ..PLAIN
    };
    time::<f32, _>(bench, "gpt2_layer_norm", &row::layer_norm(1e-5), [4096, 768], both)?;
    let causal = row::softmax().scale(0.125).causal();
    time_of::<f32, _>(bench, "gpt2_causal_softmax", &causal, &[48, 1024, 1024], PLAIN)
}

/// Whether an operation of a shape is asked for: all are, if none is named. Shapes are told from operations by their first letter, which is a digit.
fn is_wanted(name: &str, shape: &[u64]) -> bool {
    let is_shape = |name: &str| name.starts_with(|first: char| first.is_ascii_digit());
    let asked: Vec<String> = std::env::args().skip(1).filter(|arg| !arg.starts_with("--")).collect();
    [name, &named(shape)].iter().all(|wanted| {
        let mut others = asked.iter().filter(|arg| is_shape(arg) == is_shape(wanted)).peekable();
        others.peek().is_none() || others.any(|arg| arg == wanted)
    })
}

/// A shape, as it is printed and asked for.
fn named(shape: &[u64]) -> String {
    shape.iter().map(u64::to_string).collect::<Vec<_>>().join("x")
}

fn of<T: Sample + RowElement + Pod>(bench: &Bench) -> Outcome<()> {
    let pattern = bench.fill::<T>()?;
    check(bench, &row::softmax(), &CHECKED, &pattern)?;
    check(bench, &row::log_softmax(), &CHECKED, &pattern)?;
    check(bench, &row::layer_norm(1e-5), &CHECKED, &pattern)?;
    check(bench, &row::rms_norm(1e-6), &CHECKED, &pattern)?;
    let weights = [0.5_f32; 320];
    let norm = row::group_norm(32, 1e-5).weight(&weights);
    check(bench, &norm, &[[2, 320, 16, 16], [1, 320, 7, 5]], &pattern)?;
    let (means, roots) = (
        MeanAndDeviation {
            mean: vec![],
            reciprocal_deviation: vec![],
        },
        ReciprocalRoot {
            reciprocal_root: vec![],
        },
    );
    let later = || Later::default();
    let weighted = Beside { weights: true, ..PLAIN };
    let pair = Beside { arrays: 2, ..PLAIN };
    let norm = Beside {
        weights: true,
        known: true,
        ..pair
    };
    let targets = Beside { targets: true, ..PLAIN };
    let loss = row::cross_entropy(Targets::Later { of_64_bits: true });
    for (rows, columns) in SHAPES.into_iter().chain(FEW) {
        let size = [rows, columns];
        time::<T, _>(bench, "softmax", &row::softmax(), size, PLAIN)?;
        time::<T, _>(bench, "log_softmax", &row::log_softmax(), size, PLAIN)?;
        time::<T, _>(bench, "layer_norm", &row::layer_norm(1e-5), size, weighted)?;
        time::<T, _>(bench, "rms_norm", &row::rms_norm(1e-6), size, weighted)?;
        time::<T, _>(bench, "cross_entropy", &loss, size, targets)?;
        time::<T, _>(
            bench,
            "cross_entropy_and_gradient",
            &loss.clone().gradient(1.0),
            size,
            targets,
        )?;
        time::<T, _>(bench, "log_sum_exp", &row::log_sum_exp(), size, PLAIN)?;
        time::<T, _>(bench, "softmax_gradient", &row::softmax_gradient(later()), size, pair)?;
        time::<T, _>(
            bench,
            "log_softmax_gradient",
            &row::log_softmax_gradient(later()),
            size,
            pair,
        )?;
        time::<T, _>(
            bench,
            "layer_norm_gradient",
            &row::layer_norm_gradient(later(), &means),
            size,
            norm,
        )?;
        time::<T, _>(
            bench,
            "rms_norm_gradient",
            &row::rms_norm_gradient(later(), &roots),
            size,
            norm,
        )?;
    }
    for (rows, columns) in SHAPES {
        sum_columns::<T>(bench, [rows, columns])?;
    }
    for shape in IMAGES {
        let groups = || row::group_norm(32, 1e-5);
        time_of::<T, _>(bench, "group_norm", &groups(), &shape, weighted)?;
        time_of::<T, _>(
            bench,
            "group_norm_gradient",
            &row::group_norm_gradient(32, later(), &means),
            &shape,
            norm,
        )?;
    }
    for (rows, columns) in [(8192, 8192), (2048, 65_536)] {
        for (name, form) in [("softmax_unfused", Form::Unfused), ("softmax_two_pass", Form::TwoPass)] {
            time::<T, _>(bench, name, &row::softmax().form(form), [rows, columns], PLAIN)?;
        }
        let masked = Beside { arrays: 2, ..PLAIN };
        time::<T, _>(
            bench,
            "softmax_plus",
            &row::softmax().plus(later()),
            [rows, columns],
            masked,
        )?;
    }
    Ok(())
}

/// What a launch reads beside an array, and how many arrays as long as that.
#[derive(Clone, Copy)]
struct Beside {
    arrays: u64,
    weights: bool,
    biases: bool,
    targets: bool,
    known: bool,
}

const PLAIN: Beside = Beside {
    arrays: 1,
    weights: false,
    biases: false,
    targets: false,
    known: false,
};

fn serving(bench: &Bench) -> Outcome<()> {
    bench.fill::<half::bf16>()?;
    let weighted = Beside { weights: true, ..PLAIN };
    for columns in [128, 1024, 4096, 8192, 16_384] {
        for rows in [1, 16, 64, 256, 1024, 4096] {
            // Those of training are among them.
            if SHAPES.contains(&(rows, columns)) {
                continue;
            }
            time::<half::bf16, _>(bench, "rms_norm", &row::rms_norm(1e-6), [rows, columns], weighted)?;
        }
    }
    Ok(())
}

/// Never time a wrong kernel: the bits are the CPU's.
fn check<T: Sample + RowElement + Pod, Op: Operation>(
    bench: &Bench,
    operation: &Row<'_, Op>,
    shapes: &[impl AsRef<[u64]>],
    pattern: &[T],
) -> Outcome<()> {
    for shape in shapes {
        let layout = Layout::c_order(shape.as_ref())?;
        let view = View::new(pattern, &layout)?;
        let on_gpu = operation.clone().on::<_, T>(&bench.gpu, view.clone())?;
        let on_cpu = operation.clone().on_cpu::<_, T>(view)?;
        if bytemuck::cast_slice::<T, u8>(&on_gpu.values) != bytemuck::cast_slice::<T, u8>(&on_cpu.values) {
            return Err(format!("{} of {}: GPU and CPU differ", Op::NAME, named(shape.as_ref())).into());
        }
    }
    Ok(())
}

/// The gradients of a norm's weights and biases.
fn sum_columns<T: Sample + RowElement + Pod>(bench: &Bench, [rows, columns]: [u64; 2]) -> Outcome<()> {
    let name = "norm_column_gradients";
    if !is_wanted(name, &[rows, columns]) {
        return Ok(());
    }
    let known = ReciprocalRoot {
        reciprocal_root: vec![],
    };
    let layout = Layout::c_order(&[rows, columns])?;
    let prepared = row::norm_column_gradients(Later::default(), &known).prepare::<T>(&bench.gpu, &layout)?;
    let bytes = rows * columns * size_of::<T>() as u64;
    let stride = bytes.next_multiple_of(256);
    let buffers = (bench.pool.len() as u64 * 4 / (2 * stride)).clamp(1, 64);
    let inner: u64 = if bytes > 1 << 27 { 4 } else { 32 };
    let ones = DeviceBuffer::from_slice(&vec![0x3f80_0000_u32; rows as usize])?;
    let output = DeviceBuffer::<u32>::zeroed(2 * columns as usize)?;
    let mut workspace = prepared.workspace()?;
    let pool = bench.pool.as_device_ptr().as_raw();
    let launch = |i: u64| -> Outcome<()> {
        let input = pool + i % buffers * 2 * stride;
        let places = ColumnPlaces {
            input,
            gradients: input + stride,
            means: ones.as_device_ptr().as_raw(),
            reciprocals: ones.as_device_ptr().as_raw(),
            output: output.as_device_ptr().as_raw(),
        };
        // SAFETY: all of it outlives what `launches` waits for.
        unsafe { prepared.launch_raw(&bench.stream, &places, &mut workspace)? };
        Ok(())
    };
    let us = bench.launches(inner, launch)?;
    line(
        name,
        format!("{rows}x{columns}"),
        T::TYPE.name(),
        us,
        2 * bytes as usize,
    );
    Ok(())
}

fn time<T: Sample + RowElement + Pod, Op: Operation>(
    bench: &Bench,
    name: &str,
    operation: &Row<'_, Op>,
    size: [u64; 2],
    beside: Beside,
) -> Outcome<()> {
    time_of::<T, _>(bench, name, operation, &size, beside)
}

/// The same of an array of any shape.
fn time_of<T: Sample + RowElement + Pod, Op: Operation>(
    bench: &Bench,
    name: &str,
    operation: &Row<'_, Op>,
    shape: &[u64],
    beside: Beside,
) -> Outcome<()> {
    if !is_wanted(name, shape) {
        return Ok(());
    }
    let prepared = operation.prepare::<T, T>(&bench.gpu, &Layout::c_order(shape)?)?;
    let (rows, columns) = (prepared.plan().count, prepared.plan().len);
    let bytes = rows * columns * size_of::<T>() as u64;
    let stride = bytes.next_multiple_of(256);
    // Two bf16 that are nearly 1, and an f32: with zeros all answers would be zeros, too.
    let ones = DeviceBuffer::from_slice(&vec![0x3f80_3f80_u32; columns.max(rows) as usize])?;
    let targets: Vec<i64> = (0..rows).map(|row| (row * 7919 % columns) as i64).collect();
    let targets = DeviceBuffer::from_slice(&targets)?;
    let known = DeviceBuffer::<u32>::zeroed(4 * rows as usize)?;
    let parts = beside.arrays + 1;
    let buffers = (bench.pool.len() as u64 * 4 / (parts * stride)).clamp(1, 64);
    let inner: u64 = if bytes > 1 << 27 { 4 } else { 32 };
    let mut workspace = prepared.workspace()?;
    let pool = bench.pool.as_device_ptr().as_raw();
    let (ones, known) = (ones.as_device_ptr().as_raw(), known.as_device_ptr().as_raw());
    let of = |wanted: bool, address: u64| if wanted { address } else { 0 };
    let launch = |i: u64| -> Outcome<()> {
        let input = pool + i % buffers * parts * stride;
        let places = RowPlaces {
            input,
            other: of(beside.arrays == 2, input + stride),
            output: input + (parts - 1) * stride,
            weights: (of(beside.weights, ones), Some(T::TYPE)),
            biases: (of(beside.biases, ones), Some(T::TYPE)),
            targets: of(beside.targets, targets.as_device_ptr().as_raw()),
            known: if beside.known {
                [ones, ones, 0, 0]
            } else {
                let known = of(beside.targets || !operation.operation().maps(), known);
                [known, 0, 0, 0]
            },
            ..RowPlaces::default()
        };
        // SAFETY: pool, weights and workspace outlive what `launches` waits for.
        unsafe { prepared.launch_raw(&bench.stream, &places, &mut workspace)? };
        Ok(())
    };
    let us = bench.launches(inner, launch)?;
    let moved = bytes * (beside.arrays + u64::from(operation.operation().maps()));
    line(name, named(shape), T::TYPE.name(), us, moved as usize);
    Ok(())
}
