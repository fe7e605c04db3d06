//! `warpfold reduce`: file, pieces, device, answer.

use std::{borrow::Cow, time::Instant};

use bytemuck::NoUninit;
use clap::ValueEnum;
use warpfold::{
    Error,
    files::{self, DType, Tensor, TensorFile, bf16, f16},
    ops::{
        self, Reduction, element,
        monoids::{Arg, Best, Key},
    },
    pieces::Pieces,
};

use crate::{
    Failure, Op, Reduce,
    device::Device,
    progress::Progress,
    report::{Report, Value},
};

/// Does what the command line asks for.
pub fn run(args: &Reduce) -> Result<Report, Failure> {
    // The file first: a wrong name is told before a device is woken.
    let array = TensorFile::open(&args.file)?.one()?;
    let dtype = array.dtype();
    let fold = Fold { args, array };
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
        _ => Err(Error::Dtype {
            path: fold.array.label(),
            dtype: fold.array.dtype_name().to_owned(),
        }
        .into()),
    }
}

/// Elements that the command folds.
trait Element: element::Element + NoUninit {
    /// What a file's elements are read as.
    type Read: files::Element;

    /// The elements that were read.
    fn of(read: &[Self::Read]) -> Cow<'_, [Self]>;

    /// Folds with the operator that the command line names, if it has a meaning for these elements.
    fn fold(fold: Fold<'_>) -> Result<Report, Failure>;
}

macro_rules! element {
    ($element:ty, read as $read:ty, $of:expr, $kind:ident) => {
        impl Element for $element {
            type Read = $read;
            fn of(read: &[$read]) -> Cow<'_, [Self]> {
                $of(read)
            }
            fn fold(fold: Fold<'_>) -> Result<Report, Failure> {
                match fold.args.op {
                    Op::Sum => fold.run::<Self, _>(ops::Sum, |sum, _| Value::of([sum])),
                    Op::Prod => fold.run::<Self, _>(ops::Product, |product, _| Value::of([product])),
                    Op::Mean => fold.run::<Self, _>(ops::Mean, |mean, _| Value::of([mean])),
                    Op::Min => fold.run::<Self, _>(ops::Min, |min, _| Value::of([min])),
                    Op::Max => fold.run::<Self, _>(ops::Max, |max, _| Value::of([max])),
                    Op::Argmin => fold.arg::<Self, _>(ops::ArgMin),
                    Op::Argmax => fold.arg::<Self, _>(ops::ArgMax),
                    Op::ArgminLast => fold.arg::<Self, _>(ops::ArgMinLast),
                    Op::ArgmaxLast => fold.arg::<Self, _>(ops::ArgMaxLast),
                    Op::CountNonzero => fold.run::<Self, _>(ops::CountNonzero, |count, _| Value::of([count])),
                    Op::Any => fold.run::<Self, _>(ops::Any, |any, _| Value::of([any])),
                    Op::All => fold.run::<Self, _>(ops::All, |all, _| Value::of([all])),
                    _ => element!(@$kind fold),
                }
            }
        }
    };
    (@floats $fold:ident) => {
        match $fold.args.op {
            Op::L1 => $fold.run::<Self, _>(ops::NormL1, |norm, _| Value::of([norm])),
            Op::L2 => $fold.run::<Self, _>(ops::NormL2, |norm, _| Value::of([norm])),
            Op::Linf => $fold.run::<Self, _>(ops::NormInf, |norm, _| Value::of([norm])),
            Op::Sumsq => $fold.run::<Self, _>(ops::SumOfSquares, |sum, _| Value::of([sum])),
            Op::CountNan => $fold.run::<Self, _>(ops::CountNan, |count, _| Value::of([count])),
            Op::Logsumexp => $fold.run::<Self, _>(ops::LogSumExp, |sum, _| Value::of([sum])),
            Op::CountInf => $fold.run::<Self, _>(ops::CountInf, |count, _| Value::of([count])),
            _ => element!(@integers $fold),
        }
    };
    (@singles $fold:ident) => {{
        let correction = $fold.args.correction;
        match $fold.args.op {
            Op::Var => $fold.run::<Self, _>(ops::Variance { correction }, |variance, _| Value::of([variance])),
            Op::Std => $fold.run::<Self, _>(ops::StdDev { correction }, |std, _| Value::of([std])),
            Op::Meanvar => $fold.run::<Self, _>(ops::MeanVariance { correction }, |(mean, variance), _| {
                Value::of([mean, variance])
            }),
            Op::Skew => $fold.run::<Self, _>(ops::Skewness, |skewness, _| Value::of([skewness])),
            Op::Kurtosis => $fold.run::<Self, _>(ops::Kurtosis, |kurtosis, _| Value::of([kurtosis])),
            Op::Lp => {
                let p = $fold.args.ord.ok_or("lp needs its power: --ord")?;
                $fold.run::<Self, _>(ops::NormLp { p }, |norm, _| Value::of([norm]))
            }
            _ => element!(@floats $fold),
        }
    }};
    (@integers $fold:ident) => {
        match $fold.args.op {
            Op::Minmax => $fold.run::<Self, _>(ops::MinMax, |(min, max), _| Value::of([min, max])),
            Op::Argminmax => $fold.run::<Self, _>(ops::ArgMinMax, |(min, max), best| {
                let values = [
                    Arg::SMALLEST.value::<Self>(best.0),
                    Arg::LARGEST.value::<Self>(best.1),
                ];
                Value::at([min, max], values)
            }),
            _ => element!(@truths $fold),
        }
    };
    (@truths $fold:ident) => {
        Err($fold.meaningless())
    };
}

