//! The rungs of the ladder on the emulator.

pub mod planted;

use warpfold_kernels::ladder::{
    RowKernel, Rung, Step, SumKernel,
    rows::RowsLaunch,
    sum::{SumLaunch, SumView},
};

use crate::{
    fault::Fault,
    lane::Lane,
    launch::{Launch, Run, launch, launch_traced},
    memory::{Memory, Words},
    trace::Event,
};

/// Multiprocessors of the machine that grids are made for: few, so that a small array has several tiles for each block.
pub const MULTIPROCESSORS: u32 = 2;

/// What a rung came to.
#[derive(Clone, Debug)]
pub struct Climbed<A> {
    /// Its answer.
    pub answer: A,
    /// Its launches.
    pub runs: Vec<Run>,
    /// What their lanes did, if that was asked for.
    pub events: Vec<Event>,
    /// Where the events of each launch end.
    ends: Vec<usize>,
}

impl<A> Climbed<A> {
    /// What lanes did in each launch.
    pub fn launches(&self) -> impl Iterator<Item = &[Event]> {
        let begins = [0].into_iter().chain(self.ends.iter().copied());
        begins.zip(&self.ends).map(|(begin, end)| &self.events[begin..*end])
    }
}

/// How a rung is run.
#[derive(Clone, Copy, Debug)]
pub struct Climb {
    /// Elements of each thread, of the coarsened rung; the stage after which the kernel of stages stops.
    pub factor: u64,
    /// The schedule.
    pub seed: u64,
    /// Whether to keep what lanes do.
    pub traced: bool,
}

impl Climb {
    /// Of 4 elements a thread, on the schedule of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let (factor, traced) = (4, false);
        Self { factor, seed, traced }
    }

    fn launch(
        self,
        config: Launch,
        memory: &mut Memory,
        kernel: impl Fn(Lane<'_>),
    ) -> Result<(Run, Vec<Event>), Fault> {
        if self.traced {
            launch_traced(&config, memory, kernel)
        } else {
            launch(&config, memory, kernel).map(|run| (run, vec![]))
        }
    }
}

/// Sums `values` by a rung.
///
/// # Errors
///
/// The first fault; a counter that is left at another value than zero, and an answer that was not written, are some.
///
/// # Panics
///
/// If there are more elements than the rung takes.
pub fn sum(rung: &Rung<SumKernel>, values: &[f32], climb: Climb) -> Result<Climbed<f32>, Fault> {
    assert!(
        rung.most.is_none_or(|most| values.len() as u64 <= most),
        "{} takes fewer",
        rung.name
    );
    sum_in_steps(rung, rung.steps, values, climb)
}

/// The same by other launches of its kernels, for which the elements are not too many.
///
/// # Errors
///
/// As [`sum`].
pub fn sum_in_steps(
    rung: &Rung<SumKernel>,
    steps: &[Step<SumKernel>],
    values: &[f32],
    climb: Climb,
) -> Result<Climbed<f32>, Fault> {
    sum_by(steps, rung.in_place, values, climb, |kernel, lane, launch| {
        kernel.run(lane, launch);
    })
}

