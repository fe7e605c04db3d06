//! What the lanes of a launch share: blocks, warps, memory, and the rules of both.

use std::{
    cell::{Cell, RefCell},
    collections::BTreeMap,
    panic::Location,
    rc::Rc,
};

use warpfold_kernels::{simt::SHARED_WORDS, tree::LANES};

use crate::{
    clock::{Clock, Epoch, Track, Viewer},
    fault::{Collective, Elsewhere, Fault, Site, Thread, WordName},
    memory::{Inputs, WordBuffer, find_word},
};

pub type Line = &'static Location<'static>;

/// Every lane of a warp.
const ALL: u32 = u32::MAX;

/// A thread on the machine: who it is, and where its block lives.
#[derive(Clone, Copy)]
pub struct Place {
    pub who: Thread,
    pub slot: usize,
}

impl Place {
    fn at(self, line: Line) -> Site {
        Site { who: self.who, line }
    }
    fn warp(self) -> usize {
        (self.who.thread / LANES) as usize
    }
    fn lane(self) -> usize {
        (self.who.thread % LANES) as usize
    }
    fn bit(self) -> u32 {
        1 << self.lane()
    }
}

/// 32 lanes. Each is in exactly one of the four sets.
pub struct Warp {
    pub runnable: u32,
    together: u32,
    at_barrier: u32,
    exited: u32,
    /// What the lanes that are `together` wait for.
    call: Collective,
    /// What lanes bring to it; once all are there, what they take from it.
    brought: [u32; LANES as usize],
    taken: [u32; LANES as usize],
    /// Where each lane waits.
    lines: [Line; LANES as usize],
}

impl Warp {
    fn new() -> Self {
        Self {
            runnable: ALL,
            together: 0,
            at_barrier: 0,
            exited: 0,
            call: Collective::Any,
            brought: [0; LANES as usize],
            taken: [0; LANES as usize],
            lines: [Location::caller(); LANES as usize],
        }
    }

    /// A lane that cannot come to what the others do together: its number and what it does.
    fn absent(&self) -> Option<(u32, Elsewhere)> {
        let first = |set: u32| (set != 0).then(|| set.trailing_zeros());
        let exited = first(self.exited).map(|lane| (lane, Elsewhere::Exited));
        let at_barrier = || first(self.at_barrier).map(|lane| (lane, Elsewhere::Barrier(self.lines[lane as usize])));
        exited.or_else(at_barrier)
    }
}

/// A word of shared memory.
#[derive(Clone, Default)]
struct SharedWord {
    word: u32,
    track: Track,
}

/// What a thread has seen since its block's last barrier, and how often it handed on what it did.
struct Ahead {
    /// Shared by the lanes of a warp that met at a warp barrier.
    clock: Rc<Clock>,
    handed_on: u32,
}

/// A resident block.
pub struct Block {
    number: u32,
    pub warps: Vec<Warp>,
    /// The warps that have a runnable lane.
    pub ready: u32,
    arrived: u32,
    exited: u32,
    /// How many barriers the block has passed.
    barriers: u32,
    /// What every thread of the block has seen.
    clock: Clock,
    ahead: BTreeMap<u32, Ahead>,
    /// Shared memory up to the last word written.
    shared: Vec<SharedWord>,
}

impl Block {
    pub fn new(number: u32, threads: u32) -> Self {
        let warps = threads / LANES;
        Self {
            number,
            warps: (0..warps).map(|_| Warp::new()).collect(),
            ready: ALL >> (LANES - warps),
            arrived: 0,
            exited: 0,
            barriers: 0,
            clock: Clock::default(),
            ahead: BTreeMap::new(),
            shared: Vec::new(),
        }
    }

    pub fn number(&self) -> u32 {
        self.number
    }

    fn threads(&self) -> u32 {
        self.warps.len() as u32 * LANES
    }

    /// Whether every thread has exited.
    pub fn ended(&self) -> bool {
        self.exited == self.threads()
    }

    fn thread(&self, warp: usize, lane: u32) -> Thread {
        Thread {
            block: self.number,
            thread: warp as u32 * LANES + lane,
        }
    }

    /// A lane, and the line it waits in.
    fn site(&self, warp: usize, lane: u32) -> Site {
        Site {
            who: self.thread(warp, lane),
            line: self.warps[warp].lines[lane as usize],
        }
    }

    /// What a thread has seen, and when it is.
    fn seen_by(&self, thread: u32) -> (&Clock, Epoch) {
        let (clock, handed_on) = match self.ahead.get(&thread) {
            Some(ahead) => (&*ahead.clock, ahead.handed_on),
            None => (&self.clock, 0),
        };
        let barriers = self.barriers;
        (clock, Epoch { barriers, handed_on })
    }

