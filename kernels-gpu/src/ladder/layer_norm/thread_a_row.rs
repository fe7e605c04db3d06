//! A thread for each row, which goes through it three times: mean, variance, answers. GPT-2's first kernel.
//!
//! 4,096 rows are 4,096 threads, of hundreds of thousands that a large GPU holds, and each load of a warp is 32 lines of memory.

use super::super::rows::RowsView;
use crate::{arithmetic::single::sqrt, simt::Simt};

/// The kernel: a thread for each row.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn layer_norm<S: Simt>(simt: S, launch: RowsView) {
    let row = u64::from(simt.block()) * u64::from(simt.threads()) + u64::from(simt.thread());
    if row >= launch.rows() {
        return;
    }
    let (count, mut sum, mut squares) = (launch.columns() as f32, 0.0, 0.0);
    for i in 0..launch.columns() {
        sum += launch.element(simt, row, i);
    }
    let mean = sum / count;
    for i in 0..launch.columns() {
        let from_mean = launch.element(simt, row, i) - mean;
        squares += from_mean * from_mean;
    }
    let scale = 1.0 / sqrt(squares / count + launch.epsilon());
    for i in 0..launch.columns() {
        let x = (launch.element(simt, row, i) - mean) * scale;
        launch.write_weighted(simt, row, i, x);
    }
}
