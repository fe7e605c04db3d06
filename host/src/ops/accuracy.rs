//! Sums and means in other accuracies.

use warpfold_kernels::{
    element::{bf16, f16},
    monoids::{self, Monoid},
};

use super::{Mean, Operator, Reduction, Sum, operator};

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
    ($($accuracy:ident($op:ident), $name:literal, $entry:literal for $elements:ident;)*) => {
        $(
            impl Operator for $accuracy<$op> {
                const NAME: &'static str = $name;
                const ENTRY: &'static str = $entry;
            }

            operator!(
                @for $elements,
                $accuracy<$op>: monoids::$accuracy<monoids::$op> = |_op| monoids::$accuracy(monoids::$op)
            );
        )*
    };
}

accurate! {
    Compensated(Sum), "sum-compensated", "sum_compensated" for singles;
    Compensated(Mean), "mean-compensated", "mean_compensated" for singles;
    Wide(Sum), "sum-wide", "sum_wide" for narrow;
    Wide(Mean), "mean-wide", "mean_wide" for narrow;
    Exact(Sum), "sum-exact", "sum_exact" for singles;
    Exact(Mean), "mean-exact", "mean_exact" for singles;
}
