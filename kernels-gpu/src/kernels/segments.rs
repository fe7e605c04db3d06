//! Extents of any lengths that follow one another: segments, each warp folding what begins in its range.

use super::{
    Entry, Instructions,
    output::{Output, finish},
};
use crate::{
    element::{Item, Type},
    monoids::{Monoid, Words},
    simt::Simt,
    stages::{
        extents::{Input, after},
        grid::{self, Meeting},
        in_order, load,
        segments::{self, Piece, Segments},
        shuffle,
        source::{At, Source},
        thread,
        warp::{self, Seen},
    },
    tree::{LANES, ROWS, leaf_elements, pending::Pending, row_elements, vector_elements},
};

/// Vectors of short segments that a lane has in flight.
const SLOTS: u32 = 4;

/// The most leaves of a tile.
pub const MOST_LEAVES: u32 = 1 << LEVELS;

/// Of their subtrees that wait.
const LEVELS: u32 = 3;

/// Whether states are so large that registers are dearer than loads from a near cache.
const fn are_dear(words: usize) -> bool {
    words >= 3
}

/// Whether a tile is a leaf: of two arrays, where states are large, a lane has no room for states that wait.
const fn is_one_leaf(arrays: usize, words: usize) -> bool {
    arrays > 1 && are_dear(words)
}

/// The most leaves of a tile of an entry.
#[must_use]
pub const fn most_leaves(entry: &Entry) -> u32 {
    if is_one_leaf(entry.arrays, entry.state_words) {
        1
    } else {
        MOST_LEAVES
    }
}

/// Places on the line that segments stand on, for `len` elements in `count` segments; see [`segments`].
#[must_use]
pub const fn places(element: Type, len: u64, count: u64) -> u64 {
    u64::saturating_add(len, u64::saturating_mul(count, segments::cost(element)))
}

