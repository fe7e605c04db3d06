//! A thread for each row, which goes through it three times: largest, sum, answers. What people write first, and what GPT-2's kernel was.
//!
//! Neighbouring threads read elements that lie a row apart, so each load of a warp is 32 lines of memory, and few rows are few threads.

use super::super::rows::{RowsView, exp_less, larger};
use crate::simt::Simt;

/// The kernel: a thread for each row.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn softmax<S: Simt>(simt: S, launch: RowsView) {
    let row = u64::from(simt.block()) * u64::from(simt.threads()) + u64::from(simt.thread());
    if row >= launch.rows() {
        return;
    }
    let (seen, mut max, mut sum) = (launch.seen(row), f32::NEG_INFINITY, 0.0);
    for i in 0..seen {
        max = larger(max, launch.element(simt, row, i));
    }
    for i in 0..seen {
        sum += exp_less(launch.element(simt, row, i), max);
    }
    for i in 0..launch.columns() {
        let share = if i < seen {
            exp_less(launch.element(simt, row, i), max) / sum
        } else {
            0.0
        };
        launch.write(simt, row, i, share);
    }
}
