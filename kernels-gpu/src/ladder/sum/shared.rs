//! The same tree in shared memory: each element is read once, and the steps happen on the chip.
//!
//! The input stays as it was. One block still: what fits it, and no more.

use super::SumView;
use crate::simt::Simt;

/// The kernel, of one block: as many as twice its threads.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn sum<S: Simt>(simt: S, launch: SumView) {
    let (i, half) = (u64::from(simt.thread()), u64::from(simt.threads()));
    let value = launch.element(simt, i) + launch.element(simt, i + half);
    let sum = tree(simt, value);
    if simt.thread() == 0 {
        launch.answer(simt, sum);
    }
}

/// The sum of each thread's value. The barrier stands before the step: nobody reads what its neighbour has not written.
///
/// Called by: all threads of the block together, a power of two · Valid in: thread 0
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn tree<S: Simt>(simt: S, value: f32) -> f32 {
    let (thread, mut sum, mut stride) = (simt.thread(), value, simt.threads() / 2);
    simt.store_shared(thread, sum.to_bits());
    while stride >= 1 {
        simt.barrier();
        if thread < stride {
            sum += f32::from_bits(simt.load_shared(thread + stride));
            simt.store_shared(thread, sum.to_bits());
        }
        stride /= 2;
    }
    sum
}
