//! Extents of any lengths that follow one another: segments, each warp folding what begins in its range.

mod short;

use crate::{
    element::Type,
    monoids::{Monoid, Words},
    simt::Simt,
    stages::{
        emit::{Output, finish},
        load::{
            extents::{Input, after},
            segments::{self, Piece, Segments},
            source::{At, Source},
        },
        reduce::{
            aside::Carried,
            grid::{self, Meeting},
            run::Run,
            thread,
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
/// A tile has `leaves` leaves, a power of two, at most [as many](Strategy::most_leaves_of_segments) as there is room for; there are as many warps as tiles in [`places`]. No warp
/// waits for another.
///
/// # Safety
///
/// The segments' numbers and elements are valid and unwritten for the whole launch; `meeting` has a slot and a ticket, at zero,
/// for twice as many tiles as the array has whole ones; `output`'s pointers are null or valid. All threads of the grid call this
/// alike.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub unsafe fn reduce_segments<S: Simt, T: Source, M: Monoid<T>>(
    simt: S,
    op: M,
    segments: Segments<T>,
    leaves: u32,
    meeting: Meeting,
    output: Output,
) {
    if is_vast(M::State::COUNT) {
        // SAFETY: passed on to the caller.
        return unsafe { reduce_one_by_one(simt, op, segments, leaves, meeting, output) };
    }
    let (place, range) = range_of::<S, T>(simt, leaves);
    // SAFETY: passed on to the caller.
    let first = unsafe { segments.first_from(simt, place) };
    // Of the one before, a tile may begin here.
    let mut batch = u64::saturating_sub(first, 1);
    let mut ends = None;
    loop {
        let number = batch + u64::from(simt.lane());
        // SAFETY: passed on to the caller.
        let at = |number| unsafe { segments.ends(simt, number) };
        let here = ends.unwrap_or_else(|| at(number));
        // SAFETY: passed on to the caller.
        let mine = unsafe { segments.piece(simt, number, here, place, range) };
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
        // SAFETY: passed on to the caller.
        unsafe { here.fold(simt, op, mine, meeting, output) };
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
    ///
    /// # Safety
    ///
    /// As [`reduce_segments`].
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn fold<S: Simt, M: Monoid<T>>(self, simt: S, op: M, mine: Piece<T>, meeting: Meeting, output: Output) {
        let Self {
            segments,
            first,
            place,
            range,
        } = self;
        let is_whole = mine.exists && !mine.is_tile(range);
        let len = if is_whole { mine.input.len as u32 } else { 0 };
        // SAFETY: passed on to the caller.
        let (mut state, is_short) = unsafe { short::fold(simt, op, segments, mine.input, len) };

        let mut is_done = mine.exists;
        let tiles = simt.ballot(mine.exists && mine.is_tile(range));
        let mut left = simt.ballot(mine.exists && !(is_whole && is_short));
        while left != 0 {
            let lane = u32::trailing_zeros(left);
            left &= left - 1;
            // SAFETY: passed on to the caller.
            let mut total = Some(unsafe { fold_of_lane(simt, op, segments, mine.input, lane) });
            if tiles >> lane & 1 != 0 {
                // Asked for again: registers are dearer than loads from a near cache.
                let number = first + u64::from(lane);
                // SAFETY: passed on to the caller; each tile is in one warp's range.
                total = total.and_then(|total| unsafe {
                    let piece = segments.piece(simt, number, segments.ends(simt, number), place, range);
                    meet(simt, op, piece, range, meeting, total)
                });
            }
            if simt.lane() == lane {
                is_done = total.is_some();
                state = total.unwrap_or(state);
            }
        }
        if is_done {
            // SAFETY: passed on to the caller; each segment has one such lane.
            unsafe { finish(simt, op, mine.len, state, output, first + u64::from(simt.lane())) };
        }
    }
}

/// Folds what lane `lane` has of its segment, all lanes together.
///
/// Called by: all 32 lanes together, with the same lane's number · Valid in: every lane · Scratch: none
///
/// # Safety
///
/// As [`reduce_segments`].
#[cfg_attr(target_arch = "nvptx64", inline(always))]
unsafe fn fold_of_lane<S: Simt, T: Source, M: Monoid<T>>(
    simt: S,
    op: M,
    segments: Segments<T>,
    mine: Input<T>,
    lane: u32,
) -> M::State {
    let start = address_of::<S, T>(simt, mine.start, lane);
    let len = u64::from(simt.shuffle(mine.len as u32, lane));
    let around = segments.around_of(start, len);
    // SAFETY: passed on to the caller.
    unsafe { fold_run(simt, op, Input { start, len, around }) }
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
///
/// # Safety
///
/// As [`reduce_segments`].
#[cfg_attr(target_arch = "nvptx64", inline(always))]
unsafe fn reduce_one_by_one<S: Simt, T: Source, M: Monoid<T>>(
    simt: S,
    op: M,
    segments: Segments<T>,
    leaves: u32,
    meeting: Meeting,
    output: Output,
) {
    // Computed anew for each segment, as registers are few.
    let here = || range_of::<S, T>(simt, simt.opaque(leaves));
    // SAFETY: passed on to the caller.
    let mut number = unsafe { segments.first_from(simt, here().0) };
    let mut before = 0;
    if number > 0 {
        // Of the one before, a tile may begin here.
        number -= 1;
        before = 1;
    }
    loop {
        let (place, range) = here();
        // SAFETY: passed on to the caller.
        let piece = unsafe { segments.piece(simt, number, segments.ends(simt, number), place, range) };
        if piece.exists {
            // SAFETY: passed on to the caller; each tile is in one warp's range.
            let mut total = Some(unsafe { fold_neighbours(simt, op, piece.input) });
            let (place, range) = here();
            // SAFETY: as above.
            let piece = unsafe { segments.piece(simt, number, segments.ends(simt, number), place, range) };
            if piece.is_tile(range) {
                // SAFETY: as above.
                total = total.and_then(|total| unsafe { meet(simt, op, piece, range, meeting, total) });
            }
            if let Some(total) = total
                && simt.lane() == 0
            {
                // SAFETY: passed on to the caller; each segment has one such warp.
                unsafe { finish(simt, op, piece.len, total, output, number) };
            }
        } else if before == 0 {
            return;
        }
        before = 0;
        number += 1;
    }
}

/// The addresses that lane `from` has, which each lane names for itself.
///
/// Called by: all 32 lanes together · Valid in: every lane · Scratch: none
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn address_of<S: Simt, T: Source>(simt: S, mine: At<T>, from: u32) -> At<T> {
    T::map(mine, |mine| {
        let address = mine.addr() as u64;
        let low = u64::from(simt.shuffle(address as u32, from));
        let high = u64::from(simt.shuffle((address >> 32) as u32, from));
        mine.with_addr((low | high << 32) as usize)
    })
}

/// Folds a segment of at most a tile, or a tile of one.
///
/// Called by: all 32 lanes together, with the same input · Valid in: every lane · Scratch: none
///
/// # Safety
///
/// As [`reduce_segments`].
#[cfg_attr(target_arch = "nvptx64", inline(always))]
unsafe fn fold_run<S: Simt, T: Source, M: Monoid<T>>(simt: S, op: M, input: Input<T>) -> M::State {
    if const { Strategy::of::<T, M>().is_tile_a_leaf() } {
        // SAFETY: passed on to the caller.
        return unsafe { warp::fold_extent(simt, op, input, &mut Seen::nothing(op)) };
    }
    let leaf = leaf_elements::<T>() as u32;
    let mut left = input.len as u32;
    let mut start = input.start;
    let mut pending = Pending::<M::State, SEGMENT_LEVELS>::nothing(op);
    let mut seen = Seen::nothing(op);
    let mut number = 0;
    while left > 0 {
        let len = left.min(leaf);
        let here = Input {
            start,
            len: u64::from(len),
            ..input
        };
        // SAFETY: passed on to the caller.
        let state = unsafe { warp::fold_extent(simt, op, here, &mut seen) };
        pending.push(simt, op, number, op.positional().shift(state, u64::from(number * leaf)));
        start = after::<T>(start, leaf.into());
        left -= len;
        number += 1;
    }
    pending.total(simt, op, number)
}

/// Folds a segment of at most a tile, or a tile of one, whose leaves have one state together.
///
/// Called by, Valid in, Scratch: as [`fold_run`]
///
/// # Safety
///
/// As [`reduce_segments`].
#[cfg_attr(target_arch = "nvptx64", inline(always))]
unsafe fn fold_neighbours<S: Simt, T: Source, M: Monoid<T>>(simt: S, op: M, input: Input<T>) -> M::State {
    let count = leaves::<T>(input.len) as u32;
    // SAFETY: passed on to the caller.
    unsafe {
        if const { Strategy::of::<T, M>().accumulates_per_thread() } {
            let mut leaf = 0;
            let mine = op.part_fold().fold_parts(op, op.identity(), || {
                leaf += 1;
                (leaf <= count).then(|| thread::not_yet(simt, input, u64::from(leaf - 1)))
            });
            return warp::reduce(simt, op, mine);
        }
        let all = Run {
            simt,
            op,
            input,
            first: 0,
            count,
        };
        all.fold(&mut Carried::nothing(op), true)
    }
}

/// The total of a segment of several tiles, `state` being that of the tile `piece`; none where others are still being folded.
///
/// Called by: all 32 lanes together, with the same piece · Valid in: every lane · Scratch: the segment's slots
///
/// # Safety
///
/// As [`reduce_segments`].
#[cfg_attr(target_arch = "nvptx64", inline(always))]
unsafe fn meet<S: Simt, T: Source, M: Monoid<T>>(
    simt: S,
    op: M,
    piece: Piece<T>,
    range: u64,
    meeting: Meeting,
    state: M::State,
) -> Option<M::State> {
    let slot = piece.first_slot(range);
    let here = Meeting {
        slots: meeting.slots.wrapping_add(slot as usize * M::State::COUNT),
        tickets: meeting.tickets.wrapping_add(slot as usize),
        tiles: piece.tiles(range),
        ..meeting
    };
    let state = op.positional().shift(state, piece.tile * range);
    // SAFETY: passed on to the caller.
    unsafe { grid::last_warps_fold(simt, op, here, piece.tile, state) }
}
