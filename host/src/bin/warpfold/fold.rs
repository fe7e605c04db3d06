//! A fold of an array, whatever its elements and its operator: what of it is compiled once.

use warpfold::{
    Error, Plan,
    files::{DType, Tensor},
    layout::{Axes, Extents, Layout},
};
use warpfold_kernels::kernels::Entry;

use crate::{
    Failure,
    answers::{AnswerType, Answers},
    cli::{Accuracy, Nan, Reduce},
    clock,
    device::{Copied, Device, Estimate, NO_MASK, NO_SECOND, WHOLE_ONLY, Wanted, not_emulated},
    op::Takes,
    opened::{HasKernel, Opened},
    out::{Input, Out},
    reading,
    report::{Explained, Outcome, Report, Value},
    scalar::Scalar,
    second_input::SecondInput,
    segments::Division,
    values::name,
};

/// What is folded, and how.
pub struct Fold<'a> {
    pub args: &'a Reduce,
    pub array: Tensor,
    pub division: Option<Division>,
    pub mask: Option<SecondInput>,
    /// What the array is folded with, element by element.
    pub second: Option<SecondInput>,
    pub out: Option<Out>,
}

/// An operator of one type of elements.
pub trait Folder {
    /// The operator's name.
    fn name(&self) -> &'static str;
    /// What its answers are.
    fn answer(&self) -> AnswerType;
    /// Its kernel.
    fn entry(&self) -> Result<&'static Entry, Error>;
    /// The device that was asked for, ready to fold with it.
    fn open(&self, wanted: Wanted, has_kernel: HasKernel<'_>) -> Result<Opened, Failure>;
    /// Whether the CPU has the answer of the whole array sooner than a GPU, and in what time each, if that can be estimated.
    fn estimate(&self, copied: Copied) -> Result<Option<Estimate>, Failure>;
    /// The answer of the whole array, a piece at a time, and the elements that it tells of.
    fn whole(&self, device: &Device) -> Result<(Answers, Vec<Scalar>), Failure>;
    /// The answer of each segment.
    fn segments(&self, device: &Device, division: &Division) -> Result<Answers, Failure>;
    /// The answers along axes, of the array as it lies in the file.
    fn along(&self, device: &Device, axes: &Axes) -> Result<Answers, Failure>;
}

/// Whether `--dtype` is a type that the elements can be cast to before they are reduced, without losing any of them.
fn check_cast(args: &Reduce, array: &Tensor) -> Result<(), Failure> {
    let (Some(to), from) = (args.dtype, array.dtype().decoded()) else {
        return Ok(());
    };
    let is_float = |dtype| {
        matches!(
            dtype,
            DType::F16 | DType::Bf16 | DType::F32 | DType::F64 | DType::F8E4M3 | DType::F8E5M2
        )
    };
    let is_wider = is_float(from) && is_float(to) && to.bytes() > from.bytes();
    if to == from || is_wider || from.is_integer() && to == DType::F64 {
        return Ok(());
    }
    let file = array.label();
    Err(format!(
        "{}: --dtype {to} would cast {from} before it is reduced: that is done to wider floats, and of integers to float64; --dtype-out \
         casts the answers",
        file.display()
    )
    .into())
}

impl<'a> Fold<'a> {
    /// Opens the files that a command line names. What it says of them alone is checked: a wrong name is told before a device is woken.
    pub fn open(args: &'a Reduce) -> Result<Self, Failure> {
        let (path, array) = reading::open(&args.file)?;
        let offsets = args.offsets.as_ref().map(|file| reading::open(file)).transpose()?;
        let mask = SecondInput::mask(args, &array)?;
        let second = SecondInput::second(args, &array)?;
        let mut inputs: Vec<Input<'_>> = vec![("the input".into(), &path)];
        inputs.extend(
            offsets
                .iter()
                .map(|(path, _)| ("the array of --offsets".into(), &**path)),
        );
        inputs.extend(mask.iter().map(|mask| mask.named.input()));
        inputs.extend(second.iter().map(|second| second.named.input()));
        let out = args.out.as_deref().map(|out| Out::new(out, &inputs)).transpose()?;
        check_cast(args, &array)?;
        let len = array.len();
        let division = match (args.segment_size, &args.offsets, &offsets) {
            (Some(size), ..) => Some(Division::BySize { size, len }),
            (None, Some(file), Some((_, offsets))) => Some(Division::by_offsets(file, offsets, len)?),
            _ => None,
        };
        Ok(Self {
            args,
            array,
            division,
            mask,
            second,
            out,
        })
    }

