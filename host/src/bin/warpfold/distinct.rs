//! `warpfold reduce distinct`: no fold, so it goes by none of the ways of `reduce`, but takes the same arguments and reports alike.

use std::time::Instant;

use bytemuck::NoUninit;
use warpfold::{
    Error, cpu,
    files::{self, DType, Tensor, TensorFile, bf16, complex64, f8e4m3, f8e5m2, f16},
    layout::{Axes, Extents, Folded, Layout, Segments},
    ops::{Sum, element::Element},
    plan::DistinctPlan,
};

use crate::{
    Failure, Reduce,
    answers::Answers,
    device::{Device, Wanted},
    out::Out,
    report::{Explained, Outcome, Report, Value},
    segments,
};

/// Does what the command line asks for.
pub fn run(args: &Reduce) -> Result<Report, Failure> {
    // The file first: a wrong name is told before a device is woken.
    let file = TensorFile::open(&args.file)?;
    let out = args.out.as_deref().map(|out| Out::new(out, file.path())).transpose()?;
    let array = file.one()?;
    let segments = segments::of(args, array.len())?;
    let dtype = array.dtype();
    let count = Count {
        args,
        array,
        segments,
        out,
    };
    match dtype {
        DType::Bool => count.run(|array, place| {
            let (read, layout) = in_place::<u8>(array, place)?;
            Ok((read.into_iter().map(|byte| byte != 0).collect::<Vec<bool>>(), layout))
        }),
        DType::U8 => count.run(in_place::<u8>),
        DType::I8 => count.run(in_place::<i8>),
        DType::U16 => count.run(in_place::<u16>),
        DType::I16 => count.run(in_place::<i16>),
        DType::U32 => count.run(in_place::<u32>),
        DType::I32 => count.run(in_place::<i32>),
        DType::U64 => count.run(in_place::<u64>),
        DType::I64 => count.run(in_place::<i64>),
        DType::F16 => count.run(in_place::<f16>),
        DType::Bf16 => count.run(in_place::<bf16>),
        DType::F32 => count.run(in_place::<f32>),
        DType::F64 => count.run(in_place::<f64>),
        DType::F8E4M3 => count.run(in_place::<f8e4m3>),
        DType::F8E5M2 => count.run(in_place::<f8e5m2>),
        DType::Complex64 => count.run(in_place::<complex64>),
        DType::Complex128 => Err("the distinct elements of complex128 are not counted".into()),
        _ => Err(Error::Dtype {
            path: count.array.label(),
            dtype: count.array.dtype_name().to_owned(),
        }
        .into()),
    }
}

/// How an array is read.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    /// As it lies in the file.
    AsItIs,
    /// In C order.
    InOrder,
}

/// The elements, and where they lie.
fn in_place<T: files::Element>(array: &Tensor, place: Place) -> Result<(Vec<T>, Layout), Failure> {
    Ok(match place {
        Place::AsItIs => array.read_in_place::<T>()?,
        Place::InOrder => (array.read::<T>()?, Layout::c_order(array.shape())?),
    })
}

struct Count<'a> {
    args: &'a Reduce,
    array: Tensor,
    segments: Option<Segments>,
    out: Option<Out>,
}

