//! `warpfold reduce`: which operator folds which elements.

use std::borrow::Cow;

use bytemuck::NoUninit;
use warpfold::{
    Error,
    files::{DType, bf16, complex64, complex128, f8e4m3, f8e5m2, f16},
    ops::{self, element, monoids::Arg},
};

use crate::{
    Accuracy, Failure, Nan, Op, Reduce,
    device::Wanted,
    fold::Fold,
    folder::{Choice, Folder, Folding, emulated, ignoring, masked, masked_ignoring, pair, plain},
    reading::Read,
    report::Report,
    room::room,
};

/// Does what the command line asks for.
pub fn run(args: &Reduce) -> Result<Report, Failure> {
    let fold = &Fold::open(args)?;
    let folder = match fold.folded_as() {
        DType::Bool => of::<bool>(fold),
        DType::U8 => of::<u8>(fold),
        DType::I8 => of::<i8>(fold),
        DType::U16 => of::<u16>(fold),
        DType::I16 => of::<i16>(fold),
        DType::U32 => of::<u32>(fold),
        DType::I32 => of::<i32>(fold),
        DType::U64 => of::<u64>(fold),
        DType::I64 => of::<i64>(fold),
        DType::F16 => of::<f16>(fold),
        DType::Bf16 => of::<bf16>(fold),
        DType::F32 => of::<f32>(fold),
        DType::F64 => of::<f64>(fold),
        DType::F8E4M3 => of::<f8e4m3>(fold),
        DType::F8E5M2 => of::<f8e5m2>(fold),
        DType::Complex64 => of::<complex64>(fold),
        DType::Complex128 => of::<complex128>(fold),
        _ => {
            return Err(Error::Dtype {
                path: fold.array.label(),
                dtype: fold.array.dtype_name().to_owned(),
            }
            .into());
        }
    };
    fold.run(&*folder?)
}

/// What folds elements of a type as the command line says.
fn of<'a, T: Element>(fold: &'a Fold<'a>) -> Result<Box<dyn Folder + 'a>, Failure> {
    let (chosen, otherwise) = match (&fold.mask, fold.args.nan, fold.accuracy()) {
        (Some(mask), Nan::Propagate, Accuracy::Native) => (T::masked(fold), fold.no_mask(mask)),
        (Some(mask), Nan::Ignore, _) => (T::masked_ignoring(fold), fold.no_mask(mask)),
        (Some(_), ..) => (T::masked_accurate(fold), fold.no_such_accuracy()),
        (_, Nan::Ignore, _) => (T::ignoring(fold), fold.no_nan()),
        (_, _, Accuracy::Native) => (T::plain(fold), fold.meaningless()),
        _ => (T::accurate(fold), fold.no_such_accuracy()),
    };
    let mut chosen = chosen.ok_or(otherwise)?;
    if fold.args.device == Wanted::Emulator {
        chosen = T::emulated(fold).ok_or_else(|| fold.not_emulated())?;
    }
    Ok(Box::new(Folding { fold, chosen }))
}

/// Elements that the command folds: each operator that it has a meaning for.
pub trait Element: element::Element + NoUninit {
    /// What a file's elements are read as.
    type Read: Read;

    /// The elements that were read; an error where there is no memory for what they are turned into.
    fn of(read: &[Self::Read]) -> Result<Cow<'_, [Self]>, Error>;

