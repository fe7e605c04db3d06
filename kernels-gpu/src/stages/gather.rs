//! Thread stage for elements that lie apart: a lane reads its part of a leaf element by element, and folds it as it folds any.

use super::{
    extents::Extents,
    narrow,
    thread::{Loaded, Vectors, WORDS, each_row, load_element},
};
use crate::{
    element::Element,
    monoids::Monoid,
    simt::Simt,
    tree::{ROWS, place, row_elements, vector_elements},
};

/// Reads and folds a part of an extent whose elements lie anywhere, `start` being the first of them, from element `first` on.
///
/// Called by: any thread · Valid in: every lane · Scratch: none
///
/// # Safety
///
/// `extents` are valid and unwritten for the whole launch, and so is their layout.
#[inline(always)]
pub unsafe fn fold_part<S: Simt, T: Element, M: Monoid<T>>(
    simt: S,
    op: M,
    extents: Extents<T>,
    start: *const T,
    first: u64,
) -> M::State {
    let present = narrow(simt, u64::saturating_sub(extents.len, first));
    let element = |place: u64, from: *const T| {
        if place as u32 >= present {
            return 0;
        }
        // SAFETY: passed on to the caller; the element is present.
        unsafe { load_element(simt, from) }
    };
    let words = if extents.layout.is_null() {
        // From one to the next: as multiples of the step, all offsets would be kept from one part to the next.
        let step = extents.step as isize;
        let mut from = start.wrapping_offset(first as isize * step);
        let mut row_at = |row: usize| {
            let mut at = from;
            from = from.wrapping_offset(row_elements::<T>() as isize * step);
            vector::<T>(|column| {
                let element = element(place::<T>(row, column), at);
                at = at.wrapping_offset(step);
                element
            })
        };
        if size_of::<T>() < 4 {
            // So many small elements in two turns, as `load_bytes` has its rows: each takes a register until it has its place.
            let mut rows = [[0; WORDS]; ROWS];
            let turns = simt.anew(2) as usize;
            let mut turn = 0;
            while turn < turns {
                let read = each_row::<{ ROWS / 2 }>(|row| row_at(turn * (ROWS / 2) + row));
                let before = rows;
                rows = each_row(|i| {
                    if i < ROWS / 2 {
                        before[i + ROWS / 2]
                    } else {
                        read[i - ROWS / 2]
                    }
                });
                turn += 1;
            }
            rows
        } else {
            each_row(row_at)
        }
    } else {
        // One by one, and as little code as that takes: each moves those before it down.
        let mut rows = [[0; WORDS]; ROWS];
        // A number of turns that no compiler knows, as in `load_bytes`.
        let turns = simt.anew((ROWS * vector_elements::<T>()) as u32) as usize;
        let mut turn = 0;
        while turn < turns {
            let place = place::<T>(turn / vector_elements::<T>(), turn % vector_elements::<T>());
            let mut bits = 0;
            if (place as u32) < present {
                // SAFETY: passed on to the caller.
                let offset = unsafe { extents.within(simt, first + place) };
                bits = element(place, start.wrapping_offset(offset as isize));
            }
            rows = moved_down::<T>(rows, bits);
            turn += 1;
        }
        rows
    };
    op.shift(op.fold_part(Loaded { words, present }), first)
}

/// Vectors whose elements each take the place of the one before, `bits` being the last.
#[inline(always)]
fn moved_down<T>(rows: Vectors<ROWS>, bits: u64) -> Vectors<ROWS> {
    let ahead = |row: usize, i: usize, by: usize| {
        let at = row * WORDS + i + by;
        if at < ROWS * WORDS {
            rows[at / WORDS][at % WORDS]
        } else {
            (bits >> (32 * (at - ROWS * WORDS))) as u32
        }
    };
    each_row(|row| {
        let word = |i: usize| match size_of::<T>() {
            8 => ahead(row, i, 2),
            4 => ahead(row, i, 1),
            bytes => rows[row][i] >> (8 * bytes) | ahead(row, i, 1) << (32 - 8 * bytes),
        };
        [word(0), word(1), word(2), word(3)]
    })
}

/// How many loads of elements stand in the code of [`fold_part`].
#[must_use]
pub const fn loads<T>() -> usize {
    let words = if size_of::<T>() == 8 { 2 } else { 1 };
    let rows = if size_of::<T>() < 4 { ROWS / 2 } else { ROWS };
    (rows * vector_elements::<T>() + 1) * words
}

/// A vector made of its elements, which are asked for in order.
#[inline(always)]
fn vector<T>(mut element: impl FnMut(usize) -> u64) -> [u32; WORDS] {
    if size_of::<T>() == 8 {
        let (a, b) = (element(0), element(1));
        return [a as u32, (a >> 32) as u32, b as u32, (b >> 32) as u32];
    }
    let mut word = |i: usize| match size_of::<T>() {
        1 => {
            let mut byte = |column: usize| (element(4 * i + column) as u32) << (8 * column);
            byte(0) | byte(1) | byte(2) | byte(3)
        }
        2 => element(2 * i) as u32 | (element(2 * i + 1) as u32) << 16,
        _ => element(i) as u32,
    };
    [word(0), word(1), word(2), word(3)]
}
