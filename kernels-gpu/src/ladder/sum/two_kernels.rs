//! Two kernels: the first writes each block's sum to a slot of its own, the second sums the slots in the order of their numbers.
//!
//! No atomic, so no chance: the same bits in every run. The end of the first launch is the barrier that the grid does not have.

use super::{SumLaunch, element, shuffled::block, wide};
use crate::simt::Simt;

/// The first kernel, in blocks of 256 threads. Any length, any grid.
///
/// # Safety
///
/// As [`SumLaunch`] says.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub unsafe fn to_slots<S: Simt>(simt: S, launch: SumLaunch) {
    // SAFETY: passed on to the caller.
    let sum = block(simt, unsafe { wide::thread(simt, &launch) });
    if simt.thread() == 0 {
        // SAFETY: there is a slot for each block.
        unsafe { simt.store(launch.work.add(simt.block() as usize).cast(), sum.to_bits()) };
    }
}

/// The second, of one block: `input` and `len` are the first one's slots.
///
/// # Safety
///
/// As [`SumLaunch`] says.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub unsafe fn of_slots<S: Simt>(simt: S, launch: SumLaunch) {
    let (mut i, mut sum) = (u64::from(simt.thread()), 0.0);
    while i < launch.len {
        // SAFETY: the slot is there.
        sum += unsafe { element(simt, &launch, i) };
        i += u64::from(simt.threads());
    }
    let sum = block(simt, sum);
    if simt.thread() == 0 {
        // SAFETY: one thread writes it.
        unsafe { launch.answer(simt, sum) };
    }
}
