//! A SIMT machine on the CPU: it runs warpfold's kernels as they stand and reports what hardware would let pass.
//!
//! [`Lane`] implements the kernels' one trait of the machine, [`Simt`](warpfold_kernels::simt::Simt). Each lane is a
//! coroutine; a seeded scheduler switches between them at every shuffle, vote, barrier, ticket, store, shared access and
//! load of what the launch may have written. The same seed replays the same schedule, and another seed permutes
//! lanes, warps and blocks.
//!
//! What a kernel must not do is a typed [`Fault`] that names who did it, to which word and in which line of the
//! kernel. What the machine does not model is listed in `docs/emulator.md`.
//!
//! * [`reduce_all`] runs the whole-array kernel.
//! * [`map_rows`] runs those of row operations.
//! * [`grad_norm`] and [`clip_tensors`] run those of lists of tensors.
//! * [`ladder`] runs the rungs of the ladder.
//! * [`picture`] shows a whole-array fold step by step.
//! * [`launch`] runs any other: register its buffers in a [`Memory`], pass their pointers to the kernel.

mod block;
mod clock;
mod cluster;
mod fault;
mod gradients;
pub mod ladder;
mod lane;
mod launch;
mod machine;
mod memory;
pub mod picture;
mod rowwise;
mod schedule;
mod stacks;
mod trace;
mod whole;

pub use fault::{Access, AccessKind, Collective, Elsewhere, Fault, Nearest, Site, Thread, WordName};
pub use gradients::{TensorOf, TensorsShape, clip_tensors, grad_norm};
pub use lane::Lane;
pub use launch::{Launch, Run, STEP_LIMIT, launch, launch_traced};
pub use memory::{Memory, Words};
pub use rowwise::{
    BesideRows, DoubleRows, MappedParts, MappedRows, RowShape, RowsOf, fold_states, map_doubles, map_parts, map_rows,
    sum_columns,
};
pub use stacks::RESIDENT_THREADS;
pub use trace::{Counts, Did, Event};
pub use whole::{Folded, Shape, reduce_all, reduce_small};
