//! The kernels of the ladder, and their entry points.

use super::{
    layer_norm,
    rows::RowsView,
    softmax,
    sum::{self, SumView},
};
#[cfg(target_arch = "nvptx64")]
use super::{rows::RowsLaunch, sum::SumLaunch};
use crate::{
    kernels::{Entry, Kernel},
    simt::Simt,
};

/// The part of the build that has them.
pub const PART: &str = "ladder";

/// What the build knows of an entry: its largest block, barriers in its source, whether that has fused multiply-adds.
const fn entry(name: &'static str, max_threads: u32, barriers: u32, fuses: bool) -> Entry {
    Entry {
        max_threads,
        fuses,
        barriers,
        ..Entry::of_no_operator(name, PART, Kernel::Own, 1)
    }
}

/// Kernels that take one kind of launch: a type that names each, its entry, and its entry point.
macro_rules! kernels {
    (
        $(#[$attribute:meta])* $kernels:ident of $launch:ident, $view:ident, $fuses:literal:
        $($kernel:ident = $name:literal, $threads:literal threads, $barriers:literal barriers: $run:path;)*
    ) => {
        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $kernels {
            $(#[doc = concat!("`", $name, "`.")] $kernel,)*
        }

        impl $kernels {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$kernel),*];

            /// What the build knows of it.
            #[must_use]
            pub const fn entry(self) -> &'static Entry {
                match self {
                    $(Self::$kernel => {
                        static ENTRY: Entry = entry($name, $threads, $barriers, $fuses);
                        &ENTRY
                    })*
                }
            }

            /// Runs it, in the shape that is said of it.
            pub fn run<S: Simt>(self, simt: S, launch: $view) {
                match self {
                    $(Self::$kernel => $run(simt, launch),)*
                }
            }
        }

        $(crate::entry_point! {
            $name, if all(feature = "entries", any(not(warpfold_part), warpfold_part = "ladder")),
            |launch: $launch| $run(crate::simt::nvptx::Nvptx, launch.view())
        })*
    };
}

kernels! {
    /// The kernels of [`sum`].
    SumKernel of SumLaunch, SumView, false:
    Atomic = "ladder_sum_atomic", 256 threads, 0 barriers: sum::all_atomic::sum;
    Interleaved = "ladder_sum_interleaved", 1024 threads, 1 barriers: sum::interleaved::sum;
    Prefix = "ladder_sum_prefix", 1024 threads, 1 barriers: sum::prefix::sum;
    Shared = "ladder_sum_shared", 1024 threads, 1 barriers: sum::shared::sum;
    Segmented = "ladder_sum_segmented", 1024 threads, 1 barriers: sum::segmented::sum;
    Coarsened = "ladder_sum_coarsened", 1024 threads, 1 barriers: sum::coarsened::sum;
    BlockAtomic = "ladder_sum_block_atomic", 1024 threads, 1 barriers: sum::block_atomic::sum;
    Shuffled = "ladder_sum_shuffled", 1024 threads, 1 barriers: sum::shuffled::sum;
    GridStride = "ladder_sum_grid_stride", 256 threads, 1 barriers: sum::grid_stride::sum;
    Wide = "ladder_sum_wide", 256 threads, 1 barriers: sum::wide::sum;
    ToSlots = "ladder_sum_to_slots", 256 threads, 1 barriers: sum::two_kernels::to_slots;
    OfSlots = "ladder_sum_of_slots", 1024 threads, 1 barriers: sum::two_kernels::of_slots;
    GridBarrier = "ladder_sum_grid_barrier", 256 threads, 3 barriers: sum::grid_barrier::sum;
    LastBlock = "ladder_sum_last_block", 256 threads, 3 barriers: sum::last_block::sum;
    Stages = "ladder_sum_stages", 256 threads, 3 barriers: sum::stages::sum;
}

kernels! {
    /// The kernels of [`softmax`] and [`layer_norm`].
    RowKernel of RowsLaunch, RowsView, true:
    SoftmaxOfThread = "ladder_softmax_of_thread", 128 threads, 0 barriers: softmax::thread_a_row::softmax;
    SoftmaxLargest = "ladder_softmax_largest", 1024 threads, 1 barriers: softmax::three_kernels::largest;
    SoftmaxSum = "ladder_softmax_sum", 1024 threads, 1 barriers: softmax::three_kernels::sum;
    SoftmaxDivide = "ladder_softmax_divide", 1024 threads, 0 barriers: softmax::three_kernels::divide;
    SoftmaxFused = "ladder_softmax_fused", 1024 threads, 2 barriers: softmax::fused::softmax;
    SoftmaxOnline = "ladder_softmax_online", 1024 threads, 2 barriers: softmax::online::softmax;
    NormOfThread = "ladder_norm_of_thread", 128 threads, 0 barriers: layer_norm::thread_a_row::layer_norm;
    NormTwoStage = "ladder_norm_two_stage", 1024 threads, 2 barriers: layer_norm::two_stage::layer_norm;
}

/// How many there are.
const COUNT: usize = SumKernel::ALL.len() + RowKernel::ALL.len();

/// The entries of all of them.
pub static ENTRIES: [&Entry; COUNT] = {
    let mut entries = [SumKernel::Atomic.entry(); COUNT];
    let (mut i, sums) = (0, SumKernel::ALL.len());
    while i < COUNT {
        entries[i] = if i < sums {
            SumKernel::ALL[i].entry()
        } else {
            RowKernel::ALL[i - sums].entry()
        };
        i += 1;
    }
    entries
};
