//! The ways to an answer that need no GPU, asked alike.

use std::ops::Range;

use warpfold::{
    Error, Plan, cpu, layout,
    ops::{OpFacts, Reduction},
    pieces::Pieces,
    plan::Shape,
};
use warpfold_emulator::{Lane, Launch, Memory, launch};
use warpfold_kernels::{
    element::Element,
    kernels::{self, Arguments, Array, Kernel, run, segments, whole},
    monoids::{Monoid, Words},
    stages::{load::around::Around, strategy::Strategy},
    tree::vector_elements,
};

use crate::Bits;

/// The CPU's answer; `None` where the operator has none over nothing.
///
/// # Panics
///
/// On any other error.
pub fn cpu<T: Element, R: Reduction<T>>(op: R, values: &[T]) -> Option<Bits> {
    answer(cpu::reduce(op, values))
}

/// The answer of a result; `None` where the operator has none over nothing.
///
/// # Panics
///
/// On any other error.
pub fn answer<A: Words>(result: Result<A, Error>) -> Option<Bits> {
    match result {
        Ok(answer) => Some(Bits::of(answer)),
        Err(Error::EmptyExtent { .. }) => None,
        Err(error) => panic!("{error}"),
    }
}

/// The CPU's answer by way of pieces of `piece` elements.
///
/// # Panics
///
/// On any error but that of an empty extent.
pub fn pieces<T: Element, R: Reduction<T>>(op: R, values: &[T], piece: usize) -> Option<Bits> {
    let mut pieces = Pieces::<R, T>::new(op, piece as u64).expect("a subtree of the canonical tree");
    for piece in values.chunks(piece) {
        pieces
            .push(cpu::fold(op, piece), piece.len() as u64)
            .expect("pieces in order");
    }
    answer(pieces.finish().map(|(answer, _)| answer))
}

/// The shape, with as many leaves for each warp as a tile has room for: states of many words have less.
#[must_use]
pub fn fit<T: Element, R: Reduction<T>>(_: R, shape: Shape) -> Shape {
    let most = Strategy::of::<T, R::Monoid>().most_leaves(shape.warps);
    Shape {
        leaves_per_warp: shape.leaves_per_warp.min(most),
        ..shape
    }
}

/// Every plan of `op` over `len` elements that has the warps, leaves and blocks of `shape`, as far as its kernel leaves it
/// the choice: the whole-array kernel, and the small one where it takes that many elements.
///
/// # Panics
///
/// If `shape` is none that the whole-array kernel takes.
pub fn plans<T: Element, R: Reduction<T>>(op: R, len: u64, shape: Shape) -> Vec<Plan> {
    let shape = fit::<T, R>(op, shape);
    let all = Plan::with_shape(op.entry(), len, shape).expect("a legal shape");
    let small = op.entry().with(Kernel::Small).and_then(|small| {
        let tiles = len.div_ceil(whole::tile_elements(T::TYPE, shape.warps, 1));
        let shape = Shape {
            leaves_per_warp: 1,
            blocks: tiles.max(1).try_into().ok()?,
            ..shape
        };
        Plan::with_shape(small, len, shape).ok()
    });
    [Some(all), small].into_iter().flatten().collect()
}

/// What the kernel of a plan wrote on the emulator.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Emulated {
    /// The finished answer.
    pub answer: Bits,
    /// The unfinished state.
    pub state: Bits,
}

/// Runs the kernel that `plan` names as the plan has it, on `values` that lie `misalign` elements past a 16-byte
/// boundary, on the schedule of `seed`. `None` where the operator has no answer over nothing: the host does not launch
/// then.
///
/// # Panics
///
/// On a fault; if the tickets are left at another value than zero, an output unwritten, or a slot past the workspace that
/// the plan asks for.
pub fn emulator<T: Element, R: Reduction<T>>(
    op: R,
    values: &[T],
    plan: &Plan,
    misalign: usize,
    seed: u64,
) -> Option<Emulated> {
    OpFacts::of::<T, R>(op).check_extent(plan.len).ok()?;
    let monoid = op.monoid();
    // Not any of `kernels::run`, which would all be compiled for each operator.
    let (answers, states) = emulate::<T, R::Monoid>(values, plan, misalign, seed, Of::Whole, |lane, arguments| {
        match plan.entry.kernel {
            Kernel::All => whole::reduce_all(lane, monoid, arguments),
            Kernel::Small => whole::reduce_small(lane, monoid, arguments),
            Kernel::Rows | Kernel::Strided | Kernel::Segments | Kernel::Row(_) | Kernel::Own => {
                panic!("{plan} is of no whole array")
            }
        }
    });
    Some(Emulated {
        answer: Bits::of(answers[0]),
        state: Bits::of_state(op, states[0]),
    })
}

/// The same along axes: an answer for each extent, in order, and its state.
///
/// # Panics
///
/// As [`emulator`].
pub fn emulator_along<T: Element, M: Monoid<T>>(
    op: M,
    values: &[T],
    plan: &Plan,
    extents: &layout::Extents,
    misalign: usize,
    seed: u64,
) -> (Vec<M::Answer>, Vec<M::State>) {
    emulate::<T, M>(values, plan, misalign, seed, Of::Extents(extents), |lane, arguments| {
        run(lane, op, plan.entry.kernel, arguments)
    })
}

