//! `warpfold reduce`: which operator folds which elements.

use warpfold::{
    Error,
    files::{DType, bf16, complex64, complex128, f8e4m3, f8e5m2, f16},
    ops::{self, monoids::Arg},
};

use crate::{
    Failure,
    cli::{Accuracy, Nan, Reduce},
    device::Wanted,
    fold::{Fold, Folder},
    folder::{Choice, Folding, emulated, ignoring, masked, masked_ignoring, pair, plain},
    op::Op,
    reading::FoldElement,
    report::Report,
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
fn of<'a, T: Choices>(fold: &'a Fold<'a>) -> Result<Box<dyn Folder + 'a>, Failure> {
    // Of what has no NaN all elements are kept.
    let nan = match T::TYPE.is_float() || T::TYPE.is_complex() {
        true => fold.args.nan,
        false => Nan::Propagate,
    };
    let (chosen, otherwise) = match (&fold.mask, nan, fold.accuracy()) {
        (Some(mask), Nan::Propagate, Accuracy::Native) => (T::masked(fold), fold.no_mask(mask)),
        (Some(mask), Nan::Ignore, _) => (T::masked_ignoring(fold), fold.no_mask(mask)),
        (Some(_), ..) => (T::masked_accurate(fold), fold.no_such_accuracy()),
        (_, Nan::Ignore, _) => (T::ignoring(fold), fold.no_nan()),
        (_, _, Accuracy::Native) => (T::plain(fold), fold.meaningless()),
        _ => (T::accurate(fold), fold.no_such_accuracy()),
    };
    let mut chosen = chosen.ok_or(otherwise)?;
    if fold.args.device == Wanted::Emulator {
        let emulated = fold.is_plain().then(|| T::emulated(fold)).flatten();
        chosen = emulated.ok_or_else(|| fold.not_emulated())?;
    }
    Ok(Box::new(Folding { fold, chosen }))
}

/// Elements of a type, with each operator that has a meaning for them.
trait Choices: FoldElement {
    /// Over all elements.
    fn plain(fold: &Fold<'_>) -> Choice<Self>;
    /// Over those that a mask selects.
    fn masked(_fold: &Fold<'_>) -> Choice<Self> {
        None
    }
    /// Over those that are not NaN.
    fn ignoring(_fold: &Fold<'_>) -> Choice<Self> {
        None
    }
    /// Over those that a mask selects and that are not NaN.
    fn masked_ignoring(_fold: &Fold<'_>) -> Choice<Self> {
        None
    }
    /// In another accuracy.
    fn accurate(fold: &Fold<'_>) -> Choice<Self>;
    /// Over all elements, on the emulator, which the command has few kernels for: each is much code.
    fn emulated(_fold: &Fold<'_>) -> Choice<Self> {
        None
    }
    /// In another accuracy, over those that a mask selects.
    fn masked_accurate(fold: &Fold<'_>) -> Choice<Self>;
}

/// The operator of the command line, of those of the library's manifest that are for a class of elements and take what they are chosen
/// for; `how` is the module of [`folder`](crate::folder) that makes it.
macro_rules! choose {
    ([$how:ident $fold:ident $class:ident] $({
        $(#[$doc:meta])*
        $op:ident $fields:tt
        name $name:tt
        of $of:tt
        folds $folds:tt
        masked $masked:tt
        without_nan $without_nan:tt
        spec $spec:tt
        command ($($shown:ident $(($which:ident))?: $($takes:ident)*)?)
    })*) => {
        match $fold.args.op {
            $($(Op::$op => if_takes!($how, [$($takes)*], {
                warpfold::if_of!($class, $of, { shown!($how, $shown $($which)?, made!($op $fields, $fold)) } { None })
            } { None }),)?)*
            Op::Distinct => None,
        }
    };
}

/// `if_takes!(HOW, [ALL THAT IT TAKES], { YES } { NO })`.
macro_rules! if_takes {
    (plain, $takes:tt, { $($yes:tt)* } $no:tt) => { $($yes)* };
    (masked, [masked $($more:ident)*], { $($yes:tt)* } $no:tt) => { $($yes)* };
    (ignoring, [without_nan $($more:ident)*], { $($yes:tt)* } $no:tt) => { $($yes)* };
    (masked_ignoring, [without_nan $($more:ident)*], { $($yes:tt)* } $no:tt) => { $($yes)* };
    (emulated, [emulated $($more:ident)*], { $($yes:tt)* } $no:tt) => { $($yes)* };
    ($how:ident, [], $yes:tt { $($no:tt)* }) => { $($no)* };
    ($how:ident, [$other:ident $($more:ident)*], $yes:tt $no:tt) => { if_takes!($how, [$($more)*], $yes $no) };
}

/// How the answer is shown.
macro_rules! shown {
    ($how:ident, run, $op:expr) => {
        $how::run::<Self, _>($op)
    };
    ($how:ident, arg $which:ident, $op:expr) => {
        $how::arg::<Self, _>($op, Arg::$which)
    };
    ($how:ident, two_args, $op:expr) => {
        $how::two_args::<Self, _>($op)
    };
    ($how:ident, pair, $op:expr) => {
        pair::run::<Self, _>($op)
    };
}

/// The operator, with what the command line says of it.
macro_rules! made {
    ($op:ident {}, $fold:ident) => {
        ops::$op
    };
    ($op:ident { $(#[$doc:meta])* correction = $default:expr, $bad:expr }, $fold:ident) => {
        ops::$op {
            correction: $fold.args.correction.unwrap_or($default),
        }
    };
    ($op:ident { $(#[$doc:meta])* p, $bad:expr }, $fold:ident) => {
        ops::$op { p: $fold.args.ord? }
    };
}

/// `type, a class`; beside all elements, which it is folded over; and the accuracies of its sums.
macro_rules! element {
    ($element:ty, $class:ident; $($over:ident)*; $($accuracy:ident)*) => {
        impl Choices for $element {
            fn plain(fold: &Fold<'_>) -> Choice<Self> {
                warpfold::manifest!(choose![plain fold $class])
            }
            $(fn $over(fold: &Fold<'_>) -> Choice<Self> {
                warpfold::manifest!(choose![$over fold $class])
            })*
            fn accurate(fold: &Fold<'_>) -> Choice<Self> {
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
            }
        }
    };
}

element!(bool, truth; masked;);
element!(u8, integer; masked;);
element!(i8, integer; masked;);
element!(u16, integer; masked;);
element!(i16, integer; masked;);
element!(u32, integer; masked;);
element!(i32, integer; masked;);
element!(u64, integer; masked;);
element!(i64, integer; masked;);
element!(f16, half; masked ignoring masked_ignoring; Wide);
element!(bf16, half; masked ignoring masked_ignoring; Wide);
element!(f32, single; masked ignoring masked_ignoring emulated; Compensated Wide Exact);
element!(f64, double; masked ignoring masked_ignoring emulated; Compensated Exact);
element!(f8e4m3, fp8;;);
element!(f8e5m2, fp8;;);
element!(complex64, complex;;);
element!(complex128, complex;;);
