//! Thread stage for elements that lie apart: a lane folds its part of a leaf as it folds any, once it is [gathered](crate::stages::load::gather).

use crate::{
    monoids::Monoid,
    simt::Simt,
    stages::{
        load::{
            extents::Extents,
            fragment::Fragment,
            gather::{Answer, Places},
            source::{Read as _, Source},
            transposed::{TransposedLoads, can_share, folds_half, load_shared},
            words::Vectors,
        },
        narrow,
        reduce::{
            in_order::{self, Apart},
            packed::{Packed, is_of_words},
        },
    },
    tree::{ByWords as _, Positional as _, ROWS, place, row_elements, vector_elements},
};

/// Reads and folds a part of the extent of an answer, its elements lying anywhere, from element `first` on.
///
/// Called by: any thread; where words are shared, all 32 lanes together, with the same `first` · Valid in: every lane ·
/// Scratch: none
///
/// # Safety
///
/// `extents` are valid and unwritten for the whole launch, and so is their layout; the answer is of them.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub unsafe fn fold_part<S: Simt, T: Source, M: Monoid<T>>(
    simt: S,
    op: M,
    extents: Extents<T>,
    answer: Answer<T>,
    first: u64,
) -> M::State {
    let start = answer.start;
    if !M::ALGEBRA.commutes {
        let len = if answer.exists { extents.len } else { 0 };
        // SAFETY: passed on to the caller.
        return unsafe { in_order::fold_part(simt, op, Apart { extents, start }, first, len) };
    }
    let left = u64::saturating_sub(extents.len, first);
    let present = narrow(simt, if answer.exists { left } else { 0 });
    let fillers = T::fillers(op.filler());
    let places = T::each(|array| Places {
        extents,
        array,
        start: T::of(start, array),
        first,
        present,
        filler: T::of(fillers, array),
    });
    if const { is_of_words::<T, M>() } {
        // SAFETY: passed on to the caller.
        return unsafe { fold_words(simt, op, T::of(places, 0), answer) };
    }
    // The same for all lanes that read together: half of the leaf's rows.
    if folds_half::<T>() && answer.shares_words && left <= (ROWS / 2 * row_elements::<T>()) as u64 {
        // SAFETY: passed on to the caller.
        let words = unsafe { T::read(simt, T::map(places, TransposedLoads)) };
        let half = Fragment::<T, { ROWS / 2 }>::new(op, words, present, 0);
        return op.positional().shift(half.fold(simt, op), first);
    }
    // SAFETY: passed on to the caller.
    let words = unsafe {
        if can_share::<T>() && answer.shares_words {
            T::read(simt, T::map(places, TransposedLoads))
        } else if !answer.exists {
            return op.identity();
        } else {
            T::read(simt, places)
        }
    };
    // The number of the first comes last: registers are few before.
    let state = Fragment::<T, ROWS>::new(op, words, present, 0).fold_leaf(simt, op);
    op.positional().shift(state, first)
}

/// The same of an operator that is a [maximum of words](is_of_words). No element leaves its word before the largest is found. Neighbours that share words exchange one.
///
/// Called by, Valid in, Scratch: as [`fold_part`]
///
/// # Safety
///
/// As [`fold_part`].
#[cfg_attr(target_arch = "nvptx64", inline(always))]
unsafe fn fold_words<S: Simt, T: Source, M: Monoid<T>>(
    simt: S,
    op: M,
    places: Places<T>,
    answer: Answer<T>,
) -> M::State {
    debug_assert!(T::ARRAYS == 1 && !T::MASKED, "words of one array");
    if can_share::<T>() && answer.shares_words {
        // SAFETY: passed on to the caller.
        let words = unsafe { load_shared::<S, T, ROWS>(simt, places) };
        return Packed(op).state_of_shared(simt, words);
    }
    if !answer.exists {
        return op.identity();
    }
    if T::BYTES > 2 {
        // SAFETY: passed on to the caller.
        let words: Vectors<ROWS> = unsafe { places.read(simt) };
        return Packed(op).state(Packed(op).word(words));
    }
    let mut largest = Packed(op).identity();
    let mut number = simt.opaque(0);
    if places.extents.layout.is_null() {
        while number < vector_elements::<T>() as u32 {
            // SAFETY: passed on to the caller. That the extent's first element is in several places changes no maximum.
            let four = unsafe {
                [
                    places.column(simt, number),
                    places.column(simt, number + 1),
                    places.column(simt, number + 2),
                    places.column(simt, number + 3),
                ]
            };
            largest = Packed(op).combine(largest, Packed(op).word(four));
            number = simt.opaque(number + 4);
        }
    } else {
        while number < (ROWS * vector_elements::<T>()) as u32 {
            let (row, column) = (
                number as usize / vector_elements::<T>(),
                number as usize % vector_elements::<T>(),
            );
            if (place::<T>(row, column) as u32) < places.present {
                // SAFETY: passed on to the caller; the element is present.
                let bits = unsafe { places.element(simt, place::<T>(row, column)) } as u32;
                largest = Packed(op).combine(largest, (bits | bits << 16) ^ op.by_words().turned_signs());
            }
            number = simt.opaque(number + 1);
        }
    }
    Packed(op).state(largest)
}
