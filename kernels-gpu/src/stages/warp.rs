//! Warp stage: 32 lanes meet in five shuffles.

use super::{map_words, thread, thread::Input};
use crate::{
    monoids::{Monoid, Words},
    simt::Simt,
    tree::{LANES, leaves},
};

/// Combines the 32 states of a warp, neighbours first.
///
/// Called by: all 32 lanes together · Valid in: every lane · Scratch: none
pub fn reduce<S: Simt, T, M: Monoid<T>>(simt: S, op: M, mut state: M::State) -> M::State {
    for reach in [1, 2, 4, 8, 16] {
        state = op.combine(state, partner(simt, state, reach));
    }
    state
}

/// Combines the 32 states of each of eight rows, neighbours first, `state(row)` being this lane's in that row. Nine
/// shuffles rather than forty: at each of the first three steps a lane hands on half the rows it holds and keeps the
/// other half.
///
/// Called by: all 32 lanes together · Valid in: lane `l` has row `l % 8` · Scratch: none
pub fn reduce_eight<S: Simt, T, M: Monoid<T>>(simt: S, op: M, state: impl Fn(u32) -> M::State) -> M::State {
    let meet = |reach: u32, low: M::State, high: M::State| {
        let (keep, give) = if simt.lane() & reach == 0 {
            (low, high)
        } else {
            (high, low)
        };
        op.combine(keep, partner(simt, give, reach))
    };
    let states: [_; 8] = core::array::from_fn(|row| state(row as u32));
    let two = |row| meet(1, states[row], states[row + 1]);
    let four = |row| meet(2, two(row), two(row + 2));
    let eight = meet(4, four(0), four(4));
    let sixteen = op.combine(eight, partner(simt, eight, 8));
    op.combine(sixteen, partner(simt, sixteen, 16))
}

/// The state of the lane whose number differs in the bit `reach`.
fn partner<S: Simt, W: Words>(simt: S, state: W, reach: u32) -> W {
    map_words(state, |word| simt.shuffle_xor(word, reach))
}

/// Folds `count` leaves from `first` on; `count` is a power of two, at most 32. Leaves past the end give the identity.
///
/// Lane `j` keeps the total of leaf `j`, so that the leaves meet as the lanes of a leaf do.
///
/// Called by: all 32 lanes together · Valid in: every lane · Scratch: none
///
/// # Safety
///
/// `input` is valid and unwritten for the whole launch.
pub unsafe fn fold_leaves<S: Simt, M: Monoid<f32>>(
    simt: S,
    op: M,
    input: Input<f32>,
    first: u64,
    count: u32,
) -> M::State {
    let end = leaves::<f32>(input.len);
    let mut kept = op.identity();
    for j in 0..count {
        if first + u64::from(j) >= end {
            break;
        }
        // SAFETY: passed on to the caller.
        let mine = unsafe { thread::leaf(simt, op, input, first + u64::from(j)) };
        let total = reduce(simt, op, mine);
        if count == 1 {
            return total;
        }
        if simt.lane() == j {
            kept = total;
        }
    }
    if count == 1 { kept } else { reduce(simt, op, kept) }
}

const _: () = assert!(LANES == 32, "five shuffles, and a lane for each of 32 leaves");
