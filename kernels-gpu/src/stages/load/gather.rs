//! Elements that lie apart: a lane reads those of its part of a leaf one by one; with its neighbours by [`transposed`](super::transposed) loads.

use crate::{
    element::Item,
    simt::Simt,
    stages::{
        load::{
            extents::Extents,
            mask,
            source::{At, Read, Source, load_item},
            words::{
                Filler, Vectors, WORDS, absent_bits, each_row, filled, is_vector, load_element, rows_in_turns, vector,
                word_elements,
            },
        },
        narrow,
    },
    tree::{ROWS, place, row_elements, vector_elements},
};

/// The answer whose parts a lane folds.
#[derive(Clone, Copy)]
pub struct Answer<T: Source> {
    /// The first element of its extent, in each array.
    pub(super) start: At<T>,
    exists: bool,
    shares_words: bool,
}

impl<T: Source> Answer<T> {
    /// Whether there is such an answer; the identity stands for one that there is not.
    pub fn exists(self) -> bool {
        self.exists
    }

    /// Whether lanes read together.
    pub fn shares_words(self) -> bool {
        self.shares_words
    }
}

impl<T: Source> Extents<T> {
    /// The answer of that number. If all 32 lanes ask for neighbours, the first lane for one whose number is a multiple of 32, they read together where
    /// they [share words](do_share).
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn answer<S: Simt>(self, simt: S, number: u64, are_neighbours: bool) -> Answer<T> {
        let exists = number < self.count;
        Answer {
            start: self.first(simt, if exists { number } else { 0 }),
            exists,
            shares_words: are_neighbours && do_share(self),
        }
    }

    /// The element of that number of an answer's extent, if there is one.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn get<S: Simt>(self, simt: S, answer: Answer<T>, number: u64) -> Option<T> {
        if !answer.exists || number >= self.len {
            return None;
        }
        let offset = T::map(self.within(simt, number), |offset| offset as isize);
        // SAFETY: it is one of this view's.
        Some(unsafe { load_item(simt, T::further(answer.start, offset)) })
    }

    /// Where the elements of an answer's part lie in each array, from element `first` on.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn places<S: Simt>(self, simt: S, answer: Answer<T>, first: u64, filler: Option<T>) -> T::Each<Places<T>> {
        let left = u64::saturating_sub(self.len, first);
        let present = narrow(simt, if answer.exists { left } else { 0 });
        let fillers = T::fillers(filler);
        T::each(|array| Places {
            extents: self,
            array,
            start: T::of(answer.start, array),
            first,
            present,
            filler: T::of(fillers, array),
        })
    }
}

/// Whether elements are small and have no mask, which would have to be exchanged in another way.
pub(crate) const fn can_share<T: Source>() -> bool {
    word_elements::<T>() > 1 && !T::MASKED
}

/// Whether small elements of neighbouring answers share words, and each word has those of as many answers, in each array.
#[must_use]
pub fn do_share<T: Source>(extents: Extents<T>) -> bool {
    let elements = word_elements::<T>() as u64;
    let is_whole = |number: u64| number.is_multiple_of(elements);
    let places = T::zip(extents.start, T::zip(extents.stride, extents.step));
    can_share::<T>()
        && extents.layout.is_null()
        && T::all(T::map(places, |(start, (stride, step))| {
            stride == 1 && start.addr().is_multiple_of(4) && is_whole(step as u64)
        }))
        && is_whole(extents.count)
}

/// Where the elements of a part lie in one of the arrays.
#[derive(Clone, Copy)]
pub struct Places<T: Source> {
    /// The extents.
    pub(super) extents: Extents<T>,
    /// Which of the arrays.
    pub(super) array: usize,
    /// The first element of the extent there.
    pub(super) start: *const T::Element,
    /// The number of the part's first element.
    pub(super) first: u64,
    /// How many places have elements: the first.
    pub(super) present: u32,
    /// What stands at the others, if anything matters.
    pub(super) filler: Filler,
}

