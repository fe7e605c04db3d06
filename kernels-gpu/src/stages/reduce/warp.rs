//! Warp stage: the states of 32 lanes are combined in five shuffles.

use crate::{
    monoids::{Monoid, Words},
    simt::Simt,
    stages::{
        load::{contiguous, extents::Input, fragment::Fragment, source::Source},
        map_words,
        reduce::{in_order, packed::is_maximum},
        strategy::combines_in_loops,
    },
    tree::{LANES, Part as _, ROWS, row_elements},
};

/// Combines the 32 states of a warp, neighbours first.
///
/// Called by: all 32 lanes together · Valid in: every lane · Scratch: none
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn reduce<S: Simt, T, M: Monoid<T>>(simt: S, op: M, state: M::State) -> M::State {
    if combines_in_loops(M::State::COUNT) {
        return reduce_first(simt, op, state, simt.opaque(32));
    }
    let state = reduce_8_lanes(simt, op, state);
    let state = with_partner(simt, op, state, 8);
    with_partner(simt, op, state, 16)
}

/// Combines the states of each eight neighbouring lanes, neighbours first.
///
/// Called by: all 32 lanes together · Valid in: every lane · Scratch: none
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn reduce_8_lanes<S: Simt, T, M: Monoid<T>>(simt: S, op: M, state: M::State) -> M::State {
    if combines_in_loops(M::State::COUNT) {
        return reduce_first(simt, op, state, simt.opaque(8));
    }
    let state = with_partner(simt, op, state, 1);
    let state = with_partner(simt, op, state, 2);
    with_partner(simt, op, state, 4)
}

/// Combines the states of the first `count` lanes, neighbours first; `count` is a power of two, at most 32.
///
/// Called by: all 32 lanes together, with the same `count` · Valid in: the first `count` lanes · Scratch: none
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn reduce_first<S: Simt, T, M: Monoid<T>>(simt: S, op: M, mut state: M::State, count: u32) -> M::State {
    let mut reach = 1;
    while reach < count {
        state = with_partner(simt, op, state, reach);
        reach *= 2;
    }
    state
}

/// What is left of [`fold_four`] once lanes have one row each, in a loop.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn reduce_further<S: Simt, T, M: Monoid<T>>(simt: S, op: M, mut four: M::State, width: u32) -> M::State {
    let mut reach = 4;
    while reach < width {
        four = with_partner(simt, op, four, reach);
        reach *= 2;
    }
    four
}

/// Rows whose states are combined together in [`fold_four`].
pub const FOUR: u32 = 4;

/// States by number: a closure, or, of much code, what has a method that is always inlined.
pub trait RowStates<State> {
    /// This lane's state in row `number`.
    fn row(&mut self, number: u32) -> State;
}

impl<State, F: FnMut(u32) -> State> RowStates<State> for F {
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn row(&mut self, number: u32) -> State {
        self(number)
    }
}

/// Combines the 32 states of each of `rows` rows, neighbours first, `row(i)` being this lane's in row `i`, which is asked for once and
/// in rising order: [four rows at a time](fold_four). `around` is a power of two from 4 to 32, and
/// there are no more rows. Of rows past the last, up to a multiple of four, `row` gives the identity.
///
/// Called by: all 32 lanes together, with the same numbers · Valid in: lane `l` has row `l % around` · Scratch: none
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn reduce_rows<S: Simt, T, M: Monoid<T>>(
    simt: S,
    op: M,
    rows: u32,
    around: u32,
    mut row: impl RowStates<M::State>,
) -> M::State {
    let mut kept = op.identity();
    let mut first = 0;
    while first < rows {
        let four = fold_four::<S, T, M, false>(simt, op, first, simt.opaque(LANES), &mut row);
        if simt.lane() % around / FOUR == first / FOUR {
            kept = four;
        }
        first += FOUR;
    }
    kept
}

/// Combines the states of each `width` neighbouring lanes, neighbours first, in each of four rows, from row `first` on: a lane combines
/// six times, not twenty. In a loop, so that the code of a row stands once: of `LITTLE` code none must count the turns, for a compiler
/// has the first by itself then. `width` is a power of two from 4 to 32.
///
/// Called by: all 32 lanes together, with the same `width` · Valid in: lane `l` has row `l % 4` of its lanes · Scratch: none
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn fold_four<S: Simt, T, M: Monoid<T>, const LITTLE: bool>(
    simt: S,
    op: M,
    first: u32,
    width: u32,
    row: &mut impl RowStates<M::State>,
) -> M::State {
    // The first two together, and one that waits for the next.
    let (mut two, mut waiting) = (op.identity(), op.identity());
    let next = |turn| if LITTLE { simt.opaque(turn) } else { turn };
    let mut turn = next(0);
    let turns = simt.opaque(FOUR);
    while turn < turns {
        let mut state = row.row(first + turn);
        if turn & 1 != 0 {
            state = combine_exchanged(simt, op, 1, waiting, state);
        }
        if turn == 1 {
            two = state;
        } else {
            waiting = state;
        }
        turn = next(turn + 1);
    }
    let four = combine_exchanged(simt, op, 2, two, waiting);
    reduce_further(simt, op, four, width)
}

/// Of two rows a lane keeps `low`, and its partner, whose number differs in the bit `reach`, the other: each combined with what the
/// other lane has of it.
pub(crate) fn combine_exchanged<S: Simt, T, M: Monoid<T>>(
    simt: S,
    op: M,
    reach: u32,
    low: M::State,
    high: M::State,
) -> M::State {
    let (keep, give) = if simt.lane() & reach == 0 {
        (low, high)
    } else {
        (high, low)
    };
    lower_first(simt, op, reach, keep, partner(simt, give, reach))
}

