//! Row operations on the emulator.

mod doubles;
mod parts;
mod states;

pub use doubles::{DoubleRows, map_doubles};
pub use parts::{MappedParts, map_parts};
pub use states::fold_states;

use states::in_order;

use warpfold_kernels::{
    element::{Element, Item},
    kernels::{
        Array, Launch as Passed, RowOperands,
        rowwise::RowVariant,
        rowwise::{self, Added, Any, CHUNK, Mode, Plain, RowArguments, RowFlags, RowParams, Second},
    },
    monoids::Words as _,
    rowwise::{NormGradient, RowElement, RowOp, Value as _, leaf_elements},
    stages::{
        StateArray,
        columns::{Floats, Shares},
        load::around::Around,
        reduce::leaf::{MOST_STATES, lanes_of},
    },
    tree::LANES,
};

use crate::{
    fault::Fault,
    lane::Lane,
    launch::{Launch, launch},
    memory::{Memory, Words},
};

/// Rows in memory: `count` of `len` elements, the first of which lies `misalign` elements past a 16-byte boundary.
#[derive(Clone, Copy, Debug)]
pub struct RowsOf<'a, T> {
    /// The array.
    pub values: &'a [T],
    /// Elements of a row.
    pub len: u64,
    /// Rows.
    pub count: u64,
    /// From a row to the next, in elements.
    pub stride: i64,
    /// The first element of the first row.
    pub first: usize,
    /// Elements that the array begins past a 16-byte boundary.
    pub misalign: usize,
    /// Of row `r` the first `r mod period + shown` elements are seen; all without.
    pub causal: Option<(u64, i64)>,
    /// Where rows lie along several dimensions, those of both arrays, as the host's `Extents::dimensions_of` has them.
    pub layout: Option<&'a [u64]>,
}

