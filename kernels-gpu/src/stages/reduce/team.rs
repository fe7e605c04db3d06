//! Team stage: several lanes and warps fold the units of one answer, while their neighbours fold those of others.
//!
//! Units are whatever has a state and an order: parts of a leaf, or slots. A warp holds `answers` answers side by side, in lanes
//! that are neighbours, so that what they read is too; the lanes of one answer take neighbouring units, then the steps of a
//! warp, then the warps:
//!
//! ```text
//! unit = (member's number × steps + step) × lanes of an answer + lane's number
//! ```
//!
//! All of these are powers of two, so each group of neighbours is a subtree.

use crate::{
    monoids::{Monoid, Words},
    simt::Simt,
    stages::{
        each_word,
        reduce::warp::with_partner,
        strategy::{STEP_LEVELS, is_vast, most_warps},
    },
    tree::{LANES, pending::Pending},
};

/// Who folds an answer. All numbers are powers of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Team {
    /// Answers in a warp.
    pub answers: u32,
    /// Warps of an answer, each called a member.
    pub warps: u32,
    /// Units that a lane takes, one after the other, at most [as many](crate::stages::strategy::Strategy::most_steps) as wait.
    pub steps: u32,
}

// Nothing here is 0. That it is said so is for the compiler, which would have a panic for it.
impl Team {
    /// Lanes of an answer.
    const fn lanes(self) -> u32 {
        LANES / if self.answers > 0 { self.answers } else { 1 }
    }

    /// Units that the team folds at once.
    #[must_use]
    pub const fn units(self) -> u64 {
        self.lanes() as u64 * self.warps as u64 * self.steps as u64
    }

    /// The team as it folds `count` units of slots, and in how many turns: a warp of it takes as many steps as that needs.
    #[must_use]
    pub const fn of_slots<State: Words>(self, count: u32) -> (Self, u32) {
        let step = u32::trailing_zeros(self.lanes() * self.warps);
        let needed = u32::next_power_of_two(((count - 1) >> step) + 1);
        let most = if is_vast(State::COUNT) { 1 } else { 1 << STEP_LEVELS };
        let steps = if needed < most { needed } else { most };
        let turns = ((count - 1) >> (step + u32::trailing_zeros(steps))) + 1;
        (Self { steps, ..self }, turns)
    }

    /// This warp's team, counted in the block.
    pub fn number<S: Simt>(self, simt: S) -> u32 {
        simt.warp() / self.warps.max(1)
    }

    /// This warp's number in its team.
    pub fn member<S: Simt>(self, simt: S) -> u32 {
        simt.warp() % self.warps.max(1)
    }

    /// This lane's answer, counted in its team.
    pub fn answer<S: Simt>(self, simt: S) -> u32 {
        simt.lane() % self.answers.max(1)
    }

    /// Whether this lane has its answer once its team has folded: one lane a team and answer.
    pub fn holds_answer<S: Simt>(self, simt: S) -> bool {
        self.member(simt) == 0 && simt.lane() < self.answers
    }

    /// Folds `count` units, neighbours first; those from there on are the identity.
    ///
    /// Called by: all threads of the block together, all with teams of one shape and the same `count` · Valid in: every lane of
    /// a team's first member, that of its own answer · Scratch: the shared buffers
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn fold<S: Simt, T, M: Monoid<T>>(
        self,
        simt: S,
        op: M,
        count: u64,
        unit: impl Fn(u64) -> M::State,
    ) -> M::State {
        let state = if is_vast(M::State::COUNT) {
            self.fold_steps::<S, T, M, 0>(simt, op, count, unit)
        } else {
            self.fold_steps::<S, T, M, STEP_LEVELS>(simt, op, count, unit)
        };
        if self.warps == 1 || most_warps(M::State::COUNT) == 1 {
            return state;
        }
        self.combine_warps(simt, op, state)
    }

    /// The same of this warp's units alone, of which subtrees of at most `2` to the power of `LEVELS` steps wait.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn fold_steps<S: Simt, T, M: Monoid<T>, const LEVELS: u32>(
        self,
        simt: S,
        op: M,
        count: u64,
        unit: impl Fn(u64) -> M::State,
    ) -> M::State {
        let lanes = self.lanes();
        let first = u64::from(self.member(simt) * self.steps * lanes);
        let mut pending = Pending::<_, LEVELS>::nothing(op);
        let mut step = 0;
        while step < self.steps {
            let before = first + u64::from(step * lanes);
            if before >= count {
                break;
            }
            let number = before + u64::from(simt.lane() / self.answers.max(1));
            let mut state = if number < count { unit(number) } else { op.identity() };
            let mut reach = self.answers;
            while reach < LANES {
                state = with_partner(simt, op, state, reach);
                reach *= 2;
            }
            pending.push(simt, op, step, state);
            step += 1;
        }
        pending.total(simt, op, step)
    }

    /// Combines the states of a team's members, lane by lane.
    ///
    /// Called by, Valid in, Scratch: as [`fold`](Self::fold)
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn combine_warps<S: Simt, T, M: Monoid<T>>(self, simt: S, op: M, state: M::State) -> M::State {
        let at = |warp: u32, word: usize| (word as u32 * simt.warps() + warp) * LANES + simt.lane();
        each_word(state, |i, word| simt.store_shared(at(simt.warp(), i), word));
        simt.barrier();
        let mut total = op.identity();
        if self.member(simt) == 0 {
            let mut pending = Pending::<_, STEP_LEVELS>::nothing(op);
            let mut member = 0;
            while member < self.warps {
                let state = M::State::from_words(|word| simt.load_shared(at(simt.warp() + member, word)));
                pending.push(simt, op, member, state);
                member += 1;
            }
            total = pending.total(simt, op, member);
        }
        // The buffer is free again.
        simt.barrier();
        total
    }
}
