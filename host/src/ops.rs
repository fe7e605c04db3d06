//! The operators, as a caller names them.
//!
//! | operators | elements |
//! |---|---|
//! | [`Sum`], [`Product`], [`Mean`], [`Min`], [`Max`], [`ArgMin`], [`ArgMax`], [`CountNonzero`], [`Any`], [`All`] | all: f16, bf16, f32, f64, i8 to i64, u8 to u64, bool |
//! | [`Sum`], [`Mean`], [`Min`], [`Max`], [`ArgMin`], [`ArgMax`], [`NormInf`], [`CountNan`] | FP8, too: f8e4m3, f8e5m2 |
//! | [`Sum`], [`Mean`], [`NormL2`], [`NormInf`] | complex numbers, too: complex32, complex64, complex128 |
//! | [`MinMax`], [`ArgMinMax`] | all but bool |
//! | [`BitAnd`], [`BitOr`], [`BitXor`] | i8 to i64, u8 to u64 |
//! | [`NormL1`], [`NormL2`], [`NormInf`], [`SumOfSquares`], [`CountNan`], [`CountInf`], [`LogSumExp`], [`Variance`], [`StdDev`], [`MeanVariance`], [`Skewness`], [`Kurtosis`], [`NormLp`] | f16, bf16, f32, f64 |
//! | [`Describe`] | f32, f64 |
//! | [`IgnoreNan`] of [`Sum`], [`Product`], [`Mean`], [`Min`], [`Max`], [`ArgMin`], [`ArgMax`] their last of equals, [`Variance`], [`StdDev`] | f16, bf16, f32, f64 |
//! | [`Compensated`] `Sum` and `Mean` | f32, f64 |
//! | [`Wide`] `Sum` and `Mean` | f16, bf16, f32 |
//! | [`Exact`] `Sum` and `Mean` | f32, f64 |
//! | [`Dot`] and [`Cosine`] of [two arrays](crate::operand) | f16, bf16, f32, f64 |
//! | most [under a mask](crate::Fold::masked) | those of the operator |
//!
//! The number of distinct elements is no fold, and so no operator's: [`cpu::distinct`](crate::cpu::distinct).
//!
//! f16 and bf16 are folded as f32, and the answer rounded to their own type once. FP8 is folded as f32 and answered as f32, for an f8e4m3
//! ends at 448; only what is one of the elements or its magnitude (`Min`, `Max`, `NormInf`) has their type. Sums and products of integers and bool are
//! answered in 64 bits, signed or unsigned as the elements, and wrap around there; their mean is an f64.
//!
//! Complex numbers are summed by their parts, in f32, complex128 in f64; norms are of their moduli, and real. They have no order, so
//! this is no program:
//!
//! ```compile_fail,E0277
//! use warpfold::{cpu, ops::{Max, element::complex64}};
//!
//! cpu::reduce(Max, &[complex64::new(1.0, 2.0)]);
//! ```
//!
//! ```
//! use warpfold::{cpu, ops::{Sum, element::bf16}};
//!
//! // Carried as bf16, the sum would stay at 256, where the steps are 2.
//! let ones = [bf16::from_bits(0x3f80); 300];
//! assert_eq!(cpu::reduce(Sum, &ones)?, bf16::from_bits(0x4396)); // 300
//! # Ok::<(), warpfold::Error>(())
//! ```
//!
//! How accurate a sum or a mean is comes with the operator: [`Sum`] is pairwise, and `Compensated(Sum)`, `Wide(Sum)` and
//! `Exact(Sum)` cost more and lose less. Extrema, counts and sums of integers are exact as they are.
//!
//! ```
//! use warpfold::{cpu, ops::{Compensated, Exact, Mean, Sum}};
//!
//! let values = [1e8_f32, 1.0, -1e8, 1.0, 1.0];
//! assert_eq!(cpu::reduce(Sum, &values)?, 1.0);
//! assert_eq!(cpu::reduce(Compensated(Sum), &values)?, 3.0);
//! assert_eq!(cpu::reduce(Exact(Mean), &values)?, 0.6);
//! # Ok::<(), warpfold::Error>(())
//! ```
//!
//! An operator of your own, in a crate of its own, is passed to the same calls: it implements [`OwnOperator`], and
//! `warpfold_kernels::operators!` builds it. A step in front of an operator is a [`Step`], or of
//! your own a [`Map`](monoids::Map).

mod accuracy;
pub(crate) mod algebra;
mod any;
mod count;
mod ignore_nan;
mod mask;
mod step;

