//! From a problem to a launch: pure arithmetic, no device. Host, tests and emulator read the same plan.
//!
//! There is one [`Plan`], of folds ([`Plan::new`], [`Plan::along`], [`Plan::segments`]), of row operations ([`Plan::rows`]) and of lists of tensors
//! ([`Plan::list`]): how blocks are shaped, what each folds, and what [ends](Ending) it. A plan never changes the answer: any legal [`Shape`] folds
//! the same canonical tree.

mod along;
pub(crate) mod distinct;
mod predict;
pub mod row;
mod segments;
mod tensors;

use std::fmt;

use warpfold_kernels::{
    kernels::{Entry, Kernel, Launch, SMALL_TILES, whole},
    simt::MAX_WARPS,
    stages::strategy::{Partials, is_large, most_states},
    tree::LANES,
};

pub use distinct::DistinctPlan;
pub use predict::Memory;
pub use tensors::clip_entry;
pub use warpfold_distinct::Order;
pub use warpfold_kernels::stages::reduce::team::Team;

use crate::Error;
use row::Purpose;

/// How a launch divides the work. Every number but `blocks` is a power of two, where nothing else is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Warps in a block, at most 32 and no more than the entry's largest block.
    pub warps: u32,
    /// Leaves that each warp folds of a tile, at most [as many](warpfold_kernels::stages::strategy::Strategy::most_leaves) as the entry's have room. Any number of them where they
    /// are combined [in any order](Partials::PerThread). Of row operations leaves that a warp folds one after the other, of one row or of several, where nothing is mapped; else 0.
    pub leaves_per_warp: u32,
    /// Blocks in the grid, at least 1.
    pub blocks: u32,
}

/// What is made of a fold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Ending {
    /// The answer of each extent.
    Answer,
    /// What a row operation is planned for, an extent being a row.
    Rows {
        /// What for.
        purpose: Purpose,
        /// Whether one launch folds, and another maps.
        is_split: bool,
    },
    /// The norm of a list of tensors, of elements of several types.
    Norm {
        /// Bytes of all tensors.
        bytes: u64,
    },
}

/// A launch, or several of one kernel, ready to print and to compare.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// The kernel.
    pub entry: &'static Entry,
    /// Elements of an extent: of the input, where it is folded whole or in segments; of all tensors of a list.
    pub len: u64,
    /// Extents, each folded to an answer of its own; rows; the tensors of a list.
    pub count: u64,
    /// How the work is divided.
    pub shape: Shape,
    /// Who folds an answer, where the kernel is [`Kernel::Strided`]. Where it is [`Kernel::Rows`], its `answers` are the rows of a warp.
    pub team: Team,
    /// Tiles of an extent, each folded by one block to one state; 0 for an empty one. Whole tiles of the input, where it is
    /// folded in segments; tiles of all tensors of a list, a warp for each; leaves of a row.
    pub tiles: u64,
    /// Blocks of a cluster, which have neighbouring tiles, or a row together, and hand each other their states; 1 where there are none.
    pub cluster: u32,
    /// What is made of it.
    pub ending: Ending,
}

/// One answer, by whole blocks.
const ALONE: Team = Team {
    answers: 1,
    warps: 1,
    steps: 1,
};

/// Blocks that keep a large device busy.
const MANY_BLOCKS: u64 = 1024;

/// Warps in a block, where nothing says otherwise.
const WARPS: u32 = 8;

/// Leaves of an array up to which the largest blocks all run at once.
const FEW_LEAVES: u64 = 1 << 15;

/// Multiprocessors of the device that plans were measured on. On others the blocks of a plan are some more than run at once, or fewer.
const MULTIPROCESSORS: u64 = 132;

/// The most leaves of a tile, where they are powers of two.
const TILE_LEAVES: u32 = 128;

/// Leaves of an array up to which tiles are half as large where a warp's leaves have one state: of few large tiles the last ones leave
/// most of the device idle.
const MANY_LEAVES: u64 = 1 << 19;

/// Words that the tickets of a workspace are a multiple of: nothing else is in their cache lines.
pub(crate) const TICKET_WORDS: usize = 32;

