//! Who has seen what: vector clocks, and the accesses to one word that they order.
//!
//! A barrier orders all that the block did before it, so one number a block says most of what a thread knows: how many
//! of that block's barriers lie behind the accesses it has seen. Only threads that hand on what they did between
//! barriers, by a ticket or a warp barrier, have an entry of their own. This is exact, not an approximation: whoever synchronises with a thread past its block's
//! `n`th barrier has seen all that any thread of the block did before that barrier.

use std::{collections::BTreeMap, panic::Location};

use crate::fault::{Access, AccessKind, Fault, Site, Thread, WordName};

/// When a thread did something: after how many barriers of its block, and after how many times since that it handed on
/// what it had done, by a ticket or a warp barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Epoch {
    pub barriers: u32,
    pub handed_on: u32,
}

/// What a thread has seen of all others, besides what its own block did before its last barrier.
#[derive(Clone, Debug, Default)]
pub struct Clock {
    /// Of each block, everything before this many barriers.
    blocks: Vec<u32>,
    /// Of single threads, everything up to and including this epoch.
    threads: BTreeMap<Thread, Epoch>,
}

impl Clock {
    fn saw(&self, who: Thread, when: Epoch) -> bool {
        let block = self.blocks.get(who.block as usize).copied().unwrap_or(0);
        when.barriers < block || self.threads.get(&who).is_some_and(|&seen| when <= seen)
    }

    /// Whether it has seen all that `other` has.
    pub fn covers(&self, other: &Self) -> bool {
        let mut of_blocks = (0..).zip(&other.blocks);
        let mine = |block: usize| self.blocks.get(block).copied().unwrap_or(0);
        of_blocks.all(|(block, &seen)| mine(block) >= seen)
            && other.threads.iter().all(|(&who, &when)| self.saw(who, when))
    }

    /// Sees what `other` has seen, too.
    pub fn join(&mut self, other: &Self) {
        if self.blocks.len() < other.blocks.len() {
            self.blocks.resize(other.blocks.len(), 0);
        }
        for (mine, theirs) in self.blocks.iter_mut().zip(&other.blocks) {
            *mine = (*mine).max(*theirs);
        }
        for (&who, &when) in &other.threads {
            let mine = self.threads.entry(who).or_insert(when);
            *mine = (*mine).max(when);
        }
    }

    /// Sees everything that `block` did before this many barriers, and forgets single threads that say no more.
    pub fn pass(&mut self, block: u32, barriers: u32) {
        self.see_block(block, barriers);
        let Self { blocks, threads } = self;
        threads.retain(|who, when| when.barriers >= blocks.get(who.block as usize).copied().unwrap_or(0));
    }

    fn see_block(&mut self, block: u32, barriers: u32) {
        let block = block as usize;
        if self.blocks.len() <= block {
            self.blocks.resize(block + 1, 0);
        }
        self.blocks[block] = self.blocks[block].max(barriers);
    }

    /// Sees what `who` did up to `when`, and so what its block did before that many barriers.
    pub fn see(&mut self, who: Thread, when: Epoch) {
        self.see_block(who.block, when.barriers);
        let mine = self.threads.entry(who).or_insert(when);
        *mine = (*mine).max(when);
    }
}

/// An access that others may have to be ordered with.
#[derive(Clone, Copy, Debug)]
pub struct Stamp {
    who: Thread,
    when: Epoch,
    line: &'static Location<'static>,
}

impl Stamp {
    fn site(self) -> Site {
        let Self { who, line, .. } = self;
        Site { who, line }
    }
    fn access(self, kind: AccessKind) -> Access {
        Access { by: self.site(), kind }
    }
}

/// A thread about to touch a word, with all that it has seen.
#[derive(Clone, Copy)]
pub struct Viewer<'a> {
    pub site: Site,
    pub now: Epoch,
    pub clock: &'a Clock,
}

impl Viewer<'_> {
    /// Whether `past` is ordered before what this thread does now.
    fn saw(&self, past: &Stamp) -> bool {
        past.who == self.site.who
            || (past.who.block == self.site.who.block && past.when.barriers < self.now.barriers)
            || self.clock.saw(past.who, past.when)
    }

    fn stamp(&self) -> Stamp {
        Stamp {
            who: self.site.who,
            when: self.now,
            line: self.site.line,
        }
    }
}

/// The accesses to one word that a later one may race with.
#[derive(Clone, Debug, Default)]
pub struct Track {
    /// Whether the word has a value.
    pub written: bool,
    write: Option<Stamp>,
    /// Loads since the last write, one a thread.
    reads: Vec<Stamp>,
    /// Tickets since the last write, one a thread. They are ordered with loads and stores, not with each other.
    tickets: Vec<Stamp>,
    /// A load through the input path.
    input_read: Option<Stamp>,
    /// What the tickets of this counter have released.
    released: Option<Box<Clock>>,
}

