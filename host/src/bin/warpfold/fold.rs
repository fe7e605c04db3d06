//! A fold of an array, whatever its elements and its operator: what of it is compiled once.

use std::time::Instant;

use warpfold::{
    Error, Plan,
    files::{self, DType, Tensor},
    layout::{Axes, Extents, Folded, Layout, Segments},
};
use warpfold_kernels::kernels::Entry;

use crate::{
    Failure, Reduce,
    answers::{Answer, Answers},
    beside::Beside,
    device::{Device, WHOLE_ONLY, Wanted},
    folder::Folder,
    name,
    out::Out,
    progress::Progress,
    report::{Explained, Outcome, Report, Value},
};

/// What is folded, and how.
pub struct Fold<'a> {
    pub args: &'a Reduce,
    pub array: Tensor,
    pub segments: Option<Segments>,
    pub mask: Option<Beside>,
    /// What the array is folded with, element by element.
    pub second: Option<Beside>,
    pub out: Option<Out>,
}

impl Fold<'_> {
    /// Folds, writes the answers where that is asked for, and says what came of it.
    pub fn run(&self, folder: &dyn Folder) -> Result<Report, Failure> {
        if self.args.dtype_out.is_some() && matches!(folder.dtype(), DType::Complex64 | DType::Complex128) {
            return Err("complex answers are not cast to another type: leave out --dtype-out".into());
        }
        let axes = match self.args.axis[..] {
            [] => None,
            _ => Some(self.axes()?),
        };
        let is_whole = axes.is_none() && self.segments.is_none();
        if self.args.device == Wanted::Emulator && !is_whole {
            return Err(WHOLE_ONLY.into());
        }
        let mut device = folder.open(self.args.device)?;
        let has_no_kernel = || {
            folder
                .entry()
                .is_ok_and(|entry| self.plan(entry, axes.as_ref()).is_err())
        };
        if self.args.device == Wanted::Best && !is_whole && has_no_kernel() {
            device = Device::Cpu;
        }
        let start = Instant::now();
        let (answers, elements) = match (&self.segments, &axes) {
            (Some(segments), _) => (folder.segments(&device, segments)?, vec![]),
            (None, Some(axes)) => (folder.along(&device, axes)?, vec![]),
            (None, None) => folder.whole(&device)?,
        };
        let seconds = start.elapsed().as_secs_f64();
        let answers = match self.args.dtype_out {
            None => answers,
            Some(dtype) => answers.cast(dtype),
        };
        let out = self.out.as_ref().map(|out| out.write(&answers)).transpose()?;
        let explain = || -> Result<Explained, Failure> {
            let plan = self.plan(folder.entry()?, axes.as_ref())?;
            let (on, memory) = device.memory();
            Ok(Explained {
                plan: plan.to_string(),
                predicted_seconds: plan.predicted_time(&memory).as_secs_f64(),
                predicted_for: on,
            })
        };
        let explained = self.args.explain.then(explain).transpose()?;
        Ok(Report {
            op: folder.name(),
            file: self.args.file.display().to_string(),
            with: self.args.with.as_ref().map(|with| with.display().to_string()),
            device: device.name(),
            device_in_words: device.to_string(),
            dtype: self.array.dtype_name().to_owned(),
            shape: self.array.shape().to_vec(),
            outcome: match &self.args.axis[..] {
                [] if self.segments.is_some() => Outcome::Segments(answers),
                [] => Outcome::Whole(Value {
                    result: answers.each(0..answers.len()).collect(),
                    elements,
                }),
                axis => Outcome::Along(axis.to_vec(), answers),
            },
            cast_to: self.args.dtype_out,
            explained,
            out: self.args.out.clone().zip(out),
            seconds,
            bytes: self.array.bytes() + self.second.as_ref().map_or(0, |second| second.tensor.bytes()),
        })
    }

    /// What a GPU launches for the array in its memory.
    fn plan(&self, entry: &'static Entry, axes: Option<&Axes>) -> Result<Plan, Failure> {
        let (axes, layout) = match (&self.segments, axes) {
            (Some(segments), _) => return Ok(Plan::segments(entry, segments.len(), segments.count() as u64)?),
            (None, None) => return Ok(Plan::new(entry, self.array.len())),
            (None, Some(axes)) => (axes, self.array.layout()?),
        };
        Ok(match (&self.mask, &self.second) {
            (Some(mask), _) => Plan::along_all(entry, &Extents::of_masked(&layout, &mask.layout, axes)?)?,
            (_, Some(second)) => Plan::along_all(entry, &Extents::of_pair(&layout, &second.layout, axes)?)?,
            _ => Plan::along(entry, &Extents::new(&layout, axes)?)?,
        })
    }

    /// Axes that the array has: known before any of it is read.
    fn axes(&self) -> Result<Axes, Failure> {
        let axes = Axes::of(&self.args.axis);
        let axes = if self.args.keepdim { axes.keepdim() } else { axes };
        let layout = Layout::c_order(self.array.shape())?;
        Extents::new(&layout, &axes).map_err(|error| self.in_file(error))?;
        Ok(axes)
    }

    /// Gives `fold` the whole array, a piece of `len` elements at a time.
    pub fn each_piece<Read: files::Element>(
        &self,
        len: usize,
        fold: &mut dyn FnMut(&[Read]) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let mut progress = Progress::of_bytes(self.array.bytes());
        for piece in self.array.stream::<Read>(len)? {
            let piece = piece?;
            fold(&piece)?;
            progress.advance(size_of_val(&*piece) as u64);
        }
        assert_eq!(
            progress.done(),
            self.array.bytes(),
            "the reader ended early without saying why"
        );
        Ok(())
    }

    /// The one answer of the whole array.
    pub fn one<A: Answer>(&self, answer: A) -> Answers {
        Answers::new(Folded {
            shape: vec![1; if self.args.keepdim { self.array.shape().len() } else { 0 }],
            answers: vec![answer],
        })
    }

    /// One answer for each segment, or what is wrong with the file.
    pub fn of_segments<A: Answer>(&self, answers: Result<Vec<A>, Failure>) -> Result<Answers, Failure> {
        let answers = answers.map_err(|error| self.in_file(error))?;
        let shape = vec![answers.len() as u64];
        Ok(Answers::new(Folded { shape, answers }))
    }

    pub fn in_file(&self, error: impl Into<Failure>) -> Failure {
        format!("{}: {}", self.args.file.display(), error.into()).into()
    }

    pub fn no_such_accuracy(&self) -> Failure {
        let (operators, under) = match self.mask {
            None => ("sum and mean are", ""),
            Some(_) => ("sum is", " under a mask"),
        };
        format!(
            "{} of {} is not computed with --accuracy {}{under}: {operators}, compensated and exact of float32 and float64, wide of \
             float16, bfloat16 and float32",
            name(self.args.op),
            self.array.dtype_name(),
            name(self.args.accuracy),
        )
        .into()
    }

    pub fn no_mask(&self, mask: &Beside) -> Failure {
        format!(
            "{} of {} has no mask here: leave out --where {}",
            name(self.args.op),
            self.array.dtype_name(),
            mask.file.display()
        )
        .into()
    }

    pub fn no_nan(&self) -> Failure {
        match self.array.dtype() {
            DType::F8E4M3 | DType::F8E5M2 | DType::Complex64 | DType::Complex128 => {
                let dtype = self.array.dtype_name();
                format!("NaN is not left out of {dtype}: leave out --nan ignore").into()
            }
            _ => self.meaningless(),
        }
    }

    pub fn meaningless(&self) -> Failure {
        Error::Meaningless {
            op: name(self.args.op),
            dtype: self.array.dtype_name().to_owned(),
        }
        .into()
    }
}
