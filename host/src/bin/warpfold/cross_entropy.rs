//! `warpfold cross-entropy`: losses of logits and targets.

use std::{fmt, path::PathBuf, time::Instant};

use serde::Serialize;
use warpfold::{
    View,
    dynamic::Target,
    files::{DType, Tensor, bf16, f16},
    layout::Layout,
    row::{self, Losses, Mapped},
};

use crate::{
    Failure,
    answers::Answers,
    device::{Device, Opened, Wanted},
    out::Out,
    reading,
    rows::{Element, not_floats},
    scalar::Scalar,
};

/// What it takes.
#[derive(clap::Args)]
pub struct Args {
    /// The logits, of float16, bfloat16 or float32: a file of one array, or FILE:NAME. Rows lie along the last axis.
    logits: PathBuf,
    /// The class of each row: an array of integers, one for each.
    #[arg(long, value_name = "T")]
    targets: PathBuf,
    /// The target of rows that are ignored.
    #[arg(long, value_name = "I", default_value_t = -100, allow_hyphen_values = true)]
    ignore_index: i64,
    /// How much of a target's probability all classes share.
    #[arg(long, value_name = "L", default_value_t = 0.0)]
    label_smoothing: f32,
    /// What the square of each log-sum-exp is multiplied by, and added.
    #[arg(long, value_name = "Z", default_value_t = 0.0)]
    z_loss: f32,
    /// Writes the loss of each row to a .npy file, of float32. The file appears, or is replaced, once it is complete.
    #[arg(long, value_name = "LOSS.npy")]
    out: PathBuf,
    /// best, gpu, gpu:N or cpu. Best is the first GPU if one can be used, else the CPU. The bits are the same.
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
        let Self { rows, ignored, .. } = self;
        write!(f, "{rows} losses of {}, {ignored} of them ignored", self.dtype)?;
        if let Some(mean) = &self.mean_loss {
            write!(f, ", mean {mean}")?;
        }
        write!(
            f,
            ", on {} in {:.3} s: float32 in {}",
            self.device,
            self.seconds,
            self.out.display()
        )
    }
}

impl Args {
    /// Reads, computes and writes.
    pub fn run(&self) -> Result<Report, Failure> {
        let (path, array) = reading::open(&self.logits)?;
        let (of_targets, targets) = reading::open(&self.targets)?;
        let inputs = [("the logits", &*path), ("the array of --targets", &*of_targets)];
        let out = Out::new(&self.out, &inputs)?;
        let targets = integers(&targets)?;
        match array.dtype() {
            DType::F32 => self.losses::<f32>(&array, &targets, &out),
            DType::F16 => self.losses::<f16>(&array, &targets, &out),
            DType::Bf16 => self.losses::<bf16>(&array, &targets, &out),
            _ => Err(not_floats(&array)),
        }
    }

    fn losses<T: Element>(&self, array: &Tensor, targets: &[i64], out: &Out) -> Result<Report, Failure> {
        let loss = row::cross_entropy(targets)
            .ignore_index(self.ignore_index)
            .label_smoothing(self.label_smoothing)
            .z_loss(self.z_loss);
        // What is wrong with the operation is told before anything is read.
        loss.check(&Layout::c_order(array.shape())?)?;
        let device = Opened::wanted(self.device, || Device::named(Wanted::Gpu(0)))?.told();
        let target = device.folding("the emulator has no row operations: --device cpu gives the same bits")?;
        let start = Instant::now();
        let (values, layout) = reading::in_place::<T>(array)?;
        let view = View::new(&values, &layout)?;
        let mapped: Mapped<f32, Losses> = match target {
            Target::Cpu => loss.on_cpu(view)?,
            #[cfg(feature = "cuda")]
            Target::Gpu(gpu) => loss.on(gpu, view)?,
        };
        let losses = mapped.known.loss;
        let seconds = start.elapsed().as_secs_f64();
        let ignored = targets.iter().filter(|target| **target == self.ignore_index).count();
        let counted = losses.len() - ignored;
        let sum: f64 = losses.iter().map(|loss| f64::from(*loss)).sum();
        let shape = array.shape();
        out.write(&Answers {
            dtype: DType::F32,
            shape: shape[..shape.len().saturating_sub(1)].to_vec(),
            bytes: bytemuck::cast_slice(&losses).to_vec(),
        })?;
        Ok(Report {
            device: device.name(),
            dtype: array.dtype().name(),
            shape: shape.to_vec(),
            rows: losses.len(),
            ignored,
            mean_loss: (counted > 0).then(|| (sum / counted as f64).into()),
            out: self.out.clone(),
            seconds,
            json: self.json,
        })
    }
}

/// Targets of any type of integers that i64 holds.
fn integers(array: &Tensor) -> Result<Vec<i64>, Failure> {
    macro_rules! read {
        ($($dtype:ident: $number:ident)*) => {
            match array.dtype() {
                $(DType::$dtype => Ok(reading::in_order::<$number>(array)?.into_iter().map(i64::from).collect()),)*
                _ => Err(format!(
                    "{} is of {}, and targets are of int8 to int64, or uint8 to uint32",
                    array.label().display(),
                    array.dtype_name()
                )
                .into()),
            }
        };
    }
    read!(I64: i64 I32: i32 I16: i16 I8: i8 U8: u8 U16: u16 U32: u32)
}
