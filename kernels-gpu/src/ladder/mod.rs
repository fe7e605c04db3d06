//! The ladder: how a reduction becomes fast, one idea a rung.
//!
//! * [`sum`] — from one atomic for each element to what the library does.
//! * [`softmax`], [`layer_norm`] — from a thread for each row to a block that reads it once.
//!
//! The kernels are for reading and for timing: they stand in a part of the build of their own, which the library does not embed.
//! [`SUMS`], [`SOFTMAXES`] and [`LAYER_NORMS`] say of each rung what it is, how it is launched and what it costs.

mod entries;
pub mod layer_norm;
pub mod rows;
mod rungs;
pub mod softmax;
pub mod sum;

pub use entries::{ENTRIES, PART, RowKernel, SumKernel};
pub use rungs::{Atomics, Grid, LAYER_NORMS, Rung, SOFTMAXES, SUMS, Same, Step};
