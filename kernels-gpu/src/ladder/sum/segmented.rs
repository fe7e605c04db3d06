//! Many blocks: each has a segment of the array, sums it as before, and adds what it has by an atomic.
//!
//! So any length will do, and all multiprocessors work. An atomic for every 2,048 elements is no longer a queue.

use super::{SumLaunch, element, shared::tree};
use crate::simt::Simt;

/// The kernel. Any length; a block has twice as many elements as threads.
///
/// # Safety
///
/// As [`SumLaunch`] says.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub unsafe fn sum<S: Simt>(simt: S, launch: SumLaunch) {
    let half = u64::from(simt.threads());
    let i = 2 * half * u64::from(simt.block()) + u64::from(simt.thread());
    // SAFETY: elements that are not there count as 0.
    let value = unsafe { element(simt, &launch, i) + element(simt, &launch, i + half) };
    let sum = tree(simt, value);
    if simt.thread() == 0 {
        // SAFETY: `out` is of all threads.
        unsafe { simt.atomic_add_f32(launch.out, sum) };
    }
}
