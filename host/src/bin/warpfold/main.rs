//! The command `warpfold`: what is in files, and reductions of it on the best device there is.
//!
//! Exit codes: 0 done, 1 the operation failed, 2 the command line is wrong.

#![cfg_attr(test, allow(dead_code, unused_imports))]

mod accuracy;
mod answers;
#[cfg(not(test))]
mod describe;
mod second_input;
/// As [`reduce`].
#[cfg(test)]
mod describe {
    pub fn run(_: &crate::Describe) -> Result<crate::summaries::Summaries, crate::Failure> {
        Err("not in unit tests".into())
    }
}
mod device;
#[cfg(not(test))]
mod distinct;
/// As [`reduce`].
#[cfg(test)]
use reduce as distinct;
mod cross_entropy;
#[cfg(not(test))]
mod fold;
#[cfg(not(test))]
mod folder;
mod grad_norm;
mod ladder;
mod list;
mod op;
mod opened;
mod options;
mod out;
mod progress;
mod reading;
#[cfg(not(test))]
mod reduce;
/// Unit tests run no command. They are compiled without its folds, each operator of each type on each device: that is most of the
/// program, and it is tested as a program.
#[cfg(test)]
mod reduce {
    pub fn run(_: &crate::Reduce) -> Result<crate::report::Report, crate::Failure> {
        Err("not in unit tests".into())
    }
}
mod report;
mod room;
mod rows;
mod scalar;
#[cfg(not(test))]
mod segments;
mod shown;
mod summaries;
mod table;
mod unfinished;

use std::{
    io::{self, BufWriter, Write},
    path::PathBuf,
    process::{self, ExitCode},
};

use clap::{Parser, Subcommand, ValueEnum};

use device::Wanted;
use op::Op;
use shown::Shown;
use warpfold::files::DType;

/// What the command fails with: printed as it is.
type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Reductions on NVIDIA GPUs, with the same bits on every device and on the CPU.
#[derive(Parser)]
#[command(version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Lists what can fold on this machine, and which code generator made the kernels for its GPUs.
    Devices {
        /// Prints one JSON object: each GPU that can be used, threads and vector instructions of the CPU, and the kernels.
        #[arg(long)]
        json: bool,
    },
    /// Lists the arrays of .npy, .npz and .safetensors files: name, dtype, shape, bytes.
    ///
    /// Only headers are read.
    List(List),
    /// Folds an array of a .npy, .npz or .safetensors file, to one answer, along axes or in segments.
    ///
    /// The file is read in pieces, so it may be larger than the memory of the device and of the machine (Fortran-order
    /// arrays of several dimensions apart: those are put in order in memory first). The bits of the answer depend on
    /// neither pieces nor device. Along axes and in segments of --offsets the array is read as a whole and must fit in memory; each
    /// answer has the bits that its elements alone would give.
    Reduce(Reduce),
    /// Softmax of the rows of an array, written to a .npy file: exp(x - max) over the sum of those.
    ///
    /// A row of all -inf, one with a NaN and one with a +inf are NaN. The bits of a row depend on that row alone, on every device.
    Softmax(rows::Exponentials),
    /// The logarithm of softmax: x - max - log of the sum of exp(x - max).
    LogSoftmax(rows::Exponentials),
    /// Layer norm of the rows of an array, written to a .npy file: (x - mean) / sqrt(variance + eps) * weight + bias.
    LayerNorm(rows::LayerNorm),
    /// Group norm of the channels of an array, axis 1 of it, written to a .npy file: layer norm of each group of neighbouring channels of a sample.
    ///
    /// There is a weight and a bias for each channel. Of as many groups as channels it is instance norm.
    GroupNorm(rows::GroupNorm),
    /// Root-mean-square norm of the rows of an array, written to a .npy file: x / sqrt(mean of x^2 + eps) * weight.
    RmsNorm(rows::RmsNorm),
    /// The cross-entropy of each row of logits and its target, written to a .npy file: -log of the target's softmax.
    ///
    /// A row of all -inf, one with a NaN and one with a +inf have a loss of NaN; one that is ignored has 0.
    CrossEntropy(cross_entropy::Args),
    /// The norm of the arrays of files, gradients or weights, all of them taken as one vector; and how many elements are not finite.
    ///
    /// The arrays may be of different lengths and types. Each is folded in the canonical tree, and their states meet in the order of the command line: the bits depend on that
    /// alone. All arrays are read to memory.
    GradNorm(grad_norm::Args),
    /// What the order of additions does to a sum: from a lesson's examples to the errors of each accuracy that sums have.
    ///
    /// On the CPU and in the emulator, whose answers have a GPU's bits.
    Accuracy(accuracy::Args),
    /// How a reduction becomes fast: kernels from a lesson's first to the library's own, each checked, timed and counted.
    ///
    /// Times need a GPU. Without one the kernels run in the emulator, lane by lane, and what they do is counted.
    Ladder(ladder::Args),
    /// Describes the arrays of .npy, .npz and .safetensors files: what they hold of NaNs, infinities and zeros, their ends, sum,
    /// mean, spread and norms.
    ///
    /// Each array is read once, in pieces. NaNs are counted and left out of the rest. Elements of 16 and 8 bits that have fractions are described as the
    /// float32 that each is, integers and truths as the float64 nearest to each, exactly up to 2^53. Arrays of other types are listed with what is wrong. Exit code 1 says that
    /// something could not be read; what could is described all the same.
    Describe(Describe),
}

