//! The part of `cuda_std` that warpfold's kernels use, as `interface.txt` lists it, for rustc's own PTX backend.

#![no_std]
#![feature(stdarch_nvptx)]

pub mod thread;

pub use cuda_std_macros::*;

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    loop {}
}
