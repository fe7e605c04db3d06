//! Elements that lie apart: a lane reads those of its part of a leaf one by one; with its neighbours by [`transposed`](super::transposed) loads.

use crate::{
    element::Item,
    simt::Simt,
    stages::load::{
        extents::Extents,
        mask,
        source::{At, Read, Source},
        words::{
            Filler, Vectors, WORDS, absent_bits, each_row, filled, is_vector, load_element, rows_in_turns, vector,
        },
    },
    tree::{ROWS, place, row_elements, vector_elements},
};

/// The answer whose parts a lane folds.
#[derive(Clone, Copy)]
pub struct Answer<T: Source> {
    /// The first element of its extent, in each array.
    pub start: At<T>,
    /// Whether there is such an answer; the identity stands for one that there is not.
    pub exists: bool,
    /// Whether all 32 lanes fold neighbouring answers, the first lane one whose number is a multiple of 32, and
    /// [`do_share`](crate::stages::load::transposed::do_share): then they read together.
    pub shares_words: bool,
}

/// Where the elements of a part lie in one of the arrays.
#[derive(Clone, Copy)]
pub struct Places<T: Source> {
    /// The extents.
    pub extents: Extents<T>,
    /// Which of the arrays.
    pub array: usize,
    /// The first element of the extent there.
    pub start: *const T::Element,
    /// The number of the part's first element.
    pub first: u64,
    /// How many places have elements: the first.
    pub present: u32,
    /// What stands at the others, if anything matters.
    pub filler: Filler,
}

/// The words of a part, element by element.
impl<T: Source> Read<ROWS> for Places<T> {
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn read<S: Simt>(self, simt: S) -> Vectors<ROWS> {
        // SAFETY: passed on to the caller.
        unsafe { load_part(simt, self) }
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn read_mask<S: Simt>(self, simt: S) -> Vectors<ROWS> {
        if !mask::is_there(self.start) {
            let all = mask::all::<T, ROWS>(self.present);
            return filled::<T, ROWS>(all, self.present, 1, mask::NOTHING);
        }
        // SAFETY: passed on to the caller.
        unsafe { load_mask(simt, self) }
    }
}

impl<T: Source> Places<T> {
    /// The elements of a column of a part, as a vector of them; the extent's first where there is none. They have as many rows as a vector has elements.
    ///
    /// # Safety
    ///
    /// As [`fold_part`](crate::stages::reduce::apart::fold_part), of an extent that is not empty and whose elements are a step apart.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub unsafe fn column<S: Simt>(self, simt: S, column: u32) -> [u32; WORDS] {
        debug_assert!(vector_elements::<T>() == ROWS, "a column fills a vector");
        let step = T::of(self.extents.step, self.array) as isize;
        let mut at = self
            .start
            .wrapping_offset((self.first + u64::from(column)) as isize * step);
        let mut place = column;
        vector::<T>(|_| {
            let from = if place < self.present { at } else { self.start };
            place += row_elements::<T>() as u32;
            at = at.wrapping_offset(row_elements::<T>() as isize * step);
            // SAFETY: passed on to the caller; the element is present, or the first of its extent.
            unsafe { load_element(simt, from) }
        })
    }

    /// The bits of an element of a part that stands for several indices.
    ///
    /// # Safety
    ///
    /// As [`fold_part`](crate::stages::reduce::apart::fold_part); it is present.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub unsafe fn element<S: Simt>(self, simt: S, place: u64) -> u64 {
        // SAFETY: passed on to the caller.
        unsafe {
            let offset = T::of(self.extents.within(simt, self.first + place), self.array);
            load_element(simt, self.start.wrapping_offset(offset as isize))
        }
    }
}

/// The words of a part, element by element.
///
/// # Safety
///
/// As [`fold_part`](crate::stages::reduce::apart::fold_part).
#[cfg_attr(target_arch = "nvptx64", inline(always))]
unsafe fn load_part<S: Simt, T: Source>(simt: S, places: Places<T>) -> Vectors<ROWS> {
    // SAFETY: passed on to the caller.
    unsafe {
        if is_vector::<T>() {
            load_vectors(simt, places)
        } else if places.extents.layout.is_null() {
            load_with_step(simt, places)
        } else {
            load_by_layout(simt, places)
        }
    }
}

