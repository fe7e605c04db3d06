//! Extents of any lengths that follow one another: segments, each warp folding what begins in its range.

mod short;

use super::Arguments;
use crate::{
    element::Type,
    monoids::{Monoid, Words},
    simt::Simt,
    stages::{
        emit::{Output, finish},
        load::{
            extents::Input,
            segments::{self, SegmentPiece, Segments},
            source::Source,
        },
        reduce::{
            grid::{self, TileSlots},
            run::LeafRun,
            thread,
            unordered::Carried,
            warp::{self, Seen},
        },
        strategy::{SEGMENT_LEVELS, Strategy, is_vast},
    },
    tree::{LANES, PartFold as _, Positional as _, leaf_elements, leaves, pending::Pending},
};

/// Places on the line that segments stand on, for `len` elements in `count` segments; see [`segments`].
#[must_use]
pub const fn places(element: Type, len: u64, count: u64) -> u64 {
    u64::saturating_add(len, u64::saturating_mul(count, segments::cost(element)))
}

/// Folds each segment to its answer.
///
/// ```text
/// short: thread: a vector ─ lanes of a segment: shuffles ─ finish, 32 segments at once
/// others: thread: 8 vectors ─ warp: 5 shuffles ─ leaves of a tile ─ finish
/// of several tiles: tile's slot ─ last warp of 256 tiles, last warp of as many of those, … ─ finish
/// ```
///
/// Of the largest states no segment is short.
///
/// A tile has as many leaves as [steps](Arguments::steps), a power of two, at most [as many](Strategy::most_leaves_of_segments) as there is room for; there are as many warps as tiles in [`places`]. No warp
/// waits for another. There are slots and tickets for twice as many tiles as the array has whole ones. All threads of the grid call this alike.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn reduce_segments<S: Simt, T: Source, M: Monoid<T>>(simt: S, op: M, arguments: Arguments<T>) {
    let Arguments {
        extents,
        tile_slots,
        output,
        steps: leaves,
        ..
    } = arguments;
    let segments = extents.segments();
    if is_vast(M::State::COUNT) {
        return reduce_one_by_one(simt, op, segments, leaves, tile_slots, output);
    }
    let (place, range) = range_of::<S, T>(simt, leaves);
    let first = segments.first_from(simt, place);
    // Of the one before, a tile may begin here.
    let mut batch = u64::saturating_sub(first, 1);
    let mut ends = None;
    loop {
        let number = batch + u64::from(simt.lane());
        let at = |number| segments.ends(simt, number);
        let here = ends.unwrap_or_else(|| at(number));
        let mine = segments.piece(simt, number, here, place, range);
        if !const { Strategy::of::<T, M>().are_states_dear() } {
            // On its way while these are folded.
            ends = Some(at(number + u64::from(LANES)));
        }
        let here = Batch {
            segments,
            first: batch,
            place,
            range,
        };
        here.fold(simt, op, mine, tile_slots, output);
        // Where the last lane has none there are no more.
        if simt.ballot(mine.exists) >> (LANES - 1) == 0 {
            return;
        }
        batch += u64::from(LANES);
    }
}

/// As many segments as a warp has lanes, from number `first` on, and the warp's range of the line: `range` places from `place` on.
#[derive(Clone, Copy)]
struct Batch<T: Source> {
    segments: Segments<T>,
    first: u64,
    place: u64,
    range: u64,
}

impl<T: Source> Batch<T> {
    /// Folds and finishes what begins in the range, each lane having its own piece: short segments all at once, others one by one.
    ///
    /// Called by: all 32 lanes together · Scratch: the segments' slots
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn fold<S: Simt, M: Monoid<T>>(self, simt: S, op: M, mine: SegmentPiece<T>, tile_slots: TileSlots, output: Output) {
        let Self {
            segments,
            first,
            place,
            range,
        } = self;
        let is_whole = mine.exists && !mine.is_tile(range);
        let len = if is_whole { mine.input.len() as u32 } else { 0 };
        let (mut state, is_short) = short::fold(simt, op, segments, mine.input, len);

        let mut is_done = mine.exists;
        let tiles = simt.ballot(mine.exists && mine.is_tile(range));
        let mut left = simt.ballot(mine.exists && !(is_whole && is_short));
        while left != 0 {
            let lane = u32::trailing_zeros(left);
            left &= left - 1;
            let mut total = Some(fold_run(simt, op, segments.of_lane(simt, mine.input, lane)));
            if tiles >> lane & 1 != 0 {
                // Asked for again: registers are dearer than loads from a near cache.
                let number = first + u64::from(lane);
                total = total.and_then(|total| {
                    let piece = segments.piece(simt, number, segments.ends(simt, number), place, range);
                    combine_tiles(simt, op, piece, range, tile_slots, total)
                });
            }
            if simt.lane() == lane {
                is_done = total.is_some();
                state = total.unwrap_or(state);
            }
        }
        if is_done {
            finish(simt, op, mine.len, state, output, first + u64::from(simt.lane()));
        }
    }
}

