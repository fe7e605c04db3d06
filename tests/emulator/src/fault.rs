//! What a kernel can do wrong, and where it did.

use std::{fmt, panic::Location};

use warpfold_kernels::{simt::SHARED_WORDS, tree::LANES};

/// One thread of the grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Thread {
    /// Its block's number in the grid.
    pub block: u32,
    /// Its number in the block.
    pub thread: u32,
}

impl fmt::Display for Thread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { block, thread } = self;
        write!(f, "block {block} thread {thread}")?;
        write!(f, " (warp {} lane {})", thread / LANES, thread % LANES)
    }
}

/// A thread, and the line of the kernel that it is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// Who.
    pub who: Thread,
    /// Where.
    pub line: &'static Location<'static>,
}

impl fmt::Display for Site {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at {}", self.who, self.line)
    }
}

/// What a thread does that others wait for in vain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Elsewhere {
    /// It left the kernel.
    Exited,
    /// It waits at a barrier.
    Barrier(&'static Location<'static>),
    /// It does not exist.
    Nowhere,
}

impl fmt::Display for Elsewhere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited => write!(f, "has exited"),
            Self::Barrier(line) => write!(f, "waits at the barrier at {line}"),
            Self::Nowhere => write!(f, "does not exist"),
        }
    }
}

/// What the lanes of a warp do together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Collective {
    /// A shuffle with the lane whose number differs in the bits of `reach`.
    Shuffle {
        /// The reach.
        reach: u32,
    },
    /// A shuffle with a lane that each names.
    ShuffleFrom,
    /// A vote.
    Any,
    /// A vote of which each lane's is told.
    Ballot,
    /// A barrier of the warp.
    WarpBarrier,
}

impl fmt::Display for Collective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shuffle { reach } => write!(f, "a shuffle of reach {reach}"),
            Self::ShuffleFrom => write!(f, "a shuffle from any lane"),
            Self::Any => write!(f, "a vote"),
            Self::Ballot => write!(f, "a ballot"),
            Self::WarpBarrier => write!(f, "a barrier of the warp"),
        }
    }
}

/// One 32-bit word that a kernel can write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WordName {
    /// Word `at` of a block's shared memory.
    Shared {
        /// The block.
        block: u32,
        /// The word.
        at: u32,
    },
    /// Word `at` of a buffer in global memory.
    Global {
        /// The buffer.
        buffer: &'static str,
        /// The word.
        at: usize,
    },
}

impl fmt::Display for WordName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Shared { block, at } => write!(f, "shared word {at} of block {block}"),
            Self::Global { buffer, at } => write!(f, "word {at} of `{buffer}`"),
        }
    }
}

/// How a word is touched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessKind {
    /// A load.
    Read,
    /// A store.
    Write,
    /// An atomic operation: a ticket, an exchange, an addition, a relaxed load or store.
    Atomic,
}

/// One access to a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Whose.
    pub by: Site,
    /// Of which kind.
    pub kind: AccessKind,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            AccessKind::Read => "read",
            AccessKind::Write => "write",
            AccessKind::Atomic => "atomic",
        };
        write!(f, "{kind} by {}", self.by)
    }
}

/// The registered buffer closest to an address that is in none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nearest {
    /// Its name.
    pub buffer: &'static str,
    /// The address, in bytes from the buffer's start.
    pub offset: isize,
    /// The buffer's length in bytes.
    pub bytes: usize,
}

impl fmt::Display for Nearest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { buffer, offset, bytes } = self;
        write!(f, "byte {offset} of `{buffer}`, which has {bytes}")
    }
}

