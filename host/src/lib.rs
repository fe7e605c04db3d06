//! Reductions on NVIDIA GPUs, with the same bits on every device, in every launch and on the CPU.

pub mod cpu;
mod error;
#[cfg(feature = "cuda")]
pub mod gpu;
pub mod ops;
pub mod pieces;
pub mod plan;
pub mod ptx;

pub use error::Error;
pub use plan::Plan;
