//! What the lanes of a launch share: blocks, memory, and the rules of both.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
};

use warpfold_kernels::simt::{DYNAMIC_WORDS, SHARED_WORDS};

use crate::{
    block::{Ahead, Block, Line, Place, SharedWord},
    clock::{Clock, Epoch, Viewer},
    cluster::Clusters,
    fault::{Collective, Elsewhere, Fault, WordName},
    memory::{Inputs, WordBuffer, find_word},
    trace::{Did, Event},
};

/// Words of shared memory, dynamic and other.
const ALL_SHARED: usize = SHARED_WORDS + DYNAMIC_WORDS as usize;

/// Whether drawing a ticket orders the accesses around it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Fence {
    AcquireRelease,
    None,
}

/// All that changes while a launch runs.
pub struct State {
    /// By slot.
    pub blocks: Vec<Block>,
    pub words: Vec<WordBuffer>,
    pub clusters: Clusters,
    pub fault: Option<Fault>,
}

impl State {
    /// Puts a block in a slot: that of a block that has ended, or a new one.
    pub fn place(&mut self, slot: usize, block: Block) {
        if slot == self.blocks.len() {
            self.blocks.push(block);
        } else {
            self.blocks[slot] = block;
        }
    }

    pub fn collect(&mut self, place: Place, word: (u32, u32), call: Collective, line: Line) -> Result<(), Fault> {
        self.blocks[place.slot].collect(place, word, call, line)
    }

    /// What the collective that all lanes came to gave this one.
    pub fn collected(&self, place: Place) -> u32 {
        self.blocks[place.slot].warps[place.warp()].taken[place.lane()]
    }

    pub fn barrier(&mut self, place: Place, line: Line) -> Result<(), Fault> {
        self.blocks[place.slot].barrier(place, line)
    }

    /// Whether that was the block's last thread.
    pub fn exit(&mut self, place: Place) -> Result<bool, Fault> {
        let block = &mut self.blocks[place.slot];
        block.exit(place)?;
        Ok(block.ended())
    }

