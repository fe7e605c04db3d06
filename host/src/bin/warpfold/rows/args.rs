//! What each row operation takes on the command line.

use std::path::PathBuf;

#[cfg(feature = "cuda")]
use warpfold::dynamic::Target;
use warpfold::{
    Error, View,
    files::{DType, Tensor},
    row::{self, AllMasked, DoubleNorm, HasBiases, Operation, Row, Scales},
};

use super::{Common, Job, Report, SecondFile, axis_of, operands::ColumnFile};
use crate::{Failure, device::Device, named::Named, out::Input, values};

/// `warpfold softmax` and `warpfold log-softmax`.
#[derive(clap::Args)]
pub struct SoftmaxArgs {
    #[command(flatten)]
    common: Common,
    /// The factor of all elements: 0, or a number of magnitude 2^-100 to 2^100.
    #[arg(long, default_value_t = 1.0, value_parser = values::scale, allow_hyphen_values = true)]
    scale: f32,
    /// The same as --scale 1/T.
    #[arg(long, value_name = "T", hide = true, value_parser = values::temperature, allow_hyphen_values = true, conflicts_with = "scale")]
    temperature: Option<f32>,
    /// Of the last two axes, T rows of S columns, row R sees the columns up to R + S - T: aligned to the lower right.
    #[arg(long)]
    causal: bool,
    /// An array of bool or uint8 that broadcasts to the array's shape: where it is 0 an element is not visible, whatever it is.
    #[arg(long, value_name = "M")]
    mask: Option<PathBuf>,
    /// For softmax: a row of which nothing is visible, or which is all -inf, is zeros, and not NaN.
    #[arg(long)]
    zero_if_masked: bool,
}

/// `warpfold layer-norm`.
#[derive(clap::Args)]
pub struct LayerNormArgs {
    #[command(flatten)]
    common: Common,
    #[command(flatten)]
    columns: ColumnFiles,
    /// Is added to the variance.
    #[arg(long, alias = "epsilon", default_value_t = 1e-5, value_parser = values::above_0, allow_hyphen_values = true)]
    eps: f32,
}

/// `warpfold group-norm`.
#[derive(clap::Args)]
pub struct GroupNormArgs {
    #[command(flatten)]
    common: Common,
    /// How many groups the channels are in, axis 1 of the array: as many as channels for instance norm.
    #[arg(long, value_name = "G", value_parser = values::whole(1, u64::MAX), allow_hyphen_values = true)]
    groups: u64,
    #[command(flatten)]
    columns: ColumnFiles,
    /// Is added to the variance.
    #[arg(long, alias = "epsilon", default_value_t = 1e-5, value_parser = values::above_0, allow_hyphen_values = true)]
    eps: f32,
}

/// Weights and biases.
#[derive(clap::Args)]
struct ColumnFiles {
    /// A weight for each element of a row (group norm: for each channel), of float16, bfloat16 or float32; or what broadcasts to that.
    #[arg(long, value_name = "W")]
    weight: Option<PathBuf>,
    /// A bias for each of them.
    #[arg(long, value_name = "B")]
    bias: Option<PathBuf>,
}

/// `warpfold rms-norm`.
#[derive(clap::Args)]
pub struct RmsNormArgs {
    #[command(flatten)]
    common: Common,
    /// A weight for each element of a row, of float16, bfloat16 or float32; or what broadcasts to that.
    #[arg(long, value_name = "W")]
    weight: Option<PathBuf>,
    /// Adds 1 to each weight.
    #[arg(long, requires = "weight")]
    one_plus_weight: bool,
    /// An array of the input's type that broadcasts to its shape and is added to it first; each sum is rounded to that type.
    #[arg(long, value_name = "R")]
    residual: Option<PathBuf>,
    /// Writes the sums with the residual to a file, as --out does.
    #[arg(long, value_name = "SUM", requires = "residual")]
    sum_out: Option<PathBuf>,
    /// Is added to the mean of squares.
    #[arg(long, alias = "epsilon", default_value_t = 1e-6, value_parser = values::above_0, allow_hyphen_values = true)]
    eps: f32,
}

impl SoftmaxArgs {
    /// Softmax of each row.
    pub fn softmax(&self) -> Result<Report, Failure> {
        let masked = if self.zero_if_masked {
            AllMasked::Zero
        } else {
            AllMasked::Nan
        };
        self.run("softmax", row::softmax().all_masked(masked))
    }

    /// Its logarithm.
    pub fn log_softmax(&self) -> Result<Report, Failure> {
        if self.zero_if_masked {
            return Err("--zero-if-masked is of softmax: the logarithm of zeros is no zero".into());
        }
        self.run("log-softmax", row::log_softmax())
    }

