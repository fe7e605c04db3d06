//! Two kernels: the first writes each block's sum to a slot of its own, the second sums the slots in the order of their numbers.
//!
//! No atomic, so no chance: the same bits in every run. The end of the first launch is the barrier that the grid does not have.

use super::{SumView, shuffled::block, wide};
use crate::simt::Simt;

/// The first kernel, in blocks of 256 threads. Any length, any grid.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn to_slots<S: Simt>(simt: S, launch: SumView) {
    let sum = block(simt, wide::thread(simt, &launch));
    if simt.thread() == 0 {
        launch.put_slot(simt, sum);
    }
}

/// The second, of one block: `input` and `len` are the first one's slots.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn of_slots<S: Simt>(simt: S, launch: SumView) {
    let (mut i, mut sum) = (u64::from(simt.thread()), 0.0);
    while i < launch.len() {
        sum += launch.element(simt, i);
        i += u64::from(simt.threads());
    }
    let sum = block(simt, sum);
    if simt.thread() == 0 {
        launch.answer(simt, sum);
    }
}
