//! placeholder
pub mod ops;
