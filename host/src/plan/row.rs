//! From rows to launches.

use std::fmt;

use warpfold_kernels::{
    element::Type,
    kernels::{
        Entry, Kernel, LIBRARY, Library,
        rows::Width,
        rowwise::{LEAVES_OF_A_WARP, LONG_THREADS, MOST_LEAVES, MOST_ROWS, RowVariant, WARPS, dynamic_bytes},
    },
    rowwise::{ROWS, leaf_elements},
    stages::reduce::leaf::MOST_STATES,
    tree::{LANES, VECTOR_BYTES},
};

use super::{Ending, Plan, Shape, blocks as in_grid};
use crate::{Error, layout::Extents};

/// How rows lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum RowLayout {
    /// As aligned vectors, each whole or absent, a stride apart; and nothing is masked, added, or of another type.
    Plain,
    /// Each in one run.
    Contiguous,
    /// The same, and another array is added.
    Added,
    /// Their elements anywhere.
    Strided,
}

impl RowLayout {
    /// How rows lie in an array and another, and their answers, if all else is plain or not.
    #[must_use]
    pub fn of(element: Type, from: &[Extents; 2], to: &Extents, is_plain: bool) -> Self {
        let in_runs = Extents::is_contiguous;
        // What is in runs is written in them, a stride apart.
        if !from.iter().all(in_runs) || !in_runs(to) || to.len > 1 && to.has_several() {
            return Self::Strided;
        }
        let vector = (VECTOR_BYTES / element.bytes()) as u64;
        let are_whole = |extents: &Extents| {
            let numbers = [extents.len, extents.offset, extents.stride().unsigned_abs()];
            numbers.iter().all(|elements| elements.is_multiple_of(vector))
                && extents.stride_within() == 1
                && !extents.has_several()
        };
        if from.iter().all(are_whole) && is_plain {
            Self::Plain
        } else {
            Self::Contiguous
        }
    }
}

/// What rows are planned for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Answers of elements.
    Map,
    /// What is known of rows alone. Of many that are not short a warp folds several, one after the other. Longer ones are folded by one launch, and another makes of
    /// their states what is known: no block waits for others of its cluster, no warp for what one lane of it makes.
    Know,
    /// The states of rows: one launch folds, and no other follows but those that combine states.
    States,
    /// Rows that are [split](crate::row::Part) over several arrays: one launch folds the part of each that is here, another maps it. No kernel of it takes only
    /// [plain](Plan::must_be_plain) launches.
    Part,
}

/// Rows that are to be planned.
#[derive(Clone, Copy)]
pub struct RowProblem {
    /// What the operation's kernels are built in: this library's, or that of [your own](crate::row::own).
    pub library: &'static Library,
    /// The operation.
    pub op: &'static str,
    /// The elements.
    pub element: Type,
    /// How many rows, and elements of each.
    pub size: [u64; 2],
    /// How they lie.
    pub layout: RowLayout,
    /// Blocks of the device's largest cluster; 1 where it has none.
    pub cluster: u32,
    /// What for.
    pub purpose: Purpose,
}

/// Leaves up to which a block has the row by itself; measured on H200s, as those below.
const ONE_BLOCK: u64 = 16;

/// Warps of the blocks of a cluster, if as many blocks as there may be have warps for all leaves.
const FEW_WARPS: u64 = 8;

/// Rows up to which short ones have a warp each, too: that is less code to fetch, and no lane makes for several rows what is known of one. On one H200
/// on 2026-11-27 RMS norms of bf16 rows of 128 took 1.80 µs for 2.54 if there is one, 1.99 for 2.26 of 256, and 3.52 for 2.94 of 4,096.
const FEW_SHORT_ROWS: u64 = 1024;

/// Rows up to which blocks that wait for others of their cluster leave no multiprocessor idle that had work.
const FEW_ROWS: u64 = 8;

/// Leaves above which a cluster keeps rows of f32 in shared memory, where it can. On one H200 on 2026-11-28, µs:
///
/// | | in shared memory | in registers |
/// |---|---|---|
/// | softmax of 1,024 rows of 262,144 | 628 | 787 |
/// | softmax of 4,096 rows of 65,536 | 574 | 583 |
/// | RMS norm of 4,096 rows of 65,536 | 578 | 530 |
const MANY_LEAVES_OF_ROW: u64 = 128;

