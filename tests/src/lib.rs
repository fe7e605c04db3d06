//! What the tests of the whole project share.
//!
//! * [`cases`] — arrays to fold, each with a weakness in mind.
//! * [`samples`] — the same for every type of elements.
//! * [`operations`] — every operator of every type, to be asked alike without being compiled once more.
//! * [`spec`] — the canonical tree as its text says it, and the operators as its table says them; no code is shared
//!   with the kernels or the host.
//! * [`oracle`] — what mathematics answers: exact sums and products, plain scans.
//! * [`backends`] — the CPU, folds in pieces and the emulator, asked alike.
//! * [`partials`] — folds in parts that are divided at random.
//! * [`golden`] — answers recorded once.
//!
//! An answer is compared by its [`Bits`].

pub mod backends;
pub mod cases;
pub mod golden;
pub mod golden_types;
pub mod gradients;
pub mod operations;
pub mod oracle;
pub mod partials;
pub mod rows;
pub mod samples;
pub mod spec;

#[cfg(doctest)]
mod book;

use std::fmt;

use warpfold::ops::Reduction;
use warpfold_kernels::{
    element::{Element, Type},
    monoids::Words,
};

/// Calls `$f(op, …)` for each operator of f32 that leaves no element out.
#[macro_export]
macro_rules! each_operator {
    ($f:ident($($arg:expr),* $(,)?)) => {
        $crate::each_operation!(@of single [$f] ($($arg),*));
        $crate::each_operation!(@exact [$f] ($($arg),*));
    };
}

/// Calls `$f::<T, _>(op, …)` for each type of elements and each operator on their moments, exponentials or powers. Those are
/// none of [`each_operation`]'s, whose specification is to the bit: `tests/statistics.rs` holds them to references. And for the
/// exact sums, whose states have more words than [`operations`](crate::operations) carries.
#[macro_export]
macro_rules! each_statistic {
    ($f:ident($($arg:expr),* $(,)?)) => {{
        $crate::each_statistic!(@small warpfold_kernels::element::f16, $f($($arg),*));
        $crate::each_statistic!(@small warpfold_kernels::element::bf16, $f($($arg),*));
        $crate::each_statistic!(@of f32, $f($($arg),*));
        $crate::each_statistic!(@of f64, $f($($arg),*));
        $crate::each_operation!(@exact [$f::<f32, _>] ($($arg),*));
        $crate::each_operation!(@exact [$f::<f64, _>] ($($arg),*));
    }};
    (@of $element:ident, $f:ident($($arg:expr),* $(,)?)) => {{
        $crate::each_statistic!(@small $element, $f($($arg),*));
        $f::<$element, _>(warpfold::ops::Describe { correction: 1.0 }, $($arg),*);
    }};
    // Of states of a few words.
    (@small $element:ty, $f:ident($($arg:expr),* $(,)?)) => {{
        $f::<$element, _>(warpfold::ops::LogSumExp, $($arg),*);
        $f::<$element, _>(warpfold::ops::Variance { correction: 1.0 }, $($arg),*);
        $f::<$element, _>(warpfold::ops::Variance { correction: 0.5 }, $($arg),*);
        $f::<$element, _>(warpfold::ops::StdDev::default(), $($arg),*);
        $f::<$element, _>(warpfold::ops::MeanVariance { correction: 0.0 }, $($arg),*);
        $f::<$element, _>(warpfold::ops::Skewness, $($arg),*);
        $f::<$element, _>(warpfold::ops::Kurtosis, $($arg),*);
        $f::<$element, _>(warpfold::ops::NormLp { p: 3.0 }, $($arg),*);
        $f::<$element, _>(warpfold::ops::NormLp { p: 0.5 }, $($arg),*);
        $f::<$element, _>(warpfold::ops::IgnoreNan(warpfold::ops::Variance { correction: 1.0 }), $($arg),*);
        $f::<$element, _>(warpfold::ops::IgnoreNan(warpfold::ops::StdDev { correction: 0.0 }), $($arg),*);
    }};
}

