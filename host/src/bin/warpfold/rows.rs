//! `warpfold softmax` and its kin: row operations of an array of a file, written to another.

use std::{
    fmt::{self, Write as _},
    path::{Path, PathBuf},
    time::Instant,
};

use bytemuck::Pod;
use serde::Serialize;
use warpfold::{
    View,
    dynamic::Target,
    files::{DType, Tensor, bf16, f16},
    layout::Layout,
    row::{self, AllMasked, FloatVec, Floats, HasBiases, Mapped, Operand, Operation, Row, RowElement, Scales},
};

use crate::{
    Failure,
    answers::{Answer, Answers},
    device::{Device, Opened, Wanted},
    out::{Input, Out},
    reading,
};

/// What every row operation takes.
#[derive(clap::Args, Clone)]
pub struct Common {
    /// The array, of float16, bfloat16 or float32: a file of one, or FILE:NAME.
    file: PathBuf,
    /// The axis that rows lie along, the first of them 0 and the last -1; the last, if none is given.
    #[arg(long, value_name = "A", allow_hyphen_values = true)]
    axis: Option<i64>,
    /// Writes the answers to a .npy file, in C order and of the array's type; bfloat16, which NumPy does not have, as float32. The file appears, or is replaced, once it is
    /// complete.
    #[arg(long, value_name = "OUT.npy")]
    out: PathBuf,
    /// The type of the answers: float16 or float32. Each is computed in float32, and rounded once.
    #[arg(long, value_name = "TYPE", value_parser = float)]
    dtype_out: Option<DType>,
    /// best, gpu, gpu:N or cpu. Best is the first GPU if one can be used, else the CPU. The bits are the same.
    #[arg(long, default_value = "best")]
    device: Wanted,
    /// Prints one JSON object: op, device, dtype, shape, axis, dtype_out, out, seconds.
    #[arg(long)]
    json: bool,
}

/// `warpfold softmax` and `warpfold log-softmax`.
#[derive(clap::Args)]
pub struct Exponentials {
    #[command(flatten)]
    common: Common,
    /// What elements are multiplied by first: of a temperature its reciprocal.
    #[arg(long, default_value_t = 1.0, allow_hyphen_values = true)]
    scale: f32,
    /// Of the last two axes, T rows of S columns, row R sees the columns up to R + S - T: aligned to the lower right.
    #[arg(long)]
    causal: bool,
    /// An array of bool or uint8 that broadcasts to the array's shape: where it is 0 an element is not visible, whatever it is.
    #[arg(long, value_name = "M")]
    mask: Option<PathBuf>,
    /// A row of which nothing is visible, or which is all -inf, is zeros, and not NaN: of softmax.
    #[arg(long)]
    zero_if_masked: bool,
}

/// `warpfold layer-norm`.
#[derive(clap::Args)]
pub struct LayerNorm {
    #[command(flatten)]
    common: Common,
    /// An array of a weight for each column, of float16, bfloat16 or float32.
    #[arg(long, value_name = "W")]
    weight: Option<PathBuf>,
    /// An array of a bias for each column.
    #[arg(long, value_name = "B")]
    bias: Option<PathBuf>,
    /// What is added to the variance.
    #[arg(long, default_value_t = 1e-5, allow_hyphen_values = true)]
    eps: f32,
}

/// `warpfold group-norm`.
#[derive(clap::Args)]
pub struct GroupNorm {
    #[command(flatten)]
    common: Common,
    /// How many groups the channels are in, axis 1 of the array: as many as channels for instance norm.
    #[arg(long, value_name = "G")]
    groups: u64,
    /// An array of a weight for each channel, of float16, bfloat16 or float32.
    #[arg(long, value_name = "W")]
    weight: Option<PathBuf>,
    /// An array of a bias for each channel.
    #[arg(long, value_name = "B")]
    bias: Option<PathBuf>,
    /// What is added to the variance.
    #[arg(long, default_value_t = 1e-5, allow_hyphen_values = true)]
    eps: f32,
}

