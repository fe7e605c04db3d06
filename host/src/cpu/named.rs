//! Folds by name.

use super::reduce;
use crate::{
    Error,
    ops::{self, Reduction, element::Element},
};

/// `name: Operator`, with whatever options it has by default.
macro_rules! named {
    ($($name:ident: $op:ident, $says:literal;)*) => {
        $(
            #[doc = $says]
            ///
            #[doc = concat!("[`reduce`] by [`", stringify!($op), "`](ops::", stringify!($op), "): that says what it answers and what it costs.")]
            ///
            /// # Errors
            ///
            /// As [`reduce`].
            pub fn $name<T: Element>(values: &[T]) -> Result<<ops::$op as Reduction<T>>::Answer, Error>
            where
                ops::$op: Reduction<T>,
            {
                reduce(ops::$op::default(), values)
            }
        )*
    };
}

named! {
    sum: Sum, "The sum; 0 of nothing.";
    product: Product, "The product; 1 of nothing.";
    mean: Mean, "The arithmetic mean; NaN of nothing.";
    variance: Variance, "The variance, of a sample: divided by one less than there are elements.";
    std_dev: StdDev, "The standard deviation, of a sample.";
    min: Min, "The smallest element; NaN if there is one. An error of nothing.";
    max: Max, "The largest element; NaN if there is one. An error of nothing.";
    min_max: MinMax, "The smallest and the largest element, in one pass. An error of nothing.";
    argmin: ArgMin, "Where the smallest element is, or the first NaN. An error of nothing.";
    argmax: ArgMax, "Where the largest element is, or the first NaN. An error of nothing.";
    norm_l1: NormL1, "The sum of magnitudes; 0 of nothing.";
    norm_l2: NormL2, "The root of the sum of squares; 0 of nothing.";
    norm_inf: NormInf, "The largest magnitude; 0 of nothing.";
    log_sum_exp: LogSumExp, "The logarithm of the sum of exponentials; −∞ of nothing.";
    count_nonzero: CountNonzero, "How many elements are not zero.";
    any: Any, "Whether an element is not zero.";
    all: All, "Whether no element is zero.";
}
