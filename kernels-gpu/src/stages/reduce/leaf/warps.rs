//! The warps of a row, whose states are combined.

use super::fold_a_lane_each;
use crate::{
    monoids::Words as _,
    rowwise::RowOp,
    simt::{MAIL, MAX_WARPS, Simt},
    stages::{each_word, load_words, store_words},
};

/// Blocks of the largest cluster.
const MAX_BLOCKS: u32 = 16;

/// The warps of a row. The states of its leaves are combined in shared memory: those of a block's warps, and then those of a cluster's blocks.
///
/// ```text
/// words of shared memory: states of leaves of even rounds, of odd ones ─ states of blocks, likewise
/// ```
#[derive(Clone, Copy)]
pub struct Warps {
    /// How many leaves the row has.
    pub leaves: u32,
    /// This warp's, or its first.
    pub leaf: u32,
    /// Leaves of a warp, neighbours; of one alone 1.
    pub each: u32,
    /// Blocks of the cluster; of a block by itself 1. Where there are several, each has a power of two of leaves, but the last.
    pub blocks: u32,
    /// This one's number in the cluster.
    pub block: u32,
    /// How many rows it has folded before, which the cluster has one after the other.
    pub round: u32,
}

impl Warps {
    /// Before the first of the cluster's blocks sends to another, all must have begun. Whoever calls this waits in [`combine`](Self::combine). A cluster whose warps have several leaves may have several rows, one after the other.
    ///
    /// Called by: all threads of the cluster together · Scratch: shared memory
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn begin<S: Simt, O: RowOp>(self, simt: S) {
        if self.is_cluster::<S>() {
            simt.cluster_begin(self.blocks * O::State::COUNT as u32, self.has_rounds());
        }
    }

    /// Whether rows follow each other.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn has_rounds(self) -> bool {
        self.each > 1
    }

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn is_cluster<S: Simt>(self) -> bool {
        S::HAS_CLUSTERS && self.blocks > 1
    }

    /// The first word of the state of one of this block's leaves. Those of the round before may still be read.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn of_leaf<O: RowOp>(self, number: u32) -> u32 {
        (self.round % 2 * MAX_WARPS + number) * O::State::COUNT as u32
    }

    /// That of the cluster's first block's; in the end the row's.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn of_blocks<O: RowOp>(self) -> u32 {
        (2 * MAX_WARPS + self.round % 2 * MAX_BLOCKS) * O::State::COUNT as u32
    }

    /// Keeps the state of one of this warp's leaves for [`combine`](Self::combine).
    ///
    /// Called by: all 32 lanes together · Scratch: shared memory
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn keep<S: Simt, O: RowOp>(self, simt: S, _: O, number: u32, state: O::State) {
        if self.leaf + number < self.leaves && simt.lane() == 0 {
            store_words(simt, self.of_leaf::<O>(simt.warp() * self.each + number), state);
        }
    }

    /// That state.
    ///
    /// Called by: any lane, once states are combined · Scratch: shared memory
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn kept<S: Simt, O: RowOp>(self, simt: S, _: O, number: u32) -> O::State {
        load_words(simt, self.of_leaf::<O>(simt.warp() * self.each + number))
    }

    /// Combines the states that all warps [kept](Self::keep), neighbours first. Where that is [expensive](RowOp::COMBINES_ONCE) the first warp does it, and others leave it the issue slots.
    ///
    /// Called by: all threads of the block, of the cluster if there is one, together · Valid in: every lane · Scratch: shared memory
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn combine<S: Simt, O: RowOp>(self, simt: S, op: O) -> O::State {
        const {
            let states = 2 * MAX_WARPS + MAX_BLOCKS;
            assert!(
                states as usize * O::State::COUNT <= MAIL as usize,
                "a state of a row operation has at most 12 words"
            );
        };
        let of_row = self.of_blocks::<O>();
        if self.is_cluster::<S>() && self.round == 0 {
            simt.cluster_wait(self.blocks);
        }
        simt.barrier();
        if !O::COMBINES_ONCE {
            return self.combine_in_warp(simt, op);
        }
        if simt.warp() == 0 {
            let state = self.combine_in_warp(simt, op);
            if simt.lane() == 0 {
                store_words(simt, of_row, state);
            }
        }
        simt.barrier();
        load_words(simt, of_row)
    }

    /// [`combine`](Self::combine), of a warp that does it.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn combine_in_warp<S: Simt, O: RowOp>(self, simt: S, op: O) -> O::State {
        let words = O::State::COUNT as u32;
        let of_block = simt.warps() * self.each;
        let mut count = u32::min(of_block, u32::saturating_sub(self.leaves, self.block * of_block));
        let mut from = self.of_leaf::<O>(0);
        let mut is_last = !self.is_cluster::<S>();
        // Leaves and blocks are folded by one piece of code: it is long.
        loop {
            let state = fold_a_lane_each(simt, op, count, |number| load_words(simt, from + number * words));
            if !S::HAS_CLUSTERS || is_last {
                return state;
            }
            let to = self.of_blocks::<O>();
            if simt.warp() == 0 && simt.lane() < self.blocks {
                each_word(state, |i, word| {
                    let at = to + self.block * words + i as u32;
                    simt.cluster_send(self.round, simt.lane(), self.blocks, at, word);
                });
            }
            simt.cluster_receive(self.round, self.blocks);
            if self.has_rounds() {
                simt.cluster_expect(self.round, self.blocks * words);
            }
            (is_last, from, count) = (true, simt.opaque(to), self.blocks);
        }
    }
}
