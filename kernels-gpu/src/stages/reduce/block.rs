//! Block stage: states are combined in shared memory, and the first warp folds them.

use crate::{
    monoids::{Monoid, Words},
    simt::{SHARED_WORDS, Simt},
    stages::{
        each_word,
        reduce::warp,
        strategy::{BLOCK_BUFFER, STATES_OF_A_LANE, combines_in_loops, is_large, most_states},
    },
    tree::{LANES, pending::Pending},
};

/// The shared word beside the buffers, for a word from one thread to all of the block.
pub const NOTICE: u32 = SHARED_WORDS as u32 - 1;

/// Which of the two shared buffers a round uses. Rounds take turns, so that one barrier a round is enough: a warp that
/// runs ahead writes the other buffer, and reaches this one again only past a barrier that the reader has passed.
#[derive(Clone, Copy)]
pub struct Turn(u32);

impl Turn {
    /// The first round's turn.
    pub const FIRST: Self = Self(0);

    /// The next round's turn.
    #[must_use]
    pub fn next(self) -> Self {
        Self(1 - self.0)
    }

    fn word(self, state: u32, words: usize) -> u32 {
        self.0 * BLOCK_BUFFER + state * words as u32
    }
}

/// Puts lane 0's `state` at place `at` of this round, `at < most_states(words)`.
///
/// Called by: any warp · Scratch: one of the two shared buffers, by `turn`
pub fn put<S: Simt, W: Words>(simt: S, at: u32, state: W, turn: Turn) {
    if simt.lane() == 0 {
        put_own(simt, at, state, turn);
    }
}

/// The same of a lane's own state.
///
/// Called by: any thread · Scratch: as [`put`]
pub fn put_own<S: Simt, W: Words>(simt: S, at: u32, state: W, turn: Turn) {
    let words = simt.opaque(turn.word(at, W::COUNT));
    each_word(state, |i, word| simt.store_shared(words + i as u32, word));
}

/// Combines the `count` states that were put this round, neighbours first; `count` is a power of two.
///
/// Called by: all threads of the block together · Valid in: thread 0 · Scratch: one of the two shared buffers, by `turn`
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn fold<S: Simt, T, M: Monoid<T>>(simt: S, op: M, count: u32, turn: Turn) -> M::State {
    simt.barrier();
    if simt.warp() != 0 {
        return op.identity();
    }
    const { assert!(STATES_OF_A_LANE == 4, "four states are written out") };
    // All from one number that no compiler takes apart: it would keep an address for each word all through a loop of rounds.
    let first = if is_large(M::State::COUNT) {
        const { assert!(!is_large(M::State::COUNT) || most_states(M::State::COUNT) <= LANES) };
        simt.lane()
    } else {
        STATES_OF_A_LANE * simt.lane()
    };
    let words = simt.opaque(turn.word(first, M::State::COUNT));
    let left = simt.opaque(u32::saturating_sub(count, first));
    let state = |i: u32| {
        if i < left {
            let at = words + i * M::State::COUNT as u32;
            M::State::from_words(|word| simt.load_shared(at + word as u32))
        } else {
            op.identity()
        }
    };
    if is_large(M::State::COUNT) {
        return warp::reduce_first(simt, op, state(0), count);
    }
    let mine = if combines_in_loops(M::State::COUNT) {
        let mut pending = Pending::<M::State, 2>::nothing(op);
        let mut i = simt.opaque(0);
        while i < STATES_OF_A_LANE {
            pending.push(simt, op, i, state(i));
            i = simt.opaque(i + 1);
        }
        pending.total(simt, op, STATES_OF_A_LANE)
    } else {
        op.combine(op.combine(state(0), state(1)), op.combine(state(2), state(3)))
    };
    warp::reduce_first(simt, op, mine, count.div_ceil(STATES_OF_A_LANE))
}

/// Combines lane 0's `state` of each warp, neighbours first. The number of warps is a power of two.
///
/// Called by, Valid in, Scratch: as [`fold`]
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn reduce<S: Simt, T, M: Monoid<T>>(simt: S, op: M, state: M::State, turn: Turn) -> M::State {
    if simt.warps() == 1 {
        return state;
    }
    put(simt, simt.warp(), state, turn);
    fold(simt, op, simt.warps(), turn)
}
