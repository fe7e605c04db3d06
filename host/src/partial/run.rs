//! One run of an extent's elements: its whole leaves as subtrees, and the elements before and after them as they are.

use std::ops::Range;

use crate::{
    cpu::{erased::PackedFold, pool},
    ops::OpFacts,
    pieces::subtrees::{Subtree, Subtrees, subtrees},
};

/// Elements of all cells together that one thread folds before others are asked to help.
const TASK: usize = 1 << 17;

/// What a run has from its first element, which is not kept here, up to `end`. Of an operator that any order serves it has no more than
/// its end.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub(super) end: u64,
    /// The elements before its first whole leaf, packed: those of all cells, element after element.
    pub(super) before: Vec<u8>,
    pub(super) whole: Subtrees,
    /// The elements after its last whole leaf.
    pub(super) after: Vec<u8>,
}

/// How a run of elements divides at leaves.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Division {
    /// Elements before the first leaf that begins in the run; of a run within a leaf that begins before it, all.
    pub(super) before: u64,
    /// Its whole leaves.
    pub(super) leaves: Range<u64>,
    /// Elements from the end of the last whole leaf on.
    pub(super) after: u64,
}

impl Division {
    /// That of a run of an operator, which has neither leaves nor elements where any order serves.
    pub(super) fn by(op: &OpFacts, first: u64, end: u64) -> Self {
        if op.in_any_order() {
            Self {
                before: 0,
                leaves: 0..0,
                after: 0,
            }
        } else {
            Self::of(first, end, op.leaf_elements())
        }
    }

    /// Of the elements from `first` up to `end`, leaves having so many.
    pub(super) fn of(first: u64, end: u64, leaf: u64) -> Self {
        let start = first.div_ceil(leaf);
        match start.checked_mul(leaf).filter(|position| *position <= end) {
            Some(position) => Self {
                before: position - first,
                leaves: start..end / leaf,
                after: end % leaf,
            },
            None => Self {
                before: end - first,
                leaves: 0..0,
                after: 0,
            },
        }
    }

    /// The level and the index of each subtree that its whole leaves are.
    pub(super) fn subtrees(&self) -> impl Iterator<Item = (u32, u64)> + use<> {
        subtrees(self.leaves.start, self.leaves.end)
    }
}

/// An operator, and how many extents it folds side by side.
#[derive(Clone, Copy)]
pub(super) struct Cells<'a> {
    pub(super) op: &'a dyn PackedFold,
    pub(super) count: usize,
}

impl Cells<'_> {
    fn leaf(self) -> u64 {
        self.op.facts().leaf_elements()
    }

    /// The states of a leaf's packed elements, of which the first is at `position`.
    pub(super) fn leaf_states(self, packed: &[u8], position: u64) -> Vec<u32> {
        let (words, bytes) = (self.op.words(), self.op.packed_bytes());
        let mut states = vec![0; self.count * words];
        if self.count > 0 {
            let elements = packed.len() / (self.count * bytes);
            let group = (TASK / (elements * bytes).max(1)).max(1);
            pool::runs(&mut states, words, group, &|first, states| {
                // Few at a time, for their elements are copied.
                for (number, states) in states.chunks_mut(group * words).enumerate() {
                    let first = first + number * group;
                    let some = first..first + states.len() / words;
                    self.op.fold_packed(packed, self.count, some, states);
                }
            });
            self.op.shift(&mut states, position);
        }
        states
    }

    /// A run that begins at `first`, and the one that begins where it ends, as one.
    pub(super) fn joined(self, first: u64, mut run: Run, next: Run) -> Run {
        let (leaf, middle) = (self.leaf(), run.end);
        run.end = next.end;
        if self.op.facts().in_any_order() {
            return run;
        }
        // The leaf that both have elements of begins before the run: they are still before its first whole one.
        if Division::of(first, middle, leaf).before == middle - first {
            run.before.extend_from_slice(&next.before);
            return Run {
                before: run.before,
                ..next
            };
        }
        run.after.extend_from_slice(&next.before);
        let start = middle / leaf * leaf;
        if middle > start && next.end - start >= leaf {
            let states = self.leaf_states(&run.after, start);
            let index = start / leaf;
            run.whole.push(
                self.op,
                Subtree {
                    level: 0,
                    index,
                    states,
                },
            );
            run.after.clear();
        }
        for subtree in next.whole {
            run.whole.push(self.op, subtree);
        }
        run.after.extend_from_slice(&next.after);
        run
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_divide_at_leaves() {
        for (first, end, before, leaves, after) in [
            (0, 0, 0, 0..0, 0),
            (0, 5, 0, 0..0, 5),
            (3, 5, 2, 0..0, 0),
            (3, 8, 5, 1..1, 0),
            (3, 9, 5, 1..1, 1),
            (8, 16, 0, 1..2, 0),
            (7, 25, 1, 1..3, 1),
            (u64::MAX - 3, u64::MAX, 3, 0..0, 0),
        ] {
            let expected = Division { before, leaves, after };
            assert_eq!(Division::of(first, end, 8), expected, "{first}..{end}");
        }
    }
}