/// `warpfold rms-norm`.
#[derive(clap::Args)]
pub struct RmsNorm {
    #[command(flatten)]
    common: Common,
    /// An array of a weight for each column, of float16, bfloat16 or float32.
    #[arg(long, value_name = "W")]
    weight: Option<PathBuf>,
    /// Adds 1 to each weight.
    #[arg(long, requires = "weight")]
    one_plus_weight: bool,
    /// An array of the input's type and shape that is added to it first; each sum is rounded to that type.
    #[arg(long, value_name = "R")]
    residual: Option<PathBuf>,
    /// Writes the sums with the residual to a .npy file, as the answers are.
    #[arg(long, value_name = "SUM.npy", requires = "residual")]
    sum_out: Option<PathBuf>,
    /// What is added to the mean of squares.
    #[arg(long, default_value_t = 1e-6, allow_hyphen_values = true)]
    eps: f32,
}

/// What was done.
#[derive(Serialize)]
pub struct Report {
    op: &'static str,
    device: String,
    dtype: &'static str,
    shape: Vec<u64>,
    axis: i64,
    dtype_out: &'static str,
    out: PathBuf,
    seconds: f64,
    #[serde(skip)]
    json: bool,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.json {
            let json = serde_json::to_string(self).map_err(|_| fmt::Error)?;
            return f.write_str(&json);
        }
        let mut shape = String::new();
        for (i, size) in self.shape.iter().enumerate() {
            write!(shape, "{}{size}", if i == 0 { "" } else { " x " })?;
        }
        write!(
            f,
            "{} of {} {shape} along axis {}, on {} in {:.3} s: {} in {}",
            self.op,
            self.dtype,
            self.axis,
            self.device,
            self.seconds,
            self.dtype_out,
            self.out.display()
        )
    }
}

/// A type that row operations answer in.
fn float(name: &str) -> Result<DType, String> {
    let dtypes = [DType::F16, DType::F32];
    let found = dtypes.into_iter().find(|dtype| dtype.name() == name);
    found.ok_or_else(|| format!("it is none of {}", dtypes.map(DType::name).join(", ")))
}

impl Exponentials {
    /// Softmax of each row.
    pub fn softmax(&self) -> Result<Report, Failure> {
        let masked = if self.zero_if_masked {
            AllMasked::Zero
        } else {
            AllMasked::Nan
        };
        self.run(row::softmax().scale(self.scale).all_masked(masked))
    }

    fn run<Op: Scales>(&self, row: Row<'_, Op>) -> Result<Report, Failure> {
        let row = if self.causal { row.causal() } else { row };
        let Some(mask) = &self.mask else {
            return self.common.run(row, &[]);
        };
        let (path, array) = reading::open(mask)?;
        let inputs = [("the mask of --mask", &*path)];
        match array.dtype() {
            DType::Bool | DType::U8 => {
                let (values, layout) = reading::in_place::<u8>(&array)?;
                self.common.run(row.mask(View::new(&values, &layout)?), &inputs)
            }
            _ => Err(format!(
                "{} is of {}, and a mask is of bool or uint8",
                array.label().display(),
                array.dtype_name()
            )
            .into()),
        }
    }

    /// Its logarithm.
    pub fn log_softmax(&self) -> Result<Report, Failure> {
        if self.zero_if_masked {
            return Err("--zero-if-masked is of softmax: the logarithm of zeros is no zero".into());
        }
        self.run(row::log_softmax().scale(self.scale))
    }
}

impl LayerNorm {
    /// Layer norm of each row.
    pub fn run(&self) -> Result<Report, Failure> {
        self.common.norm(row::layer_norm(self.eps), [&self.weight, &self.bias])
    }
}

impl GroupNorm {
    /// Group norm of each group of channels.
    pub fn run(&self) -> Result<Report, Failure> {
        if self.common.axis.is_some() {
            return Err("--axis is of other operations: those of group norm are channels, which are axis 1".into());
        }
        let common = Common {
            axis: Some(1),
            ..self.common.clone()
        };
        common.norm(row::group_norm(self.groups, self.eps), [&self.weight, &self.bias])
    }
}