/// Calls `$f::<T, _>(op, …)` for each type of elements and each operator of the manifest that has a meaning for them and a specification to
/// the bit; for those that leave NaN out; and for sums and means of other accuracies, but for the exact ones.
#[macro_export]
macro_rules! each_operation {
    ($f:ident($($arg:expr),* $(,)?)) => {{
        $crate::each_operation!(@of half [$f::<warpfold_kernels::element::f16, _>] ($($arg),*));
        $crate::each_operation!(@of half [$f::<warpfold_kernels::element::bf16, _>] ($($arg),*));
        $crate::each_operation!(@of single [$f::<f32, _>] ($($arg),*));
        $crate::each_operation!(@of double [$f::<f64, _>] ($($arg),*));
        $crate::each_operation!(@of integer [$f::<i8, _>] ($($arg),*));
        $crate::each_operation!(@of integer [$f::<i16, _>] ($($arg),*));
        $crate::each_operation!(@of integer [$f::<i32, _>] ($($arg),*));
        $crate::each_operation!(@of integer [$f::<i64, _>] ($($arg),*));
        $crate::each_operation!(@of integer [$f::<u8, _>] ($($arg),*));
        $crate::each_operation!(@of integer [$f::<u16, _>] ($($arg),*));
        $crate::each_operation!(@of integer [$f::<u32, _>] ($($arg),*));
        $crate::each_operation!(@of integer [$f::<u64, _>] ($($arg),*));
        $crate::each_operation!(@of truth [$f::<bool, _>] ($($arg),*));
        $crate::each_operation!(@ignore_nan half [$f::<warpfold_kernels::element::f16, _>] ($($arg),*));
        $crate::each_operation!(@ignore_nan half [$f::<warpfold_kernels::element::bf16, _>] ($($arg),*));
        $crate::each_operation!(@ignore_nan single [$f::<f32, _>] ($($arg),*));
        $crate::each_operation!(@ignore_nan double [$f::<f64, _>] ($($arg),*));
        $crate::each_operation!(@of fp8 [$f::<warpfold_kernels::element::f8e4m3, _>] ($($arg),*));
        $crate::each_operation!(@of fp8 [$f::<warpfold_kernels::element::f8e5m2, _>] ($($arg),*));
        $crate::each_operation!(@of complex [$f::<warpfold_kernels::element::complex32, _>] ($($arg),*));
        $crate::each_operation!(@of complex [$f::<warpfold_kernels::element::complex64, _>] ($($arg),*));
    }};
    (@of $class:ident $f:tt $args:tt) => {{
        warpfold::manifest!($crate::each_exact![of $class $f $args]);
        warpfold::if_of!($class, (singles), { $crate::each_operation!(@accurate Compensated $f $args); } {});
        $crate::each_operation!(@wide $class $f $args);
    }};
    // Those that can leave NaN out.
    (@ignore_nan $class:ident $f:tt $args:tt) => {
        warpfold::manifest!($crate::each_exact![ignore_nan $class $f $args]);
    };
    // Of f32 and f64.
    (@exact $f:tt $args:tt) => {
        $crate::each_operation!(@accurate Exact $f $args);
    };
    (@wide half $f:tt $args:tt) => {
        $crate::each_operation!(@accurate Wide $f $args);
    };
    (@wide single $f:tt $args:tt) => {
        $crate::each_operation!(@accurate Wide $f $args);
    };
    (@wide $class:ident $f:tt $args:tt) => {};
    (@accurate $accuracy:ident [$($f:tt)*] ($($arg:expr),*)) => {{
        $($f)*(warpfold::ops::$accuracy(warpfold::ops::Sum), $($arg),*);
        $($f)*(warpfold::ops::$accuracy(warpfold::ops::Mean), $($arg),*);
    }};
}

