//! A barrier of the grid: every block writes its slot and waits for all others, and the first block sums the slots.
//!
//! One launch, and the same bits in every run. Who waits must be running, though: the grid may have no more blocks than the GPU holds
//! at once (a cooperative launch checks that), and so the bits are another GPU's no longer.

use super::{SumView, shuffled::block, wide};
use crate::simt::Simt;

/// The kernel, in blocks of 256 threads, all of which run at once. Any length.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn sum<S: Simt>(simt: S, launch: SumView) {
    let sum = block(simt, wide::thread(simt, &launch));
    if simt.thread() == 0 {
        launch.put_slot(simt, sum);
        wait_for_all(simt, &launch);
    }
    simt.barrier();
    if simt.block() == 0 {
        let sum = block(simt, launch.slots_of_thread(simt));
        if simt.thread() == 0 {
            launch.answer(simt, sum);
        }
    }
}

/// Waits for a thread of every block. The last to draw a ticket sets the counter back to 0, for which all others wait.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn wait_for_all<S: Simt>(simt: S, launch: &SumView) {
    launch.draws_last(simt);
    while !launch.is_last_drawn(simt) {}
}
