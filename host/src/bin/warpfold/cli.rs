//! The command line.

use std::path::PathBuf;

use clap::{Parser, Subcommand, ValueEnum};
use warpfold::files::DType;

use crate::{
    accuracy, answers, check, cross_entropy,
    device::Wanted,
    diff, grad_norm, ladder,
    op::{Asked, Op},
    rows,
    values::{self, AxisList},
};

/// Reductions of arrays in files, with the same bits on every GPU and on the CPU.
#[derive(Parser)]
#[command(
    version,
    after_help = "Examples:
  warpfold reduce mean x.npy --axis 0
  warpfold describe model.safetensors

`warpfold ops` lists the operators; `warpfold COMMAND --help` says more of each command.
Exit codes: 0 done; 1 failed; 2 the command line is wrong."
)]
pub struct Cli {
    #[command(subcommand)]
    pub command: Command,
    /// Reads raw elements of that size, such as |V2, as a type: bfloat16, float16, float8_e4m3fn …
    #[arg(long = "as", global = true, value_name = "TYPE", value_parser = values::raw)]
    pub raw: Option<DType>,
}

#[derive(Subcommand)]
pub enum Command {
    /// Reduces an array to one answer, along axes or in segments: sum, mean, max, argmax, std …
    ///
    /// The file is a .npy, .npz or .safetensors file. It is read in pieces, so it may be larger than the memory (Fortran-order arrays
    /// of several dimensions excepted). Along axes and in segments of --offsets the array is read as a whole and must fit in memory.
    /// The bits of an answer depend on its elements alone, not on pieces or device.
    #[command(after_help = "Examples:
  warpfold reduce argmax x.npy --axis -1
  warpfold reduce std model.safetensors:wte.weight --correction 0 --json")]
    Reduce(Box<Reduce>),
    /// Describes arrays: NaNs, infinities, zeros, min, max, sum, mean, spread, norms.
    ///
    /// Each array is read once, in pieces. NaNs are counted and left out of the rest. Elements of 8 and 16 bits with fractions are
    /// described as the float32 that each is; integers and bool as the nearest float64, exact up to 2^53. Of complex numbers there are
    /// the counts, the mean, L2 and L-infinity. Exit code 1 says that something was not described.
    #[command(after_help = "Examples:
  warpfold describe x.npy
  warpfold describe a.safetensors b.npz --json")]
    Describe(Describe),
    /// Lists the arrays of files: name, dtype, shape, bytes.
    ///
    /// Only headers are read.
    #[command(after_help = "Examples:
  warpfold list model.safetensors
  warpfold list data.npz --json")]
    List(List),
    /// Checks checkpoints: NaN, infinities, files that are short, spoiled or missing.
    ///
    /// One line for each fault: the array, how many elements, and the index of the first. Exit code 0: nothing was found; 1: faults were;
    /// 2: something could not be checked.
    #[command(after_help = "Examples:
  warpfold check model.safetensors
  warpfold check checkpoint/ --deny zeros --json")]
    Check(check::Args),
    /// Compares the arrays of two files or checkpoints, name by name.
    ///
    /// For each that differs: how many elements, the largest difference and where, the relative L2 norm of the differences, the cosine.
    /// Types that differ are compared as values. Exit code 0: equal; 1: they differ; 2: something could not be compared.
    #[command(after_help = "Examples:
  warpfold diff before.safetensors after.safetensors
  warpfold diff a.npy b.npy --tolerance 1e-6 --nan-equal")]
    Diff(diff::Args),
    /// Lists the operators of `reduce`, their types, masks and NaN policies.
    Ops {
        /// Prints one JSON list, an object for each operator: group, name, says, types, mask, ignores_nan.
        #[arg(long)]
        json: bool,
    },
    /// Softmax of the rows of an array: exp(x - max) over the sum of those.
    ///
    /// A row of all -inf, one with a NaN and one with a +inf are NaN. The bits of a row depend on that row alone, on every device.
    #[command(after_help = "Examples:
  warpfold softmax logits.npy -o p.npy
  warpfold softmax scores.npy --causal --scale 0.125 -o p.safetensors")]
    Softmax(rows::SoftmaxArgs),
    /// The logarithm of softmax: x - max - log of the sum of exp(x - max).
    #[command(after_help = "Examples:
  warpfold log-softmax logits.npy -o log_p.npy
  warpfold log-softmax logits.npy --axis 1 --dtype-out float32 -o log_p.npy")]
    LogSoftmax(rows::SoftmaxArgs),
    /// Layer norm of the rows of an array: (x - mean) / sqrt(variance + eps) * weight + bias.
    #[command(after_help = "Examples:
  warpfold layer-norm x.npy -o y.npy
  warpfold layer-norm x.npy --weight model.safetensors:ln.weight --bias model.safetensors:ln.bias -o y.npy")]
    LayerNorm(rows::LayerNormArgs),
    /// Group norm of the channels of an array, its axis 1: layer norm of each group of channels of a sample.
    ///
    /// There is a weight and a bias for each channel. With as many groups as channels it is instance norm.
    #[command(after_help = "Examples:
  warpfold group-norm x.npy --groups 32 -o y.npy
  warpfold group-norm x.npy --groups 8 --weight w.npy --bias b.npy -o y.npy")]
    GroupNorm(rows::GroupNormArgs),
    /// Root-mean-square norm of the rows of an array: x / sqrt(mean of x^2 + eps) * weight.
    #[command(after_help = "Examples:
  warpfold rms-norm x.npy --weight w.npy -o y.npy
  warpfold rms-norm x.npy --residual r.npy --sum-out sum.npy -o y.npy")]
    RmsNorm(rows::RmsNormArgs),
    /// The cross-entropy of each row of logits and its target: -log of the target's softmax.
    ///
    /// A row of all -inf, one with a NaN and one with a +inf have a loss of NaN; an ignored row has 0.
    #[command(after_help = "Examples:
  warpfold cross-entropy logits.npy --targets t.npy -o loss.npy
  warpfold cross-entropy logits.npy --targets t.npy --label-smoothing 0.1 -o loss.npy")]
    CrossEntropy(cross_entropy::Args),
    /// The norm of all arrays of files taken as one vector: gradients, weights.
    ///
    /// The arrays may be of different lengths and types; integers and bool are left out and counted. Each array is folded in the
    /// canonical tree, and their states are combined in the order of the command line: the bits depend on that alone. Arrays are read
    /// one after the other.
    #[command(after_help = "Examples:
  warpfold grad-norm grads.safetensors
  warpfold grad-norm a.npy b.npy --ord inf --json")]
    GradNorm(grad_norm::Args),
    /// Lists the devices of this machine, and which code generator made the GPU kernels.
    Devices {
        /// Prints one JSON object: each GPU that can be used, threads and vector instructions of the CPU, and the kernels.
        #[arg(long)]
        json: bool,
    },
    /// Shows what the order of additions does to a sum, and the errors of each accuracy.
    ///
    /// On the CPU and in the emulator, whose answers have a GPU's bits.
    Accuracy(accuracy::Args),
    /// Shows how a reduction becomes fast: kernels from a lesson's first to the library's own, checked, timed and counted.
    ///
    /// Times need a GPU. Without one the kernels run in the emulator, lane by lane, and what they do is counted.
    Ladder(ladder::Args),
}

