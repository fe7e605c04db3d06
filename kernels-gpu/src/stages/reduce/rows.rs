//! Rows that a warp holds side by side: a lane's vectors to a state of each slot, and the lanes' states to one of each row.
//!
//! What stands here is straight-line code for all lengths. Steps that a length has not are skipped by branches that all lanes take alike.

use crate::{
    arithmetic::single,
    monoids::{Monoid, Words as _, relative},
    simt::Simt,
    stages::{
        each::each,
        each_word,
        load::{
            fragment::Fragment,
            rows::{RowVectors, VECTORS},
            source::Source,
            words::{ALL, Vectors, WORDS},
        },
        reduce::{
            thread::{Kept, moved_down, turns},
            warp::{combine_exchanged, with_partner},
        },
        strategy::Strategy,
    },
    tree::{LANES, RelativeSum as _, place, vector_elements},
};

mod words;

pub use words::{reduce_words, two_passes};

/// A state of each slot that a lane has; of those past the last, anything.
pub type OfSlots<State> = [State; VECTORS];

/// Levels of columns that wait in a loop, at most.
const LEVELS: usize = 2;

/// Folds what a lane has read to a state of each slot: vectors of one row element by element, in pairs, and then columns in pairs. An operator
/// to which no order matters folds each vector, and then those of a row.
///
/// Called by: all 32 lanes together · Valid in: every lane, its own columns · Scratch: none
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn fold<S: Simt, T: Source, M: Monoid<T>>(simt: S, op: M, read: RowVectors) -> OfSlots<M::State> {
    if M::ALGEBRA.in_any_order() {
        let states = if const { Strategy::of::<T, M>().folds_row_vectors_at_once() } {
            each_vector::<S, T, M, VECTORS>(simt, op, read)
        } else {
            each_vector::<S, T, M, 2>(simt, op, read)
        };
        let [states] = combine_vectors(op, [states], read.tiling.depth);
        return states;
    }
    let at_once = const { Strategy::of::<T, M>().row_columns_at_once() };
    if const { Strategy::of::<T, M>().folds_row_columns_in_loop() } {
        return match const { (vector_elements::<T>(), Strategy::of::<T, M>().row_columns_at_once()) } {
            (2, _) => columns_in_turn::<S, T, M, 1, 1>(simt, op, read),
            (4, _) => columns_in_turn::<S, T, M, 1, 2>(simt, op, read),
            _ => columns_in_turn::<S, T, M, 2, 2>(simt, op, read),
        };
    }
    match at_once {
        1 => columns::<S, T, M, 1>(simt, op, read, 0, 0),
        2 => in_pairs::<S, T, M, 2>(simt, op, read),
        _ => in_pairs::<S, T, M, 4>(simt, op, read),
    }
}

/// The same of rows of up to four vectors a lane, and an operator that [sums relative to the largest element](crate::monoids::Algebra::sums_relative): each slot's. Where one
/// is out of bounds the states are any, and it says so.
///
/// Half of the vectors after the other, for registers.
///
/// Called by: all 32 lanes together · Valid in: every lane, its own columns · Scratch: none
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn fold_relative<S: Simt, T: Source, M: Monoid<T>>(simt: S, op: M, read: RowVectors) -> (OfSlots<M::State>, bool) {
    let depth = read.tiling.depth;
    debug_assert!(depth < 3, "half of the vectors are whole rows");
    let [a, b, c, d, e, f, g, h] = read.vectors;
    let (low, low_bounded) = fold_half::<S, T, M>(simt, op, [a, b, c, d], depth);
    let (high, high_bounded) = fold_half::<S, T, M>(simt, op, [e, f, g, h], depth);
    let mut states = [op.identity(); VECTORS];
    each!(i < HALF, 4 => {
        states[i] = low[i];
        states[HALF + i] = high[i];
    });
    // Behind those of the half before.
    if depth == 1 {
        (states[2], states[3]) = (high[0], high[1]);
    } else if depth > 1 {
        states[1] = high[0];
    }
    (states, low_bounded & high_bounded)
}

