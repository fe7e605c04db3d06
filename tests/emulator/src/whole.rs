//! The whole-array kernel on the emulator.

use warpfold_kernels::{
    element::{Element, Type},
    kernels::{self, Arguments, Array, SMALL_TILES, whole},
    monoids::{Monoid, Words as _},
    stages::{
        load::around::Around,
        strategy::{Strategy, most_states},
    },
    tree::LANES,
};

use crate::{
    fault::Fault,
    lane::Lane,
    launch::{Launch, Run, launch, launch_traced},
    memory::{Memory, Words},
    trace::Event,
};

/// How [`reduce_all`] is launched. None of it changes a bit of the answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Threads in a block: 32 · 2ᵏ, at most 1024.
    pub threads: u32,
    /// Leaves of the canonical tree that a warp folds for one tile: a power of two, at most as many as [`Strategy::most_leaves`] has it.
    pub leaves_per_warp: u32,
    /// Blocks in the grid, launched as they are, be there more or fewer than tiles.
    pub blocks: u32,
}

impl Shape {
    /// Tiles that an input of `len` elements of a type has: none if it is empty.
    #[must_use]
    pub fn tiles(self, element: Type, len: u64) -> u64 {
        let warps = self.threads / LANES;
        len.div_ceil(whole::tile_elements(element, warps, self.leaves_per_warp))
    }

    fn launch(self, seed: u64) -> Launch {
        Launch::new(self.blocks, self.threads, seed)
    }
}

/// What a whole-array fold came to.
#[derive(Clone, Copy, Debug)]
pub struct Folded<A, S> {
    /// The finished answer.
    pub answer: A,
    /// The unfinished state.
    pub state: S,
    /// The launch.
    pub run: Run,
}

/// Folds `values`, the first of which lies `misalign` elements (0 to 3) past a 16-byte boundary, with the kernel
/// `whole::reduce_all` on the schedule of `seed`.
///
/// # Errors
///
/// The first fault; also if the kernel leaves its counter at another value than zero or an output unwritten.
///
/// # Panics
///
/// If `misalign` is 4 or more, or if `shape` is none that the kernel allows.
pub fn reduce_all<T: Element, M: Monoid<T>>(
    op: M,
    values: &[T],
    misalign: usize,
    shape: Shape,
    seed: u64,
) -> Result<Folded<M::Answer, M::State>, Fault> {
    let powers = shape.threads.is_power_of_two() && shape.leaves_per_warp.is_power_of_two();
    let warps = shape.threads / LANES;
    assert!(
        powers
            && warps <= most_states(M::State::COUNT)
            && shape.leaves_per_warp <= Strategy::of::<T, M>().most_leaves(warps),
        "{shape:?} is none that the kernel allows"
    );
    fold::<T, M>(values, misalign, shape, seed, |lane, arguments| {
        whole::reduce_all(lane, op, arguments)
    })
}

/// The same with the kernel `whole::reduce_small`, in blocks of `threads`.
///
/// # Errors
///
/// As [`reduce_all`].
///
/// # Panics
///
/// If `misalign` is 4 or more, if `threads` is no power of two, or if there are more tiles than the kernel allows.
pub fn reduce_small<T: Element, M: Monoid<T>>(
    op: M,
    values: &[T],
    misalign: usize,
    threads: u32,
    seed: u64,
) -> Result<Folded<M::Answer, M::State>, Fault> {
    let shape = shape_of_small::<T>(values.len(), threads);
    fold::<T, M>(values, misalign, shape, seed, |lane, arguments| {
        whole::reduce_small(lane, op, arguments);
    })
}

/// The shape of a launch of `whole::reduce_small` in blocks of `threads`: a block for each tile.
///
/// # Panics
///
/// As [`reduce_small`].
pub(crate) fn shape_of_small<T: Element>(len: usize, threads: u32) -> Shape {
    let mut shape = Shape {
        threads,
        leaves_per_warp: 1,
        blocks: 1,
    };
    let tiles = shape.tiles(T::TYPE, len as u64);
    assert!(
        threads.is_power_of_two() && tiles <= SMALL_TILES,
        "{tiles} tiles of {threads} threads are none that the kernel allows"
    );
    shape.blocks = tiles.max(1) as u32;
    shape
}

