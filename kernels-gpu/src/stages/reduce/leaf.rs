//! A leaf in two looks, of a [row operation](crate::rowwise), and the states of leaves.

use crate::{
    element::Element,
    monoids::{Monoid, Words},
    rowwise::{First, RowOp, Second, States, Sums as _},
    simt::Simt,
    stages::{
        columns::{Held, MOST, each},
        map_words,
        reduce::warp,
        shuffle,
    },
    tree::{LANES, pending::Pending, place, vector_elements},
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

/// What the two looks at some leaves gave: what is kept of each element, and what each leaf came to.
pub struct Looked<O: RowOp, const N: usize, const K: usize> {
    /// Of each leaf each row's vector.
    pub kept: [Held<O::Kept, N>; K],
    /// Of each leaf.
    pub leaves: [Leaf<O::State>; K],
}

/// Folds `K` leaves at once, of each of which each of `lanes` neighbouring lanes holds `N` vectors of elements of the size of `T`; `lens` elements in all, `present` of them from this lane's first on.
///
/// ```text
/// lane: rows of each column in pairs, then columns ─ lanes: neighbours first; once for each look
/// ```
///
/// Called by: all 32 lanes together, with the same `lanes` · Valid in: every lane, those of its leaves · Scratch: none
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn fold<S: Simt, T: Element, O: RowOp, const N: usize, const K: usize>(
    simt: S,
    op: O,
    values: &[Held<O::Value, N>; K],
    lens: [u32; K],
    present: [u32; K],
    lanes: u32,
) -> Looked<O, N, K> {
    let mut found = [op.nothing(); K];
    if O::LOOKS_FIRST {
        each!(leaf < K => {
            let mut firsts = [[op.nothing(); MOST]; N];
            each!(row < N => each!(column < vector_elements::<T>() => {
                firsts[row][column] = op.first(values[leaf][row][column]);
            }));
            found[leaf] = in_lane::<T, _, N>(First(op), &firsts);
        });
        found = across(simt, First(op), found, lanes);
    }
    let mut reference = [0.0; K];
    each!(leaf < K => reference[leaf] = op.reference(found[leaf], lens[leaf]));
    // Sums meet alike, whatever the reference.
    let second = Second { op, reference: 0.0 };
    let mut kept = [[[op.unnoticed(); MOST]; N]; K];
    let mut sums = [O::Sums::nothing(); K];
    each!(leaf < K => {
        each!(row < N => each!(column < vector_elements::<T>() => {
            kept[leaf][row][column] = op.beside(values[leaf][row][column], reference[leaf]);
        }));
        if O::NOTICES && present[leaf] <= place::<T>(N - 1, vector_elements::<T>() - 1) as u32 {
            each!(row < N => each!(column < vector_elements::<T>() => {
                if present[leaf] <= place::<T>(row, column) as u32 {
                    kept[leaf][row][column] = op.unnoticed();
                }
            }));
        }
        let mut terms = [[O::Sums::nothing(); MOST]; N];
        each!(row < N => each!(column < vector_elements::<T>() => {
            terms[row][column] = op.term(kept[leaf][row][column]);
        }));
        sums[leaf] = in_lane::<T, _, N>(second, &terms);
    });
    let sums = across(simt, second, sums, lanes);
    let nothing = Leaf {
        reference: 0.0,
        state: op.identity(),
    };
    let mut leaves = [nothing; K];
    each!(leaf < K => {
        let reference = reference[leaf];
        // Of nothing there may be no reference.
        let state = if lens[leaf] == 0 {
            op.identity()
        } else {
            op.leaf(found[leaf], reference, sums[leaf], lens[leaf])
        };
        leaves[leaf] = Leaf { reference, state };
    });
    Looked { kept, leaves }
}

/// The rows of each column in pairs, then columns.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn in_lane<T: Element, L: Monoid<f32>, const N: usize>(look: L, of: &Held<L::State, N>) -> L::State {
    const { assert!(N == 1 || N == 2 || N == 4, "rows meet in pairs") };
    let mut columns = [look.identity(); MOST];
    each!(column < vector_elements::<T>() => {
        let row = |row: usize| of[row % N][column];
        columns[column] = match N {
            1 => row(0),
            2 => look.combine(row(0), row(1)),
            _ => look.combine(look.combine(row(0), row(1)), look.combine(row(2), row(3))),
        };
    });
    let [a, b, c, d, e, f, g, h] = columns;
    let four = look.combine(look.combine(a, b), look.combine(c, d));
    if vector_elements::<T>() == 4 {
        return four;
    }
    look.combine(four, look.combine(look.combine(e, f), look.combine(g, h)))
}

/// Combines each of `K` with those of `lanes` neighbouring lanes, neighbours first.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn across<S: Simt, L: Monoid<f32>, const K: usize>(
    simt: S,
    look: L,
    mut of: [L::State; K],
    lanes: u32,
) -> [L::State; K] {
    let mut reach = 1;
    while reach < lanes {
        each!(leaf < K => {
            of[leaf] = warp::with_partner(simt, look, of[leaf], reach);
        });
        reach *= 2;
    }
    of
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
