//! Thread stage for elements that lie apart: a lane reads its part of a leaf element by element, or with its neighbours by
//! [`shared_words`], and folds it as it folds any.

use super::{
    extents::Extents,
    in_order::{self, Apart},
    load::{
        ALL, Loads, Vectors, WORDS, each_row, element_loads, is_vector, load_element, rows_in_turns, vector,
        word_elements,
    },
    mask, narrow,
    part::{Loaded, is_cheaper_whole},
    shared_words::{self, SharedWords, can_share, folds_half, has_half},
    source::{At, Read, Source},
};
use crate::{
    element::Item,
    monoids::{Monoid, Words as _},
    simt::Simt,
    tree::{ROWS, place, row_elements, vector_elements},
};

/// Places from the first of a part to the last, and one.
const fn span<T: Item>() -> u32 {
    place::<T>(ROWS - 1, vector_elements::<T>()) as u32
}

/// The answer whose parts a lane folds.
#[derive(Clone, Copy)]
pub struct Answer<T: Source> {
    /// The first element of its extent, in each array.
    pub start: At<T>,
    /// Whether there is such an answer; the identity stands for one that there is not.
    pub exists: bool,
    /// Whether all 32 lanes fold neighbouring answers, the first lane one whose number is a multiple of 32, and
    /// [`do_share`](shared_words::do_share): then they read together.
    pub shares_words: bool,
}

/// Reads and folds a part of the extent of an answer, its elements lying anywhere, from element `first` on.
///
/// Called by: any thread; where words are shared, all 32 lanes together, with the same `first` · Valid in: every lane ·
/// Scratch: none
///
/// # Safety
///
/// `extents` are valid and unwritten for the whole launch, and so is their layout; the answer is of them.
#[inline(always)]
pub unsafe fn fold_part<S: Simt, T: Source, M: Monoid<T>>(
    simt: S,
    op: M,
    extents: Extents<T>,
    answer: Answer<T>,
    first: u64,
) -> M::State {
    let start = answer.start;
    if !M::COMMUTES {
        let len = if answer.exists { extents.len } else { 0 };
        // SAFETY: passed on to the caller.
        return unsafe { in_order::fold_part(simt, op, Apart { extents, start }, first, len) };
    }
    let left = u64::saturating_sub(extents.len, first);
    let present = narrow(simt, if answer.exists { left } else { 0 });
    let is_whole = present >= span::<T>();
    // The same for all lanes that read together.
    let is_half = folds_half::<T, M>() && answer.shares_words && has_half::<T>(left);
    let places = |is_whole| {
        move |array| Places {
            extents,
            array,
            start: T::of(start, array),
            first,
            present,
            is_whole,
        }
    };
    let shared = T::each(|array| SharedWords(places(false)(array)));
    if is_half {
        // SAFETY: passed on to the caller.
        let words = unsafe { T::read(simt, shared) };
        let state = Loaded::<T, { ROWS / 2 }> { words, present }.fold_whole_rows(op);
        return op.shift(state, first);
    }
    // SAFETY: passed on to the caller.
    let words = unsafe {
        if can_share::<T>() && answer.shares_words {
            T::read(simt, shared)
        } else if !answer.exists {
            return op.identity();
        } else if reads_whole::<T, M>() && is_whole && extents.layout.is_null() {
            T::read(simt, T::each(places(true)))
        } else {
            T::read(simt, T::each(places(false)))
        }
    };
    let loaded = Loaded::<T, ROWS> { words, present };
    let state = if !is_cheaper_whole::<T, M>() || M::FUSES && M::State::COUNT == 1 && !is_whole {
        // As it is; of exponentials of elements there is so much code that it stands here twice at most.
        loaded.fold(simt, op)
    } else if is_whole {
        // Anew, so that the two ways share nothing: else elements would be unpacked before they part.
        let words = T::map(words, |words| {
            each_row::<ROWS>(|row| words[row].map(|word| simt.anew(word)))
        });
        Loaded::<T, ROWS> { words, present: ALL }.fold(simt, op)
    } else {
        loaded.fold_by_rows(simt, op)
    };
    op.shift(state, first)
}

/// Whether a part of which no place is absent is read by loads of its own, that test nothing: where there are registers for so many at
/// once.
const fn reads_whole<T: Source, M: Monoid<T>>() -> bool {
    let is_dear = M::SELECTS || M::FUSES;
    is_cheaper_whole::<T, M>() && !T::MASKED && T::BYTES > 1 && !(T::BYTES == 2 && is_dear)
}

