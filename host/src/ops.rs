//! The operators, as a caller names them.
//!
//! | operators | elements |
//! |---|---|
//! | [`Sum`], [`Product`], [`Mean`], [`Min`], [`Max`], [`ArgMin`], [`ArgMax`], [`CountNonzero`], [`Any`], [`All`] | all: f16, bf16, f32, f64, i8 to i64, u8 to u64, bool |
//! | [`Sum`], [`Mean`], [`Min`], [`Max`], [`ArgMin`], [`ArgMax`], [`NormInf`], [`CountNan`] | FP8, too: f8e4m3, f8e5m2 |
//! | [`Sum`], [`Product`], [`Mean`], [`NormL2`], [`NormInf`] | complex numbers, too: complex32, complex64, complex128 |
//! | [`MinMax`], [`ArgMinMax`] | all but bool |
//! | [`BitAnd`], [`BitOr`], [`BitXor`] | i8 to i64, u8 to u64 |
//! | [`NormL1`], [`NormL2`], [`NormInf`], [`SumOfSquares`], [`CountNan`], [`CountInf`], [`LogSumExp`], [`Variance`], [`StdDev`], [`MeanVariance`], [`Skewness`], [`Kurtosis`], [`NormLp`] | f16, bf16, f32, f64 |
//! | [`Describe`] | f32, f64 |
//! | [`IgnoreNan`] of [`Sum`], [`Product`], [`Mean`], [`Min`], [`Max`], [`ArgMin`], [`ArgMax`] their last of equals, [`Variance`], [`StdDev`] | f16, bf16, f32, f64 |
//! | [`Compensated`] `Sum` and `Mean` | f32, f64 |
//! | [`Wide`] `Sum` and `Mean`; [`InF64`] of them | f16, bf16, f32 |
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
//! Complex numbers are summed by their parts, in f32, complex128 in f64, and multiplied there; norms are of their moduli, and real. They have
//! no order, so this is no program:
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
mod any;
mod groups;
mod ignore_nan;
mod list;
mod manifest;
mod mask;
pub(crate) mod order;
mod signature;
mod step;
pub(crate) mod untyped;

pub use accuracy::{Compensated, Exact, InF64, Wide};
pub use any::{AnyOp, OpFacts};
pub use ignore_nan::{IgnoreNan, NO_INDEX, SkipsNan};
pub use list::{LIST, Listed};
pub use mask::{AnswerWhere, MaskElement, TakesMask, Where};
pub use signature::Signature;
pub use step::{Mapped, Step, Then};

use warpfold_kernels::{
    element::{Element, Two, Type, bf16, complex32, complex64, complex128, f8e4m3, f8e5m2, f16},
    kernels::{Entry, OpParams},
    monoids::Monoid,
};

pub use warpfold_kernels::{
    element,
    monoids::{self, Summary},
    ops::{BadParameter, Commutative, OpSignature, Operator, OwnOperator, Reduction},
};

use groups::types_of;
use ignore_nan::skips_nan;
use mask::takes_mask;

/// All that each operator of the [manifest](crate::manifest) is: a type, its names, its monoids, and the policies that it has.
macro_rules! operators {
    ([] $({
        $(#[$doc:meta])*
        $op:ident $fields:tt
        name ($name:literal, $says:literal)
        of ($($group:ident)*)
        folds $folds:tt
        masked $masked:tt
        without_nan $without_nan:tt
        spec $spec:tt
        command $command:tt
    })*) => {$(
        operator!($(#[$doc])* $op $fields);
        named!($op, $name, $fields, $folds);
        $(types_of!($group, reductions! [$group, $op, $folds]);)*
        takes_mask!($op, $folds, $masked);
        skips_nan!($op, $without_nan);
    )*};
}

/// Its type: a value without fields, or with one, which may have a default.
macro_rules! operator {
    ($(#[$doc:meta])* $op:ident {}) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $op;
    };
    ($(#[$doc:meta])* $op:ident { $(#[$field_doc:meta])* $field:ident $(= $default:expr)?, $bad:expr }) => {
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
    };
}

/// Its names, and what a launch passes.
macro_rules! named {
    ($op:ty, $name:literal, {}, (asks $monoid:ident::$make:ident, $entry:literal)) => {
        impl Operator for $op {
            const NAME: &'static str = $name;
            const ENTRY: &'static str = $entry;
        }
    };
    ($op:ty, $name:literal, {}, (|$this:ident| $monoid:ty = $value:expr, $entry:literal $(, passing $parameter:expr)?)) => {
        impl Operator for $op {
            const NAME: &'static str = $name;
            const ENTRY: &'static str = $entry;
            $(fn parameter(self) -> u64 {
                $parameter
            })?
        }
    };
    (
        $op:ty, $name:literal, { $(#[$field_doc:meta])* $field:ident $(= $default:expr)?, $bad:expr },
        (|$this:ident| $monoid:ty = $value:expr, $entry:literal)
    ) => {
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
    };
}

/// What it folds of each type.
macro_rules! reductions {
    // Bits in a range, of whatever elements: kernels of unsigned integers of the same size count them.
    ([$group:ident, $op:ty, (asks $monoid:ident::$make:ident, $entry:literal)] $($element:ident)*) => {
        $(impl Reduction<$element> for $op {
            type Answer = <monoids::$monoid as Monoid<$element>>::Answer;
            type State = <monoids::$monoid as Monoid<$element>>::State;
            type Monoid = monoids::$monoid;
            const BUILT: Type = <$element as Element>::TYPE.bits();
            fn monoid(self) -> monoids::$monoid {
                monoids::$monoid::$make(<$element as Element>::TYPE)
            }
            fn params(self, _: &Entry) -> OpParams {
                Reduction::<$element>::monoid(self).params()
            }
        })*
    };
    ([pairs, $op:ty, $folds:tt] $($element:ident)*) => {
        $(reductions!(@of Two<$element>, $op, $folds);)*
    };
    ([$group:ident, $op:ty, $folds:tt] $($element:ident)*) => {
        $(reductions!(@of $element, $op, $folds);)*
    };
    (@of $item:ty, $op:ty, (|$this:ident| $monoid:ty = $value:expr, $($kernels:tt)*)) => {
        impl Reduction<$item> for $op {
            type Answer = <$monoid as Monoid<$item>>::Answer;
            type State = <$monoid as Monoid<$item>>::State;
            type Monoid = $monoid;
            fn monoid(self) -> $monoid {
                let $this = self;
                $value
            }
        }
    };
}
use {named, reductions};

crate::manifest!(operators![]);

fn bad_power(name: &'static str, value: f64) -> Option<BadParameter> {
    let must = "finite and above 0 (there are `NormL1`, `NormL2` and `NormInf`, too)";
    (!(value.is_finite() && value > 0.0)).then_some(BadParameter { name, value, must })
}

#[cfg(test)]
#[path = "ops/parameter_tests.rs"]
mod parameter_tests;