#[derive(clap::Args)]
struct List {
    /// The files; FILE:NAME for one array of a file.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Prints one JSON list, an object for each array: file, format, name (null in a .npy file), dtype, shape, bytes.
    #[arg(long)]
    json: bool,
}

#[derive(clap::Args)]
struct Describe {
    /// The files; FILE:NAME for one array of a file.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// What is taken off the number of elements to divide the variance by.
    #[arg(long, default_value_t = 1.0, value_parser = options::correction, allow_hyphen_values = true)]
    correction: f64,
    /// best, gpu, gpu:N or cpu. Best is the first GPU if one can be used, else the CPU.
    #[arg(long, default_value = "best")]
    device: Wanted,
    /// All there is, in columns; without it, the count of NaNs and of infinities, min, max, mean and std, in few digits.
    #[arg(long, conflicts_with_all = ["json", "csv"])]
    wide: bool,
    /// Prints one JSON list, an object for each array: file, name (null in a .npy file), dtype, shape, and its numbers. NaN and
    /// infinities are strings, what does not exist (the min of nothing) is null. Of what could not be read or described: error.
    #[arg(long, conflicts_with = "csv")]
    json: bool,
    /// Prints the same as CSV (RFC 4180), with a header.
    #[arg(long)]
    csv: bool,
}