impl Count<'_> {
    fn run<T: Element + NoUninit>(
        self,
        read: impl Fn(&Tensor, Place) -> Result<(Vec<T>, Layout), Failure>,
    ) -> Result<Report, Failure> {
        // Before any of it is read.
        let axes = self.axes()?;
        let device = open::<T>(self.args.device)?;
        let start = Instant::now();
        let answers = match &self.segments {
            Some(segments) => {
                let (values, _) = read(&self.array, Place::InOrder)?;
                let answers = count_segments(&device, &values, segments)?;
                let shape = vec![segments.count() as u64];
                Folded { shape, answers }
            }
            None => {
                let (values, layout) = read(&self.array, Place::AsItIs)?;
                count_axes(&device, &values, &layout, &axes)?
            }
        };
        let seconds = start.elapsed().as_secs_f64();
        self.report::<T>(&device, answers, &axes, seconds)
    }

    /// The axes that are asked for, or all: an error where the array has them not.
    fn axes(&self) -> Result<Axes, Failure> {
        let axes = match &self.args.axis[..] {
            [] => Axes::all(),
            axes => Axes::of(axes),
        };
        let axes = if self.args.keepdim { axes.keepdim() } else { axes };
        let layout = Layout::c_order(self.array.shape())?;
        match Extents::new(&layout, &axes) {
            Ok(_) => Ok(axes),
            Err(error) => Err(format!("{}: {error}", self.args.file.display()).into()),
        }
    }

    fn report<T: Element>(
        self,
        device: &Device,
        answers: Folded<u64>,
        axes: &Axes,
        seconds: f64,
    ) -> Result<Report, Failure> {
        let answers = Answers::new(answers);
        let answers = match self.args.dtype_out {
            None => answers,
            Some(dtype) => answers.cast(dtype),
        };
        let out = self.out.as_ref().map(|out| out.write(&answers)).transpose()?;
        let explain = || -> Result<Explained, Failure> {
            let plan = match &self.segments {
                Some(segments) => DistinctPlan::segments(T::TYPE, segments)?,
                None => DistinctPlan::along(T::TYPE, &Extents::new(&self.array.layout()?, axes)?)?,
            };
            let (on, memory) = device.memory();
            Ok(Explained {
                plan: plan.to_string(),
                predicted_seconds: plan.least_time(&memory).as_secs_f64(),
                predicted_for: format!("{on}, at least"),
            })
        };
        let explained = self.args.explain.then(explain).transpose()?;
        Ok(Report {
            op: "distinct",
            file: self.args.file.display().to_string(),
            with: None,
            device: device.name(),
            device_in_words: device.to_string(),
            dtype: self.array.dtype_name().to_owned(),
            shape: self.array.shape().to_vec(),
            outcome: match &self.args.axis[..] {
                [] if self.segments.is_some() => Outcome::Segments(answers),
                [] => Outcome::Whole(Value {
                    result: answers.each(0..answers.len()).collect(),
                    elements: vec![],
                }),
                axis => Outcome::Along(axis.to_vec(), answers),
            },
            cast_to: self.args.dtype_out,
            explained,
            out: self.args.out.clone().zip(out),
            seconds,
            bytes: self.array.bytes(),
        })
    }
}

/// The device that was asked for.
fn open<T: Element>(wanted: Wanted) -> Result<Device, Failure> {
    match wanted {
        Wanted::Best => Ok(usable::<T>().unwrap_or(Device::Cpu)),
        Wanted::Emulator => Err("the emulator counts no distinct elements: --device cpu gives the same numbers".into()),
        wanted => Ok(Device::open::<u8, _>(wanted, Sum)?),
    }
}

/// The first GPU, if this build has a kernel for the elements that its driver takes.
#[cfg(feature = "cuda")]
fn usable<T: Element>() -> Option<Device> {
    let gpu = warpfold::gpu::Gpu::new(0).ok()?;
    gpu.prepare_distinct::<T>(1).ok()?;
    Some(Device::Gpu(gpu))
}

#[cfg(not(feature = "cuda"))]
#[expect(clippy::extra_unused_type_parameters, reason = "it is called as that of a GPU is")]
fn usable<T: Element>() -> Option<Device> {
    None
}

fn count_axes<T: Element + NoUninit>(
    device: &Device,
    values: &[T],
    layout: &Layout,
    axes: &Axes,
) -> Result<Folded<u64>, Error> {
    match device {
        #[cfg(feature = "cuda")]
        Device::Gpu(gpu) => gpu.distinct_host_axes(values, layout, axes),
        _ => cpu::distinct_axes(values, layout, axes),
    }
}

fn count_segments<T: Element + NoUninit>(
    device: &Device,
    values: &[T],
    segments: &Segments,
) -> Result<Vec<u64>, Error> {
    match device {
        #[cfg(feature = "cuda")]
        Device::Gpu(gpu) => gpu.distinct_host_segments(values, segments),
        _ => cpu::distinct_segments(values, segments),
    }
}
