//! The GPU side of warpfold: how a reduction is built, from the operator to the kernel.
//!
//! * [`monoids`] — the operators: `identity`, `lift`, `combine`, `finish`. They never see the machine.
//! * [`element`] — the types of elements, and what operators may ask of one.
//! * [`ops`] — operators as callers name them, and those of your own.
//! * [`rowwise`] — row operations: a fold and a map, as softmax and layer norm.
//! * [`stages`] — thread, warp, block, grid: how states are combined. They know no operator by name.
//! * [`kernels`] — entry points: one line a stage.
//! * [`ladder`] — the kernels of the lessons: how a reduction becomes fast, one idea a rung.
//! * [`arithmetic`] — elementary functions for operators.
//! * [`simt`] — the machine itself: thread numbers, shuffles, barriers, loads, the ticket.
//! * [`tree`] — the canonical tree: which two states are combined, as a function of the length alone.
//!
//! With the feature `testing` there is `testing`, which checks the laws of an operator.
//!
//! The crate has no dependencies and is `no_std`. Compiled for `nvptx64-nvidia-cuda` it becomes PTX;
//! compiled for the host, the same source is the CPU backend's operators and the emulator's kernels.

#![no_std]
#![cfg_attr(target_arch = "nvptx64", feature(asm_experimental_arch, link_llvm_intrinsics))]
#![cfg_attr(all(target_arch = "nvptx64", not(feature = "nvvm")), feature(abi_ptx))]
#![cfg_attr(target_arch = "nvptx64", allow(internal_features))]

mod algebra;
pub mod arithmetic;
pub mod element;
pub mod kernels;
pub mod ladder;
mod leaf;
pub mod monoids;
pub mod ops;
mod parameter;
pub mod rowwise;
pub mod simt;
pub mod stages;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod tree;
mod words;

// `cuda_std` brings its own.
#[cfg(all(target_arch = "nvptx64", not(feature = "nvvm")))]
#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}
