//! Online: largest and sum in one pass. When a larger element comes, what was summed is scaled to it: `sum · exp(old − new)`.
//!
//! One reading less, for one exponential more where the largest changes. FlashAttention is built on it, and so is the library's log-sum-exp of f64.

use super::super::rows::{RowsView, exp_less, largest_of_block, sum_of_block};
use crate::simt::Simt;

/// The kernel.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn softmax<S: Simt>(simt: S, launch: RowsView) {
    let (row, mut own, mut sum) = (u64::from(simt.block()), f32::NEG_INFINITY, 0.0);
    launch.each_seen(simt, row, |_, x| {
        if x > own {
            sum *= exp_less(own, x);
            own = x;
        }
        sum += exp_less(x, own);
    });
    let max = largest_of_block(simt, own, 0);
    let sum = sum_of_block(simt, sum * exp_less(own, max), 1);
    launch.map(simt, row, |x| exp_less(x, max) / sum);
}
