//! Operators of one's own: what a crate has to have so that warpfold folds with them on the CPU and on GPUs.
//!
//! `cargo xtask build-ptx --crate host/examples/own-operator` compiles their kernels; `07_own_operator.rs` calls them.

#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx))]

mod census;
mod compose;
mod distance;
mod geometric_mean;

pub use census::{Census, TakeCensus};
pub use compose::{Affine, Compose};
pub use distance::MeanDistance;
pub use geometric_mean::{GeometricMean, Logs};

warpfold_kernels::operators! {
    geometric_mean: GeometricMean, { f32: FULL, f64: WIDE };
    mean_distance: MeanDistance, { f32: LIGHT };
    census: TakeCensus, { f32: FULL };
    compose: Compose, { u8: WIDE, u32: WIDE };
}