#[derive(clap::Args)]
pub struct List {
    /// The files, folders or indexes of shards; FILE:NAME for one array, FILE:PATTERN for several.
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// Prints what files say of themselves, in place of their arrays: __metadata__ of .safetensors, keys and values of .gguf.
    #[arg(long)]
    pub metadata: bool,
    /// Prints one JSON list, an object for each array: file, format, name (null in a .npy file), dtype, shape, bytes.
    #[arg(long)]
    pub json: bool,
}

#[derive(clap::Args)]
pub struct Describe {
    /// The files, folders or indexes of shards; FILE:NAME for one array, FILE:PATTERN for several.
    #[arg(required = true)]
    pub files: Vec<PathBuf>,
    /// The variance is divided by the number of elements minus this.
    #[arg(long, alias = "ddof", default_value_t = 1.0, value_parser = values::correction, allow_hyphen_values = true)]
    pub correction: f64,
    /// best, gpu, gpu:N or cpu; best is what is expected to be sooner with what is in files.
    #[arg(long, default_value = "best")]
    pub device: Wanted,
    /// Prints all columns; without it, the count of NaNs and of infinities, min, max, mean and std, in few digits.
    #[arg(long, conflicts_with_all = ["json", "csv"])]
    pub wide: bool,
    /// Prints one JSON list, an object for each array.
    ///
    /// It has file, name (null in a .npy file), dtype, shape, and the numbers. NaN and infinities are strings, what does not exist (the
    /// min of nothing) is null. Of what was not described: error.
    #[arg(long, conflicts_with = "csv")]
    pub json: bool,
    /// Prints the same as CSV (RFC 4180), with a header.
    #[arg(long)]
    pub csv: bool,
}

