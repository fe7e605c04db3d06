//! Sums and means in other accuracies.

use warpfold_kernels::{
    element::{Type, bf16, f16},
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

// On the CPU alone; a mean divides by a number that these do not count.
takes_mask!(Compensated<Sum>, (), ("", |_op| monoids::Compensated<monoids::Sum> = monoids::Compensated(monoids::Sum)));
takes_mask!(Wide<Sum>, (), ("", |_op| monoids::Wide<monoids::Sum> = monoids::Wide(monoids::Sum)));
takes_mask!(Exact<Sum>, (), ("", |_op| monoids::Exact<monoids::Sum> = monoids::Exact(monoids::Sum)));
