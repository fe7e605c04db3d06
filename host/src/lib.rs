//! Reductions on NVIDIA GPUs, with the same bits on every device, in every launch and on the CPU.
//!
//! Sum, product, mean, min, max, argmin, argmax (each pair also in one pass), norms, variance and higher moments,
//! log-sum-exp, counts, any and all of an array of f16, bf16, f32, f64, FP8, complex numbers, integers or bool, of any length and alignment. Which
//! two values are combined is fixed by the length and the size of an element alone: the canonical tree, specified in
//! `docs/canonical-tree.md`. So the GPU's model, the grid, the address, the number of CPU threads and the size of pieces
//! change no bit of an answer.
//!
//! A fold is an operator, of an operand, over an extent, on a target. [`fold`](fn@fold) puts any of them together:
//! `fold(Sum).axis(-1).masked(&mask).on(&gpu, view)`.
//!
//! | | |
//! |---|---|
//! | operators | [`ops`]; what a step makes of each element first: [`ops::Mapped`] |
//! | operands | one array, two of them, one under a mask; in host memory or a GPU's: [`operand`] |
//! | extents | the whole, along axes of any strides, in segments of any lengths |
//! | targets | `on_cpu`; `on(&gpu, …)`; `prepare(&gpu, …)`, for a stream of yours or a CUDA graph |
//!
//! | short names, and the rest | call |
//! |---|---|
//! | an array on the CPU | [`cpu::reduce`], [`cpu::reduce_axes`], [`cpu::reduce_segments`]; by name [`cpu::sum`], [`cpu::max`] and their like |
//! | one in host memory, on a GPU, in pieces that fit | `gpu::Gpu::reduce_host`, `reduce_host_axes`, `reduce_host_segments` |
//! | one in device memory | `gpu::Gpu::reduce`, `reduce_axes`, `reduce_segments`; at a bare address `operand::DeviceView::from_raw` |
//! | the same on your stream, or in a CUDA graph | `gpu::Gpu::prepare`, `prepare_axes`, `prepare_segments`, then `gpu::Prepared::launch` |
//! | segments whose offsets are in device memory | `gpu::Gpu::prepare_segmented`, then `gpu::Segmented::launch` |
//! | many arrays in one launch | `gpu::Gpu::reduce_batch`; `prepare_batch`, then `gpu::Batch::launch` |
//! | the number of distinct elements | [`cpu::distinct`], `gpu::Gpu::distinct` and their kin |
//! | the norm of a list of tensors, and clipping them | [`gradients`] |
//! | an array that comes in pieces | [`pieces::Pieces`] |
//! | parts of an array, on several machines, in any order | [`partial`], [`group`] |
//! | an operator that is chosen while the program runs | [`dynamic`] |
//! | an array of a file | `files::TensorFile`, then any of these |
//!
//! ```
//! use warpfold::{cpu, ops::{ArgMax, Sum}};
//!
//! fn main() -> Result<(), warpfold::Error> {
//!     let values: Vec<f32> = (1..=1_000_000).map(|i| 1.0 / i as f32).collect();
//!     println!("{}; the largest is at {}", cpu::reduce(Sum, &values)?, cpu::reduce(ArgMax, &values)?);
//!     Ok(())
//! }
//! ```
//!
//! The same on a GPU, with the feature `cuda`:
//!
#![cfg_attr(feature = "cuda", doc = "```")]
#![cfg_attr(not(feature = "cuda"), doc = "```ignore")]
//! use warpfold::{cpu, gpu::Gpu, ops::Sum};
//!
//! fn main() -> Result<(), warpfold::Error> {
//!     let values: Vec<f32> = (1..=1_000_000).map(|i| 1.0 / i as f32).collect();
//!     let sum = cpu::reduce(Sum, &values)?;
//!     println!("{sum}");
//!     match Gpu::new(0).and_then(|gpu| gpu.reduce_host(Sum, &values)) {
//!         Ok(on_gpu) => assert_eq!(on_gpu.to_bits(), sum.to_bits()),
//!         Err(error) => println!("on the CPU alone: {error}"),
//!     }
//!     Ok(())
//! }
//! ```
//!
//! Along axes every answer has the bits that its elements alone would give: neither their neighbours nor the strides they are
//! read by change one.
//!
//! What each operator answers for NaN, ties, signed zeros and the empty array is said at [`ops`]. Whatever can fail
//! returns the one [`Error`].
//!
//! # Features
//!
//! None is on by default: the crate then is the CPU backend alone, and builds and runs anywhere.
//!
//! * `cuda`: the GPU backend `gpu`, on cust. The driver is loaded when a GPU is first asked for, so a program starts without one, and
//!   `gpu::Gpu::new` answers [`Error::NoDriver`].
//! * `files`: `files`, the arrays of `.npy`, `.npz` and `.safetensors` files.
//! * `ndarray`: `ndarray`, arrays of the crate of that name, of any strides, and answers as such arrays.
//! * `command`: the command `warpfold`, and `files`. On GPUs it folds with `command,cuda`.
//!
//! ## What `cuda` needs
//!
//! * cust's build script looks for a CUDA toolkit in `/usr/local/cuda*` and `/opt/cuda`, and fails where there is none.
//! * A toolkit elsewhere is named by the variable `CUDA_LIBRARY_PATH`: the folder that has `lib64`.
//! * Without a toolkit let it name a folder whose `lib64` has an empty `libcuda.so`, as `host/driver/stub` in warpfold's repository.
//!
//! A workspace that depends on this crate sets it in its own `.cargo/config.toml`, for cargo reads no dependency's:
//!
//! ```toml
//! [env]
//! CUDA_LIBRARY_PATH = "/path/to/warpfold/host/driver/stub"
//! ```
//!
//! The kernels' PTX is embedded when this crate is built, from where `cargo xtask build-ptx`, run in warpfold's repository, left it;
//! or from the folder that `WARPFOLD_PTX_DIR` names. Where there is none, the build script warns, and GPU calls answer
//! [`Error::NoPtx`].

#![cfg_attr(doctest, doc = include_str!("../../docs/canonical-tree.md"))]
#![cfg_attr(doctest, doc = include_str!("../../docs/library.md"))]
#![cfg_attr(all(doctest, feature = "cuda"), doc = include_str!("../../README.md"))]

pub mod cpu;
pub mod dynamic;
mod error;
#[cfg(feature = "files")]
pub mod files;
pub mod fold;
#[cfg(feature = "cuda")]
pub mod gpu;
pub mod gradients;
pub mod group;
pub mod layout;
#[cfg(feature = "ndarray")]
pub mod ndarray;
pub mod operand;
pub mod ops;
pub mod partial;
pub mod pieces;
pub mod plan;
#[cfg(feature = "cuda")]
pub mod ptx;
mod room;
pub mod row;

pub use error::{
    CheckpointFault, Error, GgufFault, OffsetFault, PartialFault, RowFault, SafetensorsFault, TensorFault,
};
pub use fold::{Fold, fold};
#[cfg(feature = "cuda")]
pub use operand::DeviceView;
pub use operand::View;
pub use plan::Plan;
