//! Clusters of blocks, and their barriers: a thread arrives, goes on, and waits later.

use std::{collections::BTreeMap, rc::Rc};

use crate::{
    clock::{Clock, Epoch},
    fault::Thread,
};

/// The clusters of a launch.
pub struct Clusters {
    /// Blocks of one.
    blocks: u32,
    /// Those in which a thread has arrived, by number.
    barriers: BTreeMap<u32, Barrier>,
    /// How often each thread has arrived.
    arrivals: BTreeMap<Thread, u32>,
    /// What each block is sent, of even rounds and of odd ones.
    mails: BTreeMap<(u32, u32), Mail>,
}

/// What counts the words that a block is sent.
#[derive(Default)]
struct Mail {
    /// How many there will be, once that is said.
    expected: Option<u32>,
    /// How many have come: before it is said, too.
    received: u32,
    /// How many rounds are complete.
    complete: u32,
    /// What senders hand on, and what the last of them had seen: many have seen the same.
    open: Clock,
    joined: Option<Rc<Clock>>,
    /// What those of the last complete round handed on.
    last: Rc<Clock>,
}

impl Mail {
    fn look(&mut self) {
        if self.expected == Some(self.received) {
            self.expected = None;
            self.received = 0;
            self.complete += 1;
            self.last = Rc::new(std::mem::take(&mut self.open));
            self.joined = None;
        }
    }
}

/// The barrier of one cluster.
#[derive(Default)]
struct Barrier {
    /// How often all have arrived.
    passed: u32,
    /// How many have arrived since.
    arrived: u32,
    /// What these hand on.
    open: Clock,
    /// What all handed on the last time: nobody arrives twice more before all have seen it.
    last: Rc<Clock>,
}

impl Clusters {
    pub fn of(blocks: u32) -> Self {
        Self {
            blocks,
            barriers: BTreeMap::new(),
            arrivals: BTreeMap::new(),
            mails: BTreeMap::new(),
        }
    }

    /// The block of that rank in the cluster of a block, if there is one.
    pub fn block(&self, of: u32, rank: u32) -> Option<u32> {
        (rank < self.blocks).then(|| of / self.blocks * self.blocks + rank)
    }

    /// Whether two blocks are of one cluster.
    pub fn has_both(&self, a: u32, b: u32) -> bool {
        a / self.blocks == b / self.blocks
    }

    /// A thread of blocks of so many has arrived, which has seen so much.
    pub fn arrive(&mut self, who: Thread, threads: u32, clock: &Clock, now: Epoch) {
        *self.arrivals.entry(who).or_default() += 1;
        let barrier = self.barriers.entry(who.block / self.blocks).or_default();
        barrier.open.join(clock);
        barrier.open.see(who, now);
        barrier.arrived += 1;
        if barrier.arrived == threads * self.blocks {
            barrier.arrived = 0;
            barrier.passed += 1;
            barrier.last = Rc::new(std::mem::take(&mut barrier.open));
        }
    }

    /// A block will be sent so many words in a round, or in the round after the next.
    pub fn expect(&mut self, block: u32, round: u32, words: u32) {
        let mail = self.mails.entry((block, round % 2)).or_default();
        mail.expected = Some(words);
        mail.look();
    }

    /// A thread that has seen so much has sent a word to a block.
    pub fn sent(&mut self, who: Thread, (block, round): (u32, u32), clock: &Rc<Clock>, now: Epoch) {
        let mail = self.mails.entry((block, round % 2)).or_default();
        if !mail.joined.as_ref().is_some_and(|joined| Rc::ptr_eq(joined, clock)) {
            mail.open.join(clock);
            mail.joined = Some(Rc::clone(clock));
        }
        mail.open.see(who, now);
        mail.received += 1;
        mail.look();
    }

    /// What a block's senders handed on in a round, if all words have come.
    pub fn received(&self, block: u32, round: u32) -> Option<Rc<Clock>> {
        let mail = self.mails.get(&(block, round % 2))?;
        (mail.complete > round / 2).then(|| Rc::clone(&mail.last))
    }

    /// What all handed on, if all have arrived as often as this one.
    pub fn passed(&self, who: Thread) -> Option<Rc<Clock>> {
        let barrier = self.barriers.get(&(who.block / self.blocks))?;
        let arrivals = self.arrivals.get(&who).copied().unwrap_or(0);
        (barrier.passed >= arrivals).then(|| Rc::clone(&barrier.last))
    }
}
