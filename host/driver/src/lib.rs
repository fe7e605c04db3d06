//! The CUDA driver, loaded when first called.
//!
//! `cust` links with `-lcuda`, and a program linked that way does not start on a machine without an NVIDIA driver.
//! This crate defines the `cu*` functions that `cust` refers to, so the linker needs no driver; each of them finds its
//! namesake in `libcuda.so.1` (`nvcuda.dll` on Windows: written, never run) at its first call and forwards to it.
//! From the second call on, that costs one load and one indirect call.
//!
//! | situation | what a call returns |
//! |---|---|
//! | no driver library on this machine | 303, `CUDA_ERROR_SHARED_OBJECT_INIT_FAILED` |
//! | a driver too old (or new) to have the function | 500, `CUDA_ERROR_NOT_FOUND` |
//! | an error code newer than `cust` | 999, `CUDA_ERROR_UNKNOWN`; [`last_unmapped_code`] has the original |
//! | anything else | what the driver returned |
//!
//! The third row is a matter of soundness: `cust` reads the code as a Rust enum of CUDA 11.4's codes.
//! `cuGetErrorString` and `cuGetErrorName` always succeed with a text, because `cust` reads the text without a look.
//!
//! # Use
//!
//! Name the crate once in whatever is linked (`use warpfold_driver as _;` is enough), or call anything in it.
//! `WARPFOLD_CUDA_DRIVER=/path/to/library`, when set and not empty, is loaded in place of the system's library;
//! there is no second try if that fails. The library stays loaded until the process ends.
//!
//! # Adding a function
//!
//! One line in the table of [`sys`]: the name that `libcuda` exports (the header's macros hide suffixes such as `_v2`;
//! `cust_raw` spells them out) and its parameters. A test compares the lines with `cust_raw`'s declarations. A program
//! that calls a function of `cust::sys` which has no line here fails to link, unless CUDA's own stub is there; then it
//! links, and needs a driver to start.

mod codes;
mod library;
pub mod sys;

#[cfg(test)]
mod against_cust;

pub use codes::last_unmapped_code;
pub use library::{LoadError, is_available};

/// The newest CUDA version that the driver supports, as 1000 × major + 10 × minor: 13020 is CUDA 13.2.
///
/// `None` without a driver. Needs no `cuInit` before it, and no GPU.
pub fn driver_version() -> Option<i32> {
    let mut version = 0;
    // SAFETY: `version` outlives the call, which writes one i32 to it.
    let code = unsafe { sys::cuDriverGetVersion(&mut version) };
    (code == codes::SUCCESS).then_some(version)
}
