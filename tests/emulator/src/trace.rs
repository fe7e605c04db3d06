//! What the lanes of a launch did, in the order in which they did it: for counts, and for pictures.

use std::{
    collections::{BTreeMap, HashMap},
    panic::Location,
};

use warpfold_kernels::tree::LANES;

use crate::fault::Thread;

/// Something that a lane did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Which.
    pub who: Thread,
    /// In which line of the kernel.
    pub line: &'static Location<'static>,
    /// What.
    pub did: Did,
}

/// What a lane can do. Words are bits of what they are of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Did {
    /// Read words of a buffer in global memory, from number `at` on: as many as `count`, of elements of 4 bytes.
    Load {
        /// The buffer.
        buffer: &'static str,
        /// The first word.
        at: usize,
        /// The words, and zeros behind them.
        words: [u32; 4],
        /// How many they are.
        count: usize,
    },
    /// Wrote a word of it.
    Store {
        /// The buffer.
        buffer: &'static str,
        /// The word.
        at: usize,
        /// What it is now.
        word: u32,
    },
    /// Changed a word of it by an atomic operation.
    Atomic {
        /// The buffer.
        buffer: &'static str,
        /// The word.
        at: usize,
        /// What it was.
        old: u32,
        /// What it is now.
        new: u32,
    },
    /// Read a word of its block's shared memory.
    LoadShared {
        /// The word.
        at: u32,
        /// What it is.
        word: u32,
    },
    /// Wrote a word of it.
    StoreShared {
        /// The word.
        at: u32,
        /// What it is now.
        word: u32,
    },
    /// Brought a word to a shuffle, and took another lane's.
    Shuffle {
        /// Whose.
        from: u32,
        /// The word brought.
        brought: u32,
        /// The word taken.
        taken: u32,
    },
    /// Took part in a vote.
    Vote,
    /// Waited for its warp.
    WarpBarrier,
    /// Waited for its block.
    Barrier,
    /// Came to where the kernel [marks](crate::Lane::mark) something: no doing of the machine.
    Mark {
        /// Which mark.
        number: usize,
    },
}

/// How often what happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Atomic operations of lanes: additions and tickets.
    pub atomics: u64,
    /// Barriers of blocks.
    pub barriers: u64,
    /// Shuffles of warps.
    pub shuffles: u64,
    /// Accesses to memory of warps: what its lanes do in one line at the same turn is one.
    pub accesses: u64,
    /// Those of them that not all 32 lanes took part in. A branch between them diverged.
    pub divergent: u64,
}

impl Counts {
    /// Of what happened in one launch, or several.
    #[must_use]
    pub fn of(events: &[Event]) -> Self {
        let mut counts = Self::default();
        // How often a lane has been in a line, and which lanes of a warp were there that time.
        let mut turns: HashMap<(Thread, &Location), u32> = HashMap::new();
        let mut lanes: BTreeMap<(u32, u32, &Location, u32), u32> = BTreeMap::new();
        for Event { who, line, did } in events {
            let first_of_warp = who.thread.is_multiple_of(LANES);
            match did {
                Did::Barrier => counts.barriers += u64::from(who.thread == 0),
                Did::Shuffle { .. } => counts.shuffles += u64::from(first_of_warp),
                Did::Vote | Did::WarpBarrier | Did::Mark { .. } => {}
                _ => {
                    counts.atomics += u64::from(matches!(did, Did::Atomic { .. }));
                    let turn = turns.entry((*who, *line)).or_default();
                    *lanes.entry((who.block, who.thread / LANES, *line, *turn)).or_default() += 1;
                    *turn += 1;
                }
            }
        }
        counts.accesses = lanes.len() as u64;
        counts.divergent = lanes.values().filter(|lanes| **lanes < LANES).count() as u64;
        counts
    }
}
