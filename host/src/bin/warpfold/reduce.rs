//! `warpfold reduce`: file, pieces, device, answer.

use std::{borrow::Cow, time::Instant};

use bytemuck::NoUninit;
use warpfold::{
    Error, Plan,
    files::{self, DType, Tensor, TensorFile, bf16, complex64, f8e4m3, f8e5m2, f16},
    layout::{Axes, Extents, Folded, Layout, Segments},
    ops::{
        self, IgnoreNan, Reduction, element,
        monoids::{Arg, Best, Key},
    },
    pieces::Pieces,
};

use crate::{
    Accuracy, Failure, Nan, Op, Reduce,
    answers::{Answer, Answers},
    device::Device,
    masks::Mask,
    name,
    out::Out,
    progress::Progress,
    report::{Explained, Outcome, Report, Value},
    scalar::Scalar,
    segments,
};

/// Does what the command line asks for.
pub fn run(args: &Reduce) -> Result<Report, Failure> {
    // The file first: a wrong name is told before a device is woken.
    let file = TensorFile::open(&args.file)?;
    let out = args.out.as_deref().map(|out| Out::new(out, file.path())).transpose()?;
    let array = file.one()?;
    let dtype = array.dtype();
    let segments = segments::of(args, array.len())?;
    let mask = Mask::of(args, &array)?;
    let fold = Fold {
        args,
        array,
        segments,
        mask,
        out,
    };
    match dtype {
        DType::Bool => bool::fold(fold),
        DType::U8 => u8::fold(fold),
        DType::I8 => i8::fold(fold),
        DType::U16 => u16::fold(fold),
        DType::I16 => i16::fold(fold),
        DType::U32 => u32::fold(fold),
        DType::I32 => i32::fold(fold),
        DType::U64 => u64::fold(fold),
        DType::I64 => i64::fold(fold),
        DType::F16 => f16::fold(fold),
        DType::Bf16 => bf16::fold(fold),
        DType::F32 => f32::fold(fold),
        DType::F64 => f64::fold(fold),
        DType::F8E4M3 => f8e4m3::fold(fold),
        DType::F8E5M2 => f8e5m2::fold(fold),
        DType::Complex64 => complex64::fold(fold),
        _ => Err(Error::Dtype {
            path: fold.array.label(),
            dtype: fold.array.dtype_name().to_owned(),
        }
        .into()),
    }
}

/// Elements that the command folds.
pub trait Element: element::Element + NoUninit {
    /// What a file's elements are read as.
    type Read: files::Element;

    /// The elements that were read.
    fn of(read: &[Self::Read]) -> Cow<'_, [Self]>;

