//! What `cargo xtask demo` runs: folds a small real file, then a gigabyte, on the best device there is, and says where,
//! how fast, and how near that is to the memory's speed.
//!
//! `cargo run --release -p warpfold-demo`; needs no GPU. An argument is the number of elements, for a gigabyte of them.
//! `WARPFOLD_DATA_DIR` names a folder to read the file from.

use std::{env, error::Error, fmt::Debug, fs, hint::black_box, path::PathBuf, time::Instant};

use bytemuck::Zeroable;
use cust::{
    event::{Event, EventFlags},
    memory::{AsyncCopyDestination, CopyDestination, DeviceBuffer, DeviceCopy, DeviceSlice},
    stream::{Stream, StreamFlags},
};
use rayon::prelude::*;
use warpfold::{
    View, cpu,
    files::TensorFile,
    gpu::Gpu,
    layout::Layout,
    ops::{ArgMax, ArgMin, Max, Mean, Min, Product, Reduction, Sum},
    pieces::Pieces,
    row,
};
use warpfold_emulator::Shape;
use warpfold_kernels::monoids::Words;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Elements of the large array: 1 GiB of f32.
const LARGE: usize = 1 << 28;
/// Elements of a piece, for the check on a machine without a GPU.
const PIECE: usize = 1 << 22;
/// Pairs of a fold and a read that are timed on a CPU.
const ROUNDS: usize = 5;
/// Elements for the check in the emulator.
const EMULATED: usize = 20_000;

fn main() -> Outcome<()> {
    // Preparing a launch also says whether this build has kernels for the device.
    let gpu = match Gpu::new(0).and_then(|gpu| gpu.prepare::<f32, _>(Sum, 1).map(|_| gpu)) {
        Ok(gpu) => {
            println!("on {}", gpu.facts());
            Some(gpu)
        }
        Err(error) => {
            println!("on the CPU: {error}");
            None
        }
    };
    println!(
        "cpu: {} threads, vector instructions: {}",
        cpu::threads(),
        cpu::vector_instructions()
    );
    let table = table()?;
    small(gpu.as_ref(), &table.values)?;
    softmax(gpu.as_ref(), &table)?;
    let asked = env::args().nth(1).map(|elements| elements.parse()).transpose()?;
    let values = large(asked.unwrap_or(LARGE));
    match &gpu {
        Some(gpu) => on_gpu(gpu, &values)?,
        None => on_cpu(&values)?,
    }
    let features = if gpu.is_some() { "command,cuda" } else { "command" };
    println!("\nnext, the command, on this file or yours (it takes minutes to compile):");
    println!("  cargo run --release -p warpfold --features {features} -- reduce mean host/examples/data/{FILE}");
    if gpu.is_some() {
        println!(
            "other kernels, such as those along axes, are built by their names: cargo xtask build-ptx mean var --types f32"
        );
    }
    Ok(())
}

/// The file's name.
const FILE: &str = "michelson_1879.npy";

/// The file's array.
struct Measured {
    layout: Layout,
    values: Vec<f32>,
}

/// Reads the file.
fn table() -> Outcome<Measured> {
    let folder = env::var_os("WARPFOLD_DATA_DIR").map_or_else(
        || PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../data")),
        PathBuf::from,
    );
    let tensor = TensorFile::open(folder.join(FILE))?.one()?;
    let layout = tensor.layout()?;
    let values = tensor.read()?;
    Ok(Measured { layout, values })
}

/// Folds the file.
fn small(gpu: Option<&Gpu>, values: &[f32]) -> Outcome<()> {
    let at = fold(gpu, ArgMax, values)?;
    println!("\nMichelson's measurements of the speed of light in air, 1879, km/s");
    println!("  count   {}", values.len());
    println!("  mean    {:?}", fold(gpu, Mean, values)?);
    println!("  min     {:?}", fold(gpu, Min, values)?);
    println!("  max     {:?}, at index {at}", fold(gpu, Max, values)?);
    Ok(())
}

