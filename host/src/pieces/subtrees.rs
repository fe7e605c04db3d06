//! A run of leaves as the fewest subtrees of the canonical tree: the one representation of what folds in parts have so far.

use crate::ops::untyped::Untyped;

/// A subtree of the canonical tree: `2^level` neighbouring leaves, from leaf `index · 2^level` on.
#[derive(Clone, Debug)]
pub(crate) struct Subtree {
    pub(crate) level: u32,
    pub(crate) index: u64,
    /// Its states, one for each cell.
    pub(crate) states: Vec<u32>,
}

/// The subtrees of a run of leaves, in their order: the largest that there are, so that there is one way to divide a run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Subtrees(Vec<Subtree>);

impl Subtrees {
    pub(crate) fn iter(&self) -> std::slice::Iter<'_, Subtree> {
        self.0.iter()
    }

    /// Appends the subtree that begins where the last one ends. Two halves of a larger one become that.
    ///
    /// Nothing but the last has to be looked at: a subtree on the right is whole once its own last leaf is, and what lies before it then is
    /// its left neighbour of the same size, or the run has no such.
    pub(crate) fn push(&mut self, untyped: &dyn Untyped, mut next: Subtree) {
        while next.index % 2 == 1
            && let Some(mut low) = self.0.pop_if(|last| last.level == next.level)
        {
            untyped.combine(&mut low.states, &next.states);
            next = Subtree {
                level: next.level + 1,
                index: next.index / 2,
                states: low.states,
            };
        }
        self.0.push(next);
    }

    /// The states of all of them, of a run from leaf 0 on, and of `last`, what comes after the last whole leaf.
    pub(crate) fn total(&self, untyped: &dyn Untyped, last: Option<Vec<u32>>) -> Option<Vec<u32>> {
        // What is missing to a power of two is identities, neutral to the bit.
        self.0.iter().rev().fold(last, |high, low| {
            let mut states = low.states.clone();
            if let Some(high) = high {
                untyped.combine(&mut states, &high);
            }
            Some(states)
        })
    }
}

impl IntoIterator for Subtrees {
    type Item = Subtree;
    type IntoIter = std::vec::IntoIter<Subtree>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// The level and the index of each subtree of the leaves from `first` up to `end`.
pub(crate) fn subtrees(mut first: u64, end: u64) -> impl Iterator<Item = (u32, u64)> {
    std::iter::from_fn(move || {
        let left = end.checked_sub(first).filter(|left| *left > 0)?;
        let level = left.ilog2().min(first.trailing_zeros());
        let index = first >> level;
        first += 1 << level;
        Some((level, index))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_is_its_largest_subtrees() {
        let of = |first, end| subtrees(first, end).collect::<Vec<_>>();
        assert_eq!(of(0, 0), []);
        assert_eq!(of(0, 7), [(2, 0), (1, 2), (0, 6)]);
        assert_eq!(of(3, 5), [(0, 3), (0, 4)]);
        assert_eq!(of(2, 8), [(1, 1), (2, 1)]);
        assert_eq!(of(0, u64::MAX).len(), 64);
        assert_eq!(of(1 << 63, u64::MAX).len(), 63);
    }
}
