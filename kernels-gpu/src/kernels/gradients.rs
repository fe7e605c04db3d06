//! Lists of tensors of different lengths and types: their norm, all of them taken as one vector, and clipping them to one.
//!
//! A table in device memory says where each tensor lies. A warp has a tile, a power-of-two number of one tensor's leaves, and finds its tensor by the tile's number. So
//! there is one launch, whatever the number of tensors.

mod fold;
mod launch;
mod points;

pub use launch::{TensorEntry, TensorsArguments, Tile};
pub use points::{CLIP, ENTRIES, find};

use crate::{
    monoids::{Counted, Monoid, TensorNorm, clip_factor},
    simt::Simt,
    stages::{
        columns::{Floats, MOST, Weights},
        emit::{self, OutRows},
        reduce::{grid, warp},
    },
    tree::{LANES, LEAF_BYTES},
};

/// The most leaves of a tile.
pub const MOST_LEAVES: u32 = 32;

/// Writes the norm of all tensors, and how many elements are not finite.
///
/// ```text
/// lane: 8 vectors ─ leaves of a tile ─ warp: 5 shuffles ─ tile's slot
/// last warp of a tensor's 256 tiles, … ─ tensor's slot ─ last warp of 256 tensors, … ─ finish
/// ```
///
/// There are as many warps as tiles, or more, and one at least. No warp waits for another.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn fold_tensors<S: Simt, N: TensorNorm>(simt: S, norm: N, launch: TensorsArguments) {
    let op = Counted(norm);
    let mut total = op.identity();
    if launch.tiles > 0 {
        let Some(number) = launch.tile_number(simt) else {
            return;
        };
        let tile = launch.tile(simt, number);
        let mut leaves = fold::Leaves {
            simt,
            norm,
            tensor: tile.tensor,
            first: tile.tile * launch.leaves,
            count: launch.leaves as u32,
        };
        let mine = warp::reduce_rows(simt, op, launch.leaves as u32, LANES, &mut leaves);
        let Some(combined) = launch.combine_tiles(simt, op, tile, warp::reduce(simt, op, mine)) else {
            return;
        };
        total = combined;
    }
    if simt.lane() == 0 && (launch.tiles > 0 || simt.block() + simt.warp() == 0) {
        emit::finish(simt, op, launch.elements, total, launch.output, 0);
    }
}

impl TensorsArguments {
    /// Combines the tiles of each tensor, neighbours first, and then the tensors. `None` in every warp but the last to arrive.
    ///
    /// Called by: all 32 lanes together; lane 0 has the `state` of its tile · Valid in: every lane · Scratch: the slots
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn combine_tiles<S: Simt, N: TensorNorm>(
        &self,
        simt: S,
        op: Counted<N>,
        tile: Tile,
        mut state: (N::State, u64),
    ) -> Option<(N::State, u64)> {
        let part = |first: u64, tiles: u64| self.tile_slots.part::<(N::State, u64)>(first, tiles);
        let mut tile_slots = part(tile.tensor.first_tile, tile.tiles);
        let mut place = tile.tile;
        // Twice the same code: a compiler that counted the turns would have it twice.
        let mut turn = simt.opaque(0);
        while turn < 2 {
            // Each tile has one warp, and so has each tensor the last of its own.
            state = grid::last_warps_fold(simt, op, tile_slots, place, state)?;
            (tile_slots, place) = (part(self.tiles, self.count), tile.number);
            turn = simt.opaque(turn + 1);
        }
        Some(state)
    }
}

/// Elements that a lane of [`clip_tensors`] has of each of several runs that are in flight together.
const RUNS: usize = 4;

/// Elements of such a run.
const RUN: u64 = LANES as u64 * MOST as u64;

/// Multiplies each element by the [factor](clip_factor) that the norm and the largest norm to be had make, and rounds it once; if there is none, nothing is written.
///
/// ```text
/// the norm ─ factor ─ lane: 8 elements of each of 4 runs ─ multiply ─ write
/// ```
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn clip_tensors<S: Simt>(simt: S, launch: TensorsArguments) {
    let Some(number) = launch.tile_number(simt) else {
        return;
    };
    let [norm, largest] = launch.norms(simt);
    let Some(factor) = clip_factor(norm, largest) else {
        return;
    };
    let tile = launch.tile(simt, number);
    let to = launch.to.get(simt, tile.number);
    let floats = tile.tensor.floats();
    let elements = launch.leaves * leaf_elements(floats);
    let first = tile.tile * elements;
    let clipped = Clipped {
        simt,
        factor,
        // SAFETY: a table's tensors are valid; each element has one lane, which reads it before it writes it.
        from: unsafe { Weights::new(tile.tensor.address(), floats) },
        // SAFETY: as above.
        to: unsafe { OutRows::new(to.address(), 0, floats) },
    };
    let end = u64::min(tile.tensor.len, first + elements);
    let is_wide = (tile.tensor.start | to.start).is_multiple_of(16);
    let rest = if is_wide { clipped.in_runs(first, end) } else { first };
    clipped.one_by_one(rest, end);
}

/// A tensor that is multiplied.
#[derive(Clone, Copy)]
struct Clipped<S> {
    simt: S,
    factor: f32,
    from: Weights,
    to: OutRows,
}

impl<S: Simt> Clipped<S> {
    /// As many [runs](RUNS) as there are between two elements of aligned tensors; and the element behind the last of them.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn in_runs(self, mut first: u64, end: u64) -> u64 {
        let Self { simt, factor, .. } = self;
        const { assert!(RUNS == 4, "four runs are written out") };
        while first + RUNS as u64 * RUN <= end {
            let mine = first + u64::from(simt.lane()) * MOST as u64;
            let mut runs = [[0.0; MOST]; RUNS];
            macro_rules! write_out {
                ($($run:literal)*) => {
                    $(runs[$run] = self.from.load_eight(simt, mine + $run * RUN);)*
                    $(self.to.store(simt, self.to.first(), mine + $run * RUN, scaled(runs[$run], factor), MOST);)*
                };
            }
            write_out!(0 1 2 3);
            first += RUNS as u64 * RUN;
        }
        first
    }

    /// All elements between two, of any alignment.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn one_by_one(self, first: u64, end: u64) {
        let Self { simt, factor, .. } = self;
        let mut at = first + u64::from(simt.lane());
        while at < end {
            let value = self.from.load_one(simt, at, 0.0);
            self.to.store_one(simt, self.to.first(), at, value * factor);
            at += u64::from(LANES);
        }
    }
}

/// Each of eight numbers times another.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn scaled([a, b, c, d, e, f, g, h]: [f32; MOST], by: f32) -> [f32; MOST] {
    [a * by, b * by, c * by, d * by, e * by, f * by, g * by, h * by]
}

/// Elements of a leaf of a tensor.
#[must_use]
pub const fn leaf_elements(floats: Floats) -> u64 {
    (LEAF_BYTES / floats.bytes()) as u64
}
