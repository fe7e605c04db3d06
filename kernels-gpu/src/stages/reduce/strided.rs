//! Thread stage for elements that lie apart: a lane folds its part of a leaf as it folds any, once it is [gathered](crate::stages::load::gather).

use crate::{
    monoids::Monoid,
    simt::Simt,
    stages::{
        load::{
            extents::Extents,
            fragment::Fragment,
            gather::{Answer, Places, can_share},
            source::{Read as _, Source},
            transposed::{TransposedLoads, folds_half, load_shared},
            words::Vectors,
        },
        reduce::{
            in_order,
            packed::{Packed, is_of_words},
        },
    },
    tree::{ByWords as _, Positional as _, ROWS, place, row_elements, vector_elements},
};

/// Reads and folds a part of the extent of an answer, its elements lying anywhere, from element `first` on.
///
/// Called by: any thread; where words are shared, all 32 lanes together, with the same `first` · Valid in: every lane ·
/// Scratch: none
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn fold_part<S: Simt, T: Source, M: Monoid<T>>(
    simt: S,
    op: M,
    extents: Extents<T>,
    answer: Answer<T>,
    first: u64,
) -> M::State {
    if !M::ALGEBRA.commutes {
        return in_order::fold_part(simt, op, (extents, answer), first);
    }
    let left = u64::saturating_sub(extents.len(), first);
    let places = extents.places(simt, answer, first, op.filler());
    if const { is_of_words::<T, M>() } {
        return fold_words(simt, op, T::of(places, 0), answer);
    }
    // The same for all lanes that read together: half of the leaf's rows.
    if folds_half::<T>() && answer.shares_words() && left <= (ROWS / 2 * row_elements::<T>()) as u64 {
        let words = T::read(simt, T::map(places, TransposedLoads));
        let half = Fragment::<T, { ROWS / 2 }>::new(op, words, T::of(places, 0).present(), 0);
        return op.positional().shift(half.fold(simt, op), first);
    }
    let words = if can_share::<T>() && answer.shares_words() {
        T::read(simt, T::map(places, TransposedLoads))
    } else if !answer.exists() {
        return op.identity();
    } else {
        T::read(simt, places)
    };
    // The number of the first comes last: registers are few before.
    let state = Fragment::<T, ROWS>::new(op, words, T::of(places, 0).present(), 0).fold_leaf(simt, op);
    op.positional().shift(state, first)
}

/// The same of an operator that is a [maximum of words](is_of_words). No element leaves its word before the largest is found. Neighbours that share words exchange one.
///
/// Called by, Valid in, Scratch: as [`fold_part`]
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn fold_words<S: Simt, T: Source, M: Monoid<T>>(simt: S, op: M, places: Places<T>, answer: Answer<T>) -> M::State {
    debug_assert!(T::ARRAYS == 1 && !T::MASKED, "words of one array");
    if can_share::<T>() && answer.shares_words() {
        return Packed(op).state_of_shared(simt, load_shared::<S, T, ROWS>(simt, places));
    }
    if !answer.exists() {
        return op.identity();
    }
    if T::BYTES > 2 {
        let words: Vectors<ROWS> = places.read(simt);
        return Packed(op).state(Packed(op).word(words));
    }
    Packed(op).state(if places.has_layout() {
        largest_by_layout(simt, op, places)
    } else {
        largest_by_step(simt, op, places)
    })
}

/// The largest of elements that are one step apart, at all places of a word.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn largest_by_step<S: Simt, T: Source, M: Monoid<T>>(simt: S, op: M, places: Places<T>) -> u32 {
    let mut largest = Packed(op).identity();
    let mut number = simt.opaque(0);
    while number < vector_elements::<T>() as u32 {
        // That the extent's first element is in several places changes no maximum.
        let four = [
            places.column(simt, number),
            places.column(simt, number + 1),
            places.column(simt, number + 2),
            places.column(simt, number + 3),
        ];
        largest = Packed(op).combine(largest, Packed(op).word(four));
        number = simt.opaque(number + 4);
    }
    largest
}

/// The same of elements that stand for several indices.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn largest_by_layout<S: Simt, T: Source, M: Monoid<T>>(simt: S, op: M, places: Places<T>) -> u32 {
    let mut largest = Packed(op).identity();
    let mut number = simt.opaque(0);
    while number < (ROWS * vector_elements::<T>()) as u32 {
        let (row, column) = (
            number as usize / vector_elements::<T>(),
            number as usize % vector_elements::<T>(),
        );
        if let Some(bits) = places.get(simt, place::<T>(row, column)) {
            let word = bits as u32 | (bits as u32) << 16;
            largest = Packed(op).combine(largest, word ^ op.by_words().turned_signs());
        }
        number = simt.opaque(number + 1);
    }
    largest
}
