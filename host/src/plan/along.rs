//! Plans of folds along axes.

use std::fmt;

use warpfold_kernels::{
    kernels::{
        Entry, Kernel,
        columns::{AT_ONCE, CLUSTER, most_tiles},
        rows::Width,
        strided,
    },
    stages::{
        load::rows::Tiling,
        reduce::team::Team,
        strategy::{COLUMN_LEVELS, is_vast, most_states},
    },
    tree::{LANES, ROWS, VECTOR_BYTES},
};

use super::{ALONE, MANY_BLOCKS, MULTIPROCESSORS, Plan, Shape, WARPS, blocks, warps_of_a_block};
use crate::{Error, layout::Extents};

/// Long rows that are many have few warps each: one for so many leaves, at most [`MOST_OF_FEW`], for then warps wait for one another less, skip
/// more, and share an odd number of leaves evenly.
const LEAVES_OF_A_WARP: u64 = 8;
const MOST_OF_FEW: u32 = 4;

/// But not in the kernels of the largest blocks, which fold a leaf in so few instructions that it does not matter.
const MOST_THREADS_OF_FEW: u32 = 256;

/// Columns of so many warps' widths have [`MOST_OF_FEW`] warps each, those of [`MANY_BLOCKS`] half as many, if a lane then has more than
/// one step.
const MANY_GROUPS: u64 = 16;

/// What memory gives at once. Of the largest states, of which none wait in a lane, so many bytes of neighbouring answers are a warp's: it has
/// lanes for several parts of each, and tiles are larger.
const SECTOR_BYTES: u64 = 32;

/// Warps of a block of columns, and blocks that keep a large device busy with them.
const COLUMN_WARPS: u32 = 8;
const COLUMN_BLOCKS: u64 = 256;

/// Slots of a set of columns from which on more of them cost more than more blocks gain: one block folds them all.
const MOST_SLOTS: u64 = 1 << 15;

/// Columns are in clusters if they are at most so many sets, of at least so many clusters each, and of so few steps: more rows take longer by fewer
/// blocks than their slots do. Two sets of wider elements have at most half the steps. On one H200 on 2026-11-28 sums of 32,768 × 256 bf16 took
/// 9.0 µs for 10.7, 20,000 × 320 10.2 for 14.2, 10,000 × 256 f32 7.3 for 8.9; but 32,768 × 256 f32 13.1 for 12.1.
const MOST_SETS: u64 = 2;
const LEAST_CLUSTERS: u64 = 2;
const MOST_STEPS: u32 = 8;

/// Of the rows of a leaf, columns have as many as these at least: of fewer a lane would have too few loads in flight.
const LEAST_ROWS: u64 = 2;

/// Waves of blocks up to which those of short rows are small.
const FEW_WAVES: u64 = 3;

/// Warps that keep a large device busy.
const MANY_WARPS: u64 = 4096;

impl Plan {
    /// The tuned plan for a fold along axes with the operator of `entry`: it picks the kernel, too.
    ///
    /// | extents | kernel |
    /// |---|---|
    /// | one, in a run | as of a [whole array](Self::new) |
    /// | each a run of at most a leaf | [`Kernel::Rows`]: a lane, some lanes, or a warp for each; where there is none, as longer ones |
    /// | each a longer run | [`Kernel::All`]: a block for each, or several where there are few extents |
    /// | others | [`Kernel::Strided`]: neighbouring lanes fold neighbouring extents; or one, where its elements lie closer together |
    ///
    /// # Errors
    ///
    /// [`Error::GridOverflow`] where there would be more blocks than a grid can have, 2³¹ − 1.
    pub fn along(entry: &'static Entry, extents: &Extents) -> Result<Self, Error> {
        Self::along_all(entry, std::slice::from_ref(extents))
    }

    /// The same of the extents of arrays that are folded together.
    ///
    /// # Errors
    ///
    /// As [`along`](Self::along).
    pub fn along_all(entry: &'static Entry, arrays: &[Extents]) -> Result<Self, Error> {
        let extents = &arrays[0];
        let &Extents { count, len, .. } = extents;
        let kernel = |kernel| entry.with(kernel).expect("every operator has it");
        if len == 0 || arrays.iter().all(Extents::is_contiguous) {
            if count == 1 {
                return Ok(Self::new(entry, len));
            }
            if len <= entry.element.leaf_elements()
                && let Some(rows) = entry.with(Kernel::Rows)
            {
                return Self::of_rows(rows, extents);
            }
            return Self::of_long_rows(kernel(Kernel::All), len, count);
        }
        let strided = kernel(Kernel::Strided);
        match arrays {
            [extents] if strided.strategy.has_columns() && are_vectors(strided, extents) => {
                Self::of_vectors(strided, extents).unwrap_or_else(|| Self::of_columns(strided, extents))
            }
            _ => Self::of_columns(strided, extents),
        }
    }

