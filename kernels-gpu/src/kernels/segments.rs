//! Extents of any lengths that follow one another: segments, each warp folding what begins in its range.

use super::{
    Instructions,
    output::{Output, finish},
};
use crate::{
    element::{Element, Type},
    monoids::{Monoid, Words},
    simt::Simt,
    stages::{
        extents::Input,
        grid::{self, Meeting},
        segments::{self, Piece, Segments},
        shuffle, thread, warp,
    },
    tree::{LANES, ROWS, leaf_elements, vector_elements},
};

/// Vectors of short segments that a lane has in flight.
const SLOTS: u32 = 4;

/// The most leaves of a tile, a power of two.
pub const MOST_LEAVES: u32 = 4;

/// Places on the line that segments stand on, for `len` elements in `count` segments; see [`segments`].
#[must_use]
pub const fn places(element: Type, len: u64, count: u64) -> u64 {
    let cost = match element.bytes() {
        1 => segments::cost::<u8>(),
        2 => segments::cost::<u16>(),
        4 => segments::cost::<u32>(),
        _ => segments::cost::<u64>(),
    };
    len.saturating_add(count.saturating_mul(cost))
}

/// How often the instructions that matter stand in the code of [`reduce_segments`] for a state of `words` words.
#[must_use]
pub const fn instructions<T>(words: usize) -> Instructions {
    // A vector of each lane's own segment; slots of several lanes each; a leaf.
    let (wide, turns) = (1 + SLOTS as usize + ROWS, 1 + SLOTS as usize + 1);
    let (scalar, bytes) = thread::scalar_loads::<T>(wide);
    let (piece, search) = segments::LOADS;
    let (collect, reduce, reduce_first) = (1, 5, 1);
    let slots = (4 + 2 + 1 + 2) + 3;
    Instructions {
        // A whole leaf once more.
        vector_loads: wide + ROWS,
        scalar_loads: scalar + turns * bytes + search + 2 * piece,
        shuffles: SLOTS as usize * 3 + (reduce_first + collect + reduce + slots) * words,
        barriers: 0,
        tickets: 1,
    }
}

/// Folds each segment to its answer.
///
/// ```text
/// short: thread: a vector ─ lanes of a segment: shuffles ─ finish, 32 segments at once
/// others: thread: 8 vectors ─ warp: 5 shuffles ─ leaves of a tile ─ finish
/// of several tiles: tile's slot ─ last warp of 256 tiles, last warp of as many of those, … ─ finish
/// ```
///
/// A tile has `leaves` leaves, a power of two, at most [`MOST_LEAVES`]; there are as many warps as tiles in [`places`]. No warp
/// waits for another.
///
/// # Safety
///
/// The segments' numbers and elements are valid and unwritten for the whole launch; `meeting` has a slot and a ticket, at zero,
/// for twice as many tiles as the array has whole ones; `output`'s pointers are null or valid. All threads of the grid call this
/// alike.
#[inline(always)]
pub unsafe fn reduce_segments<S: Simt, T: Element, M: Monoid<T>>(
    simt: S,
    op: M,
    segments: Segments<T>,
    leaves: u32,
    meeting: Meeting,
    output: Output,
) {
    let range = u64::from(leaves) * leaf_elements::<T>() as u64;
    let place = (u64::from(simt.block()) * u64::from(simt.warps()) + u64::from(simt.warp())) * range;
    // SAFETY: passed on to the caller.
    let first = unsafe { segments.first_from(simt, place) };
    // Of the one before, a tile may begin here.
    let mut batch = u64::saturating_sub(first, 1);
    loop {
        let number = batch + u64::from(simt.lane());
        // SAFETY: passed on to the caller.
        let mine = unsafe { segments.piece(simt, number, place, range) };
        let exists = simt.ballot(mine.exists);
        let is_whole = mine.exists && !mine.is_tile(range);
        let len = if is_whole { mine.input.len as u32 } else { 0 };
        let width = width::<S, T>(simt, len);
        let is_short = len <= width * vector_elements::<T>() as u32;
        let short = Input {
            len: if is_short { u64::from(len) } else { 0 },
            ..mine.input
        };
        // SAFETY: passed on to the caller.
        let mut state = unsafe { fold_short(simt, op, segments, short, width) };

        let mut is_done = mine.exists;
        let mut left = simt.ballot(mine.exists && !(is_whole && is_short));
        while left != 0 {
            let lane = u32::trailing_zeros(left);
            left &= left - 1;
            // SAFETY: passed on to the caller.
            let piece = unsafe { segments.piece(simt, batch + u64::from(lane), place, range) };
            // SAFETY: passed on to the caller; such a lane has a segment.
            let total = unsafe { fold_long(simt, op, piece, range, meeting) };
            if simt.lane() == lane {
                is_done = total.is_some();
                state = total.unwrap_or(state);
            }
        }
        if is_done {
            // SAFETY: passed on to the caller; each segment has one such lane.
            unsafe { finish(simt, op, mine.len, state, output, number) };
        }
        // Where the last lane has none there are no more.
        if exists >> (LANES - 1) == 0 {
            return;
        }
        batch += u64::from(LANES);
    }
}