/// Leaves of a block there.
const LONG_LEAVES: u64 = (LONG_THREADS / LANES * LEAVES_OF_A_WARP) as u64;

/// Rows that a cluster has there one after the other, at most, where so many blocks are left: one row alone waits for its weights, and where all rows are dealt out beforehand
/// some clusters end late. On one H200 on 2026-11-28, by a kernel that loaded and combined as this one, µs:
///
/// | rows a cluster | RMS norm of 1,024 rows of 262,144 f32 | softmax of 4,096 rows of 65,536 f32 |
/// |---|---|---|
/// | 1 | 671 | 548 |
/// | 4 | 612 | 569 |
/// | all, dealt out beforehand | 607 | 607 |
const LONG_ROWS: u64 = 4;
const LONG_BLOCKS: u64 = 2048;

/// Leaves, or rows, for which a GPU has warps at once: of more, a warp folds several.
const MANY_LEAVES: u64 = 4096;

/// Rows of several leaves from which on a warp has whole ones: fewer warps ask for too little at once, and leaves folded alone cost a launch more. On one H200 on
/// 2026-11-28 losses of 8,192 rows of 8,192 f32 took 65.0 µs by 4,096 warps, 73.7 by 2,048, and 87.8 by 1,024.
const MANY_ROWS: u64 = 2048;

/// The most leaves that a warp folds of rows that have a launch for theirs alone, and where there are so many that all warps of a GPU have that many several times over.
/// On one H200 on 2026-11-28 losses of 1,024 rows of 262,144 bf16 took 155.7 µs by 8 leaves a warp, 160.5 by 4; those of 256 rows of 152,064 are best by 4.
const MOST_OF_A_WARP: u64 = 4;
const MOST_OF_MANY: u64 = 8;
const VERY_MANY_LEAVES: u64 = 2 * MOST_OF_MANY * MANY_LEAVES;

/// Blocks of the largest cluster.
pub(crate) const MOST_BLOCKS: u32 = 16;

impl RowProblem {
    /// The kernel of a variant, if the operation has one.
    fn entry(&self, variant: RowVariant) -> Option<&'static Entry> {
        self.library.find_row(self.op, self.element, variant)
    }

    /// What is planned in place of what was asked for.
    fn settled(mut self) -> Self {
        if self.purpose == Purpose::Part {
            self.cluster = 1;
            if self.layout == RowLayout::Plain {
                self.layout = RowLayout::Contiguous;
            }
        }
        // Where no kernel makes of states alone what is known of rows, that of the map does.
        if self.purpose == Purpose::Know && self.entry(RowVariant::Known).is_none() {
            self.purpose = Purpose::Map;
        }
        self.cluster = self.cluster.clamp(1, MOST_BLOCKS);
        self
    }

    /// The variant for rows of so many leaves.
    fn variant(&self, leaves: u64) -> RowVariant {
        match self.layout {
            RowLayout::Plain => {}
            RowLayout::Contiguous => return RowVariant::Any,
            RowLayout::Added => return RowVariant::Added,
            RowLayout::Strided => return RowVariant::Strided,
        }
        if let Some(short) = self.short() {
            return short;
        }
        let is_kept = self.cluster > 1 && self.purpose == Purpose::Map;
        let most = LONG_LEAVES * u64::from(self.cluster);
        if is_kept && (MANY_LEAVES_OF_ROW + 1..=most).contains(&leaves) && self.entry(RowVariant::Long).is_some() {
            return RowVariant::Long;
        }
        let [count, len] = self.size;
        // Leaves, and elements of a row, are counted in 32 bits there.
        let fits = u32::try_from(count.saturating_mul(leaves).max(len)).is_ok();
        if fits && self.is_folded() && self.entry(RowVariant::Fold).is_some() {
            return RowVariant::Fold;
        }
        RowVariant::Leaf
    }

    /// The variant for short rows, if it is the one to take.
    fn short(&self) -> Option<RowVariant> {
        let [count, len] = self.size;
        let variant = if self.purpose == Purpose::Know && self.entry(RowVariant::ShortKnown).is_some() {
            RowVariant::ShortKnown
        } else {
            RowVariant::Short
        };
        let are_few = variant == RowVariant::Short && count <= FEW_SHORT_ROWS;
        let is_short = self.layout == RowLayout::Plain && Width::of(self.element, len) != Width::Warp;
        let is_taken = is_short && !are_few && self.purpose != Purpose::States && self.entry(variant).is_some();
        is_taken.then_some(variant)
    }

    /// Whether a launch folds rows and does not map them.
    fn is_folded(&self) -> bool {
        match self.purpose {
            Purpose::Map => false,
            Purpose::Know => self.short().is_none() && self.size[0] > FEW_ROWS,
            Purpose::States | Purpose::Part => true,
        }
    }

    /// Leaves that a warp of [`RowVariant::Fold`] folds, of rows of so many.
    fn run(&self, leaves: u64, is_whole: bool) -> u32 {
        let count = self.size[0];
        let all = count.saturating_mul(leaves);
        if is_whole {
            count.div_ceil(MANY_LEAVES).min(MOST_ROWS.into()) as u32 * leaves as u32
        } else if all >= VERY_MANY_LEAVES {
            MOST_OF_MANY as u32
        } else {
            (all / MANY_LEAVES).clamp(1, MOST_OF_A_WARP) as u32
        }
    }

    /// Warps of a block, and blocks of a row.
    fn block(&self, variant: RowVariant, leaves: u64, is_split: bool) -> (u32, u64) {
        let cluster = u64::from(self.cluster);
        if leaves == 1 || variant == RowVariant::Fold {
            (WARPS, 1)
        } else if is_split {
            (WARPS, leaves.div_ceil(WARPS.into()))
        } else if variant == RowVariant::Long {
            (LONG_THREADS / LANES, leaves.div_ceil(LONG_LEAVES))
        } else if leaves <= ONE_BLOCK || cluster == 1 {
            (leaves as u32, 1)
        } else {
            let warps = leaves.div_ceil(cluster).next_power_of_two().max(FEW_WARPS);
            (warps as u32, leaves.div_ceil(warps))
        }
    }
}

