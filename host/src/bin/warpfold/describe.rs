//! `warpfold describe`: many answers about each array of some files.

use std::{borrow::Cow, path::Path, time::Instant};

use bytemuck::NoUninit;
use warpfold::{
    Error, cpu,
    files::{self, DType, Tensor, TensorFile, bf16, f8e4m3, f8e5m2, f16},
    ops::{AnyOp, Describe as Op, Reduction, Summary, element::Float},
    pieces::Pieces,
};
#[cfg(feature = "cuda")]
use warpfold::{dynamic::Target, fold};

use crate::{
    Describe, Failure,
    device::{Device, Wanted},
    progress::Progress,
    scalar::Scalar,
    summaries::{Array, Numbers, Outcome, Summaries},
};

/// Does what the command line asks for.
pub fn run(args: &Describe) -> Result<Summaries, Failure> {
    if args.device == Wanted::Emulator {
        return Err("the emulator has no describe: --device cpu gives the same bits".into());
    }
    let op = Op {
        correction: args.correction,
    };
    let has_kernel_of_f64 = || Ok(AnyOp::of::<f64, Op>(op).kernel().map(drop)?);
    let device = Device::open(args.device, &AnyOp::of::<f32, Op>(op), &has_kernel_of_f64)?.told();
    let start = Instant::now();
    // What files hold is known when they are opened, which is one at a time: there may be more of them than can be open at once.
    let mut reader = Reader {
        op,
        progress: Progress::of_bytes(args.files.iter().map(|path| size(path)).sum()),
        device,
    };
    let files = args.files.iter().map(|path| reader.describe_file(path)).collect();
    Ok(Summaries {
        files,
        bytes: reader.progress.done(),
        seconds: start.elapsed().as_secs_f64(),
        device: reader.device.to_string(),
    })
}

/// Bytes of a file, as far as its name tells.
fn size(path: &Path) -> u64 {
    path.metadata().map_or(0, |metadata| metadata.len())
}

/// What describes, and how far it is.
struct Reader {
    op: Op,
    device: Device,
    progress: Progress,
}

type Describer = fn(&mut Reader, &Tensor) -> Result<Numbers, Failure>;

/// How the elements of a type are described.
fn of(dtype: DType) -> Option<Describer> {
    Some(match dtype {
        DType::F16 => |reader, tensor| {
            floats(reader, tensor, |read: &[f16]| {
                read.iter().map(|half| half.to_f32()).collect()
            })
        },
        DType::Bf16 => |reader, tensor| {
            floats(reader, tensor, |read: &[bf16]| {
                read.iter().map(|half| half.to_f32()).collect()
            })
        },
        DType::F8E4M3 => |reader, tensor| {
            floats(reader, tensor, |read: &[f8e4m3]| {
                read.iter().map(|eight| eight.to_f32()).collect()
            })
        },
        DType::F8E5M2 => |reader, tensor| {
            floats(reader, tensor, |read: &[f8e5m2]| {
                read.iter().map(|eight| eight.to_f32()).collect()
            })
        },
        DType::F32 => |reader, tensor| floats(reader, tensor, |read: &[f32]| read.into()),
        DType::F64 => |reader, tensor| floats(reader, tensor, |read: &[f64]| read.into()),
        DType::Bool => |reader, tensor| integers(reader, tensor, |read: u8| f64::from(u8::from(read != 0))),
        DType::U8 => |reader, tensor| integers(reader, tensor, |read: u8| read.into()),
        DType::I8 => |reader, tensor| integers(reader, tensor, |read: i8| read.into()),
        DType::U16 => |reader, tensor| integers(reader, tensor, |read: u16| read.into()),
        DType::I16 => |reader, tensor| integers(reader, tensor, |read: i16| read.into()),
        DType::U32 => |reader, tensor| integers(reader, tensor, |read: u32| read.into()),
        DType::I32 => |reader, tensor| integers(reader, tensor, |read: i32| read.into()),
        DType::U64 => |reader, tensor| integers(reader, tensor, |read: u64| read as f64),
        DType::I64 => |reader, tensor| integers(reader, tensor, |read: i64| read as f64),
        _ => return None,
    })
}

