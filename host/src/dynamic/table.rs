//! Operators by name: for each type of elements all of the [manifest](crate::manifest), with their policies and accuracies. Compiled once, for
//! the command and for other languages.

use bytemuck::NoUninit;
use warpfold_kernels::element::{Element, Masked, Real, Two, bf16, complex64, complex128, f8e4m3, f8e5m2, f16};
use warpfold_kernels::monoids::{Arg, Best, Key, Words};

use super::{Answer, Function, OfOne, OfTwo, UnderMask, by};
use crate::ops::{self, IgnoreNan, Reduction, TakesMask, Where, untyped::of_words};

/// How sums and means are rounded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Accuracy {
    /// As the operator is defined.
    #[default]
    Native,
    /// [`ops::Compensated`]
    Compensated,
    /// [`ops::Wide`]
    Wide,
    /// [`ops::Exact`]
    Exact,
    /// [`ops::InF64`]
    InF64,
}

/// An operator, chosen by name.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Choice<'a> {
    /// Its name, as [`ops::LIST`] has it.
    pub name: &'a str,
    /// Whether a mask selects what is folded.
    pub masked: bool,
    /// Whether NaN is left out. Types without NaN are folded as they are.
    pub ignores_nan: bool,
    /// How it is rounded.
    pub accuracy: Accuracy,
    /// What is taken off the number of elements to divide by; the operator's own default where it is not said.
    pub correction: Option<f64>,
    /// The power of a norm that has one.
    pub power: Option<f64>,
}

/// Elements that operators are listed for.
pub trait InTable: Element + NoUninit {
    /// The operator that is chosen, if there is one of such elements.
    #[doc(hidden)]
    fn find(choice: &Choice<'_>) -> Option<Box<dyn Function<Self>>>;
}

/// The operator of that name for elements of `T`, if there is one with such policies.
///
/// ```
/// use warpfold::{dynamic::{Arrays, Choice, Target, find}, fold::Extent};
///
/// let choice = Choice { name: "max", ..Choice::default() };
/// let max = find::<f32>(&choice).expect("listed");
/// let answers = max.answers(&Target::Cpu, &Arrays::one(&[1.0_f32, 3.0, 2.0]), Extent::Whole)?;
/// assert_eq!(answers.bytes, 3.0_f32.to_le_bytes());
/// assert!(find::<bool>(&Choice { name: "var", ..choice }).is_none());
/// # Ok::<(), warpfold::Error>(())
/// ```
#[must_use]
pub fn find<T: InTable>(choice: &Choice<'_>) -> Option<Box<dyn Function<T>>> {
    T::find(choice)
}

/// Whether elements of that type can be NaN.
fn has_nan<T: Element>() -> bool {
    T::TYPE.is_float() || T::TYPE.is_complex()
}

type Found<T> = Option<Box<dyn Function<T>>>;

fn nothing<T>(_: &[u32]) -> Vec<T> {
    vec![]
}

fn smallest<T: Real>(state: &[u32]) -> Vec<T>
where
    Best<Key<T>>: Words,
{
    vec![Arg::SMALLEST.value(of_words(state))]
}

fn largest<T: Real>(state: &[u32]) -> Vec<T>
where
    Best<Key<T>>: Words,
{
    vec![Arg::LARGEST.value(of_words(state))]
}

fn both<T: Real>(state: &[u32]) -> Vec<T>
where
    Best<Key<T>>: Words,
{
    let (low, high) = of_words::<(Best<Key<T>>, Best<Key<T>>)>(state);
    vec![Arg::SMALLEST.value(low), Arg::LARGEST.value(high)]
}

/// How an operator is made a function, by what it folds.
mod plain {
    use super::*;

    pub(super) fn run<T: InTable, R: Reduction<T, Answer: Answer>>(op: R, selected: fn(&[u32]) -> Vec<T>) -> Found<T> {
        Some(by::<T, R, OfOne>(op, selected))
    }

    pub(super) fn pair<T: InTable, R: Reduction<Two<T>, Answer: Answer>>(op: R) -> Found<T> {
        Some(by::<T, R, OfTwo>(op, nothing))
    }
}

mod ignoring {
    use super::*;

    pub(super) fn run<T: InTable, Op>(op: Op, selected: fn(&[u32]) -> Vec<T>) -> Found<T>
    where
        IgnoreNan<Op>: Reduction<T, Answer: Answer>,
    {
        plain::run(IgnoreNan(op), selected)
    }
}

mod masked {
    use super::*;

    pub(super) fn run<T: InTable, Op: TakesMask>(op: Op, selected: fn(&[u32]) -> Vec<T>) -> Found<T>
    where
        Where<Op>: Reduction<Masked<T>, Answer: Answer>,
    {
        Some(by::<T, Where<Op>, UnderMask>(Where(op), selected))
    }
}

mod masked_ignoring {
    use super::*;

