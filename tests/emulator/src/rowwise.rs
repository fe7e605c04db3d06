//! Row operations on the emulator.

use warpfold_kernels::{
    kernels::{
        Array,
        rowwise::{self, Arguments, Mode, RowLaunch, RowParams, Way},
    },
    monoids::Words as _,
    rowwise::{RowElement, RowOp, Valued},
    simt::Simt as _,
    stages::{columns::Floats, load::around::Around, reduce::leaf::MOST_STATES},
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
}

/// How rows are folded and mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowShape {
    /// The kernel.
    pub way: Way,
    /// Warps of a block.
    pub warps: u32,
    /// Blocks that have a row together.
    pub blocks_of_row: u32,
    /// Blocks of a launch.
    pub blocks: u32,
    /// Whether one launch folds, and another maps.
    pub is_split: bool,
}

/// What came of it: the bits of each answer, and of what else is known of each row.
#[derive(Clone, Debug, PartialEq)]
pub struct MappedRows {
    /// Row after row.
    pub values: Vec<u32>,
    /// Of each row.
    pub known: Vec<[u32; 2]>,
}

/// Folds and maps rows by the kernels of row operations, on the schedule of `seed`. Answers are of type `U`, with `gap` elements that are none
/// before each row of them.
///
/// # Errors
///
/// The first fault; also if an answer is left unwritten, or anything else is written.
///
/// # Panics
///
/// If there is no kernel of so many vectors.
pub fn map_rows<T, U, W, O>(
    op: O,
    rows: RowsOf<'_, T>,
    [weights, biases]: [Option<&[W]>; 2],
    gap: usize,
    shape: RowShape,
    seed: u64,
) -> Result<MappedRows, Fault>
where
    T: RowElement + Valued<O::Value>,
    U: RowElement,
    W: RowElement,
    O: RowOp,
{
    let mut memory = Memory::new();
    let start = memory.input("rows", rows.values, rows.misalign);
    let (len, count) = (rows.len as usize, rows.count as usize);
    let pitch = len + gap;
    let out = memory.packed("answers", pitch * count, U::UNIT);
    let known = memory.words("known", 2 * count);
    let leaves = rows.len.div_ceil(T::TYPE.leaf_elements()).max(1);
    let states = memory.words("states", (leaves * rows.count) as usize * O::State::COUNT);
    let mut weigh = |name, floats: Option<&[W]>, misalign| {
        floats.map_or(core::ptr::null(), |floats| memory.input(name, floats, misalign).cast())
    };
    let columns = [weigh("weights", weights, 0), weigh("biases", biases, gap % 2)];
    let (period, shown) = rows.causal.unwrap_or((0, 0));
    let step = size_of::<T>() as isize * rows.first as isize;
    let end = start.wrapping_add(rows.values.len());
    let array = Array {
        start: start.wrapping_byte_offset(step).cast(),
        stride: rows.stride,
        step: 1,
        around: Around(start.addr(), end.addr()),
    };
    let kind = |element| Floats::of(element).expect("floats");
    let passed = |mode, row_states: Option<Words>| {
        let passed = RowLaunch {
            arrays: [array; 2],
            len: rows.len,
            count: rows.count,
            layout: core::ptr::null(),
            out: out.start().cast::<u8>().wrapping_add(gap * U::UNIT),
            out_stride: pitch as i64,
            out_step: 1,
            out_layout: core::ptr::null(),
            flags: RowLaunch::flags(kind(U::TYPE), [kind(W::TYPE); 2], mode, RowParams::default()),
            columns,
            statistics: [known.start(), known.start().wrapping_add(count)],
            states: states.start(),
            row_states: row_states.map_or(states.start(), Words::start),
            states_of_row: leaves,
            leaves,
            blocks: shape.blocks_of_row.into(),
            period,
            shown,
            numbers: 0,
        };
        passed.widened(T::TYPE, 1)
    };
    let config = Launch::new(shape.blocks, shape.warps * LANES, seed);
    let run = |memory: &mut Memory, mode: Mode, row_states: Option<Words>, config: Launch| {
        let arguments: Arguments<T> = passed(mode, row_states).arguments();
        launch(&config, memory, |lane: Lane<'_>| {
            // SAFETY: the buffers are as the kernel wants them, and the machine checks every access.
            unsafe {
                match shape.way {
                    Way::Short => rowwise::map_short(lane, op, arguments),
                    Way::Half => rowwise::map_leaves::<_, _, _, 4>(lane, op, arguments),
                    Way::Leaf => rowwise::map_leaves::<_, _, _, 8>(lane, op, arguments),
                    Way::Apart => rowwise::map_apart(lane, op, arguments),
                }
            }
        })
    };
    if shape.is_split {
        run(&mut memory, Mode::Fold, None, config)?;
        let row_states = if shape.way == Way::Apart {
            // A lane has no others to combine with.
            let to = memory.words("states of rows", count * O::State::COUNT);
            let config = Launch::new(rows.count as u32, LANES, seed);
            launch(&config, &mut memory, |lane| {
                // SAFETY: as above.
                unsafe { rowwise::fold_states(lane, op, states.start(), leaves, to.start(), rows.count) };
            })?;
            Some(to)
        } else {
            None
        };
        run(&mut memory, Mode::Map, row_states, config)?;
    } else {
        run(&mut memory, Mode::Whole, None, config.cluster(shape.blocks_of_row))?;
    }
    let mut values = Vec::with_capacity(len * count);
    for row in 0..count {
        for i in 0..gap {
            if memory.word(out, row * pitch + i).is_some() {
                let (buffer, at) = ("between the answers", row * pitch + i);
                return Err(Fault::NoAnswer { buffer, at });
            }
        }
        for i in 0..len {
            values.push(read(&memory, "answers", out, row * pitch + gap + i)?);
        }
    }
    let known = (0..count)
        .map(|row| {
            Ok([
                read(&memory, "known", known, row)?,
                read(&memory, "known", known, count + row)?,
            ])
        })
        .collect::<Result<_, _>>()?;
    Ok(MappedRows { values, known })
}

