//! A resident block: where its lanes are, and what each has seen.

use std::{collections::BTreeMap, panic::Location, rc::Rc};

use warpfold_kernels::tree::LANES;

use crate::{
    clock::{Clock, Epoch, Track, Viewer},
    fault::{Collective, Elsewhere, Fault, Site, Thread},
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
    pub fn at(self, line: Line) -> Site {
        Site { who: self.who, line }
    }
    pub fn warp(self) -> usize {
        (self.who.thread / LANES) as usize
    }
    pub fn lane(self) -> usize {
        (self.who.thread % LANES) as usize
    }
    pub fn bit(self) -> u32 {
        1 << self.lane()
    }
}

/// 32 lanes. Each is in exactly one of the four sets.
pub struct Warp {
    pub runnable: u32,
    pub together: u32,
    pub at_barrier: u32,
    pub exited: u32,
    /// What the lanes that are `together` wait for.
    pub call: Collective,
    /// What lanes bring to it, and which lane each names; once all are there, what they take from it.
    pub brought: [u32; LANES as usize],
    pub named: [u32; LANES as usize],
    pub taken: [u32; LANES as usize],
    /// Where each lane waits.
    pub lines: [Line; LANES as usize],
}

impl Warp {
    pub fn new() -> Self {
        Self {
            runnable: ALL,
            together: 0,
            at_barrier: 0,
            exited: 0,
            call: Collective::Any,
            brought: [0; LANES as usize],
            named: [0; LANES as usize],
            taken: [0; LANES as usize],
            lines: [Location::caller(); LANES as usize],
        }
    }

    /// A lane that cannot come to what the others do together: its number and what it does.
    pub fn absent(&self) -> Option<(u32, Elsewhere)> {
        let first = |set: u32| (set != 0).then(|| set.trailing_zeros());
        let exited = first(self.exited).map(|lane| (lane, Elsewhere::Exited));
        let at_barrier = || first(self.at_barrier).map(|lane| (lane, Elsewhere::Barrier(self.lines[lane as usize])));
        exited.or_else(at_barrier)
    }
}

/// A word of shared memory.
#[derive(Clone, Default)]
pub struct SharedWord {
    pub word: u32,
    pub track: Track,
}

/// What a thread has seen since its block's last barrier, and how often it handed on what it did.
pub struct Ahead {
    /// Shared by the lanes of a warp that met at a warp barrier.
    pub clock: Rc<Clock>,
    pub handed_on: u32,
}

/// A resident block.
pub struct Block {
    pub number: u32,
    pub warps: Vec<Warp>,
    /// The warps that have a runnable lane.
    pub ready: u32,
    pub arrived: u32,
    pub exited: u32,
    /// How many barriers the block has passed.
    pub barriers: u32,
    /// What every thread of the block has seen.
    pub clock: Clock,
    pub prefetch: BTreeMap<u32, Ahead>,
    /// Shared memory up to the last word written.
    pub shared: Vec<SharedWord>,
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
            prefetch: BTreeMap::new(),
            shared: Vec::new(),
        }
    }

    pub fn number(&self) -> u32 {
        self.number
    }

    pub fn threads(&self) -> u32 {
        self.warps.len() as u32 * LANES
    }

    /// Whether every thread has exited.
    pub fn ended(&self) -> bool {
        self.exited == self.threads()
    }

    pub fn thread(&self, warp: usize, lane: u32) -> Thread {
        Thread {
            block: self.number,
            thread: warp as u32 * LANES + lane,
        }
    }

    /// A lane, and the line it waits in.
    pub fn site(&self, warp: usize, lane: u32) -> Site {
        Site {
            who: self.thread(warp, lane),
            line: self.warps[warp].lines[lane as usize],
        }
    }

    /// What a thread has seen, and when it is.
    pub fn seen_by(&self, thread: u32) -> (&Clock, Epoch) {
        let (clock, handed_on) = match self.prefetch.get(&thread) {
            Some(ahead) => (&*ahead.clock, ahead.handed_on),
            None => (&self.clock, 0),
        };
        let barriers = self.barriers;
        (clock, Epoch { barriers, handed_on })
    }

    /// The same, to be handed on.
    pub fn handed_by(&self, thread: u32) -> (Rc<Clock>, Epoch) {
        let (clock, now) = self.seen_by(thread);
        let ahead = self.prefetch.get(&thread);
        (
            ahead.map_or_else(|| Rc::new(clock.clone()), |ahead| Rc::clone(&ahead.clock)),
            now,
        )
    }

    pub fn viewer(&self, place: Place, line: Line) -> Viewer<'_> {
        let (clock, now) = self.seen_by(place.who.thread);
        let site = place.at(line);
        Viewer { site, now, clock }
    }

    pub fn stop(&mut self, place: Place) {
        let warp = &mut self.warps[place.warp()];
        warp.runnable &= !place.bit();
        if warp.runnable == 0 {
            self.ready &= !(1 << place.warp());
        }
    }

    /// That a lane waits for the others of its warp although `absent` cannot come.
    pub fn absent_lane(&self, warp: usize, absent: u32, elsewhere: Elsewhere) -> Fault {
        let waiting = self.warps[warp].together.trailing_zeros();
        Fault::AbsentLane {
            waiting: self.site(warp, waiting),
            call: self.warps[warp].call,
            absent: self.thread(warp, absent),
            elsewhere,
        }
    }

    /// The first thread for which `set` has a bit.
    pub fn first_in(&self, set: impl Fn(&Warp) -> u32) -> Option<Site> {
        let warp = self.warps.iter().position(|warp| set(warp) != 0)?;
        Some(self.site(warp, set(&self.warps[warp]).trailing_zeros()))
    }

    /// A lane comes to what its warp does together. The last to come sets all of them going.
    pub fn collect(
        &mut self,
        place: Place,
        (word, named): (u32, u32),
        call: Collective,
        line: Line,
    ) -> Result<(), Fault> {
        let (w, lane) = (place.warp(), place.lane());
        self.stop(place);
        let warp = &mut self.warps[w];
        warp.lines[lane] = line;
        warp.brought[lane] = word;
        warp.named[lane] = named;
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
        let from = match call {
            Collective::Shuffle { reach } => lane as u32 ^ reach,
            _ => named,
        };
        if from >= LANES {
            return Err(self.absent_lane(w, from, Elsewhere::Nowhere));
        }
        if warp.together == ALL {
            match call {
                Collective::Shuffle { reach } => {
                    warp.taken = std::array::from_fn(|lane| warp.brought[lane ^ reach as usize]);
                }
                Collective::ShuffleFrom => {
                    warp.taken = std::array::from_fn(|lane| warp.brought[warp.named[lane] as usize]);
                }
                Collective::Ballot => {
                    let bits = (0..LANES).filter(|lane| warp.brought[*lane as usize] != 0);
                    warp.taken = [bits.fold(0, |bits, lane| bits | 1 << lane); LANES as usize];
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
    pub fn order_warp(&mut self, warp: usize) {
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
            self.prefetch.insert(thread, Ahead { clock, handed_on });
        }
    }

    pub fn barrier(&mut self, place: Place, line: Line) -> Result<(), Fault> {
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
            let ahead = std::mem::take(&mut self.prefetch);
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

    /// A thread that has exited, if any has.
    pub fn first_exited(&self) -> Option<Thread> {
        self.first_in(|warp| warp.exited).map(|site| site.who)
    }

    pub fn exit(&mut self, place: Place) -> Result<(), Fault> {
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
