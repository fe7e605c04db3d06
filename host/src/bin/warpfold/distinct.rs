//! `warpfold reduce distinct`: no fold, so it goes by none of the ways of `reduce`, but takes the same arguments and reports alike.

use warpfold::{
    Error, cpu,
    dynamic::Answer as _,
    files::{DType, bf16, complex64, f8e4m3, f8e5m2, f16},
    layout::{Axes, Extents, Folded, Layout, Segments},
    plan::DistinctPlan,
};

use crate::{
    Failure,
    answers::AnswerType,
    cli::Reduce,
    device::{Device, Wanted},
    fold::Fold,
    opened::Opened,
    reading,
    reading::FoldElement,
    report::{Explained, Report},
};

/// Does what the command line asks for.
pub fn run(args: &Reduce) -> Result<Report, Failure> {
    let count = Count(Fold::open(args)?);
    match count.0.array.dtype() {
        DType::Bool => count.run::<bool>(),
        DType::U8 => count.run::<u8>(),
        DType::I8 => count.run::<i8>(),
        DType::U16 => count.run::<u16>(),
        DType::I16 => count.run::<i16>(),
        DType::U32 => count.run::<u32>(),
        DType::I32 => count.run::<i32>(),
        DType::U64 => count.run::<u64>(),
        DType::I64 => count.run::<i64>(),
        DType::F16 => count.run::<f16>(),
        DType::Bf16 => count.run::<bf16>(),
        DType::F32 => count.run::<f32>(),
        DType::F64 => count.run::<f64>(),
        DType::F8E4M3 => count.run::<f8e4m3>(),
        DType::F8E5M2 => count.run::<f8e5m2>(),
        DType::Complex64 => count.run::<complex64>(),
        DType::Complex128 => Err("the distinct elements of complex128 are not counted".into()),
        _ => Err(Error::Dtype {
            path: count.0.array.label(),
            dtype: count.0.array.dtype_name().to_owned(),
        }
        .into()),
    }
}

struct Count<'a>(Fold<'a>);

impl Count<'_> {
    fn run<T: FoldElement>(self) -> Result<Report, Failure> {
        let fold = &self.0;
        // Before any of it is read.
        let axes = self.axes()?;
        let plan = || -> Result<DistinctPlan, Failure> {
            Ok(match &fold.division {
                Some(division) => DistinctPlan::segments(T::TYPE, &*division.all()?)?,
                None => DistinctPlan::along(T::TYPE, &Extents::new(&fold.array.layout()?, &axes)?)?,
            })
        };
        let device = open::<T>(fold.args.device)?.told();
        let explain = || -> Result<Explained, Failure> {
            let (plan, (on, memory)) = (plan()?, device.memory());
            Ok(Explained {
                plan: plan.to_string(),
                predicted_seconds: plan.least_time(&memory).as_secs_f64(),
                predicted_for: format!("{on}, at least"),
                choice: None,
            })
        };
        let explained = fold.args.explain.then(explain).transpose()?;
        let count = AnswerType::of(u64::ANSWER);
        let answers = match &fold.division {
            Some(division) => {
                let piece = piece::<T>(&device)?;
                division.fold::<T::Read>(&fold.array, piece, count, &mut |values, _, segments| {
                    let answers = count_segments(&device, &T::of(values)?, segments);
                    Ok(bytes(&answers.map_err(|error| fold.in_file(error))?))
                })?
            }
            None => {
                let (values, layout) = reading::in_place::<T::Read>(&fold.array)?;
                let folded = count_axes(&device, &T::of(&values)?, &layout, &axes);
                let folded = folded.map_err(|error| fold.in_file(error))?;
                count.answers(folded.shape, bytes(&folded.answers))
            }
        };
        fold.report("distinct", &device, (answers, vec![]), explained)
    }

    /// The axes that are asked for, or all: an error where the array has them not.
    fn axes(&self) -> Result<Axes, Failure> {
        match self.0.args.axis[..] {
            [] if self.0.args.keepdim => Ok(Axes::all().keepdim()),
            [] => Ok(Axes::all()),
            _ => self.0.axes(),
        }
    }
}

/// Bytes of an array that the CPU counts at a time.
const CPU_PIECE: usize = 16 << 20;

/// How many elements are counted at a time.
fn piece<T: FoldElement>(device: &Device) -> Result<usize, Error> {
    match device {
        #[cfg(feature = "cuda")]
        Device::Folding(Target::Gpu(gpu)) => gpu.piece_len::<T>(),
        _ => Ok(CPU_PIECE / size_of::<T>()),
    }
}

/// Counts as a file has them.
fn bytes(counts: &[u64]) -> Vec<u8> {
    counts.iter().flat_map(|count| count.to_le_bytes()).collect()
}

/// The device that was asked for, ready to count.
fn open<T: FoldElement>(wanted: Wanted) -> Result<Opened, Failure> {
    match wanted {
        Wanted::Best => Ok(Opened::best(usable::<T>())),
        Wanted::Emulator => Err("the emulator counts no distinct elements: --device cpu gives the same numbers".into()),
        wanted => Ok(Device::named(wanted)?.into()),
    }
}

/// The first GPU, if this build has a kernel for the elements that its driver takes.
#[cfg(feature = "cuda")]
use warpfold::dynamic::Target;

#[cfg(feature = "cuda")]
fn usable<T: FoldElement>() -> Result<Device, Error> {
    let gpu = warpfold::gpu::Gpu::new(0)?;
    gpu.prepare_distinct::<T>(1)?;
    Ok(Device::Folding(Target::Gpu(gpu)))
}

#[cfg(not(feature = "cuda"))]
#[expect(
    clippy::extra_unused_type_parameters,
    reason = "only a GPU has a kernel for each type"
)]
fn usable<T: FoldElement>() -> Result<Device, Error> {
    Device::named(Wanted::Gpu(0))
}

fn count_axes<T: FoldElement>(
    device: &Device,
    values: &[T],
    layout: &Layout,
    axes: &Axes,
) -> Result<Folded<u64>, Error> {
    match device {
        #[cfg(feature = "cuda")]
        Device::Folding(Target::Gpu(gpu)) => gpu.distinct_host_axes(values, layout, axes),
        _ => cpu::distinct_axes(values, layout, axes),
    }
}

fn count_segments<T: FoldElement>(device: &Device, values: &[T], segments: &Segments) -> Result<Vec<u64>, Error> {
    match device {
        #[cfg(feature = "cuda")]
        Device::Folding(Target::Gpu(gpu)) => gpu.distinct_host_segments(values, segments),
        _ => cpu::distinct_segments(values, segments),
    }
}