    /// Columns of which a lane has as many as elements in a vector; none of so long ones that their tiles are too many.
    fn of_vectors(entry: &'static Entry, extents: &Extents) -> Option<Result<Self, Error>> {
        let &Extents { count, len, .. } = extents;
        let row = entry.element.leaf_elements() / ROWS as u64;
        let vector = VECTOR_BYTES as u64 / entry.element.bytes() as u64;
        // Groups of lanes side by side in a warp: no more answers than there are, but more than lanes.
        let mut groups = 1;
        while groups < u64::from(LANES) && count * 2 * groups <= u64::from(LANES) * vector && vector > 2 * groups {
            groups *= 2;
        }
        let answers = u64::from(LANES) * vector / groups;
        let (sets, columns) = (
            count.div_ceil(answers),
            len.div_ceil(entry.element.leaf_elements()) * row,
        );
        let tiles = |steps: u32| columns.div_ceil(u64::from(COLUMN_WARPS) * groups * u64::from(steps));
        let mut steps = 1 << COLUMN_LEVELS;
        let is_idle = |steps: u32| u64::from(COLUMN_WARPS) * groups * u64::from(steps) > columns;
        let are_few =
            |steps: u32| tiles(steps) * answers < MOST_SLOTS && sets.saturating_mul(tiles(steps)) < COLUMN_BLOCKS;
        while steps > 1 && (is_idle(steps) || are_few(steps)) {
            steps /= 2;
        }
        let tiles = tiles(steps);
        let parts = u64::from(COLUMN_WARPS) * groups / u64::from(AT_ONCE);
        (tiles <= most_tiles(parts as u32)).then(|| {
            let shape = Shape {
                warps: COLUMN_WARPS,
                leaves_per_warp: 1,
                blocks: blocks(count, sets.saturating_mul(tiles))?,
            };
            let team = Team {
                answers: answers as u32,
                warps: COLUMN_WARPS,
                steps,
            };
            Ok(Self {
                team,
                ..Self::folds(entry, [count, len], shape, tiles)
            })
        })
    }

    /// The same for a device and an entry that have clusters, which is what a GPU then launches. Of few columns, whose slots one block would fold, they make it sooner.
    #[must_use]
    pub fn in_clusters(mut self) -> Self {
        let sets = u64::from(self.shape.blocks) / self.tiles.max(1);
        let is_of_columns = self.entry.kernel == Kernel::Strided && self.team.answers > LANES;
        let gains_nothing = sets > MOST_SETS || self.tiles < LEAST_CLUSTERS * u64::from(CLUSTER);
        if !is_of_columns || gains_nothing || self.team.steps > MOST_STEPS {
            return self;
        }
        // All blocks run at once, and as few slots are left.
        let (mut steps, mut tiles) = (self.team.steps, self.tiles);
        while sets * tiles > MULTIPROCESSORS && steps < 1 << COLUMN_LEVELS {
            (steps, tiles) = (2 * steps, tiles.div_ceil(2));
        }
        if sets > 1 && self.entry.element.bytes() > 2 && steps > MOST_STEPS / 2 {
            return self;
        }
        (self.team.steps, self.tiles) = (steps, tiles);
        self.cluster = CLUSTER;
        self.tiles = self.tiles.next_multiple_of(CLUSTER.into());
        self.shape.blocks = (sets * self.tiles) as u32;
        self
    }

    /// Runs of at most a leaf. Where they are whole vectors a warp takes 4 KiB of them: if the memory is not aligned, in several turns.
    fn of_rows(entry: &'static Entry, extents: &Extents) -> Result<Self, Error> {
        let &Extents { count, len, .. } = extents;
        let vector = (VECTOR_BYTES / entry.element.bytes()) as u64;
        let is_whole = |elements: u64| elements.is_multiple_of(vector);
        let is_regular = !extents.has_several() && is_whole(extents.stride() as u64) && is_whole(len);
        let (rows, warps_at_once) = if is_regular && len > 0 && entry.strategy.folds_rows_at_once() {
            let resident = entry.max_threads / LANES * entry.min_blocks.unwrap_or(1);
            (
                Tiling::of((len / vector) as u32).rows(),
                u64::from(resident) * MULTIPROCESSORS,
            )
        } else {
            (Width::of(entry.element, len).extents(), 0)
        };
        let warps = count.div_ceil(rows.into());
        // Of few waves the last leaves less idle if it has small blocks.
        let most = if warps < FEW_WAVES * warps_at_once {
            WARPS / 2
        } else {
            WARPS
        };
        let in_block = warps_of_a_block(warps, most.min(entry.max_threads / LANES));
        let shape = Shape {
            warps: in_block,
            leaves_per_warp: 1,
            blocks: blocks(count, warps.div_ceil(in_block.into()))?,
        };
        Ok(Self {
            team: Team { answers: rows, ..ALONE },
            ..Self::folds(entry, [count, len], shape, 1)
        })
    }

