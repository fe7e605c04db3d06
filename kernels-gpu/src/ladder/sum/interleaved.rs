//! A tree in global memory: neighbours are added first, then neighbours of neighbours, until one is left.
//!
//! log₂ N steps instead of N. But whose turn it is, `thread % stride == 0` says: in each warp fewer and fewer lanes, scattered
//! over it, and a warp goes through the addition as long as one of them does. That is divergence.

use super::SumView;
use crate::simt::Simt;

/// The kernel, of one block: as many as twice its threads, which it overwrites in `work`.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn sum<S: Simt>(simt: S, launch: SumView) {
    let (thread, i) = (simt.thread(), 2 * simt.thread());
    let mut stride = 1;
    while stride <= simt.threads() {
        if thread.is_multiple_of(stride) {
            launch.add_work(simt, i, i + stride);
        }
        simt.barrier();
        stride *= 2;
    }
    if thread == 0 {
        launch.answer_with_first(simt);
    }
}