#[derive(clap::Args)]
struct Reduce {
    /// The operator. A NaN in the array makes the answer NaN, or its index, unless --nan says otherwise; it counts as not zero.
    op: Op,
    /// The array: a file of one, or FILE:NAME. Its elements are numbered in C order, as NumPy does.
    file: PathBuf,
    /// For var, std and meanvar: what is taken off the number of elements to divide by; without it 1.
    #[arg(long, value_parser = options::correction, allow_hyphen_values = true)]
    correction: Option<f64>,
    /// What becomes of NaN. Ignore, which sum, prod, mean, min, max, argmin, argmax (and the last of equals), var and std can,
    /// answers for the elements that are not NaN, under NumPy's names of such operators: nansum, nanmean. Of NaN alone the sum is
    /// -0.0, the product 1, an index 18446744073709551615, and the rest NaN. Integers have no NaN.
    #[arg(long, value_enum, default_value_t = Nan::Propagate, value_name = "POLICY")]
    nan: Nan,
    /// Which of equals argmin and argmax answer, and of NaNs. The last one's report has the op argmin-last or argmax-last, which are
    /// operators of their own, too.
    #[arg(long, value_enum, value_name = "WHICH")]
    ties: Option<Ties>,
    /// For lp: the power, finite and above 0.
    #[arg(long, value_parser = options::power, required_if_eq("op", "lp"), allow_hyphen_values = true)]
    ord: Option<f64>,
    /// How sum and mean of floats are computed. The report's op then says so: sum-exact.
    #[arg(long, value_name = "HOW", default_value = "native")]
    accuracy: Accuracy,
    /// An axis to fold along, the first of them 0 and the last -1; several times, or with commas, for several. The elements
    /// of each answer are numbered in C order of the axes that are folded. Without it the whole array is folded.
    #[arg(long, value_name = "A", value_delimiter = ',', allow_hyphen_values = true)]
    axis: Vec<i64>,
    /// The output keeps the folded axes, each with one index.
    #[arg(long)]
    keepdim: bool,
    /// Folds each segment of the array, its elements in C order, to an answer: OFFSETS is an array of integers (a file of one, or
    /// FILE:NAME), and segment S goes from element OFFSETS[S] up to OFFSETS[S + 1]. The first is 0 and the last the number of
    /// elements.
    #[arg(long, value_name = "OFFSETS", conflicts_with_all = ["axis", "keepdim", "segment_size"])]
    offsets: Option<PathBuf>,
    /// The same in segments of N elements, the last of them shorter where N does not divide the array.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), allow_hyphen_values = true, conflicts_with_all = ["axis", "keepdim"])]
    segment_size: Option<u64>,
    /// Folds the elements that MASK selects, an array of bool or uint8 (a file of one, or FILE:NAME) whose shape is the array's or
    /// broadcasts to it as NumPy's `where` does; those that it does not select never show, and indices are those in the whole array. Of
    /// all operators but minmax, argminmax, dot, cosine, distinct and the bitwise ones; --nan ignore goes with it, and of sum --accuracy. FP8
    /// and complex numbers take none. Where nothing is
    /// selected the answers are those of --nan ignore over NaN alone, and the min and max of integers the highest and the lowest.
    #[arg(long = "where", value_name = "MASK")]
    mask: Option<PathBuf>,
    /// For dot and cosine: the second array, of the first one's type, whose shape is the first one's or broadcasts to it. Without
    /// --axis and in segments all of it is held in memory.
    #[arg(long, value_name = "FILE", required_if_eq_any([("op", "dot"), ("op", "cosine")]))]
    with: Option<PathBuf>,
    /// The type of the answers, by NumPy's names: each is cast as Rust's `as` does it, a float to the nearest float or toward 0, to the
    /// nearest integer that there is, a wider integer to its low bits, and whatever is not 0 to true. Floats are folded as they are, but as
    /// float32 or float64 where that is asked for and wider than they, of all operators that round.
    #[arg(long, value_name = "TYPE", value_parser = answers::dtype)]
    dtype_out: Option<DType>,
    /// Writes the answers to a .npy file, of their own type (bfloat16 and FP8, which NumPy does not have, as float32) and in C
    /// order. Two answers are a last axis of 2. The file appears, or is replaced, once it is complete.
    #[arg(long, value_name = "OUT.npy")]
    out: Option<PathBuf>,
    /// best, gpu, gpu:N, cpu or emulator. Best is the first GPU if one can be used, else the CPU. The emulator has sum, mean, min, max,
    /// argmin, argmax (and -last), l1, l2, logsumexp, var and std of float32 and float64, each of a whole array.
    #[arg(long, default_value = "best")]
    device: Wanted,
    /// Says, too, what a GPU launches for the array in its memory, and how long that takes by the model of `Plan::predicted_time`: on the
    /// GPU that folds, or where none does on an H200; of distinct how long at least. In JSON: plan, predicted_seconds and predicted_for.
    #[arg(long)]
    explain: bool,
    /// Prints one JSON object: op, device, with --with its name, dtype, shape, result (and value, for indices), seconds, bytes, gb_per_s. Two
    /// answers are a list. Seconds are from the first byte read to the answer. NaN and infinities are strings. Along axes
    /// there are axis, dtype_out, shape_out and answers, a flat list in C order, in place of result, in segments all of these but axis;
    /// with --dtype-out, dtype_out; with --out, out.
    #[arg(long)]
    json: bool,
}

