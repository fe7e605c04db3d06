//! How fast a GPU's row operations are: matrices along their last axis, and serving's shapes. Prints CSV: `group,op,case,dtype,us,GB/s,bytes`,
//! the bytes being those that are read and written, each once; a `#` starts a remark. `cargo bench --bench rows [-- GROUP|OP|SHAPE …]`. Without a GPU it says so and ends well.

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
    row::{self, Later, MeanAndDeviation, Operation, ReciprocalRoot, Row, RowElement, Targets},
};

use bench::{Bench, Outcome, line};
use sample::Sample;

/// Rows and columns of training, and of long vocabularies.
const SHAPES: [[u64; 2]; 6] = [
    [32_768, 256],
    [32_768, 1024],
    [16_384, 4096],
    [8192, 8192],
    [2048, 65_536],
    [1024, 262_144],
];

/// Rows of a vocabulary that is generated from.
const VOCABULARY: [[u64; 2]; 4] = [[1, 152_064], [16, 152_064], [256, 152_064], [1024, 152_064]];

/// Rows and columns of which the bits are compared first.
const CHECKED: [[u64; 2]; 9] = [
    [70, 8],
    [300, 16],
    [70, 256],
    [9, 1000],
    [2051, 2000],
    [5, 4096],
    [3, 40_000],
    [2, 262_144],
    [1, 1 << 20],
];

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
    vocabulary(&bench)?;
    serving(&bench)?;
    of::<f32>(&bench)?;
    gpt2(&bench)
}

/// GPT-2's layer norm, of 4 texts of 1024 tokens, and the softmax of its 12 heads' causal attention.
fn gpt2(bench: &Bench) -> Outcome<()> {
    let both = Beside {
        weights: true,
        biases: true,
        ..PLAIN
    };
    let norm = row::layer_norm(1e-5);
    time::<f32, _>(bench, ["gpt2", "layer_norm"], &norm, &[4096, 768], both)?;
    let causal = row::softmax().scale(0.125).causal();
    time::<f32, _>(bench, ["gpt2", "causal_softmax"], &causal, &[48, 1024, 1024], PLAIN)
}