impl Track {
    /// A new launch: whatever went before is ordered before it.
    pub fn forget(&mut self) {
        let written = self.written;
        *self = Self {
            written,
            ..Self::default()
        };
    }

    /// A load.
    pub fn read(&mut self, viewer: Viewer<'_>, word: WordName) -> Result<(), Fault> {
        self.known(viewer, word)?;
        self.after_writes(viewer, word, AccessKind::Read)?;
        self.after(viewer, word, &self.tickets, AccessKind::Atomic, AccessKind::Read)?;
        remember(&mut self.reads, viewer);
        Ok(())
    }

    /// A load through the input path.
    pub fn read_input(&mut self, viewer: Viewer<'_>, word: WordName) -> Result<(), Fault> {
        self.known(viewer, word)?;
        if let Some(writer) = self.write.or(self.tickets.first().copied()) {
            return Err(Fault::WrittenInput {
                reader: viewer.site,
                writer: writer.site(),
                word,
            });
        }
        self.input_read = Some(viewer.stamp());
        Ok(())
    }

    /// A store.
    pub fn write(&mut self, viewer: Viewer<'_>, word: WordName) -> Result<(), Fault> {
        self.not_input(viewer, word)?;
        self.after_writes(viewer, word, AccessKind::Write)?;
        self.after(viewer, word, &self.reads, AccessKind::Read, AccessKind::Write)?;
        self.after(viewer, word, &self.tickets, AccessKind::Atomic, AccessKind::Write)?;
        self.written = true;
        self.write = Some(viewer.stamp());
        // Whoever is ordered after this write is ordered after these.
        self.reads.clear();
        self.tickets.clear();
        Ok(())
    }

    /// An atomic read-modify-write. What it acquires, if it does, is [`released`](Self::released).
    pub fn ticket(&mut self, viewer: Viewer<'_>, word: WordName) -> Result<(), Fault> {
        self.known(viewer, word)?;
        self.not_input(viewer, word)?;
        self.after_writes(viewer, word, AccessKind::Atomic)?;
        self.after(viewer, word, &self.reads, AccessKind::Read, AccessKind::Atomic)?;
        remember(&mut self.tickets, viewer);
        Ok(())
    }

    /// What drawing from this counter acquires, and releases to the next.
    pub fn released(&mut self) -> &mut Clock {
        self.released.get_or_insert_default()
    }

    fn known(&self, viewer: Viewer<'_>, word: WordName) -> Result<(), Fault> {
        if self.written {
            Ok(())
        } else {
            Err(Fault::Unwritten {
                reader: viewer.site,
                word,
            })
        }
    }

    fn not_input(&self, viewer: Viewer<'_>, word: WordName) -> Result<(), Fault> {
        match self.input_read {
            None => Ok(()),
            Some(reader) => Err(Fault::WrittenInput {
                reader: reader.site(),
                writer: viewer.site,
                word,
            }),
        }
    }

    fn after_writes(&self, viewer: Viewer<'_>, word: WordName, kind: AccessKind) -> Result<(), Fault> {
        self.after(viewer, word, self.write.as_slice(), AccessKind::Write, kind)
    }

    fn after(
        &self,
        viewer: Viewer<'_>,
        word: WordName,
        past: &[Stamp],
        past_kind: AccessKind,
        kind: AccessKind,
    ) -> Result<(), Fault> {
        match past.iter().find(|past| !viewer.saw(past)) {
            None => Ok(()),
            Some(past) => Err(Fault::Race {
                word,
                first: past.access(past_kind),
                second: viewer.stamp().access(kind),
            }),
        }
    }
}

/// Adds an access to `past`, in place of the thread's own last one and of those it has seen: whoever is ordered after
/// the new one is ordered after them.
fn remember(past: &mut Vec<Stamp>, viewer: Viewer<'_>) {
    // Threads of one block between the same two barriers have hardly ever seen each other, so look only when the
    // block has moved on.
    if past
        .last()
        .is_some_and(|last| last.who.block != viewer.site.who.block || last.when.barriers != viewer.now.barriers)
    {
        past.retain(|past| !viewer.saw(past));
    }
    let stamp = viewer.stamp();
    // The order within `past` is by thread except across blocks; a plain search from the back finds a thread that
    // polls at once.
    match past.iter_mut().rev().find(|past| past.who == stamp.who) {
        Some(past) => *past = stamp,
        None => past.push(stamp),
    }
}
