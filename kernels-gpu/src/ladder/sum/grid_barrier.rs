//! A barrier of the grid: every block writes its slot and waits for all others, and the first block sums the slots.
//!
//! One launch, and the same bits in every run. Who waits must be running, though: the grid may have no more blocks than the GPU holds
//! at once (a cooperative launch checks that), and so the bits are another GPU's no longer.

use super::{SumLaunch, shuffled::block, wide};
use crate::simt::Simt;

/// The kernel, in blocks of 256 threads, all of which run at once. Any length.
///
/// # Safety
///
/// As [`SumLaunch`] says.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub unsafe fn sum<S: Simt>(simt: S, launch: SumLaunch) {
    // SAFETY: passed on to the caller; there is a slot for each block, read behind the barrier.
    unsafe {
        let sum = block(simt, wide::thread(simt, &launch));
        if simt.thread() == 0 {
            simt.store(launch.work.add(simt.block() as usize).cast(), sum.to_bits());
            wait_for_all(simt, launch.counter);
        }
        simt.barrier();
        if simt.block() == 0 {
            let sum = block(simt, launch.slots_of_thread(simt));
            if simt.thread() == 0 {
                launch.answer(simt, sum);
            }
        }
    }
}

/// Waits for a thread of every block. The last to draw a ticket sets the counter back to 0, for which all others wait.
///
/// # Safety
///
/// `counter` is 0 before the launch, and used once in it.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
unsafe fn wait_for_all<S: Simt>(simt: S, counter: *mut u32) {
    // SAFETY: passed on to the caller.
    unsafe {
        simt.ticket(counter, simt.blocks() - 1);
        while simt.load_acquire(counter) != 0 {}
    }
}
