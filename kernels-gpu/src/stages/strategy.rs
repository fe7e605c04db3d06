//! Which of its ways each stage takes for an operator: decided here, by what the operator says of itself, how wide its elements are and
//! how many words its state has.
//!
//! A [`Strategy`] is a value. Kernels ask it while they are compiled, so the ways that are not taken are no code; an
//! [`Entry`](crate::kernels::Entry) has it, and there the plan and the tests read it. None of its choices changes a bit: they were measured, and
//! what was measured stands beside each.

use core::fmt;

use crate::{
    element::Type,
    monoids::{Algebra, Monoid, Words},
    simt::SHARED_WORDS,
    stages::{load::source::Source, reduce::packed::is_of_words},
    tree::{LANES, VECTOR_BYTES},
};

/// What the ways that are taken depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Strategy {
    /// The elements.
    pub element: Type,
    /// How many arrays of them, a mask being one.
    pub arrays: usize,
    /// Whether the second array is a mask.
    pub masked: bool,
    /// 32-bit words of a state.
    pub words: usize,
    /// What the operator's states can be relied on for.
    pub algebra: Algebra,
    /// Whether it is a [maximum of words](crate::tree::ByWords).
    pub of_words: bool,
}

/// The most words of a state of which a lane has room for several, and a kernel's code for several ways to fold them.
pub const FEW_WORDS: usize = 16;

/// Whether states are so large, and so is the code that combines two, that it stands in loops: of eight a lane has no room in
/// registers, and of many such pieces of code a kernel none in the cache.
#[must_use]
pub const fn is_large(words: usize) -> bool {
    words > 8
}

/// Whether states are larger than [that](FEW_WORDS): a warp folds one extent at a time then, a run of leaves by what little code there can be.
#[must_use]
pub const fn is_vast(words: usize) -> bool {
    words > FEW_WORDS
}

/// Whether the code that combines two states stands in loops, once for each stage: of all states but those of a word, which are combined in
/// an instruction or a few.
#[must_use]
pub const fn combines_in_loops(words: usize) -> bool {
    words > 1
}

/// States that a lane of a block's first warp folds by itself.
pub const STATES_OF_A_LANE: u32 = 4;

/// Words of each of the two shared buffers in which the states of a block's leaves are combined.
pub const BLOCK_BUFFER: u32 = 512;
const _: () = assert!(2 * BLOCK_BUFFER as usize + 4 <= SHARED_WORDS);

/// The most states of `words` words that can be combined in a block at once, a power of two.
#[must_use]
pub const fn most_states(words: usize) -> u32 {
    let most = 1 << u32::ilog2(BLOCK_BUFFER / words as u32);
    if most < STATES_OF_A_LANE * LANES {
        most
    } else {
        STATES_OF_A_LANE * LANES
    }
}

/// Words of shared memory in which the states of a team's warps are combined.
const TEAM_BUFFER: u32 = 1024;
const _: () = assert!(TEAM_BUFFER as usize + 4 <= SHARED_WORDS);

/// The most warps of a block whose states of `words` words can be combined in a team, a power of two.
#[must_use]
pub const fn most_warps(words: usize) -> u32 {
    let most = TEAM_BUFFER / (LANES * words as u32);
    if most > 1 { 1 << u32::ilog2(most) } else { 1 }
}

/// Of a team's steps, subtrees that wait.
pub const STEP_LEVELS: u32 = 5;

/// Slots of an answer that a lane asks for before it combines any: eight where they have room in registers, and combining them is little code.
#[must_use]
pub const fn slots_at_once(words: usize, algebra: Algebra) -> u32 {
    if words > 2 || algebra.fuses || algebra.folds_columns {
        1
    } else {
        8
    }
}

/// Of a lane's columns of the tree, subtrees that wait.
pub const COLUMN_LEVELS: u32 = 5;

