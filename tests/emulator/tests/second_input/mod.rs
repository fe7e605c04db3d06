//! What the tests of two arrays share: a kernel on the emulator, of an array with a second one beside it.

use std::ptr;

use warpfold::{
    Plan,
    layout::{Extents, Segments},
};
use warpfold_emulator::{Launch, Memory, launch};
use warpfold_kernels::{
    element::Element,
    kernels::{self, Arguments, Array, Kernel, rows, segments, strided, whole},
    monoids::{Monoid, Words},
    stages::load::{around::Around, mask::NO_MASK, source::Source},
    tree::vector_elements,
};

/// An answer's words, to be compared.
pub fn bits<W: Words>(value: W) -> Vec<u32> {
    (0..W::COUNT).map(|i| value.word(i)).collect()
}

/// Where the items of a launch are.
pub enum Of<'a> {
    Whole,
    Along(&'a [Extents; 2]),
    Segments(&'a Segments),
    /// Segments that lie apart.
    Apart(&'a Segments),
}

/// The words of each answer and of each state, which tell apart what answers of few digits do not.
pub struct Emulated {
    pub answers: Vec<Vec<u32>>,
    pub states: Vec<Vec<u32>>,
}

/// What the kernel that a plan names answers, the arrays' first elements being `misaligned` elements past a boundary of 16 bytes. A mask of
/// nothing is none: everything is selected.
pub fn emulated<I: Source, M: Monoid<I>, B: Element>(
    op: M,
    arrays: (&[I::Element], &[B]),
    plan: &Plan,
    of: &Of<'_>,
    misaligned: [usize; 2],
    seed: u64,
) -> Emulated {
    let mut memory = Memory::new();
    let first = memory.input("first", arrays.0, misaligned[0]);
    let second = memory.input("second", arrays.1, misaligned[1]);
    let bytes = [size_of_val(arrays.0), size_of_val(arrays.1)];
    let is_masked = !I::MASKED || !arrays.1.is_empty();
    let starts = [
        first,
        if is_masked {
            second.cast()
        } else {
            ptr::without_provenance(NO_MASK as usize)
        },
    ];
    let mut arrays_of = [0, 1].map(|array| Array {
        start: starts[array].cast(),
        stride: 0,
        step: 1,
        around: match starts[array].addr() {
            _ if array == 1 && !is_masked => Around(0, usize::MAX),
            start => Around(start, start + bytes[array]),
        },
    });
    let mut layout = ptr::null();
    let slots = memory.words("slots", plan.slots() * M::State::COUNT);
    let tickets = memory.words_from("tickets", &vec![0; plan.ticket_words()]);
    let count = plan.count as usize;
    let answer = memory.packed("answer", count * M::Answer::COUNT, M::Answer::UNIT);
    let state = memory.words("state", count * M::State::COUNT);
    match of {
        Of::Whole => {}
        Of::Along(along) => {
            for (array, along) in arrays_of.iter_mut().zip(&along[..]) {
                *array = Array {
                    stride: along.stride(),
                    step: along.stride_within(),
                    ..*array
                };
            }
            let starts = I::each(|array| arrays_of[array].start.cast());
            let starts = I::further(starts, I::each(|array| along[array].offset as isize));
            for (i, array) in arrays_of.iter_mut().take(I::ARRAYS).enumerate() {
                array.start = I::of(starts, i).cast();
            }
            if along[0].has_several() {
                layout = memory.input("layout", &Extents::dimensions_of(&along[..]), 0);
            }
        }
        Of::Segments(segments) => {
            arrays_of.iter_mut().for_each(|array| array.step = 0);
            layout = memory.input("offsets", segments.offsets(), 0);
        }
        Of::Apart(segments) => {
            let mut numbers = segments.offsets().to_vec();
            for segment in 0..segments.count() {
                let misalign = segment % vector_elements::<I>();
                let part = &arrays.0[elements(segments, segment)];
                numbers.push(memory.input("segment", part, misalign).addr() as u64);
            }
            for segment in 0..segments.count() {
                if !is_masked {
                    numbers.push(NO_MASK);
                    continue;
                }
                let misalign = (1 + segment) % vector_elements::<I>();
                let part = &arrays.1[elements(segments, segment)];
                numbers.push(memory.input("segment beside", part, misalign).addr() as u64);
            }
            layout = memory.input("offsets and addresses", &numbers, 0);
        }
    }
    let passed = kernels::Launch {
        arrays: arrays_of,
        layout,
        slots: slots.start(),
        tickets: tickets.start(),
        answer: answer.start().cast(),
        state: state.start(),
        ..plan.launch()
    };
    // SAFETY: the buffers are as the kernel wants them, and the emulator checks every access.
    let arguments: Arguments<I> = unsafe { passed.arguments() };
    let config = Launch::new(plan.shape.blocks, plan.threads(), seed).cluster(plan.cluster);
    let ran = launch(&config, &mut memory, |lane| {
        // Not any of `kernels::run`, which would all be compiled for each operator.
        match plan.entry.kernel {
            Kernel::All => whole::reduce_all(lane, op, arguments),
            Kernel::Small => whole::reduce_small(lane, op, arguments),
            Kernel::Rows => rows::reduce_rows(lane, op, arguments),
            Kernel::Strided => strided::reduce_strided(lane, op, arguments),
            Kernel::Segments => segments::reduce_segments(lane, op, arguments),
            Kernel::Row(_) | Kernel::Own => panic!("no operator has it"),
        }
    });
    if let Err(fault) = ran {
        panic!("{plan}, misaligned by {misaligned:?}, seed {seed}: {fault}");
    }
    let each = |buffer, words: usize| {
        let word = |at| {
            memory
                .word(buffer, at)
                .expect("every answer and every state is written")
        };
        (0..count)
            .map(|i| (0..words).map(|at| word(i * words + at)).collect())
            .collect()
    };
    let packed: Vec<Vec<u32>> = each(answer, M::Answer::COUNT);
    Emulated {
        // A byte or two of a number below zero are not its word.
        answers: packed
            .into_iter()
            .map(|words| bits(M::Answer::from_words(|at| words[at])))
            .collect(),
        states: each(state, M::State::COUNT),
    }
}

/// The elements of a segment.
fn elements(segments: &Segments, segment: usize) -> std::ops::Range<usize> {
    let elements = segments.get(segment);
    elements.start as usize..elements.end as usize
}