/// Combines the states of each row to as many as there are groups, and those of these, until a row has one: the kernel that rows of very many leaves need.
///
/// # Errors
///
/// The first fault.
pub fn fold_states<O: RowOp>(op: O, states: &[O::State], rows: u64, seed: u64) -> Result<Vec<O::State>, Fault> {
    let count = states.len() as u64 / rows;
    let groups = count.div_ceil(MOST_STATES.into()).max(1);
    let mut memory = Memory::new();
    let words: Vec<u32> = states
        .iter()
        .flat_map(|state| (0..O::State::COUNT).map(|i| state.word(i)))
        .collect();
    let from = memory.words_from("states", &words);
    let to = memory.words("groups", (groups * rows) as usize * O::State::COUNT);
    let config = Launch::new((groups * rows).div_ceil(2) as u32, 2 * LANES, seed);
    launch(&config, &mut memory, |lane| {
        debug_assert!(lane.warps() == 2);
        // SAFETY: the buffers are as the kernel wants them, and the machine checks every access.
        unsafe { rowwise::fold_states(lane, op, from.start(), count, to.start(), rows) };
    })?;
    let mut folded = Vec::new();
    for group in 0..(groups * rows) as usize {
        let first = group * O::State::COUNT;
        let words: Result<Vec<u32>, Fault> = (0..O::State::COUNT)
            .map(|i| read(&memory, "groups", to, first + i))
            .collect();
        let words = words?;
        folded.push(O::State::from_words(|i| words[i]));
    }
    Ok(folded)
}

fn read(memory: &Memory, buffer: &'static str, words: Words, at: usize) -> Result<u32, Fault> {
    memory.word(words, at).ok_or(Fault::NoAnswer { buffer, at })
}
