//! Which answers, and which of their parts, are whose.

use super::AT_ONCE;
use crate::{element::Item, simt::Simt, stages::reduce::team::Team, tree::vector_elements};

/// A block's set of answers, and its part of their elements.
#[derive(Clone, Copy)]
pub(super) struct Block {
    /// The answers of a set, those of a vector for each of some lanes.
    pub answers: u32,
    /// Lanes side by side, each with a vector of answers: a power of two. The groups of as many have neighbouring parts.
    pub lanes: u32,
    /// The number of the block's set of answers, and of its tile.
    pub set: u32,
    pub tile: u32,
    pub tiles: u32,
}

impl Block {
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn new<S: Simt, T: Item>(simt: S, team: Team, tiles: u64) -> Self {
        let tiles = (tiles as u32).max(1);
        Self {
            answers: team.answers,
            lanes: team.answers / vector_elements::<T>() as u32,
            set: simt.block() / tiles,
            tile: simt.block() % tiles,
            tiles,
        }
    }

    /// Answers that are combined in a round.
    pub fn of_round(self) -> u32 {
        self.lanes * AT_ONCE
    }

    /// Of the answers of a round one's place in its vector, and that of the vector among the lanes'.
    pub fn place(self, answer: u32) -> (u32, u32) {
        (answer >> u32::trailing_zeros(self.lanes), answer & (self.lanes - 1))
    }

    /// The number of an answer of a set, which they have round by round.
    pub fn number<T: Item>(self, answer: u32) -> u64 {
        let round = answer >> u32::trailing_zeros(self.of_round());
        let (place, vector) = self.place(answer & (self.of_round() - 1));
        let of_set = vector * vector_elements::<T>() as u32 + round * AT_ONCE + place;
        u64::from(self.set) * u64::from(self.answers) + u64::from(of_set)
    }

    /// Its slot of a tile.
    pub fn slot(self, answer: u32, tile: u32) -> u64 {
        let tile = u64::from(self.set) * u64::from(self.tiles) + u64::from(tile);
        tile * u64::from(self.answers) + u64::from(answer)
    }
}

/// How the threads of a block share what there is of some answers.
#[derive(Clone, Copy)]
pub(super) struct Share {
    /// How many answers: a power of two.
    pub answers: u32,
    /// Threads that share one: a power of two.
    pub parts: u32,
    /// This thread's answer, and which part is its own.
    pub answer: u32,
    pub part: u32,
}

impl Share {
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn of<S: Simt>(simt: S, answers: u32) -> Self {
        let shift = u32::trailing_zeros(answers);
        Self {
            answers,
            parts: simt.threads() >> shift,
            answer: simt.thread() & (answers - 1),
            part: simt.thread() >> shift,
        }
    }
}
