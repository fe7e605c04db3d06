//! The items of an array, or of two arrays together.

use std::borrow::Cow;

use warpfold_kernels::element::{Element, Item, Two};

use super::run::RUN;
use crate::Error;

/// Items by number.
pub(super) trait Values<T: Item>: Copy + Send + Sync {
    /// Leaves that are made a run at once.
    const LEAVES: usize;

    fn len(self) -> usize;
    /// `len` items from number `first` on.
    fn part(self, first: usize, len: usize) -> Self;
    /// The items in one run of memory.
    fn run<'a>(self) -> Cow<'a, [T]>
    where
        Self: 'a;
}

impl<T: Item> Values<T> for &[T] {
    const LEAVES: usize = RUN;

    fn len(self) -> usize {
        <[T]>::len(self)
    }
    fn part(self, first: usize, len: usize) -> Self {
        &self[first..][..len]
    }
    fn run<'a>(self) -> Cow<'a, [T]>
    where
        Self: 'a,
    {
        Cow::Borrowed(self)
    }
}

/// Two arrays of one length.
#[derive(Clone, Copy)]
pub(super) struct Pairs<'a, T>(&'a [T], &'a [T]);

impl<'a, T> Pairs<'a, T> {
    /// Both, unless one is longer.
    pub(super) fn new(first: &'a [T], second: &'a [T]) -> Result<Self, Error> {
        Error::check_pair(&[first.len() as u64], &[second.len() as u64])?;
        Ok(Self(first, second))
    }
}

impl<T: Element> Values<Two<T>> for Pairs<'_, T> {
    /// Brought together in 64 KiB, which stay in a near cache.
    const LEAVES: usize = 8;

    fn len(self) -> usize {
        self.0.len()
    }
    fn part(self, first: usize, len: usize) -> Self {
        Self(self.0.part(first, len), self.1.part(first, len))
    }
    fn run<'a>(self) -> Cow<'a, [Two<T>]>
    where
        Self: 'a,
    {
        self.0
            .iter()
            .zip(self.1)
            .map(|(first, second)| Two(*first, *second))
            .collect()
    }
}