element!(
    bool,
    read as u8,
    |read: &[u8]| read.iter().map(|byte| *byte != 0).collect(),
    truths
);
element!(u8, read as Self, Cow::from, integers);
element!(i8, read as Self, Cow::from, integers);
element!(u16, read as Self, Cow::from, integers);
element!(i16, read as Self, Cow::from, integers);
element!(u32, read as Self, Cow::from, integers);
element!(i32, read as Self, Cow::from, integers);
element!(u64, read as Self, Cow::from, integers);
element!(i64, read as Self, Cow::from, integers);
element!(f16, read as Self, Cow::from, floats);
element!(bf16, read as Self, Cow::from, floats);
element!(f32, read as Self, Cow::from, singles);
element!(f64, read as Self, Cow::from, singles);

struct Fold<'a> {
    args: &'a Reduce,
    array: Tensor,
}

impl Fold<'_> {
    fn meaningless(&self) -> Failure {
        let op = self.args.op.to_possible_value();
        Error::Meaningless {
            op: op.map(|op| op.get_name().to_owned()).unwrap_or_default(),
            dtype: self.array.dtype_name().to_owned(),
        }
        .into()
    }

    /// An index, and the element there.
    fn arg<T, R>(self, op: R) -> Result<Report, Failure>
    where
        T: Element + Into<crate::report::Scalar>,
        R: Reduction<T, Answer = u64, State = Best<Key<T>>, Monoid = Arg>,
    {
        self.run::<T, R>(op, |index, best| Value::at([index], [op.monoid().value::<T>(best)]))
    }

    fn run<T: Element, R: Reduction<T>>(
        self,
        op: R,
        value: impl Fn(R::Answer, R::State) -> Value,
    ) -> Result<Report, Failure> {
        let Self { args, array } = self;
        let device = Device::open::<T, R>(args.device, op)?;
        let in_file = |error: Error| format!("{}: {error}", args.file.display());
        let (shape, bytes, elements) = (array.shape().to_vec(), array.bytes(), array.len());
        let mut progress = Progress::of_bytes(bytes);

        let start = Instant::now();
        let len = device.piece::<T>()?;
        let mut pieces = Pieces::<R, T>::new(op, len as u64)?;
        for piece in array.stream::<T::Read>(len)? {
            let piece = piece?;
            let values = T::of(&piece);
            pieces
                .push(device.fold(op, &values)?, values.len() as u64)
                .map_err(in_file)?;
            progress.advance(size_of_val(&*piece) as u64);
        }
        assert_eq!(pieces.len(), elements, "the reader ended early without saying why");
        let (answer, state) = pieces.finish().map_err(in_file)?;
        let seconds = start.elapsed().as_secs_f64();

        Ok(Report {
            op: R::NAME,
            file: args.file.display().to_string(),
            device: device.name(),
            device_in_words: device.to_string(),
            dtype: array.dtype_name().to_owned(),
            shape,
            value: value(answer, state),
            seconds,
            bytes,
        })
    }
}
