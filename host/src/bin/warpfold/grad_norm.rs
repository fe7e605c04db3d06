//! `warpfold grad-norm`: the norm of the arrays of files, all of them taken as one vector.

use std::{fmt, path::PathBuf};

use serde::Serialize;
use warpfold::{
    dynamic::Target,
    files::{DType, Tensor, bf16, f8e4m3, f8e5m2, f16},
    gradients::{Floats, GradNorm, Order, RunningNorm, TotalNorm, grad_norm},
    ops::element::Element,
};

use crate::{
    Failure, clock,
    device::{Device, Wanted},
    inputs::Inputs,
    opened::Opened,
    progress::Progress,
    reading,
    scalar::Scalar,
};

/// `warpfold grad-norm`.
#[derive(clap::Args)]
pub struct Args {
    /// The files, all of whose arrays count, in the files' own order; FILE:NAME for one array of a file.
    ///
    /// float16, bfloat16 and float32 are folded as they are, FP8 as float32. With a float64 array among them all are folded as float64, on
    /// the CPU. Integers and bool are left out, and counted.
    #[arg(required = true, value_name = "FILE[:NAME]")]
    files: Vec<PathBuf>,
    /// The order of the norm: 2, inf, or any number of 1 or more.
    #[arg(long, value_name = "P", default_value = "2", value_parser = order, allow_hyphen_values = true)]
    ord: f64,
    /// best, gpu, gpu:N or cpu; best is the CPU, which is sooner with what is in files. A GPU takes all arrays at once. The bits are the same.
    #[arg(long, default_value = "best")]
    device: Wanted,
    /// Prints one JSON object: op, ord, device, norm, tensors, elements, not_finite, left_out, seconds.
    ///
    /// A norm that is NaN or infinite is a string, and so is an infinite ord.
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
    tensors: u64,
    elements: u64,
    not_finite: u64,
    /// Arrays of integers and bool.
    left_out: u64,
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
            of(self.tensors, "tensor"),
            self.not_finite,
            self.device,
            self.seconds,
        )?;
        match self.left_out {
            0 => Ok(()),
            some => write!(f, "\n{} of integers or bool left out", of(some, "tensor")),
        }
    }
}

/// Arrays whose norm is taken.
struct Gradients {
    /// Files stay open, for what comes from a pipe can be read once.
    arrays: Vec<Tensor>,
    left_out: u64,
}

impl Gradients {
    /// All arrays of files. What is wrong with one is told before any is read.
    fn open(files: &[PathBuf]) -> Result<Self, Failure> {
        let (mut arrays, mut left_out) = (vec![], 0);
        for file in files {
            let inputs = Inputs::open(file);
            if let Some(fault) = inputs.faults.into_iter().next() {
                return Err(fault.into());
            }
            if let Some(error) = inputs.foreign.into_iter().next() {
                return Err(error.into());
            }
            for array in &inputs.tensors {
                array.fault().map_or(Ok(()), Err)?;
                match array.dtype().decoded() {
                    DType::F32 | DType::F16 | DType::Bf16 | DType::F64 | DType::F8E4M3 | DType::F8E5M2 => {
                        arrays.push(array.clone());
                    }
                    dtype if dtype.is_integer() || dtype == DType::Bool => left_out += 1,
                    _ => {
                        return Err(format!(
                            "{} is of {}, and gradients are of float16, bfloat16, float32, float64 and FP8",
                            array.label().display(),
                            array.dtype_name()
                        )
                        .into());
                    }
                }
            }
        }
        Ok(Self { arrays, left_out })
    }

    /// Whether all are of types that GPUs have kernels for.
    fn are_of_gpus(&self) -> bool {
        let of_gpu = |array: &Tensor| matches!(array.dtype(), DType::F32 | DType::F16 | DType::Bf16);
        self.arrays.iter().all(of_gpu)
    }
}

