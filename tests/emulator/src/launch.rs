//! A launch: every thread of a grid through one kernel, in the order of a seed.

use std::{
    any::Any,
    cell::{Cell, RefCell},
    mem,
    panic::{AssertUnwindSafe, catch_unwind},
};

use corosensei::{Coroutine, CoroutineResult, stack::DefaultStack};
use warpfold_kernels::{simt::MAX_WARPS, tree::LANES};

use crate::{
    block::{Block, Place},
    cluster::Clusters,
    fault::{Fault, Thread},
    lane::{Context, Lane},
    machine::{Machine, State},
    memory::Memory,
    schedule::{Pick, Rng, Schedule},
    stacks::{Lease, RESIDENT_THREADS},
    trace::Event,
};

/// The default of [`Launch::step_limit`]: half a minute of work, and far more than any test's kernel takes.
pub const STEP_LIMIT: u64 = 1 << 30;

/// The shape of a launch, and the seed of its schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launch {
    /// Blocks in the grid.
    pub blocks: u32,
    /// Threads in a block: whole warps, at most 1024 threads.
    pub threads: u32,
    /// Which schedule. The same seed replays the same one.
    pub seed: u64,
    /// How many blocks run at once; others start as these end. `None`: all, up to [`RESIDENT_THREADS`] threads.
    pub resident: Option<u32>,
    /// Blocks of a cluster, side by side in the grid: they start together.
    pub cluster: u32,
    /// How many times lanes may be switched to before the launch counts as a livelock.
    pub step_limit: u64,
}

impl Launch {
    /// A launch with all blocks resident and the default step limit.
    #[must_use]
    pub fn new(blocks: u32, threads: u32, seed: u64) -> Self {
        Self {
            blocks,
            threads,
            seed,
            resident: None,
            cluster: 1,
            step_limit: STEP_LIMIT,
        }
    }

    /// The same, with at most `resident` blocks at once.
    #[must_use]
    pub fn resident(self, resident: u32) -> Self {
        let resident = Some(resident);
        Self { resident, ..self }
    }

    /// The same, in clusters of so many blocks.
    #[must_use]
    pub fn cluster(self, cluster: u32) -> Self {
        Self { cluster, ..self }
    }

    /// The same, with another step limit.
    #[must_use]
    pub fn step_limit(self, step_limit: u64) -> Self {
        Self { step_limit, ..self }
    }

    /// How many blocks run at once.
    fn slots(&self) -> Result<u32, Fault> {
        let &Self {
            blocks,
            threads,
            resident,
            cluster,
            ..
        } = self;
        let bad = |why| Fault::BadLaunch {
            blocks,
            threads,
            resident,
            why,
        };
        if blocks == 0 {
            return Err(bad("a grid has at least one block"));
        }
        if threads == 0 || !threads.is_multiple_of(LANES) || threads > MAX_WARPS * LANES {
            return Err(bad("a block is 1 to 32 whole warps"));
        }
        if cluster == 0 || !blocks.is_multiple_of(cluster) {
            return Err(bad("a grid is of whole clusters"));
        }
        let most = match resident {
            Some(0) => return Err(bad("at least one block is resident")),
            Some(resident) => resident,
            None => RESIDENT_THREADS / threads,
        };
        Ok((most.min(blocks) / cluster).max(1) * cluster)
    }
}

/// What a launch without fault was like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run {
    /// How many times a lane was switched to.
    pub steps: u64,
    /// A hash of which lanes these were, in order.
    pub schedule: u64,
}

type Coro = Coroutine<(), (), (), DefaultStack>;