/// How often the instructions that matter stand in the code of [`reduce_segments`].
#[must_use]
pub const fn instructions<T: Source, M: Monoid<T>>() -> Instructions {
    let words = <M::State as Words>::COUNT;
    // Slots of a vector and of two; two rows, or a leaf, or a whole one.
    let slots = SLOTS as usize;
    let wide = load::wide_loads::<T>(slots + 2 * slots + 2 + 2 * ROWS);
    // A vector of each lane's own segment, slots, two rows, a leaf.
    let ragged = load::ragged_loads::<T>(1 + slots + 2 * slots + 2, 1);
    // A whole leaf that is not aligned.
    let whole = if thread::loads_words::<T, M>() {
        let whole = load::ragged_loads::<T>(0, 1);
        whole.words + whole.bytes
    } else {
        0
    };
    let turns = 1 + 2 * slots + 2;
    // The search; the ends of a lane's first segment, of its next unless registers are dear, and of a tile; the address of a lane's.
    let ends = if are_dear(words) { 2 } else { 3 };
    let numbers = 1 + 2 * ends + T::ARRAYS;
    // Slots meet and go to their segments' lanes; a wide leaf, two rows, others.
    let [reduce, reduce_octets, reduce_eight] = warp::shuffles_of::<T, M>();
    let short = 2 * (4 + 1) * words;
    let meet = reduce_eight + reduce_octets;
    if !M::COMMUTES {
        // A leaf; no segment is short.
        return Instructions {
            vector_loads: in_order::loads::<T>().vectors,
            scalar_loads: in_order::loads::<T>().words + numbers * segments::NUMBER,
            shuffles: (2 * T::ARRAYS + 1) + reduce + meet,
            barriers: 0,
            tickets: 1,
        };
    }
    Instructions {
        vector_loads: wide.vectors + ragged.vectors,
        scalar_loads: wide.words + ragged.words + whole + turns * ragged.bytes + numbers * segments::NUMBER,
        shuffles: (2 * slots + 1) * (2 * T::ARRAYS + 1) + short + 3 * reduce + meet,
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
/// A tile has `leaves` leaves, a power of two, at most [`most_leaves`]; there are as many warps as tiles in [`places`]. No warp
/// waits for another.
///
/// # Safety
///
/// The segments' numbers and elements are valid and unwritten for the whole launch; `meeting` has a slot and a ticket, at zero,
/// for twice as many tiles as the array has whole ones; `output`'s pointers are null or valid. All threads of the grid call this
/// alike.
#[inline(always)]
pub unsafe fn reduce_segments<S: Simt, T: Source, M: Monoid<T>>(
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
    let mut ends = None;
    loop {
        let number = batch + u64::from(simt.lane());
        // SAFETY: passed on to the caller.
        let at = |number| unsafe { segments.ends(simt, number) };
        let here = ends.unwrap_or_else(|| at(number));
        // SAFETY: passed on to the caller.
        let mine = unsafe { segments.piece(simt, number, here, place, range) };
        if !are_dear(M::State::COUNT) {
            // On its way while these are folded.
            ends = Some(at(number + u64::from(LANES)));
        }
        let exists = simt.ballot(mine.exists);
        let is_whole = mine.exists && !mine.is_tile(range);
        let len = if is_whole { mine.input.len as u32 } else { 0 };
        let width = width::<S, T>(simt, len);
        let is_short = M::COMMUTES && len <= width * vector_elements::<T>() as u32;
        let short = Input {
            len: if is_short { u64::from(len) } else { 0 },
            ..mine.input
        };
        // SAFETY: passed on to the caller.
        let mut state = unsafe {
            if !M::COMMUTES {
                op.identity() // none is short
            } else if width > LANES {
                fold_short::<S, T, M, 2>(simt, op, segments, short, simt.anew(LANES))
            } else {
                fold_short::<S, T, M, 1>(simt, op, segments, short, width)
            }
        };

        let mut is_done = mine.exists;
        let tiles = simt.ballot(mine.exists && mine.is_tile(range));
        let mut left = simt.ballot(mine.exists && !(is_whole && is_short));
        while left != 0 {
            let lane = u32::trailing_zeros(left);
            left &= left - 1;
            let start = address_of::<S, T>(simt, mine.input.start, lane);
            let len = u64::from(simt.shuffle(mine.input.len as u32, lane));
            let around = segments.around_of(start, len);
            // SAFETY: passed on to the caller.
            let mut total = Some(unsafe { fold_run(simt, op, Input { start, len, around }) });
            if tiles >> lane & 1 != 0 {
                // Asked for again: registers are dearer than loads from a near cache.
                let number = batch + u64::from(lane);
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
            unsafe { finish(simt, op, mine.len, state, output, number) };
        }
        // Where the last lane has none there are no more.
        if exists >> (LANES - 1) == 0 {
            return;
        }
        batch += u64::from(LANES);
    }
}

/// How many vectors there are to be for each segment, of `len` elements this lane's: 1, 4, 8, 16 or 32, as many lanes reading one
/// each, or 64, two each. Of those that have no more than that, the warp folds some one a turn if that saves turns: twice as many
/// vectors take twice the turns for all, [`SLOTS`] lanes' worth in each.
#[inline(always)]
fn width<S: Simt, T: Item>(simt: S, len: u32) -> u32 {
    let mut width = 1;
    let most = 2 * LANES;
    let len = if len > most * vector_elements::<T>() as u32 {
        0
    } else {
        len
    };
    while width < most {
        let longer = simt.ballot(len > width * vector_elements::<T>() as u32);
        if u32::count_ones(longer) <= width / SLOTS {
            break;
        }
        width = if width < SLOTS { SLOTS } else { 2 * width };
    }
    width
}

/// The addresses that lane `from` has, which each lane names for itself.
///
/// Called by: all 32 lanes together · Valid in: every lane · Scratch: none
#[inline(always)]
fn address_of<S: Simt, T: Source>(simt: S, mine: At<T>, from: u32) -> At<T> {
    T::map(mine, |mine| {
        let address = mine.addr() as u64;
        let low = u64::from(simt.shuffle(address as u32, from));
        let high = u64::from(simt.shuffle((address >> 32) as u32, from));
        mine.with_addr((low | high << 32) as usize)
    })
}

/// Folds the `mine` of each lane by `width` lanes each, at most `N` vectors a lane.
///
/// Called by: all 32 lanes together · Valid in: every lane, its own · Scratch: none
///
/// # Safety
///
/// As [`reduce_segments`].
#[inline(always)]
unsafe fn fold_short<S: Simt, T: Source, M: Monoid<T>, const N: usize>(
    simt: S,
    op: M,
    segments: Segments<T>,
    mine: Input<T>,
    width: u32,
) -> M::State {
    let len = mine.len as u32;
    if N == 1 && width == 1 {
        // SAFETY: passed on to the caller.
        return unsafe { thread::load_vectors::<S, T, 1>(simt, mine.start, 0, len, false, mine.around) }.fold(simt, op);
    }
    // Whether each vector is aligned, and whole or absent: fixed sizes mostly are. One way for all lanes: both would be taken
    // one after the other.
    let is_wide = mine.is_aligned() && len.is_multiple_of(vector_elements::<T>() as u32);
    let ragged = simt.any(!is_wide && len > 0);
    let mut state = op.identity();
    // In each round lanes of one number after the other have a segment, `per` segments.
    let lanes = u32::trailing_zeros(width);
    let per = LANES >> lanes;
    let first = (simt.lane() & (width - 1)) * vector_elements::<T>() as u32;
    let mut round = 0;
    while round < width {
        // Where each slot's vector lies, and all of them before any is asked for: a shuffle between two loads would have the second
        // wait for the first.
        let slot = |slot: u32| {
            let from = (round + slot) * per + (simt.lane() >> lanes);
            (address_of::<S, T>(simt, mine.start, from), simt.shuffle(len, from))
        };
        let load = |(start, len): (At<T>, u32), wide: bool| {
            let around = segments.around_of(start, len.into());
            let present = simt.anew(u32::saturating_sub(len, first));
            let from = after::<T>(start, first.into());
            // SAFETY: passed on to the caller.
            unsafe { thread::load_vectors::<S, T, N>(simt, from, first, present, wide, around) }
        };
        let (a, b, c, d) = (slot(0), slot(1), slot(2), slot(3));
        // All are read before any is folded: the barrier keeps the assembler, which would spare registers, from folding the first
        // vectors before it reads the last.
        let folded = if ragged {
            let (a, b, c, d) = (load(a, false), load(b, false), load(c, false), load(d, false));
            simt.warp_barrier();
            [a.fold(simt, op), b.fold(simt, op), c.fold(simt, op), d.fold(simt, op)]
        } else {
            let (a, b, c, d) = (load(a, true), load(b, true), load(c, true), load(d, true));
            simt.warp_barrier();
            [
                a.fold_whole(simt, op),
                b.fold_whole(simt, op),
                c.fold_whole(simt, op),
                d.fold_whole(simt, op),
            ]
        };
        let totals = warp::reduce_four(simt, op, folded, width);
        // The slot of this lane's own segment, of all rounds'.
        let slot = simt.lane() >> (u32::trailing_zeros(LANES) - lanes);
        let from = (simt.lane() & (per - 1)) << lanes | slot & (SLOTS - 1);
        let total = shuffle(simt, totals, from);
        if slot & !(SLOTS - 1) == round {
            state = total;
        }
        round += SLOTS;
    }
    state
}

/// Folds a segment of at most a tile, or a tile of one.
///
/// Called by: all 32 lanes together, with the same input · Valid in: every lane · Scratch: none
///
/// # Safety
///
/// As [`reduce_segments`].
#[inline(always)]
unsafe fn fold_run<S: Simt, T: Source, M: Monoid<T>>(simt: S, op: M, input: Input<T>) -> M::State {
    if is_one_leaf(T::ARRAYS, M::State::COUNT) {
        // SAFETY: passed on to the caller.
        return unsafe { fold_leaf(simt, op, input, &mut Seen::nothing(op)) };
    }
    let leaf = leaf_elements::<T>() as u32;
    let mut left = input.len as u32;
    let mut start = input.start;
    let mut pending = Pending::<M::State, LEVELS>::nothing(op);
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
        let state = unsafe { fold_leaf(simt, op, here, &mut seen) };
        pending.push(op, number, op.shift(state, u64::from(number * leaf)));
        start = after::<T>(start, leaf.into());
        left -= len;
        number += 1;
    }
    pending.total(op, number)
}

/// Folds a leaf, or what there is of one.
///
/// Called by: all 32 lanes together, with the same input, on leaves in rising order · Valid in: every lane · Scratch: none
///
/// # Safety
///
/// As [`reduce_segments`].
#[inline(always)]
unsafe fn fold_leaf<S: Simt, T: Source, M: Monoid<T>>(
    simt: S,
    op: M,
    input: Input<T>,
    seen: &mut Seen<M::State>,
) -> M::State {
    // SAFETY: passed on to the caller.
    unsafe {
        if !M::COMMUTES {
            warp::reduce(simt, op, in_order::fold_leaf(simt, op, input, 0))
        } else if thread::loadable_leaves::<T, M>(input) > 0 {
            warp::fold_loadable(simt, op, input, 0, seen)
        } else if input.len as u32 <= 2 * row_elements::<T>() as u32 {
            warp::reduce(simt, op, thread::fold_rows::<S, T, M, 2>(simt, op, input))
        } else {
            warp::reduce(simt, op, thread::fold_rows::<S, T, M, ROWS>(simt, op, input))
        }
    }
}

/// The total of a segment of several tiles, `state` being that of the tile `piece`; none where others are still being folded.
///
/// Called by: all 32 lanes together, with the same piece · Valid in: every lane · Scratch: the segment's slots
///
/// # Safety
///
/// As [`reduce_segments`].
#[inline(always)]
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
    let state = op.shift(state, piece.tile * range);
    // SAFETY: passed on to the caller.
    unsafe { grid::last_warps_fold(simt, op, here, piece.tile, state) }
}