/// What becomes of NaN.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Nan {
    /// The operator says.
    Propagate,
    /// It is left out.
    Ignore,
}

/// Which of equals is answered.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
enum Ties {
    /// The one of the lowest index.
    First,
    /// The one of the highest index.
    Last,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Accuracy {
    /// Pairwise, in the elements' precision or float32: what any other operator has.
    Native,
    /// In about twice the elements' precision: of float32 and float64.
    Compensated,
    /// In float64, rounded once: of float16, bfloat16 and float32.
    Wide,
    /// Rounded once, without any other error: of float32.
    Exact,
}

fn main() -> ExitCode {
    let Cli { mut command } = Cli::try_parse().unwrap_or_else(|error| wrong(&error));
    if let Command::Reduce(reduce) = &mut command {
        reduce.settle().unwrap_or_else(|error| wrong(&error));
    }
    let failures = run(&command).unwrap_or_else(|error| vec![error]);
    for error in &failures {
        eprintln!("warpfold: {}", Shown(error));
    }
    if failures.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Says what is wrong with a command line, which may hold names from a folder, and ends the program.
fn wrong<T>(error: &clap::Error) -> T {
    let text = error.to_string();
    let lines: Vec<String> = text.lines().map(|line| Shown(line).to_string()).collect();
    if lines.iter().map(String::as_str).eq(text.lines()) {
        // With its colours.
        error.exit();
    }
    eprintln!("{}", lines.join("\n"));
    process::exit(error.exit_code());
}

/// Does what is asked for. Answers what could not be read, where the rest was done.
fn run(command: &Command) -> Result<Vec<Failure>, Failure> {
    // Not println, which panics where nobody reads on.
    let mut out = BufWriter::new(io::stdout().lock());
    let mut failures = vec![];
    match command {
        Command::Devices { json: true } => writeln!(out, "{}", device::json()?)?,
        Command::Devices { json: false } => writeln!(out, "{}", device::list())?,
        Command::List(list) => writeln!(out, "{}", list::run(list)?)?,
        Command::Reduce(reduce) => {
            let report = match reduce.op {
                Op::Distinct => distinct::run(reduce)?,
                _ => reduce::run(reduce)?,
            };
            if reduce.json {
                report.write_json(&mut out)?;
            } else {
                writeln!(out, "{}", report.text())?;
            }
        }
        Command::Softmax(args) => writeln!(out, "{}", args.softmax()?)?,
        Command::LogSoftmax(args) => writeln!(out, "{}", args.log_softmax()?)?,
        Command::GroupNorm(args) => writeln!(out, "{}", args.run()?)?,
        Command::LayerNorm(args) => writeln!(out, "{}", args.run()?)?,
        Command::RmsNorm(args) => writeln!(out, "{}", args.run()?)?,
        Command::CrossEntropy(args) => writeln!(out, "{}", args.run()?)?,
        Command::GradNorm(args) => writeln!(out, "{}", args.run()?)?,
        Command::Accuracy(args) => writeln!(out, "{}", accuracy::run(args)?)?,
        Command::Ladder(args) => writeln!(out, "{}", ladder::run(args)?)?,
        Command::Describe(describe) => {
            let summaries = describe::run(describe)?;
            failures = summaries.failures();
            let text = if describe.json {
                summaries.json()?
            } else if describe.csv {
                summaries.csv()?
            } else {
                summaries.text(describe.wide)
            };
            writeln!(out, "{text}")?;
        }
    }
    out.flush()?;
    Ok(failures)
}