impl RmsNorm {
    /// Root-mean-square norm of each row.
    pub fn run(&self) -> Result<Report, Failure> {
        let weight = self.weight.as_deref().map(Column::read).transpose()?;
        let mut row = row::rms_norm(self.eps);
        if let Some(weight) = &weight {
            row = row.weight(weight.floats());
        }
        if self.one_plus_weight {
            row = row.one_plus_weight();
        }
        let residual = self.residual.as_deref().map(Column::read).transpose()?;
        if let Some(residual) = &residual {
            row = row.residual(residual.operand()?);
        }
        let inputs = [
            ("the array of --weight", &weight),
            ("the array of --residual", &residual),
        ];
        let mut inputs = paths(&inputs);
        if let Some(sum_out) = &self.sum_out {
            inputs.push(("the file of --sum-out", sum_out));
        }
        self.common.run_with_sums(row, &inputs, self.sum_out.as_deref())
    }
}

/// The files of those arrays that there are.
fn paths<'a>(columns: &[(&'static str, &'a Option<Column>)]) -> Vec<Input<'a>> {
    let path = |(what, column): &(&'static str, &'a Option<Column>)| {
        let column = column.as_ref()?;
        Some((*what, &*column.path))
    };
    columns.iter().filter_map(path).collect()
}

/// Weights, biases or a residual.
struct Column {
    path: PathBuf,
    shape: Vec<u64>,
    values: Values,
}

enum Values {
    F32(Vec<f32>),
    F16(Vec<f16>),
    Bf16(Vec<bf16>),
}

impl Column {
    fn read(file: &Path) -> Result<Self, Failure> {
        let (path, array) = reading::open(file)?;
        let values = match array.dtype() {
            DType::F32 => Values::F32(reading::in_order(&array)?),
            DType::F16 => Values::F16(reading::in_order(&array)?),
            DType::Bf16 => Values::Bf16(reading::in_order(&array)?),
            _ => return Err(not_floats(&array)),
        };
        let shape = array.shape().to_vec();
        Ok(Self { path, shape, values })
    }

    /// As another array, of its shape.
    fn operand(&self) -> Result<Operand<'_>, Failure> {
        let layout = Layout::c_order(&self.shape)?;
        Ok(match &self.values {
            Values::F32(values) => View::new(values, &layout)?.into(),
            Values::F16(values) => View::new(values, &layout)?.into(),
            Values::Bf16(values) => View::new(values, &layout)?.into(),
        })
    }

    fn floats(&self) -> Floats<'_> {
        match &self.values {
            Values::F32(values) => values.into(),
            Values::F16(values) => values.into(),
            Values::Bf16(values) => values.into(),
        }
    }
}

pub fn not_floats(array: &Tensor) -> Failure {
    format!(
        "{} is of {}, and row operations are of float16, bfloat16 and float32",
        array.label().display(),
        array.dtype_name()
    )
    .into()
}

/// Elements that are read, and answers that are written.
pub trait Element: RowElement + Answer + Pod + reading::Read {}

impl<T: RowElement + Answer + Pod + reading::Read> Element for T {}

/// Where answers go, and sums with a residual.
struct Outs {
    answers: Out,
    sums: Option<Out>,
}

/// Sums with a residual, as they are written.
fn sums_of(sums: FloatVec, shape: &[u64]) -> Answers {
    let (dtype, bytes) = match &sums {
        FloatVec::F32(sums) => (DType::F32, bytemuck::cast_slice(sums).to_vec()),
        FloatVec::F16(sums) => (DType::F16, bytemuck::cast_slice(sums).to_vec()),
        FloatVec::Bf16(sums) => (DType::Bf16, bytemuck::cast_slice(sums).to_vec()),
    };
    let shape = shape.to_vec();
    Answers { dtype, shape, bytes }
}

impl Common {
    /// The axis that rows lie along.
    fn axis(&self) -> i64 {
        self.axis.unwrap_or(-1)
    }

