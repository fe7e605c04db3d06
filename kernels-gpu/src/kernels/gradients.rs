//! Lists of tensors of different lengths and types: their norm, all of them taken as one vector, and clipping them to one.
//!
//! A table in device memory says where each tensor lies. A warp has a tile, a power-of-two number of one tensor's leaves, and finds its tensor by the tile's number. So
//! there is one launch, whatever the number of tensors.

mod fold;
mod launch;
mod points;

pub use launch::{TensorEntry, TensorsLaunch, Tile};
pub use points::{CLIP, ENTRIES, find};

use crate::{
    monoids::{Counted, Monoid, TensorNorm, Words, clip_factor},
    simt::Simt,
    stages::{
        columns::{Floats, MOST, Rows, Weights},
        emit::{self, Output},
        reduce::{
            grid::{self, Meeting},
            warp,
        },
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
///
/// # Safety
///
/// The table and the tensors are valid and unwritten for the whole launch; there are slots and tickets for each tile and each tensor, the tickets at zero; the answer is
/// valid for writes. All threads of the grid call this alike.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub unsafe fn fold_tensors<S: Simt, N: TensorNorm>(simt: S, norm: N, launch: TensorsLaunch) {
    let op = Counted(norm);
    let mut total = op.identity();
    if launch.tiles > 0 {
        let Some(number) = launch.tile_number(simt) else {
            return;
        };
        // SAFETY: passed on to the caller.
        let met = unsafe {
            let tile = launch.tile(simt, number);
            let mut leaves = fold::Leaves {
                simt,
                norm,
                tensor: tile.tensor,
                first: tile.tile * launch.leaves,
                count: launch.leaves as u32,
            };
            let mine = warp::reduce_rows(simt, op, launch.leaves as u32, LANES, &mut leaves);
            launch.meet(simt, op, tile, warp::reduce(simt, op, mine))
        };
        let Some(met) = met else {
            return;
        };
        total = met;
    }
    if simt.lane() == 0 && (launch.tiles > 0 || simt.block() + simt.warp() == 0) {
        let output = Output {
            answer: launch.answer.cast(),
            state: core::ptr::null_mut(),
        };
        // SAFETY: passed on to the caller; one warp comes here.
        unsafe { emit::finish(simt, op, launch.elements, total, output, 0) };
    }
}

impl TensorsLaunch {
    /// Combines the tiles of each tensor, neighbours first, and then the tensors. `None` in every warp but the last to arrive.
    ///
    /// Called by: all 32 lanes together; lane 0 has the `state` of its tile · Valid in: every lane · Scratch: the slots
    ///
    /// # Safety
    ///
    /// As [`fold_tensors`].
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn meet<S: Simt, N: TensorNorm>(
        &self,
        simt: S,
        op: Counted<N>,
        tile: Tile,
        mut state: (N::State, u64),
    ) -> Option<(N::State, u64)> {
        let mut meeting = self.meeting::<N>(tile.tensor.first_tile, tile.tiles);
        let mut place = tile.tile;
        // Twice the same code: a compiler that counted the turns would have it twice.
        let mut turn = simt.opaque(0);
        while turn < 2 {
            // SAFETY: passed on to the caller; each tile has one warp, and so has each tensor the last of its own.
            state = unsafe { grid::last_warps_fold(simt, op, meeting, place, state)? };
            (meeting, place) = (self.meeting::<N>(self.tiles, self.count), tile.number);
            turn = simt.opaque(turn + 1);
        }
        Some(state)
    }

    /// Where as many tiles, or tensors, meet: their slots and tickets from number `first` on.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn meeting<N: TensorNorm>(&self, first: u64, tiles: u64) -> Meeting {
        Meeting {
            slots: self.slots.wrapping_add(first as usize * <(N::State, u64)>::COUNT),
            tiles,
            tickets: self.tickets.wrapping_add(first as usize),
            // Warps meet, whichever block they are of.
            blocks: 0,
        }
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
///
/// # Safety
///
/// The tables are valid and unwritten for the whole launch, and so is the answer, which a launch before wrote. The tensors are valid, and those that are written nobody
/// else's; they may be the same, of the same types.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub unsafe fn clip_tensors<S: Simt>(simt: S, launch: TensorsLaunch) {
    let Some(number) = launch.tile_number(simt) else {
        return;
    };
    // SAFETY: passed on to the caller.
    let norm = f32::from_bits(unsafe { simt.load(launch.answer) });
    let Some(factor) = clip_factor(norm, f32::from_bits(launch.number as u32)) else {
        return;
    };
    // SAFETY: passed on to the caller.
    let (tile, to) = unsafe {
        let tile = launch.tile(simt, number);
        (tile, TensorEntry::load(simt, launch.to, tile.number))
    };
    let floats = tile.tensor.floats();
    let elements = launch.leaves * leaf_elements(floats);
    let first = tile.tile * elements;
    let clipped = Clipped {
        simt,
        factor,
        from: Weights {
            start: tile.tensor.address(),
            floats,
        },
        to: Rows {
            start: to.address(),
            stride: 0,
            floats,
        },
    };
    let end = u64::min(tile.tensor.len, first + elements);
    let is_wide = (tile.tensor.start | to.start) % 16 == 0;
    // SAFETY: passed on to the caller.
    unsafe {
        let rest = if is_wide { clipped.in_runs(first, end) } else { first };
        clipped.one_by_one(rest, end);
    }
}

/// A tensor that is multiplied.
#[derive(Clone, Copy)]
struct Clipped<S> {
    simt: S,
    factor: f32,
    from: Weights,
    to: Rows,
}

impl<S: Simt> Clipped<S> {
    /// As many [runs](RUNS) as there are between two elements of aligned tensors; and the element behind the last of them.
    ///
    /// # Safety
    ///
    /// As [`clip_tensors`].
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn in_runs(self, mut first: u64, end: u64) -> u64 {
        let Self { simt, factor, .. } = self;
        const { assert!(RUNS == 4, "four runs are written out") };
        while first + RUNS as u64 * RUN <= end {
            let mine = first + u64::from(simt.lane()) * MOST as u64;
            let mut runs = [[0.0; MOST]; RUNS];
            macro_rules! write_out {
                ($($run:literal)*) => {
                    // SAFETY: passed on to the caller: the elements are there, aligned, and written after they were read, by this lane.
                    unsafe {
                        $(runs[$run] = self.run(mine + $run * RUN);)*
                        $(self.to.store(simt, self.to.element(self.to.start, mine + $run * RUN), scaled(runs[$run], factor), MOST);)*
                    }
                };
            }
            write_out!(0 1 2 3);
            first += RUNS as u64 * RUN;
        }
        first
    }

    /// Eight elements.
    ///
    /// # Safety
    ///
    /// As [`clip_tensors`]; they are there, and aligned.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn run(self, first: u64) -> [f32; MOST] {
        let Self { simt, from, .. } = self;
        // SAFETY: passed on to the caller.
        unsafe {
            if from.floats.bytes() == 4 {
                let at = from.start.cast::<u32>().wrapping_add(first as usize);
                let [a, b, c, d] = simt.load_shared_input_vector(at).map(f32::from_bits);
                let [e, f, g, h] = simt.load_shared_input_vector(at.wrapping_add(4)).map(f32::from_bits);
                [a, b, c, d, e, f, g, h]
            } else {
                let at = from.start.cast::<u16>().wrapping_add(first as usize);
                from.floats.unpack::<u16>(simt.load_shared_input_vector(at.cast()))
            }
        }
    }

    /// All elements between two, of any alignment.
    ///
    /// # Safety
    ///
    /// As [`clip_tensors`].
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn one_by_one(self, first: u64, end: u64) {
        let Self { simt, factor, .. } = self;
        let mut at = first + u64::from(simt.lane());
        while at < end {
            // SAFETY: passed on to the caller: this lane's alone, which reads it before it writes it.
            unsafe {
                let value = self.from.load_one(simt, at, 0.0);
                self.to.store_one(simt, self.to.start, at, value * factor);
            }
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