/// Where the elements of a part lie in one of the arrays: those from number `first` on of the extent that begins at `start`, of which
/// the first `present` places are present.
#[derive(Clone, Copy)]
pub(super) struct Places<T: Source> {
    pub(super) extents: Extents<T>,
    pub(super) array: usize,
    pub(super) start: *const T::Element,
    pub(super) first: u64,
    pub(super) present: u32,
    /// Whether it is known to the compiler that all are.
    is_whole: bool,
}

/// The words of a part, element by element.
impl<T: Source> Read<ROWS> for Places<T> {
    #[inline(always)]
    unsafe fn read<S: Simt>(self, simt: S) -> Vectors<ROWS> {
        // SAFETY: passed on to the caller.
        unsafe { load_part(simt, self) }
    }
    #[inline(always)]
    unsafe fn read_mask<S: Simt>(self, simt: S) -> Vectors<ROWS> {
        // SAFETY: passed on to the caller.
        unsafe { load_mask(simt, self) }
    }
}

/// The words of a part, element by element.
///
/// # Safety
///
/// As [`fold_part`].
#[inline(always)]
unsafe fn load_part<S: Simt, T: Source>(simt: S, places: Places<T>) -> Vectors<ROWS> {
    let Places {
        extents,
        array,
        start,
        first,
        present,
        is_whole,
    } = places;
    if is_vector::<T>() {
        // SAFETY: passed on to the caller.
        return unsafe { load_vectors(simt, places) };
    }
    if extents.layout.is_null() {
        let element = |place: u64, from: *const T::Element| {
            let is_present = is_whole || (place as u32) < present;
            if T::BYTES != 2 && !is_present {
                return 0;
            }
            // Of two that share a word, the first of all for one that is absent: no load waits for another's test then.
            let from = if is_present { from } else { T::of(extents.start, array) };
            // SAFETY: passed on to the caller; the element is present, or the first of the first extent, which is not empty.
            unsafe { load_element(simt, from) }
        };
        // From one to the next: as multiples of the step, all offsets would be kept from one part to the next.
        let step = T::of(extents.step, array) as isize;
        let mut from = start.wrapping_offset(first as isize * step);
        let row_at = |row: usize| {
            let mut at = from;
            from = from.wrapping_offset(row_elements::<T>() as isize * step);
            vector::<T>(|column| {
                let element = element(place::<T>(row, column), at);
                at = at.wrapping_offset(step);
                element
            })
        };
        // So many small elements in turns, as `load_bytes` has its rows: each takes a register until it has its place.
        match (T::BYTES, is_whole) {
            (2, true) => rows_in_turns::<S, { rows_at_once(2, true) }>(simt, row_at),
            (2, false) => rows_in_turns::<S, { rows_at_once(2, false) }>(simt, row_at),
            (1, _) => rows_in_turns::<S, { rows_at_once(1, false) }>(simt, row_at),
            _ => each_row(row_at),
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
                // SAFETY: passed on to the caller; the element is present.
                bits = unsafe {
                    let offset = T::of(extents.within(simt, first + place), array);
                    load_element(simt, start.wrapping_offset(offset as isize))
                };
            }
            rows = moved_down::<T>(rows, bits);
            turn += 1;
        }
        rows
    }
}

/// Rows whose elements, of so many bytes, are on their way at once; fewer where each has an address of its own, for that takes registers.
const fn rows_at_once(bytes: usize, is_whole: bool) -> usize {
    match (bytes, is_whole) {
        (2, false) => 2,
        (1, _) | (2, true) => 4,
        _ => ROWS,
    }
}

/// The vectors of a part of elements that are vectors.
///
/// # Safety
///
/// As [`load_part`].
#[inline(always)]
unsafe fn load_vectors<S: Simt, T: Source>(simt: S, places: Places<T>) -> Vectors<ROWS> {
    let Places {
        extents,
        array,
        start,
        first,
        present,
        ..
    } = places;
    let load = |row: usize, offset: isize| {
        let is_present = (place::<T>(row, 0) as u32) < present;
        // SAFETY: passed on to the caller; an element is aligned.
        unsafe { simt.load_input_vector_if(is_present, start.wrapping_offset(offset).cast()) }
    };
    if extents.layout.is_null() {
        let step = T::of(extents.step, array) as isize;
        return each_row(|row| load(row, (first + place::<T>(row, 0)) as isize * step));
    }
    let mut rows = [[0; WORDS]; ROWS];
    // A number of turns that no compiler knows, as in `load_bytes`.
    let turns = simt.anew(ROWS as u32) as usize;
    let mut row = 0;
    while row < turns {
        let mut offset = 0;
        if (place::<T>(row, 0) as u32) < present {
            // SAFETY: passed on to the caller.
            offset = unsafe { T::of(extents.within(simt, first + place::<T>(row, 0)), array) } as isize;
        }
        let (before, read) = (rows, load(row, offset));
        rows = each_row(|i| if i + 1 < ROWS { before[i + 1] } else { read });
        row += 1;
    }
    rows
}