/// The words of a part, element by element.
impl<T: Source> Read<ROWS> for Places<T> {
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn read<S: Simt>(self, simt: S) -> Vectors<ROWS> {
        if is_vector::<T>() {
            load_vectors(simt, self)
        } else if self.extents.layout.is_null() {
            load_with_step(simt, self)
        } else {
            load_by_layout(simt, self)
        }
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn read_mask<S: Simt>(self, simt: S) -> Vectors<ROWS> {
        if !mask::is_there(self.start) {
            let all = mask::all::<T, ROWS>(self.present);
            return filled::<T, ROWS>(all, self.present, 1, mask::NOTHING);
        }
        if self.extents.layout.is_null() {
            load_mask_with_step(simt, self)
        } else {
            load_mask_by_layout(simt, self)
        }
    }
}

impl<T: Source> Places<T> {
    /// How many places have elements.
    pub(crate) fn present(self) -> u32 {
        self.present
    }

    /// Whether elements stand for several indices, and are no step apart.
    pub(crate) fn has_layout(self) -> bool {
        !self.extents.layout.is_null()
    }

    /// The elements of a column of a part, as a vector of them; the extent's first where there is none. They have as many rows as a vector has elements. The extent is not empty, and its elements
    /// are a step apart.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(crate) fn column<S: Simt>(self, simt: S, column: u32) -> [u32; WORDS] {
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
            // SAFETY: the element is present, or the first of its extent.
            unsafe { load_element(simt, from) }
        })
    }

    /// The bits of an element of a part that stands for several indices, if it is present.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(crate) fn get<S: Simt>(self, simt: S, place: u64) -> Option<u64> {
        if place as u32 >= self.present {
            return None;
        }
        let offset = T::of(self.extents.within_layout(simt, self.first + place), self.array);
        // SAFETY: the element is present.
        Some(unsafe { load_element(simt, self.start.wrapping_offset(offset as isize)) })
    }
}

/// The words of a part of elements that are one step apart.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn load_with_step<S: Simt, T: Source>(simt: S, places: Places<T>) -> Vectors<ROWS> {
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
        // SAFETY: the element is present, or the first of its extent, which is not empty where a part of it is asked for.
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
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn load_by_layout<S: Simt, T: Source>(simt: S, places: Places<T>) -> Vectors<ROWS> {
    let mut rows = [[0; WORDS]; ROWS];
    // A number of turns that no compiler knows, as in `load_elements`.
    let turns = simt.opaque((ROWS * vector_elements::<T>()) as u32) as usize;
    let mut turn = 0;
    while turn < turns {
        let place = place::<T>(turn / vector_elements::<T>(), turn % vector_elements::<T>());
        let bits = places.get(simt, place).unwrap_or(absent_bits::<T>(places.filler));
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
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn load_vectors<S: Simt, T: Source>(simt: S, places: Places<T>) -> Vectors<ROWS> {
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
        // SAFETY: it is read if it is present; an element is aligned.
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
            offset = T::of(extents.within_layout(simt, first + place::<T>(row, 0)), array) as isize;
        }
        let (before, read) = (rows, load(row, offset));
        rows = each_row(|i| if i + 1 < ROWS { before[i + 1] } else { read });
        row += 1;
    }
    rows
}

/// The bytes of a mask that are one step apart.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn load_mask_with_step<S: Simt, T: Source>(simt: S, places: Places<T>) -> Vectors<ROWS> {
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
                // SAFETY: the element is present.
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
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn load_mask_by_layout<S: Simt, T: Source>(simt: S, places: Places<T>) -> Vectors<ROWS> {
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
            let offset = T::of(extents.within_layout(simt, first + place), array);
            // SAFETY: the element is present.
            let byte = unsafe { simt.load_input_byte(start.wrapping_offset(offset as isize)) };
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