impl Plan {
    /// Of rows that one of this library's operations maps, `count` of `len` elements, which lie so, on a device whose largest cluster has so many blocks; 1 where it has none.
    ///
    /// ```
    /// use warpfold::{ops::element::Type, plan::{Plan, row::RowLayout}};
    ///
    /// let plan = Plan::mapped_rows("softmax", Type::Bf16, [8192, 8192], RowLayout::Plain, 16)?;
    /// assert_eq!((plan.tiles, plan.shape.warps, plan.shape.blocks, plan.cluster), (8, 8, 8192, 1));
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`Error::NoKernel`] of elements that there is no kernel for; [`Error::GridOverflow`].
    pub fn mapped_rows(
        op: &'static str,
        element: Type,
        size: [u64; 2],
        layout: RowLayout,
        cluster: u32,
    ) -> Result<Self, Error> {
        Self::rows(RowProblem {
            library: &LIBRARY,
            op,
            element,
            size,
            layout,
            cluster,
            purpose: Purpose::Map,
        })
    }

    /// The same of an operation of any library's, and for any purpose.
    ///
    /// # Errors
    ///
    /// As [`mapped_rows`](Self::mapped_rows).
    pub fn rows(problem: RowProblem) -> Result<Self, Error> {
        let problem = problem.settled();
        let RowProblem {
            op, element, purpose, ..
        } = problem;
        let [count, len] = problem.size;
        let entry_of = |variant: RowVariant| {
            let element = element.name();
            problem.entry(variant).ok_or(Error::NoKernel { op, element })
        };
        let arrays = entry_of(RowVariant::Strided)?.arrays;
        let leaves = len.div_ceil(leaf_elements(element.bytes(), arrays) as u64).max(1);
        let variant = problem.variant(leaves);
        let entry = entry_of(variant)?;
        let is_whole = variant == RowVariant::Fold
            && purpose == Purpose::Know
            && leaves <= MOST_LEAVES.into()
            && (leaves == 1 || count >= MANY_ROWS);
        let most = match variant {
            RowVariant::Strided => 1,
            RowVariant::Long => LONG_LEAVES * u64::from(problem.cluster),
            // A power of two, so that the leaves of each block are a subtree.
            _ => u64::from(problem.cluster) << (entry.max_threads / LANES).ilog2(),
        };
        let is_split = !is_whole && (problem.is_folded() || leaves > most);
        let (warps, blocks_of_row) = problem.block(variant, leaves, is_split);
        let run = if variant == RowVariant::Fold {
            problem.run(leaves, is_whole)
        } else {
            0
        };
        let blocks = match (variant, Width::of(element, len)) {
            (RowVariant::Fold, _) => count.saturating_mul(leaves).div_ceil(u64::from(WARPS * run.max(1))),
            (RowVariant::Short | RowVariant::ShortKnown, Width::Lanes(lanes)) => {
                count.div_ceil(u64::from(WARPS * (ROWS / arrays) as u32 * (LANES / lanes)))
            }
            (RowVariant::Strided, _) => {
                let groups = count.div_ceil(LANES.into());
                groups.saturating_mul(leaves).div_ceil(WARPS.into())
            }
            (RowVariant::Long, _) => {
                let all = count.saturating_mul(blocks_of_row);
                let clusters = count.div_ceil((all / LONG_BLOCKS).clamp(1, LONG_ROWS));
                clusters.saturating_mul(blocks_of_row)
            }
            _ if leaves == 1 => count.div_ceil(WARPS.into()),
            _ => count.saturating_mul(blocks_of_row),
        };
        let blocks_of_row = in_grid(count, blocks_of_row)?;
        let shape = Shape {
            warps,
            leaves_per_warp: run,
            blocks: in_grid(count, blocks)?,
        };
        Ok(Self {
            cluster: if is_split { 1 } else { blocks_of_row },
            ending: Ending::Rows { purpose, is_split },
            ..Self::folds(entry, [count, len], shape, leaves)
        })
    }

    /// The variant of its operation's kernels; none of what is no row operation.
    #[must_use]
    pub fn variant(&self) -> Option<RowVariant> {
        match self.entry.kernel {
            Kernel::Row(variant) => Some(variant),
            _ => None,
        }
    }

    /// Whether its kernel takes none but [plain](warpfold_kernels::kernels::Launch::is_plain) launches.
    #[must_use]
    pub fn must_be_plain(&self) -> bool {
        self.variant().is_some_and(RowVariant::is_plain)
    }

    /// Bytes of a block's dynamic shared memory.
    #[must_use]
    pub fn dynamic_bytes(&self) -> u32 {
        if self.variant() == Some(RowVariant::Long) {
            dynamic_bytes(self.shape.warps)
        } else {
            0
        }
    }

    /// Whether one launch folds rows, and another maps them.
    #[must_use]
    pub fn is_split(&self) -> bool {
        matches!(self.ending, Ending::Rows { is_split: true, .. })
    }

    /// How many states a row has, level by level, where one launch folds and another maps: of leaves, then of as many of those as a warp folds, and in the end one.
    #[must_use]
    pub fn levels(&self) -> Vec<u64> {
        if !self.is_split() {
            return vec![];
        }
        let mut levels = vec![self.tiles];
        while let Some(last) = levels.last().filter(|last| **last > 1) {
            levels.push(last.div_ceil(MOST_STATES.into()));
        }
        levels
    }

    /// How many launches combine states: one for each further level. What is known of rows is made of the level before the last.
    #[must_use]
    pub fn combines(&self) -> usize {
        let further = self.levels().len().saturating_sub(1);
        match self.ending {
            Ending::Rows {
                purpose: Purpose::Know, ..
            } => further.saturating_sub(1),
            _ => further,
        }
    }

    /// How many launches there are: one; of rows that are [split](Self::is_split) one that folds, those that [combine](Self::combines), and unless states are asked for one that maps.
    #[must_use]
    pub fn launches(&self) -> u64 {
        match self.ending {
            Ending::Rows {
                purpose,
                is_split: true,
            } => 1 + self.combines() as u64 + u64::from(purpose != Purpose::States),
            _ => 1,
        }
    }

    pub(super) fn write_rows(&self, purpose: Purpose, is_split: bool, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shape { blocks, warps, .. } = self.shape;
        write!(f, "{} in {blocks} blocks of {warps} warps", self.entry.name)?;
        if self.cluster > 1 {
            write!(f, ", {} of a cluster", self.cluster)?;
        }
        match purpose {
            _ if !is_split => Ok(()),
            Purpose::Map | Purpose::Part => write!(f, ", which folds, and again, which maps"),
            Purpose::Know => write!(f, ", which folds, before what is known is made of that"),
            Purpose::States => write!(f, ", which folds"),
        }
    }
}

#[cfg(test)]
mod tests;
