//! Plans of folds in segments.

use std::fmt;

use warpfold_kernels::{
    kernels::{Entry, Kernel, segments},
    tree::LANES,
};

use super::{MANY_BLOCKS, Plan, Shape, WARPS, blocks, warps_of_a_block};
use crate::Error;

impl Plan {
    /// The plan for `len` elements in `count` segments of any lengths, with the operator of `entry`. What the lengths are
    /// does not matter: warps find out where they begin.
    ///
    /// # Errors
    ///
    /// [`Error::GridOverflow`] where there would be more blocks than a grid can have, 2³¹ − 1.
    pub fn segments(entry: &'static Entry, len: u64, count: u64) -> Result<Self, Error> {
        let entry = entry.with(Kernel::Segments).expect("every operator has it");
        let places = segments::places(entry.element, len, count);
        let most = WARPS.min(entry.max_threads / LANES);
        let warps_of = |leaves: u32| places.div_ceil(entry.element.leaf_elements() * u64::from(leaves));
        let mut leaves = entry.strategy.most_leaves_of_segments();
        while leaves > 1 && warps_of(leaves) < MANY_BLOCKS * u64::from(most) {
            leaves /= 2;
        }
        let warps = warps_of_a_block(warps_of(leaves), most);
        let range = entry.element.leaf_elements() * u64::from(leaves);
        let shape = Shape {
            warps,
            leaves_per_warp: leaves,
            blocks: blocks(count, warps_of(leaves).div_ceil(warps.into()))?,
        };
        Ok(Self::folds(entry, [count, len], shape, len / range))
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

#[cfg(test)]
mod tests {
    use warpfold_kernels::{element::Type, kernels::find};

    use super::*;

    #[test]
    fn each_plan_has_a_warp_for_each_range_and_a_slot_for_each_tile() {
        for (op, element) in [
            ("sum", Type::F32),
            ("sum", Type::U8),
            ("kurtosis", Type::F64),
            ("arg", Type::F16),
            ("dot", Type::Bf16),
            ("cosine", Type::F32),
            ("describe", Type::F32),
            ("sum_exact", Type::F64),
        ] {
            let entry = find(op, element, Kernel::All).expect("built");
            for len in [0, 1, 1000, 1 << 20, (1 << 28) + 1, 1 << 36] {
                for count in [0, 1, 1000, 1 << 24] {
                    let plan = Plan::segments(entry, len, count).expect("few blocks");
                    let leaves = plan.shape.leaves_per_warp;
                    assert!(
                        leaves.is_power_of_two() && leaves <= entry.strategy.most_leaves_of_segments(),
                        "{plan}"
                    );
                    assert!(
                        plan.threads() <= plan.entry.max_threads && plan.shape.blocks >= 1,
                        "{plan}"
                    );
                    let range = element.leaf_elements() * u64::from(leaves);
                    let ranges = u64::from(plan.shape.blocks) * u64::from(plan.shape.warps);
                    assert!(ranges * range >= segments::places(element, len, count), "{plan}");
                    // At most two for each whole tile of the array, however it is divided.
                    assert_eq!(plan.slots() as u64, 2 * (len / range), "{plan}");
                    assert!(plan.ticket_words() >= plan.slots(), "{plan}");
                }
            }
        }
    }

    #[test]
    fn too_many_segments_are_an_error() {
        let entry = find("sum", Type::F32, Kernel::All).expect("built");
        let plan = Plan::segments(entry, 0, 1 << 50);
        assert!(matches!(plan, Err(Error::GridOverflow { count, .. }) if count == 1 << 50));
    }
}