/// Where this warp's range of the line begins, and how many places it has, those of so many leaves.
fn range_of<S: Simt, T: Source>(simt: S, leaves: u32) -> (u64, u64) {
    let range = u64::from(leaves) * leaf_elements::<T>() as u64;
    let warp = u64::from(simt.block()) * u64::from(simt.warps()) + u64::from(simt.warp());
    (warp * range, range)
}

/// The same where states are so large that no lane has room for one that waits: one segment after the other.
///
/// Called by: all 32 lanes together · Scratch: the segments' slots
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn reduce_one_by_one<S: Simt, T: Source, M: Monoid<T>>(
    simt: S,
    op: M,
    segments: Segments<T>,
    leaves: u32,
    tile_slots: TileSlots,
    output: Output,
) {
    // Computed anew for each segment, as registers are few.
    let here = || range_of::<S, T>(simt, simt.opaque(leaves));
    let mut number = segments.first_from(simt, here().0);
    let mut before = 0;
    if number > 0 {
        // Of the one before, a tile may begin here.
        number -= 1;
        before = 1;
    }
    loop {
        let (place, range) = here();
        let piece = segments.piece(simt, number, segments.ends(simt, number), place, range);
        if piece.exists {
            let mut total = Some(fold_neighbours(simt, op, piece.input));
            let (place, range) = here();
            let piece = segments.piece(simt, number, segments.ends(simt, number), place, range);
            if piece.is_tile(range) {
                total = total.and_then(|total| combine_tiles(simt, op, piece, range, tile_slots, total));
            }
            if let Some(total) = total
                && simt.lane() == 0
            {
                finish(simt, op, piece.len, total, output, number);
            }
        } else if before == 0 {
            return;
        }
        before = 0;
        number += 1;
    }
}

/// Folds a segment of at most a tile, or a tile of one.
///
/// Called by: all 32 lanes together, with the same input · Valid in: every lane · Scratch: none
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn fold_run<S: Simt, T: Source, M: Monoid<T>>(simt: S, op: M, input: Input<T>) -> M::State {
    if const { Strategy::of::<T, M>().is_tile_a_leaf() } {
        return warp::fold_extent(simt, op, input, &mut Seen::nothing(op));
    }
    let leaf = leaf_elements::<T>() as u32;
    let mut left = input;
    let mut pending = Pending::<M::State, SEGMENT_LEVELS>::nothing(op);
    let mut seen = Seen::nothing(op);
    let mut number = 0;
    while !left.is_empty() {
        let here = left.first(left.len().min(leaf.into()));
        let state = warp::fold_extent(simt, op, here, &mut seen);
        pending.push(simt, op, number, op.positional().shift(state, u64::from(number * leaf)));
        left = left.from(here.len());
        number += 1;
    }
    pending.total(simt, op, number)
}

/// Folds a segment of at most a tile, or a tile of one, whose leaves have one state together.
///
/// Called by, Valid in, Scratch: as [`fold_run`]
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn fold_neighbours<S: Simt, T: Source, M: Monoid<T>>(simt: S, op: M, input: Input<T>) -> M::State {
    let count = leaves::<T>(input.len()) as u32;
    if const { Strategy::of::<T, M>().accumulates_per_thread() } {
        let mut leaf = 0;
        let mine = op.part_fold().fold_parts(op, op.identity(), || {
            leaf += 1;
            (leaf <= count).then(|| thread::not_yet(simt, input, u64::from(leaf - 1)))
        });
        return warp::reduce(simt, op, mine);
    }
    let all = LeafRun {
        simt,
        op,
        input,
        first: 0,
        count,
    };
    all.fold(&mut Carried::nothing(op), true)
}

/// The total of a segment of several tiles, `state` being that of the tile `piece`; none where others are still being folded.
///
/// Called by: all 32 lanes together, with the same piece · Valid in: every lane · Scratch: the segment's slots
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn combine_tiles<S: Simt, T: Source, M: Monoid<T>>(
    simt: S,
    op: M,
    piece: SegmentPiece<T>,
    range: u64,
    tile_slots: TileSlots,
    state: M::State,
) -> Option<M::State> {
    let here = tile_slots.part::<M::State>(piece.first_slot(range), piece.tiles(range));
    let state = op.positional().shift(state, piece.tile * range);
    grid::last_warps_fold(simt, op, here, piece.tile, state)
}
