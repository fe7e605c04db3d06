//! Extents whose elements do not lie side by side: gathered a leaf at a time, for neighbouring answers together, so that
//! what a cache line holds for several of them is read once.

use super::{erased::AnyFold, pool};
use crate::layout::Extents;

/// Leaves that are gathered at once: 512 KiB, within a core's second cache. Wide groups read long runs of each row where a
/// matrix is folded along its columns (2²⁶ elements of f32, rows of 1000, one thread of a busy AMD EPYC, 2026-11-21:
/// 1.3 GB/s; a quarter as wide, 0.5).
const GATHERED: u64 = 128;
/// Leaves, of all extents of a group together, that one thread folds before others are asked to help: 2 MiB.
const TASK: u64 = 512;

/// How many neighbouring answers make a group.
pub(super) fn group(leaf: u64, len: u64) -> usize {
    (GATHERED * leaf / leaf.min(len)) as usize
}

/// The states of the elements from `first` on up to `end`, a subtree of each of `count` extents from number `extent` on. The halves part at a
/// power of two leaves, as the canonical tree does.
pub(super) fn fold_tree(
    fold: &dyn AnyFold,
    extents: &[Extents],
    (extent, count): (u64, usize),
    (first, end): (u64, u64),
) -> Vec<u32> {
    let untyped = fold.untyped();
    let leaf = untyped.facts().leaf_elements();
    let leaves = (end - first).div_ceil(leaf);
    if leaves <= 1 {
        let mut states = vec![0; count * untyped.words()];
        fold.gathered(extents, (extent, count), (first, (end - first) as usize), &mut states);
        untyped.shift(&mut states, first);
        return states;
    }
    let middle = first + leaves.next_power_of_two() / 2 * leaf;
    let (mut low, mut high) = (vec![], vec![]);
    pool::join(
        leaves * count as u64 > TASK,
        &mut || low = fold_tree(fold, extents, (extent, count), (first, middle)),
        &mut || high = fold_tree(fold, extents, (extent, count), (middle, end)),
    );
    untyped.combine(&mut low, &high);
    low
}