/// Whether an operation of a group and of a shape is asked for: all are, if none is named. Shapes are told from the others by their first letter,
/// which is a digit.
fn is_wanted([group, op]: [&str; 2], shape: &[u64]) -> bool {
    let asked = std::env::args().skip(1).filter(|arg| !arg.starts_with("--"));
    let (shapes, names): (Vec<String>, Vec<String>) =
        asked.partition(|name| name.starts_with(|first: char| first.is_ascii_digit()));
    (shapes.is_empty() || shapes.contains(&named(shape)))
        && (names.is_empty() || names.iter().any(|name| name == group || name == op))
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
    check_losses(bench, &pattern)?;
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
    let (softmax, log_softmax) = (row::softmax(), row::log_softmax());
    for size in &SHAPES {
        time::<T, _>(bench, ["maps", "softmax"], &softmax, size, PLAIN)?;
        time::<T, _>(bench, ["maps", "log_softmax"], &log_softmax, size, PLAIN)?;
        time::<T, _>(bench, ["maps", "layer_norm"], &row::layer_norm(1e-5), size, weighted)?;
        time::<T, _>(bench, ["maps", "rms_norm"], &row::rms_norm(1e-6), size, weighted)?;
        time::<T, _>(bench, ["maps", "cross_entropy"], &loss, size, targets)?;
        time::<T, _>(bench, ["maps", "log_sum_exp"], &row::log_sum_exp(), size, PLAIN)?;
        let gradient = loss.clone().gradient(1.0);
        time::<T, _>(
            bench,
            ["backward", "cross_entropy_and_gradient"],
            &gradient,
            size,
            targets,
        )?;
        let gradient = row::softmax_gradient(later());
        time::<T, _>(bench, ["backward", "softmax_gradient"], &gradient, size, pair)?;
        let gradient = row::log_softmax_gradient(later());
        time::<T, _>(bench, ["backward", "log_softmax_gradient"], &gradient, size, pair)?;
        let gradient = row::layer_norm_gradient(later(), &means);
        time::<T, _>(bench, ["backward", "layer_norm_gradient"], &gradient, size, norm)?;
        let gradient = row::rms_norm_gradient(later(), &roots);
        time::<T, _>(bench, ["backward", "rms_norm_gradient"], &gradient, size, norm)?;
        sum_columns::<T>(bench, *size)?;
    }
    for shape in &IMAGES {
        let groups = row::group_norm(32, 1e-5);
        time::<T, _>(bench, ["group_norm", "group_norm"], &groups, shape, weighted)?;
        let gradient = row::group_norm_gradient(32, later(), &means);
        time::<T, _>(bench, ["group_norm", "group_norm_gradient"], &gradient, shape, norm)?;
    }
    for size in &[[8192, 8192], [2048, 65_536]] {
        time::<T, _>(bench, ["forms", "online"], &row::softmax(), size, PLAIN)?;
        time::<T, _>(bench, ["forms", "plus"], &row::softmax().plus(later()), size, pair)?;
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
    /// Whether it is launched early.
    early: bool,
}

const PLAIN: Beside = Beside {
    arrays: 1,
    weights: false,
    biases: false,
    targets: false,
    known: false,
    early: false,
};

/// Few rows of a large vocabulary.
fn vocabulary(bench: &Bench) -> Outcome<()> {
    bench.fill::<half::bf16>()?;
    let targets = Beside { targets: true, ..PLAIN };
    let loss = row::cross_entropy(Targets::Later { of_64_bits: true });
    let (softmax, log_softmax) = (row::softmax(), row::log_softmax());
    for size in &VOCABULARY {
        time::<half::bf16, _>(bench, ["vocabulary", "softmax"], &softmax, size, PLAIN)?;
        time::<half::bf16, _>(bench, ["vocabulary", "log_softmax"], &log_softmax, size, PLAIN)?;
        time::<half::bf16, _>(bench, ["vocabulary", "cross_entropy"], &loss, size, targets)?;
    }
    Ok(())
}

/// RMS norms of the few rows of a server.
fn serving(bench: &Bench) -> Outcome<()> {
    bench.fill::<half::bf16>()?;
    let weighted = Beside { weights: true, ..PLAIN };
    let early = Beside {
        early: true,
        ..weighted
    };
    for rows in [1, 16, 256, 4096] {
        for columns in [128, 1024, 4096, 16_384] {
            let (norm, size) = (row::rms_norm(1e-6), [rows, columns]);
            time::<half::bf16, _>(bench, ["serving", "rms_norm"], &norm, &size, weighted)?;
            time::<half::bf16, _>(bench, ["serving", "rms_norm early"], &norm, &size, early)?;
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

/// Losses alone, as they are timed.
fn check_losses<T: Sample + RowElement + Pod>(bench: &Bench, pattern: &[T]) -> Outcome<()> {
    for [rows, columns] in CHECKED {
        let target = |row: u64| {
            if row % 5 == 3 {
                -100
            } else {
                (row * 7919 % columns) as i64
            }
        };
        let targets: Vec<i64> = (0..rows).map(target).collect();
        let layout = Layout::c_order(&[rows, columns])?;
        let known = row::cross_entropy(&targets)
            .on_cpu::<_, T>(View::new(pattern, &layout)?)?
            .known;
        let prepared = row::cross_entropy(Targets::Later { of_64_bits: true }).prepare::<T, T>(&bench.gpu, &layout)?;
        let on_gpu = DeviceBuffer::<f32>::zeroed(3 * rows as usize)?;
        let (targets, at) = (DeviceBuffer::from_slice(&targets)?, on_gpu.as_device_ptr().as_raw());
        let places = RowPlaces {
            input: bench.pool.as_device_ptr().as_raw(),
            targets: targets.as_device_ptr().as_raw(),
            known: [at, at + 4 * rows, at + 8 * rows, 0],
            ..RowPlaces::default()
        };
        let mut workspace = prepared.workspace()?;
        // SAFETY: all of it outlives what the stream waits for; the pool begins with the pattern.
        unsafe { prepared.launch_raw(&bench.stream, &places, &mut workspace)? };
        bench.stream.synchronize()?;
        let bits = |known: &[f32]| -> Vec<u32> { known.iter().map(|known| known.to_bits()).collect() };
        let on_cpu = [known.loss, known.log_sum_exp, known.log_probability].concat();
        if bits(&on_gpu.as_host_vec()?) != bits(&on_cpu) {
            return Err(format!("losses of {rows} x {columns}: GPU and CPU differ").into());
        }
    }
    Ok(())
}

/// The gradients of a norm's weights and biases.
fn sum_columns<T: Sample + RowElement + Pod>(bench: &Bench, [rows, columns]: [u64; 2]) -> Outcome<()> {
    let name = ["backward", "norm_column_gradients"];
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
    line(name, named(&[rows, columns]), T::TYPE.name(), us, 2 * bytes as usize);
    Ok(())
}

fn time<T: Sample + RowElement + Pod, Op: Operation>(
    bench: &Bench,
    name: [&str; 2],
    operation: &Row<'_, Op>,
    shape: &[u64],
    beside: Beside,
) -> Outcome<()> {
    if !is_wanted(name, shape) {
        return Ok(());
    }
    let mut prepared = operation.prepare::<T, T>(&bench.gpu, &Layout::c_order(shape)?)?;
    if beside.early {
        prepared = prepared.early();
    }
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