    /// Runs `touch` on word `at` of shared memory, of which there are so many: the track to check, and the value.
    fn shared<R>(
        &mut self,
        place: Place,
        at: u32,
        words: usize,
        line: Line,
        touch: impl FnOnce(&mut SharedWord, Viewer<'_>, WordName) -> Result<R, Fault>,
    ) -> Result<R, Fault> {
        let block = &mut self.blocks[place.slot];
        if at as usize >= words {
            let by = place.at(line);
            return Err(Fault::SharedOutOfBounds { by, at });
        }
        // Taken out for the moment, so that the block can be looked at beside it.
        let mut shared = std::mem::take(&mut block.shared);
        if shared.len() <= at as usize {
            shared.resize(at as usize + 1, SharedWord::default());
        }
        let name = WordName::Shared {
            block: block.number,
            at,
        };
        let result = touch(&mut shared[at as usize], block.viewer(place, line), name);
        block.shared = shared;
        result
    }

    pub fn store_shared(&mut self, place: Place, at: u32, word: u32, line: Line) -> Result<(), Fault> {
        self.write_shared(place, at, SHARED_WORDS, word, line)
    }

    /// Writes a word of dynamic shared memory, which lies behind the other.
    pub fn store_dynamic(&mut self, place: Place, at: u32, word: u32, line: Line) -> Result<(), Fault> {
        self.write_shared(place, SHARED_WORDS as u32 + at, ALL_SHARED, word, line)
    }

    fn write_shared(&mut self, place: Place, at: u32, words: usize, word: u32, line: Line) -> Result<(), Fault> {
        self.shared(place, at, words, line, |shared, viewer, name| {
            shared.word = word;
            shared.track.write(viewer, name)
        })
    }

    /// Sends a word to the shared memory of a block of the cluster.
    pub fn send(
        &mut self,
        place: Place,
        (round, rank): (u32, u32),
        (at, word): (u32, u32),
        line: Line,
    ) -> Result<(), Fault> {
        let number = self.clusters.block(place.who.block, rank);
        let other = number.and_then(|number| {
            self.blocks
                .iter()
                .position(|block| block.number() == number && !block.ended())
        });
        let (Some(slot), true) = (other, (at as usize) < SHARED_WORDS) else {
            let by = place.at(line);
            return Err(Fault::SharedOutOfBounds { by, at });
        };
        // Taken out for the moment, as of the block's own.
        let mut shared = std::mem::take(&mut self.blocks[slot].shared);
        if shared.len() <= at as usize {
            shared.resize(at as usize + 1, SharedWord::default());
        }
        let name = WordName::Shared {
            block: self.blocks[slot].number,
            at,
        };
        let viewer = self.blocks[place.slot].viewer(place, line);
        let result = shared[at as usize].track.write(viewer, name);
        shared[at as usize].word = word;
        let to = (self.blocks[slot].number, round);
        self.blocks[slot].shared = shared;
        let (clock, now) = self.blocks[place.slot].handed_by(place.who.thread);
        self.clusters.sent(place.who, to, &clock, now);
        self.hand_on(place, clock, now);
        result
    }

    /// What a thread does from here on, those have not seen to whom it has handed on what it did.
    fn hand_on(&mut self, place: Place, clock: Rc<Clock>, now: Epoch) {
        let handed_on = now.handed_on + 1;
        let ahead = &mut self.blocks[place.slot].prefetch;
        ahead.insert(place.who.thread, Ahead { clock, handed_on });
    }

    /// A thread sees what others handed on.
    fn see(&mut self, place: Place, seen: &Rc<Clock>) {
        let (mine, now) = self.blocks[place.slot].handed_by(place.who.thread);
        let clock = if seen.covers(&mine) {
            Rc::clone(seen)
        } else {
            let mut both = (*mine).clone();
            both.join(seen);
            Rc::new(both)
        };
        let handed_on = now.handed_on;
        let ahead = &mut self.blocks[place.slot].prefetch;
        ahead.insert(place.who.thread, Ahead { clock, handed_on });
    }

    /// Whether the block has all words that it is sent in a round; then this thread sees them.
    pub fn received(&mut self, place: Place, round: u32) -> bool {
        let received = self.clusters.received(place.who.block, round);
        if let Some(clock) = &received {
            self.see(place, clock);
        }
        received.is_some()
    }

    /// Says that a thread has come to its cluster's barrier, and hands on what it did.
    pub fn cluster_arrive(&mut self, place: Place) {
        let threads = self.blocks[place.slot].threads();
        let (clock, now) = self.blocks[place.slot].handed_by(place.who.thread);
        self.clusters.arrive(place.who, threads, &clock, now);
        self.hand_on(place, clock, now);
    }

    /// Whether all threads of the cluster have come as often as this one; then it sees what they handed on.
    pub fn cluster_passed(&mut self, place: Place, line: Line) -> Result<bool, Fault> {
        if let Some(clock) = self.clusters.passed(place.who) {
            self.see(place, &clock);
            return Ok(true);
        }
        let gone = self.blocks.iter().find_map(|block| {
            let of_cluster = self.clusters.has_both(block.number(), place.who.block);
            of_cluster.then(|| block.first_exited()).flatten()
        });
        match gone {
            None => Ok(false),
            Some(absent) => Err(Fault::DivergentBarrier {
                waiting: place.at(line),
                absent,
                elsewhere: Elsewhere::Exited,
            }),
        }
    }

    pub fn load_shared(&mut self, place: Place, at: u32, line: Line) -> Result<u32, Fault> {
        self.read_shared(place, at, SHARED_WORDS, line)
    }

    pub fn load_dynamic(&mut self, place: Place, at: u32, line: Line) -> Result<u32, Fault> {
        self.read_shared(place, SHARED_WORDS as u32 + at, ALL_SHARED, line)
    }

    fn read_shared(&mut self, place: Place, at: u32, words: usize, line: Line) -> Result<u32, Fault> {
        self.shared(place, at, words, line, |shared, viewer, name| {
            shared.track.read(viewer, name)?;
            Ok(shared.word)
        })
    }

    /// One word from `at` on, or two, at once: what was there, in place of which `new` is, if it is anything.
    pub fn atomic_shared(
        &mut self,
        place: Place,
        at: u32,
        words: u32,
        new: Option<u64>,
        line: Line,
    ) -> Result<u64, Fault> {
        assert!(at.is_multiple_of(words), "two words at once begin at an even one");
        let mut found = 0;
        for i in 0..words {
            let old = self.shared(place, at + i, SHARED_WORDS, line, |shared, viewer, name| {
                shared.track.ticket(viewer, name)?;
                let new = new.map_or(shared.word, |new| (new >> (32 * i)) as u32);
                Ok(std::mem::replace(&mut shared.word, new))
            })?;
            found |= u64::from(old) << (32 * i);
        }
        Ok(found)
    }
}

/// The machine of one launch. Lanes and scheduler take turns, so nothing is ever borrowed twice.
pub struct Machine {
    pub inputs: Inputs,
    pub state: RefCell<State>,
    /// Whether `state` has a fault, cheaper to ask.
    pub faulty: Cell<bool>,
    /// What lanes did, where it is kept.
    pub trace: Option<RefCell<Vec<Event>>>,
    pub threads: u32,
    pub blocks: u32,
}

impl Machine {
    /// Keeps a fault for the scheduler to find.
    pub fn report(&self, fault: Fault) {
        self.state.borrow_mut().fault = Some(fault);
        self.faulty.set(true);
    }