/// The softmax of each series of the file, of the speed over 50 km/s: the weight of each measurement in a mean that prefers the largest.
fn softmax(gpu: Option<&Gpu>, table: &Measured) -> Outcome<()> {
    let softmax = || row::softmax().scale(1.0 / 50.0);
    let view = || View::new(&table.values, &table.layout);
    let on_cpu = softmax().on_cpu::<_, f32>(view()?)?;
    let len = *on_cpu.shape.last().ok_or("the file has no axis")? as usize;
    println!("\nsoftmax of each series, of the speed over 50 km/s: the first six weights of {len}, and the sum of all");
    for weights in on_cpu.values.chunks(len) {
        let six: Vec<String> = weights.iter().take(6).map(|weight| format!("{weight:.4}")).collect();
        println!("  {}  {:.6}", six.join(" "), cpu::reduce(Sum, weights)?);
    }
    match gpu {
        Some(gpu) => {
            let on_gpu = softmax().on::<_, f32>(gpu, view()?)?;
            same_bits(&on_gpu.values, &on_cpu.values)?;
            println!("the GPU gives the same bits as the CPU");
        }
        None => {
            for (series, weights) in table.values.chunks(len).zip(on_cpu.values.chunks(len)) {
                same_bits(&softmax().on_cpu::<_, f32>(series)?.values, weights)?;
            }
            println!("each series alone has the same bits");
        }
    }
    Ok(())
}

fn same_bits(some: &[f32], others: &[f32]) -> Outcome<()> {
    let bits = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    if bits(some) == bits(others) {
        Ok(())
    } else {
        Err("softmax: two answers differ in their bits".into())
    }
}

fn fold<R: Reduction<f32>>(gpu: Option<&Gpu>, op: R, values: &[f32]) -> Outcome<R::Answer> {
    Ok(match gpu {
        Some(gpu) => gpu.reduce_host(op, values)?,
        None => cpu::reduce(op, values)?,
    })
}

/// Numbers close about 1, scattered by integer arithmetic, so that their product stays in range.
fn large(mut len: usize) -> Vec<f32> {
    while len * size_of::<f32>() > available_memory() / 2 {
        len /= 2;
    }
    let mut values = vec![0.0; len];
    values.par_iter_mut().enumerate().for_each(|(i, value)| {
        let mut hash = (i as u32).wrapping_mul(2_654_435_761);
        hash = (hash ^ (hash >> 15)).wrapping_mul(739_982_445);
        let step = (hash ^ (hash >> 13)) % 8192; // 1 ± 4096 · 2⁻²³, exact
        *value = 1.0 + (step as f32 - 4096.0) / 8_388_608.0;
    });
    println!(
        "\n{len} numbers about 1, {:.2} GiB",
        bytes(&values) as f64 / (1_u64 << 30) as f64
    );
    values
}

/// Bytes that the system can give without swapping; as much as one likes where it does not say.
fn available_memory() -> usize {
    let said = fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let line = said.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok())
        .map_or(usize::MAX, |kib: usize| kib << 10)
}