/// Of a tile of segments, subtrees of leaves that wait.
pub const SEGMENT_LEVELS: u32 = 3;

/// What a warp makes of its leaves of a tile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Partials {
    /// A state of each, which are combined in shared memory.
    PerLeaf,
    /// One state of them all, which are neighbours: of states so large that shared memory has room for few. Where it has room, leaves are
    /// read faster if warps take them in turns.
    PerRun {
        /// Whether something is [set aside](Algebra::unordered_words): it is the cheaper, the more leaves of an array a warp folds.
        aside: bool,
    },
    /// One state of them all, whichever they are: threads [accumulate](Strategy::accumulates_per_thread).
    PerThread,
}

impl Strategy {
    /// That of an operator over items.
    #[must_use]
    pub const fn of<T: Source, M: Monoid<T>>() -> Self {
        Self {
            element: T::ELEMENT,
            arrays: T::ARRAYS,
            masked: T::MASKED,
            words: <M::State as Words>::COUNT,
            algebra: M::ALGEBRA,
            of_words: is_of_words::<T, M>(),
        }
    }

    /// Whether some words of a state are [order-independent](Algebra::unordered_words).
    const fn has_unordered(self) -> bool {
        self.algebra.unordered_words > 0
    }

    pub(crate) const fn bytes(self) -> usize {
        self.element.bytes()
    }

    /// Whether a lane combines all that it has folded of a tile before lanes combine theirs: of operators that associate, on one array. Such as select
    /// would rather skip leaves that cannot matter.
    #[must_use]
    pub const fn accumulates_per_thread(self) -> bool {
        self.algebra.associates && self.arrays == 1 && !self.algebra.selects
    }

    /// Whether a warp's leaves of a tile are combined [four at a time](crate::stages::reduce::warp::fold_four): where states have several words, so that combining them costs
    /// more than holding two, and what of them is combined in the tree not so many that two do not fit the registers beside the third.
    #[must_use]
    pub const fn reduces_four_leaves(self) -> bool {
        let has_room = self.words > 1 && self.words < 12 || self.has_unordered();
        has_room && !self.algebra.selects && !self.accumulates_per_thread() && self.algebra.commutes
    }

    /// What a warp makes of its leaves of a tile.
    #[must_use]
    pub const fn partials(self) -> Partials {
        if self.accumulates_per_thread() {
            Partials::PerThread
        } else if self.reduces_four_leaves() && is_large(self.words) {
            Partials::PerRun {
                aside: self.has_unordered(),
            }
        } else {
            Partials::PerLeaf
        }
    }

    /// The most leaves that a warp may have of a tile, of `warps` in a block. They are a power of two, but [in any order](Partials::PerThread).
    #[must_use]
    pub const fn most_leaves(self, warps: u32) -> u32 {
        match self.partials() {
            Partials::PerLeaf => most_states(self.words) / warps,
            Partials::PerRun { .. } => LANES,
            // A kernel counts those of a tile in 32 bits.
            Partials::PerThread => 1 << 24,
        }
    }

    /// The most steps of a team's warp, a power of two: one where states are so large that a lane has no room for any that wait, as they need not
    /// [in any order](Partials::PerThread).
    #[must_use]
    pub const fn most_steps(self) -> u32 {
        match self.partials() {
            Partials::PerLeaf | Partials::PerRun { .. } if is_vast(self.words) => 1,
            _ => 1 << STEP_LEVELS,
        }
    }
}

/// How leaves are read and folded.
impl Strategy {
    /// Whether an operator has so much code for an element, or a column, that it stands in loops however few there are.
    const fn is_heavy(self) -> bool {
        self.algebra.fuses || self.algebra.folds_columns
    }

