//! `warpfold reduce`: which operator folds which elements.

use warpfold::{
    Error,
    dynamic::{self, Choice, InTable, find},
    files::{DType, bf16, complex64, complex128, f8e4m3, f8e5m2, f16},
    ops::{self, monoids::Words as _},
};

use crate::{
    Failure,
    cli::{Accuracy, Nan, Reduce},
    device::{Wanted, emulate},
    fold::{Fold, Folder},
    folder::{Emulated, Folding},
    op::Op,
    reading::FoldElement,
    report::Report,
    scalar::Scalar,
    values::name,
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
fn of<'a, T: Emulable>(fold: &'a Fold<'a>) -> Result<Box<dyn Folder + 'a>, Failure> {
    // Of what has no NaN all elements are kept.
    let has_nan = T::TYPE.is_float() || T::TYPE.is_complex();
    let ignores_nan = has_nan && fold.args.nan == Nan::Ignore;
    let (accuracy, op) = (fold.accuracy(), name(fold.args.op));
    let choice = Choice {
        name: &op,
        masked: fold.mask.is_some(),
        ignores_nan,
        accuracy: accuracy.into(),
        correction: fold.args.correction,
        power: fold.args.ord,
    };
    let function = find::<T>(&choice).ok_or_else(|| match &fold.mask {
        _ if accuracy != Accuracy::Native => fold.no_such_accuracy(),
        Some(mask) => fold.no_mask(mask),
        None if ignores_nan => fold.no_nan(),
        None => fold.meaningless(),
    })?;
    let mut emulated = None;
    if fold.args.device == Wanted::Emulator {
        emulated = fold.is_plain().then(|| T::emulated(fold)).flatten();
        if emulated.is_none() {
            return Err(fold.not_emulated());
        }
    }
    Ok(Box::new(Folding {
        fold,
        function,
        emulated,
    }))
}

impl From<Accuracy> for dynamic::Accuracy {
    fn from(accuracy: Accuracy) -> Self {
        match accuracy {
            Accuracy::Native => Self::Native,
            Accuracy::Compensated => Self::Compensated,
            Accuracy::Wide => Self::Wide,
            Accuracy::Exact => Self::Exact,
        }
    }
}

/// Elements of a type, with the operators that the command has on the emulator: few, for each is much code.
trait Emulable: FoldElement + InTable + Into<Scalar> {
    /// The operator of the command line, over all elements, if it is one of these.
    fn emulated(_fold: &Fold<'_>) -> Option<Emulated<Self>> {
        None
    }
}

/// The operator of the command line, of those of the library's manifest that are for a class of elements and on the emulator.
macro_rules! emulated {
    ([$fold:ident $class:ident] $({
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
            $($(Op::$op => if_emulated!([$($takes)*], {
                warpfold::if_of!($class, $of, { on_emulator(made!($op $fields, $fold)) } { None })
            }),)?)*
            Op::Distinct => None,
        }
    };
}

/// `if_emulated!([ALL THAT IT TAKES], { YES })`.
macro_rules! if_emulated {
    ([emulated $($more:ident)*], { $($yes:tt)* }) => { $($yes)* };
    ([], $yes:tt) => { None };
    ([$other:ident $($more:ident)*], $yes:tt) => { if_emulated!([$($more)*], $yes) };
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
}

fn on_emulator<T: FoldElement, R: ops::Reduction<T>>(op: R) -> Option<Emulated<T>> {
    Some(Box::new(move |values: &[T]| {
        let state = emulate(op, values)?;
        Ok((0..R::State::COUNT).map(|word| state.word(word)).collect())
    }))
}

impl Emulable for f32 {
    fn emulated(fold: &Fold<'_>) -> Option<Emulated<Self>> {
        warpfold::manifest!(emulated![fold single])
    }
}

impl Emulable for f64 {
    fn emulated(fold: &Fold<'_>) -> Option<Emulated<Self>> {
        warpfold::manifest!(emulated![fold double])
    }
}

macro_rules! not_emulated {
    ($($element:ty)*) => {
        $(impl Emulable for $element {})*
    };
}

not_emulated!(bool u8 i8 u16 i16 u32 i32 u64 i64 f16 bf16 f8e4m3 f8e5m2 complex64 complex128);