impl Reader {
    /// What a file is called, and its arrays.
    fn describe_file(&mut self, path: &Path) -> (String, Vec<Array>) {
        let (name, arrays) = match TensorFile::open(path) {
            Ok(file) => {
                let describable = file.tensors().iter().filter(|tensor| of(tensor.dtype()).is_some());
                self.progress.expect(size(path), describable.map(Tensor::bytes).sum());
                let arrays = file.tensors().iter().map(|tensor| self.describe(tensor));
                (file.path().display().to_string(), arrays.collect())
            }
            Err(error) => {
                self.progress.expect(size(path), 0);
                (path.display().to_string(), vec![Array::unread(error.to_string())])
            }
        };
        (name, arrays)
    }

    fn describe(&mut self, tensor: &Tensor) -> Array {
        if let Some(error) = tensor.fault() {
            return Array {
                name: tensor.name().map(str::to_owned),
                ..Array::unread(error.to_string())
            };
        }
        let outcome = match of(tensor.dtype()) {
            None => Outcome::Meaningless(format!("nothing describes elements of {}", tensor.dtype_name())),
            Some(describe) => match describe(self, tensor) {
                Ok(numbers) => Outcome::Described(Box::new(numbers)),
                Err(error) => Outcome::Unread(error.to_string()),
            },
        };
        Array {
            name: tensor.name().map(str::to_owned),
            dtype: Some(tensor.dtype_name().to_owned()),
            shape: Some(tensor.shape().to_vec()),
            outcome,
        }
    }

    /// Elements read as `Read`, a piece at a time.
    fn summary<T, Read: files::Element>(
        &mut self,
        tensor: &Tensor,
        of: impl Fn(&[Read]) -> Cow<'_, [T]>,
    ) -> Result<Summary<T>, Failure>
    where
        T: Float + NoUninit,
        Op: Reduction<T, Answer = Summary<T>>,
    {
        let len = self.device.piece(&AnyOp::of::<T, Op>(self.op))?;
        let mut pieces = Pieces::<Op, T>::new(self.op, len as u64)?;
        for piece in tensor.stream::<Read>(len)? {
            let piece = piece?;
            pieces.push(self.state(&of(&piece))?, piece.len() as u64)?;
            self.progress.advance(size_of_val(&*piece) as u64);
        }
        Ok(pieces.finish()?.0)
    }
}

impl Reader {
    fn state<T: Float + NoUninit>(&self, values: &[T]) -> Result<<Op as Reduction<T>>::State, Error>
    where
        Op: Reduction<T>,
    {
        match &self.device {
            #[cfg(feature = "cuda")]
            Device::Folding(Target::Gpu(gpu)) => fold(self.op).state_on(gpu, values),
            _ => Ok(cpu::fold(self.op, values)),
        }
    }
}

/// Elements narrower than that as the float32 that each is.
fn floats<T, Read: files::Element>(
    reader: &mut Reader,
    tensor: &Tensor,
    of: impl Fn(&[Read]) -> Cow<'_, [T]>,
) -> Result<Numbers, Failure>
where
    T: Float<Total = T> + NoUninit + Into<Scalar>,
    Op: Reduction<T, Answer = Summary<T>>,
{
    Ok(Numbers::of(&reader.summary(tensor, of)?, Into::into))
}

/// As the float64 nearest to each. A sum is a whole number, and so is written as one as far as all of them are exact.
fn integers<Read: files::Element>(
    reader: &mut Reader,
    tensor: &Tensor,
    nearest: impl Fn(Read) -> f64,
) -> Result<Numbers, Failure> {
    let summary = reader.summary::<f64, Read>(tensor, |read| read.iter().map(|&read| nearest(read)).collect())?;
    // The sum of magnitudes: no sum on the way was larger.
    let exact = summary.l1 <= EXACT;
    Ok(Numbers::of(&summary, move |number: f64| {
        if exact && number.fract() == 0.0 {
            Scalar::Signed(number as i64)
        } else {
            Scalar::Double(number)
        }
    }))
}

/// Whole numbers of f64 up to here have no gaps.
const EXACT: f64 = 9_007_199_254_740_992.0;
