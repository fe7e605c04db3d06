//! The same tree, other threads: those whose turn it is are the first ones, side by side.
//!
//! So whole warps have nothing to do, and go to the barrier; only in the last five steps does one warp diverge. Each thread adds what
//! lies half of what is left further on, so a warp's loads are neighbours, too.

use super::SumLaunch;
use crate::simt::Simt;

/// The kernel, of one block: as many as twice its threads, which it overwrites in `work`.
///
/// # Safety
///
/// As [`SumLaunch`] says.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub unsafe fn sum<S: Simt>(simt: S, launch: SumLaunch) {
    let i = simt.thread();
    let mut stride = simt.threads();
    while stride >= 1 {
        if i < stride && u64::from(i + stride) < launch.len {
            // SAFETY: both are there, and between two barriers one thread alone has them.
            unsafe { launch.add_work(simt, i, i + stride) };
        }
        simt.barrier();
        stride /= 2;
    }
    if i == 0 {
        // SAFETY: the sum is in the first, if there is one.
        unsafe { launch.answer_with_first(simt) };
    }
}
