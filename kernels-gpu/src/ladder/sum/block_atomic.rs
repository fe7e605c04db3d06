//! An element for each thread, a tree in shared memory, one atomic for each block: 1,024 times fewer than at first.
//!
//! It stands here, below [`coarsened`](super::coarsened), because the next rungs change one thing of it each. Ten barriers for 1,024
//! elements, and at the last step one thread of 1,024 has something to do.

use super::{SumLaunch, element, shared::tree, thread_of_grid};
use crate::simt::Simt;

/// The kernel. Any length; a thread for each element.
///
/// # Safety
///
/// As [`SumLaunch`] says.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub unsafe fn sum<S: Simt>(simt: S, launch: SumLaunch) {
    // SAFETY: an element that is not there counts as 0.
    let value = unsafe { element(simt, &launch, thread_of_grid(simt)) };
    let sum = tree(simt, value);
    if simt.thread() == 0 {
        // SAFETY: `out` is of all threads.
        unsafe { simt.atomic_add_f32(launch.out, sum) };
    }
}