/// Folds by prepared launches, timed by events on the device; compares with the CPU.
fn on_gpu(gpu: &Gpu, values: &[f32]) -> Outcome<()> {
    gpu.make_current()?;
    let stream = Stream::new(StreamFlags::DEFAULT, None)?;
    let input = DeviceBuffer::from_slice(values)?;
    let copied = {
        // SAFETY: only written to.
        let mut target = unsafe { DeviceBuffer::<f32>::uninitialized(values.len())? };
        on_stream(&stream, || {
            // SAFETY: both buffers live past the synchronisation in `on_stream`.
            unsafe { target.async_copy_from(&input, &stream)? };
            Ok(())
        })?
    };
    // A copy moves every byte twice.
    let copy = Speed::of(2 * bytes(values), copied).gb_per_s;
    println!("the memory's speed: {copy:.0} GB/s, a copy on the device, read and written");
    let peak = gpu.facts().peak_bandwidth.map(|peak| peak / 1e9);
    let table = Table::new(vec![("of copy", Some(copy)), ("of peak", peak)]);
    table.gpu(Sum, gpu, &stream, &input, values)?;
    table.gpu(Product, gpu, &stream, &input, values)?;
    table.gpu(Mean, gpu, &stream, &input, values)?;
    table.gpu(Min, gpu, &stream, &input, values)?;
    table.gpu(Max, gpu, &stream, &input, values)?;
    table.gpu(ArgMin, gpu, &stream, &input, values)?;
    table.gpu(ArgMax, gpu, &stream, &input, values)?;
    println!("each answer has the same bits as the CPU's");
    Ok(())
}

/// Folds on all cores; compares with a fold in pieces, and with the kernel in the emulator.
fn on_cpu(values: &[f32]) -> Outcome<()> {
    println!("the memory's speed is that of a plain read by the same threads, timed between two folds");
    let table = Table::new(vec![("read", None), ("of read", None)]);
    table.cpu(Sum, values)?;
    table.cpu(Product, values)?;
    table.cpu(Mean, values)?;
    table.cpu(Min, values)?;
    table.cpu(Max, values)?;
    table.cpu(ArgMin, values)?;
    table.cpu(ArgMax, values)?;
    println!(
        "each answer has the same bits when folded in pieces of {PIECE} elements, and each of the GPU's kernels, run by"
    );
    println!("the emulator on the first {EMULATED} elements, gives the same bits as the CPU");
    Ok(())
}

