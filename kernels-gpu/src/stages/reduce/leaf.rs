//! A leaf in two looks, of a [row operation](crate::rowwise), and the states of leaves.

use crate::{
    monoids::{Monoid, Words},
    rowwise::{First, RowOp, Second, States, Valued},
    simt::Simt,
    stages::{
        load::{fragment::Fragment, source::Source},
        map_words,
        reduce::warp,
        shuffle,
    },
    tree::{LANES, pending::Pending},
};

/// States that a warp folds at once: eight for each lane.
pub const MOST_STATES: u32 = 8 * LANES;

/// What a leaf came to.
#[derive(Clone, Copy)]
pub struct Leaf<State> {
    /// What its elements are beside.
    pub reference: f32,
    /// Its state.
    pub state: State,
}

/// Folds the leaf of which each lane of the warp has read a part, `len` elements in all.
///
/// Called by: all 32 lanes together · Valid in: every lane · Scratch: none
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn fold<S: Simt, T: Source + Valued<O::Value>, O: RowOp, const N: usize>(
    simt: S,
    op: O,
    part: Fragment<T, N>,
    len: u32,
) -> Leaf<O::State> {
    let mut found = op.nothing();
    if O::LOOKS_FIRST {
        found = warp::reduce::<S, T, _>(simt, First(op), First(op).fold_part(part));
    }
    let second = Second {
        op,
        reference: op.reference(found, len),
    };
    let sums = warp::reduce::<S, T, _>(simt, second, second.fold_part(part));
    finish(second, found, sums, len)
}

/// The same of four leaves at once, of each of which each of `lanes` neighbouring lanes has read a vector, `lens` elements in all.
///
/// Called by: all 32 lanes together, with the same `lanes` · Valid in: every lane, those of its leaves · Scratch: none
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn fold_each<S: Simt, T: Source + Valued<O::Value>, O: RowOp>(
    simt: S,
    op: O,
    parts: [Fragment<T, 1>; 4],
    lens: [u32; 4],
    lanes: u32,
) -> [Leaf<O::State>; 4] {
    let [a, b, c, d] = parts;
    let mut found = [op.nothing(); 4];
    if O::LOOKS_FIRST {
        let first = First(op);
        let mine = [
            first.fold_part(a),
            first.fold_part(b),
            first.fold_part(c),
            first.fold_part(d),
        ];
        found = reduce_each::<S, T, _>(simt, [first; 4], mine, lanes);
    }
    let second = |i: usize| Second {
        op,
        reference: op.reference(found[i], lens[i]),
    };
    let each = [second(0), second(1), second(2), second(3)];
    let mine = [
        each[0].fold_part(a),
        each[1].fold_part(b),
        each[2].fold_part(c),
        each[3].fold_part(d),
    ];
    let sums = reduce_each::<S, T, _>(simt, each, mine, lanes);
    let leaf = |i: usize| finish(each[i], found[i], sums[i], lens[i]);
    [leaf(0), leaf(1), leaf(2), leaf(3)]
}

/// Combines four states of each `lanes` neighbouring lanes, neighbours first.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn reduce_each<S: Simt, T, M: Monoid<T>>(
    simt: S,
    [op, ..]: [M; 4],
    [mut a, mut b, mut c, mut d]: [M::State; 4],
    lanes: u32,
) -> [M::State; 4] {
    let mut reach = 1;
    while reach < lanes {
        a = warp::with_partner(simt, op, a, reach);
        b = warp::with_partner(simt, op, b, reach);
        c = warp::with_partner(simt, op, c, reach);
        d = warp::with_partner(simt, op, d, reach);
        reach *= 2;
    }
    [a, b, c, d]
}

/// What a leaf of `len` elements came to.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn finish<O: RowOp>(second: Second<O>, found: f32, sums: O::Sums, len: u32) -> Leaf<O::State> {
    let Second { op, reference } = second;
    // Of nothing there may be no reference.
    let state = if len == 0 {
        op.identity()
    } else {
        op.leaf(found, reference, sums, len)
    };
    Leaf { reference, state }
}

/// Combines `count` states, at most [`MOST_STATES`], neighbours first, `state(i)` being the one of that number.
///
/// Called by: all 32 lanes together, with the same `count` · Valid in: every lane · Scratch: none
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn fold_states<S: Simt, O: RowOp>(simt: S, op: O, count: u32, state: impl Fn(u32) -> O::State) -> O::State {
    let op = States(op);
    let take = |number: u32| {
        if number < count { state(number) } else { op.identity() }
    };
    let (mine, lanes) = if count <= LANES {
        (take(simt.lane()), u32::next_power_of_two(count))
    } else {
        let each = u32::next_power_of_two(count.div_ceil(LANES));
        let mut pending = Pending::<O::State, 3>::nothing(op);
        let mut turn = simt.opaque(0);
        while turn < each {
            pending.push(simt, op, turn, take(simt.lane() * each + turn));
            turn = simt.opaque(turn + 1);
        }
        (pending.total(simt, op, each), LANES)
    };
    let total = warp::reduce_first(simt, op, mine, lanes);
    // Of fewer lanes than a warp's, the first have it.
    shuffle(simt, total, 0)
}

/// Where the states of a row's leaves meet, which as many warps have folded.
#[derive(Clone, Copy)]
pub struct Warps {
    /// How many leaves the row has: at most [`MOST_STATES`].
    pub leaves: u32,
    /// This warp's.
    pub leaf: u32,
    /// Blocks of the cluster; of a block by itself 1.
    pub blocks: u32,
}

impl Warps {
    /// Before the first of the cluster's blocks writes to another, all must have begun. Whoever calls this waits in [`meet`](Self::meet). Best while loads are
    /// under way: it waits for what was stored before, as it must the second time.
    ///
    /// Called by: all threads of the cluster together · Scratch: none
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn begin<S: Simt>(self, simt: S) {
        if S::HAS_CLUSTERS && self.blocks > 1 {
            simt.cluster_arrive();
        }
    }

    /// Combines the states of all warps, neighbours first; every warp does all of it, so nobody waits for the first.
    ///
    /// Called by: all threads of the block, of the cluster if there is one, together · Valid in: every lane · Scratch: shared memory
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn meet<S: Simt, O: RowOp>(self, simt: S, op: O, mine: O::State) -> O::State {
        const { assert!(MOST_STATES as usize * O::State::COUNT <= crate::simt::SHARED_WORDS) };
        let words = O::State::COUNT as u32;
        let is_there = self.leaf < self.leaves;
        if S::HAS_CLUSTERS && self.blocks > 1 {
            simt.cluster_wait(self.blocks);
            if is_there && simt.lane() < self.blocks {
                each(mine, |i, word| {
                    simt.store_cluster(simt.lane(), self.blocks, self.leaf * words + i, word);
                });
            }
            simt.cluster_arrive();
            simt.cluster_wait(self.blocks);
        } else {
            if is_there && simt.lane() == 0 {
                each(mine, |i, word| simt.store_shared(self.leaf * words + i, word));
            }
            simt.barrier();
        }
        fold_states(simt, op, self.leaves, |number| {
            O::State::from_words(|i| simt.load_shared(number * words + i as u32))
        })
    }
}

/// Every word with its number.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn each<W: Words>(state: W, mut f: impl FnMut(u32, u32)) {
    let mut i = 0;
    let _ = map_words(state, |word| {
        f(i, word);
        i += 1;
        word
    });
}