    /// Folds with the operator that the command line names, if it has a meaning for these elements.
    fn fold(fold: Fold<'_>) -> Result<Report, Failure>;
}

macro_rules! element {
    ($element:ty, read as $read:ty, $of:expr, $kind:ident, $($accuracy:ident)*) => {
        impl Element for $element {
            type Read = $read;
            fn of(read: &[$read]) -> Cow<'_, [Self]> {
                $of(read)
            }
            fn fold(mut fold: Fold<'_>) -> Result<Report, Failure> {
                if let Some(mask) = fold.mask.take() {
                    return element!(@masked $kind fold, mask);
                }
                element!(@ignore_nan $kind fold);
                match (fold.args.accuracy, fold.args.op) {
                    (Accuracy::Native, _) => {}
                    $(
                        (Accuracy::$accuracy, Op::Sum) => return fold.run::<Self, _>(ops::$accuracy(ops::Sum)),
                        (Accuracy::$accuracy, Op::Mean) => return fold.run::<Self, _>(ops::$accuracy(ops::Mean)),
                    )*
                    _ => return Err(fold.no_such_accuracy()),
                }
                element!(@$kind fold)
            }
        }
    };
    (@masked floats $fold:ident, $mask:ident) => {
        match $fold.args.op {
            Op::L1 => $fold.run_where::<Self, _>(ops::NormL1, &$mask),
            Op::L2 => $fold.run_where::<Self, _>(ops::NormL2, &$mask),
            Op::Linf => $fold.run_where::<Self, _>(ops::NormInf, &$mask),
            Op::Logsumexp => $fold.run_where::<Self, _>(ops::LogSumExp, &$mask),
            _ => element!(@masked plain $fold, $mask),
        }
    };
    (@masked singles $fold:ident, $mask:ident) => {{
        let correction = $fold.args.correction;
        match $fold.args.op {
            Op::Var => $fold.run_where::<Self, _>(ops::Variance { correction }, &$mask),
            Op::Std => $fold.run_where::<Self, _>(ops::StdDev { correction }, &$mask),
            _ => element!(@masked floats $fold, $mask),
        }
    }};
    (@masked fp8 $fold:ident, $mask:ident) => {
        Err($fold.no_mask(&$mask))
    };
    (@masked complex $fold:ident, $mask:ident) => {
        Err($fold.no_mask(&$mask))
    };
    (@masked $others:ident $fold:ident, $mask:ident) => {
        match $fold.args.op {
            Op::Sum => $fold.run_where::<Self, _>(ops::Sum, &$mask),
            Op::Prod => $fold.run_where::<Self, _>(ops::Product, &$mask),
            Op::Mean => $fold.run_where::<Self, _>(ops::Mean, &$mask),
            Op::Min => $fold.run_where::<Self, _>(ops::Min, &$mask),
            Op::Max => $fold.run_where::<Self, _>(ops::Max, &$mask),
            Op::Argmin => $fold.arg_where::<Self, _>(ops::ArgMin, Arg::SMALLEST, &$mask),
            Op::Argmax => $fold.arg_where::<Self, _>(ops::ArgMax, Arg::LARGEST, &$mask),
            Op::ArgminLast => $fold.arg_where::<Self, _>(ops::ArgMinLast, Arg::SMALLEST, &$mask),
            Op::ArgmaxLast => $fold.arg_where::<Self, _>(ops::ArgMaxLast, Arg::LARGEST, &$mask),
            Op::CountNonzero => $fold.run_where::<Self, _>(ops::CountNonzero, &$mask),
            Op::Any => $fold.run_where::<Self, _>(ops::Any, &$mask),
            Op::All => $fold.run_where::<Self, _>(ops::All, &$mask),
            _ => Err($fold.no_mask(&$mask)),
        }
    };
    // Of what may be NaN there are operators of their own, of the rest the plain ones.
    (@ignore_nan floats $fold:ident) => {
        if $fold.args.nan == Nan::Ignore {
            return match $fold.args.op {
                Op::Sum => $fold.run::<Self, _>(IgnoreNan(ops::Sum)),
                Op::Prod => $fold.run::<Self, _>(IgnoreNan(ops::Product)),
                Op::Mean => $fold.run::<Self, _>(IgnoreNan(ops::Mean)),
                Op::Min => $fold.run::<Self, _>(IgnoreNan(ops::Min)),
                Op::Max => $fold.run::<Self, _>(IgnoreNan(ops::Max)),
                Op::Argmin => $fold.arg::<Self, _>(IgnoreNan(ops::ArgMin), Arg::SMALLEST),
                Op::Argmax => $fold.arg::<Self, _>(IgnoreNan(ops::ArgMax), Arg::LARGEST),
                Op::ArgminLast => $fold.arg::<Self, _>(IgnoreNan(ops::ArgMinLast), Arg::SMALLEST),
                Op::ArgmaxLast => $fold.arg::<Self, _>(IgnoreNan(ops::ArgMaxLast), Arg::LARGEST),
                _ => Err($fold.meaningless()),
            };
        }
    };
    (@ignore_nan singles $fold:ident) => {
        let correction = $fold.args.correction;
        match ($fold.args.nan, $fold.args.op) {
            (Nan::Ignore, Op::Var) => return $fold.run::<Self, _>(IgnoreNan(ops::Variance { correction })),
            (Nan::Ignore, Op::Std) => return $fold.run::<Self, _>(IgnoreNan(ops::StdDev { correction })),
            _ => {}
        }
        element!(@ignore_nan floats $fold);
    };
    (@ignore_nan fp8 $fold:ident) => {
        if $fold.args.nan == Nan::Ignore {
            return Err(format!("NaN is not left out of {}: leave out --nan ignore", $fold.array.dtype_name()).into());
        }
    };
    (@ignore_nan complex $fold:ident) => {
        element!(@ignore_nan fp8 $fold);
    };
    (@ignore_nan $without:ident $fold:ident) => {};
    (@floats $fold:ident) => {
        match $fold.args.op {
            Op::L1 => $fold.run::<Self, _>(ops::NormL1),
            Op::L2 => $fold.run::<Self, _>(ops::NormL2),
            Op::Linf => $fold.run::<Self, _>(ops::NormInf),
            Op::Sumsq => $fold.run::<Self, _>(ops::SumOfSquares),
            Op::CountNan => $fold.run::<Self, _>(ops::CountNan),
            Op::Logsumexp => $fold.run::<Self, _>(ops::LogSumExp),
            Op::CountInf => $fold.run::<Self, _>(ops::CountInf),
            _ => element!(@numbers $fold),
        }
    };
    (@singles $fold:ident) => {{
        let correction = $fold.args.correction;
        match $fold.args.op {
            Op::Var => $fold.run::<Self, _>(ops::Variance { correction }),
            Op::Std => $fold.run::<Self, _>(ops::StdDev { correction }),
            Op::Meanvar => $fold.run::<Self, _>(ops::MeanVariance { correction }),
            Op::Skew => $fold.run::<Self, _>(ops::Skewness),
            Op::Kurtosis => $fold.run::<Self, _>(ops::Kurtosis),
            Op::Lp => {
                let p = $fold.args.ord.ok_or("lp needs its power: --ord")?;
                $fold.run::<Self, _>(ops::NormLp { p })
            }
            _ => element!(@floats $fold),
        }
    }};
    (@integers $fold:ident) => {
        match $fold.args.op {
            Op::BitAnd => $fold.run::<Self, _>(ops::BitAnd),
            Op::BitOr => $fold.run::<Self, _>(ops::BitOr),
            Op::BitXor => $fold.run::<Self, _>(ops::BitXor),
            _ => element!(@numbers $fold),
        }
    };
    (@numbers $fold:ident) => {
        match $fold.args.op {
            Op::Minmax => $fold.run::<Self, _>(ops::MinMax),
            Op::Argminmax => $fold.locate::<Self, _>(ops::ArgMinMax, |best| {
                let smallest = Arg::SMALLEST.value::<Self>(best.0);
                let largest = Arg::LARGEST.value::<Self>(best.1);
                vec![smallest.into(), largest.into()]
            }),
            _ => element!(@truths $fold),
        }
    };
    (@truths $fold:ident) => {
        match $fold.args.op {
            Op::Prod => $fold.run::<Self, _>(ops::Product),
            Op::CountNonzero => $fold.run::<Self, _>(ops::CountNonzero),
            Op::Any => $fold.run::<Self, _>(ops::Any),
            Op::All => $fold.run::<Self, _>(ops::All),
            _ => element!(@ordered $fold),
        }
    };
    (@fp8 $fold:ident) => {
        match $fold.args.op {
            Op::Linf => $fold.run::<Self, _>(ops::NormInf),
            Op::CountNan => $fold.run::<Self, _>(ops::CountNan),
            _ => element!(@ordered $fold),
        }
    };
    (@complex $fold:ident) => {
        match $fold.args.op {
            Op::L2 => $fold.run::<Self, _>(ops::NormL2),
            Op::Linf => $fold.run::<Self, _>(ops::NormInf),
            _ => element!(@sums $fold),
        }
    };
    (@ordered $fold:ident) => {
        match $fold.args.op {
            Op::Min => $fold.run::<Self, _>(ops::Min),
            Op::Max => $fold.run::<Self, _>(ops::Max),
            Op::Argmin => $fold.arg::<Self, _>(ops::ArgMin, Arg::SMALLEST),
            Op::Argmax => $fold.arg::<Self, _>(ops::ArgMax, Arg::LARGEST),
            Op::ArgminLast => $fold.arg::<Self, _>(ops::ArgMinLast, Arg::SMALLEST),
            Op::ArgmaxLast => $fold.arg::<Self, _>(ops::ArgMaxLast, Arg::LARGEST),
            _ => element!(@sums $fold),
        }
    };
    (@sums $fold:ident) => {
        match $fold.args.op {
            Op::Sum => $fold.run::<Self, _>(ops::Sum),
            Op::Mean => $fold.run::<Self, _>(ops::Mean),
            _ => Err($fold.meaningless()),
        }
    };
}