    /// What the elements are folded as: of answers in a wider float than the elements are, where the operator rounds, that type. So they are
    /// carried and rounded in the type that is asked for.
    pub fn folded_as(&self) -> DType {
        let own = self.array.dtype().decoded();
        if let (Some(DType::F64), true) = (self.args.dtype, own.is_integer()) {
            return DType::F64;
        }
        let is_narrow = matches!(own, DType::F16 | DType::Bf16);
        let is_narrower = is_narrow || matches!(own, DType::F32 | DType::F8E4M3 | DType::F8E5M2);
        match self.args.dtype_out {
            Some(DType::F32) if is_narrow && self.args.op.takes(Takes::rounds) => DType::F32,
            Some(DType::F64) if is_narrower && self.args.op.takes(Takes::rounds) => DType::F64,
            _ => own,
        }
    }

    /// How accurate: nothing is wider than what is folded as f64.
    pub fn accuracy(&self) -> Accuracy {
        match (self.args.accuracy, self.folded_as()) {
            (Accuracy::Wide, DType::F64) if self.array.dtype() != DType::F64 => Accuracy::Native,
            (accuracy, _) => accuracy,
        }
    }

    /// Folds, writes the answers where that is asked for, and says what came of it.
    pub fn run(&self, folder: &dyn Folder) -> Result<Report, Failure> {
        if self.args.dtype_out.is_some() && matches!(folder.answer().dtype, DType::Complex64 | DType::Complex128) {
            return Err("complex answers are not cast to another type: leave out --dtype-out".into());
        }
        let axes = match self.args.axis[..] {
            [] => None,
            _ => Some(self.axes()?),
        };
        let is_whole = axes.is_none() && self.division.is_none();
        if self.args.device == Wanted::Emulator && !is_whole {
            return Err(WHOLE_ONLY.into());
        }
        if let Some(out) = &self.out {
            let axes = self.axes_out(axes.as_ref())?;
            out.check(axes + usize::from(folder.answer().parts > 1))?;
        }
        let plan = || self.plan(folder.entry()?, axes.as_ref());
        let copied = if is_whole { Copied::InPieces } else { Copied::Whole };
        let estimate = match self.args.device {
            Wanted::Best if cfg!(feature = "cuda") => folder.estimate(copied)?,
            _ => None,
        };
        let wanted = estimate.map_or(self.args.device, Estimate::sooner);
        let device = folder.open(wanted, &|| plan().map(drop))?.told();
        let explain = || -> Result<Explained, Failure> {
            let plan = plan()?;
            let (on, memory) = device.memory();
            Ok(Explained {
                plan: format!("{plan}; {}", plan.entry.strategy),
                predicted_seconds: plan.predicted_time(&memory).as_secs_f64(),
                predicted_for: on,
                choice: estimate.map(|estimate| estimate.to_string()),
            })
        };
        let explained = self.args.explain.then(explain).transpose()?;
        let (answers, elements) = match (&self.division, &axes) {
            (Some(division), _) => (folder.segments(&device, division)?, vec![]),
            (None, Some(axes)) => (folder.along(&device, axes)?, vec![]),
            (None, None) => folder.whole(&device)?,
        };
        self.report(folder.name(), &device, (answers, elements), explained)
    }