/// Launches `kernel` with the buffers of a whole-array fold, and reads what it wrote. One kernel, and not any of `kernels::run`:
/// whoever folds with every operator of every type would have them all compiled for each.
fn fold<T: Element, M: Monoid<T>>(
    values: &[T],
    misalign: usize,
    shape: Shape,
    seed: u64,
    kernel: impl Fn(Lane<'_>, Arguments<T>),
) -> Result<Folded<M::Answer, M::State>, Fault> {
    fold_by::<T, M, _>(values, misalign, shape, kernel, |memory, kernel| {
        launch(&shape.launch(seed), memory, kernel).map(|run| (run, ()))
    })
    .map(|(folded, ())| folded)
}

/// A fold, and what its launch gives beside it.
type With<T, M, Beside> = (Folded<<M as Monoid<T>>::Answer, <M as Monoid<T>>::State>, Beside);

/// The same of an aligned input, and what lanes did.
pub(crate) fn fold_traced<T: Element, M: Monoid<T>>(
    values: &[T],
    shape: Shape,
    seed: u64,
    kernel: impl Fn(Lane<'_>, Arguments<T>),
) -> Result<With<T, M, Vec<Event>>, Fault> {
    fold_by::<T, M, _>(values, 0, shape, kernel, |memory, kernel| {
        launch_traced(&shape.launch(seed), memory, kernel)
    })
}

/// The same by a way to launch, and what that gives beside the run.
fn fold_by<T: Element, M: Monoid<T>, Beside>(
    values: &[T],
    misalign: usize,
    shape: Shape,
    kernel: impl Fn(Lane<'_>, Arguments<T>),
    launch: impl FnOnce(&mut Memory, &dyn Fn(Lane<'_>)) -> Result<(Run, Beside), Fault>,
) -> Result<With<T, M, Beside>, Fault> {
    let len = values.len() as u64;
    let tiles = shape.tiles(T::TYPE, len);

    let mut memory = Memory::new();
    let start = memory.input("input", values, misalign);
    let slots = memory.words("slots", tiles as usize * M::State::COUNT);
    let tickets = memory.words_from("tickets", &[0]);
    let answer = memory.packed("answer", M::Answer::COUNT, M::Answer::UNIT);
    let state = memory.words("state", M::State::COUNT);

    let array = Array {
        start: start.cast(),
        stride: 0,
        step: 1,
        around: Around(start.addr(), start.addr() + size_of_val(values)),
    };
    let passed = kernels::Launch {
        arrays: [array, Array::NONE],
        len,
        count: 1,
        slots: slots.start(),
        tiles,
        tickets: tickets.start(),
        answer: answer.start().cast(),
        state: state.start(),
        blocks: shape.blocks.into(),
        steps: shape.leaves_per_warp.into(),
        ..kernels::Launch::NOTHING
    };
    // SAFETY: the buffers are as the kernel wants them, and the emulator checks every access.
    let arguments: Arguments<T> = unsafe { passed.arguments() };
    let (run, beside) = launch(&mut memory, &|lane| kernel(lane, arguments))?;

    match memory.word(tickets, 0) {
        Some(0) => {}
        count => {
            let (buffer, count) = ("tickets", count.unwrap_or_default());
            return Err(Fault::CounterLeft { buffer, count });
        }
    }
    let folded = Folded {
        answer: read(&memory, "answer", answer)?,
        state: read(&memory, "state", state)?,
        run,
    };
    Ok((folded, beside))
}

/// The value that a launch wrote to the start of `words`.
fn read<W: warpfold_kernels::monoids::Words>(memory: &Memory, buffer: &'static str, words: Words) -> Result<W, Fault> {
    if let Some(at) = (0..W::COUNT).find(|&at| memory.word(words, at).is_none()) {
        return Err(Fault::NoAnswer { buffer, at });
    }
    Ok(W::from_words(|at| memory.word(words, at).unwrap_or_default()))
}
