//! Plans of folds in segments.

use std::fmt;

use warpfold_kernels::{
    kernels::{Entry, Kernel, segments},
    tree::LANES,
};

use super::{
    ALONE, Plan, Shape,
    along::{MANY_BLOCKS, WARPS, blocks},
};
use crate::Error;

impl Plan {
    /// The tuned plan for `len` elements in `count` segments of any lengths, with the operator of `entry`. What the lengths are
    /// does not matter: warps find out where they begin.
    ///
    /// # Errors
    ///
    /// [`Error::GridOverflow`] where there would be more blocks than a grid can have, 2³¹ − 1.
    pub fn segments(entry: &'static Entry, len: u64, count: u64) -> Result<Self, Error> {
        let entry = entry.with(Kernel::Segments).unwrap_or(entry);
        let places = segments::places(entry.element, len, count);
        let most = WARPS.min(entry.max_threads / LANES);
        let warps_of = |leaves: u32| places.div_ceil(entry.element.leaf_elements() * u64::from(leaves));
        let mut leaves = segments::MOST_LEAVES;
        while leaves > 1 && warps_of(leaves) < MANY_BLOCKS * u64::from(most) {
            leaves /= 2;
        }
        let warps = (warps_of(leaves) / MANY_BLOCKS).max(1).next_power_of_two().min(most.into()) as u32;
        Self::of_segments(entry, len, count, warps, leaves)
    }

    /// Ranges of `leaves` leaves, in blocks of `warps` warps.
    pub(super) fn of_segments(
        entry: &'static Entry,
        len: u64,
        count: u64,
        warps: u32,
        leaves: u32,
    ) -> Result<Self, Error> {
        let range = entry.element.leaf_elements() * u64::from(leaves);
        let ranges = segments::places(entry.element, len, count).div_ceil(range);
        Ok(Self {
            entry,
            len,
            count,
            shape: Shape {
                warps,
                leaves_per_warp: leaves,
                blocks: blocks(count, ranges.div_ceil(warps.into()))?,
            },
            team: ALONE,
            tiles: len / range,
        })
    }

    pub(super) fn write_segments(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} of {} elements in {} segments: a warp for each {} leaves, {} blocks of {} threads, {} bytes to move, {} bytes \
             of workspace",
            self.entry.name,
            self.len,
            self.count,
            self.shape.leaves_per_warp,
            self.shape.blocks,
            self.threads(),
            self.bytes(),
            4 * self.workspace_words(),
        )
    }
}