    fn viewer(&self, place: Place, line: Line) -> Viewer<'_> {
        let (clock, now) = self.seen_by(place.who.thread);
        let site = place.at(line);
        Viewer { site, now, clock }
    }

    fn stop(&mut self, place: Place) {
        let warp = &mut self.warps[place.warp()];
        warp.runnable &= !place.bit();
        if warp.runnable == 0 {
            self.ready &= !(1 << place.warp());
        }
    }

    /// That a lane waits for the others of its warp although `absent` cannot come.
    fn absent_lane(&self, warp: usize, absent: u32, elsewhere: Elsewhere) -> Fault {
        let waiting = self.warps[warp].together.trailing_zeros();
        Fault::AbsentLane {
            waiting: self.site(warp, waiting),
            call: self.warps[warp].call,
            absent: self.thread(warp, absent),
            elsewhere,
        }
    }

    /// The first thread for which `set` has a bit.
    fn first_in(&self, set: impl Fn(&Warp) -> u32) -> Option<Site> {
        let warp = self.warps.iter().position(|warp| set(warp) != 0)?;
        Some(self.site(warp, set(&self.warps[warp]).trailing_zeros()))
    }

    /// A lane comes to what its warp does together. The last to come sets all of them going.
    fn collect(&mut self, place: Place, word: u32, call: Collective, line: Line) -> Result<(), Fault> {
        let (w, lane) = (place.warp(), place.lane());
        self.stop(place);
        let warp = &mut self.warps[w];
        warp.lines[lane] = line;
        warp.brought[lane] = word;
        if warp.together == 0 {
            warp.call = call;
        } else if warp.call != call {
            let first_call = warp.call;
            let first = warp.together.trailing_zeros();
            return Err(Fault::MixedCollective {
                first: self.site(w, first),
                first_call,
                second: place.at(line),
                second_call: call,
            });
        }
        warp.together |= place.bit();
        if let Some((absent, elsewhere)) = warp.absent() {
            return Err(self.absent_lane(w, absent, elsewhere));
        }
        if let Collective::Shuffle { reach } = call
            && reach >= LANES
        {
            return Err(self.absent_lane(w, lane as u32 ^ reach, Elsewhere::Nowhere));
        }
        if warp.together == ALL {
            match call {
                Collective::Shuffle { reach } => {
                    warp.taken = std::array::from_fn(|lane| warp.brought[lane ^ reach as usize]);
                }
                Collective::Any => {
                    let any = warp.brought.iter().any(|&yes| yes != 0);
                    warp.taken = [u32::from(any); LANES as usize];
                }
                Collective::WarpBarrier => self.order_warp(w),
            }
            let warp = &mut self.warps[w];
            warp.together = 0;
            warp.runnable = ALL;
            self.ready |= 1 << w;
        }
        Ok(())
    }

    /// Has each lane of a warp see what all of them did and saw.
    fn order_warp(&mut self, warp: usize) {
        let threads = (0..LANES).map(|lane| self.thread(warp, lane));
        let mut all = Clock::default();
        for who in threads.clone() {
            let (clock, now) = self.seen_by(who.thread);
            all.join(clock);
            all.see(who, now);
        }
        let all = Rc::new(all);
        for Thread { thread, .. } in threads.collect::<Vec<_>>() {
            let (_, now) = self.seen_by(thread);
            // What it does from here on, the others have not seen.
            let handed_on = now.handed_on + 1;
            let clock = Rc::clone(&all);
            self.ahead.insert(thread, Ahead { clock, handed_on });
        }
    }

    fn barrier(&mut self, place: Place, line: Line) -> Result<(), Fault> {
        let w = place.warp();
        self.stop(place);
        let warp = &mut self.warps[w];
        warp.lines[place.lane()] = line;
        warp.at_barrier |= place.bit();
        if warp.together != 0 {
            return Err(self.absent_lane(w, place.lane() as u32, Elsewhere::Barrier(line)));
        }
        if let Some(exited) = self.first_in(|warp| warp.exited) {
            return Err(Fault::DivergentBarrier {
                waiting: place.at(line),
                absent: exited.who,
                elsewhere: Elsewhere::Exited,
            });
        }
        self.arrived += 1;
        if self.arrived == self.threads() {
            self.arrived = 0;
            self.barriers += 1;
            let ahead = std::mem::take(&mut self.ahead);
            if !ahead.is_empty() {
                ahead.values().for_each(|ahead| self.clock.join(&ahead.clock));
                self.clock.pass(self.number, self.barriers);
            }
            for warp in &mut self.warps {
                warp.at_barrier = 0;
                warp.runnable = ALL;
            }
            self.ready = ALL >> (LANES - self.warps.len() as u32);
        }
        Ok(())
    }

    fn exit(&mut self, place: Place) -> Result<(), Fault> {
        self.stop(place);
        let w = place.warp();
        self.warps[w].exited |= place.bit();
        self.exited += 1;
        if self.warps[w].together != 0 {
            return Err(self.absent_lane(w, place.lane() as u32, Elsewhere::Exited));
        }
        if self.arrived > 0
            && let Some(waiting) = self.first_in(|warp| warp.at_barrier)
        {
            return Err(Fault::DivergentBarrier {
                waiting,
                absent: place.who,
                elsewhere: Elsewhere::Exited,
            });
        }
        Ok(())
    }
}

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

    pub fn collect(&mut self, place: Place, word: u32, call: Collective, line: Line) -> Result<(), Fault> {
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

    /// Runs `touch` on shared word `at`: the track to check, and the value.
    fn shared<R>(
        &mut self,
        place: Place,
        at: u32,
        line: Line,
        touch: impl FnOnce(&mut SharedWord, Viewer<'_>, WordName) -> Result<R, Fault>,
    ) -> Result<R, Fault> {
        let block = &mut self.blocks[place.slot];
        if at as usize >= SHARED_WORDS {
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
        self.shared(place, at, line, |shared, viewer, name| {
            shared.word = word;
            shared.track.write(viewer, name)
        })
    }

    pub fn load_shared(&mut self, place: Place, at: u32, line: Line) -> Result<u32, Fault> {
        self.shared(place, at, line, |shared, viewer, name| {
            shared.track.read(viewer, name)?;
            Ok(shared.word)
        })
    }
}

/// The machine of one launch. Lanes and scheduler take turns, so nothing is ever borrowed twice.
pub struct Machine {
    pub inputs: Inputs,
    pub state: RefCell<State>,
    /// Whether `state` has a fault, cheaper to ask.
    pub faulty: Cell<bool>,
    pub threads: u32,
    pub blocks: u32,
}

impl Machine {
    /// Keeps a fault for the scheduler to find.
    pub fn report(&self, fault: Fault) {
        self.state.borrow_mut().fault = Some(fault);
        self.faulty.set(true);
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

    /// Runs `touch` on the read-write word at `address`: its buffer, its number in it, and who asks.
    fn global<R>(
        &self,
        place: Place,
        address: usize,
        line: Line,
        touch: impl FnOnce(&mut WordBuffer, usize, Viewer<'_>, WordName) -> Result<R, Fault>,
    ) -> Result<R, Fault> {
        let state = &mut *self.state.borrow_mut();
        let Some((index, at)) = find_word(&state.words, address) else {
            return Err(self.inputs.out_of_bounds(&state.words, place.at(line), address, 4));
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

    /// One word through the input path.
    pub fn load_input(&self, place: Place, address: usize, line: Line) -> Result<u32, Fault> {
        self.aligned(place, address, 4, line)?;
        if let Some(word) = self.inputs.word(address) {
            return Ok(word);
        }
        self.global(place, address, line, |buffer, at, viewer, name| {
            buffer.tracks[at].read_input(viewer, name)?;
            Ok(buffer.get(at))
        })
    }

    pub fn load(&self, place: Place, address: usize, line: Line) -> Result<u32, Fault> {
        self.aligned(place, address, 4, line)?;
        if let Some(word) = self.inputs.word(address) {
            return Ok(word);
        }
        self.global(place, address, line, |buffer, at, viewer, name| {
            buffer.tracks[at].read(viewer, name)?;
            Ok(buffer.get(at))
        })
    }

    pub fn store(&self, place: Place, address: usize, word: u32, line: Line) -> Result<(), Fault> {
        self.aligned(place, address, 4, line)?;
        self.writable(place, address, line)?;
        self.global(place, address, line, |buffer, at, viewer, name| {
            buffer.tracks[at].write(viewer, name)?;
            buffer.set(at, word);
            Ok(())
        })
    }

    pub fn ticket(&self, place: Place, address: usize, last: u32, fence: Fence, line: Line) -> Result<u32, Fault> {
        self.aligned(place, address, 4, line)?;
        self.writable(place, address, line)?;
        let (drawn, ahead) = self.global(place, address, line, |buffer, at, viewer, name| {
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
            block.ahead.insert(place.who.thread, ahead);
        }
        Ok(drawn)
    }
}