    /// Longer runs: a block for each, if there are many.
    fn of_long_rows(entry: &'static Entry, len: u64, count: u64) -> Result<Self, Error> {
        let leaves = len.div_ceil(entry.element.leaf_elements());
        let up_to = |n: u64, most: u32| n.next_power_of_two().min(u64::from(most)) as u32;
        let mut warps = up_to(leaves, (entry.max_threads / LANES).min(most_states(entry.state_words)));
        if entry.max_threads <= MOST_THREADS_OF_FEW {
            let mut few = 1 << (leaves / LEAVES_OF_A_WARP).clamp(1, MOST_OF_FEW.into()).ilog2();
            while count.saturating_mul(few) < MANY_WARPS && few < u64::from(warps) {
                few *= 2;
            }
            warps = up_to(few, warps);
        }
        let most = entry.strategy.most_leaves(warps);
        let mut leaves_per_warp = up_to(leaves.div_ceil(warps.into()), most);
        let tiles = |leaves_per_warp: u32| leaves.div_ceil(u64::from(warps * leaves_per_warp));
        while leaves_per_warp > 1 && count.saturating_mul(tiles(leaves_per_warp)) < MANY_BLOCKS {
            leaves_per_warp /= 2;
        }
        let tiles = tiles(leaves_per_warp);
        let shape = Shape {
            warps,
            leaves_per_warp,
            blocks: blocks(count, count.saturating_mul(tiles.max(1)))?,
        };
        Ok(Self::folds(entry, [count, len], shape, tiles))
    }

    /// Extents whose elements lie anywhere.
    fn of_columns(entry: &'static Entry, extents: &Extents) -> Result<Self, Error> {
        let &Extents { count, len, .. } = extents;
        // Lanes that are neighbours read what lies closest.
        let most_answers = if is_vast(entry.state_words) {
            SECTOR_BYTES / entry.element.bytes() as u64
        } else {
            LANES.into()
        };
        let answers = if extents.answers_are_closer() || count >= u64::from(LANES) && len < u64::from(LANES) {
            count.min(most_answers).next_power_of_two() as u32
        } else {
            1
        };
        let groups = count.div_ceil(answers.into());
        let parts = strided::parts(entry.element, len);
        // Units of a lane, were there but one warp for an answer.
        let units = parts.div_ceil(u64::from(LANES / answers));
        let (most, most_steps) = (entry.max_threads / LANES, entry.strategy.most_steps());
        let tiles = |team: Team| parts.div_ceil(team.units());
        let team_of = |warps: u32| {
            let warps = units.next_power_of_two().min(warps.into()) as u32;
            let steps = units.div_ceil(warps.into()).next_power_of_two().min(most_steps.into()) as u32;
            let mut team = Team { answers, warps, steps };
            while team.steps > 1 && groups.saturating_mul(tiles(team)) < MANY_BLOCKS {
                team.steps /= 2;
            }
            team
        };
        let few = if groups >= MANY_BLOCKS {
            MOST_OF_FEW / 2
        } else {
            MOST_OF_FEW
        };
        let few = team_of(most.min(few));
        let team = if groups >= MANY_GROUPS && few.steps > 1 {
            few
        } else {
            team_of(most)
        };
        let tiles = tiles(team);
        // Several teams a block, where they are small and many.
        let teams = (groups.saturating_mul(tiles) / MANY_BLOCKS).max(1).next_power_of_two();
        let teams = teams.min(u64::from(most / team.warps)) as u32;
        let sets = groups.div_ceil(teams.into());
        let shape = Shape {
            warps: teams * team.warps,
            leaves_per_warp: 1,
            blocks: blocks(count, sets.saturating_mul(tiles))?,
        };
        Ok(Self {
            team,
            ..Self::folds(entry, [count, len], shape, tiles)
        })
    }

    pub(super) fn write_along(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Team { answers, warps, steps } = self.team;
        write!(
            f,
            "{} of {} extents of {} elements: ",
            self.entry.name, self.count, self.len
        )?;
        if self.entry.kernel == Kernel::Strided && answers > LANES {
            write!(
                f,
                "{answers} answers in a block, {warps} warps × {steps} columns of the tree, "
            )?;
            if self.cluster > 1 {
                write!(f, "clusters of {} blocks, ", self.cluster)?;
            }
        } else if self.entry.kernel == Kernel::Strided {
            write!(f, "{answers} answers in a warp, {warps} warps × {steps} steps, ")?;
        }
        write!(
            f,
            "{} tiles, {} blocks of {} threads, {} bytes to move, {} bytes of workspace",
            self.tiles,
            self.shape.blocks,
            self.threads(),
            self.bytes(),
            4 * self.workspace_words(),
        )
    }
}

/// Whether extents are neighbours, a number of whole vectors, and of more than some rows.
fn are_vectors(entry: &Entry, extents: &Extents) -> bool {
    let vector = VECTOR_BYTES as u64 / entry.element.bytes() as u64;
    let is_whole = |number: u64| number.is_multiple_of(vector);
    let row = entry.element.leaf_elements() / ROWS as u64;
    let Extents {
        kept, folded, offset, ..
    } = extents;
    let ([kept], [folded]) = (&kept[..], &folded[..]) else {
        return false;
    };
    kept.stride == 1
        && kept.size > u64::from(LANES)
        && [kept.size, folded.stride.unsigned_abs(), *offset]
            .into_iter()
            .all(is_whole)
        && folded.size >= LEAST_ROWS * row
}

#[cfg(test)]
mod tests;
