//! Lists of tensors on the emulator.

use warpfold_kernels::{
    kernels::{
        Array, Launch as Passed,
        gradients::{self, leaf_elements},
    },
    monoids::{TensorNorm, Words as _},
    stages::columns::Floats,
    tree::LANES,
};

use crate::{
    fault::Fault,
    launch::{Launch, launch},
    memory::{Memory, Words},
};

/// A tensor: its elements' bits, the first of which lies `misalign` elements past a 16-byte boundary.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TensorOf {
    /// What it is of.
    pub floats: Floats,
    /// The bits, of halves in the lower half.
    pub bits: Vec<u32>,
    /// Elements past a boundary.
    pub misalign: usize,
}

/// How a list of tensors is launched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TensorsShape {
    /// Leaves of a tile.
    pub leaves: u32,
    /// Warps of a block.
    pub warps: u32,
}

/// What is launched, put together.
struct Tensors {
    memory: Memory,
    launch: Passed,
    config: Launch,
}

impl Tensors {
    fn new(tensors: &[TensorOf], shape: TensorsShape, seed: u64) -> Self {
        let mut memory = Memory::new();
        let (mut table, mut tiles) = (vec![], 0);
        for tensor in tensors {
            let len = tensor.bits.len() as u64;
            let start = input(&mut memory, tensor);
            table.extend([start, len, tiles, tensor.floats as u64]);
            let leaves = len.div_ceil(leaf_elements(tensor.floats));
            tiles += leaves.div_ceil(shape.leaves.into()).max(1);
        }
        table.extend([0, 0, tiles, 0]);
        let table = memory.input("table", &table, 0);
        let launch = Passed {
            arrays: [table_at(table); 2],
            count: tensors.len() as u64,
            tiles,
            steps: shape.leaves.into(),
            len: tensors.iter().map(|tensor| tensor.bits.len() as u64).sum(),
            ..Passed::NOTHING
        };
        let blocks = tiles.div_ceil(shape.warps.into()).max(1) as u32;
        Self {
            memory,
            launch,
            config: Launch::new(blocks, shape.warps * LANES, seed),
        }
    }
}

/// Where a table lies.
fn table_at(table: *const u64) -> Array {
    Array {
        start: table.cast(),
        ..Array::NONE
    }
}

/// Registers a tensor: where it begins.
fn input(memory: &mut Memory, tensor: &TensorOf) -> u64 {
    let start = if tensor.floats.bytes() == 4 {
        memory.input("tensor", &tensor.bits, tensor.misalign).addr()
    } else {
        let halves: Vec<u16> = tensor.bits.iter().map(|bits| *bits as u16).collect();
        memory.input("tensor", &halves, tensor.misalign).addr()
    };
    start as u64
}

/// The norm of tensors and how many elements are not finite, by the kernel, on the schedule of `seed`: twice, for a launch leaves the tickets as the next one wants
/// them.
///
/// # Errors
///
/// The first fault; also if the answer is left unwritten.
///
/// # Panics
///
/// If the second launch answers otherwise.
pub fn grad_norm<N: TensorNorm>(
    norm: N,
    tensors: &[TensorOf],
    shape: TensorsShape,
    seed: u64,
) -> Result<(f32, u64), Fault> {
    let Tensors {
        mut memory,
        launch: passed,
        config,
    } = Tensors::new(tensors, shape, seed);
    let slots = (passed.tiles + passed.count) as usize;
    let state_words = <(N::State, u64)>::COUNT;
    let tickets = memory.words_from("tickets", &vec![0; slots]);
    let mut answers = vec![];
    for name in ["answer", "second answer"] {
        let answer = memory.words(name, 4);
        let passed = Passed {
            slots: memory.words("slots", slots * state_words).start(),
            tickets: tickets.start(),
            answer: answer.start().cast(),
            ..passed
        };
        // SAFETY: the buffers are as the kernel wants them, and the machine checks every access.
        let arguments = unsafe { passed.tensors_arguments() };
        launch(&config, &mut memory, |lane| {
            gradients::fold_tensors(lane, norm, arguments)
        })?;
        let words: Vec<u32> = (0..4)
            .map(|at| read(&memory, name, answer, at))
            .collect::<Result<_, _>>()?;
        answers.push((words[0], u64::from(words[2]) | u64::from(words[3]) << 32));
    }
    assert_eq!(answers[0], answers[1], "two launches");
    Ok((f32::from_bits(answers[0].0), answers[0].1))
}

/// What clipping makes of tensors by their norm, each written with `gap` elements that are none before it. Of one that is left as it is, nothing.
///
/// # Errors
///
/// The first fault; also if anything else is written, or one is written in part.
pub fn clip_tensors(
    tensors: &[TensorOf],
    [norm, max_norm]: [f32; 2],
    gap: usize,
    shape: TensorsShape,
    seed: u64,
) -> Result<Vec<Option<Vec<u32>>>, Fault> {
    let Tensors {
        mut memory,
        launch: passed,
        config,
    } = Tensors::new(tensors, shape, seed);
    let mut table = vec![];
    let outs: Vec<Words> = tensors
        .iter()
        .map(|tensor| {
            let out = memory.packed("clipped", gap + tensor.bits.len(), tensor.floats.bytes());
            let start = out.start().addr() + gap * tensor.floats.bytes();
            table.extend([start as u64, tensor.bits.len() as u64, 0, tensor.floats as u64]);
            out
        })
        .collect();
    let passed = Passed {
        arrays: [passed.arrays[0], table_at(memory.input("table of clipped", &table, 0))],
        answer: memory.words_from("answer", &[norm.to_bits(), 0, 0, 0]).start().cast(),
        numbers: [max_norm.to_bits().into(), 0],
        ..passed
    };
    // SAFETY: the buffers are as the kernel wants them, and the machine checks every access.
    let arguments = unsafe { passed.tensors_arguments() };
    launch(&config, &mut memory, |lane| gradients::clip_tensors(lane, arguments))?;
    outs.iter()
        .zip(tensors)
        .map(|(out, tensor)| {
            let len = tensor.bits.len();
            let written = (0..gap + len).filter(|at| memory.word(*out, *at).is_some()).count();
            if written == 0 {
                return Ok(None);
            }
            if let Some(at) = (0..gap).find(|at| memory.word(*out, *at).is_some()) {
                return Err(Fault::NoAnswer {
                    buffer: "before the tensor",
                    at,
                });
            }
            let words = (gap..gap + len).map(|at| read(&memory, "clipped", *out, at));
            words.collect::<Result<_, _>>().map(Some)
        })
        .collect()
}

fn read(memory: &Memory, buffer: &'static str, words: Words, at: usize) -> Result<u32, Fault> {
    memory.word(words, at).ok_or(Fault::NoAnswer { buffer, at })
}