element!(
    bool,
    read as u8,
    |read: &[u8]| read.iter().map(|byte| *byte != 0).collect(),
    truths,
);
element!(u8, read as Self, Cow::from, integers,);
element!(i8, read as Self, Cow::from, integers,);
element!(u16, read as Self, Cow::from, integers,);
element!(i16, read as Self, Cow::from, integers,);
element!(u32, read as Self, Cow::from, integers,);
element!(i32, read as Self, Cow::from, integers,);
element!(u64, read as Self, Cow::from, integers,);
element!(i64, read as Self, Cow::from, integers,);
element!(f16, read as Self, Cow::from, floats, Wide);
element!(bf16, read as Self, Cow::from, floats, Wide);
element!(f32, read as Self, Cow::from, singles, Compensated Wide Exact);
element!(f64, read as Self, Cow::from, singles, Compensated);
element!(f8e4m3, read as Self, Cow::from, fp8,);
element!(f8e5m2, read as Self, Cow::from, fp8,);
element!(complex64, read as Self, Cow::from, complex,);

pub struct Fold<'a> {
    pub args: &'a Reduce,
    pub array: Tensor,
    pub segments: Option<Segments>,
    mask: Option<Mask>,
    out: Option<Out>,
}

/// What a fold took, and the elements that its answer tells of.
pub struct Took {
    pub seconds: f64,
    pub elements: Vec<Scalar>,
}

