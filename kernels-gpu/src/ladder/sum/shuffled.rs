//! Warp shuffles: lanes hand each other registers, five times, without shared memory and without a barrier.
//!
//! One barrier is left, after which the first warp sums what the warps have. What takes the time now is a block for every 1,024
//! elements: the next rung does with few.

use super::{SumView, thread_of_grid};
use crate::{simt::Simt, tree::LANES};

/// The kernel. Any length; a thread for each element.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn sum<S: Simt>(simt: S, launch: SumView) {
    let value = launch.element(simt, thread_of_grid(simt));
    let sum = block(simt, value);
    if simt.thread() == 0 {
        launch.add(simt, sum);
    }
}

/// The sum of each thread's value. Called by: all threads of the block together · Valid in: the first warp
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn block<S: Simt>(simt: S, value: f32) -> f32 {
    of_warps(simt, warp(simt, value))
}

/// The sum of each warp's sum. Called by: all threads of the block together · Valid in: the first warp
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn of_warps<S: Simt>(simt: S, sum: f32) -> f32 {
    if simt.lane() == 0 {
        simt.store_shared(simt.warp(), sum.to_bits());
    }
    simt.barrier();
    if simt.warp() > 0 {
        return sum;
    }
    let is_there = simt.lane() < simt.warps();
    let of_warp = if is_there { simt.load_shared(simt.lane()) } else { 0 };
    warp(simt, f32::from_bits(of_warp))
}

/// The sum of each lane's value. Called by: all 32 lanes of a warp together · Valid in: every lane
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn warp<S: Simt>(simt: S, mut sum: f32) -> f32 {
    let mut reach = LANES / 2;
    while reach >= 1 {
        sum += f32::from_bits(simt.shuffle_xor(sum.to_bits(), reach));
        reach /= 2;
    }
    sum
}