    pub(super) fn run<T: InTable, Op>(op: Op, selected: fn(&[u32]) -> Vec<T>) -> Found<T>
    where
        IgnoreNan<Op>: TakesMask,
        Where<IgnoreNan<Op>>: Reduction<Masked<T>, Answer: Answer>,
    {
        masked::run(IgnoreNan(op), selected)
    }
}

/// The operator that is chosen, of those of the manifest that are for a class of elements and take what they are chosen for; `how` is the
/// module above that makes it.
macro_rules! choose {
    ([$how:ident $choice:ident $class:ident] $({
        $(#[$doc:meta])*
        $op:ident $fields:tt
        name ($name:literal, $says:literal)
        of $of:tt
        folds $folds:tt
        masked $masked:tt
        without_nan $without_nan:tt
        spec $spec:tt
        command ($($shown:ident $(($which:ident))?: $($takes:ident)*)?)
    })*) => {
        match $choice.name {
            $($($name => if_takes!($how, [$($takes)*], {
                $crate::if_of!($class, $of, { shown!($how, $shown $($which)?, made!($op $fields, $choice)) } { None })
            } { None }),)?)*
            _ => None,
        }
    };
}

/// `if_takes!(HOW, [ALL THAT IT TAKES], { YES } { NO })`.
macro_rules! if_takes {
    (plain, $takes:tt, { $($yes:tt)* } $no:tt) => { $($yes)* };
    (masked, [masked $($more:ident)*], { $($yes:tt)* } $no:tt) => { $($yes)* };
    (ignoring, [without_nan $($more:ident)*], { $($yes:tt)* } $no:tt) => { $($yes)* };
    (masked_ignoring, [without_nan $($more:ident)*], { $($yes:tt)* } $no:tt) => { $($yes)* };
    ($how:ident, [], $yes:tt { $($no:tt)* }) => { $($no)* };
    ($how:ident, [$other:ident $($more:ident)*], $yes:tt $no:tt) => { if_takes!($how, [$($more)*], $yes $no) };
}

/// What its state tells of.
macro_rules! shown {
    ($how:ident, run, $op:expr) => {
        $how::run::<Self, _>($op, nothing)
    };
    ($how:ident, arg SMALLEST, $op:expr) => {
        $how::run::<Self, _>($op, smallest)
    };
    ($how:ident, arg LARGEST, $op:expr) => {
        $how::run::<Self, _>($op, largest)
    };
    ($how:ident, two_args, $op:expr) => {
        $how::run::<Self, _>($op, both)
    };
    ($how:ident, pair, $op:expr) => {
        plain::pair::<Self, _>($op)
    };
}

/// The operator, with what is said of it.
macro_rules! made {
    ($op:ident {}, $choice:ident) => {
        ops::$op
    };
    ($op:ident { $(#[$doc:meta])* correction = $default:expr, $bad:expr }, $choice:ident) => {
        ops::$op {
            correction: $choice.correction.unwrap_or($default),
        }
    };
    ($op:ident { $(#[$doc:meta])* p, $bad:expr }, $choice:ident) => {
        ops::$op { p: $choice.power? }
    };
}

/// `type, its class; whether NaN is left out of it; the accuracies of its sums and means; those under a mask`.
macro_rules! element {
    ($element:ty, $class:ident; $nan:ident; $($accuracy:ident)*; $($masked:ident)*) => {
        impl InTable for $element {
            fn find(choice: &Choice<'_>) -> Found<Self> {
                match (choice.masked, choice.accuracy, choice.ignores_nan && has_nan::<$element>()) {
                    (false, Accuracy::Native, false) => crate::manifest!(choose![plain choice $class]),
                    (true, Accuracy::Native, false) => element!(@masked $class choice $element),
                    (false, Accuracy::Native, true) => element!(@ignoring $nan choice $class),
                    (true, Accuracy::Native, true) => element!(@masked_ignoring $nan choice $class),
                    $(
                        (false, Accuracy::$accuracy, false) => match choice.name {
                            "sum" => plain::run::<Self, _>(ops::$accuracy(ops::Sum), nothing),
                            "mean" => plain::run::<Self, _>(ops::$accuracy(ops::Mean), nothing),
                            _ => None,
                        },
                    )*
                    $(
                        (true, Accuracy::$masked, false) => match choice.name {
                            "sum" => masked::run::<Self, _>(ops::$masked(ops::Sum), nothing),
                            _ => None,
                        },
                    )*
                    _ => None,
                }
            }
        }
    };
    (@masked fp8 $choice:ident $element:ty) => { None };
    (@masked complex $choice:ident $element:ty) => { None };
    (@masked $class:ident $choice:ident $element:ty) => { crate::manifest!(choose![masked $choice $class]) };
    (@ignoring skips $choice:ident $class:ident) => { crate::manifest!(choose![ignoring $choice $class]) };
    (@ignoring keeps $choice:ident $class:ident) => { None };
    (@masked_ignoring skips $choice:ident $class:ident) => { crate::manifest!(choose![masked_ignoring $choice $class]) };
    (@masked_ignoring keeps $choice:ident $class:ident) => { None };
}

element!(bool, truth; keeps;;);
element!(u8, integer; keeps;;);
element!(i8, integer; keeps;;);
element!(u16, integer; keeps;;);
element!(i16, integer; keeps;;);
element!(u32, integer; keeps;;);
element!(i32, integer; keeps;;);
element!(u64, integer; keeps;;);
element!(i64, integer; keeps;;);
element!(f16, half; skips; Wide InF64; Wide);
element!(bf16, half; skips; Wide InF64; Wide);
element!(f32, single; skips; Compensated Wide Exact InF64; Compensated Wide Exact);
element!(f64, double; skips; Compensated Exact; Compensated Exact);
element!(f8e4m3, fp8; keeps;;);
element!(f8e5m2, fp8; keeps;;);
element!(complex64, complex; keeps;;);
element!(complex128, complex; keeps;;);