/// Those that are one step apart.
///
/// # Safety
///
/// As [`load_part`].
#[cfg_attr(target_arch = "nvptx64", inline(always))]
unsafe fn load_with_step<S: Simt, T: Source>(simt: S, places: Places<T>) -> Vectors<ROWS> {
    let Places {
        extents,
        array,
        start,
        first,
        present,
        filler,
    } = places;
    let absent = absent_bits::<T>(filler);
    let element = |place: u64, from: *const T::Element| {
        let is_present = (place as u32) < present;
        if T::BYTES != 2 && !is_present {
            return absent;
        }
        // Of two that share a word, the extent's first for one that is absent: no load waits for another's test then.
        let from = if is_present { from } else { start };
        // SAFETY: passed on to the caller; the element is present, or the first of its extent, which is not empty.
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
    // So many small elements in turns, as `load_elements` has its rows: each takes a register until it has its place.
    match T::BYTES {
        2 => filled_by_row::<S, T>(simt, rows_in_turns::<S, 2>(simt, row_at), present, filler),
        1 => rows_in_turns::<S, 4>(simt, row_at),
        _ => each_row(row_at),
    }
}

/// Those that stand for several indices: one by one, and as little code as that takes. Each moves those before it down.
///
/// # Safety
///
/// As [`load_part`].
#[cfg_attr(target_arch = "nvptx64", inline(always))]
unsafe fn load_by_layout<S: Simt, T: Source>(simt: S, places: Places<T>) -> Vectors<ROWS> {
    let mut rows = [[0; WORDS]; ROWS];
    // A number of turns that no compiler knows, as in `load_elements`.
    let turns = simt.opaque((ROWS * vector_elements::<T>()) as u32) as usize;
    let mut turn = 0;
    while turn < turns {
        let place = place::<T>(turn / vector_elements::<T>(), turn % vector_elements::<T>());
        let mut bits = absent_bits::<T>(places.filler);
        if (place as u32) < places.present {
            // SAFETY: passed on to the caller; the element is present.
            bits = unsafe { places.element(simt, place) };
        }
        rows = moved_down::<T>(rows, bits);
        turn += 1;
    }
    rows
}

/// Vectors with a filler in all places but the first `present`: of elements that were read whether they are there or not. A row a turn, the
/// others moving down: few parts are not whole.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn filled_by_row<S: Simt, T: Item>(simt: S, vectors: Vectors<ROWS>, present: u32, filler: Filler) -> Vectors<ROWS> {
    let mut rows = vectors;
    if filler.is_none() || place::<T>(ROWS - 1, vector_elements::<T>()) as u32 <= present {
        return rows;
    }
    let (turns, mut turn) = (simt.opaque(ROWS as u32), 0);
    while turn < turns {
        let here = u32::saturating_sub(present, turn * row_elements::<T>() as u32);
        let [row] = filled::<T, 1>([rows[0]], here, T::BYTES, filler);
        let before = rows;
        rows = each_row(|i| if i + 1 < ROWS { before[i + 1] } else { row });
        turn += 1;
    }
    rows
}

/// The vectors of a part of elements that are vectors.
///
/// # Safety
///
/// As [`load_part`].
#[cfg_attr(target_arch = "nvptx64", inline(always))]
unsafe fn load_vectors<S: Simt, T: Source>(simt: S, places: Places<T>) -> Vectors<ROWS> {
    let Places {
        extents,
        array,
        start,
        first,
        present,
        filler,
    } = places;
    let load = |row: usize, offset: isize| {
        let is_present = (place::<T>(row, 0) as u32) < present;
        // SAFETY: passed on to the caller; an element is aligned.
        unsafe {
            simt.load_input_vector_if(
                is_present,
                start.wrapping_offset(offset).cast(),
                filler.unwrap_or_default(),
            )
        }
    };
    if extents.layout.is_null() {
        let step = T::of(extents.step, array) as isize;
        return each_row(|row| load(row, (first + place::<T>(row, 0)) as isize * step));
    }
    let mut rows = [[0; WORDS]; ROWS];
    // A number of turns that no compiler knows, as in `load_elements`.
    let turns = simt.opaque(ROWS as u32) as usize;
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
/// As [`fold_part`](crate::stages::reduce::apart::fold_part).
#[cfg_attr(target_arch = "nvptx64", inline(always))]
unsafe fn load_mask<S: Simt, T: Source>(simt: S, places: Places<T>) -> Vectors<ROWS> {
    // SAFETY: passed on to the caller.
    unsafe {
        if places.extents.layout.is_null() {
            load_mask_with_step(simt, places)
        } else {
            load_mask_by_layout(simt, places)
        }
    }
}

/// Those of a mask that are one step apart.
///
/// # Safety
///
/// As [`load_part`].
#[cfg_attr(target_arch = "nvptx64", inline(always))]
unsafe fn load_mask_with_step<S: Simt, T: Source>(simt: S, places: Places<T>) -> Vectors<ROWS> {
    let Places {
        extents,
        array,
        start,
        first,
        present,
        ..
    } = places;
    let start = start.cast::<u8>();
    let step = T::of(extents.step, array) as isize;
    let mut from = start.wrapping_offset(first as isize * step);
    let mut rows = [[0; WORDS]; ROWS];
    // A row a turn, which no compiler counts: all at once would take a register for each byte until it has its place.
    let mut turn = simt.opaque(0);
    while turn < ROWS as u32 {
        let mut at = from;
        let read = mask::packed::<T>(|column| {
            let byte = if (place::<T>(turn as usize, column) as u32) < present {
                // SAFETY: passed on to the caller; the element is present.
                unsafe { simt.load_input_byte(at) }
            } else {
                0
            };
            at = at.wrapping_offset(step);
            byte
        });
        from = from.wrapping_offset(row_elements::<T>() as isize * step);
        let before = rows;
        rows = each_row(|i| if i + 1 < ROWS { before[i + 1] } else { read });
        turn = simt.opaque(turn + 1);
    }
    rows
}

/// Those of a mask that stand for several indices.
///
/// # Safety
///
/// As [`load_part`].
#[cfg_attr(target_arch = "nvptx64", inline(always))]
unsafe fn load_mask_by_layout<S: Simt, T: Source>(simt: S, places: Places<T>) -> Vectors<ROWS> {
    let Places {
        extents,
        array,
        start,
        first,
        present,
        ..
    } = places;
    let start = start.cast::<u8>();
    let columns = vector_elements::<T>();
    // A bit each, which moves those before it down.
    let mut bits = [0_u32; WORDS];
    let turns = simt.opaque((ROWS * columns) as u32) as usize;
    let mut turn = 0;
    while turn < turns {
        let place = place::<T>(turn / columns, turn % columns);
        let mut bit = 0;
        if (place as u32) < present {
            // SAFETY: passed on to the caller; the element is present.
            let byte = unsafe {
                let offset = T::of(extents.within(simt, first + place), array);
                simt.load_input_byte(start.wrapping_offset(offset as isize))
            };
            bit = u32::from(byte != 0);
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

/// Vectors whose elements each take the place of the one before, `bits` being the last.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
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