impl Plan {
    /// The tuned plan for `len` elements and the operator of `entry`: it picks the kernel, too.
    ///
    /// Measured on one H200, driver 580, 2026-11-20: CUDA-graph replays over rotating buffers, f32 sum, both
    /// kernels in the legal shapes of each length from 2¹⁰ to 2³⁰ against each other. What won (docs/figures.md has the speeds;
    /// `cargo bench --bench gpu -- sum --shapes` tries the kernel of any length again):
    ///
    /// | elements | shape |
    /// |---|---|
    /// | up to 2¹⁴ | small kernel if there is one, one tile, a warp for each leaf |
    /// | up to 2²² | the same, blocks of 4 to 16 warps, at most 256 tiles |
    /// | up to 2²⁵ | 256 tiles |
    /// | up to 2²⁶ | 512 tiles of 128 leaves, in blocks small enough to run all at once |
    /// | more | tiles of 128 leaves, in the largest blocks where 32 warps fit a multiprocessor, else in blocks of 4 warps |
    /// | where something is [set aside](Partials::PerRun) | as many blocks as run at once |
    /// | more than 2²⁵, where leaves are combined [in any order](Partials::PerThread) | a tile for each block that runs at once |
    ///
    /// The blocks of 4 warps are of 2026-11-22: at 2²⁸ argmax takes 242 to 244 µs in them and 253 in blocks of 8, the compensated sum
    /// 240 and 248, the exact one 326 and 343.
    #[must_use]
    pub fn new(entry: &'static Entry, len: u64) -> Self {
        let leaves = len.div_ceil(entry.element.leaf_elements()).max(1);
        let up_to = |n: u64, most: u32| n.next_power_of_two().min(u64::from(most)) as u32;
        let few = entry
            .with(Kernel::Small)
            .or_else(|| entry.with(Kernel::All))
            .unwrap_or(entry);
        if let Some(plan) = Self::of_few(few, len) {
            return plan;
        }
        let entry = entry.with(Kernel::All).unwrap_or(entry);
        // At first so few tiles that one warp folds their slots; then blocks small enough to run all at once; and small ones where
        // few fit a multiprocessor, for the last of them would leave it half empty.
        let most_warps = entry.max_threads / LANES;
        let warps = match leaves {
            ..=FEW_LEAVES => most_warps,
            _ if most_warps > WARPS && leaves > 2 * FEW_LEAVES => most_warps,
            _ => (most_warps / 2).max(WARPS / 2).min(most_warps),
        };
        let warps = warps.min(most_states(entry.state_words));
        let most_leaves = entry.strategy.most_leaves(warps);
        // Blocks that run at once.
        let resident = u64::from(entry.min_blocks.unwrap_or(1) * (most_warps / warps)) * MULTIPROCESSORS;
        if entry.strategy.partials() == Partials::PerThread {
            // A warp's leaves have one state together, so a tile may have as many as there are for a block.
            let tiles = if leaves <= FEW_LEAVES { SMALL_TILES } else { resident };
            let leaves_per_warp = leaves.div_ceil(tiles * u64::from(warps));
            return Self::of(entry, len, warps, leaves_per_warp.min(most_leaves.into()) as u32);
        }
        let of_a_tile = match entry.strategy.partials() {
            Partials::PerRun { aside: false } if leaves <= MANY_LEAVES => TILE_LEAVES / 2,
            _ => TILE_LEAVES,
        };
        let most_leaves = most_leaves.min(of_a_tile / warps);
        let leaves_per_warp = up_to(leaves.div_ceil(SMALL_TILES * u64::from(warps)), most_leaves);
        let mut plan = Self::of(entry, len, warps, leaves_per_warp);
        if entry.strategy.partials() == (Partials::PerRun { aside: true }) {
            plan.shape.blocks = plan.shape.blocks.min(resident as u32);
        }
        plan
    }

