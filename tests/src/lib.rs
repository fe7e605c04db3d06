//! What the tests of the whole project share.
//!
//! * [`cases`] — arrays to fold, each with a weakness in mind.
//! * [`samples`] — the same for every type of elements.
//! * [`operations`] — every operator of every type, to be asked alike without being compiled once more.
//! * [`spec`] — the canonical tree as its text says it, and the operators as its table says them; no code is shared
//!   with the kernels or the host.
//! * [`oracle`] — what mathematics answers: exact sums and products, plain scans.
//! * [`backends`] — the CPU, folds in pieces and the emulator, asked alike.
//! * [`golden`] — answers recorded once.
//!
//! An answer is compared by its [`Bits`].

pub mod backends;
pub mod cases;
pub mod golden;
pub mod golden_types;
pub mod operations;
pub mod oracle;
pub mod samples;
pub mod spec;

use std::fmt;

use warpfold::ops::Reduction;
use warpfold_kernels::{
    element::{Element, Type},
    monoids::Words,
};

/// Calls `$f(op, …)` for each operator of f32.
#[macro_export]
macro_rules! each_operator {
    ($f:ident($($arg:expr),* $(,)?)) => {
        $crate::each_operation!(@of floats [$f] ($($arg),*))
    };
}

/// Calls `$f::<T, _>(op, …)` for each type of elements and each operator on their moments, exponentials or powers. Those are
/// none of [`each_operation`]'s, whose specification is to the bit: `tests/statistics.rs` holds them to references.
#[macro_export]
macro_rules! each_statistic {
    ($f:ident($($arg:expr),* $(,)?)) => {{
        $f::<warpfold_kernels::element::f16, _>(warpfold::ops::LogSumExp, $($arg),*);
        $f::<warpfold_kernels::element::bf16, _>(warpfold::ops::LogSumExp, $($arg),*);
        $crate::each_statistic!(@of f32, $f($($arg),*));
        $crate::each_statistic!(@of f64, $f($($arg),*));
    }};
    (@of $element:ident, $f:ident($($arg:expr),* $(,)?)) => {{
        $f::<$element, _>(warpfold::ops::LogSumExp, $($arg),*);
        $f::<$element, _>(warpfold::ops::Variance { correction: 1.0 }, $($arg),*);
        $f::<$element, _>(warpfold::ops::Variance { correction: 0.5 }, $($arg),*);
        $f::<$element, _>(warpfold::ops::StdDev::default(), $($arg),*);
        $f::<$element, _>(warpfold::ops::MeanVariance { correction: 0.0 }, $($arg),*);
        $f::<$element, _>(warpfold::ops::Skewness, $($arg),*);
        $f::<$element, _>(warpfold::ops::Kurtosis, $($arg),*);
        $f::<$element, _>(warpfold::ops::NormLp { p: 3.0 }, $($arg),*);
        $f::<$element, _>(warpfold::ops::NormLp { p: 0.5 }, $($arg),*);
        $f::<$element, _>(warpfold::ops::Describe { correction: 1.0 }, $($arg),*);
    }};
}

