//! Operators and a row operation of one's own: what a crate has to have so that warpfold takes them on the CPU and on GPUs.
//!
//! [`attention`] is more than an operator: a monoid, and a kernel of one's own around it. [`total_variation`] is a kernel of one's own around
//! an operator of the library's.
//!
//! `cargo xtask build-ptx --crate host/examples/own-operator` compiles their kernels; `07_own_operator.rs` and `13_attention.rs`
//! call them.

#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx))]

pub mod attention;
mod census;
mod compose;
mod distance;
mod geometric_mean;
mod l2_normalise;
pub mod total_variation;

pub use census::{Census, TakeCensus};
pub use compose::{Affine, Compose};
pub use distance::MeanDistance;
pub use geometric_mean::{GeometricMean, Logs};
pub use l2_normalise::L2Normalise;

warpfold_kernels::operators! {
    geometric_mean: GeometricMean, { f32: REGS_255, f64: REGS_128 };
    mean_distance: MeanDistance, { f32: REGS_80 };
    census: TakeCensus, { f32: REGS_255 };
    compose: Compose, { u8: REGS_128, u32: REGS_128 };
}

warpfold_kernels::row_operations! {
    l2_normalise: L2Normalise, REGS_64;
}