/// What is read beside rows.
#[derive(Clone, Copy, Debug)]
pub struct BesideRows<'a, T, W> {
    /// Weights and biases.
    pub columns: [Option<&'a [W]>; 2],
    /// Whose they are.
    pub shares: Shares,
    /// Another array, which lies as the rows do but for the stride; and what it is.
    pub other: Option<(Second, &'a [T], i64)>,
    /// A mask, likewise.
    pub mask: Option<(&'a [u8], i64)>,
    /// What elements are multiplied by before others are added.
    pub factor: f32,
    /// The targets, and which is none.
    pub targets: Option<(&'a [i64], i64)>,
    /// What is given of rows.
    pub given: Option<[&'a [f32]; 2]>,
    /// Whether there are answers.
    pub maps: bool,
}

impl<T, W> Default for BesideRows<'_, T, W> {
    fn default() -> Self {
        Self {
            columns: [None; 2],
            shares: Shares::NONE,
            other: None,
            mask: None,
            factor: 1.0,
            targets: None,
            given: None,
            maps: true,
        }
    }
}

/// How rows are folded and mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowShape {
    /// The kernel.
    pub variant: RowVariant,
    /// Warps of a block.
    pub warps: u32,
    /// Blocks that have a row together.
    pub blocks_of_row: u32,
    /// Blocks of a launch.
    pub blocks: u32,
    /// Leaves that a warp folds, where they are folded alone; else 0.
    pub run: u32,
    /// Whether one launch folds, and another maps.
    pub is_split: bool,
}

/// What came of it: the bits of each answer, of sums with a residual, and of what else is known of each row.
#[derive(Clone, Debug, PartialEq)]
pub struct MappedRows {
    /// Row after row.
    pub values: Vec<u32>,
    /// Likewise.
    pub sums: Vec<u32>,
    /// Of each row; zeros where an operation knows nothing, and in place of what plain launches may not ask for.
    pub known: Vec<[u32; 4]>,
}

/// A run of the kernels: where everything lies.
struct Run {
    memory: Memory,
    passed: Passed,
    out: Words,
    sums: Words,
    known: Words,
    states: Words,
    /// Elements from a row of answers to the next.
    pitch: usize,
}

impl Run {
    fn new<T: RowElement, U: RowElement, W: RowElement, O: RowOp>(
        rows: RowsOf<'_, T>,
        beside: &BesideRows<'_, T, W>,
        gap: usize,
        shape: RowShape,
    ) -> Self {
        let mut memory = Memory::new();
        let start: *const u8 = memory.input("rows", rows.values, rows.misalign).cast();
        let (len, count) = (rows.len as usize, rows.count as usize);
        let pitch = len + gap;
        let out = memory.packed("answers", pitch * count, U::UNIT);
        let sums = memory.packed("sums", pitch * count, T::UNIT);
        let known = memory.words("known", 4 * count);
        let leaves = rows
            .len
            .div_ceil(leaf_elements(T::TYPE.bytes(), O::Value::ARRAYS) as u64)
            .max(1);
        let states = memory.words("states", (leaves * rows.count) as usize * O::State::COUNT);
        let mut weigh = |name, floats: Option<&[W]>, misalign| {
            floats.map_or(core::ptr::null(), |floats| memory.input(name, floats, misalign).cast())
        };
        let columns = [
            weigh("weights", beside.columns[0], 0),
            weigh("biases", beside.columns[1], gap % 2),
        ];
        let array = |start: *const u8, bytes: usize, stride: i64, values: usize| Array {
            start: if start.is_null() {
                start
            } else {
                start.wrapping_add(bytes * rows.first)
            },
            stride,
            step: 1,
            around: Around(start.addr(), start.wrapping_add(bytes * values).addr()),
        };
        let bytes = T::TYPE.bytes();
        let (second, other) = match (beside.other, beside.mask) {
            (Some((second, values, stride)), _) => {
                let start: *const u8 = memory.input("other", values, rows.misalign).cast();
                (second, array(start, bytes, stride, values.len()))
            }
            (None, Some((mask, stride))) => {
                let start: *const u8 = memory.input("mask", mask, rows.misalign).cast();
                (Second::Mask, array(start, 1, stride, mask.len()))
            }
            (None, None) => (Second::Nothing, array(core::ptr::null(), bytes, 0, 0)),
        };
        let targets = beside.targets.map_or(core::ptr::null(), |(targets, _)| {
            memory.input("targets", targets, 0).cast()
        });
        let all_known = [0, 1, 2, 3].map(|i| known.start().wrapping_add(i * count));
        let known_at = match beside.given {
            None if shape.variant.is_plain() => {
                let mut known = all_known;
                known[O::PLAIN_KNOWS..].fill(core::ptr::null_mut());
                known
            }
            None => all_known,
            Some(given) => {
                let [first, second] = given.map(|given| match given {
                    [] => core::ptr::null_mut(),
                    given => memory.input("given", given, 0).cast::<u32>().cast_mut(),
                });
                [first, second, core::ptr::null_mut(), core::ptr::null_mut()]
            }
        };
        let layout_at = rows
            .layout
            .map_or(core::ptr::null(), |layout| memory.input("layout", layout, 0).cast());
        let (period, shown) = rows.causal.unwrap_or((0, 0));
        let kind = |element| Floats::of(element).expect("floats");
        let params = RowParams {
            numbers: [0.0, 0.0, beside.factor, 0.0],
            ..RowParams::default()
        };
        let flags = RowFlags {
            from: kind(T::TYPE),
            out: kind(U::TYPE),
            columns: [kind(W::TYPE); 2],
            mode: Mode::Whole,
            second,
            wide_targets: true,
            is_folded: rows.layout.is_some(),
        };
        let to = |words: Words, unit: usize| words.start().cast::<u8>().wrapping_add(gap * unit);
        let passed = Passed {
            arrays: [array(start, bytes, rows.stride, rows.values.len()), other],
            len: rows.len,
            count: rows.count,
            layout: layout_at,
            answer: if beside.maps {
                to(out, U::UNIT)
            } else {
                core::ptr::null_mut()
            },
            flags: flags.bits(params),
            slots: states.start(),
            state: states.start(),
            tiles: leaves,
            blocks: shape.blocks_of_row.into(),
            steps: shape.run.into(),
            numbers: params.bits(),
            rows: RowOperands {
                stride: pitch as i64,
                sums: if second == Second::Residual {
                    to(sums, T::UNIT)
                } else {
                    core::ptr::null_mut()
                },
                columns,
                shares: beside.shares,
                known: known_at,
                targets,
                ignored: beside.targets.map_or(0, |(_, ignored)| ignored),
                period,
                shown,
                ..RowOperands::NONE
            },
            ..Passed::NOTHING
        };
        Self {
            memory,
            passed,
            out,
            sums,
            known,
            states,
            pitch,
        }
    }

    /// One launch.
    fn go<E: Element, O: RowOp>(
        &mut self,
        op: O,
        element: warpfold_kernels::element::Type,
        variant: RowVariant,
        passed: Passed,
        config: &Launch,
    ) -> Result<(), Fault> {
        // SAFETY: the buffers are as the kernel wants them, and the machine checks every access.
        let arguments: RowArguments<E> = unsafe { passed.widened(element).row_arguments() };
        let is_added = passed.second() == Second::Added;
        launch(config, &mut self.memory, |lane: Lane<'_>| match variant {
            RowVariant::Short | RowVariant::ShortKnown => rowwise::map_short(lane, op, arguments),
            RowVariant::Fold => rowwise::fold_leaves(lane, op, arguments),
            RowVariant::Leaf => rowwise::map_leaves(lane, op, arguments, Plain),
            RowVariant::Long => rowwise::map_long(lane, op, arguments),
            RowVariant::Any | RowVariant::Added if is_added => rowwise::map_leaves(lane, op, arguments, Added),
            RowVariant::Any | RowVariant::Added => rowwise::map_leaves(lane, op, arguments, Any),
            RowVariant::Strided | RowVariant::Known => rowwise::map_strided(lane, op, arguments),
        })
        .map(drop)
    }

    /// All launches.
    fn all<E: Element, O: RowOp>(
        &mut self,
        op: O,
        element: warpfold_kernels::element::Type,
        shape: RowShape,
        seed: u64,
    ) -> Result<(), Fault> {
        let passed = self.passed;
        let config = Launch::new(shape.blocks, shape.warps * LANES, seed);
        if !shape.is_split {
            let config = config.cluster(shape.blocks_of_row);
            return self.go::<E, O>(op, element, shape.variant, passed, &config);
        }
        self.go::<E, O>(op, element, shape.variant, passed.of_mode(Mode::Fold), &config)?;
        if passed.answer.is_null() && passed.tiles <= MOST_STATES.into() {
            return self.map::<E, O>(op, element, shape, (self.states.start(), passed.tiles), seed);
        }
        let to = self
            .memory
            .words("states of rows", passed.count as usize * O::State::COUNT);
        let rows = Launch::new(passed.count as u32, LANES, seed);
        // SAFETY: as above.
        let (from, of_rows) = unsafe { (StateArray::new(self.states.start()), StateArray::new(to.start())) };
        launch(&rows, &mut self.memory, |lane| {
            let from = (from, in_order::<O>(passed.tiles));
            rowwise::fold_states(lane, op, from, passed.tiles, of_rows, passed.count);
        })?;
        self.map::<E, O>(op, element, shape, (to.start(), 1), seed)
    }

    /// The launch that maps rows, or makes of their states what is known of them.
    fn map<E: Element, O: RowOp>(
        &mut self,
        op: O,
        element: warpfold_kernels::element::Type,
        shape: RowShape,
        (row_states, states_of_row): (*mut u32, u64),
        seed: u64,
    ) -> Result<(), Fault> {
        let passed = self.passed;
        let map = Passed {
            state: row_states,
            ..passed.of_mode(Mode::Map)
        };
        if !passed.answer.is_null() {
            let config = Launch::new(shape.blocks, shape.warps * LANES, seed);
            return self.go::<E, O>(op, element, shape.variant, map, &config);
        }
        // SAFETY: as above.
        let arguments: RowArguments<E> = unsafe {
            let tiles = states_of_row;
            Passed { tiles, ..map }.row_arguments()
        };
        let rows = LANES / lanes_of(states_of_row as u32);
        let config = Launch::new(passed.count.div_ceil(rows.into()) as u32, LANES, seed);
        launch(&config, &mut self.memory, |lane| {
            rowwise::store_known_of_rows(lane, op, arguments)
        })
        .map(drop)
    }

    /// What is known of each row.
    fn all_known(&self, count: usize, asked: usize) -> Result<Vec<[u32; 4]>, Fault> {
        let mut known = vec![[0; 4]; count];
        for (row, known) in known.iter_mut().enumerate() {
            for (i, known) in known.iter_mut().enumerate().take(asked) {
                *known = read(&self.memory, "known", self.known, i * count + row)?;
            }
        }
        Ok(known)
    }

    /// Rows that were written, a gap before each, and nothing in the gaps.
    fn rows(&self, buffer: &'static str, from: Words, gap: usize) -> Result<Vec<u32>, Fault> {
        let (len, count) = (self.passed.len as usize, self.passed.count as usize);
        let mut values = Vec::with_capacity(len * count);
        for row in 0..count {
            for i in 0..gap {
                if self.memory.word(from, row * self.pitch + i).is_some() {
                    let (buffer, at) = ("between the answers", row * self.pitch + i);
                    return Err(Fault::NoAnswer { buffer, at });
                }
            }
            for i in 0..len {
                values.push(read(&self.memory, buffer, from, row * self.pitch + gap + i)?);
            }
        }
        Ok(values)
    }
}

/// Folds and maps rows by the kernels of row operations, on the schedule of `seed`. Answers are of type `U`, with `gap` elements that are none
/// before each row of them.
///
/// # Errors
///
/// The first fault; also if an answer is left unwritten, or anything else is written.
pub fn map_rows<T, U, W, O>(
    op: O,
    rows: RowsOf<'_, T>,
    beside: &BesideRows<'_, T, W>,
    gap: usize,
    shape: RowShape,
    seed: u64,
) -> Result<MappedRows, Fault>
where
    T: RowElement,
    U: RowElement,
    W: RowElement,
    O: RowOp,
{
    let mut run = Run::new::<T, U, W, O>(rows, beside, gap, shape);
    if T::BYTES == 4 {
        run.all::<u32, O>(op, T::TYPE, shape, seed)?;
    } else {
        run.all::<u16, O>(op, T::TYPE, shape, seed)?;
    }
    let values = if beside.maps {
        run.rows("answers", run.out, gap)?
    } else {
        vec![]
    };
    let is_residual = matches!(beside.other, Some((Second::Residual, ..)));
    let sums = if is_residual {
        run.rows("sums", run.sums, gap)?
    } else {
        vec![]
    };
    let count = rows.count as usize;
    let asked = if shape.variant.is_plain() { O::PLAIN_KNOWS } else { 4 };
    let known = match beside.given {
        Some(_) => vec![[0; 4]; count],
        None => run.all_known(count, asked)?,
    };
    Ok(MappedRows { values, sums, known })
}

/// Sums columns by the kernel of norms' weight gradients, with so many threads in a block: of each chunk of rows the sums of weights, then those of biases.
///
/// # Errors
///
/// The first fault; also if a sum is left unwritten.
pub fn sum_columns<T: RowElement>(
    rows: RowsOf<'_, T>,
    beside: &BesideRows<'_, T, f32>,
    threads: u32,
    seed: u64,
) -> Result<Vec<u32>, Fault> {
    let op = NormGradient {
        centers: true,
        plus: -0.0,
    };
    let shape = RowShape {
        variant: RowVariant::Short,
        warps: 1,
        blocks_of_row: 1,
        blocks: 1,
        run: 0,
        is_split: false,
    };
    let mut run = Run::new::<T, f32, f32, NormGradient>(rows, beside, 0, shape);
    let chunks = rows.count.div_ceil(CHUNK.into());
    let count = (2 * chunks * rows.len) as usize;
    if count == 0 {
        return Ok(vec![]);
    }
    let out = run.memory.words("sums of chunks", count);
    let blocks = rows.len.div_ceil(threads.into()).max(1);
    let passed = Passed {
        answer: out.start().cast(),
        blocks,
        rows: RowOperands {
            stride: rows.len as i64,
            ..run.passed.rows
        },
        ..run.passed
    };
    let config = Launch::new((blocks * chunks) as u32, threads, seed);
    let passed = passed.widened(T::TYPE);
    // SAFETY: the buffers are as the kernel wants them, and the machine checks every access.
    unsafe {
        if T::BYTES == 4 {
            let arguments: RowArguments<u32> = passed.row_arguments();
            launch(&config, &mut run.memory, |lane| {
                rowwise::sum_columns(lane, op, arguments)
            })?;
        } else {
            let arguments: RowArguments<u16> = passed.row_arguments();
            launch(&config, &mut run.memory, |lane| {
                rowwise::sum_columns(lane, op, arguments)
            })?;
        }
    }
    (0..count)
        .map(|at| read(&run.memory, "sums of chunks", out, at))
        .collect()
}

fn read(memory: &Memory, buffer: &'static str, words: Words, at: usize) -> Result<u32, Fault> {
    memory.word(words, at).ok_or(Fault::NoAnswer { buffer, at })
}
