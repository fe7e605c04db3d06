//! Rows of f64, mapped by what they were folded to.

use warpfold_kernels::{
    kernels::{
        Array, Launch as Passed, RowOperands,
        rowwise::{self, NormF64, RUN, RowArguments, RowFlags},
    },
    stages::{
        columns::{Floats, Shares},
        load::around::Around,
    },
    tree::LANES,
};

use super::read;
use crate::{
    fault::Fault,
    launch::{Launch, launch},
    memory::{Memory, Words},
};

/// Rows of f64, and all that is read with them.
#[derive(Clone, Copy, Debug)]
pub struct DoubleRows<'a> {
    /// The array.
    pub values: &'a [f64],
    /// Rows, and elements of each.
    pub size: [u64; 2],
    /// From a row to the next, and from an element to the next, in elements.
    pub strides: [i64; 2],
    /// The dimensions, where rows, or the elements of one, lie along several.
    pub layout: Option<&'a [u64]>,
    /// What each row was folded to: the mean and the variance, or the sum of squares.
    pub folded: &'a [f64],
    /// A weight of each column, and a bias of each, or as they are shared.
    pub columns: [Option<&'a [f64]>; 2],
    /// Which of them are whose.
    pub shares: Shares,
}

/// Maps rows of f64 on the schedule of `seed`: the bits of the answers, in C order, and of the two statistics of each row.
///
/// # Errors
///
/// The first fault; also if an answer is left unwritten.
pub fn map_doubles(norm: NormF64, rows: DoubleRows<'_>, seed: u64) -> Result<(Vec<u64>, Vec<[u64; 2]>), Fault> {
    let mut memory = Memory::new();
    let [count, len] = rows.size;
    let start: *const u8 = memory.input("rows", rows.values, 0).cast();
    let folded = memory.input("folded", rows.folded, 0);
    let mut columns = [core::ptr::null(); 2];
    for (to, (name, floats)) in columns
        .iter_mut()
        .zip([("weights", rows.columns[0]), ("biases", rows.columns[1])])
    {
        *to = floats.map_or(*to, |floats| memory.input(name, floats, 0).cast());
    }
    let layout = rows
        .layout
        .map_or(core::ptr::null(), |layout| memory.input("layout", layout, 0).cast());
    let (answers, known) = (count * len, 2 * count);
    let out = memory.words("answers", 2 * answers as usize);
    let statistics = memory.words("statistics", 2 * known as usize);
    let at = |i: usize| statistics.start().wrapping_add(2 * i * count as usize);
    let params = norm.params();
    let flags = RowFlags {
        is_folded: rows.layout.is_some(),
        ..RowFlags::of(Floats::F32)
    };
    let passed = Passed {
        arrays: [
            Array {
                start,
                stride: rows.strides[0],
                step: rows.strides[1],
                around: Around(start.addr(), start.addr() + 8 * rows.values.len()),
            },
            Array::NONE,
        ],
        len,
        count,
        layout,
        answer: out.start().cast(),
        flags: flags.bits(params),
        state: folded.cast_mut().cast(),
        numbers: params.bits(),
        rows: RowOperands {
            stride: len as i64,
            columns,
            shares: rows.shares,
            known: [at(0), at(1), core::ptr::null_mut(), core::ptr::null_mut()],
            ..RowOperands::NONE
        },
        ..Passed::NOTHING
    };
    // SAFETY: the buffers are as the kernel wants them, and the machine checks every access.
    let arguments: RowArguments<f64> = unsafe { passed.row_arguments() };
    let warps = count * len.div_ceil(RUN.into()).max(1);
    let config = Launch::new(warps.div_ceil(2) as u32, 2 * LANES, seed);
    launch(&config, &mut memory, |lane| rowwise::map_doubles(lane, norm, arguments))?;
    let double = |name, words: Words, i: usize| {
        let half = |i: usize| read(&memory, name, words, i).map(u64::from);
        Ok(half(2 * i)? | half(2 * i + 1)? << 32)
    };
    let values: Result<_, Fault> = (0..answers as usize).map(|i| double("answers", out, i)).collect();
    let count = count as usize;
    let statistic = |i: usize| double("statistics", statistics, i);
    let known: Result<_, Fault> = (0..count)
        .map(|row| Ok([statistic(row)?, statistic(count + row)?]))
        .collect();
    Ok((values?, known?))
}
