//! The last block does it: each block writes its slot and draws a ticket, and whoever draws the last sums the slots in their order.
//!
//! One launch, and nobody waits. How many blocks there are depends on the length alone, so the bits are the same in every run, on every
//! GPU. The library's own kernel ends in this way; in it the order within a tile is that of the canonical tree, which a CPU follows, too.

use super::{SumView, shuffled::block, wide};
use crate::simt::Simt;

/// The kernel, in blocks of 256 threads. Any length, any grid.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn sum<S: Simt>(simt: S, launch: SumView) {
    let sum = block(simt, wide::thread(simt, &launch));
    finish(simt, &launch, sum);
}

/// From the sum of each block, which its first thread has, to the answer. Called by: all threads of the grid
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn finish<S: Simt>(simt: S, launch: &SumView, sum: f32) {
    if simt.thread() == 0 {
        launch.put_slot(simt, sum);
        simt.store_shared(LAST, u32::from(launch.draws_last(simt)));
    }
    simt.barrier();
    if simt.load_shared(LAST) == 1 {
        let sum = block(simt, launch.slots_of_thread(simt));
        if simt.thread() == 0 {
            launch.answer(simt, sum);
        }
    }
}

/// The word of shared memory that says whether this block is the last.
const LAST: u32 = 32;
