//! Softmax of rows of f32, rung by rung: `exp(x − max) / Σ exp(x − max)`.

pub mod fused;
pub mod online;
pub mod thread_a_row;
pub mod three_kernels;
