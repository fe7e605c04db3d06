//! A grid that fits the machine: a few blocks for each multiprocessor, and each thread walks through the array, a whole grid further
//! on at each step.
//!
//! Every thread arrives with many elements summed, so the shuffles, the barrier and the atomic are paid once for thousands. A stride of
//! the whole grid keeps the loads of a warp side by side; a run of its own for each thread would scatter them.

use super::{SumLaunch, element, shuffled::block, thread_of_grid};
use crate::simt::Simt;

/// The kernel. Any length, any grid.
///
/// # Safety
///
/// As [`SumLaunch`] says.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub unsafe fn sum<S: Simt>(simt: S, launch: SumLaunch) {
    let stride = u64::from(simt.threads()) * u64::from(simt.blocks());
    let (mut i, mut sum) = (thread_of_grid(simt), 0.0);
    while i < launch.len {
        // SAFETY: the element is there.
        sum += unsafe { element(simt, &launch, i) };
        i += stride;
    }
    let sum = block(simt, sum);
    if simt.thread() == 0 {
        // SAFETY: `out` is of all threads.
        unsafe { simt.atomic_add_f32(launch.out, sum) };
    }
}
