//! Sums and means in other accuracies.

use warpfold_kernels::{
    element::{Float as _, Type, bf16, f16},
    monoids::{self, Monoid},
};

use super::{Mean, Operator, Reduction, Sum, TakesMask, named, reductions, takes_mask, types_of};

/// [`Sum`] or [`Mean`] of f32 or f64 with what rounding loses carried beside it: about twice as many digits. How exact it is:
/// [`monoids::Compensated`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Compensated<Op>(pub Op);

/// [`Sum`] or [`Mean`] of f16, bf16 or f32 carried in f64, and rounded once. How exact it is: [`monoids::Wide`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wide<Op>(pub Op);

/// [`Sum`] or [`Mean`] of f16, bf16 or f32 carried in f64, as [`Wide`], and answered in f64: nothing is rounded to the elements' type. GPUs fold
/// a sum by the kernels of that, whose states are its answers; a mean they do not: a sum is divided by the number of elements, in f64. An answer
/// that is a NaN is `0x7ff8000000000000`; one that a launch leaves in a GPU's memory has the sign and payload that the GPU made.
///
/// ```
/// use warpfold::{fold, ops::{InF64, Sum, Wide}};
///
/// let values = [1.0_f32, 1e-10];
/// assert_eq!(fold(Sum).accuracy(InF64).on_cpu(&values)?, 1.0 + f64::from(1e-10_f32));
/// assert_eq!(fold(Sum).accuracy(Wide).on_cpu(&values)?, 1.0_f32);
/// # Ok::<(), warpfold::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InF64<Op>(pub Op);

/// [`Sum`] or [`Mean`] of f32 or f64 as real numbers have it, rounded once: no order of the elements changes it. Its special values:
/// [`monoids::Exact`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exact<Op>(pub Op);

/// `Accuracy(Op)`: its names, and the elements that it is for.
macro_rules! accurate {
    ($($accuracy:ident($op:ident), $name:literal, $entry:literal for $group:ident;)*) => {$(
        named!($accuracy<$op>, $name, {}, (|_op| () = (), $entry));
        types_of!($group, reductions! [
            $group, $accuracy<$op>, (|_op| monoids::$accuracy<monoids::$op> = monoids::$accuracy(monoids::$op), $entry)
        ]);
    )*};
}

accurate! {
    Compensated(Sum), "sum-compensated", "sum_compensated" for singles;
    Compensated(Mean), "mean-compensated", "mean_compensated" for singles;
    Wide(Sum), "sum-wide", "sum_wide" for narrow;
    Wide(Mean), "mean-wide", "mean_wide" for narrow;
    Exact(Sum), "sum-exact", "sum_exact" for singles;
    Exact(Mean), "mean-exact", "mean_exact" for singles;
}

/// What is carried in f64, answered as it is: a sum over `DIVIDES`, 1 or the number of elements.
#[derive(Clone, Copy, Debug)]
pub struct Carried<M, const DIVIDES: bool>(M);

impl<T, M, const DIVIDES: bool> Monoid<T> for Carried<M, DIVIDES>
where
    M: Monoid<T, State = f64>,
{
    type State = f64;
    type Answer = f64;

    fn identity(self) -> f64 {
        self.0.identity()
    }
    fn lift(self, value: T, index: u64) -> f64 {
        self.0.lift(value, index)
    }
    fn filler(self) -> Option<T> {
        self.0.filler()
    }
    fn combine(self, a: f64, b: f64) -> f64 {
        self.0.combine(a, b)
    }
    fn finish(self, sum: f64, count: u64) -> f64 {
        // As every answer, of one NaN: that of the sum has the payload that the hardware gave it.
        f64::from_f64(if DIVIDES { sum / count as f64 } else { sum })
    }
    fn empty(self) -> Option<f64> {
        Some(if DIVIDES { f64::NAN } else { 0.0 })
    }
}

/// `InF64(Op)`: its name, that of its kernels, and whether it divides.
macro_rules! in_f64 {
    ($($op:ident, $name:literal, $entry:literal, $divides:literal;)*) => {$(
        impl Operator for InF64<$op> {
            const NAME: &'static str = $name;
            const ENTRY: &'static str = $entry;
        }
        types_of!(narrow, reductions! [narrow, InF64<$op>, (
            |_op| Carried<monoids::Wide<monoids::$op>, $divides> = Carried(monoids::Wide(monoids::$op)), $entry
        )]);
    )*};
}

in_f64! {
    Sum, "sum-in-f64", "sum_wide", false;
    Mean, "mean-in-f64", "", true;
}

// On the CPU alone; a mean divides by a number that these do not count.
takes_mask!(Compensated<Sum>, (), ("", |_op| monoids::Compensated<monoids::Sum> = monoids::Compensated(monoids::Sum)));
takes_mask!(Wide<Sum>, (), ("", |_op| monoids::Wide<monoids::Sum> = monoids::Wide(monoids::Sum)));
takes_mask!(Exact<Sum>, (), ("", |_op| monoids::Exact<monoids::Sum> = monoids::Exact(monoids::Sum)));
