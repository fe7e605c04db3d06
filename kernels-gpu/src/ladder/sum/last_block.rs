//! The last block does it: each block writes its slot and draws a ticket, and whoever draws the last sums the slots in their order.
//!
//! One launch, and nobody waits. How many blocks there are depends on the length alone, so the bits are the same in every run, on every
//! GPU. The library's own kernel ends in this way; in it the order within a tile is that of the canonical tree, which a CPU follows, too.

use super::{SumLaunch, shuffled::block, wide};
use crate::simt::Simt;

/// The kernel, in blocks of 256 threads. Any length, any grid.
///
/// # Safety
///
/// As [`SumLaunch`] says.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub unsafe fn sum<S: Simt>(simt: S, launch: SumLaunch) {
    // SAFETY: passed on to the caller.
    unsafe {
        let sum = block(simt, wide::thread(simt, &launch));
        finish(simt, &launch, sum);
    }
}

/// From the sum of each block, which its first thread has, to the answer. Called by: all threads of the grid
///
/// # Safety
///
/// As [`SumLaunch`] says.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub unsafe fn finish<S: Simt>(simt: S, launch: &SumLaunch, sum: f32) {
    // SAFETY: passed on to the caller; there is a slot for each block, and whoever draws the last ticket sees all of them.
    unsafe {
        if simt.thread() == 0 {
            simt.store(launch.work.add(simt.block() as usize).cast(), sum.to_bits());
            let ticket = simt.ticket(launch.counter, simt.blocks() - 1);
            simt.store_shared(LAST, u32::from(ticket + 1 == simt.blocks()));
        }
        simt.barrier();
        if simt.load_shared(LAST) == 1 {
            let sum = block(simt, launch.slots_of_thread(simt));
            if simt.thread() == 0 {
                launch.answer(simt, sum);
            }
        }
    }
}

/// The word of shared memory that says whether this block is the last.
const LAST: u32 = 32;