/// How many lanes are to fold a segment, of `len` elements this lane's: 1, 4, 8, 16 or 32. Segments too long for that are folded
/// by the warp one by one, as long as more lanes each would take longer.
#[inline(always)]
fn width<S: Simt, T>(simt: S, len: u32) -> u32 {
    let mut width = 1;
    while width < LANES {
        let longer = simt.ballot(len > width * vector_elements::<T>() as u32);
        if u32::count_ones(longer) <= width {
            break;
        }
        width = if width < SLOTS { SLOTS } else { 2 * width };
    }
    width
}

/// Folds the `mine` of each lane, at most `width` vectors long, by `width` lanes each.
///
/// Called by: all 32 lanes together · Valid in: every lane, its own · Scratch: none
///
/// # Safety
///
/// As [`reduce_segments`].
#[inline(always)]
unsafe fn fold_short<S: Simt, T: Element, M: Monoid<T>>(
    simt: S,
    op: M,
    segments: Segments<T>,
    mine: Input<T>,
    width: u32,
) -> M::State {
    if width == 1 {
        // SAFETY: passed on to the caller.
        return unsafe { thread::load_row(simt, mine, 0) }.fold(op);
    }
    let none = op.identity();
    let mut state = none;
    // In each round lanes of one number after the other have a segment, `per` segments.
    let lanes = u32::trailing_zeros(width);
    let per = LANES >> lanes;
    let address = mine.start.addr() as u64;
    let mut round = 0;
    while round < width {
        let load = |slot: u32| {
            let from = (round + slot) * per + (simt.lane() >> lanes);
            let low = u64::from(simt.shuffle(address as u32, from));
            let high = u64::from(simt.shuffle((address >> 32) as u32, from));
            let len = u64::from(simt.shuffle(mine.len as u32, from));
            let start = mine.start.with_addr((low | high << 32) as usize);
            let around = if segments.apart {
                Input::new(start, len).around
            } else {
                segments.around
            };
            // SAFETY: passed on to the caller.
            unsafe { thread::load_row(simt, Input { start, len, around }, simt.lane() & (width - 1)) }
        };
        // All are read before any is folded.
        let (a, b, c, d) = (load(0), load(1), load(2), load(3));
        let mut folded = (a.fold(op), b.fold(op), c.fold(op), d.fold(op));
        // A loop, so that what is the same for each slot stands here once, of a number of turns that no compiler knows.
        let end = round + simt.anew(SLOTS);
        while round < end {
            let total = warp::reduce_first(simt, op, folded.0, width);
            let total = shuffle(simt, total, (simt.lane() & (per - 1)) << lanes);
            if simt.lane() >> (u32::trailing_zeros(LANES) - lanes) == round {
                state = total;
            }
            folded = (folded.1, folded.2, folded.3, none);
            round += 1;
        }
    }
    state
}

/// Folds a segment of at most a tile, or a tile of one; its total where the other tiles are folded.
///
/// Called by: all 32 lanes together, with the same piece · Valid in: every lane · Scratch: the segment's slots
///
/// # Safety
///
/// As [`reduce_segments`].
#[inline(always)]
unsafe fn fold_long<S: Simt, T: Element, M: Monoid<T>>(
    simt: S,
    op: M,
    piece: Piece<T>,
    range: u64,
    meeting: Meeting,
) -> Option<M::State> {
    const { assert!(MOST_LEAVES == 4, "four leaves are written out") };
    let none = op.identity();
    let (mut a, mut b, mut c, mut d) = (none, none, none, none);
    let mut before = 0;
    while before < piece.input.len {
        let leaf = Input {
            start: piece.input.start.wrapping_add(before as usize),
            len: piece.input.len - before,
            ..piece.input
        };
        // SAFETY: passed on to the caller.
        let mine = unsafe {
            if leaf.is_wide(0) {
                thread::load_leaf(simt, leaf, 0).fold(op)
            } else {
                let len = leaf.len.min(leaf_elements::<T>() as u64);
                thread::fold_rows::<S, T, M, ROWS>(simt, op, Input { len, ..leaf })
            }
        };
        let state = op.shift(warp::reduce(simt, op, mine), before);
        match before / leaf_elements::<T>() as u64 {
            0 => a = state,
            1 => b = state,
            2 => c = state,
            _ => d = state,
        }
        before += leaf_elements::<T>() as u64;
    }
    let total = op.combine(op.combine(a, b), op.combine(c, d));
    if !piece.is_tile(range) {
        return Some(total);
    }
    let slot = piece.first_slot(range);
    let here = Meeting {
        slots: meeting.slots.wrapping_add(slot as usize * M::State::COUNT),
        tickets: meeting.tickets.wrapping_add(slot as usize),
        tiles: piece.tiles(range),
        ..meeting
    };
    let total = op.shift(total, piece.tile * range);
    // SAFETY: passed on to the caller; each tile is in one warp's range.
    unsafe { grid::last_warps_fold(simt, op, here, piece.tile, total) }
}
