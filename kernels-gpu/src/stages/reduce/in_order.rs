//! Thread stage of operators [in order](crate::monoids::InOrder): a lane folds elements that follow one another, as many as its part of
//! a leaf has, and its neighbour the next.

use crate::{
    monoids::Monoid,
    simt::Simt,
    stages::load::{
        extents::{Extents, Input},
        gather::Answer,
        source::Source,
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
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn fold_leaf<S: Simt, T: Source, M: Monoid<T>>(simt: S, op: M, input: Input<T>, leaf: u64) -> M::State {
    let first = leaf * leaf_elements::<T>() as u64 + u64::from(simt.lane()) * part_elements::<T>();
    fold_part(simt, op, input, first)
}

/// The elements of an extent by number.
pub trait ElementsByNumber<T: Source>: Copy {
    /// Element `number`, if there is one.
    fn get<S: Simt>(self, simt: S, number: u64) -> Option<T>;
}

impl<T: Source> ElementsByNumber<T> for Input<T> {
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn get<S: Simt>(self, simt: S, number: u64) -> Option<T> {
        Self::get(self, simt, number)
    }
}

/// Those of an answer's extent.
impl<T: Source> ElementsByNumber<T> for (Extents<T>, Answer<T>) {
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn get<S: Simt>(self, simt: S, number: u64) -> Option<T> {
        self.0.get(simt, self.1, number)
    }
}

/// Reads and folds a part of an extent from element `first` on, what is past the end giving the identity.
///
/// Called by: any thread · Valid in: every lane · Scratch: none
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn fold_part<S: Simt, T: Source, M: Monoid<T>>(
    simt: S,
    op: M,
    elements: impl ElementsByNumber<T>,
    first: u64,
) -> M::State {
    let part = Eight { simt, elements, first };
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
    part: Eight<S, impl ElementsByNumber<T>>,
) -> M::State {
    let mut pending = Pending::<M::State, LEVELS>::nothing(op);
    // A number of turns that no compiler knows: one unrolls the loop otherwise.
    let count = simt.opaque(1 << LEVELS);
    let mut number = 0;
    while number < count {
        let before = number * ROWS as u32;
        let eight = Eight {
            first: part.first + u64::from(before),
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

/// Eight elements from number `first` on, of which some may not be there: as a column of a part.
#[derive(Clone, Copy)]
struct Eight<S, E> {
    simt: S,
    elements: E,
    first: u64,
}

impl<S: Simt, T: Source, E: ElementsByNumber<T>> Part<T> for Eight<S, E> {
    const COLUMNS: usize = 1;

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn lift<M: Monoid<T>>(self, op: M, row: usize, _: usize) -> M::State {
        match self.elements.get(self.simt, self.first + row as u64) {
            Some(item) => op.lift(item, row as u64),
            None => op.identity(),
        }
    }
}
