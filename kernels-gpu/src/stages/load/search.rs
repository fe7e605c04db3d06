//! A search that a warp does together.

use crate::{simt::Simt, tree::LANES};

/// The lowest of `count` numbers of which it is not so; `count`, if it is so of all. It is so of a run of numbers, the first.
///
/// Called by: all 32 lanes together, with the same question · Valid in: every lane
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub(crate) fn first_not<S: Simt>(simt: S, count: u64, is_so: impl Fn(u64) -> bool) -> u64 {
    // It is one of low..=high. Each turn the lanes ask of 32 numbers: a search by halves would wait five times as often.
    let (mut low, mut high) = (0, count);
    while low < high {
        let step = (high - low) / u64::from(LANES) + 1;
        let at = low + u64::from(simt.lane()) * step;
        // Neighbours.
        let lanes = u64::from(u32::count_ones(simt.ballot(at < high && is_so(at))));
        high = high.min(low + lanes * step);
        if lanes > 0 {
            low += (lanes - 1) * step + 1;
        }
    }
    low
}