    /// Whether all elements of `rows` rows are folded at once, without a loop: where that is little code, or pays. What is known to be whole
    /// needs no tests.
    ///
    /// On H100s on 2026-11-25 std of 2²⁸ f32 took 377 µs with whole leaves in a loop, and 362 at once. On an H200 on 2026-11-28 dot products of bf16 took 4.5 µs for 4.9 of 2²⁰, and 18.8 for 20.4
    /// of 2²⁴.
    #[must_use]
    pub const fn folds_at_once(self, rows: usize, is_whole: bool) -> bool {
        match (self.bytes(), rows, is_whole) {
            (VECTOR_BYTES, ..) => true,
            _ if is_vast(self.words) => true,
            (_, 1 | 2, _) => !self.is_heavy() || self.words <= 2,
            (4 | 8, _, true) if self.algebra.associates && is_large(self.words) => false,
            (4 | 8, _, true) => !self.is_heavy() || self.algebra.folds_columns || self.words <= 2,
            (2, _, true) if self.arrays == 1 => self.words <= 2 && !self.algebra.folds_columns,
            (2, _, true) => self.words == 1 && !self.algebra.folds_columns && !self.masked,
            _ => false,
        }
    }

    /// Whether an extent of few rows is folded half of the rows at a time, in a loop, column by column: where a half is so little code that it
    /// stands there at once.
    #[must_use]
    pub const fn folds_in_halves(self) -> bool {
        match self.bytes() {
            _ if self.is_heavy() => false,
            1 => self.algebra.associates,
            2 => self.words <= 2,
            _ => false,
        }
    }

    /// The columns that a turn of the loop folds: those of a word; one of an operator that folds a column at once, of much code for states of
    /// several words, and of two arrays' such states. A turn of one column moves all words by a part of one, so of two in a word both are
    /// folded where states are not large.
    #[must_use]
    pub const fn columns_in_turn(self) -> usize {
        let is_dear = if self.algebra.folds_columns {
            self.bytes() != 2 || self.words > 6
        } else {
            self.algebra.fuses && self.words > 2
        };
        let is_wide = self.arrays > 1 && !self.masked && self.words > 4;
        if is_dear || is_wide {
            1
        } else {
            self.elements_of_a_word()
        }
    }

    /// Elements that a word has, or one that is wider.
    const fn elements_of_a_word(self) -> usize {
        if self.bytes() < 4 { 4 / self.bytes() } else { 1 }
    }
}

/// Columns.
impl Strategy {
    /// Whether answers that are neighbours have code of their own, a lane having [those of a vector](crate::kernels::columns): of one array,
    /// whose states have room in registers. Keys of 2 bytes have none.
    #[must_use]
    pub const fn has_columns(self) -> bool {
        let has_room = self.bytes() == 4 || !self.algebra.in_any_order() || self.of_words;
        has_room && self.is_usual_float() && self.algebra.commutes && self.words == 1 && !self.is_heavy()
    }

    /// Whether it is of one array of f16, bf16 or f32: whose short rows and columns have code of their own. For all types it would be too
    /// much of all kernels.
    const fn is_usual_float(self) -> bool {
        self.arrays == 1 && matches!(self.element, Type::F16 | Type::Bf16 | Type::F32)
    }
}

/// Short rows.
impl Strategy {
    /// Whether rows of whole vectors are folded [4 KiB at a time](crate::stages::reduce::rows) by a warp: of operators whose states of eight
    /// slots a lane has registers for, beside eight vectors.
    ///
    /// On one H200 on 2026-11-27 sums of f32 rows of 64 took 64.7 µs for 103.8, of 256 9.5 for 14.5; sums of bf16 34.2 for 75.3 and 6.3 for 12.2. Not so where
    /// combining two states is much code, unless elements are [summed relative to the largest](Algebra::sums_relative): then log-sum-exp of f32 rows of 64
    /// took 83.7 µs for 246, of bf16 65.2 (one H200, 2026-11-28). Indices that are found in [two passes](crate::stages::reduce::two_passes::TwoPasses) took 33.9 µs for 44.6 of
    /// f32 rows of 1,024, and 40.9 for 56.9 of bf16 rows of 64 (the same).
    #[must_use]
    pub const fn folds_rows_at_once(self) -> bool {
        let is_plain = self.algebra.commutes && !self.algebra.folds_columns;
        let has_room = if self.algebra.in_any_order() {
            self.words <= 3
        } else if self.is_heavy() && !self.algebra.sums_relative {
            self.words == 1 && self.bytes() == 4
        } else {
            self.words <= 2
        };
        self.is_usual_float() && is_plain && has_room
    }