    /// Keeps what a lane did, where that is asked for.
    pub fn record(&self, place: Place, line: Line, did: impl FnOnce() -> Did) {
        if let Some(trace) = &self.trace {
            let did = did();
            let who = place.who;
            trace.borrow_mut().push(Event { who, line, did });
        }
    }

    /// The buffer that has `address`, and the word of it that lies there, of memory that was just accessed.
    pub fn word_at(&self, address: usize) -> (&'static str, usize) {
        self.inputs.name(address).unwrap_or_else(|| {
            let words = &self.state.borrow().words;
            let found = [4, 2, 1].iter().find_map(|bytes| find_word(words, address, *bytes));
            found.map_or(("nowhere", 0), |(index, at)| (words[index].name, at))
        })
    }

    /// That `address` is a multiple of `bytes`.
    fn aligned(&self, place: Place, address: usize, bytes: usize, line: Line) -> Result<(), Fault> {
        if address.is_multiple_of(bytes) {
            Ok(())
        } else {
            let by = place.at(line);
            Err(Fault::Misaligned { by, address, bytes })
        }
    }

    /// Runs `touch` on the read-write word of so many bytes at `address`: its buffer, its number in it, and who asks.
    fn global<R>(
        &self,
        place: Place,
        (address, bytes): (usize, usize),
        line: Line,
        touch: impl FnOnce(&mut WordBuffer, usize, Viewer<'_>, WordName) -> Result<R, Fault>,
    ) -> Result<R, Fault> {
        let state = &mut *self.state.borrow_mut();
        let Some((index, at)) = find_word(&state.words, address, bytes) else {
            return Err(self.inputs.out_of_bounds(&state.words, place.at(line), address, bytes));
        };
        let buffer = &mut state.words[index];
        let name = WordName::Global {
            buffer: buffer.name,
            at,
        };
        touch(buffer, at, state.blocks[place.slot].viewer(place, line), name)
    }

    /// That `address`, about to be written, is not an input's.
    fn writable(&self, place: Place, address: usize, line: Line) -> Result<(), Fault> {
        match self.inputs.name(address) {
            None => Ok(()),
            Some((buffer, at)) => {
                let by = place.at(line);
                Err(Fault::ReadOnly { by, buffer, at })
            }
        }
    }

    /// Four words through the input path.
    pub fn load_input_vector(&self, place: Place, address: usize, line: Line) -> Result<[u32; 4], Fault> {
        self.aligned(place, address, 16, line)?;
        if let Some(quad) = self.inputs.quad(address) {
            return Ok(quad);
        }
        let mut words = [0; 4];
        for (i, word) in words.iter_mut().enumerate() {
            *word = self.load_input(place, address.wrapping_add(4 * i), line)?;
        }
        Ok(words)
    }

    /// Two words through the input path.
    pub fn load_input_pair(&self, place: Place, address: usize, line: Line) -> Result<[u32; 2], Fault> {
        self.aligned(place, address, 8, line)?;
        let second = address.wrapping_add(4);
        Ok([
            self.load_input(place, address, line)?,
            self.load_input(place, second, line)?,
        ])
    }

    /// One word through the input path.
    pub fn load_input(&self, place: Place, address: usize, line: Line) -> Result<u32, Fault> {
        self.aligned(place, address, 4, line)?;
        if let Some(word) = self.inputs.word(address) {
            return Ok(word);
        }
        self.global(place, (address, 4), line, |buffer, at, viewer, name| {
            buffer.tracks[at].read_input(viewer, name)?;
            Ok(buffer.get(at))
        })
    }

    /// Two bytes through the input path, of a buffer that is an input.
    pub fn load_input_short(&self, place: Place, address: usize, line: Line) -> Result<u32, Fault> {
        self.aligned(place, address, 2, line)?;
        let short = self.inputs.short(address).map(u32::from);
        short.ok_or_else(|| self.no_input(place, address, 2, line))
    }

    /// One byte through the input path, of a buffer that is an input.
    pub fn load_input_byte(&self, place: Place, address: usize, line: Line) -> Result<u32, Fault> {
        let byte = self.inputs.byte(address).map(u32::from);
        byte.ok_or_else(|| self.no_input(place, address, 1, line))
    }

    fn no_input(&self, place: Place, address: usize, bytes: usize, line: Line) -> Fault {
        let words = &self.state.borrow().words;
        self.inputs.out_of_bounds(words, place.at(line), address, bytes)
    }

    pub fn load(&self, place: Place, address: usize, line: Line) -> Result<u32, Fault> {
        self.aligned(place, address, 4, line)?;
        if let Some(word) = self.inputs.word(address) {
            return Ok(word);
        }
        self.global(place, (address, 4), line, |buffer, at, viewer, name| {
            buffer.tracks[at].read(viewer, name)?;
            Ok(buffer.get(at))
        })
    }

    /// Writes the low `bytes` bytes of a word.
    pub fn store(&self, place: Place, address: usize, bytes: usize, word: u32, line: Line) -> Result<(), Fault> {
        self.aligned(place, address, bytes, line)?;
        self.writable(place, address, line)?;
        self.global(place, (address, bytes), line, |buffer, at, viewer, name| {
            buffer.tracks[at].write(viewer, name)?;
            buffer.set(at, word);
            Ok(())
        })
    }

    /// Several words at once, `address` being aligned to all of them.
    pub fn store_words(&self, place: Place, address: usize, words: &[u32], line: Line) -> Result<(), Fault> {
        self.aligned(place, address, 4 * words.len(), line)?;
        // By the words that the buffer is made of, which may be shorter.
        let bytes = match find_word(&self.state.borrow().words, address, 2) {
            Some(_) => 2,
            None => 4,
        };
        for (i, word) in words.iter().enumerate() {
            for part in 0..4 / bytes {
                let part_of_word = word >> (8 * bytes * part);
                self.store(place, address + 4 * i + bytes * part, bytes, part_of_word, line)?;
            }
        }
        Ok(())
    }

    /// One word or two, at once, and relaxed: what was there, in place of which is what `change` makes of it.
    pub fn atomic(
        &self,
        place: Place,
        address: usize,
        words: usize,
        line: Line,
        change: impl Fn(u64) -> u64,
    ) -> Result<u64, Fault> {
        self.aligned(place, address, 4 * words, line)?;
        let each = |word: usize, new: Option<u64>| {
            let address = address + 4 * word;
            self.writable(place, address, line)?;
            self.global(place, (address, 4), line, |buffer, at, viewer, name| {
                buffer.tracks[at].ticket(viewer, name)?;
                let old = buffer.get(at);
                if let Some(new) = new {
                    buffer.set(at, (new >> (32 * word)) as u32);
                }
                Ok(u64::from(old) << (32 * word))
            })
        };
        let mut found = 0;
        for word in 0..words {
            found |= each(word, None)?;
        }
        let new = change(found);
        for word in 0..words {
            each(word, Some(new))?;
        }
        Ok(found)
    }

    /// Reads a counter of tickets, and acquires what drawing from it released.
    pub fn load_acquire(&self, place: Place, address: usize, line: Line) -> Result<u32, Fault> {
        self.aligned(place, address, 4, line)?;
        let (word, ahead) = self.global(place, (address, 4), line, |buffer, at, viewer, name| {
            let track = &mut buffer.tracks[at];
            track.ticket(viewer, name)?;
            let mut clock = viewer.clock.clone();
            clock.join(track.released());
            let (clock, handed_on) = (Rc::new(clock), viewer.now.handed_on);
            Ok((buffer.get(at), Ahead { clock, handed_on }))
        })?;
        let block = &mut self.state.borrow_mut().blocks[place.slot];
        block.prefetch.insert(place.who.thread, ahead);
        Ok(word)
    }

    pub fn ticket(&self, place: Place, address: usize, last: u32, fence: Fence, line: Line) -> Result<u32, Fault> {
        self.aligned(place, address, 4, line)?;
        self.writable(place, address, line)?;
        let (drawn, ahead) = self.global(place, (address, 4), line, |buffer, at, viewer, name| {
            let track = &mut buffer.tracks[at];
            track.ticket(viewer, name)?;
            let ahead = (fence == Fence::AcquireRelease).then(|| {
                let mut clock = viewer.clock.clone();
                let released = track.released();
                clock.join(released);
                released.join(&clock);
                released.see(viewer.site.who, viewer.now);
                // What it does from here on is not released.
                let handed_on = viewer.now.handed_on + 1;
                let clock = Rc::new(clock);
                Ahead { clock, handed_on }
            });
            let drawn = buffer.get(at);
            buffer.set(at, if drawn >= last { 0 } else { drawn + 1 });
            Ok((drawn, ahead))
        })?;
        if let Some(ahead) = ahead {
            let block = &mut self.state.borrow_mut().blocks[place.slot];
            block.prefetch.insert(place.who.thread, ahead);
        }
        Ok(drawn)
    }
}