/// The same by any kernels that take such a launch, `in_place` if they overwrite the elements.
///
/// # Errors
///
/// As [`sum`].
pub fn sum_by<K: Copy>(
    steps: &[Step<K>],
    in_place: bool,
    values: &[f32],
    climb: Climb,
    run: impl Fn(K, Lane<'_>, SumView),
) -> Result<Climbed<f32>, Fault> {
    let len = values.len() as u64;
    let blocks = |step: &Step<K>| step.grid.blocks(step.threads, len, climb.factor, MULTIPROCESSORS) as u32;
    let mut memory = Memory::new();
    let input = memory.input("input", values, 0);
    // Elements to overwrite, and slots: what a kernel has no use for, it leaves alone.
    let bits: Vec<u32> = values.iter().map(|value| value.to_bits()).collect();
    let work = memory.words_from("work", &bits);
    let slots = memory.words("slots", blocks(&steps[0]) as usize);
    let out = memory.words_from("out", &[0]);
    let counter = memory.words_from("counter", &[0]);

    let (mut runs, mut events, mut ends) = (vec![], vec![], vec![]);
    for (i, step) in steps.iter().enumerate() {
        let passed = SumLaunch {
            input: if i == 0 {
                input
            } else {
                slots.start().cast_const().cast()
            },
            work: if in_place {
                work.start().cast()
            } else {
                slots.start().cast()
            },
            out: out.start().cast(),
            counter: counter.start(),
            len: if i == 0 { len } else { u64::from(blocks(&steps[0])) },
            factor: climb.factor,
        };
        // SAFETY: the buffers are as the kernels want them, and the machine checks every access.
        let view = unsafe { passed.view() };
        let config = Launch::new(blocks(step), step.threads, climb.seed);
        let (ran, did) = climb.launch(config, &mut memory, |lane| run(step.kernel, lane, view))?;
        runs.push(ran);
        events.extend(did);
        ends.push(events.len());
    }
    match memory.word(counter, 0) {
        Some(0) => {}
        count => {
            let (buffer, count) = ("counter", count.unwrap_or_default());
            return Err(Fault::CounterLeft { buffer, count });
        }
    }
    let answer = f32::from_bits(memory.word(out, 0).unwrap_or_default());
    Ok(Climbed {
        answer,
        runs,
        events,
        ends,
    })
}

/// What rows are mapped with.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// The elements, row by row.
    pub values: &'a [f32],
    /// Elements of a row.
    pub columns: usize,
    /// Whether row `r` sees its first `r % columns + 1` elements alone.
    pub causal: bool,
    /// A factor for each column; for layer norm.
    pub weight: &'a [f32],
    /// An addend for each column; for layer norm.
    pub bias: &'a [f32],
    /// What is added to a variance.
    pub epsilon: f32,
}

/// Maps rows by a rung.
///
/// # Errors
///
/// The first fault; an answer that was not written is one.
pub fn rows(rung: &Rung<RowKernel>, rows: &Rows<'_>, climb: Climb) -> Result<Climbed<Vec<f32>>, Fault> {
    let count = rows.values.len() / rows.columns.max(1);
    let mut memory = Memory::new();
    let out = memory.words("out", rows.values.len());
    let passed = RowsLaunch {
        input: memory.input("input", rows.values, 0),
        out: out.start().cast(),
        weight: memory.input("weight", rows.weight, 0),
        bias: memory.input("bias", rows.bias, 0),
        states: memory.words("states", 2 * count).start().cast(),
        rows: count as u64,
        columns: rows.columns as u64,
        causal: rows.causal.into(),
        epsilon: rows.epsilon.to_bits().into(),
    };
    // SAFETY: the buffers are as the kernels want them, and the machine checks every access.
    let view = unsafe { passed.view() };
    let (mut runs, mut events, mut ends) = (vec![], vec![], vec![]);
    for step in rung.steps {
        let blocks = step.grid.blocks(step.threads, count as u64, 1, MULTIPROCESSORS) as u32;
        let config = Launch::new(blocks, step.threads, climb.seed);
        let (ran, did) = climb.launch(config, &mut memory, |lane| {
            step.kernel.run(lane, view);
        })?;
        runs.push(ran);
        events.extend(did);
        ends.push(events.len());
    }
    let answer = answers(&memory, out, rows.values.len())?;
    Ok(Climbed {
        answer,
        runs,
        events,
        ends,
    })
}

fn answers(memory: &Memory, out: Words, count: usize) -> Result<Vec<f32>, Fault> {
    let answer = |at| {
        let word = memory.word(out, at).ok_or(Fault::NoAnswer { buffer: "out", at })?;
        Ok(f32::from_bits(word))
    };
    (0..count).map(answer).collect()
}
