//! The same tree, other threads: those whose turn it is are the first ones, side by side.
//!
//! So whole warps have nothing to do, and go to the barrier; only in the last five steps does one warp diverge. Each thread adds what
//! lies half of what is left further on, so a warp's loads are neighbours, too.

use super::SumView;
use crate::simt::Simt;

/// The kernel, of one block: as many as twice its threads, which it overwrites in `work`.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn sum<S: Simt>(simt: S, launch: SumView) {
    let i = simt.thread();
    let mut stride = simt.threads();
    while stride >= 1 {
        if i < stride {
            launch.add_work(simt, i, i + stride);
        }
        simt.barrier();
        stride /= 2;
    }
    if i == 0 {
        launch.answer_with_first(simt);
    }
}
