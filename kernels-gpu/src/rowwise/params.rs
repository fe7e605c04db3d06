//! What row operations are passed.

use core::fmt::Debug;

use super::{RowOp, Scale};
use crate::parameter::BadParameter;

/// What an operation is passed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RowParams {
    /// The magnitude of a scale and its exponent; an ε, and what is added to weights. The third is what elements are multiplied by before others are
    /// added.
    pub numbers: [f32; 4],
    /// Whether a row of nothing visible has zeros; whether a gradient is layer norm's.
    pub flag: bool,
    /// Whether a scale is negative.
    pub negates: bool,
}

impl RowParams {
    /// Of an operation that scales.
    #[must_use]
    pub fn of_scale(scale: Scale, flag: bool) -> Self {
        Self {
            numbers: [scale.magnitude, scale.exponent, 1.0, 0.0],
            flag,
            negates: scale.negates,
        }
    }

    /// Of one that takes but numbers.
    #[must_use]
    pub fn of([a, b, c]: [f32; 3]) -> Self {
        Self {
            numbers: [a, b, 1.0, c],
            ..Self::default()
        }
    }

    /// The scale.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[must_use]
    pub fn scale(self) -> Scale {
        let [magnitude, exponent, ..] = self.numbers;
        Scale {
            magnitude,
            exponent,
            negates: self.negates,
        }
    }

    /// The numbers, as a launch has them.
    #[must_use]
    pub fn bits(self) -> [u64; 2] {
        let [a, b, c, d] = self.numbers.map(|number| u64::from(number.to_bits()));
        [a | b << 32, c | d << 32]
    }
}

/// A row operation that kernels are made of by what a launch passes them: the library's own, and those of yours.
///
/// The whole of one, which divides each element by its row's largest magnitude:
///
/// ```
/// use warpfold_kernels::{
///     arithmetic::single,
///     kernels::rowwise::RowParams,
///     ops::OwnRowOp,
///     rowwise::{Column, FirstPass, Given, LeafFound, RowAlgebra, RowFold, RowMap},
/// };
///
/// #[derive(Clone, Copy, Debug)]
/// pub struct ByLargest;
///
/// impl RowFold for ByLargest {
///     type Value = f32;
///     type Relative = f32; // the element itself
///     type Sums = f32;
///     type State = f32; // the largest magnitude
///     const ALGEBRA: RowAlgebra = RowAlgebra { first_pass: FirstPass::LargestOf, ..RowAlgebra::PLAIN };
///
///     #[inline(always)]
///     fn first(self, value: f32) -> f32 {
///         value.abs()
///     }
///     #[inline(always)]
///     fn relative(self, value: f32, _: f32) -> f32 {
///         value
///     }
///     #[inline(always)]
///     fn term(self, _: f32) -> f32 {
///         -0.0 // nothing is summed
///     }
///     #[inline(always)]
///     fn leaf(self, found: LeafFound, _: f32, _: u32) -> f32 {
///         found.first
///     }
///     #[inline(always)]
///     fn identity(self) -> f32 {
///         0.0
///     }
///     #[inline(always)]
///     fn combine(self, a: f32, b: f32) -> f32 {
///         single::maximum(a, b) // of a NaN and a number the NaN
///     }
/// }
///
/// impl RowMap for ByLargest {
///     type Factors = f32;
///
///     #[inline(always)]
///     fn factors(self, _: f32, _: Option<f32>, row: f32, _: u64, _: Given) -> f32 {
///         row
///     }
///     #[inline(always)]
///     fn map(self, value: f32, largest: f32, _: Column) -> f32 {
///         value / largest
///     }
/// }
///
/// impl OwnRowOp for ByLargest {
///     fn params(self) -> RowParams {
///         RowParams::default()
///     }
///     #[inline(always)]
///     fn of_params(_: RowParams) -> Self {
///         Self
///     }
/// }
/// ```
///
/// Then a line of [`row_operations!`](crate::row_operations) builds its kernels: `by_largest: ByLargest, REGS_64;`.
/// `warpfold_kernels::testing::check_row_laws` (feature `testing`) checks what a [`RowOp`] must promise.
///
/// One of your own is of one array, has no [targets](super::RowAlgebra::has_targets), and takes no weights [before the first pass](super::ColumnUse::BeforeFirst), or the host library's calls
/// do not compile. What is known of a row is the four numbers of [`known`](super::RowMap::known).
pub trait OwnRowOp: RowOp + Debug + 'static {
    /// What the kernels are passed: all that tells two values of this type apart. Four numbers and two flags, of any meaning.
    fn params(self) -> RowParams;

    /// The operation of what [`params`](Self::params) gave.
    fn of_params(params: RowParams) -> Self;

    /// The first of its parameters that has no meaning: every call answers an error then.
    fn bad_parameter(self) -> Option<BadParameter> {
        None
    }
}
