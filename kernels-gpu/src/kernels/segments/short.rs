//! Short segments: 32 of them at once, of up to a few vectors by a lane each, of more by several lanes.

use crate::{
    monoids::Monoid,
    simt::Simt,
    stages::{
        load::{contiguous, extents::Input, fragment::Fragment, segments::Segments, source::Source},
        reduce::warp::{self, RowStates},
        shuffle,
        strategy::Strategy,
    },
    tree::{LANES, pending::Pending, vector_elements},
};

/// Vectors of short segments that a lane has in flight.
const SLOTS: u32 = 4;

/// Vectors of a segment that a lane has in flight where it folds it alone.
const AT_ONCE: u32 = 2;

/// The most vectors of a segment that a lane folds alone, where some are not aligned; else it is as many as it has in flight.
const MOST_OF_LANE: u32 = 2 * AT_ONCE;

/// How many vectors of a segment a lane folds beside others, if all are wide: of two arrays, where states are large, it has no room for
/// more than one.
const fn most_vectors_of_lanes<T: Source, M: Monoid<T>>() -> u32 {
    if const { Strategy::of::<T, M>().is_tile_a_leaf() } {
        1
    } else {
        2
    }
}

/// Folds the first `len` elements of the `mine` of each lane, and whether it did: not if they are too many.
///
/// Called by: all 32 lanes together · Valid in: every lane, its own · Scratch: none
#[inline(always)]
pub(super) fn fold<S: Simt, T: Source, M: Monoid<T>>(
    simt: S,
    op: M,
    segments: Segments<T>,
    mine: Input<T>,
    len: u32,
) -> (M::State, bool) {
    if !M::ALGEBRA.commutes {
        return (op.identity(), false);
    }
    // One way for all lanes: both would be taken one after the other.
    let is_ragged = simt.any(len > 0 && !is_wide(mine));
    let vectors = len.div_ceil(vector_elements::<T>() as u32);
    let (most_of_lane, most) = if is_ragged {
        (MOST_OF_LANE, LANES)
    } else {
        (AT_ONCE, most_vectors_of_lanes::<T, M>() * LANES)
    };
    // Words outside what may be read hold the ends of some, which are folded as the long ones are.
    let is_short = vectors <= most && (!is_ragged || len == 0 || mine.has_words());
    let is_of_lane = vectors <= most_of_lane;
    let of_lane = mine.first(if is_short && is_of_lane { len.into() } else { 0 });
    let mut state = fold_by_lane(simt, op, of_lane, is_ragged);
    let mut left = simt.ballot(is_short && !is_of_lane);
    while left != 0 {
        let (these, width) = take(simt, left, vectors);
        let total = if most_vectors_of_lanes::<T, M>() > 1 && width > LANES {
            fold_by_lanes::<S, T, M, 2>(simt, op, segments, mine, these, simt.opaque(LANES), false)
        } else {
            fold_by_lanes::<S, T, M, 1>(simt, op, segments, mine, these, width, is_ragged)
        };
        if these >> simt.lane() & 1 != 0 {
            state = total;
        }
        left &= !these;
    }
    (state, is_short)
}

/// Whether each vector is aligned, and whole or absent: those of segments of one size mostly are.
fn is_wide<T: Source>(input: Input<T>) -> bool {
    input.is_aligned() && (input.len() as u32).is_multiple_of(vector_elements::<T>() as u32)
}

/// Folds the `mine` of each lane, of at most [`MOST_OF_LANE`] vectors, by that lane.
///
/// Called by: all 32 lanes together · Valid in: every lane, its own · Scratch: none
#[inline(always)]
fn fold_by_lane<S: Simt, T: Source, M: Monoid<T>>(simt: S, op: M, mine: Input<T>, is_ragged: bool) -> M::State {
    let len = mine.len() as u32;
    let mut pending = Pending::<M::State, 2>::nothing(op);
    let load = |vector: u32, wide: bool| {
        let first = vector * vector_elements::<T>() as u32;
        let present = u32::saturating_sub(len, first);
        contiguous::load_vectors::<S, T, M, 1>(simt, op, mine, first, present, wide)
    };
    let mut turn = 0;
    while simt.any(len > turn * AT_ONCE * vector_elements::<T>() as u32) {
        const { assert!(AT_ONCE == 2, "two vectors") };
        let (first, second) = (turn * AT_ONCE, turn * AT_ONCE + 1);
        let mut both = if is_ragged {
            [load(first, false), load(second, false)]
        } else {
            [load(first, true), load(second, true)]
        };
        simt.warp_barrier();
        let mut i = simt.opaque(0);
        while i < AT_ONCE {
            let [vector, next] = both;
            both = [next, vector];
            pending.push(simt, op, turn * AT_ONCE + i, vector.fold(simt, op));
            i = simt.opaque(i + 1);
        }
        turn += 1;
    }
    pending.total(simt, op, turn * AT_ONCE)
}

