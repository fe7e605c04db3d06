//! A partial to bytes.
//!
//! Numbers are little-endian. In order:
//!
//! | bytes | what |
//! |---|---|
//! | 4 | `WFPT` |
//! | 4 | the version of this format |
//! | 8 | bytes of the whole, the checksum's among them |
//! | 4, 4 | the version of the canonical tree, and of the states of operators |
//! | 1 | what is folded: 0 one array, 1 two, 2 one under a mask |
//! | 2 + n | the elements' type by its name, behind the name's length |
//! | 2 + n | the operator's name |
//! | 8 | its own parameter |
//! | 4 + 9 n | its steps: the bits of the f64 that is taken off, and what becomes of the rest (0 itself, 1 magnitude, 2 square, 3 exponential) |
//! | 4 | words of a state |
//! | 4 + 8 n | the shape of the answers, whose product is the number of cells |
//! | 8 | the number of runs |
//! | n | each run: first and end (8, 8), elements before its whole leaves and after them (4, 4), subtrees (4) and of each level and index (1, 8) |
//! | n | each run's elements before its whole leaves and after them, `[element][cell]` |
//! | n | the states of each run's subtrees, `[subtree][cell][word]`; of an operator that any order serves one for all runs, `[cell][word]`, if there are any |
//! | 4 | the CRC-32 of all before it |
//!
//! An element is as memory has it. An element of a second array is after that of the first; the byte of a mask is 0 or 1. Runs are in order, and
//! no two touch. An operator that any order serves has no elements and no subtrees.

use warpfold_kernels::tree;

use super::{
    any::AnyPartial,
    crc::crc32,
    head::{CHECKSUM, FORMAT, MAGIC, OPERANDS, STATES, THENS},
    run::Division,
};
use crate::ops::Signature;

impl AnyPartial {
    /// [`Partial::to_bytes`](super::Partial::to_bytes).
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = head(&self.op.signature(), &self.shape, self.runs.len());
        for (first, run) in &self.runs {
            let division = Division::by(self.op.facts(), *first, run.end);
            bytes.extend(first.to_le_bytes());
            bytes.extend(run.end.to_le_bytes());
            bytes.extend((division.before as u32).to_le_bytes());
            bytes.extend((division.after as u32).to_le_bytes());
            bytes.extend((run.whole.iter().len() as u32).to_le_bytes());
            for subtree in run.whole.iter() {
                bytes.push(subtree.level as u8);
                bytes.extend(subtree.index.to_le_bytes());
            }
        }
        for run in self.runs.values() {
            bytes.extend(&run.before);
            bytes.extend(&run.after);
        }
        let subtrees = self.runs.values().flat_map(|run| run.whole.iter());
        for states in self.total.iter().chain(subtrees.map(|subtree| &subtree.states)) {
            bytes.extend(states.iter().flat_map(|word| word.to_le_bytes()));
        }
        let len = (bytes.len() + CHECKSUM) as u64;
        bytes[LEN_AT..][..8].copy_from_slice(&len.to_le_bytes());
        bytes.extend(crc32(&bytes).to_le_bytes());
        bytes
    }
}

/// Where the length is.
const LEN_AT: usize = 8;

/// What comes before the runs, the length still being 0.
fn head(signature: &Signature, shape: &[u64], runs: usize) -> Vec<u8> {
    let mut bytes = MAGIC.to_vec();
    bytes.extend(FORMAT.to_le_bytes());
    bytes.extend([0; 8]);
    bytes.extend(tree::VERSION.to_le_bytes());
    bytes.extend(STATES.to_le_bytes());
    bytes.push(number(&OPERANDS, &signature.operands));
    for name in [signature.element.name(), &signature.op] {
        bytes.extend((name.len() as u16).to_le_bytes());
        bytes.extend(name.as_bytes());
    }
    bytes.extend(signature.parameter.to_le_bytes());
    bytes.extend((signature.steps.len() as u32).to_le_bytes());
    for step in &signature.steps {
        bytes.extend(step.minus.to_bits().to_le_bytes());
        bytes.push(number(&THENS, &step.then));
    }
    bytes.extend((signature.words as u32).to_le_bytes());
    bytes.extend((shape.len() as u32).to_le_bytes());
    bytes.extend(shape.iter().flat_map(|extent| extent.to_le_bytes()));
    bytes.extend((runs as u64).to_le_bytes());
    bytes
}

/// The place in a list.
fn number<X: PartialEq>(list: &[X], one: &X) -> u8 {
    let place = list.iter().position(|listed| listed == one);
    place.expect("all there are are listed") as u8
}
