//! The entries, and their entry points.

#[cfg(target_arch = "nvptx64")]
use super::{clip_tensors, fold_tensors};
#[cfg(target_arch = "nvptx64")]
use crate::kernels::Launch;
use crate::{
    kernels::{Entry, Kernel},
    monoids::{Monoid, NormInf, NormL1, NormL2, NormLp, Words},
};

/// The part of the build that has them.
const PART: &str = "gradients";

/// The largest block: no warp waits for another of its block, so blocks are small, and bounds fine.
const THREADS: u32 = 128;

/// What the build knows of an entry: blocks that a multiprocessor must have registers for, words of a state, whether the source has fused multiply-adds.
const fn entry(name: &'static str, blocks: u32, words: usize, fuses: bool) -> Entry {
    // Whatever a tensor is of: a launch passes that.
    Entry {
        answer_words: 4,
        answer_bytes: 16,
        max_threads: THREADS,
        min_blocks: Some(blocks),
        fuses,
        ..Entry::of_no_operator(name, PART, Kernel::Own, words)
    }
}

/// A norm's: beside its own state a count.
const fn norm<N: Monoid<f32>>(name: &'static str, blocks: u32) -> Entry {
    entry(name, blocks, <(N::State, u64)>::COUNT, N::ALGEBRA.fuses)
}

/// The entries: norms, and what clips.
pub static ENTRIES: [Entry; 5] = [
    norm::<NormL1>("grad_norm_l1", 5),
    norm::<NormL2>("grad_norm_l2", 5),
    norm::<NormInf>("grad_norm_inf", 4),
    norm::<NormLp>("grad_norm_lp", 3),
    entry(CLIP, 8, 4, false),
];

/// The entry that clips.
pub const CLIP: &str = "grad_clip";

/// The entry of that name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Entry> {
    ENTRIES.iter().find(|entry| entry.name == name)
}

macro_rules! points {
    ($($name:literal: |$passed:ident| $run:expr;)*) => {
        $(crate::entry_point! {
            $name, if all(feature = "entries", any(not(warpfold_part), warpfold_part = "gradients")),
            |launch: Launch| {
                let $passed = launch.tensors_arguments();
                $run
            }
        })*
    };
}

points! {
    "grad_norm_l1": |passed| fold_tensors(crate::simt::nvptx::Nvptx, NormL1, passed);
    "grad_norm_l2": |passed| fold_tensors(crate::simt::nvptx::Nvptx, NormL2, passed);
    "grad_norm_inf": |passed| fold_tensors(crate::simt::nvptx::Nvptx, NormInf, passed);
    "grad_norm_lp": |passed| fold_tensors(crate::simt::nvptx::Nvptx, NormLp { p: passed.power() }, passed);
    "grad_clip": |passed| clip_tensors(crate::simt::nvptx::Nvptx, passed);
}