/// Vectors that are folded at once [relative to the largest](fold_relative) of their row's.
const HALF: usize = VECTORS / 2;

/// The states of half of the vectors, each slot's, and whether all are within bounds.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn fold_half<S: Simt, T: Source, M: Monoid<T>>(
    simt: S,
    op: M,
    vectors: Vectors<HALF>,
    depth: u32,
) -> ([M::State; HALF], bool) {
    let mut largest = [f32::NEG_INFINITY; HALF];
    each!(i < HALF, 4 => {
        let part = Fragment::<T, 1> {
            words: T::each(|_| [vectors[i]]),
            present: ALL,
            base: 0,
        };
        largest[i] = relative::largest(op, Kept { simt, part });
    });
    largest = combine_half(largest, depth, single::maximum);
    let (mut of_row, mut is_bounded) = (largest, true);
    each!(i < HALF, 4 => {
        is_bounded &= i >= HALF >> depth || op.relative_sum().is_bounded(largest[i]);
        let number = if depth == 0 {
            largest[i]
        } else if depth == 1 {
            largest[i / 2]
        } else {
            largest[0]
        };
        // A compiler would have a copy of all the code for those that are one.
        of_row[i] = f32::from_bits(simt.opaque(number.to_bits()));
    });
    let sums = sum_half::<T, M>(op, vectors, depth, of_row);
    let mut states = [op.identity(); HALF];
    each!(i < HALF, 4 => states[i] = op.relative_sum().of_terms(largest[i], sums[i], true));
    (states, is_bounded)
}

/// The sums of each row's terms, relative to its largest: rows of a column first, and then columns, in pairs.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn sum_half<T: Source, M: Monoid<T>>(op: M, vectors: Vectors<HALF>, depth: u32, of_row: [f32; HALF]) -> [f32; HALF] {
    let column = |column: usize| {
        let words = T::each(|_| vectors);
        let mut terms = [0.0; HALF];
        each!(i < HALF, 4 => {
            let number = op.relative_sum().number(T::item(&words, i, column));
            terms[i] = op.relative_sum().term(of_row[i], number, true);
        });
        combine_half(terms, depth, |a, b| a + b)
    };
    let both = |a: [f32; HALF], b: [f32; HALF]| {
        let mut of = a;
        each!(i < HALF, 4 => of[i] = a[i] + b[i]);
        of
    };
    let four = |first: usize| {
        both(
            both(column(first), column(first + 1)),
            both(column(first + 2), column(first + 3)),
        )
    };
    if vector_elements::<T>() == 4 {
        four(0)
    } else {
        both(four(0), four(4))
    }
}

/// Combines what there is of vectors of one row, in pairs of neighbours.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn combine_half([a, b, c, d]: [f32; HALF], depth: u32, both: impl Fn(f32, f32) -> f32) -> [f32; HALF] {
    if depth == 0 {
        return [a, b, c, d];
    }
    let (low, high) = (both(a, b), both(c, d));
    if depth == 1 {
        return [low, high, 0.0, 0.0];
    }
    [both(low, high), 0.0, 0.0, 0.0]
}

/// The state of each vector, `N` of them in a turn of a loop, or all at once. A state takes the place of its vector, so a loop holds no more words than were read.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn each_vector<S: Simt, T: Source, M: Monoid<T>, const N: usize>(
    simt: S,
    op: M,
    read: RowVectors,
) -> OfSlots<M::State> {
    debug_assert!(M::State::COUNT <= WORDS, "a state takes the place of a vector");
    let RowVectors {
        mut vectors,
        mut present,
        tiling,
    } = read;
    let first = u64::from(tiling.lane(simt)) * vector_elements::<T>() as u64;
    let mut turn = if N == VECTORS { 0 } else { simt.opaque(0) };
    while turn < VECTORS as u32 {
        each!(i < N => {
            let row = tiling.leaf_row(turn as usize + i);
            let mut state = op.identity();
            if op.filler().is_some() || present & 1 << i != 0 {
                let fragment = Fragment::<T, 1> {
                    words: T::each(|_| [vectors[i]]),
                    present: ALL,
                    base: first + u64::from(row) * place::<T>(1, 0),
                };
                state = fragment.fold(simt, op);
            }
            each_word(state, |at, word| vectors[i][at] = word);
        });
        if N == VECTORS {
            break;
        }
        let before = vectors;
        each!(i < VECTORS => vectors[i] = before[(i + N) % VECTORS]);
        present >>= N;
        turn = simt.opaque(turn + N as u32);
    }
    let mut states = [op.identity(); VECTORS];
    each!(i < VECTORS => states[i] = M::State::from_words(|at| vectors[i][at]));
    states
}

