//! Thread stage of operators [in order](crate::monoids::InOrder): a lane folds elements that follow one another, as many as its part of
//! a leaf has, and its neighbour the next.

use crate::{
    monoids::Monoid,
    simt::Simt,
    stages::{
        load::{
            extents::{Extents, Input, after},
            source::{At, Source},
        },
        narrow,
    },
    tree::{self, Part, Positional as _, ROWS, leaf_elements, pending::Pending, vector_elements},
};

/// Elements of a part.
#[must_use]
pub const fn part_elements<T: Source>() -> u64 {
    (ROWS * vector_elements::<T>()) as u64
}

/// Reads and folds this lane's part of leaf `leaf`, what is past the end giving the identity.
///
/// Called by: any thread · Valid in: every lane, its own elements · Scratch: none
///
/// # Safety
///
/// `input` is valid and unwritten for the whole launch.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub unsafe fn fold_leaf<S: Simt, T: Source, M: Monoid<T>>(simt: S, op: M, input: Input<T>, leaf: u64) -> M::State {
    let first = leaf * leaf_elements::<T>() as u64 + u64::from(simt.lane()) * part_elements::<T>();
    // SAFETY: passed on to the caller.
    unsafe { fold_part(simt, op, input, first, input.len) }
}

/// The elements of an extent that lie anywhere.
#[derive(Clone, Copy)]
pub struct Apart<T: Source> {
    /// The extent is one of these.
    pub extents: Extents<T>,
    /// Its first element.
    pub start: At<T>,
}

/// The elements of an extent by number.
pub trait Elements<T: Source>: Copy {
    /// Element `number`.
    ///
    /// # Safety
    ///
    /// The extent has it, and is valid and unwritten for the whole launch.
    unsafe fn item<S: Simt>(self, simt: S, number: u64) -> T;
}

impl<T: Source> Elements<T> for Input<T> {
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn item<S: Simt>(self, simt: S, number: u64) -> T {
        // SAFETY: passed on to the caller.
        unsafe { T::read_item(simt, after::<T>(self.start, number)) }
    }
}

impl<T: Source> Elements<T> for Apart<T> {
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn item<S: Simt>(self, simt: S, number: u64) -> T {
        let offsets = if self.extents.layout.is_null() {
            T::map(self.extents.step, |step| step as isize * number as isize)
        } else {
            // SAFETY: passed on to the caller.
            T::map(unsafe { self.extents.within(simt, number) }, |offset| offset as isize)
        };
        // SAFETY: passed on to the caller.
        unsafe { T::read_item(simt, T::further(self.start, offsets)) }
    }
}

/// Reads and folds a part of an extent of `len` elements from element `first` on, what is past the end giving the identity.
///
/// Called by: any thread · Valid in: every lane · Scratch: none
///
/// # Safety
///
/// The extent is valid and unwritten for the whole launch.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub unsafe fn fold_part<S: Simt, T: Source, M: Monoid<T>>(
    simt: S,
    op: M,
    elements: impl Elements<T>,
    first: u64,
    len: u64,
) -> M::State {
    let present = narrow(simt, u64::saturating_sub(len, first));
    let part = Eight {
        simt,
        elements,
        first,
        present,
    };
    let state = match vector_elements::<T>() {
        1 => fold_eights::<S, T, M, 0>(simt, op, part),
        2 => fold_eights::<S, T, M, 1>(simt, op, part),
        4 => fold_eights::<S, T, M, 2>(simt, op, part),
        8 => fold_eights::<S, T, M, 3>(simt, op, part),
        _ => fold_eights::<S, T, M, 4>(simt, op, part),
    };
    op.positional().shift(state, first)
}

/// `2` to the power of `LEVELS` times eight elements, the first of which are `part`.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn fold_eights<S: Simt, T: Source, M: Monoid<T>, const LEVELS: u32>(
    simt: S,
    op: M,
    part: Eight<S, impl Elements<T>>,
) -> M::State {
    let mut pending = Pending::<M::State, LEVELS>::nothing(op);
    // A number of turns that no compiler knows: one unrolls the loop otherwise.
    let count = simt.opaque(1 << LEVELS);
    let mut number = 0;
    while number < count {
        let before = number * ROWS as u32;
        let eight = Eight {
            first: part.first + u64::from(before),
            present: u32::saturating_sub(part.present, before),
            ..part
        };
        pending.push(
            simt,
            op,
            number,
            op.positional().shift(tree::fold_column(op, eight, 0), before.into()),
        );
        number += 1;
    }
    pending.total(simt, op, 1 << LEVELS)
}

/// Eight elements from number `first` on, of which the first `present` are there: as a column of a part.
#[derive(Clone, Copy)]
struct Eight<S, E> {
    simt: S,
    elements: E,
    first: u64,
    present: u32,
}

impl<S: Simt, T: Source, E: Elements<T>> Part<T> for Eight<S, E> {
    const COLUMNS: usize = 1;

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn lift<M: Monoid<T>>(self, op: M, row: usize, _: usize) -> M::State {
        if (row as u32) < self.present {
            // SAFETY: this element is present, and who made this promises the rest.
            let item = unsafe { self.elements.item(self.simt, self.first + row as u64) };
            op.lift(item, row as u64)
        } else {
            op.identity()
        }
    }
}