#[derive(clap::Args)]
pub struct Reduce {
    /// The operator; `warpfold ops` lists all.
    ///
    /// sums: sum prod mean sumsq dot cosine; norms: l1 l2 linf lp logsumexp; extrema: min max minmax argmin argmax argminmax; spread: var
    /// std meanvar skew kurtosis; counts: count-nonzero count-nan count-inf distinct any all; bits: bit-and bit-or bit-xor. A NaN in the
    /// array makes the answer NaN, or its index, unless --nan says otherwise; it counts as not zero.
    #[arg(value_name = "OP", value_parser = crate::op::parse)]
    asked: Asked,
    /// What that comes to, with the options.
    #[arg(skip = Op::Sum)]
    pub op: Op,
    /// The array: a file of one, or FILE:NAME. Its elements are numbered in C order, as NumPy does.
    pub file: PathBuf,
    /// An axis to reduce along, the first 0 and the last -1; several with commas, or the option repeated.
    ///
    /// The elements of each answer are numbered in C order of the axes that are reduced. Without it, or as None, the whole array is
    /// reduced.
    #[arg(long = "axis", alias = "dim", value_name = "A", value_parser = values::axes, allow_hyphen_values = true)]
    axes: Vec<AxisList>,
    /// All of them.
    #[arg(skip)]
    pub axis: Vec<i64>,
    /// Keeps the reduced axes in the output, each with one index.
    #[arg(long, aliases = ["keepdims", "keep-dims"])]
    pub keepdim: bool,
    /// propagate or ignore: whether NaN makes the answer NaN or is left out.
    ///
    /// For sum, prod, mean, min, max, argmin, argmax (and the last of equals), var and std. Of NaN alone the sum is -0.0, the product 1,
    /// an index 18446744073709551615, and the rest NaN. Integers have no NaN.
    #[arg(long, value_enum, default_value_t = Nan::Propagate, value_name = "POLICY")]
    pub nan: Nan,
    /// For var, std and meanvar: the divisor is the number of elements minus this [default: 1].
    #[arg(long, alias = "ddof", value_parser = values::correction, allow_hyphen_values = true)]
    pub correction: Option<f64>,
    /// As PyTorch: true is --correction 1, false 0.
    #[arg(long, hide = true, num_args = 0..=1, default_missing_value = "true", require_equals = true, conflicts_with = "correction")]
    unbiased: Option<bool>,
    /// For lp: the power, finite and above 0.
    #[arg(long, value_parser = values::power, allow_hyphen_values = true)]
    pub ord: Option<f64>,
    /// first or last: which of equal elements argmin and argmax answer, and of NaNs.
    #[arg(long, value_enum, value_name = "WHICH")]
    pub ties: Option<Ties>,
    /// native, compensated, wide or exact: how sum and mean of floats are computed.
    ///
    /// native: pairwise, in the elements' precision or float32. compensated: in about twice the elements' precision, of float32 and
    /// float64. wide: in float64, rounded once, of float16, bfloat16 and float32. exact: rounded once, without any other error, of float32
    /// and float64. The report's op then says so: sum-exact.
    #[arg(long, value_name = "HOW", default_value = "native", hide_possible_values = true)]
    pub accuracy: Accuracy,
    /// Reduces the elements that MASK selects: an array of bool or uint8 that broadcasts to the array's shape.
    ///
    /// As NumPy's `where`; indices are those in the whole array. For all operators but minmax, argminmax, dot, cosine, distinct and the
    /// bitwise ones; --nan ignore goes with it, and for sum --accuracy. FP8 and complex numbers take none. Where nothing is selected the
    /// answers are those of --nan ignore over NaN alone, and the min and max of integers the highest and the lowest.
    #[arg(long = "where", value_name = "MASK")]
    pub mask: Option<PathBuf>,
    /// For dot and cosine: the second array, of the same type, whose shape is the first one's or broadcasts to it.
    ///
    /// Without --axis and in segments all of it is held in memory.
    #[arg(long, value_name = "FILE")]
    pub with: Option<PathBuf>,
    /// Reduces each segment: OFFSETS is an array of integers, and segment S goes from element OFFSETS[S] up to OFFSETS[S + 1].
    ///
    /// The first is 0 and the last the number of elements, in C order.
    #[arg(long, value_name = "OFFSETS", conflicts_with_all = ["axes", "keepdim", "segment_size"])]
    pub offsets: Option<PathBuf>,
    /// Reduces each segment of N elements, the last of them shorter where N does not divide the array.
    #[arg(long, value_name = "N", value_parser = values::whole(1, u64::MAX), allow_hyphen_values = true, conflicts_with_all = ["axes", "keepdim"])]
    pub segment_size: Option<u64>,
    /// The type of the answers, by NumPy's names.
    ///
    /// A float is cast to the nearest float or toward 0 to the nearest integer that there is, a wider integer to its low bits, and
    /// whatever is not 0 to true. For operators that round, a float type that is wider than the elements is what they are folded in.
    #[arg(long, value_name = "TYPE", value_parser = answers::dtype)]
    pub dtype_out: Option<DType>,
    /// As NumPy: casts the elements before they are reduced, to a float type that is wider.
    #[arg(long, hide = true, value_name = "TYPE", value_parser = answers::dtype, conflicts_with = "dtype_out")]
    pub dtype: Option<DType>,
    /// Writes the answers to a .npy, .npz or .safetensors file; - is standard output, as .npy.
    ///
    /// They are of their own type (bfloat16 and FP8 are float32 in .npy and .npz) and in C order. Two answers are a last axis of 2. The
    /// file appears, or is replaced, once it is complete.
    #[arg(long, short, value_name = "OUT")]
    pub out: Option<PathBuf>,
    /// best, gpu, gpu:N, cpu or emulator; best is what is expected to be sooner, the first GPU or the CPU.
    ///
    /// The emulator has sum, mean, min, max, argmin, argmax (and -last), l1, l2, logsumexp, var and std of float32 and float64, each of a
    /// whole array.
    #[arg(long, default_value = "best")]
    pub device: Wanted,
    /// Says what a GPU launches for the array in its memory, and how long that takes by a model.
    ///
    /// The model is `Plan::predicted_time`, of the GPU that folds, or where none does of an H200; of distinct how long at least. In JSON:
    /// plan, predicted_seconds and predicted_for.
    #[arg(long)]
    pub explain: bool,
    /// Prints one JSON object: op, device, dtype, shape, result (and value, for indices), seconds, bytes, gb_per_s.
    ///
    /// Two answers are a list. Seconds are from the program's start to the answer. NaN and infinities are strings. Along axes there are
    /// axis, dtype_out, shape_out and answers, a flat list in C order, in place of result, in segments all of these but axis; with --with
    /// its name, with --dtype-out dtype_out, with --out out; of var, std and meanvar correction.
    #[arg(long)]
    pub json: bool,
}

impl Reduce {
    /// Takes over what names and other spellings say.
    pub fn spell_out(&mut self) {
        self.op = self.asked.op;
        self.nan = self.asked.nan.unwrap_or(self.nan);
        self.axis = self.axes.iter().flat_map(|AxisList(axes)| axes).copied().collect();
        self.correction = self
            .correction
            .or(self.unbiased.map(|unbiased| f64::from(u8::from(unbiased))));
        self.dtype_out = self.dtype_out.or(self.dtype);
    }
}

/// The NaN policy.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub enum Nan {
    /// The operator says.
    Propagate,
    /// It is left out.
    Ignore,
}

/// Which of equals is answered.
#[derive(Clone, Copy, PartialEq, ValueEnum)]
pub enum Ties {
    /// The one of the lowest index.
    First,
    /// The one of the highest index.
    Last,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Accuracy {
    /// Pairwise, in the elements' precision or float32: what any other operator has.
    Native,
    /// In about twice the elements' precision: of float32 and float64.
    Compensated,
    /// In float64, rounded once: of float16, bfloat16 and float32.
    Wide,
    /// Rounded once, without any other error: of float32 and float64.
    Exact,
}