/// Rows of figures.
struct Table {
    /// What to compare a speed with, in GB/s; `None` where nobody knows it.
    yardsticks: Vec<(&'static str, Option<f64>)>,
}

impl Table {
    fn new(yardsticks: Vec<(&'static str, Option<f64>)>) -> Self {
        print!("\n  {:<8} {:>14} {:>10} {:>8}", "op", "answer", "ms", "GB/s");
        for (name, _) in &yardsticks {
            print!(" {name:>8}");
        }
        println!();
        Self { yardsticks }
    }

    fn gpu<R: Reduction<f32, Answer: Debug + DeviceCopy + Zeroable>>(
        &self,
        op: R,
        gpu: &Gpu,
        stream: &Stream,
        input: &DeviceSlice<f32>,
        values: &[f32],
    ) -> Outcome<()> {
        let prepared = gpu.prepare(op, values.len() as u64)?;
        let mut workspace = prepared.workspace()?;
        let mut answer = DeviceBuffer::<R::Answer>::zeroed(1)?;
        let seconds = on_stream(stream, || {
            // SAFETY: buffers and workspace live past the synchronisation in `on_stream`.
            unsafe { prepared.launch(stream, input, &mut answer, &mut workspace)? };
            Ok(())
        })?;
        let mut answers = [R::Answer::zeroed()];
        answer.copy_to(&mut answers)?;
        let [answer] = answers;
        let speed = Speed::of(bytes(values), seconds);
        self.row(op, answer, &speed);
        for (_, of) in &self.yardsticks {
            match of {
                Some(of) => print!(" {:>7.0}%", 100.0 * speed.gb_per_s / of),
                None => print!(" {:>8}", "-"),
            }
        }
        println!();
        same(op, answer, cpu::reduce(op, values)?)
    }

    fn cpu<R: Reduction<f32, Answer: Debug>>(&self, op: R, values: &[f32]) -> Outcome<()> {
        let mut answer = None;
        let (mut folds, mut reads) = (vec![], vec![]);
        for _ in 0..ROUNDS {
            folds.push(seconds(|| answer = Some(cpu::reduce(op, values))));
            reads.push(seconds(|| black_box(read(values))));
        }
        let answer = answer.ok_or("nothing was timed")??;
        let speeds = [folds, reads].map(|seconds| Speed::of(bytes(values), middle(seconds)));
        let [fold, read] = &speeds;
        self.row(op, answer, fold);
        println!(
            " {:>8.1} {:>7.0}%",
            read.gb_per_s,
            100.0 * fold.gb_per_s / read.gb_per_s
        );
        same(op, answer, in_pieces(op, values)?)?;

        let some = &values[..EMULATED.min(values.len())];
        let shape = Shape {
            threads: 64,
            leaves_per_warp: 2,
            blocks: 3,
        };
        let emulated = warpfold_emulator::reduce_all(op.monoid(), some, 0, shape, 1)?;
        same(op, emulated.answer, cpu::reduce(op, some)?)
    }

    /// The first columns of a row.
    fn row<R: Reduction<f32>>(&self, _: R, answer: impl Debug, speed: &Speed) {
        let (ms, gb_per_s, answer) = (speed.seconds * 1e3, speed.gb_per_s, format!("{answer:?}"));
        print!("  {:<8} {answer:>14} {ms:>10.3} {gb_per_s:>8.1}", R::NAME);
    }
}

fn in_pieces<R: Reduction<f32>>(op: R, values: &[f32]) -> Outcome<R::Answer> {
    let mut pieces = Pieces::new(op, PIECE as u64)?;
    for piece in values.chunks(PIECE) {
        pieces.push(cpu::fold(op, piece), piece.len() as u64)?;
    }
    Ok(pieces.finish()?.0)
}

/// Touches every byte: each thread adds up parts of the array as integers.
fn read(values: &[f32]) -> u32 {
    let add =
        |part: &[u32]| pulp::Arch::new().dispatch(|| part.iter().fold(0_u32, |sum, word| sum.wrapping_add(*word)));
    let words: &[u32] = bytemuck::cast_slice(values);
    words.par_chunks(1 << 16).map(add).reduce(|| 0, u32::wrapping_add)
}

/// Median seconds of what `enqueue` puts on the stream.
fn on_stream(stream: &Stream, mut enqueue: impl FnMut() -> Outcome<()>) -> Outcome<f64> {
    let (start, end) = (Event::new(EventFlags::DEFAULT)?, Event::new(EventFlags::DEFAULT)?);
    median(15, || {
        start.record(stream)?;
        enqueue()?;
        end.record(stream)?;
        end.synchronize()?;
        Ok(f64::from(end.elapsed_time_f32(&start)?) / 1e3)
    })
}

/// Seconds that `work` takes on the clock.
fn seconds<A>(work: impl FnOnce() -> A) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_secs_f64()
}

/// The median of several timings after a warm-up: `rounds` of them, or fewer once they add up to a second.
fn median(rounds: usize, mut seconds: impl FnMut() -> Outcome<f64>) -> Outcome<f64> {
    seconds()?;
    let mut timed = vec![];
    while timed.len() < rounds && timed.iter().sum::<f64>() < 1.0 {
        timed.push(seconds()?);
    }
    Ok(middle(timed))
}

fn middle(mut of: Vec<f64>) -> f64 {
    of.sort_by(f64::total_cmp);
    of[of.len() / 2]
}

struct Speed {
    seconds: f64,
    gb_per_s: f64,
}

impl Speed {
    fn of(bytes: u64, seconds: f64) -> Self {
        Self {
            seconds,
            gb_per_s: bytes as f64 / seconds / 1e9,
        }
    }
}

fn bytes(values: &[f32]) -> u64 {
    size_of_val(values) as u64
}

/// Fails unless two answers have the same bits.
fn same<R: Reduction<f32>>(_: R, a: R::Answer, b: R::Answer) -> Outcome<()> {
    let differ = (0..R::Answer::COUNT).any(|word| a.word(word) != b.word(word));
    if differ {
        Err(format!("{}: two answers differ in their bits", R::NAME).into())
    } else {
        Ok(())
    }
}
