//! A leaf in two looks, of a [row operation](crate::rowwise), and the states of leaves.

use crate::{
    element::Element,
    monoids::{Monoid, Words},
    rowwise::{First, LeafFound, Look as _, RowOp, Second, States, Sums as _, Total},
    simt::{MAX_WARPS, SHARED_WORDS, Simt},
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

/// Folds `K` leaves at once, of each of which each of `lanes` neighbouring lanes holds `N` vectors of elements of the size of `T`; `lens` elements in all, `present` of them from this lane's
/// first on; of vectors that are whole or absent if they are `wide`.
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
    is_wide: bool,
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
    let mut totals = [-0.0; K];
    if O::TOTALS && op.totals() {
        each!(leaf < K => {
            let mut there = [[-0.0; MOST]; N];
            each!(row < N => each!(column < vector_elements::<T>() => {
                if present[leaf] > place::<T>(row, column) as u32 {
                    there[row][column] = Total(op).of(values[leaf][row][column]);
                }
            }));
            totals[leaf] = in_lane::<T, _, N>(Total(op), &there);
        });
        totals = across(simt, Total(op), totals, lanes);
    }
    // Sums meet alike, whatever the reference.
    let second = Second { op, reference: 0.0 };
    let mut kept = [[[op.kept(op.beside(op.absent(), 0.0)); MOST]; N]; K];
    let mut sums = [O::Sums::nothing(); K];
    each!(leaf < K => {
        let (mut of, reference) = (values[leaf], reference[leaf]);
        // Of vectors that are whole or absent the reference is moved instead: less code, and fewer registers.
        let mut beside = [reference; N];
        if O::MOVES && is_wide {
            each!(row < N => if present[leaf] <= place::<T>(row, 0) as u32 {
                beside[row] = op.unmoved();
            });
        } else if O::MOVES && present[leaf] <= place::<T>(N - 1, vector_elements::<T>() - 1) as u32 {
            each!(row < N => each!(column < vector_elements::<T>() => {
                if present[leaf] <= place::<T>(row, column) as u32 {
                    of[row][column] = op.moved(reference);
                }
            }));
        }
        let mut columns = [O::Sums::nothing(); MOST];
        // A column's terms meet before others are made: registers are dear.
        each!(column < vector_elements::<T>() => {
            let mut terms = [O::Sums::nothing(); N];
            each!(row < N => {
                let beside = op.beside(of[row][column], beside[row]);
                let keep = op.kept(beside);
                kept[leaf][row][column] = if O::REMAKES { map_words(keep, |word| simt.opaque(word)) } else { keep };
                terms[row] = op.term(beside);
            });
            columns[column] = of_column(second, terms);
        });
        sums[leaf] = of_columns::<T, _>(second, columns);
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
            let found = LeafFound {
                first: found[leaf],
                reference,
                total: totals[leaf],
            };
            op.leaf(found, sums[leaf], lens[leaf])
        };
        leaves[leaf] = Leaf { reference, state };
    });
    Looked { kept, leaves }
}

/// The rows of each column in pairs, then columns.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn in_lane<T: Element, L: Monoid<f32>, const N: usize>(look: L, of: &Held<L::State, N>) -> L::State {
    let mut columns = [look.identity(); MOST];
    each!(column < vector_elements::<T>() => {
        let mut rows = [look.identity(); N];
        each!(row < N => rows[row] = of[row][column]);
        columns[column] = of_column(look, rows);
    });
    of_columns::<T, _>(look, columns)
}

/// The rows of a column in pairs.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn of_column<L: Monoid<f32>, const N: usize>(look: L, rows: [L::State; N]) -> L::State {
    const { assert!(N == 1 || N == 2 || N == 4, "rows meet in pairs") };
    let row = |row: usize| rows[row % N];
    match N {
        1 => row(0),
        2 => look.combine(row(0), row(1)),
        _ => look.combine(look.combine(row(0), row(1)), look.combine(row(2), row(3))),
    }
}

/// Columns in pairs.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn of_columns<T: Element, L: Monoid<f32>>(look: L, columns: [L::State; MOST]) -> L::State {
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

/// Where the states of a row's leaves meet, which as many warps have folded: in shared memory those of a block's warps, and then those of a cluster's blocks.
#[derive(Clone, Copy)]
pub struct Warps {
    /// How many leaves the row has.
    pub leaves: u32,
    /// This warp's.
    pub leaf: u32,
    /// Blocks of the cluster; of a block by itself 1. Where there are several, each has a power of two of leaves, but the last.
    pub blocks: u32,
    /// This one's number in the cluster.
    pub block: u32,
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
        const { assert!(2 * MAX_WARPS as usize * O::State::COUNT <= SHARED_WORDS) };
        let words = O::State::COUNT as u32;
        if self.leaf < self.leaves && simt.lane() == 0 {
            each(mine, |i, word| simt.store_shared(simt.warp() * words + i, word));
        }
        simt.barrier();
        let load = |number: u32| O::State::from_words(|i| simt.load_shared(number * words + i as u32));
        let here = u32::min(
            simt.warps(),
            u32::saturating_sub(self.leaves, self.block * simt.warps()),
        );
        let of_block = fold_states(simt, op, here, load);
        if !S::HAS_CLUSTERS || self.blocks == 1 {
            return of_block;
        }
        simt.cluster_wait(self.blocks);
        if simt.warp() == 0 && simt.lane() < self.blocks {
            each(of_block, |i, word| {
                let at = (MAX_WARPS + self.block) * words + i;
                simt.store_cluster(simt.lane(), self.blocks, at, word);
            });
        }
        simt.cluster_arrive();
        simt.cluster_wait(self.blocks);
        fold_states(simt, op, self.blocks, |block| load(MAX_WARPS + block))
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
