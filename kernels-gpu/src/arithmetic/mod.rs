//! Elementary functions for operators: the same bits on every machine.
//!
//! [`single`] is for f32, [`double`] for f64; [`narrow`] rounds f32 to the types of 16 bits, [`power`] has exponentials relative to a power of two. Each function is additions, multiplications, divisions and fused
//! multiply-adds in a fixed order, all of which IEEE 754 rounds in one way, so GPU, CPU and emulator agree. A function of
//! the platform's mathematical library, or an approximation by a hardware instruction, would not do: their last bits are
//! their own.
//!
//! They are free functions, and called by their module, because on the host `f32` and `f64` have methods of the same
//! names, which are the platform's.
//!
//! No float is ever cast to an integer, which one code generator does not saturate: adding a large constant leaves the
//! nearest integer in a float's low bits.

pub mod double;
pub mod narrow;
pub mod power;
pub mod single;

#[cfg(test)]
mod golden;
#[cfg(test)]
pub mod oracle;
#[cfg(test)]
mod tests;
