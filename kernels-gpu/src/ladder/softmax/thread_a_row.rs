//! A thread for each row, which goes through it three times: largest, sum, answers. What people write first, and what GPT-2's kernel was.
//!
//! Neighbouring threads read elements that lie a row apart, so each load of a warp is 32 lines of memory, and few rows are few threads.

use super::super::rows::{RowsLaunch, exp_less, larger};
use crate::simt::Simt;

/// The kernel: a thread for each row.
///
/// # Safety
///
/// As [`RowsLaunch`] says.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub unsafe fn softmax<S: Simt>(simt: S, launch: RowsLaunch) {
    let row = u64::from(simt.block()) * u64::from(simt.threads()) + u64::from(simt.thread());
    if row >= launch.rows {
        return;
    }
    // SAFETY: the row is there, and this thread's alone.
    unsafe {
        let (seen, mut max, mut sum) = (launch.seen(row), f32::NEG_INFINITY, 0.0);
        for i in 0..seen {
            max = larger(max, launch.element(simt, row, i));
        }
        for i in 0..seen {
            sum += exp_less(launch.element(simt, row, i), max);
        }
        for i in 0..launch.columns {
            let share = if i < seen {
                exp_less(launch.element(simt, row, i), max) / sum
            } else {
                0.0
            };
            launch.write(simt, row, i, share);
        }
    }
}
