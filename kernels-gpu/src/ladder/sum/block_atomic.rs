//! An element for each thread, a tree in shared memory, one atomic for each block: 1,024 times fewer than at first.
//!
//! It stands here, below [`coarsened`](super::coarsened), because the next rungs change one thing of it each. Ten barriers for 1,024
//! elements, and at the last step one thread of 1,024 has something to do.

use super::{SumView, shared::tree, thread_of_grid};
use crate::simt::Simt;

/// The kernel. Any length; a thread for each element.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn sum<S: Simt>(simt: S, launch: SumView) {
    let value = launch.element(simt, thread_of_grid(simt));
    let sum = tree(simt, value);
    if simt.thread() == 0 {
        launch.add(simt, sum);
    }
}