/// Of the segments whose lanes are set in `left`, this lane's of `vectors` vectors, those that the warp folds next, and how many vectors
/// each of them has at most: 4, 8, 16 or 32, a lane for each, or 64, two a lane. Twice as many take twice the turns, so it is as few as half
/// of those that are left do with; but as many as all need where that is one turn all the same.
///
/// Called by: all 32 lanes together, with the same `left` · Valid in: every lane · Scratch: none
#[inline(always)]
fn take<S: Simt>(simt: S, left: u32, vectors: u32) -> (u32, u32) {
    let all = u32::count_ones(left);
    let mut width = SLOTS;
    loop {
        let these = left & simt.ballot(vectors <= width);
        let enough = 2 * u32::count_ones(these) >= all && 2 * width * all > SLOTS * LANES;
        let is_last = width == LANES && these != 0;
        if these == left || enough || is_last {
            return (these, width);
        }
        width *= 2;
    }
}

/// The number of the set bit of `bits` that has `before` others below it.
fn set_bit<S: Simt>(simt: S, bits: u32, mut before: u32) -> u32 {
    let (mut number, mut half) = (0, LANES / 2);
    while half > 0 {
        let below = u32::count_ones(bits >> number & ((1 << half) - 1));
        if before >= below {
            before -= below;
            number += half;
        }
        half = simt.opaque(half / 2);
    }
    number
}

/// Folds the `mine` of the lanes that are set in `these` by `width` lanes each, at most `N` vectors a lane; one, where they are ragged.
///
/// Called by: all 32 lanes together, with the same numbers · Valid in: those lanes, its own · Scratch: none
#[inline(always)]
fn fold_by_lanes<S: Simt, T: Source, M: Monoid<T>, const N: usize>(
    simt: S,
    op: M,
    segments: Segments<T>,
    mine: Input<T>,
    these: u32,
    width: u32,
    is_ragged: bool,
) -> M::State {
    let mut state = op.identity();
    // These segments one after the other, each known to the lane of its number.
    let count = u32::count_ones(these);
    let number = u32::count_ones(these & ((1 << simt.lane()) - 1));
    let each = one_after_another(simt, segments, mine, these);
    // A slot has `per` of them.
    let lanes = u32::trailing_zeros(width);
    let per = LANES >> lanes;
    let first = (simt.lane() & (width - 1)) * vector_elements::<T>() as u32;
    let mut round = 0;
    while round * per < count {
        // Where each slot's vector lies, and all of them before any is asked for: a shuffle between two loads would have the second
        // wait for the first.
        let slot = |slot: u32| segments.of_lane(simt, each, (round + slot) * per + (simt.lane() >> lanes));
        let inputs = [slot(0), slot(1), slot(2), slot(3)];
        let slots = load_slots::<S, T, M, N>(simt, op, inputs, first, is_ragged);
        simt.warp_barrier();
        // By little code, which a batch of many lengths runs through again and again: more than the cache holds would wait for
        // instructions.
        let totals = warp::fold_four::<S, T, M, true>(simt, op, 0, width, &mut Slots { simt, op, slots });
        // The slot of this lane's own segment, of all rounds'.
        let slot = number >> (u32::trailing_zeros(LANES) - lanes);
        let from = (number & (per - 1)) << lanes | slot & (SLOTS - 1);
        let total = shuffle(simt, totals, from);
        if slot & !(SLOTS - 1) == round {
            state = total;
        }
        round += SLOTS;
    }
    state
}

/// The vectors of each slot from element `first` of its segment on.
///
/// All are read before any is folded: the barrier that follows keeps the assembler, which would spare registers, from folding the first vectors before it reads the last. And loads
/// are behind a branch: the assembler has a copy of what follows a shuffle up to the next, for lanes apart, and in both each load would wait for the one before.
#[inline(always)]
fn load_slots<S: Simt, T: Source, M: Monoid<T>, const N: usize>(
    simt: S,
    op: M,
    [a, b, c, d]: [Input<T>; SLOTS as usize],
    first: u32,
    is_ragged: bool,
) -> [Fragment<T, N>; SLOTS as usize] {
    let load = |input: Input<T>, wide: bool| {
        let present = simt.opaque(u32::saturating_sub(input.len() as u32, first));
        contiguous::load_vectors::<S, T, M, N>(simt, op, input, first, present, wide)
    };
    if N == 1 && is_ragged {
        [load(a, false), load(b, false), load(c, false), load(d, false)]
    } else {
        [load(a, true), load(b, true), load(c, true), load(d, true)]
    }
}

/// The segments of the lanes that are set in `these`, the first to the first lane, and so on; nothing to the lanes behind them.
///
/// Called by: all 32 lanes together, with the same `these` · Valid in: every lane · Scratch: none
#[inline(always)]
fn one_after_another<S: Simt, T: Source>(simt: S, segments: Segments<T>, mine: Input<T>, these: u32) -> Input<T> {
    if these == u32::MAX {
        return mine;
    }
    let each = segments.of_lane(simt, mine, set_bit(simt, these, simt.lane()));
    if simt.lane() < u32::count_ones(these) {
        each
    } else {
        each.first(0)
    }
}

/// Vectors of four segments, which are folded one after the other.
struct Slots<S, T: Source, M, const N: usize> {
    simt: S,
    op: M,
    slots: [Fragment<T, N>; SLOTS as usize],
}

impl<S: Simt, T: Source, M: Monoid<T>, const N: usize> RowStates<M::State> for Slots<S, T, M, N> {
    #[inline(always)]
    fn row(&mut self, _: u32) -> M::State {
        let [slot, b, c, d] = self.slots;
        // In a circle: else a compiler has the first turns by themselves, after which all are the same.
        self.slots = [b, c, d, slot];
        slot.fold(self.simt, self.op)
    }
}