pub use accuracy::{Compensated, Exact, Wide};
pub use any::{AnyOp, OpFacts};
pub use count::{All, Any, CountInf, CountNan, CountNonzero};
pub use ignore_nan::{IgnoreNan, NO_INDEX, SkipsNan};
pub use mask::{AnswerWhere, MaskElement, TakesMask, Where};
pub use step::{Mapped, Step, Then};

use warpfold_kernels::{
    element::{Two, bf16, complex32, complex64, complex128, f8e4m3, f8e5m2, f16},
    monoids::Monoid,
};

pub use warpfold_kernels::{
    element,
    monoids::{self, Summary},
    ops::{BadParameter, Commutative, Operator, OwnOperator, Reduction},
};

/// An operator without parameters of its own: `Name: monoid = value, "name", "entry"[, parameter] for elements`.
macro_rules! operator {
    // One with a parameter: `Name { field: default }`.
    (
        $(#[$doc:meta])*
        $op:ident { $(#[$field_doc:meta])* $field:ident $(= $default:expr)? }, $name:literal, $entry:literal, $bad:expr; for $($elements:tt)*
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq)]
        pub struct $op {
            $(#[$field_doc])*
            pub $field: f64,
        }

        $(impl Default for $op {
            fn default() -> Self {
                Self { $field: $default }
            }
        })?

        impl Operator for $op {
            const NAME: &'static str = $name;
            const ENTRY: &'static str = $entry;
            fn parameter(self) -> u64 {
                self.$field.to_bits()
            }
            fn bad_parameter(self) -> Option<BadParameter> {
                $bad(stringify!($field), self.$field)
            }
        }

        operator!(@for $($elements)*, $op: monoids::$op = |op| monoids::$op { $field: op.$field });
    };
    (
        $(#[$doc:meta])*
        $op:ident: $monoid:ty = $value:expr, $name:literal, $entry:literal $(, $parameter:expr)?; for $($elements:tt)*
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $op;

        impl Operator for $op {
            const NAME: &'static str = $name;
            const ENTRY: &'static str = $entry;
            $(fn parameter(self) -> u64 {
                $parameter
            })?
        }

        operator!(@for $($elements)*, $op: $monoid = |_op| $value);
    };
    (@for all, $op:ty: $monoid:ty = |$self:ident| $value:expr) => {
        operator!(@each [f16 bf16 f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 bool], $op: $monoid = |$self| $value);
    };
    (@for $first:ident $(and $more:ident)+, $op:ty: $monoid:ty = |$self:ident| $value:expr) => {
        operator!(@for $first, $op: $monoid = |$self| $value);
        $(operator!(@for $more, $op: $monoid = |$self| $value);)+
    };
    (@for fp8, $op:ty: $monoid:ty = |$self:ident| $value:expr) => {
        operator!(@each [f8e4m3 f8e5m2], $op: $monoid = |$self| $value);
    };
    (@for complex, $op:ty: $monoid:ty = |$self:ident| $value:expr) => {
        operator!(@each [complex32 complex64 complex128], $op: $monoid = |$self| $value);
    };
    (@for numbers, $op:ty: $monoid:ty = |$self:ident| $value:expr) => {
        operator!(@each [f16 bf16 f32 f64 i8 i16 i32 i64 u8 u16 u32 u64], $op: $monoid = |$self| $value);
    };
    (@for integers, $op:ty: $monoid:ty = |$self:ident| $value:expr) => {
        operator!(@each [i8 i16 i32 i64 u8 u16 u32 u64], $op: $monoid = |$self| $value);
    };
    (@for singles, $op:ty: $monoid:ty = |$self:ident| $value:expr) => {
        operator!(@each [f32 f64], $op: $monoid = |$self| $value);
    };
    (@for floats, $op:ty: $monoid:ty = |$self:ident| $value:expr) => {
        operator!(@each [f16 bf16 f32 f64], $op: $monoid = |$self| $value);
    };
    (@for pairs, $op:ty: $monoid:ty = |$self:ident| $value:expr) => {
        operator!(@each [Two<f16> Two<bf16> Two<f32> Two<f64>], $op: $monoid = |$self| $value);
    };
    (@for narrow, $op:ty: $monoid:ty = |$self:ident| $value:expr) => {
        operator!(@each [f16 bf16 f32], $op: $monoid = |$self| $value);
    };
    (@for single, $op:ty: $monoid:ty = |$self:ident| $value:expr) => {
        operator!(@each [f32], $op: $monoid = |$self| $value);
    };
    (@each [$($element:ty)*], $op:ty: $monoid:ty = |$self:ident| $value:expr) => {
        $(operator!(@one $element, $op: $monoid = |$self| $value);)*
    };
    (@one $element:ty, $op:ty: $monoid:ty = |$self:ident| $value:expr) => {
        impl Reduction<$element> for $op {
            type Answer = <$monoid as Monoid<$element>>::Answer;
            type State = <$monoid as Monoid<$element>>::State;
            type Monoid = $monoid;
            fn monoid(self) -> $monoid {
                let $self = self;
                $value
            }
        }
    };
}
use operator;

operator!(
    /// The sum, pairwise. 0 over nothing.
    Sum: monoids::Sum = monoids::Sum, "sum", "sum"; for all and fp8 and complex
);
operator!(
    /// The product, pairwise. 1 over nothing. Integers wrap around. **Products of floats over- and underflow on the way**, where the
    /// answer may not: 0 · 1 · … · 55 of f32 is NaN, for a half of it is infinite.
    Product: monoids::Product = monoids::Product, "prod", "product"; for all
);
operator!(
    /// The arithmetic mean: the sum, divided once. NaN over nothing.
    Mean: monoids::Mean = monoids::Mean, "mean", "mean"; for all and fp8 and complex
);
operator!(
    /// The smallest value; NaN if there is one; −0.0 is below +0.0. An error over nothing.
    Min: monoids::Extremum = monoids::Extremum::SMALLEST, "min", "extremum",
    monoids::Extremum::SMALLEST.parameter(); for all and fp8
);
operator!(
    /// The largest value; NaN if there is one; −0.0 is below +0.0. An error over nothing.
    Max: monoids::Extremum = monoids::Extremum::LARGEST, "max", "extremum",
    monoids::Extremum::LARGEST.parameter(); for all and fp8
);
operator!(
    /// The index of the smallest value: the first of equals, and of NaNs if there are any. An error over nothing.
    ArgMin: monoids::Arg = monoids::Arg::SMALLEST, "argmin", "arg", monoids::Arg::SMALLEST.parameter(); for all and fp8
);
operator!(
    /// The index of the largest value: the first of equals, and of NaNs if there are any. An error over nothing.
    ArgMax: monoids::Arg = monoids::Arg::LARGEST, "argmax", "arg", monoids::Arg::LARGEST.parameter(); for all and fp8
);
operator!(
    /// The same as [`ArgMin`], but the last of equals.
    ArgMinLast: monoids::Arg = monoids::Arg::SMALLEST.last(), "argmin-last", "arg",
    monoids::Arg::SMALLEST.last().parameter(); for all and fp8
);
operator!(
    /// The same as [`ArgMax`], but the last of equals.
    ArgMaxLast: monoids::Arg = monoids::Arg::LARGEST.last(), "argmax-last", "arg",
    monoids::Arg::LARGEST.last().parameter(); for all and fp8
);
operator!(
    /// The smallest and the largest value, in one pass: as [`Min`] and [`Max`].
    MinMax: (monoids::Extremum, monoids::Extremum) = (monoids::Extremum::SMALLEST, monoids::Extremum::LARGEST),
    "minmax", "min_max"; for numbers
);
operator!(
    /// Where the smallest and the largest value are, in one pass: as [`ArgMin`] and [`ArgMax`].
    ArgMinMax: (monoids::Arg, monoids::Arg) = (monoids::Arg::SMALLEST, monoids::Arg::LARGEST),
    "argminmax", "argmin_argmax"; for numbers
);
operator!(
    /// The bits that all elements have, in their own type. All bits over nothing: −1, or the largest unsigned number.
    BitAnd: monoids::Bits = monoids::Bits::And, "bit-and", "bits", monoids::Bits::And.parameter(); for integers
);
operator!(
    /// The bits that any element has, in their own type. 0 over nothing.
    BitOr: monoids::Bits = monoids::Bits::Or, "bit-or", "bits", monoids::Bits::Or.parameter(); for integers
);
operator!(
    /// The bits that an odd number of elements have, in their own type: the parity of each. 0 over nothing.
    BitXor: monoids::BitXor = monoids::BitXor, "bit-xor", "bit_xor"; for integers
);
operator!(
    /// The sum of magnitudes, pairwise. 0 over nothing.
    NormL1: monoids::NormL1 = monoids::NormL1, "l1", "norm_l1"; for floats
);
operator!(
    /// The root of the sum of squares, summed in f64 and rounded once: finite wherever the norm itself fits. 0 over
    /// nothing. On GPUs with few f64 units the arithmetic, not the memory, sets the speed.
    NormL2: monoids::NormL2 = monoids::NormL2, "l2", "norm_l2"; for floats and complex
);
operator!(
    /// The largest magnitude; NaN if there is a NaN. 0 over nothing.
    NormInf: monoids::NormInf = monoids::NormInf, "linf", "norm_inf"; for floats and fp8 and complex
);
operator!(
    /// The sum of squares, summed in f64 and rounded once. 0 over nothing. Its speed is as [`NormL2`]'s.
    SumOfSquares: monoids::SumOfSquares = monoids::SumOfSquares, "sumsq", "sum_of_squares"; for floats
);
operator!(
    /// The logarithm of the sum of exponentials, without overflow. All −∞ gives −∞, as nothing does; a +∞ gives +∞; a NaN
    /// gives NaN. How exact it is: [`monoids::LogSumExp`].
    LogSumExp: monoids::LogSumExp = monoids::LogSumExp, "logsumexp", "log_sum_exp"; for floats
);
operator!(
    /// The variance: squared distances from the mean, summed in f64 (Chan's meeting of Welford's moments) and divided by
    /// `max(0, n − correction)`. NaN where `n ≤ correction`, and of a NaN or an infinity.
    Variance {
        /// What is taken off the number of elements: 1 for an estimate from a sample, 0 for the elements themselves. Finite.
        correction = 1.0
    }, "var", "variance", BadParameter::unless_finite; for floats
);
operator!(
    /// The root of the [`Variance`].
    StdDev {
        /// What is taken off the number of elements: 1 for an estimate from a sample, 0 for the elements themselves.
        correction = 1.0
    }, "std", "std", BadParameter::unless_finite; for floats
);
operator!(
    /// The mean and the [`Variance`], in one pass. The mean, in f64, is more exact than [`Mean`]'s. NaN over nothing.
    MeanVariance {
        /// What is taken off the number of elements: 1 for an estimate from a sample, 0 for the elements themselves.
        correction = 1.0
    }, "meanvar", "mean_variance", BadParameter::unless_finite; for floats
);
operator!(
    /// The skewness of the elements themselves, without a correction for bias. NaN where no two differ, and over nothing.
    Skewness: monoids::Skewness = monoids::Skewness {}, "skew", "skewness"; for floats
);
operator!(
    /// The excess kurtosis of the elements themselves, without a correction for bias. NaN where no two differ, and over
    /// nothing.
    Kurtosis: monoids::Kurtosis = monoids::Kurtosis {}, "kurtosis", "kurtosis"; for floats
);
operator!(
    /// Everything at once, as a [`Summary`]: counts of NaNs, infinities and zeros, the ends and where they are, sum, mean,
    /// variance, standard deviation, skewness, kurtosis, the norms. NaNs are counted and left out of the rest; where there are
    /// none, each answer has the bits of the operator that answers it alone.
    ///
    /// It reads the array once. On GPUs its arithmetic, some 32 instructions an element, sets the speed, and not the
    /// memory; parts of the array that hold a NaN or an infinity take several times as long.
    Describe {
        /// What is taken off the number of elements to divide the variance by: 1 for an estimate from a sample, 0 for the
        /// elements themselves.
        correction = 1.0
    }, "describe", "describe", BadParameter::unless_finite; for singles
);
operator!(
    /// `(Σ|xᵢ|ᵖ)^(1/p)`, in f64 by logarithms, so that nothing over- or underflows on the way. 0 over nothing. It costs some
    /// 70 instructions in f64 an element: for 1, 2 and ∞ there are [`NormL1`], [`NormL2`] and [`NormInf`].
    NormLp {
        /// The power, finite and above 0.
        p
    }, "lp", "norm_lp", bad_power; for floats
);
fn bad_power(name: &'static str, value: f64) -> Option<BadParameter> {
    let must = "finite and above 0 (there are `NormL1`, `NormL2` and `NormInf`, too)";
    (!(value.is_finite() && value > 0.0)).then_some(BadParameter { name, value, must })
}

operator!(
    /// The dot product of two arrays: the sum of products, pairwise, as [`Sum`] sums them. 0 over nothing. What is rounded:
    /// [`monoids::Dot`].
    Dot: monoids::Dot = monoids::Dot, "dot", "dot"; for pairs
);
operator!(
    /// The cosine similarity of two arrays: their dot product over the product of their norms, in one pass, summed in f64 and
    /// rounded once; within −1 to 1. NaN where an array is all zeros, of a NaN or an infinity, and over nothing. Its range of f64:
    /// [`monoids::Cosine`].
    Cosine: monoids::Cosine = monoids::Cosine, "cosine", "cosine"; for pairs
);

#[cfg(test)]
#[path = "ops/parameter_tests.rs"]
mod parameter_tests;