    /// A norm with the weights and the biases of files, if there are any.
    fn norm<Op: HasBiases>(&self, row: Row<'_, Op>, files: [&Option<PathBuf>; 2]) -> Result<Report, Failure> {
        let read = |file: &Option<PathBuf>| file.as_deref().map(Column::read).transpose();
        let (weight, bias) = (read(files[0])?, read(files[1])?);
        let mut row = row;
        if let Some(weight) = &weight {
            row = row.weight(weight.floats());
        }
        if let Some(bias) = &bias {
            row = row.bias(bias.floats());
        }
        let inputs = [("the array of --weight", &weight), ("the array of --bias", &bias)];
        self.run(row, &paths(&inputs))
    }

    fn run<Op: Operation>(&self, row: Row<'_, Op>, others: &[Input<'_>]) -> Result<Report, Failure> {
        self.run_with_sums(row, others, None)
    }

    /// The same, with sums with a residual to be written.
    fn run_with_sums<Op: Operation>(
        &self,
        row: Row<'_, Op>,
        others: &[Input<'_>],
        sums: Option<&Path>,
    ) -> Result<Report, Failure> {
        let (path, array) = reading::open(&self.file)?;
        let inputs: Vec<Input<'_>> = [("the input", &*path)]
            .into_iter()
            .chain(others.iter().copied())
            .collect();
        let outs = Outs {
            answers: Out::new(&self.out, &inputs)?,
            sums: sums
                .map(|sums| Out::new(sums, &inputs[..inputs.len() - 1]))
                .transpose()?,
        };
        if outs.sums.as_ref().is_some_and(|sums| sums.is(&outs.answers)) {
            return Err("--out and --sum-out are one file".into());
        }
        let row = row.axis(self.axis());
        match array.dtype() {
            DType::F32 => self.map::<f32, _>(row, &array, &outs),
            DType::F16 => self.map::<f16, _>(row, &array, &outs),
            DType::Bf16 => self.map::<bf16, _>(row, &array, &outs),
            _ => Err(not_floats(&array)),
        }
    }

    fn map<T: Element, Op: Operation>(&self, row: Row<'_, Op>, array: &Tensor, out: &Outs) -> Result<Report, Failure> {
        match self.dtype_out {
            Some(DType::F16) => self.map_to::<T, f16, Op>(row, array, out),
            Some(_) => self.map_to::<T, f32, Op>(row, array, out),
            None => self.map_to::<T, T, Op>(row, array, out),
        }
    }

    fn map_to<T: Element, U: Element, Op: Operation>(
        &self,
        row: Row<'_, Op>,
        array: &Tensor,
        out: &Outs,
    ) -> Result<Report, Failure> {
        out.answers.check(array.shape().len())?;
        // What is wrong with the operation is told before anything is read.
        row.check(&Layout::c_order(array.shape())?)?;
        let device = Opened::wanted(self.device, || Device::named(Wanted::Gpu(0)))?.told();
        let target = device.folding("the emulator has no row operations: --device cpu gives the same bits")?;
        let start = Instant::now();
        let (values, layout) = reading::in_place::<T>(array)?;
        let view = View::new(&values, &layout)?;
        let mapped: Mapped<U, Op::Known> = match target {
            Target::Cpu => row.on_cpu(view)?,
            #[cfg(feature = "cuda")]
            Target::Gpu(gpu) => row.on(gpu, view)?,
        };
        let seconds = start.elapsed().as_secs_f64();
        if let (Some(out), Some(sums)) = (&out.sums, mapped.sums) {
            out.write(&sums_of(sums, &mapped.shape))?;
        }
        let answers = Answers {
            dtype: <U as Answer>::DTYPE,
            shape: mapped.shape,
            bytes: bytemuck::cast_slice(&mapped.values).to_vec(),
        };
        let dtype_out = out.answers.write(&answers)?;
        Ok(Report {
            op: Op::NAME,
            device: device.name(),
            dtype: array.dtype().name(),
            shape: answers.shape,
            axis: self.axis(),
            dtype_out: dtype_out.name(),
            out: self.out.clone(),
            seconds,
            json: self.json,
        })
    }
}
