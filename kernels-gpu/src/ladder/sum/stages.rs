//! No rung: [`last_block`], which can stop after any of its stages. What a stage takes is the difference of two times.

use super::{SumView, last_block, shuffled, wide};
use crate::simt::Simt;

/// The stages, in their order. A launch stops after the one whose number is its `factor`.
pub const STAGES: [&str; 5] = ["launch", "load", "shuffle", "block", "grid"];

/// A number that no sum is: it is compared with, so that what led to a sum has to be computed.
const NEVER: u32 = 0x7fc0_dead;

/// The kernel, in blocks of 256 threads. Any length, any grid.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn sum<S: Simt>(simt: S, launch: SumView) {
    if launch.factor() == 0 {
        return;
    }
    let mut sum = wide::thread(simt, &launch);
    if launch.factor() > 1 {
        sum = shuffled::warp(simt, sum);
    }
    if launch.factor() > 2 {
        sum = shuffled::of_warps(simt, sum);
    }
    if launch.factor() > 3 {
        last_block::finish(simt, &launch, sum);
    } else if sum.to_bits() == NEVER {
        launch.answer(simt, sum);
    }
}