    /// Over all elements.
    fn plain(fold: &Fold<'_>) -> Choice<Self>;
    /// Over those that a mask selects.
    fn masked(_fold: &Fold<'_>) -> Choice<Self> {
        None
    }
    /// Over those that are not NaN: all there are, of what has none.
    fn ignoring(fold: &Fold<'_>) -> Choice<Self> {
        Self::plain(fold)
    }
    /// Over those that a mask selects and that are not NaN.
    fn masked_ignoring(fold: &Fold<'_>) -> Choice<Self> {
        Self::masked(fold)
    }
    /// In another accuracy.
    fn accurate(_fold: &Fold<'_>) -> Choice<Self> {
        None
    }
    /// Over all elements, on the emulator, which the command has few kernels for: each is much code.
    fn emulated(_fold: &Fold<'_>) -> Choice<Self> {
        None
    }
    /// In another accuracy, over those that a mask selects.
    fn masked_accurate(_fold: &Fold<'_>) -> Choice<Self> {
        None
    }
}

/// The operator of the command line, if it is in one of some lists, `how` being the module of [`folder`](crate::folder) that makes it.
macro_rules! among {
    ($how:ident $fold:ident:) => {{
        let _: &Fold<'_> = $fold;
        None
    }};
    ($how:ident $fold:ident: moments $($more:ident)*) => {{
        let correction = $fold.args.correction.unwrap_or(1.0);
        match $fold.args.op {
            Op::Var => $how::run::<Self, _>(ops::Variance { correction }),
            Op::Std => $how::run::<Self, _>(ops::StdDev { correction }),
            _ => among!($how $fold: $($more)*),
        }
    }};
    ($how:ident $fold:ident: shape $($more:ident)*) => {{
        let correction = $fold.args.correction.unwrap_or(1.0);
        match $fold.args.op {
            Op::Meanvar => $how::run::<Self, _>(ops::MeanVariance { correction }),
            Op::Skew => $how::run::<Self, _>(ops::Skewness),
            Op::Kurtosis => $how::run::<Self, _>(ops::Kurtosis),
            Op::Lp => $how::run::<Self, _>(ops::NormLp { p: $fold.args.ord? }),
            _ => among!($how $fold: $($more)*),
        }
    }};
    ($how:ident $fold:ident: products $($more:ident)*) => {
        match $fold.args.op {
            Op::Dot => pair::run::<Self, _>(ops::Dot),
            Op::Cosine => pair::run::<Self, _>(ops::Cosine),
            _ => among!($how $fold: $($more)*),
        }
    };
    ($how:ident $fold:ident: pairs $($more:ident)*) => {
        match $fold.args.op {
            Op::Minmax => $how::run::<Self, _>(ops::MinMax),
            Op::Argminmax => $how::two_args::<Self, _>(ops::ArgMinMax),
            _ => among!($how $fold: $($more)*),
        }
    };
    ($how:ident $fold:ident: ordered $($more:ident)*) => {
        match $fold.args.op {
            Op::Min => $how::run::<Self, _>(ops::Min),
            Op::Max => $how::run::<Self, _>(ops::Max),
            Op::Argmin => $how::arg::<Self, _>(ops::ArgMin, Arg::SMALLEST),
            Op::Argmax => $how::arg::<Self, _>(ops::ArgMax, Arg::LARGEST),
            Op::ArgminLast => $how::arg::<Self, _>(ops::ArgMinLast, Arg::SMALLEST),
            Op::ArgmaxLast => $how::arg::<Self, _>(ops::ArgMaxLast, Arg::LARGEST),
            _ => among!($how $fold: $($more)*),
        }
    };
    ($how:ident $fold:ident: bits $($more:ident)*) => {
        match $fold.args.op {
            Op::BitAnd => $how::run::<Self, _>(ops::BitAnd),
            Op::BitOr => $how::run::<Self, _>(ops::BitOr),
            Op::BitXor => $how::run::<Self, _>(ops::BitXor),
            _ => among!($how $fold: $($more)*),
        }
    };
    ($how:ident $fold:ident: floats $($more:ident)*) => {
        match $fold.args.op {
            Op::Sumsq => $how::run::<Self, _>(ops::SumOfSquares),
            Op::CountInf => $how::run::<Self, _>(ops::CountInf),
            _ => among!($how $fold: $($more)*),
        }
    };
    ($how:ident $fold:ident: scales $($more:ident)*) => {
        match $fold.args.op {
            Op::L1 => $how::run::<Self, _>(ops::NormL1),
            Op::Logsumexp => $how::run::<Self, _>(ops::LogSumExp),
            _ => among!($how $fold: $($more)*),
        }
    };
    ($how:ident $fold:ident: l2 $($more:ident)*) => {
        match $fold.args.op {
            Op::L2 => $how::run::<Self, _>(ops::NormL2),
            _ => among!($how $fold: $($more)*),
        }
    };
    ($how:ident $fold:ident: linf $($more:ident)*) => {
        match $fold.args.op {
            Op::Linf => $how::run::<Self, _>(ops::NormInf),
            _ => among!($how $fold: $($more)*),
        }
    };
    ($how:ident $fold:ident: nans $($more:ident)*) => {
        match $fold.args.op {
            Op::CountNan => $how::run::<Self, _>(ops::CountNan),
            _ => among!($how $fold: $($more)*),
        }
    };
    ($how:ident $fold:ident: truths $($more:ident)*) => {
        match $fold.args.op {
            Op::CountNonzero => $how::run::<Self, _>(ops::CountNonzero),
            Op::Any => $how::run::<Self, _>(ops::Any),
            Op::All => $how::run::<Self, _>(ops::All),
            _ => among!($how $fold: $($more)*),
        }
    };
    ($how:ident $fold:ident: product $($more:ident)*) => {
        match $fold.args.op {
            Op::Prod => $how::run::<Self, _>(ops::Product),
            _ => among!($how $fold: $($more)*),
        }
    };
    ($how:ident $fold:ident: sums $($more:ident)*) => {
        match $fold.args.op {
            Op::Sum => $how::run::<Self, _>(ops::Sum),
            Op::Mean => $how::run::<Self, _>(ops::Mean),
            _ => among!($how $fold: $($more)*),
        }
    };
}

/// `type, read as another, by a function`, and the lists of its operators; where NaN is ignored they are the plain ones, if that has no
/// lists of its own.
macro_rules! element {
    (
        $element:ty, read as $read:ty, $of:expr;
        plain: $($plain:ident)*;
        $(masked: $($masked:ident)*;)?
        $(ignoring: $($ignoring:ident)*;)?
        $(accurate: $($accuracy:ident)*;)?
        $(emulated: $($emulated:ident)*;)?
    ) => {
        impl Element for $element {
            type Read = $read;
            fn of(read: &[$read]) -> Result<Cow<'_, [Self]>, Error> {
                $of(read)
            }
            fn plain(fold: &Fold<'_>) -> Choice<Self> {
                among!(plain fold: $($plain)*)
            }
            $(fn masked(fold: &Fold<'_>) -> Choice<Self> {
                among!(masked fold: $($masked)*)
            })?
            $(fn ignoring(fold: &Fold<'_>) -> Choice<Self> {
                among!(ignoring fold: $($ignoring)*)
            }
            fn masked_ignoring(fold: &Fold<'_>) -> Choice<Self> {
                among!(masked_ignoring fold: $($ignoring)*)
            })?
            $(fn emulated(fold: &Fold<'_>) -> Choice<Self> {
                if !fold.is_plain() {
                    return None;
                }
                among!(emulated fold: $($emulated)*)
            })?
            $(fn accurate(fold: &Fold<'_>) -> Choice<Self> {
                match (fold.accuracy(), fold.args.op) {
                    $(
                        (Accuracy::$accuracy, Op::Sum) => plain::run::<Self, _>(ops::$accuracy(ops::Sum)),
                        (Accuracy::$accuracy, Op::Mean) => plain::run::<Self, _>(ops::$accuracy(ops::Mean)),
                    )*
                    _ => None,
                }
            }
            fn masked_accurate(fold: &Fold<'_>) -> Choice<Self> {
                match (fold.accuracy(), fold.args.op) {
                    $((Accuracy::$accuracy, Op::Sum) => masked::run::<Self, _>(ops::$accuracy(ops::Sum)),)*
                    _ => None,
                }
            })?
        }
    };
    ($element:ty, integers) => {
        element!(
            $element, read as Self, |read| Ok(Cow::from(read));
            plain: bits pairs truths product ordered sums;
            masked: truths product ordered sums;
        );
    };
    ($element:ty, floats $($accuracy:ident)* $(; emulated $($emulated:ident)*)?) => {
        element!(
            $element, read as Self, |read| Ok(Cow::from(read));
            plain: products moments shape scales l2 linf floats nans pairs truths product ordered sums;
            masked: moments shape scales l2 linf floats nans truths product ordered sums;
            ignoring: moments product ordered sums;
            accurate: $($accuracy)*;
            $(emulated: $($emulated)*;)?
        );
    };
    ($element:ty, fp8) => {
        element!(
            $element, read as Self, |read| Ok(Cow::from(read));
            plain: linf nans ordered sums;
            ignoring: ;
        );
    };
}

element!(
    bool, read as u8, |read: &[u8]| {
        let mut truths = room(read.len() as u64)?;
        truths.extend(read.iter().map(|byte| *byte != 0));
        Ok(truths.into())
    };
    plain: truths product ordered sums;
    masked: truths product ordered sums;
);
element!(u8, integers);
element!(i8, integers);
element!(u16, integers);
element!(i16, integers);
element!(u32, integers);
element!(i32, integers);
element!(u64, integers);
element!(i64, integers);
element!(f16, floats Wide);
element!(bf16, floats Wide);
element!(f32, floats Compensated Wide Exact; emulated moments scales l2 ordered sums);
element!(f64, floats Compensated Exact; emulated moments scales l2 ordered sums);
element!(f8e4m3, fp8);
element!(f8e5m2, fp8);
element!(
    complex64, read as Self, |read| Ok(Cow::from(read));
    plain: l2 linf sums;
    ignoring: ;
);
element!(
    complex128, read as Self, |read| Ok(Cow::from(read));
    plain: l2 linf sums;
    ignoring: ;
);