    /// Whether all of a lane's vectors of rows are folded by code of their own, where that is little: else two in a turn of a loop. Only of
    /// operators to which no order matters.
    #[must_use]
    pub const fn folds_row_vectors_at_once(self) -> bool {
        self.words == 1 && self.bytes() >= 4
    }

    /// Whether columns of rows are folded in a loop, by an operator of much code.
    #[must_use]
    pub const fn folds_row_columns_in_loop(self) -> bool {
        self.is_heavy()
    }

    /// Columns of rows that are folded side by side: as many as a vector has of small states; those of a word where they are unpacked, or states are not small; one
    /// in a turn of a loop.
    #[must_use]
    pub const fn row_columns_at_once(self) -> usize {
        match self.bytes() {
            4 if self.is_heavy() => 1,
            4 if self.words == 1 => 4,
            _ => 2,
        }
    }
}

/// Segments.
impl Strategy {
    /// Whether states are so large that registers are dearer than loads from a near cache.
    #[must_use]
    pub const fn are_states_dear(self) -> bool {
        self.words >= 3
    }

    /// Whether a tile of segments is a leaf: of two arrays, where states are large, a lane has no room for states that wait.
    #[must_use]
    pub const fn is_tile_a_leaf(self) -> bool {
        self.arrays > 1 && self.are_states_dear()
    }

    /// The most leaves of a tile of segments; of states so large that a warp's leaves have one together, as many as it has lanes.
    #[must_use]
    pub const fn most_leaves_of_segments(self) -> u32 {
        if self.is_tile_a_leaf() {
            1
        } else if is_vast(self.words) {
            LANES
        } else {
            1 << SEGMENT_LEVELS
        }
    }
}

/// Its choices, in words.
impl fmt::Display for Strategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let partials = match self.partials() {
            Partials::PerLeaf => "one for each leaf",
            Partials::PerRun { aside: false } => "one for each run of leaves",
            Partials::PerRun { aside: true } => "one for each run of leaves, and what is set aside",
            Partials::PerThread => "one for each thread",
        };
        let plural = if self.words == 1 { "" } else { "s" };
        write!(f, "states of {} word{plural}, {partials}", self.words)?;
        for (is_so, what) in [
            (
                self.partials() == Partials::PerLeaf && self.reduces_four_leaves(),
                "four leaves at a time",
            ),
            (self.folds_at_once(8, true), "whole leaves at once"),
            (is_vast(self.words), "one extent at a time"),
        ] {
            if is_so {
                write!(f, ", {what}")?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    extern crate std;
    use std::string::ToString as _;

    use crate::kernels::entry;

    /// What the choices come to, for one operator of each way.
    #[test]
    fn ways_are_those_that_were_measured() {
        for (name, ways) in [
            ("sum_f32", "states of 1 word, one for each leaf, whole leaves at once"),
            ("extremum_f32", "one for each leaf, whole leaves at once"),
            ("count_u32", "one for each thread"),
            ("arg_f32", "states of 3 words, one for each leaf"),
            ("variance_f32", "four leaves at a time"),
            (
                "describe_f32",
                "states of 26 words, one for each run of leaves, and what is set aside",
            ),
        ] {
            let strategy = entry(name).expect("listed").strategy;
            assert!(strategy.to_string().contains(ways), "{name}: {strategy}");
        }
    }
}
