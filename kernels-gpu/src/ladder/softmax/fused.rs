//! One kernel, a block for each row: largest, sum and answers one after the other, and what they need of each other stays on the chip.
//!
//! The row is read three times still, but the second and third time it comes from a cache, if rows are short enough.

use super::super::rows::{RowsView, exp_less, larger, largest_of_block, sum_of_block};
use crate::simt::Simt;

/// The kernel.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn softmax<S: Simt>(simt: S, launch: RowsView) {
    let (row, mut max, mut sum) = (u64::from(simt.block()), f32::NEG_INFINITY, 0.0);
    launch.each_seen(simt, row, |_, x| max = larger(max, x));
    let max = largest_of_block(simt, max, 0);
    launch.each_seen(simt, row, |_, x| sum += exp_less(x, max));
    let sum = sum_of_block(simt, sum, 1);
    launch.map(simt, row, |x| exp_less(x, max) / sum);
}