    /// A leaf for each warp, where blocks are so few that one warp folds their slots, and so small that as many multiprocessors as there
    /// are read: at 2¹⁴ sums of f32 without NaN took 4.4 µs in two blocks of 8 warps, and 4.2 in four of 4, on an H100 on 2026-11-25.
    fn of_few(entry: &'static Entry, len: u64) -> Option<Self> {
        let leaves = len.div_ceil(entry.element.leaf_elements()).max(1);
        let most_warps = (entry.max_threads / LANES).min(most_states(entry.state_words));
        let most_tiles = if entry.strategy.partials() == Partials::PerThread && is_large(entry.state_words) {
            1
        } else {
            SMALL_TILES
        };
        let most = |warps: u64| warps.next_power_of_two().min(u64::from(most_warps)) as u32;
        let warps = if leaves <= u64::from(most_warps) {
            most(leaves)
        } else {
            most(leaves.div_ceil(128)).max(4.min(most_warps))
        };
        let is_few = leaves <= most_tiles * u64::from(most_warps);
        // Those that are the cheaper, the more leaves a warp has, are given more.
        let takes_one = entry.kernel == Kernel::Small || !matches!(entry.strategy.partials(), Partials::PerRun { .. });
        (is_few && takes_one).then(|| Self::of(entry, len, warps, 1))
    }

    /// A block for each tile: the hardware hands out blocks as others end, which balances the load.
    fn of(entry: &'static Entry, len: u64, warps: u32, leaves_per_warp: u32) -> Self {
        let tiles = len.div_ceil(whole::tile_elements(entry.element, warps, leaves_per_warp));
        let blocks = tiles.clamp(1, i32::MAX as u64) as u32;
        let shape = Shape {
            warps,
            leaves_per_warp,
            blocks,
        };
        Self::folds(entry, [1, len], shape, tiles)
    }

    /// Of extents of as many elements, by whole blocks, to an answer each.
    pub(crate) const fn folds(entry: &'static Entry, [count, len]: [u64; 2], shape: Shape, tiles: u64) -> Self {
        Self {
            entry,
            len,
            count,
            shape,
            team: ALONE,
            tiles,
            cluster: 1,
            ending: Ending::Answer,
        }
    }

    /// A plan of a given shape, for tuning and for tests: the answer is the same.
    ///
    /// # Errors
    ///
    /// [`Error::Shape`] where a number of `shape` is none that the entry's kernel takes, or makes 2³² tiles or more, which it does not
    /// count (of an array of 16 TiB at least).
    pub fn with_shape(entry: &'static Entry, len: u64, shape: Shape) -> Result<Self, Error> {
        let Shape {
            warps,
            leaves_per_warp,
            blocks,
        } = shape;
        let mut legal = warps.is_power_of_two()
            && warps <= MAX_WARPS.min(entry.max_threads / LANES)
            && warps <= most_states(entry.state_words)
            && (leaves_per_warp.is_power_of_two() || entry.strategy.partials() == Partials::PerThread)
            && (1..=entry.strategy.most_leaves(warps)).contains(&leaves_per_warp)
            && (1..=i32::MAX as u32).contains(&blocks);
        let tiles = if legal {
            len.div_ceil(whole::tile_elements(entry.element, warps, leaves_per_warp))
        } else {
            0
        };
        legal &= tiles <= u64::from(u32::MAX);
        if entry.kernel == Kernel::Small {
            legal &= leaves_per_warp == 1 && tiles <= SMALL_TILES && u64::from(blocks) == tiles.max(1);
        }
        if !legal {
            return Err(Error::Shape {
                entry: entry.name,
                shape,
            });
        }
        Ok(Self::folds(entry, [1, len], shape, tiles))
    }

    /// Threads in a block.
    #[must_use]
    pub fn threads(&self) -> u32 {
        self.shape.warps * LANES
    }

    /// What a launch passes of the plan: all but addresses, where elements lie, and what an operator is passed.
    #[must_use]
    pub fn launch(&self) -> Launch {
        Launch {
            len: self.len,
            count: self.count,
            tiles: self.tiles,
            blocks: self.blocks_that_meet().into(),
            steps: self.steps().into(),
            answers: self.team.answers.into(),
            warps: self.team.warps.into(),
            ..Launch::NOTHING
        }
    }

    /// Blocks, threads of a block, and blocks of a cluster.
    #[cfg(feature = "cuda")]
    pub(crate) fn grid(&self) -> [u32; 3] {
        [self.shape.blocks, self.threads(), self.cluster]
    }