/// What a kernel did that no kernel may do, or why it could not run.
///
/// The first fault ends the launch.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// A barrier that not all threads of the block can reach.
    #[error("divergent barrier: {waiting} waits, {absent} {elsewhere}")]
    DivergentBarrier {
        /// A thread at the barrier.
        waiting: Site,
        /// A thread that cannot come.
        absent: Thread,
        /// What it does instead.
        elsewhere: Elsewhere,
    },

    /// A shuffle, vote or warp barrier that not all lanes of the warp can reach.
    #[error("absent lane: {waiting} waits in {call}, {absent} {elsewhere}")]
    AbsentLane {
        /// A lane in the collective.
        waiting: Site,
        /// Which.
        call: Collective,
        /// A lane that cannot come.
        absent: Thread,
        /// What it does instead.
        elsewhere: Elsewhere,
    },

    /// Lanes of one warp that come together for different things, or for shuffles of different reach.
    #[error("mixed collective: {first} is in {first_call}, {second} in {second_call}")]
    MixedCollective {
        /// The lane that came first.
        first: Site,
        /// To what.
        first_call: Collective,
        /// The lane that differs.
        second: Site,
        /// What it came to.
        second_call: Collective,
    },

    /// A read of a word that nobody wrote: neither this launch nor, for global memory, anyone before it.
    #[error("{reader} reads {word}, which nobody wrote")]
    Unwritten {
        /// Who reads.
        reader: Site,
        /// What.
        word: WordName,
    },

    /// Two accesses to one word, at least one a write, that no synchronisation orders.
    #[error("race on {word}: {first}, {second}")]
    Race {
        /// The word.
        word: WordName,
        /// The access that came first on this schedule.
        first: Access,
        /// The access that came second.
        second: Access,
    },

    /// A word that is read through the input path and written in the same launch. The hardware may serve such a read
    /// from a cache that no synchronisation refreshes.
    #[error("{reader} reads {word} as input, {writer} writes it in the same launch")]
    WrittenInput {
        /// Who reads.
        reader: Site,
        /// Who writes.
        writer: Site,
        /// The word.
        word: WordName,
    },

    /// A write to a buffer that was registered as read-only.
    #[error("{by} writes word {at} of the input `{buffer}`")]
    ReadOnly {
        /// Who.
        by: Site,
        /// The buffer.
        buffer: &'static str,
        /// The word.
        at: usize,
    },

    /// A global access outside every registered buffer.
    #[error("{by} touches {bytes} bytes at {address:#x}, outside every buffer{}", .nearest.map_or(String::new(), |near| format!(": {near}")))]
    OutOfBounds {
        /// Who.
        by: Site,
        /// The first byte.
        address: usize,
        /// How many.
        bytes: usize,
        /// The closest buffer, if there is any.
        nearest: Option<Nearest>,
    },

    /// A shared access past the end.
    #[error("{by} touches shared word {at} of {}", SHARED_WORDS)]
    SharedOutOfBounds {
        /// Who.
        by: Site,
        /// Which word.
        at: u32,
    },

    /// A global access at an address that is no multiple of its size.
    #[error("{by} touches {bytes} bytes at {address:#x}, which is not aligned to them")]
    Misaligned {
        /// Who.
        by: Site,
        /// The first byte.
        address: usize,
        /// How many.
        bytes: usize,
    },

    /// More steps than the launch allows: a livelock, most likely.
    #[error("no end after {steps} steps; {last} ran last")]
    StepLimit {
        /// The limit.
        steps: u64,
        /// Who took the last step.
        last: Thread,
    },

    /// The kernel panicked.
    #[error("{who} panicked: {message}")]
    Panicked {
        /// Who.
        who: Thread,
        /// With what.
        message: String,
    },

    /// A launch that no machine would take.
    #[error("cannot launch {blocks} blocks of {threads} threads, {resident:?} resident: {why}")]
    BadLaunch {
        /// Blocks asked for.
        blocks: u32,
        /// Threads in each.
        threads: u32,
        /// The bound on resident blocks.
        resident: Option<u32>,
        /// What is wrong with them.
        why: &'static str,
    },

    /// The host has no room for the lanes' stacks.
    #[error("no stacks for {lanes} lanes: {why}")]
    NoStacks {
        /// Lanes resident at once.
        lanes: usize,
        /// What the system says.
        why: String,
    },

    /// The launch ended, and a counter that it must leave at zero is not.
    #[error("`{buffer}` is {count} after the launch, not 0")]
    CounterLeft {
        /// The counter.
        buffer: &'static str,
        /// Its value.
        count: u32,
    },

    /// The launch ended, and an output was not written.
    #[error("word {at} of `{buffer}` was not written")]
    NoAnswer {
        /// The output.
        buffer: &'static str,
        /// The word.
        at: usize,
    },
}
