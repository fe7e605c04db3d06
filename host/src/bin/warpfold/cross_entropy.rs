//! `warpfold cross-entropy`: losses of logits and targets.

use std::{fmt, path::PathBuf};

use serde::Serialize;
use warpfold::{
    View,
    files::{DType, Tensor, bf16, f16},
    layout::Layout,
    row::{self, CrossEntropy, Row, RowElement},
};

use crate::{
    Failure, clock,
    device::Wanted,
    named::Named,
    out::Out,
    reading,
    report::tuple,
    rows::{Element, FileRows, RowRange, SecondFile, device, in_file, not_floats, on_device},
    scalar::Scalar,
    shown::Shown,
    values,
};

/// What it takes.
#[derive(clap::Args)]
pub struct Args {
    /// The logits, of float16, bfloat16 or float32: a file of one array, or FILE:NAME. Rows are along the last axis.
    logits: PathBuf,
    /// The class of each row: an array of integers of the logits' shape without its last axis, or what broadcasts to that.
    #[arg(long, value_name = "T")]
    targets: PathBuf,
    /// The target of rows that are ignored.
    #[arg(long, value_name = "I", default_value_t = -100, allow_hyphen_values = true)]
    ignore_index: i64,
    /// How much of a target's probability all classes share: 0 to 1.
    #[arg(long, value_name = "L", default_value_t = 0.0, value_parser = values::share, allow_hyphen_values = true)]
    label_smoothing: f32,
    /// The factor of the square of each log-sum-exp, which is added: 0 or more.
    #[arg(long, value_name = "Z", default_value_t = 0.0, value_parser = values::at_least_0, allow_hyphen_values = true)]
    z_loss: f32,
    /// Writes the loss of each row to a .npy, .npz or .safetensors file, of float32; - is standard output, as .npy.
    ///
    /// The file appears, or is replaced, once it is complete.
    #[arg(long, short, value_name = "LOSS")]
    out: PathBuf,
    /// best, gpu, gpu:N or cpu; best is the CPU, which is sooner with what is in files. The bits are the same.
    #[arg(long, default_value = "best")]
    device: Wanted,
    /// Prints one JSON object: device, dtype, shape, rows, ignored, mean_loss, out, seconds.
    #[arg(long)]
    json: bool,
}

/// What was done.
#[derive(Serialize)]
pub struct Report {
    device: String,
    dtype: &'static str,
    shape: Vec<u64>,
    rows: usize,
    ignored: usize,
    /// Of the rows that are not ignored; none of none.
    mean_loss: Option<Scalar>,
    out: String,
    seconds: f64,
    #[serde(skip)]
    file: String,
    #[serde(skip)]
    json: bool,
    /// Standard output has the losses, so the report goes elsewhere.
    #[serde(skip)]
    pub to_stderr: bool,
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.json {
            let json = serde_json::to_string(self).map_err(|_| fmt::Error)?;
            return f.write_str(&json);
        }
        let Self { rows, ignored, .. } = self;
        if let Some(mean) = &self.mean_loss {
            write!(f, "{mean}  mean of ")?;
        }
        write!(
            f,
            "{rows} losses of {}: {} {}, {ignored} ignored, in {:.3} s, on {}\nwritten to {} as float32",
            Shown(&self.file),
            self.dtype,
            tuple(&self.shape),
            self.seconds,
            self.device,
            Shown(&self.out)
        )
    }
}

impl Args {
    /// Reads, computes and writes.
    pub fn run(&self) -> Result<Report, Failure> {
        let (path, array) = reading::open(&self.logits)?;
        let targets = Named::open("--targets", &self.targets)?;
        let out = Out::new(&self.out, &[("the logits".into(), &path), targets.input()])?;
        let Some((_, shape)) = array.shape().split_last() else {
            return Err(in_file(
                &array,
                "logits have an axis of classes, and this array has no axis",
            ));
        };
        let of = format!("the shape of the rows of {}", array.label().display());
        let targets = integers(&targets, shape, &of)?;
        match array.dtype() {
            DType::F32 => self.losses::<f32>(&array, &targets, &out),
            DType::F16 => self.losses::<f16>(&array, &targets, &out),
            DType::Bf16 => self.losses::<bf16>(&array, &targets, &out),
            _ => Err(not_floats(&array)),
        }
    }

    fn row<'a>(&self, targets: &'a [i64]) -> Row<'a, CrossEntropy> {
        row::cross_entropy(targets)
            .ignore_index(self.ignore_index)
            .label_smoothing(self.label_smoothing)
            .z_loss(self.z_loss)
    }

    fn losses<T: Element + RowElement>(&self, array: &Tensor, targets: &[i64], out: &Out) -> Result<Report, Failure> {
        // What is wrong with the operation is told before anything is read.
        let check = self.row(targets).check(&Layout::c_order(array.shape())?);
        check.map_err(|error| in_file(array, error))?;
        let device = device(self.device)?;
        let shape = array.shape();
        let mut writer = out.begin(DType::F32, &shape[..shape.len() - 1], array.name())?;
        let mut sum = 0.0_f64;
        let of_part = |RowRange { rows, .. }: RowRange| self.row(&targets[rows]);
        let mapping =
            |row: Row<'_, CrossEntropy>, view: View<'_, T>| on_device::<T, f32, CrossEntropy>(&device, row, view);
        FileRows::new(array, -1, &device)?.map::<T, _, CrossEntropy>(
            &of_part,
            &SecondFile::None,
            &mapping,
            &mut |mapped| {
                let losses = &mapped.known.loss;
                // One after the other, whatever the pieces.
                losses.iter().for_each(|loss| sum += f64::from(*loss));
                writer.push(bytemuck::cast_slice(losses))
            },
        )?;
        writer.finish()?;
        let ignored = targets.iter().filter(|target| **target == self.ignore_index).count();
        let counted = targets.len() - ignored;
        Ok(Report {
            device: device.name(),
            dtype: array.dtype().name(),
            shape: shape.to_vec(),
            rows: targets.len(),
            ignored,
            mean_loss: (counted > 0).then(|| (sum / counted as f64).into()),
            out: out.label(),
            seconds: clock::seconds(),
            file: self.logits.display().to_string(),
            json: self.json,
            to_stderr: out.is_stdout(),
        })
    }
}

/// Targets of any type of integers that i64 holds, one for each row.
fn integers(targets: &Named, shape: &[u64], of: &str) -> Result<Vec<i64>, Failure> {
    macro_rules! read {
        ($($dtype:ident: $number:ident)*) => {
            match targets.tensor.dtype() {
                $(DType::$dtype => Ok(targets.elements::<$number>(shape, of)?.into_iter().map(i64::from).collect()),)*
                _ => Err(format!(
                    "{} is of {}, and targets are of int8 to int64, or uint8 to uint32",
                    targets.label(),
                    targets.tensor.dtype_name()
                )
                .into()),
            }
        };
    }
    read!(I64: i64 I32: i32 I16: i16 I8: i8 U8: u8 U16: u16 U32: u32)
}
