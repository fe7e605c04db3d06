//! The items of an array, of two arrays together, or of an array under its mask: as they lie, and gathered.

use std::borrow::Cow;

use warpfold_kernels::element::{Element, Item, Masked, Two};

use crate::layout::Extents;

/// Leaves in the largest run: 1 MiB, long beside handing it to another thread.
pub(crate) const RUN: usize = 256;

/// Items of arrays in host memory.
pub trait Source<I: Item>: Copy + Send + Sync {
    /// Leaves that are made a run at once.
    const LEAVES: usize;
    /// Whether items are in memory as they are folded, so that an extent may be a run of it.
    const IN_PLACE: bool = false;

    /// How many items, of arrays without a layout.
    fn len(self) -> usize;
    /// `len` items from number `first` on.
    fn part(self, first: usize, len: usize) -> Self;
    /// The items in one run of memory.
    fn run<'a>(self) -> Cow<'a, [I]>
    where
        Self: 'a;
    /// `len` items of each of `count` extents from number `extent` on, from item number `first` on; an extent every `pitch`.
    fn gather(self, extents: &[Extents], extent: u64, count: usize, first: u64, len: usize, pitch: usize) -> Vec<I>;
}

/// One array.
#[derive(Clone, Copy, Debug)]
pub struct One<'s, T>(pub &'s [T]);

/// Two arrays, or an array and its mask, of whose bytes those that are not 0 select.
#[derive(Clone, Copy, Debug)]
pub struct Pair<'s, A, B>(pub &'s [A], pub &'s [B]);

/// An item of two arrays.
pub trait Join<A, B>: Item {
    /// Of an element of each.
    fn join(first: A, second: B) -> Self;
}

impl<T: Element> Join<T, T> for Two<T> {
    fn join(first: T, second: T) -> Self {
        Self(first, second)
    }
}

impl<T: Element> Join<T, u8> for Masked<T> {
    fn join(value: T, truth: u8) -> Self {
        Self(value, truth != 0)
    }
}

/// Leaves of two arrays that are brought together at once: 64 KiB, which stay in a near cache.
const TOGETHER: usize = 8;

impl<T: Item> Source<T> for One<'_, T> {
    const LEAVES: usize = RUN;
    const IN_PLACE: bool = true;

    fn len(self) -> usize {
        self.0.len()
    }
    fn part(self, first: usize, len: usize) -> Self {
        Self(&self.0[first..][..len])
    }
    fn run<'a>(self) -> Cow<'a, [T]>
    where
        Self: 'a,
    {
        Cow::Borrowed(self.0)
    }
    fn gather(self, extents: &[Extents], extent: u64, count: usize, first: u64, len: usize, pitch: usize) -> Vec<T> {
        gather(self.0, &extents[0], (extent, count), (first, len), pitch)
    }
}

impl<A: Element, B: Element, I: Join<A, B>> Source<I> for Pair<'_, A, B> {
    const LEAVES: usize = TOGETHER;

    fn len(self) -> usize {
        self.0.len()
    }
    fn part(self, first: usize, len: usize) -> Self {
        Self(&self.0[first..][..len], &self.1[first..][..len])
    }
    fn run<'a>(self) -> Cow<'a, [I]>
    where
        Self: 'a,
    {
        let items = self.0.iter().zip(self.1);
        items.map(|(first, second)| I::join(*first, *second)).collect()
    }
    fn gather(self, extents: &[Extents], extent: u64, count: usize, first: u64, len: usize, pitch: usize) -> Vec<I> {
        let firsts = gather(self.0, &extents[0], (extent, count), (first, len), pitch);
        let seconds = gather(self.1, &extents[1], (extent, count), (first, len), pitch);
        let items = firsts.into_iter().zip(seconds);
        items.map(|(first, second)| I::join(first, second)).collect()
    }
}

/// Items of one array: `len` of each of `count` extents from one on, an extent every `pitch`.
pub(crate) fn gather<T: Item>(
    values: &[T],
    extents: &Extents,
    (extent, count): (u64, usize),
    (first, len): (u64, usize),
    pitch: usize,
) -> Vec<T> {
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
