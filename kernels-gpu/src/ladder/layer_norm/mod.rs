//! Layer norm of rows of f32, rung by rung: `(x − mean) / √(variance + ε) · weight + bias`.

pub mod thread_a_row;
pub mod two_stage;
