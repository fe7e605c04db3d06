//! `warpfold describe`: many answers about each array of some files.

use std::{
    borrow::Cow,
    convert::Infallible,
    path::Path,
    time::{Duration, Instant},
};

use bytemuck::NoUninit;
#[cfg(feature = "cuda")]
use warpfold::fold;
use warpfold::{
    cpu,
    dynamic::Target,
    files::{DType, Tensor, bf16, complex64, complex128, f8e4m3, f8e5m2, f16},
    ops::{
        AnyOp, Describe as Op, Mean, NormInf, NormL2, Reduction, Summary,
        element::{self, Float},
    },
    pieces::Pieces,
};

use crate::{
    Failure,
    cli::Describe,
    clock,
    device::{Copied, Device, Estimate, Wanted},
    inputs::Inputs,
    opened::Opened,
    progress::Progress,
    reading,
    scalar::Scalar,
    summaries::{ArraySummary, Numbers, Outcome, Summaries},
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
    let bytes = args.files.iter().map(|path| size(path)).sum();
    let wanted = match args.device {
        Wanted::Best if cfg!(feature = "cuda") => estimate(op, bytes).map_or(Wanted::Best, Estimate::sooner),
        wanted => wanted,
    };
    let device = Opened::of(wanted, &AnyOp::of::<f32, Op>(op), &has_kernel_of_f64)?.told();
    // What files hold is known when they are opened, which is one at a time: there may be more of them than can be open at once.
    let mut reader = PieceReader {
        op,
        progress: Progress::of_bytes(bytes),
        device,
    };
    let files = args.files.iter().map(|path| reader.describe_file(path)).collect();
    Ok(Summaries {
        files,
        bytes: reader.progress.done(),
        seconds: clock::seconds(),
        device: reader.device.to_string(),
    })
}

/// Of as many bytes of float32, by a sample of numbers that are in no file.
fn estimate(op: Op, bytes: u64) -> Option<Estimate> {
    let sample = reading::cpu_piece(&AnyOp::of::<f32, Op>(op)) as u64;
    let mut timed = |_: u64, len: u64| -> Result<Duration, Infallible> {
        let values: Vec<f32> = (0..len).map(|i| (i % 1009) as f32 - 504.0).collect();
        let start = Instant::now();
        std::hint::black_box(cpu::fold(op, &values));
        Ok(start.elapsed())
    };
    let estimate = Estimate::of(Copied::InPieces, bytes, bytes / 4, sample, &mut timed)?;
    estimate.ok()
}

/// Bytes of a file, as far as its name tells.
fn size(path: &Path) -> u64 {
    path.metadata().map_or(0, |metadata| metadata.len())
}

/// What describes, and how far it is.
struct PieceReader {
    op: Op,
    device: Device,
    progress: Progress,
}

type Describer = fn(&mut PieceReader, &Tensor) -> Result<Numbers, Failure>;

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
        DType::Complex64 => |reader, tensor| complex::<complex64>(reader, tensor, |z| [z.re.into(), z.im.into()]),
        DType::Complex128 => |reader, tensor| complex::<complex128>(reader, tensor, |z| [z.re, z.im]),
        _ => return None,
    })
}

impl PieceReader {
    /// What a path names, and its arrays.
    fn describe_file(&mut self, path: &Path) -> (String, Vec<ArraySummary>) {
        let inputs = Inputs::open(path);
        let describable = inputs
            .tensors
            .iter()
            .filter(|tensor| of(tensor.dtype().decoded()).is_some());
        self.progress.expect(size(path), describable.map(Tensor::bytes).sum());
        let is_file = !path.is_dir();
        let mut arrays: Vec<ArraySummary> = vec![];
        for tensor in &inputs.tensors {
            let name = if is_file { tensor.name() } else { tensor.called() };
            arrays.push(ArraySummary {
                name: name.map(str::to_owned),
                ..self.describe(tensor)
            });
        }
        let foreign = inputs.foreign.iter().map(ToString::to_string);
        arrays.extend(inputs.faults.into_iter().chain(foreign).map(ArraySummary::unread));
        if arrays.is_empty() {
            arrays.push(ArraySummary::unread(format!("{} has no arrays", path.display())));
        }
        // The file, without the name of an array.
        let file = match &inputs.tensors[..] {
            [first, ..] if is_file => first.file(),
            _ => path,
        };
        (file.display().to_string(), arrays)
    }

    fn describe(&mut self, tensor: &Tensor) -> ArraySummary {
        if let Some(error) = tensor.fault() {
            return ArraySummary::unread(error.to_string());
        }
        let outcome = match of(tensor.dtype().decoded()) {
            None => Outcome::Unread(format!(
                "{}: elements of type {} are not described",
                tensor.label().display(),
                tensor.dtype_name()
            )),
            Some(describe) => match describe(self, tensor) {
                Ok(numbers) => Outcome::Described(Box::new(numbers)),
                Err(error) => Outcome::Unread(error.to_string()),
            },
        };
        ArraySummary {
            name: None,
            elements: tensor.len(),
            bytes: tensor.bytes(),
            dtype: Some(tensor.dtype_name().to_owned()),
            shape: Some(tensor.shape().to_vec()),
            outcome,
        }
    }

