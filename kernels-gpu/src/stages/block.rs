//! Block stage: one state per warp through shared memory, then the first warp again.

use super::warp;
use crate::{
    monoids::{Monoid, Words},
    simt::{MAX_WARPS, SHARED_WORDS, Simt},
};

/// Which of the two shared buffers a call uses. Calls in a row take turns, so that one barrier a call is enough: a warp
/// that runs ahead writes the other buffer, and reaches this one again only past a barrier that the reader has passed.
#[derive(Clone, Copy)]
pub struct Turn(u32);

impl Turn {
    /// The first call's turn.
    pub const FIRST: Self = Self(0);

    /// The next call's turn.
    #[must_use]
    pub fn next(self) -> Self {
        Self(1 - self.0)
    }
}

/// Combines one state per warp, neighbours first. The number of warps is a power of two.
///
/// Called by: all threads of the block together; `state` is read in lane 0 of each warp · Valid in: thread 0 ·
/// Scratch: one of the two shared buffers, by `turn`
pub fn reduce<S: Simt, T, M: Monoid<T>>(simt: S, op: M, state: M::State, turn: Turn) -> M::State {
    const { assert!(2 * MAX_WARPS as usize * M::State::COUNT <= SHARED_WORDS) };
    if simt.warps() == 1 {
        return state;
    }
    let words = M::State::COUNT as u32;
    let buffer = turn.0 * MAX_WARPS * words;
    let slot = |warp: u32| buffer + warp * words;
    if simt.lane() == 0 {
        for i in 0..words {
            simt.store_shared(slot(simt.warp()) + i, state.word(i as usize));
        }
    }
    simt.barrier();
    if simt.warp() != 0 {
        return op.identity();
    }
    let of_lane = if simt.lane() < simt.warps() {
        M::State::from_words(|i| simt.load_shared(slot(simt.lane()) + i as u32))
    } else {
        op.identity()
    };
    warp::reduce_first(simt, op, of_lane, simt.warps())
}
