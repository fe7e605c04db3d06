//! Extents whose elements do not lie side by side: gathered a leaf at a time, for neighbouring answers together, so that
//! what a cache line holds for several of them is read once.

use std::marker::PhantomData;

use pulp::Arch;
use warpfold_kernels::{
    element::{Element, Item, Masked, Two},
    monoids::Monoid,
    tree::leaf_elements,
};

use super::{
    join,
    run::{self, Lens},
};
use crate::{layout::Extents, ops::MaskElement};

/// Leaves that are gathered at once: 512 KiB, within a core's second cache. Wide groups read long runs of each row where a
/// matrix is folded along its columns (2²⁶ elements of f32, rows of 1000, one thread of a busy AMD EPYC, 2026-11-21:
/// 1.3 GB/s; a quarter as wide, 0.5).
const GATHERED: usize = 128;
/// Leaves, of all extents of a group together, that one thread folds before others are asked to help: 2 MiB.
const TASK: usize = 512;
/// Bytes between gathered extents: a whole number of pages apart they would fight for the same lines of the cache.
const GAP: usize = 64;

/// How many neighbouring answers make a group.
pub(super) fn group<T: Item>(len: u64) -> usize {
    let leaf = leaf_elements::<T>();
    GATHERED * leaf / (leaf as u64).min(len) as usize
}

/// The items of extents.
pub(super) trait Arrays<T: Item>: Copy + Send + Sync {
    /// The extents, of two arrays the first's.
    fn extents(&self) -> &Extents;
    /// The array of which each extent is a run.
    fn in_place(&self) -> Option<&[T]>;
    /// `len` items of each of `count` extents from number `extent` on, from item number `first` on; an extent every `pitch`.
    fn gather(self, extent: u64, count: usize, first: u64, len: usize, pitch: usize) -> Vec<T>;
}

/// One array.
#[derive(Clone, Copy)]
pub(super) struct OneArray<'a, T> {
    pub values: &'a [T],
    pub extents: &'a Extents,
}

/// Two arrays, folded together.
#[derive(Clone, Copy)]
pub(super) struct TwoArrays<'a, T>(pub OneArray<'a, T>, pub OneArray<'a, T>);

impl<T: Element> Arrays<Two<T>> for TwoArrays<'_, T> {
    fn extents(&self) -> &Extents {
        self.0.extents
    }
    fn in_place(&self) -> Option<&[Two<T>]> {
        None
    }
    fn gather(self, extent: u64, count: usize, first: u64, len: usize, pitch: usize) -> Vec<Two<T>> {
        let of = |array: OneArray<'_, T>| array.gather(extent, count, first, len, pitch);
        of(self.0).into_iter().zip(of(self.1)).map(|(a, b)| Two(a, b)).collect()
    }
}

/// An array and its mask.
#[derive(Clone, Copy)]
pub(super) struct MaskedArray<'a, T, B>(pub OneArray<'a, T>, pub OneArray<'a, B>);

impl<T: Element, B: MaskElement> Arrays<Masked<T>> for MaskedArray<'_, T, B> {
    fn extents(&self) -> &Extents {
        self.0.extents
    }
    fn in_place(&self) -> Option<&[Masked<T>]> {
        None
    }
    fn gather(self, extent: u64, count: usize, first: u64, len: usize, pitch: usize) -> Vec<Masked<T>> {
        let values = self.0.gather(extent, count, first, len, pitch);
        let mask = self.1.gather(extent, count, first, len, pitch);
        let items = values.into_iter().zip(mask);
        items.map(|(value, truth)| Masked(value, truth.is_nonzero())).collect()
    }
}

/// A group of extents: `count` from number `first` on.
pub(super) struct Group<T, M, A> {
    pub arch: Arch,
    pub op: M,
    pub arrays: A,
    pub first: u64,
    pub count: usize,
    pub items: PhantomData<fn(T)>,
}

impl<T, M, A> Group<T, M, A>
where
    T: Item,
    M: Monoid<T, State: Send> + Send + Sync,
    A: Arrays<T>,
{
    /// The state of each extent.
    pub fn fold(&self) -> Vec<M::State> {
        self.fold_tree(0, self.arrays.extents().len)
    }

    /// The states of the elements from `first` on up to `end`, a subtree of each extent. The halves part at a power of two
    /// leaves, as the canonical tree does.
    fn fold_tree(&self, first: u64, end: u64) -> Vec<M::State> {
        let leaf = leaf_elements::<T>() as u64;
        let leaves = (end - first).div_ceil(leaf);
        if leaves <= 1 {
            return self.fold_leaf(first, (end - first) as usize);
        }
        let middle = first + leaves.next_power_of_two() / 2 * leaf;
        let (mut low, mut high) = (vec![], vec![]);
        join(
            leaves * self.count as u64 > TASK as u64,
            &mut || low = self.fold_tree(first, middle),
            &mut || high = self.fold_tree(middle, end),
        );
        for (low, high) in low.iter_mut().zip(high) {
            *low = self.op.combine(*low, high);
        }
        low
    }

    /// The states of one leaf of each extent.
    fn fold_leaf(&self, first: u64, len: usize) -> Vec<M::State> {
        let pitch = len + GAP / size_of::<T>();
        let gathered = self.arrays.gather(self.first, self.count, first, len, pitch);
        let starts: Vec<i64> = (0..self.count).map(|i| (i * pitch) as i64).collect();
        let mut states = vec![self.op.identity(); starts.len()];
        run::fold_each(self.arch, self.op, &gathered, &starts, Lens::All(len), &mut states);
        for state in &mut states {
            *state = self.op.shift(*state, first);
        }
        states
    }
}

impl<T: Element> Arrays<T> for OneArray<'_, T> {
    fn extents(&self) -> &Extents {
        self.extents
    }
    fn in_place(&self) -> Option<&[T]> {
        self.extents.is_contiguous().then_some(self.values)
    }
    fn gather(self, extent: u64, count: usize, first: u64, len: usize, pitch: usize) -> Vec<T> {
        let Self { values, extents } = self;
        let mut starts = vec![0; count];
        extents.starts(extent, &mut starts);
        let mut steps = vec![0; len];
        extents.steps(first, &mut steps);
        let value = |start: i64, step: i64| values[start.wrapping_add(step) as usize];
        let mut gathered = vec![T::from_words(|_| 0); count * pitch];
        if extents.answers_are_closer() {
            for (element, step) in steps.iter().enumerate() {
                for (extent, start) in gathered.chunks_exact_mut(pitch).zip(&starts) {
                    extent[element] = value(*start, *step);
                }
            }
        } else {
            for (extent, start) in gathered.chunks_exact_mut(pitch).zip(&starts) {
                for (element, step) in extent.iter_mut().zip(&steps) {
                    *element = value(*start, *step);
                }
            }
        }
        gathered
    }
}