    /// Elements that the launch reads.
    #[must_use]
    pub fn elements(&self) -> u64 {
        match (self.ending, self.entry.kernel) {
            (Ending::Norm { .. }, _) | (_, Kernel::Segments) => self.len,
            _ => self.len.saturating_mul(self.count),
        }
    }

    /// Bytes that the launch must read and write, of two arrays every element of both, and a mask where its kernel takes one (though
    /// none is read where NaN alone is left out); of rows that are mapped answers of the elements' type, too, and of a list of tensors what its norm reads. The speed of light is
    /// these over the memory's bandwidth.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let element = self.entry.element.bytes() as u64;
        let of_an_extent = match (self.ending, self.entry.kernel) {
            (Ending::Norm { bytes }, _) => return bytes,
            (
                Ending::Rows {
                    purpose: Purpose::Map, ..
                },
                _,
            ) => self.len.saturating_mul(element),
            // Each has an offset.
            (_, Kernel::Segments) => (self.entry.answer_bytes + size_of::<u64>()) as u64,
            _ => self.entry.answer_bytes as u64,
        };
        let item: usize = (0..self.entry.arrays).map(|array| self.entry.pitch(array)).sum();
        let elements = self.elements().saturating_mul(item as u64);
        elements.saturating_add(self.count.saturating_mul(of_an_extent))
    }

    /// What the launch passes of the work of a warp: its leaves of a tile, or its steps.
    #[must_use]
    pub fn steps(&self) -> u32 {
        match self.entry.kernel {
            Kernel::Strided => self.team.steps,
            _ => self.shape.leaves_per_warp,
        }
    }

    /// Blocks that fold an extent together, or a set of them: of a row that is in no cluster as many as have warps for its leaves.
    #[must_use]
    pub fn blocks_that_meet(&self) -> u32 {
        match self.ending {
            Ending::Answer => (u64::from(self.shape.blocks) / self.block_sets().max(1)) as u32,
            Ending::Rows { is_split, .. } if is_split && self.shape.leaves_per_warp == 0 => {
                self.tiles.div_ceil(self.shape.warps.into()) as u32
            }
            Ending::Rows { .. } => self.cluster,
            Ending::Norm { .. } => 1,
        }
    }

    /// Extents, or sets of them that the same blocks fold, each with a ticket of its own.
    fn block_sets(&self) -> u64 {
        match self.entry.kernel {
            // Each block of a cluster has a share of the answers.
            Kernel::Strided => u64::from(self.shape.blocks) / self.tiles.max(1) * u64::from(self.cluster),
            Kernel::All | Kernel::Small => self.count,
            Kernel::Rows | Kernel::Segments | Kernel::Row(_) | Kernel::Own => 0,
        }
    }

    /// Words before the first slot of a workspace: the tickets.
    #[must_use]
    pub fn ticket_words(&self) -> usize {
        let tickets = match (self.ending, self.entry.kernel) {
            (Ending::Rows { .. }, _) => return 0,
            (Ending::Norm { .. }, _) | (_, Kernel::Segments) => self.slots().max(1),
            _ if self.tiles > 1 => self.block_sets() as usize,
            _ => 1,
        };
        tickets.next_multiple_of(TICKET_WORDS)
    }

    /// States in a workspace.
    #[must_use]
    pub fn slots(&self) -> usize {
        match self.ending {
            Ending::Answer => {}
            Ending::Rows { .. } => return self.levels().iter().sum::<u64>().saturating_mul(self.count) as usize,
            // Of each tile, and of each tensor.
            Ending::Norm { .. } => return self.tiles.saturating_add(self.count) as usize,
        }
        let of_a_set = match self.entry.kernel {
            // Whatever the segments, they have no more tiles that others wait for: see the kernel.
            Kernel::Segments => return 2 * self.tiles as usize,
            Kernel::Rows | Kernel::Row(_) | Kernel::Own => 0,
            Kernel::Strided if self.tiles > 1 => self.shape.warps / self.team.warps * self.team.answers / self.cluster,
            Kernel::Strided => 0,
            Kernel::All if self.count > 1 && self.tiles <= 1 => 0,
            Kernel::All | Kernel::Small => 1,
        };
        (self.block_sets() * self.tiles / u64::from(self.cluster)) as usize * of_a_set as usize
    }

    /// Words of the workspace: the tickets and the slots.
    #[must_use]
    pub fn workspace_words(&self) -> usize {
        self.ticket_words() + self.slots().saturating_mul(self.entry.state_words)
    }
}

