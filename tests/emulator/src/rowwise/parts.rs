//! Rows that are split over several machines.

use warpfold_kernels::{
    element::{Element, Item as _, Type},
    kernels::{
        Launch as Passed, RowOperands,
        rowwise::{self, Mode},
    },
    monoids::Words as _,
    rowwise::{RmsNorm, RowElement, RowOp},
    stages::StateArray,
    tree::LANES,
};

use super::{BesideRows, Memory, RowShape, RowsOf, Run, in_order, read};
use crate::{
    fault::Fault,
    launch::{Launch, launch},
};

/// What came of the parts of rows.
#[derive(Clone, Debug, PartialEq)]
pub struct MappedParts {
    /// The words of each part's partial states.
    pub partials: Vec<Vec<u32>>,
    /// Those of the whole rows.
    pub combined: Vec<u32>,
    /// The bits of each part's answers, row after row.
    pub values: Vec<Vec<u32>>,
    /// What is known of each row, as each part has it.
    pub known: Vec<Vec<[u32; 4]>>,
}

/// Folds parts of rows, which follow one another, combines what is found, and maps each part, each in a shape of its own that is split. Answers are of type `U`.
///
/// # Errors
///
/// The first fault; also if an answer is left unwritten.
pub fn map_parts<T: RowElement, U: RowElement, O: RowOp>(
    op: O,
    parts: &[(RowsOf<'_, T>, RowShape)],
    beside: &BesideRows<'_, T, f32>,
    seed: u64,
) -> Result<MappedParts, Fault> {
    let whole: u64 = parts.iter().map(|(rows, _)| rows.len).sum();
    let count = parts.first().map_or(0, |(rows, _)| rows.count);
    let (mut before, mut runs, mut partials) = (0, vec![], vec![]);
    for (rows, shape) in parts {
        let mut run = Run::new::<T, U, f32, O>(*rows, beside, 0, *shape);
        run.passed.rows.before = before;
        run.passed.rows.others = whole - rows.len;
        before += rows.len;
        partials.push(if T::BYTES == 4 {
            run.fold_part::<u32, O>(op, T::TYPE, *shape, seed)?
        } else {
            run.fold_part::<u16, O>(op, T::TYPE, *shape, seed)?
        });
        runs.push((run, *shape));
    }
    let combined = combine(op, &partials, count, seed)?;
    let (mut values, mut known) = (vec![], vec![]);
    for (mut run, shape) in runs {
        if T::BYTES == 4 {
            run.map_part::<u32, O>(op, T::TYPE, shape, &combined, seed)?;
        } else {
            run.map_part::<u16, O>(op, T::TYPE, shape, &combined, seed)?;
        }
        values.push(if beside.maps {
            run.rows("answers", run.out, 0)?
        } else {
            vec![]
        });
        known.push(run.all_known(count as usize, 4)?);
    }
    Ok(MappedParts {
        partials,
        combined,
        values,
        known,
    })
}

/// What sums the words of targets.
const SUM: RmsNorm = RmsNorm {
    epsilon: 0.0,
    plus: 0.0,
};

impl Run {
    /// The words of a part's partial states.
    fn fold_part<E: Element, O: RowOp>(
        &mut self,
        op: O,
        element: Type,
        shape: RowShape,
        seed: u64,
    ) -> Result<Vec<u32>, Fault> {
        let count = self.passed.count as usize;
        let all = (O::State::COUNT + 1) * count;
        let partials = self.memory.words("partial states", all);
        let logits = partials.start().wrapping_add(O::State::COUNT * count);
        let nowhere = core::ptr::null_mut();
        let fold = Passed {
            rows: RowOperands {
                known: [logits, nowhere, nowhere, nowhere],
                ..self.passed.rows
            },
            ..self.passed.of_mode(Mode::Fold)
        };
        let config = Launch::new(shape.blocks, shape.warps * LANES, seed);
        self.go::<E, O>(op, element, shape.variant, fold, &config)?;
        let from = (self.states.start(), in_order::<O>(self.passed.tiles));
        states(
            &mut self.memory,
            op,
            from,
            self.passed.tiles,
            partials.start(),
            count,
            seed,
        )?;
        (0..all)
            .map(|at| read(&self.memory, "partial states", partials, at))
            .collect()
    }

    /// Maps a part.
    fn map_part<E: Element, O: RowOp>(
        &mut self,
        op: O,
        element: Type,
        shape: RowShape,
        combined: &[u32],
        seed: u64,
    ) -> Result<(), Fault> {
        let count = self.passed.count as usize;
        let of_rows = self.memory.words_from("states of whole rows", combined).start();
        let logits = of_rows.wrapping_add(O::State::COUNT * count);
        let to = self.passed.rows.known[0];
        states(&mut self.memory, SUM, (logits, [1, 1]), 1, to, count, seed)?;
        self.map::<E, O>(op, element, shape, (of_rows, 1), seed)
    }
}

/// What is found in all parts.
fn combine<O: RowOp>(op: O, partials: &[Vec<u32>], count: u64, seed: u64) -> Result<Vec<u32>, Fault> {
    let (parts, rows) = (partials.len() as u64, count as usize);
    let (words, pitch) = (O::State::COUNT, (O::State::COUNT + 1) * rows);
    let mut memory = Memory::new();
    let from = memory.words_from("gathered", &partials.concat()).start();
    let combined = memory.words("states of whole rows", pitch);
    let to = combined.start();
    let strided = [words as i64, pitch as i64];
    states(&mut memory, op, (from, strided), parts, to, rows, seed)?;
    let (logits, to) = (from.wrapping_add(words * rows), to.wrapping_add(words * rows));
    states(&mut memory, SUM, (logits, [1, pitch as i64]), parts, to, rows, seed)?;
    (0..pitch)
        .map(|at| read(&memory, "states of whole rows", combined, at))
        .collect()
}

/// Combines the states of each row.
fn states<O: RowOp>(
    memory: &mut Memory,
    op: O,
    from: (*mut u32, [i64; 2]),
    count: u64,
    to: *mut u32,
    rows: usize,
    seed: u64,
) -> Result<(), Fault> {
    // SAFETY: the buffers are as the kernel wants them, and the machine checks every access.
    let (states, to) = unsafe { (StateArray::new(from.0), StateArray::new(to)) };
    launch(&Launch::new(rows as u32, LANES, seed), memory, |lane| {
        rowwise::fold_states(lane, op, (states, from.1), count, to, rows as u64);
    })
    .map(drop)
}
