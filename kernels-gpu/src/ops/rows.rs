//! Row operations of your own.

use core::fmt::Debug;

use super::BadParameter;
use crate::{
    kernels::{Library, rowwise::RowParams},
    rowwise::RowOp,
};

/// A row operation of your own, as callers pass it: of one array, without targets.
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
/// It has no [targets](crate::rowwise::RowAlgebra::has_targets), and takes no weights [before the first pass](crate::rowwise::ColumnUse::BeforeFirst), or the host library's calls do not compile. What is known of a
/// row is the four numbers of [`known`](crate::rowwise::RowMap::known).
pub trait OwnRowOp: RowOp<Value = f32> + Debug + 'static {
    /// What the kernels are passed: all that tells two values of this type apart. Four numbers and two flags, of any meaning.
    fn params(self) -> RowParams;

    /// The operation of what [`params`](Self::params) gave.
    fn of_params(params: RowParams) -> Self;

    /// The first of its parameters that has no meaning: every call answers an error then.
    fn bad_parameter(self) -> Option<BadParameter> {
        None
    }
}

/// A row operation that has kernels: none is written by hand, [`row_operations!`](crate::row_operations) implements it.
pub trait RowOperation: OwnRowOp {
    /// Its name in errors and in the list of kernels.
    const NAME: &'static str;
    /// What its kernels are built in: they are looked up there, so the name may be that of another crate's operation.
    const LIBRARY: &'static Library;
}

/// Builds row operations of your own: each with a name, of letters, digits and underscores, that no other of the crate has, and its
/// [`LaunchBounds`](crate::kernels::LaunchBounds). To be called once, in the root of a library:
///
/// ```ignore
/// #![no_std]
/// #![cfg_attr(target_arch = "nvptx64", feature(abi_ptx))]
///
/// warpfold_kernels::row_operations! {
///     by_largest: ByLargest, REGS_64;
/// }
/// ```
///
/// It makes the kernels' entry points of f32, f16 and bf16, where the crate is compiled by `cargo xtask build-ptx --crate PATH`; and `ROW_LIBRARY`, the
/// list of them, with the PTX that the package's build script embeds (`fn main() { warpfold_embed::ptx(); }`); and it implements
/// [`RowOperation`](crate::ops::RowOperation), so that the host library's `row::own` takes the operation. It stands beside
/// [`operators!`](crate::operators), or alone. The package `own-operator`, among the host library's examples, has one.
#[macro_export]
macro_rules! row_operations {
    ($($name:ident: $op:ty, $bounds:ident;)*) => {
        $crate::row_entries! {
            ROW_ENTRIES of ROW_LIBRARY, in "rows", if all(), with [];
            states {
                $($name: $op, $crate::row_operations!(@$bounds),
                    |params| <$op as $crate::ops::OwnRowOp>::of_params(params);)*
            }
            $($name: $op, $crate::row_operations!(@$bounds),
                short |params| <$op as $crate::ops::OwnRowOp>::of_params(params);)*
        }

        /// What this crate has built of row operations.
        pub static ROW_LIBRARY: $crate::kernels::Library = $crate::kernels::Library {
            package: env!("CARGO_PKG_NAME"),
            lists: &[],
            // As in `operators!`.
            rows: if cfg!(target_arch = "nvptx64") { &[] } else { ROW_ENTRIES },
            ptx: Some($crate::embedded!()),
        };

        $(impl $crate::ops::RowOperation for $op {
            const NAME: &'static str = stringify!($name);
            const LIBRARY: &'static $crate::kernels::Library = &ROW_LIBRARY;
        })*
    };
    (@$bounds:ident) => {
        $crate::kernels::row_entries::RowBounds::of($crate::kernels::LaunchBounds::$bounds)
    };
}
