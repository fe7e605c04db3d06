//! The operators. Each is a monoid: a state, a neutral state, and an associative, commutative way for two states to
//! become one.
//!
//! An operator never sees the machine: no thread numbers, no shuffles, no memory. That is why the same source runs on
//! the GPU, on the CPU and in the emulator.

mod arg;
#[cfg(test)]
mod at_once_tests;
mod bits;
mod compensated;
mod count;
mod describe;
mod dot;
mod either;
mod exact;
mod extremum;
#[cfg(test)]
mod filler_tests;
mod filtered;
mod in_order;
mod log_sum_exp;
#[cfg(test)]
mod log_sum_exp_tests;
mod lp;
mod map;
pub mod moments;
mod norm;
mod pair;
mod product;
pub mod relative;
mod step;
mod sum;
mod summary;
mod tensor_norm;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod two_passes_tests;
mod variance;
mod wide;
#[cfg(test)]
mod word_maximum_tests;

pub use arg::{Arg, Best, NO_INDEX, Ties};
pub use bits::{BitXor, Bits};
pub use compensated::{Compensated, SumAndRest, TwoSum};
pub use count::{Count, Truth};
pub use describe::{Describe, Found, Summed};
pub use dot::{Cosine, Dot, Products};
pub use either::Either;
pub use exact::{Exact, Fixed};
pub use extremum::{End, Extremum, Key, Order};
pub use filtered::{Filter, Filtered, IgnoreNan, Numbers, Selected, SelectedNumbers, Where, WhereNumbers};
pub use in_order::InOrder;
pub use log_sum_exp::{Exponentials, LogSumExp, Scaled};
pub use lp::NormLp;
pub use map::{Map, Transform};
pub use moments::{Moments2, Moments4};
pub use norm::{NormInf, NormL1, NormL2, SumOfSquares};
pub use product::Product;
pub use relative::Bounded;
pub use step::{Step, StepOfParams, Then};
pub use sum::{CountedMean, Mean, Sum, SumOrMean};
pub use summary::Summary;
pub use tensor_norm::{Counted, NormAndCount, TensorNorm, clip_factor};
pub use variance::{Kurtosis, MeanVariance, Skewness, StdDev, Variance};
pub use wide::Wide;

pub use crate::{
    algebra::Algebra,
    tree::{
        Basic, ByWords, ColumnFold, Exactly, InTurn, Monoid, PartFold, Positional, Prefilter, RelativeSum, Unordered,
    },
    words::Words,
};
