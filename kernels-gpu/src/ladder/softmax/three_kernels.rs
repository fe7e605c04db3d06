//! Three kernels, a block for each row in each: the largest, the sum of exponentials, the division. Frameworks that know no fused
//! softmax did it like that.
//!
//! Every row is read three times and its two numbers go through memory; but neighbouring threads read neighbouring elements now.

use super::super::rows::{RowsView, exp_less, larger, largest_of_block, sum_of_block};
use crate::simt::Simt;

/// The first kernel: each row's largest element to `states`.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn largest<S: Simt>(simt: S, launch: RowsView) {
    let (row, mut max) = (u64::from(simt.block()), f32::NEG_INFINITY);
    launch.each_seen(simt, row, |_, x| max = larger(max, x));
    let max = largest_of_block(simt, max, 0);
    launch.write_state(simt, row, 0, max);
}

/// The second: each row's sum.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn sum<S: Simt>(simt: S, launch: RowsView) {
    let (row, mut sum) = (u64::from(simt.block()), 0.0);
    let max = launch.state(simt, row, 0);
    launch.each_seen(simt, row, |_, x| sum += exp_less(x, max));
    let sum = sum_of_block(simt, sum, 0);
    launch.write_state(simt, row, 1, sum);
}

/// The third: the answers.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn divide<S: Simt>(simt: S, launch: RowsView) {
    let row = u64::from(simt.block());
    let (max, sum) = (launch.state(simt, row, 0), launch.state(simt, row, 1));
    launch.map(simt, row, |x| exp_less(x, max) / sum);
}
