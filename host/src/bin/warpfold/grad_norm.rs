//! `warpfold grad-norm`: the norm of the arrays of files, all of them taken as one vector.

use std::{fmt, path::PathBuf, time::Instant};

use serde::Serialize;
use warpfold::{
    Error,
    dynamic::Target,
    files::{DType, Tensor, TensorFile, bf16, f16},
    gradients::{Floats, GradNorm, Order, TotalNorm, grad_norm},
};

use crate::{
    Failure,
    device::{Device, Opened, Wanted},
    reading,
    scalar::Scalar,
};

/// `warpfold grad-norm`.
#[derive(clap::Args)]
pub struct Args {
    /// The arrays, of float16, bfloat16 or float32: files, all of whose arrays count, in the files' own order; FILE:NAME for one array of a file.
    #[arg(required = true, value_name = "FILE[:NAME]")]
    files: Vec<PathBuf>,
    /// The order of the norm: 2, inf, or any number of 1 or more.
    #[arg(long, value_name = "P", default_value = "2", value_parser = order, allow_hyphen_values = true)]
    ord: f64,
    /// best, gpu, gpu:N or cpu. Best is the first GPU if one can be used, else the CPU. The bits are the same.
    #[arg(long, default_value = "best")]
    device: Wanted,
    /// Prints one JSON object: op, ord, device, norm, tensors, elements, not_finite, seconds. A norm that is NaN or infinite is a string, and so is an infinite ord.
    #[arg(long)]
    json: bool,
}

/// An order.
fn order(text: &str) -> Result<f64, String> {
    let p: f64 = text.parse().map_err(|_| "it is no number")?;
    if p >= 1.0 {
        Ok(p)
    } else {
        Err("it must be 1 or more, or inf".into())
    }
}

/// What was found.
#[derive(Serialize)]
pub struct Report {
    op: &'static str,
    ord: Scalar,
    device: String,
    norm: Scalar,
    tensors: usize,
    elements: u64,
    not_finite: u64,
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
        let of = |count: u64, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
        write!(
            f,
            "{}\nthe norm of order {} of {} of {}, {} of them not finite, on {} in {:.3} s",
            self.norm,
            self.ord,
            of(self.elements, "element"),
            of(self.tensors as u64, "tensor"),
            self.not_finite,
            self.device,
            self.seconds,
        )
    }
}

/// The elements of an array.
enum Values {
    F32(Vec<f32>),
    F16(Vec<f16>),
    Bf16(Vec<bf16>),
}

impl Values {
    fn read(array: &Tensor) -> Result<Self, Failure> {
        Ok(match array.dtype() {
            DType::F32 => Self::F32(reading::in_order(array)?),
            DType::F16 => Self::F16(reading::in_order(array)?),
            DType::Bf16 => Self::Bf16(reading::in_order(array)?),
            _ => return Err(not_floats(array)),
        })
    }

    fn floats(&self) -> Floats<'_> {
        match self {
            Self::F32(values) => values.into(),
            Self::F16(values) => values.into(),
            Self::Bf16(values) => values.into(),
        }
    }
}

fn not_floats(array: &Tensor) -> Failure {
    format!(
        "{} is of {}, and gradients are of float16, bfloat16 and float32",
        array.label().display(),
        array.dtype_name()
    )
    .into()
}

impl Args {
    /// Does what the command line asks for.
    pub fn run(&self) -> Result<Report, Failure> {
        // What is wrong with one is told before any is read.
        for file in &self.files {
            let is_float = |array: &&Tensor| matches!(array.dtype(), DType::F32 | DType::F16 | DType::Bf16);
            let file = TensorFile::open(file)?;
            if let Some(other) = file.tensors().iter().find(|array| !is_float(array)) {
                return Err(not_floats(other));
            }
        }
        let norm = grad_norm(Order::of(self.ord));
        let device = Opened::wanted(self.device, || usable(norm))?.told();
        let target = device.folding("the emulator has no norm of several arrays: --device cpu gives the same bits")?;
        let start = Instant::now();
        let mut values = vec![];
        for file in &self.files {
            // One at a time: there may be more files than can be open at once.
            for array in TensorFile::open(file)?.tensors() {
                values.push(Values::read(array)?);
            }
        }
        let tensors: Vec<Floats<'_>> = values.iter().map(Values::floats).collect();
        let TotalNorm { norm, not_finite } = match target {
            Target::Cpu => norm.on_cpu(&tensors)?,
            #[cfg(feature = "cuda")]
            Target::Gpu(gpu) => norm.on(gpu, &tensors)?,
        };
        Ok(Report {
            op: "grad-norm",
            ord: self.ord.into(),
            device: device.name(),
            norm: norm.into(),
            tensors: tensors.len(),
            elements: tensors.iter().map(|tensor| tensor.len() as u64).sum(),
            not_finite,
            seconds: start.elapsed().as_secs_f64(),
            json: self.json,
        })
    }
}

/// The first GPU, if this build has kernels that its driver takes.
#[cfg(feature = "cuda")]
fn usable(norm: GradNorm) -> Result<Device, Error> {
    let gpu = warpfold::gpu::Gpu::new(0)?;
    norm.prepare(&gpu, &[])?;
    Ok(Device::Folding(Target::Gpu(gpu)))
}

#[cfg(not(feature = "cuda"))]
fn usable(_: GradNorm) -> Result<Device, Error> {
    Device::named(Wanted::Gpu(0))
}