/// The bytes of a part's mask, one by one.
///
/// # Safety
///
/// As [`fold_part`].
#[inline(always)]
unsafe fn load_mask<S: Simt, T: Source>(simt: S, places: Places<T>) -> Vectors<ROWS> {
    let Places {
        extents,
        array,
        start,
        first,
        present,
        ..
    } = places;
    let start = start.cast::<u8>();
    let byte = |place: u64, from: *const u8| {
        if place as u32 >= present {
            return 0;
        }
        // SAFETY: passed on to the caller; the element is present.
        unsafe { simt.load_input_byte(from) }
    };
    let columns = vector_elements::<T>();
    if extents.layout.is_null() {
        let step = T::of(extents.step, array) as isize;
        let mut from = start.wrapping_offset(first as isize * step);
        let mut rows = [[0; WORDS]; ROWS];
        // A row a turn, which no compiler counts: all at once would take a register for each byte until it has its place.
        let mut turn = simt.anew(0);
        while turn < ROWS as u32 {
            let mut at = from;
            let read = mask::packed::<T>(|column| {
                let byte = byte(place::<T>(turn as usize, column), at);
                at = at.wrapping_offset(step);
                byte
            });
            from = from.wrapping_offset(row_elements::<T>() as isize * step);
            let before = rows;
            rows = each_row(|i| if i + 1 < ROWS { before[i + 1] } else { read });
            turn = simt.anew(turn + 1);
        }
        rows
    } else {
        // A bit each, which moves those before it down.
        let mut bits = [0_u32; WORDS];
        let turns = simt.anew((ROWS * columns) as u32) as usize;
        let mut turn = 0;
        while turn < turns {
            let place = place::<T>(turn / columns, turn % columns);
            let mut bit = 0;
            if (place as u32) < present {
                // SAFETY: passed on to the caller.
                let offset = unsafe { T::of(extents.within(simt, first + place), array) };
                bit = u32::from(byte(place, start.wrapping_offset(offset as isize)) != 0);
            }
            let [a, b, c, d] = bits;
            bits = [a >> 1 | b << 31, b >> 1 | c << 31, c >> 1 | d << 31, d >> 1 | bit << 31];
            turn += 1;
        }
        each_row(|row| {
            mask::packed::<T>(|column| {
                let at = (WORDS * 32 - ROWS * columns) + row * columns + column;
                bits[at / 32] >> (at % 32) & 1
            })
        })
    }
}

/// Vectors whose elements each take the place of the one before, `bits` being the last.
#[inline(always)]
fn moved_down<T: Item>(rows: Vectors<ROWS>, bits: u64) -> Vectors<ROWS> {
    let ahead = |row: usize, i: usize, by: usize| {
        let at = row * WORDS + i + by;
        if at < ROWS * WORDS {
            rows[at / WORDS][at % WORDS]
        } else {
            (bits >> (32 * (at - ROWS * WORDS))) as u32
        }
    };
    each_row(|row| {
        let word = |i: usize| match T::BYTES {
            8 => ahead(row, i, 2),
            4 => ahead(row, i, 1),
            bytes => rows[row][i] >> (8 * bytes) | ahead(row, i, 1) << (32 - 8 * bytes),
        };
        [word(0), word(1), word(2), word(3)]
    })
}

/// How many shuffles stand in the code of [`fold_part`].
#[must_use]
pub const fn shuffles<T: Source, M: Monoid<T>>() -> usize {
    if can_share::<T>() {
        u32::ilog2(word_elements::<T>() as u32) as usize * shared_words::rows::<T, M>() * WORDS * T::ARRAYS
    } else {
        0
    }
}

/// How many loads of elements and words stand in the code of [`fold_part`].
#[must_use]
pub const fn loads<T: Source, M: Monoid<T>>() -> Loads {
    let shared = if can_share::<T>() {
        shared_words::rows::<T, M>() * WORDS * T::ARRAYS
    } else {
        0
    };
    let whole = if reads_whole::<T, M>() {
        rows_at_once(T::BYTES, true)
    } else {
        0
    };
    let rows = whole + rows_at_once(T::BYTES, false);
    // The rows, and one element that an index is made for.
    let elements = element_loads::<T>(rows * vector_elements::<T>() + 1);
    // Of a mask a row, in a loop.
    let in_loops = if T::MASKED {
        (rows - 1) * vector_elements::<T>()
    } else {
        0
    };
    Loads {
        words: elements.words + shared - in_loops,
        ..elements
    }
}