/// Combines the 32 states of each of eight rows, neighbours first, `state(row)` being this lane's in that row. Nine
/// shuffles rather than forty: at each of the first three steps a lane hands on half the rows it holds and keeps the
/// other half. Where something is set aside it is [`unordered::reduce_eight`](crate::stages::reduce::unordered::reduce_eight).
///
/// Called by: all 32 lanes together · Valid in: lane `l` has row `l % 8` · Scratch: none
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn reduce_eight<S: Simt, T, M: Monoid<T>>(simt: S, op: M, state: impl Fn(u32) -> M::State) -> M::State {
    if M::State::COUNT > 2 {
        // A number that no compiler knows: one unrolls the loop otherwise.
        return reduce_rows(simt, op, simt.opaque(8), 8, state);
    }
    // All are asked for before any is combined.
    let (a, b, c, d) = (state(0), state(1), state(2), state(3));
    let (e, f, g, h) = (state(4), state(5), state(6), state(7));
    if combines_in_loops(M::State::COUNT) {
        let rows = [a, b, c, d, e, f, g, h];
        return reduce_rows(simt, op, simt.opaque(8), 8, InCircle(rows));
    }
    let both = |reach, low, high| combine_exchanged(simt, op, reach, low, high);
    let low = both(2, both(1, a, b), both(1, c, d));
    let high = both(2, both(1, e, f), both(1, g, h));
    let eight = both(4, low, high);
    let sixteen = with_partner(simt, op, eight, 8);
    with_partner(simt, op, sixteen, 16)
}

/// Eight states that are asked for in order.
struct InCircle<State>([State; 8]);

impl<State: Copy> RowStates<State> for InCircle<State> {
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn row(&mut self, _: u32) -> State {
        let [first, b, c, d, e, f, g, h] = self.0;
        self.0 = [b, c, d, e, f, g, h, first];
        first
    }
}

/// A lane's state and that of the lane whose number differs in the bit `reach`, combined.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub(crate) fn with_partner<S: Simt, T, M: Monoid<T>>(simt: S, op: M, state: M::State, reach: u32) -> M::State {
    lower_first(simt, op, reach, state, partner(simt, state, reach))
}

/// A lane's state and its partner's, combined: where it matters, that of the lower lane first.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn lower_first<S: Simt, T, M: Monoid<T>>(simt: S, op: M, reach: u32, mine: M::State, other: M::State) -> M::State {
    if M::ALGEBRA.commutes || simt.lane() & reach == 0 {
        op.combine(mine, other)
    } else {
        op.combine(other, mine)
    }
}

/// The state of the lane whose number differs in the bit `reach`.
fn partner<S: Simt, W: Words>(simt: S, state: W, reach: u32) -> W {
    map_words(state, |word| simt.shuffle_xor(word, reach))
}

/// What a warp has folded so far, of all that comes before the leaf at hand: what an operator that selects one element
/// needs to tell a leaf that can't matter.
#[derive(Clone, Copy)]
pub struct Seen<State> {
    best: State,
    anything: bool,
}

impl<State> Seen<State> {
    /// Nothing yet.
    pub fn nothing<T, M: Monoid<T, State = State>>(op: M) -> Self {
        Self {
            best: op.identity(),
            anything: false,
        }
    }
}

/// Folds leaf `leaf`, of any alignment and length; one that could not change what was `seen` gives the identity.
///
/// Called by: all 32 lanes together, on leaves in rising order · Valid in: every lane · Scratch: none
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn fold_leaf<S: Simt, T: Source, M: Monoid<T>>(
    simt: S,
    op: M,
    input: Input<T>,
    leaf: u64,
    seen: &mut Seen<M::State>,
) -> M::State {
    if !M::ALGEBRA.commutes {
        return reduce(simt, op, in_order::fold_leaf(simt, op, input, leaf));
    }
    let read = contiguous::load_leaf(simt, op, input, leaf);
    fold_unless_seen(simt, op, read, seen, None)
}

/// The same of an extent of at most a leaf, of which no more than half of the rows is folded where it has no more.
///
/// Called by, Valid in, Scratch: as [`fold_leaf`]
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn fold_extent<S: Simt, T: Source, M: Monoid<T>>(
    simt: S,
    op: M,
    input: Input<T>,
    seen: &mut Seen<M::State>,
) -> M::State {
    if !M::ALGEBRA.commutes {
        return reduce(simt, op, in_order::fold_leaf(simt, op, input, 0));
    }
    let rows = (input.len() as u32).div_ceil(row_elements::<T>() as u32);
    let read = contiguous::load_extent(simt, op, input);
    fold_unless_seen(simt, op, read, seen, Some(rows))
}

/// Folds what was read, of so many rows or of a leaf, unless it could not change what was `seen`.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn fold_unless_seen<S: Simt, T: Source, M: Monoid<T>>(
    simt: S,
    op: M,
    mut read: Fragment<T, ROWS>,
    seen: &mut Seen<M::State>,
    rows: Option<u32>,
) -> M::State {
    if M::ALGEBRA.selects {
        if seen.anything && !simt.any(read.may_change(simt, op, seen.best)) {
            return op.identity();
        }
        seen.anything = true;
        if const { !is_maximum::<S, T, M>() } {
            read = read.opaque(simt);
        }
    }
    let mine = match rows {
        // Without a filler, whole leaves have a code of their own.
        Some(_) if op.filler().is_none() && read.full().is_some() => read.fold_leaf(simt, op),
        Some(rows) => read.fold_rows(simt, op, rows),
        None => read.fold_leaf(simt, op),
    };
    let total = reduce(simt, op, mine);
    if M::ALGEBRA.selects {
        seen.best = op.combine(seen.best, total);
    }
    total
}
