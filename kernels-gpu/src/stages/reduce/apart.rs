//! Thread stage for elements that lie apart: a lane folds its part of a leaf as it folds any, once it is [gathered](crate::stages::load::gather).

use crate::{
    monoids::Monoid,
    simt::Simt,
    stages::{
        load::{
            extents::Extents,
            fragment::Fragment,
            gather::{Answer, Places},
            source::Source,
            transposed::{TransposedLoads, can_share, folds_half},
        },
        narrow,
        reduce::in_order::{self, Apart},
    },
    tree::{ROWS, row_elements},
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
    // The same for all lanes that read together: half of the leaf's rows.
    if folds_half::<T>() && answer.shares_words && left <= (ROWS / 2 * row_elements::<T>()) as u64 {
        // SAFETY: passed on to the caller.
        let words = unsafe { T::read(simt, T::map(places, TransposedLoads)) };
        let half = Fragment::<T, { ROWS / 2 }>::new(op, words, present, 0);
        return op.shift(half.fold(simt, op), first);
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
    op.shift(state, first)
}