/// All columns, `N` of which are folded side by side.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn in_pairs<S: Simt, T: Source, M: Monoid<T>, const N: usize>(simt: S, op: M, read: RowVectors) -> OfSlots<M::State> {
    let of = |first| columns::<S, T, M, N>(simt, op, read, first, 0);
    let depth = read.tiling.depth;
    match vector_elements::<T>() / N {
        1 => of(0),
        2 => both(op, of(0), of(N), depth),
        _ => {
            let low = both(op, of(0), of(N), depth);
            both(op, low, both(op, of(2 * N), of(3 * N), depth), depth)
        }
    }
}

/// All columns, `N` of them in each of `2` to the power of `L` turns of a loop.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn columns_in_turn<S: Simt, T: Source, M: Monoid<T>, const N: usize, const L: u32>(
    simt: S,
    op: M,
    mut read: RowVectors,
) -> OfSlots<M::State> {
    const { assert!(L as usize <= LEVELS) };
    let mut waiting = [[op.identity(); VECTORS]; LEVELS];
    let (count, mut turn) = (turns(simt, L), 0);
    loop {
        let mut states = columns::<S, T, M, N>(simt, op, read, 0, turn * N as u32);
        let (mut left, mut level) = (turn, simt.opaque(0));
        // As `Pending` does, of all slots at once.
        while left & 1 != 0 && level < L {
            states = both(op, waiting[0], states, read.tiling.depth);
            waiting = [waiting[1], waiting[0]];
            left >>= 1;
            level = simt.opaque(level + 1);
        }
        turn += 1;
        if turn >= count {
            return states;
        }
        waiting = if level == 0 {
            [states, waiting[1]]
        } else {
            [waiting[1], states]
        };
        each!(i < VECTORS => read.vectors[i] = moved_down(read.vectors[i], N * T::BYTES));
    }
}

/// The states of `N` columns of vectors from number `first` on, of each slot; `before` columns stood there first.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn columns<S: Simt, T: Source, M: Monoid<T>, const N: usize>(
    simt: S,
    op: M,
    read: RowVectors,
    first: usize,
    before: u32,
) -> OfSlots<M::State> {
    let RowVectors { present, tiling, .. } = read;
    let before = u64::from(tiling.lane(simt)) * vector_elements::<T>() as u64 + u64::from(before);
    let vectors = T::each(|_| read.vectors);
    let mut of = [[op.identity(); VECTORS]; N];
    each!(column < N, 4 => each!(i < VECTORS => {
        if op.filler().is_some() || present & 1 << i != 0 {
            let index = before + u64::from(tiling.leaf_row(i)) * place::<T>(1, 0) + (first + column) as u64;
            of[column][i] = op.lift(T::item(&vectors, i, first + column), index);
        }
    }));
    let of = combine_vectors(op, of, tiling.depth);
    match N {
        1 => of[0],
        2 => both(op, of[0], of[1], tiling.depth),
        _ => {
            let low = both(op, of[0], of[1], tiling.depth);
            both(op, low, both(op, of[2], of[3], tiling.depth), tiling.depth)
        }
    }
}

