//! The items of an array, of two arrays together, or of an array under its mask: as they lie, and gathered.

use std::borrow::Cow;

use warpfold_kernels::element::{Element, Item, Masked, Two};

use super::run::RUN;
use crate::layout::Extents;

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

/// Two arrays.
#[derive(Clone, Copy, Debug)]
pub struct Pair<'s, T>(pub &'s [T], pub &'s [T]);

/// An array and its mask.
#[derive(Clone, Copy, Debug)]
pub struct Selected<'s, T>(pub &'s [T], pub &'s [u8]);

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

impl<T: Element> Source<Two<T>> for Pair<'_, T> {
    const LEAVES: usize = TOGETHER;

    fn len(self) -> usize {
        self.0.len()
    }
    fn part(self, first: usize, len: usize) -> Self {
        Self(&self.0[first..][..len], &self.1[first..][..len])
    }
    fn run<'a>(self) -> Cow<'a, [Two<T>]>
    where
        Self: 'a,
    {
        let items = self.0.iter().zip(self.1);
        items.map(|(first, second)| Two(*first, *second)).collect()
    }
    fn gather(
        self,
        extents: &[Extents],
        extent: u64,
        count: usize,
        first: u64,
        len: usize,
        pitch: usize,
    ) -> Vec<Two<T>> {
        let of = |values, extents| gather::<T>(values, extents, (extent, count), (first, len), pitch);
        let items = of(self.0, &extents[0]).into_iter().zip(of(self.1, &extents[1]));
        items.map(|(first, second)| Two(first, second)).collect()
    }
}

impl<T: Element> Source<Masked<T>> for Selected<'_, T> {
    const LEAVES: usize = TOGETHER;

    fn len(self) -> usize {
        self.0.len()
    }
    fn part(self, first: usize, len: usize) -> Self {
        Self(&self.0[first..][..len], &self.1[first..][..len])
    }
    fn run<'a>(self) -> Cow<'a, [Masked<T>]>
    where
        Self: 'a,
    {
        let items = self.0.iter().zip(self.1);
        items.map(|(value, truth)| Masked(*value, *truth != 0)).collect()
    }
    fn gather(
        self,
        extents: &[Extents],
        extent: u64,
        count: usize,
        first: u64,
        len: usize,
        pitch: usize,
    ) -> Vec<Masked<T>> {
        let values = gather(self.0, &extents[0], (extent, count), (first, len), pitch);
        let mask = gather(self.1, &extents[1], (extent, count), (first, len), pitch);
        let items = values.into_iter().zip(mask);
        items.map(|(value, truth)| Masked(value, truth != 0)).collect()
    }
}

/// Items of one array: `len` of each of `count` extents from one on, an extent every `pitch`.
pub(super) fn gather<T: Item>(
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
