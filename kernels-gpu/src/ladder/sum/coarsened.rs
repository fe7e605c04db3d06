//! Coarsened: each thread adds `factor` elements in a register before the block combines them.
//!
//! Those additions need no barrier and no shared memory, and there are fewer blocks to start. Neighbouring threads have neighbouring
//! elements in every step, so a warp reads whole lines.

use super::{SumView, shared::tree};
use crate::simt::Simt;

/// The kernel. Any length; a block has `factor` times as many elements as threads.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn sum<S: Simt>(simt: S, launch: SumView) {
    let threads = u64::from(simt.threads());
    let mut i = launch.factor() * threads * u64::from(simt.block()) + u64::from(simt.thread());
    let (mut sum, mut step) = (0.0, 0);
    while step < launch.factor() {
        sum += launch.element(simt, i);
        i += threads;
        step += 1;
    }
    let sum = tree(simt, sum);
    if simt.thread() == 0 {
        launch.add(simt, sum);
    }
}