impl Args {
    /// Does what the command line asks for.
    pub fn run(&self) -> Result<Report, Failure> {
        let gradients = Gradients::open(&self.files)?;
        let norm = grad_norm(Order::of(self.ord));
        let device = match (self.device, gradients.are_of_gpus()) {
            (Wanted::Gpu(_), false) => {
                return Err("GPUs have no kernels of gradient norms of float64 and FP8: --device cpu has them".into());
            }
            (wanted, _) => Opened::from(Device::named(wanted)?).told(),
        };
        let target = device.folding("the emulator has no norm of several arrays: --device cpu gives the same bits")?;
        let (norm, not_finite) = match target {
            Target::Cpu => on_cpu(norm, &gradients.arrays)?,
            #[cfg(feature = "cuda")]
            Target::Gpu(gpu) => on_gpu(norm, gpu, &gradients.arrays)?,
        };
        Ok(Report {
            op: "grad-norm",
            ord: self.ord.into(),
            device: device.name(),
            norm,
            tensors: gradients.arrays.len() as u64,
            elements: gradients.arrays.iter().map(Tensor::len).sum(),
            not_finite,
            left_out: gradients.left_out,
            seconds: clock::seconds(),
            json: self.json,
        })
    }
}

/// The norm, and how many elements are not finite.
type Total = (Scalar, u64);

/// Bytes of a piece: all threads fold it, while another is read.
const PIECE: usize = 16 << 20;

/// On the CPU, one array after the other, in pieces.
fn on_cpu(norm: GradNorm, arrays: &[Tensor]) -> Result<Total, Failure> {
    let mut total = norm.running()?;
    let mut progress = Progress::of_bytes(arrays.iter().map(Tensor::bytes).sum());
    for array in arrays {
        match array.dtype().decoded() {
            DType::F16 => push::<f16>(array, &mut total)?,
            DType::Bf16 => push::<bf16>(array, &mut total)?,
            DType::F64 => push::<f64>(array, &mut total)?,
            DType::F8E4M3 => push::<f8e4m3>(array, &mut total)?,
            DType::F8E5M2 => push::<f8e5m2>(array, &mut total)?,
            _ => push::<f32>(array, &mut total)?,
        }
        progress.advance(array.bytes());
    }
    let is_double = arrays.iter().any(|array| array.dtype() == DType::F64);
    let TotalNorm {
        norm,
        norm_f64,
        not_finite,
    } = total.finish();
    Ok((if is_double { norm_f64.into() } else { norm.into() }, not_finite))
}

fn push<T: Element + reading::Read>(array: &Tensor, total: &mut RunningNorm) -> Result<(), Failure>
where
    for<'a> Floats<'a>: From<&'a [T]>,
{
    // A power of two of leaves, whatever the type.
    let piece = PIECE / size_of::<T>();
    let mut tensor = total.tensor(T::TYPE, piece as u64)?;
    for values in array.stream::<T>(piece)? {
        tensor.push(Floats::from(&*values?))?;
    }
    tensor.end();
    Ok(())
}

/// On a GPU, all at once.
#[cfg(feature = "cuda")]
fn on_gpu(norm: GradNorm, gpu: &warpfold::gpu::Gpu, arrays: &[Tensor]) -> Result<Total, Failure> {
    enum GradValues {
        F32(Vec<f32>),
        F16(Vec<f16>),
        Bf16(Vec<bf16>),
    }
    let read = |array: &Tensor| -> Result<GradValues, Failure> {
        Ok(match array.dtype() {
            DType::F16 => GradValues::F16(reading::in_order(array)?),
            DType::Bf16 => GradValues::Bf16(reading::in_order(array)?),
            _ => GradValues::F32(reading::in_order(array)?),
        })
    };
    let values = arrays.iter().map(read).collect::<Result<Vec<GradValues>, _>>()?;
    let tensors: Vec<Floats<'_>> = values
        .iter()
        .map(|values| match values {
            GradValues::F32(values) => values.into(),
            GradValues::F16(values) => values.into(),
            GradValues::Bf16(values) => values.into(),
        })
        .collect();
    let TotalNorm { norm, not_finite, .. } = norm.on(gpu, &tensors)?;
    Ok((norm.into(), not_finite))
}