impl Fold<'_> {
    fn no_such_accuracy(&self) -> Failure {
        format!(
            "{} of {} is not computed with --accuracy {}: sum and mean are, compensated of float32 and float64, wide of float16, \
             bfloat16 and float32, exact of float32",
            name(self.args.op),
            self.array.dtype_name(),
            name(self.args.accuracy),
        )
        .into()
    }

    fn meaningless(&self) -> Failure {
        Error::Meaningless {
            op: name(self.args.op),
            dtype: self.array.dtype_name().to_owned(),
        }
        .into()
    }

    /// Answers that speak for themselves.
    fn run<T: Element, R: Reduction<T, Answer: Answer>>(self, op: R) -> Result<Report, Failure> {
        self.locate::<T, R>(op, |_| vec![])
    }

    /// An index, as `arg` finds it but for NaN; of the whole array, the element there, too.
    fn arg<T, R>(self, op: R, arg: Arg) -> Result<Report, Failure>
    where
        T: Element + element::Real + Into<Scalar>,
        R: Reduction<T, Answer = u64, State = Best<Key<T>>>,
    {
        self.locate::<T, R>(op, |best| vec![arg.value::<T>(best).into()])
    }

    /// Answers, and the elements that they tell of.
    fn locate<T: Element, R: Reduction<T, Answer: Answer>>(
        self,
        op: R,
        elements: impl Fn(R::State) -> Vec<Scalar>,
    ) -> Result<Report, Failure> {
        if self.args.dtype_out.is_some() && R::Answer::DTYPE == DType::Complex64 {
            return Err("complex answers are not cast to another type: leave out --dtype-out".into());
        }
        let (device, answers, seconds, elements) = if let Some(segments) = &self.segments {
            let device = Device::open_for_many::<T, R>(self.args.device, op)?;
            let start = Instant::now();
            let read = self.array.read::<T::Read>()?;
            let answers = device.fold_segments(op, &T::of(&read), segments);
            let answers = answers.map_err(|error| self.in_file(error))?;
            let shape = vec![segments.count() as u64];
            (device, Folded { shape, answers }, start.elapsed().as_secs_f64(), vec![])
        } else if self.args.axis.is_empty() {
            let device = Device::open::<T, R>(self.args.device, op)?;
            let start = Instant::now();
            let (answer, state) = self.whole::<T, R>(&device, op)?;
            let seconds = start.elapsed().as_secs_f64();
            let shape = self.shape_of_one();
            let answers = vec![answer];
            (device, Folded { shape, answers }, seconds, elements(state))
        } else {
            let axes = self.axes()?;
            let device = Device::open_for_many::<T, R>(self.args.device, op)?;
            let start = Instant::now();
            let folded = self.along::<T, R>(&device, op, &axes)?;
            (device, folded, start.elapsed().as_secs_f64(), vec![])
        };
        let took = Took { seconds, elements };
        let plan = || self.plan::<T, R>(op);
        self.report(R::NAME, &device, answers, took, plan)
    }

    /// The shape of one answer.
    pub fn shape_of_one(&self) -> Vec<u64> {
        vec![1; if self.args.keepdim { self.array.shape().len() } else { 0 }]
    }

    /// What is said of a fold, `plan` being what a GPU launches for it; the answers are written where that is asked for.
    pub fn report<A: Answer>(
        &self,
        op: &'static str,
        device: &Device,
        answers: Folded<A>,
        Took { seconds, elements }: Took,
        plan: impl FnOnce() -> Result<Plan, Failure>,
    ) -> Result<Report, Failure> {
        let answers = Answers::new(answers);
        let answers = match self.args.dtype_out {
            None => answers,
            Some(dtype) => answers.cast(dtype),
        };
        let out = self.out.as_ref().map(|out| out.write(&answers)).transpose()?;
        let explain = || -> Result<Explained, Failure> {
            let plan = plan()?;
            let (on, memory) = device.memory();
            Ok(Explained {
                plan: plan.to_string(),
                predicted_seconds: plan.predicted_time(&memory).as_secs_f64(),
                predicted_for: on,
            })
        };
        let explained = self.args.explain.then(explain).transpose()?;
        Ok(Report {
            op,
            file: self.args.file.display().to_string(),
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
            bytes: self.array.bytes(),
        })
    }

    /// What a GPU launches for the array in its memory.
    fn plan<T: Element, R: Reduction<T>>(&self, op: R) -> Result<Plan, Failure> {
        Ok(match &self.segments {
            Some(segments) => Plan::segments(op.entry(), segments.len(), segments.count() as u64)?,
            None if self.args.axis.is_empty() => Plan::new(op.entry(), self.array.len()),
            None => Plan::along(op.entry(), &Extents::new(&self.array.layout()?, &self.axes()?)?)?,
        })
    }

    /// The whole array, a piece at a time.
    fn whole<T: Element, R: Reduction<T>>(&self, device: &Device, op: R) -> Result<(R::Answer, R::State), Failure> {
        let mut progress = Progress::of_bytes(self.array.bytes());
        let len = device.piece::<T>()?;
        let mut pieces = Pieces::<R, T>::new(op, len as u64)?;
        for piece in self.array.stream::<T::Read>(len)? {
            let piece = piece?;
            let values = T::of(&piece);
            pieces
                .push(device.fold(op, &values)?, values.len() as u64)
                .map_err(|error| self.in_file(error))?;
            progress.advance(size_of_val(&*piece) as u64);
        }
        assert_eq!(
            pieces.len(),
            self.array.len(),
            "the reader ended early without saying why"
        );
        pieces.finish().map_err(|error| self.in_file(error))
    }

    /// Axes that the array has: known before any of it is read.
    pub fn axes(&self) -> Result<Axes, Failure> {
        let axes = Axes::of(&self.args.axis);
        let axes = if self.args.keepdim { axes.keepdim() } else { axes };
        let layout = Layout::c_order(self.array.shape())?;
        Extents::new(&layout, &axes).map_err(|error| self.in_file(error))?;
        Ok(axes)
    }

    /// The array as it lies in the file, along axes.
    fn along<T: Element, R: Reduction<T>>(
        &self,
        device: &Device,
        op: R,
        axes: &Axes,
    ) -> Result<Folded<R::Answer>, Failure> {
        let (read, layout) = self.array.read_in_place::<T::Read>()?;
        let folded = device.fold_axes(op, &T::of(&read), &layout, axes);
        folded.map_err(|error| self.in_file(error))
    }

    pub fn in_file(&self, error: impl std::fmt::Display) -> Failure {
        format!("{}: {error}", self.args.file.display()).into()
    }
}
