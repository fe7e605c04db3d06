//! A grid that fits the machine: a few blocks for each multiprocessor, and each thread walks through the array, a whole grid further
//! on at each step.
//!
//! Every thread arrives with many elements summed, so the shuffles, the barrier and the atomic are paid once for thousands. A stride of
//! the whole grid keeps the loads of a warp side by side; a run of its own for each thread would scatter them.

use super::{SumView, shuffled::block, thread_of_grid};
use crate::simt::Simt;

/// The kernel. Any length, any grid.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn sum<S: Simt>(simt: S, launch: SumView) {
    let stride = u64::from(simt.threads()) * u64::from(simt.blocks());
    let (mut i, mut sum) = (thread_of_grid(simt), 0.0);
    while i < launch.len() {
        sum += launch.element(simt, i);
        i += stride;
    }
    let sum = block(simt, sum);
    if simt.thread() == 0 {
        launch.add(simt, sum);
    }
}