/// So many blocks, if a grid can have them.
pub(crate) fn blocks(count: u64, blocks: u64) -> Result<u32, Error> {
    match i32::try_from(blocks) {
        Ok(blocks) => Ok(blocks.unsigned_abs().max(1)),
        Err(_) => Err(Error::GridOverflow { count, blocks }),
    }
}

/// How many of `warps` warps, none of which needs the others, are a block, at most `most`. Few of them in small blocks: then they
/// run on as many multiprocessors.
fn warps_of_a_block(warps: u64, most: u32) -> u32 {
    (warps / MANY_BLOCKS).max(1).next_power_of_two().min(most.into()) as u32
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shape {
            warps,
            leaves_per_warp,
            blocks,
        } = self.shape;
        match self.ending {
            Ending::Answer => {}
            Ending::Rows { purpose, is_split } => return self.write_rows(purpose, is_split, f),
            Ending::Norm { .. } => return self.write_list(f),
        }
        if self.entry.kernel == Kernel::Segments {
            return self.write_segments(f);
        }
        if self.count != 1 || self.entry.kernel == Kernel::Strided {
            return self.write_along(f);
        }
        write!(
            f,
            "{} of {} elements: {} tiles of {warps} warps × {leaves_per_warp} leaves, {blocks} blocks of {} threads, \
             {} bytes to move, {} bytes of workspace",
            self.entry.name,
            self.len,
            self.tiles,
            self.threads(),
            self.bytes(),
            4 * self.workspace_words(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use warpfold_kernels::kernels::LIBRARY;

    /// Lengths about every edge of the rule above.
    fn edges() -> impl Iterator<Item = u64> {
        (0..=36)
            .flat_map(|log| [(1u64 << log) - 1, 1 << log, (1 << log) + 1, 3 << log])
            .chain([0])
    }

    #[test]
    fn every_plan_is_legal_and_covers_each_element_once() {
        for entry in LIBRARY.entries() {
            for len in edges() {
                let plan = Plan::new(entry, len);
                assert_eq!(
                    Plan::with_shape(plan.entry, len, plan.shape).expect("legal"),
                    plan,
                    "{plan}"
                );
                let tile = whole::tile_elements(plan.entry.element, plan.shape.warps, plan.shape.leaves_per_warp);
                assert!(
                    plan.tiles * tile >= len && (plan.tiles == 0 || (plan.tiles - 1) * tile < len),
                    "{plan}"
                );
            }
        }
    }

    #[test]
    fn a_workspace_is_a_thousandth_of_the_input_at_most() {
        for entry in LIBRARY.entries() {
            for len in edges() {
                let plan = Plan::new(entry, len);
                let bytes = 4 * plan.workspace_words() as u64;
                let tickets = 4 * TICKET_WORDS as u64;
                // As many slots as the small kernel has tiles: 1 KiB for each word of a state.
                let little = 4 * SMALL_TILES * entry.state_words as u64 + tickets;
                assert!(bytes <= plan.bytes() / 1000 || bytes <= little, "{plan}");
            }
        }
    }

    #[test]
    fn illegal_shapes_are_named() {
        let entry = warpfold_kernels::kernels::entry("sum_f32").expect("listed");
        for (warps, leaves_per_warp, blocks) in [(0, 1, 1), (3, 1, 1), (32, 1, 1), (1, 0, 1), (1, 256, 1), (1, 1, 0)] {
            let shape = Shape {
                warps,
                leaves_per_warp,
                blocks,
            };
            let error = Plan::with_shape(entry, 10, shape).expect_err("illegal");
            assert!(error.to_string().contains("sum_f32"), "{error}");
        }
    }
}