/// The same in segments; where they are to lie `apart` each is copied to a place of its own.
///
/// # Panics
///
/// As [`emulator`].
pub fn emulator_segments<T: Element, M: Monoid<T>>(
    op: M,
    values: &[T],
    plan: &Plan,
    segments: &layout::Segments,
    apart: bool,
    seed: u64,
) -> (Vec<M::Answer>, Vec<M::State>) {
    let of = if apart {
        Of::Apart(segments)
    } else {
        Of::Segments(segments)
    };
    let misalign = seed as usize % vector_elements::<T>();
    emulate::<T, M>(values, plan, misalign, seed, of, |lane, arguments| {
        segments::reduce_segments(lane, op, arguments)
    })
}

/// A plan of segments with tiles of so many leaves, two warps to a block.
#[must_use]
pub fn in_tiles(mut plan: Plan, leaves: u32) -> Plan {
    let ty = plan.entry.element;
    let range = ty.leaf_elements() * u64::from(leaves);
    plan.shape.leaves_per_warp = leaves;
    plan.shape.warps = 2;
    plan.shape.blocks = segments::places(ty, plan.len, plan.count).div_ceil(2 * range).max(1) as u32;
    plan.tiles = plan.len / range;
    plan
}

/// What is folded.
#[derive(Clone, Copy)]
enum Of<'a> {
    Whole,
    Extents(&'a layout::Extents),
    Segments(&'a layout::Segments),
    /// Segments that lie apart.
    Apart(&'a layout::Segments),
}

/// The answers and the states that the kernel of a plan writes.
fn emulate<T: Element, M: Monoid<T>>(
    values: &[T],
    plan: &Plan,
    misalign: usize,
    seed: u64,
    of: Of<'_>,
    kernel: impl Fn(Lane<'_>, Arguments<T>),
) -> (Vec<M::Answer>, Vec<M::State>) {
    let mut memory = Memory::new();
    let start = memory.input("input", values, misalign);
    let slots = memory.words("slots", plan.slots() * M::State::COUNT);
    let tickets = memory.words_from("tickets", &vec![0; plan.ticket_words()]);
    let count = plan.count as usize;
    let answer = memory.packed("answer", count * M::Answer::COUNT, M::Answer::UNIT);
    let state = memory.words("state", count * M::State::COUNT);

    let mut array = Array {
        start: start.cast(),
        stride: 0,
        step: 1,
        around: Around(start.addr(), start.addr() + size_of_val(values)),
    };
    let mut layout = std::ptr::null();
    match of {
        Of::Whole => {}
        Of::Extents(along) => {
            array = Array {
                start: start.wrapping_add(along.offset as usize).cast(),
                stride: along.stride(),
                step: along.stride_within(),
                ..array
            };
            if along.has_several() {
                layout = memory.input("layout", &along.dimensions(), 0);
            }
        }
        Of::Segments(segments) => {
            array.step = 0;
            layout = memory.input("offsets", segments.offsets(), 0);
        }
        Of::Apart(segments) => {
            let copy = |i: usize| {
                let Range { start, end } = segments.get(i);
                let misalign = (misalign + i) % vector_elements::<T>();
                memory
                    .input("segment", &values[start as usize..end as usize], misalign)
                    .addr() as u64
            };
            let addresses: Vec<u64> = (0..segments.count()).map(copy).collect();
            let numbers = [segments.offsets(), &addresses].concat();
            layout = memory.input("offsets and addresses", &numbers, 0);
        }
    }
    let passed = kernels::Launch {
        arrays: [array, Array::NONE],
        layout,
        slots: slots.start(),
        tickets: tickets.start(),
        answer: answer.start().cast(),
        state: state.start(),
        ..plan.launch()
    };
    // SAFETY: the buffers are as the kernel wants them, and the emulator checks every access.
    let arguments: Arguments<T> = unsafe { passed.arguments() };
    let mut config = Launch::new(plan.shape.blocks, plan.threads(), seed).cluster(plan.cluster);
    if seed.is_multiple_of(4) {
        // A grid that does not fit on the device at once.
        config = config.resident(1 + (seed / 4 % 3) as u32);
    }
    let ran = launch(&config, &mut memory, |lane| kernel(lane, arguments));
    let what = || format!("{plan}, misaligned by {misalign}, seed {seed}");
    if let Err(fault) = ran {
        panic!("{}: {fault}", what());
    }
    for ticket in 0..plan.ticket_words() {
        assert_eq!(memory.word(tickets, ticket), Some(0), "{}: the tickets", what());
    }
    let read = |words, at| {
        memory
            .word(words, at)
            .unwrap_or_else(|| panic!("{}: unwritten", what()))
    };
    let answer = |i| M::Answer::from_words(|at| read(answer, i * M::Answer::COUNT + at));
    let state = |i| M::State::from_words(|at| read(state, i * M::State::COUNT + at));
    ((0..count).map(answer).collect(), (0..count).map(state).collect())
}