    /// What came of it: answers, and the elements that they tell of. The answers are written where that is asked for.
    pub fn report(
        &self,
        op: &'static str,
        device: &Device,
        (answers, elements): (Answers, Vec<Scalar>),
        explained: Option<Explained>,
    ) -> Result<Report, Failure> {
        let answers = match self.args.dtype_out {
            None => answers,
            Some(dtype) => answers.cast(dtype).map_err(|error| self.in_file(error))?,
        };
        let out = self
            .out
            .as_ref()
            .map(|out| out.write(&answers, self.array.name()))
            .transpose()?;
        Ok(Report {
            op,
            file: self.args.file.display().to_string(),
            with: self.args.with.as_ref().map(|with| with.display().to_string()),
            device: device.name(),
            device_in_words: device.to_string(),
            dtype: self.array.dtype_name().to_owned(),
            shape: self.array.shape().to_vec(),
            outcome: match &self.args.axis[..] {
                [] if self.division.is_some() => Outcome::Segments(answers),
                [] => Outcome::Whole(Value {
                    result: answers.each(0..answers.len()).collect(),
                    elements,
                }),
                axis => Outcome::Along(axis.to_vec(), answers),
            },
            cast_to: self.args.dtype_out,
            explained,
            to_stderr: self.out.as_ref().is_some_and(Out::is_stdout),
            out: self.out.as_ref().map(Out::label).zip(out),
            correction: self
                .args
                .op
                .takes(Takes::correction)
                .then(|| self.args.correction.unwrap_or(1.0)),
            seconds: clock::seconds(),
            bytes: self.array.bytes() + self.second.as_ref().map_or(0, |second| second.named.tensor.bytes()),
        })
    }

    /// What a GPU launches for the array in its memory, but for clusters, which not every GPU has.
    fn plan(&self, entry: &'static Entry, axes: Option<&Axes>) -> Result<Plan, Failure> {
        let (axes, layout) = match (&self.division, axes) {
            (Some(division), _) => return Ok(Plan::segments(entry, division.len(), division.count())?),
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
    pub fn axes(&self) -> Result<Axes, Failure> {
        let axes = Axes::of(&self.args.axis);
        let axes = if self.args.keepdim { axes.keepdim() } else { axes };
        let layout = Layout::c_order(self.array.shape())?;
        Extents::new(&layout, &axes).map_err(|error| self.in_file(error))?;
        Ok(axes)
    }

    /// How many axes the output has, if an answer is one number.
    fn axes_out(&self, axes: Option<&Axes>) -> Result<usize, Failure> {
        Ok(match (&self.division, axes) {
            (Some(_), _) => 1,
            (None, Some(axes)) => Extents::new(&Layout::c_order(self.array.shape())?, axes)?.shape.len(),
            (None, None) if self.args.keepdim => self.array.shape().len(),
            (None, None) => 0,
        })
    }

    /// The one answer of the whole array.
    pub fn one(&self, answer: AnswerType, bytes: Vec<u8>) -> Answers {
        let axes = if self.args.keepdim { self.array.shape().len() } else { 0 };
        answer.answers(vec![1; axes], bytes)
    }

    pub fn in_file(&self, error: impl Into<Failure>) -> Failure {
        format!("{}: {}", self.args.file.display(), error.into()).into()
    }

    /// Whether every element is folded, as it is and by itself.
    pub fn is_plain(&self) -> bool {
        let native = self.accuracy() == Accuracy::Native && self.args.nan == Nan::Propagate;
        native && self.mask.is_none() && self.second.is_none()
    }

    pub fn not_emulated(&self) -> Failure {
        match (&self.mask, &self.second) {
            (Some(_), _) => NO_MASK.into(),
            (_, Some(_)) => NO_SECOND.into(),
            _ => not_emulated(&format!("{} of {}", name(self.args.op), self.array.dtype_name())),
        }
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

    pub fn no_mask(&self, mask: &SecondInput) -> Failure {
        format!(
            "{} of {} has no mask here: leave out --where {}",
            name(self.args.op),
            self.array.dtype_name(),
            mask.named.tensor.label().display()
        )
        .into()
    }

    pub fn no_nan(&self) -> Failure {
        let dtype = self.array.dtype_name();
        format!("NaN is not left out of {dtype}: leave out --nan ignore").into()
    }

    pub fn meaningless(&self) -> Failure {
        Error::Meaningless {
            op: name(self.args.op),
            dtype: self.array.dtype_name().to_owned(),
        }
        .into()
    }
}