/// Combines, of each column, the states of vectors of one row, in pairs of neighbours.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn combine_vectors<T, M: Monoid<T>, const N: usize>(
    op: M,
    mut of: [OfSlots<M::State>; N],
    depth: u32,
) -> [OfSlots<M::State>; N] {
    if depth > 0 {
        each!(column < N, 4 => each!(i < 4, 4 => of[column][i] = op.combine(of[column][2 * i], of[column][2 * i + 1])));
    }
    if depth > 1 {
        each!(column < N, 4 => each!(i < 2, 2 => of[column][i] = op.combine(of[column][2 * i], of[column][2 * i + 1])));
    }
    if depth > 2 {
        each!(column < N, 4 => of[column][0] = op.combine(of[column][0], of[column][1]));
    }
    of
}

/// Combines the states of two runs of columns, of each slot that there is.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn both<T, M: Monoid<T>>(op: M, a: OfSlots<M::State>, b: OfSlots<M::State>, depth: u32) -> OfSlots<M::State> {
    let mut of = a;
    of[0] = op.combine(a[0], b[0]);
    if depth < 3 {
        of[1] = op.combine(a[1], b[1]);
    }
    if depth < 2 {
        of[2] = op.combine(a[2], b[2]);
        of[3] = op.combine(a[3], b[3]);
    }
    if depth < 1 {
        of[4] = op.combine(a[4], b[4]);
        of[5] = op.combine(a[5], b[5]);
        of[6] = op.combine(a[6], b[6]);
        of[7] = op.combine(a[7], b[7]);
    }
    of
}

/// Combines the states of each row's lanes, neighbours first: at each step a lane hands on half of its rows, while it has several.
/// Those of `K` rows take `K − 1` shuffles and one for each step after that.
///
/// Called by: all 32 lanes together · Valid in: every lane, of the slots that [`Transposed`] names · Scratch: none
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn transpose<S: Simt, T, M: Monoid<T>>(
    simt: S,
    op: M,
    mut of: OfSlots<M::State>,
    held: Transposed,
    lanes: u32,
) -> OfSlots<M::State> {
    let Transposed { slots, .. } = held;
    if lanes > 0 && slots > 0 {
        of[0] = combine_exchanged(simt, op, 1, of[0], of[1]);
        if slots > 1 {
            of[1] = combine_exchanged(simt, op, 1, of[2], of[3]);
        }
        if slots > 2 {
            of[2] = combine_exchanged(simt, op, 1, of[4], of[5]);
            of[3] = combine_exchanged(simt, op, 1, of[6], of[7]);
        }
    }
    if lanes > 1 && slots > 1 {
        of[0] = combine_exchanged(simt, op, 2, of[0], of[1]);
        if slots > 2 {
            of[1] = combine_exchanged(simt, op, 2, of[2], of[3]);
        }
    }
    if lanes > 2 && slots > 2 {
        of[0] = combine_exchanged(simt, op, 4, of[0], of[1]);
    }
    let mut reach = 1 << held.log;
    while reach < 1 << lanes {
        of[0] = with_partner(simt, op, of[0], reach);
        reach *= 2;
    }
    of
}

/// Which slots a lane has after [`transpose`]: state `i` is that of slot `i · 2ˡᵒᵍ` and the lane's number in `2ˡᵒᵍ`.
#[derive(Clone, Copy)]
pub struct Transposed {
    /// Binary logarithm of the slots.
    slots: u32,
    /// That of the lanes among which they are divided.
    log: u32,
}

impl Transposed {
    /// Of as many slots, of rows of as many lanes, both as binary logarithms.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[must_use]
    pub fn of(slots: u32, lanes: u32) -> Self {
        Self {
            slots,
            log: slots.min(lanes),
        }
    }

    /// How many a lane has.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[must_use]
    pub fn count(self) -> u32 {
        1 << (self.slots - self.log)
    }

    /// The slot of a lane's state of that number.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn slot<S: Simt>(self, simt: S, number: u32) -> u32 {
        number << self.log | simt.lane() & ((1 << self.log) - 1)
    }

    /// Whether a lane is the first of its row that has these: it finishes them. `lane` is its number in the row.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[must_use]
    pub fn finishes(self, lane: u32) -> bool {
        lane < 1 << self.log
    }
}

const _: () = assert!(LANES == 32 && VECTORS == 8, "steps are written out");
