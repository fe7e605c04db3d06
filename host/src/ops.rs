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
    /// What the caller gets: the value, or the index for [`ArgMin`] and [`ArgMax`].
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
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $op;

        impl sealed::Sealed for $op {}

        impl Reduction for $op {
            type Answer = <monoids::$op as Monoid<f32>>::Answer;
            type State = <monoids::$op as Monoid<f32>>::State;
            type Monoid = monoids::$op;
            const NAME: &'static str = $name;
            const ENTRY: &'static str = $entry;
            fn monoid(self, $len: u64) -> monoids::$op {
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