/// Of the manifest the operators that have a specification to the bit: those of a class of elements; or of these those that leave NaN out.
#[doc(hidden)]
#[macro_export]
macro_rules! each_exact {
    ([$how:ident $class:ident $f:tt $args:tt] $({
        $(#[$doc:meta])*
        $op:ident $fields:tt
        name $name:tt
        of $of:tt
        folds $folds:tt
        masked $masked:tt
        without_nan $without_nan:tt
        spec ($spec:ident)
        command $command:tt
    })*) => {
        $(warpfold::if_of!($class, $of, { $crate::each_exact!(@$spec $how $op $without_nan $f $args); } {});)*
    };
    (@exact of $op:ident $without_nan:tt [$($f:tt)*] ($($arg:expr),*)) => {
        $($f)*(warpfold::ops::$op, $($arg),*);
    };
    (@exact ignore_nan $op:ident ($name:literal) [$($f:tt)*] ($($arg:expr),*)) => {
        $($f)*(warpfold::ops::IgnoreNan(warpfold::ops::$op), $($arg),*);
    };
    (@$spec:ident $how:ident $op:ident $without_nan:tt $f:tt $args:tt) => {};
}

/// How many floats a state of the operator of that name has, where it rounds what it adds or multiplies; of integers none does.
#[must_use]
pub fn rounded_floats(op: &str) -> Option<usize> {
    match op.strip_prefix("nan").unwrap_or(op) {
        "sum" | "prod" | "mean" | "l1" | "l2" | "sumsq" | "sum-wide" | "mean-wide" => Some(1),
        "sum-compensated" | "mean-compensated" => Some(2),
        _ => None,
    }
}

/// Whether the states of an operator are moments: a count of two words, and numbers of f64 behind it.
fn has_moments(op: &str) -> bool {
    let op = op.strip_prefix("nan").unwrap_or(op);
    matches!(op, "var" | "std" | "meanvar" | "skew" | "kurtosis")
}

/// One for all NaNs among words that are f64, of which the second is the higher.
fn with_one_nan(words: &mut [u32]) {
    for pair in words.as_chunks_mut::<2>().0 {
        if f64::from_bits(u64::from(pair[1]) << 32 | u64::from(pair[0])).is_nan() {
            *pair = [0, 0x7ff8_0000];
        }
    }
}

/// The words of an answer or of a state, to compare and to print.
#[derive(Clone, PartialEq, Eq)]
pub struct Bits(pub Vec<u32>);

impl Bits {
    /// The words of `value`.
    pub fn of<W: Words>(value: W) -> Self {
        Self((0..W::COUNT).map(|i| value.word(i)).collect())
    }

    /// The words of a state of `R`. The states of sums, products and moments are plain floats, and a NaN among them has the
    /// sign and payload that the hardware made: an answer is canonical, a state need not be. Here all such NaNs are one.
    pub fn of_state<T: Element, R: Reduction<T>>(_: R, state: R::State) -> Self {
        let mut bits = Self::of(state);
        if has_moments(R::NAME) {
            with_one_nan(&mut bits.0[2..]);
            return bits;
        }
        let is_float = matches!(
            T::TYPE,
            Type::F16 | Type::Bf16 | Type::F32 | Type::F64 | Type::F8E4M3 | Type::F8E5M2
        );
        if samples::part(T::TYPE).is_some() && matches!(R::NAME, "sum" | "prod" | "mean") {
            for word in &mut bits.0 {
                *word = if f32::from_bits(*word).is_nan() {
                    spec::NAN
                } else {
                    *word
                };
            }
            return bits;
        }
        let is_float = is_float || samples::part(T::TYPE).is_some();
        let Some(floats) = rounded_floats(R::NAME).filter(|_| is_float) else {
            return bits;
        };
        let words = bits.0.len() / floats;
        for float in bits.0.chunks_mut(words) {
            match float {
                // Behind the sum, the mean without NaN has a count of two words.
                [word] | [word, _, _] if f32::from_bits(*word).is_nan() => *word = spec::NAN,
                // In f64, of whose words the second is the higher.
                [low, high] | [low, high, _, _]
                    if f64::from_bits(u64::from(*high) << 32 | u64::from(*low)).is_nan() =>
                {
                    (*low, *high) = (0, 0x7ff8_0000);
                }
                _ => {}
            }
        }
        bits
    }

    /// The bits that hexadecimal digits stand for, as `Display` writes them.
    #[must_use]
    pub fn from_hex(digits: &str) -> Option<Self> {
        let words = digits.as_bytes().rchunks(8);
        let word = |word| u32::from_str_radix(str::from_utf8(word).ok()?, 16).ok();
        words.map(word).collect::<Option<_>>().map(Self)
    }
}

/// Hexadecimal, the highest word first: a number as one would write it.
impl fmt::Display for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().rev().try_for_each(|word| write!(f, "{word:08x}"))
    }
}

impl fmt::Debug for Bits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "0x{self}")
    }
}
