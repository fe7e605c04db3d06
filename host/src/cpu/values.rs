//! The items of an array, of two arrays together, or of an array and its mask.

use std::borrow::Cow;

use warpfold_kernels::element::{Element, Item, Masked, Two};

use super::run::RUN;
use crate::{Error, ops::MaskElement};

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

/// An array and a mask of one length.
pub(super) struct MaskedValues<'a, T, B>(&'a [T], &'a [B]);

impl<'a, T, B> MaskedValues<'a, T, B> {
    /// Both, unless one is longer.
    pub(super) fn new(values: &'a [T], mask: &'a [B]) -> Result<Self, Error> {
        Error::check_mask(values.len(), mask.len())?;
        Ok(Self(values, mask))
    }
}

impl<T, B> Clone for MaskedValues<'_, T, B> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, B> Copy for MaskedValues<'_, T, B> {}

impl<T: Element, B: MaskElement> Values<Masked<T>> for MaskedValues<'_, T, B> {
    /// As those of two arrays.
    const LEAVES: usize = 8;

    fn len(self) -> usize {
        self.0.len()
    }
    fn part(self, first: usize, len: usize) -> Self {
        Self(self.0.part(first, len), self.1.part(first, len))
    }
    fn run<'a>(self) -> Cow<'a, [Masked<T>]>
    where
        Self: 'a,
    {
        let items = self.0.iter().zip(self.1);
        items.map(|(value, truth)| Masked(*value, truth.is_nonzero())).collect()
    }
}