    /// Elements read as `Read`, a piece at a time.
    fn summary<T, Read: reading::Read>(
        &mut self,
        tensor: &Tensor,
        of: impl Fn(&[Read]) -> Cow<'_, [T]> + Sync,
    ) -> Result<Summary<T>, Failure>
    where
        T: Float + NoUninit,
        Op: Reduction<T, Answer = Summary<T>, State: Send>,
    {
        let any = AnyOp::of::<T, Op>(self.op);
        let Self { op, device, progress } = self;
        let pieces = |len: usize| Pieces::<Op, T>::new(*op, len as u64);
        if let (Device::Folding(Target::Cpu), true) = (&*device, tensor.is_seekable()) {
            // Each piece begins with what is slow, and with empty buffers: so they are longer than others.
            let len = 4 * reading::cpu_piece(&any);
            let mut pieces = pieces(len)?;
            let state = |_, piece: &[Read]| Ok(cpu::fold(*op, &of(piece)));
            reading::map_pieces(tensor, len, progress, &state, &mut |state, len| {
                Ok(pieces.push(state, len)?)
            })?;
            return Ok(pieces.finish()?.0);
        }
        #[cfg(feature = "cuda")]
        if let (Device::Folding(Target::Gpu(gpu)), true) = (&*device, tensor.is_seekable()) {
            let fill = |first: u64, bytes: &mut [u8]| -> Result<(), Failure> {
                let mut read = vec![Read::zeroed(); bytes.len() / size_of::<T>()];
                reading::part(tensor, first, &mut read)?;
                bytes.copy_from_slice(bytemuck::cast_slice(&of(&read)));
                Ok(())
            };
            let summary = fold(*op).stream_on(gpu, tensor.len(), &fill)?;
            progress.advance(tensor.bytes());
            return Ok(summary);
        }
        let len = device.piece(&any)?;
        let mut pieces = pieces(len)?;
        for piece in tensor.stream::<Read>(len)? {
            let piece = piece?;
            let state = match device {
                #[cfg(feature = "cuda")]
                Device::Folding(Target::Gpu(gpu)) => fold(*op).state_on(gpu, &*of(&piece))?,
                _ => cpu::fold(*op, &of(&piece)),
            };
            pieces.push(state, piece.len() as u64)?;
            progress.advance(size_of_val(&*piece) as u64);
        }
        Ok(pieces.finish()?.0)
    }
}

/// Elements narrower than that as the float32 that each is.
fn floats<T, Read: reading::Read>(
    reader: &mut PieceReader,
    tensor: &Tensor,
    of: impl Fn(&[Read]) -> Cow<'_, [T]> + Sync,
) -> Result<Numbers, Failure>
where
    T: Float<Total = T> + NoUninit + Into<Scalar>,
    Op: Reduction<T, Answer = Summary<T>, State: Send>,
{
    Ok(Numbers::of(&reader.summary(tensor, of)?, Into::into))
}

/// What there is of complex numbers: counts, the mean, and the norms of magnitudes.
fn complex<T>(reader: &mut PieceReader, tensor: &Tensor, parts: fn(T) -> [f64; 2]) -> Result<Numbers, Failure>
where
    T: element::Element + reading::Read + Into<Scalar>,
    Mean: Reduction<T, Answer = T, State: Send>,
    NormL2: Reduction<T, Answer: Into<Scalar>, State: Send>,
    NormInf: Reduction<T, Answer: Into<Scalar>, State: Send>,
{
    let len = reading::cpu_piece(&AnyOp::of::<T, Mean>(Mean));
    let (mut means, mut l2, mut linf) = (
        Pieces::<Mean, T>::new(Mean, len as u64)?,
        Pieces::<NormL2, T>::new(NormL2, len as u64)?,
        Pieces::<NormInf, T>::new(NormInf, len as u64)?,
    );
    let mut counts = ElementCounts::default();
    let of_piece = |_, piece: &[T]| {
        let states = (
            cpu::fold(Mean, piece),
            cpu::fold(NormL2, piece),
            cpu::fold(NormInf, piece),
        );
        Ok((states, ElementCounts::of(piece.iter().map(|z| parts(*z)))))
    };
    let mut take = |((mean, norm, largest), of_piece): (_, ElementCounts), len: u64| {
        means.push(mean, len)?;
        l2.push(norm, len)?;
        linf.push(largest, len)?;
        counts.add(of_piece);
        Ok(())
    };
    if tensor.is_seekable() {
        reading::map_pieces(tensor, len, &mut reader.progress, &of_piece, &mut take)?;
    } else {
        reading::each_piece::<T>(tensor, len, &mut |piece| take(of_piece(0, piece)?, piece.len() as u64))?;
        reader.progress.advance(tensor.bytes());
    }
    Ok(Numbers::of_complex(
        [tensor.len(), counts.nan, counts.infinite, counts.zeros],
        [means.finish()?.0.into(), l2.finish()?.0.into(), linf.finish()?.0.into()],
    ))
}

/// Complex numbers with a part that is NaN or infinite, and those that are 0.
#[derive(Clone, Copy, Default)]
struct ElementCounts {
    nan: u64,
    infinite: u64,
    zeros: u64,
}

impl ElementCounts {
    fn of(numbers: impl Iterator<Item = [f64; 2]>) -> Self {
        let mut counts = Self::default();
        for parts in numbers {
            counts.nan += u64::from(parts.iter().any(|part| part.is_nan()));
            counts.infinite += u64::from(parts.iter().any(|part| part.is_infinite()));
            counts.zeros += u64::from(parts == [0.0, 0.0]);
        }
        counts
    }

    fn add(&mut self, other: Self) {
        self.nan += other.nan;
        self.infinite += other.infinite;
        self.zeros += other.zeros;
    }
}

/// As the float64 nearest to each. A sum is a whole number, and so is written as one as far as all of them are exact.
fn integers<Read: reading::Read>(
    reader: &mut PieceReader,
    tensor: &Tensor,
    nearest: impl Fn(Read) -> f64 + Sync,
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
