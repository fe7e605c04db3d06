//! The number of distinct elements, on GPUs: of a whole array, of extents, of segments.
//!
//! It is no fold. What a thread would carry is the set of all that it has seen, and no state has room for that. So there is no monoid:
//! keys go to a [hash table](table) in global memory. There is an entry point for each width of elements, and a launch passes it [what
//! makes two elements equal](equality).
//!
//! The crate is built as a user's crate of kernels is. Entry points are made by `warpfold_kernels::kernel!`. Beside each stands a static of
//! [`Facts`](warpfold_kernels::kernels::Facts), from which the build has its launch bounds. The host library loads them by its
//! `ptx::kernel`, from [`LIBRARY`].

#![no_std]
#![cfg_attr(all(target_arch = "nvptx64", not(feature = "nvvm")), feature(abi_ptx))]

mod count;
pub mod equality;
mod points;
pub mod table;

pub use count::{AHEAD, CountArguments, Order, Params, Width, chunks, count_extents, count_whole};
pub use points::{ENTRIES, EntryPoint, find};

use warpfold_kernels::kernels::Library;

/// What the command calls the number, and the build its kernels.
pub const NAME: &str = "distinct";

/// What this crate has built: no operators, only [`ENTRIES`]. The host library embeds their PTX with its own, so a program has one
/// folder of PTX, and a package of the host library has all of it.
pub static LIBRARY: Library = Library {
    package: env!("CARGO_PKG_NAME"),
    lists: &[],
    rows: &[],
    ptx: None,
};