/// Calls `$f::<T, _>(op, …)` for each type of elements and each operator that has a meaning for them.
#[macro_export]
macro_rules! each_operation {
    ($f:ident($($arg:expr),* $(,)?)) => {{
        $crate::each_operation!(@of floats [$f::<warpfold_kernels::element::f16, _>] ($($arg),*));
        $crate::each_operation!(@of floats [$f::<warpfold_kernels::element::bf16, _>] ($($arg),*));
        $crate::each_operation!(@of floats [$f::<f32, _>] ($($arg),*));
        $crate::each_operation!(@of floats [$f::<f64, _>] ($($arg),*));
        $crate::each_operation!(@of numbers [$f::<i8, _>] ($($arg),*));
        $crate::each_operation!(@of numbers [$f::<i16, _>] ($($arg),*));
        $crate::each_operation!(@of numbers [$f::<i32, _>] ($($arg),*));
        $crate::each_operation!(@of numbers [$f::<i64, _>] ($($arg),*));
        $crate::each_operation!(@of numbers [$f::<u8, _>] ($($arg),*));
        $crate::each_operation!(@of numbers [$f::<u16, _>] ($($arg),*));
        $crate::each_operation!(@of numbers [$f::<u32, _>] ($($arg),*));
        $crate::each_operation!(@of numbers [$f::<u64, _>] ($($arg),*));
        $crate::each_operation!(@of truths [$f::<bool, _>] ($($arg),*));
    }};
    // The one list of operators, each with the elements that it is for: all, numbers, or floats alone.
    (@of $elements:ident $f:tt $args:tt) => {{
        $crate::each_operation!(@call $elements all Sum $f $args);
        $crate::each_operation!(@call $elements all Product $f $args);
        $crate::each_operation!(@call $elements all Mean $f $args);
        $crate::each_operation!(@call $elements all Min $f $args);
        $crate::each_operation!(@call $elements all Max $f $args);
        $crate::each_operation!(@call $elements all ArgMin $f $args);
        $crate::each_operation!(@call $elements all ArgMax $f $args);
        $crate::each_operation!(@call $elements all ArgMinLast $f $args);
        $crate::each_operation!(@call $elements all ArgMaxLast $f $args);
        $crate::each_operation!(@call $elements numbers MinMax $f $args);
        $crate::each_operation!(@call $elements numbers ArgMinMax $f $args);
        $crate::each_operation!(@call $elements floats NormL1 $f $args);
        $crate::each_operation!(@call $elements floats NormL2 $f $args);
        $crate::each_operation!(@call $elements floats NormInf $f $args);
        $crate::each_operation!(@call $elements floats SumOfSquares $f $args);
        $crate::each_operation!(@call $elements all CountNonzero $f $args);
        $crate::each_operation!(@call $elements floats CountNan $f $args);
        $crate::each_operation!(@call $elements floats CountInf $f $args);
        $crate::each_operation!(@call $elements all Any $f $args);
        $crate::each_operation!(@call $elements all All $f $args);
    }};
    (@call numbers floats $($rest:tt)*) => {};
    (@call truths floats $($rest:tt)*) => {};
    (@call truths numbers $($rest:tt)*) => {};
    (@call $elements:ident $for:ident $op:ident [$($f:tt)*] ($($arg:expr),*)) => {
        $($f)*(warpfold::ops::$op, $($arg),*);
    };
}

/// The words of an answer or of a state, to compare and to print.
#[derive(Clone, PartialEq, Eq)]
pub struct Bits(pub Vec<u32>);

impl Bits {
    /// The words of `value`.
    pub fn of<W: Words>(value: W) -> Self {
        Self((0..W::COUNT).map(|i| value.word(i)).collect())
    }

    /// The words of a state of `R`. The states of sums and products are plain floats, and a NaN among them has the
    /// payload that the hardware made: an answer is canonical, a state need not be. Here all such NaNs are one.
    pub fn of_state<T: Element, R: Reduction<T>>(_: R, state: R::State) -> Self {
        let mut bits = Self::of(state);
        let is_float = matches!(T::TYPE, Type::F16 | Type::Bf16 | Type::F32 | Type::F64);
        if !is_float || !matches!(R::NAME, "sum" | "prod" | "mean" | "l1" | "l2" | "sumsq") {
            return bits;
        }
        match &mut bits.0[..] {
            [word] if f32::from_bits(*word).is_nan() => *word = spec::NAN,
            // In f64, of whose words the second is the higher.
            [low, high] if f64::from_bits(u64::from(*high) << 32 | u64::from(*low)).is_nan() => {
                (*low, *high) = (0, 0x7ff8_0000);
            }
            _ => {}
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
