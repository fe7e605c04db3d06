//! The states of rows' leaves, combined by the kernel that does nothing else.

use warpfold_kernels::{
    kernels::rowwise,
    monoids::Words as _,
    rowwise::RowOp,
    simt::Simt as _,
    stages::{StateArray, reduce::leaf::MOST_STATES},
    tree::LANES,
};

use super::read;
use crate::{
    fault::Fault,
    launch::{Launch, launch},
    memory::Memory,
};

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
    // SAFETY: the buffers are as the kernel wants them, and the machine checks every access.
    let (states, groups_of) = unsafe { (StateArray::new(from.start()), StateArray::new(to.start())) };
    launch(&config, &mut memory, |lane| {
        debug_assert!(lane.warps() == 2);
        rowwise::fold_states(lane, op, (states, in_order::<O>(count)), count, groups_of, rows);
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

/// The words from a row's first state to the next row's, and from a state to its neighbour, where all follow one another.
pub(super) fn in_order<O: RowOp>(count: u64) -> [i64; 2] {
    let words = O::State::COUNT as i64;
    [count as i64 * words, words]
}
