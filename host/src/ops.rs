//! The operators, as a caller names them.

use warpfold_kernels::{
    kernels::{Entry, entry},
    monoids::{self, Monoid, Words},
};

use crate::Error;

/// A reduction of an array of f32: its answer, its operator and its kernel.
///
/// The types that implement it are the operators to pass to [`cpu::reduce`](crate::cpu::reduce) and its GPU twins. Each
/// names a kernel of this crate, so the trait is sealed.
pub trait Reduction: sealed::Sealed + Copy + Default + Send + Sync + 'static {
    /// What the caller gets: a value, an index, a count, a truth, or a pair.
    type Answer: Words + Send + 'static;
    /// What is carried up the canonical tree.
    type State: Words + Send + Sync + 'static;
    /// The operator that kernels, CPU backend and emulator share.
    type Monoid: Monoid<f32, State = Self::State, Answer = Self::Answer> + Send + Sync;

    /// Its name in the command and in errors.
    const NAME: &'static str;
    /// Its whole-array kernel.
    const ENTRY: &'static str;

    /// The operator for an extent of `len` elements.
    fn monoid(self, len: u64) -> Self::Monoid;

    /// What is known of its whole-array kernel.
    fn entry(self) -> &'static Entry {
        entry(Self::ENTRY).expect("every operator has its kernel: a test checks it")
    }

    /// Whether there is an answer over `len` elements.
    ///
    /// # Errors
    ///
    /// [`Error::EmptyExtent`] where `len` is 0 and the operator has no answer over nothing.
    fn check_extent(self, len: u64) -> Result<(), Error> {
        if len == 0 && self.monoid(0).empty().is_none() {
            Err(Error::EmptyExtent { op: Self::NAME })
        } else {
            Ok(())
        }
    }
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! reduction {
    ($(#[$doc:meta])* $op:ident, $name:literal, $entry:literal, |$len:ident| $monoid:expr) => {
        reduction!($(#[$doc])* $op: monoids::$op, $name, $entry, |$len| $monoid);
    };
    ($(#[$doc:meta])* $op:ident: $type:ty, $name:literal, $entry:literal, |$len:ident| $monoid:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $op;

        impl sealed::Sealed for $op {}

        impl Reduction for $op {
            type Answer = <$type as Monoid<f32>>::Answer;
            type State = <$type as Monoid<f32>>::State;
            type Monoid = $type;
            const NAME: &'static str = $name;
            const ENTRY: &'static str = $entry;
            fn monoid(self, $len: u64) -> $type {
                $monoid
            }
        }
    };
}

reduction!(
    /// The sum, in f32, pairwise. +0.0 over nothing.
    Sum, "sum", "sum_f32", |_len| monoids::Sum
);
reduction!(
    /// The product, in f32, pairwise. 1 over nothing.
    Product, "prod", "product_f32", |_len| monoids::Product
);
reduction!(
    /// The arithmetic mean: the sum, divided once. NaN over nothing.
    Mean, "mean", "mean_f32", |len| monoids::Mean { count: len }
);
reduction!(
    /// The smallest value; NaN if there is one; −0.0 is below +0.0. An error over nothing.
    Min, "min", "min_f32", |_len| monoids::Min
);
reduction!(
    /// The largest value; NaN if there is one; −0.0 is below +0.0. An error over nothing.
    Max, "max", "max_f32", |_len| monoids::Max
);
reduction!(
    /// The index of the smallest value: the first of equals, and of NaNs if there are any. An error over nothing.
    ArgMin, "argmin", "argmin_f32", |_len| monoids::ArgMin
);
reduction!(
    /// The index of the largest value: the first of equals, and of NaNs if there are any. An error over nothing.
    ArgMax, "argmax", "argmax_f32", |_len| monoids::ArgMax
);
reduction!(
    /// The smallest and the largest value, in one pass: as [`Min`] and [`Max`].
    MinMax: (monoids::Min, monoids::Max), "minmax", "min_max_f32", |_len| (monoids::Min, monoids::Max)
);
reduction!(
    /// Where the smallest and the largest value are, in one pass: as [`ArgMin`] and [`ArgMax`].
    ArgMinMax: (monoids::ArgMin, monoids::ArgMax), "argminmax", "argmin_argmax_f32",
    |_len| (monoids::ArgMin, monoids::ArgMax)
);
reduction!(
    /// The sum of magnitudes, in f32, pairwise. +0.0 over nothing.
    NormL1, "l1", "norm_l1_f32", |_len| monoids::NormL1
);
reduction!(
    /// The root of the sum of squares, summed in f64 and rounded to f32 once: finite wherever the norm itself fits. +0.0
    /// over nothing. On GPUs with few f64 units the arithmetic, not the memory, sets the speed.
    NormL2, "l2", "norm_l2_f32", |_len| monoids::NormL2
);
reduction!(
    /// The largest magnitude; NaN if there is a NaN. +0.0 over nothing.
    NormInf, "linf", "norm_inf_f32", |_len| monoids::NormInf
);
reduction!(
    /// The sum of squares, summed in f64 and rounded to f32 once. +0.0 over nothing. Its speed is as [`NormL2`]'s.
    SumOfSquares, "sumsq", "sum_of_squares_f32", |_len| monoids::SumOfSquares
);
reduction!(
    /// How many elements are not zero; a NaN is not. 0 over nothing.
    CountNonzero, "count-nonzero", "count_nonzero_f32", |_len| monoids::CountNonzero
);
reduction!(
    /// How many elements are NaN. 0 over nothing.
    CountNan, "count-nan", "count_nan_f32", |_len| monoids::CountNan
);
reduction!(
    /// How many elements are +∞ or −∞. 0 over nothing.
    CountInf, "count-inf", "count_inf_f32", |_len| monoids::CountInf
);
reduction!(
    /// Whether any element is not zero; a NaN is not. False over nothing.
    Any, "any", "any_f32", |_len| monoids::Any
);
reduction!(
    /// Whether no element is zero; a NaN is not. True over nothing.
    All, "all", "all_f32", |_len| monoids::All
);
