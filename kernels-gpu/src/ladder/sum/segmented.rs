//! Many blocks: each has a segment of the array, sums it as before, and adds what it has by an atomic.
//!
//! So any length will do, and all multiprocessors work. An atomic for every 2,048 elements is no longer a queue.

use super::{SumView, shared::tree};
use crate::simt::Simt;

/// The kernel. Any length; a block has twice as many elements as threads.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn sum<S: Simt>(simt: S, launch: SumView) {
    let half = u64::from(simt.threads());
    let i = 2 * half * u64::from(simt.block()) + u64::from(simt.thread());
    let value = launch.element(simt, i) + launch.element(simt, i + half);
    let sum = tree(simt, value);
    if simt.thread() == 0 {
        launch.add(simt, sum);
    }
}