/// Runs `kernel` in every thread of a grid.
///
/// What the launch wrote is in `memory` afterwards, after a fault too.
///
/// # Errors
///
/// The first fault on the seed's schedule. A panic of the kernel is one.
pub fn launch(config: &Launch, memory: &mut Memory, kernel: impl Fn(Lane<'_>)) -> Result<Run, Fault> {
    launch_any(config, memory, &kernel, None).map(|(run, _)| run)
}

/// The same, and what its lanes did, in order: many times as slow, for small launches.
///
/// # Errors
///
/// As [`launch`].
pub fn launch_traced(
    config: &Launch,
    memory: &mut Memory,
    kernel: impl Fn(Lane<'_>),
) -> Result<(Run, Vec<Event>), Fault> {
    launch_any(config, memory, &kernel, Some(vec![]))
}

/// Not of one kernel: this is compiled once, and not with every operator and type of elements.
fn launch_any(
    config: &Launch,
    memory: &mut Memory,
    kernel: &dyn Fn(Lane<'_>),
    trace: Option<Vec<Event>>,
) -> Result<(Run, Vec<Event>), Fault> {
    let slots = config.slots()?;
    let (inputs, mut words) = mem::take(memory).split();
    for track in words.iter_mut().flat_map(|buffer| &mut buffer.tracks) {
        track.forget();
    }
    let machine = Machine {
        inputs,
        state: RefCell::new(State {
            blocks: Vec::new(),
            words,
            clusters: Clusters::of(config.cluster),
            fault: None,
        }),
        faulty: Cell::new(false),
        trace: trace.map(RefCell::new),
        threads: config.threads,
        blocks: config.blocks,
    };
    let result = Grid::new(&machine, kernel, slots).run(config);
    *memory = Memory::join(machine.inputs, machine.state.into_inner().words);
    let trace = machine.trace.map(RefCell::into_inner).unwrap_or_default();
    result.map(|run| (run, trace))
}

/// The lanes of the resident blocks.
struct Grid<'a> {
    machine: &'a Machine,
    kernel: &'a dyn Fn(Lane<'_>),
    slots: u32,
    /// By slot, then by thread. `None` once a lane has ended.
    lanes: Vec<Option<Coro>>,
    stacks: Lease,
}

impl<'a> Grid<'a> {
    fn new(machine: &'a Machine, kernel: &'a dyn Fn(Lane<'_>), slots: u32) -> Self {
        Self {
            machine,
            kernel,
            slots,
            lanes: Vec::new(),
            stacks: Lease::new(slots as usize * machine.threads as usize),
        }
    }

    fn run(mut self, config: &Launch) -> Result<Run, Fault> {
        let mut rng = Rng::new(config.seed);
        let mut waiting: Vec<u32> = (0..config.blocks / config.cluster).collect();
        for i in (1..waiting.len()).rev() {
            waiting.swap(i, rng.below(i + 1));
        }
        let mut schedule = Schedule::new(rng);
        let mut resident: Vec<usize> = (0..self.slots as usize).collect();
        for first in (0..self.slots).step_by(config.cluster as usize) {
            self.start_cluster(first as usize, config.cluster, waiting.pop())?;
        }

        let mut run = Run { steps: 0, schedule: 0 };
        while !resident.is_empty() {
            let pick = schedule.pick(&resident, &self.machine.state.borrow().blocks);
            let place = self.place(pick);
            if run.steps == config.step_limit {
                let (steps, last) = (run.steps, place.who);
                return Err(Fault::StepLimit { steps, last });
            }
            run.count(place.who);
            if !self.step(place)? {
                continue;
            }
            let block_ended = self.machine.state.borrow_mut().exit(place)?;
            if !block_ended {
                continue;
            }
            // The others of its cluster may still run; the next starts where all of one have ended.
            resident.retain(|&slot| slot != place.slot);
            let cluster = config.cluster as usize;
            let first = place.slot / cluster * cluster;
            let of_cluster = first..first + cluster;
            if !resident.iter().any(|slot| of_cluster.contains(slot))
                && self.start_cluster(first, config.cluster, waiting.pop())?
            {
                resident.extend(of_cluster);
                resident.sort_unstable();
            }
        }
        Ok(run)
    }

    fn place(&self, pick: Pick) -> Place {
        let Pick { slot, warp, lane } = pick;
        let who = Thread {
            block: self.machine.state.borrow().blocks[slot].number(),
            thread: warp * LANES + lane,
        };
        Place { who, slot }
    }

    fn index(&self, slot: usize, thread: u32) -> usize {
        slot * self.machine.threads as usize + thread as usize
    }

    /// Puts the blocks of a cluster, if there is one, where those of another have ended or none have been. Returns whether there is.
    fn start_cluster(&mut self, first: usize, blocks: u32, cluster: Option<u32>) -> Result<bool, Fault> {
        let Some(cluster) = cluster else { return Ok(false) };
        for rank in 0..blocks {
            self.start(first + rank as usize, cluster * blocks + rank)?;
        }
        Ok(true)
    }

    fn start(&mut self, slot: usize, number: u32) -> Result<(), Fault> {
        self.machine
            .state
            .borrow_mut()
            .place(slot, Block::new(number, self.machine.threads));
        for thread in 0..self.machine.threads {
            let place = Place {
                who: Thread { block: number, thread },
                slot,
            };
            let lane = self.lane(place)?;
            let index = self.index(slot, thread);
            if index == self.lanes.len() {
                self.lanes.push(Some(lane));
            } else {
                self.lanes[index] = Some(lane);
            }
        }
        Ok(())
    }

    fn lane(&mut self, place: Place) -> Result<Coro, Fault> {
        let stack = self.stacks.take().map_err(|error| Fault::NoStacks {
            lanes: self.slots as usize * self.machine.threads as usize,
            why: error.to_string(),
        })?;
        let (machine, kernel) = (self.machine, self.kernel);
        // SAFETY: what the closure borrows outlives `self` by 'a, and `self` drops every lane it made: `lanes` are
        // never forgotten, and `Drop` unwinds those that have not ended.
        let lane = unsafe {
            Coro::with_stack_unchecked(stack, move |yielder, ()| {
                let context = Context {
                    machine,
                    yielder,
                    place,
                    loads: Cell::new(0),
                    copies: RefCell::default(),
                };
                kernel(Lane::new(&context));
            })
        };
        Ok(lane)
    }

    /// Switches to a lane until it lets others run. Returns whether it ended.
    fn step(&mut self, place: Place) -> Result<bool, Fault> {
        let index = self.index(place.slot, place.who.thread);
        let lane = self.lanes[index].as_mut().expect("a runnable lane has not ended");
        let result = catch_unwind(AssertUnwindSafe(|| lane.resume(())));
        if self.machine.faulty.get() {
            let fault = self.machine.state.borrow_mut().fault.take();
            return Err(fault.expect("a faulty machine has a fault"));
        }
        match result {
            Ok(CoroutineResult::Yield(())) => Ok(false),
            Ok(CoroutineResult::Return(())) => {
                let ended = self.lanes[index].take().expect("it just ran");
                self.stacks.give_back(ended.into_stack());
                Ok(true)
            }
            Err(panic) => Err(Fault::Panicked {
                who: place.who,
                message: message(&*panic),
            }),
        }
    }
}

impl Drop for Grid<'_> {
    /// After a fault, lanes are still in the kernel: unwinds them, so that what the kernel holds is dropped.
    fn drop(&mut self) {
        for mut lane in self.lanes.drain(..).flatten() {
            lane.force_unwind();
            self.stacks.give_back(lane.into_stack());
        }
    }
}

impl Run {
    fn count(&mut self, who: Thread) {
        self.steps += 1;
        let who = u64::from(who.block) << 32 | u64::from(who.thread);
        self.schedule = (self.schedule.rotate_left(5) ^ who).wrapping_mul(0x517c_c1b7_2722_0a95);
    }
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no message".to_owned())
}