    fn run<Op: Scales<Known: Send> + Sync>(&self, name: &'static str, row: Row<'_, Op>) -> Result<Report, Failure> {
        let (path, array) = self.common.open()?;
        let row = row.scale(self.temperature.map_or(self.scale, |temperature| 1.0 / temperature));
        let row = if self.causal { row.causal() } else { row };
        let second = match &self.mask {
            None => SecondFile::None,
            Some(mask) => {
                let named = Named::open("--mask", mask)?;
                named.check_type(&[DType::Bool, DType::U8], "masks are")?;
                SecondFile::Mask(named, |row: Row<'_, Op>, mask| row.mask(mask))
            }
        };
        let inputs: Vec<Input<'_>> = second.input().into_iter().collect();
        let (out, sums) = self.common.outs(None, &path, &inputs)?;
        Job {
            common: &self.common,
            name,
            array: &array,
            row,
            // A row sees as many columns as it sees of the whole matrix.
            at: |row, part| match row.causal_offset() {
                None => row,
                Some(offset) => row.causal_by(offset - part.after as i64),
            },
            second,
            double: None,
            out,
            sums,
        }
        .run()
    }
}

impl ColumnFiles {
    /// Those of the rows of an array.
    fn read(&self, array: &Tensor, axis: usize) -> Result<[Option<ColumnFile>; 2], Failure> {
        let read = |option, file: &Option<PathBuf>| {
            let file = file.as_deref();
            file.map(|file| ColumnFile::read(option, file, array.shape(), axis))
                .transpose()
        };
        Ok([read("--weight", &self.weight)?, read("--bias", &self.bias)?])
    }

    /// A norm with them.
    fn norm<Op: HasBiases + Operation<Known: Send> + DoubleNorm + Sync>(
        &self,
        name: &'static str,
        common: &Common,
        row: Row<'_, Op>,
    ) -> Result<Report, Failure> {
        let (path, array) = common.open()?;
        let columns = self.read(&array, axis_of(&array, common.axis())?)?;
        let [weight, bias] = &columns;
        let row = weight.iter().fold(row, |row, weight| row.weight(weight.floats()));
        let row = bias.iter().fold(row, |row, bias| row.bias(bias.floats()));
        let inputs: Vec<Input<'_>> = columns.iter().flatten().map(|column| column.named.input()).collect();
        let (out, sums) = common.outs(None, &path, &inputs)?;
        Job {
            common,
            name,
            array: &array,
            row,
            at: |row, _| row,
            second: SecondFile::None,
            double: Some(double),
            out,
            sums,
        }
        .run()
    }
}

/// A norm of float64: its answers, and sums with a residual.
fn double<Op: DoubleNorm>(
    device: &Device,
    row: Row<'_, Op>,
    view: View<'_, f64>,
) -> Result<(Vec<f64>, Option<Vec<f64>>), Error> {
    let mapped = match device {
        #[cfg(feature = "cuda")]
        Device::Folding(Target::Gpu(gpu)) => row.on_f64(gpu, view)?,
        _ => row.on_cpu_f64(view)?,
    };
    Ok((mapped.values, mapped.sums))
}

impl LayerNormArgs {
    /// Layer norm of each row.
    pub fn run(&self) -> Result<Report, Failure> {
        self.columns.norm("layer-norm", &self.common, row::layer_norm(self.eps))
    }
}

impl GroupNormArgs {
    /// Group norm of each group of channels.
    pub fn run(&self) -> Result<Report, Failure> {
        if self.common.axis.is_some() {
            return Err("--axis is of other operations: those of group norm are channels, which are axis 1".into());
        }
        let common = Common {
            axis: Some(1),
            ..self.common.clone()
        };
        self.columns
            .norm("group-norm", &common, row::group_norm(self.groups, self.eps))
    }
}

impl RmsNormArgs {
    /// Root-mean-square norm of each row.
    pub fn run(&self) -> Result<Report, Failure> {
        let (path, array) = self.common.open()?;
        let axis = axis_of(&array, self.common.axis())?;
        let weight = self.weight.as_deref();
        let weight = weight
            .map(|file| ColumnFile::read("--weight", file, array.shape(), axis))
            .transpose()?;
        let row = row::rms_norm(self.eps);
        let row = weight.iter().fold(row, |row, weight| row.weight(weight.floats()));
        let row = if self.one_plus_weight {
            row.one_plus_weight()
        } else {
            row
        };
        let second = match &self.residual {
            None => SecondFile::None,
            Some(residual) => SecondFile::Residual(
                Named::open("--residual", residual)?,
                |row: Row<'_, row::RmsNorm>, residual| row.residual(residual),
            ),
        };
        let inputs = weight.iter().map(|weight| weight.named.input()).chain(second.input());
        let inputs: Vec<Input<'_>> = inputs.collect();
        let (out, sums) = self.common.outs(self.sum_out.as_deref(), &path, &inputs)?;
        Job {
            common: &self.common,
            name: "rms-norm",
            array: &array,
            row,
            at: |row, _| row,
            second,
            double: Some(double),
            out,
            sums,
        }
        .run()
    }
}
