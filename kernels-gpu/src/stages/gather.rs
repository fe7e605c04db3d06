//! Thread stage for elements that lie apart: a lane reads its part of a leaf element by element, and folds it as it folds any.
//!
//! Small elements of neighbouring answers, if those lie side by side, share words. As many lanes as a word has elements then read
//! that many words together, each the elements of all their answers at another place, and exchange them:
//!
//! ```text
//! lane            0        1        2        3                   0        1        2        3
//! reads at place  0        1        2        3          has of   a        b        c        d
//!                 a₀b₀c₀d₀ a₁b₁c₁d₁ a₂b₂c₂d₂ a₃b₃c₃d₃            a₀a₁a₂a₃ b₀b₁b₂b₃ c₀c₁c₂c₃ d₀d₁d₂d₃
//! ```

use super::{
    extents::Extents,
    in_order::{self, Apart},
    load::{
        ALL, Loads, Vectors, WORDS, each_row, element_loads, is_vector, load_element, rows_in_turns, vector,
        word_elements,
    },
    mask, narrow,
    part::{Loaded, is_cheaper_whole},
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

/// Whether elements are small and have no mask, which would have to be exchanged in another way.
const fn shares_words<T: Source>() -> bool {
    word_elements::<T>() > 1 && !T::MASKED
}

/// Whether small elements of neighbouring answers share words, and each word has those of as many answers, in each array.
#[must_use]
pub fn share_words<T: Source>(extents: Extents<T>) -> bool {
    let elements = word_elements::<T>() as u64;
    let is_whole = |number: u64| number.is_multiple_of(elements);
    let places = T::zip(extents.start, T::zip(extents.stride, extents.step));
    shares_words::<T>()
        && extents.layout.is_null()
        && T::all(T::map(places, |(start, (stride, step))| {
            stride == 1 && start.addr().is_multiple_of(4) && is_whole(step as u64)
        }))
        && is_whole(extents.count)
}

/// The answer whose parts a lane folds.
#[derive(Clone, Copy)]
pub struct Answer<T: Source> {
    /// The first element of its extent, in each array.
    pub start: At<T>,
    /// Whether there is such an answer; the identity stands for one that there is not.
    pub exists: bool,
    /// Whether all 32 lanes fold neighbouring answers, the first lane one whose number is a multiple of 32, and
    /// [`share_words`]: then they read together.
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
        if shares_words::<T>() && answer.shares_words {
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

/// Whether half of a part, whose other half is absent, is read and exchanged by itself where words are shared: of elements of 2 bytes, of
/// which a leaf has so many that there are extents of less.
const fn folds_half<T: Source, M: Monoid<T>>() -> bool {
    shares_words::<T>() && T::BYTES == 2 && is_cheaper_whole::<T, M>() && !M::FUSES
}

/// Whether a part with `left` places before its extent's end has elements in at most half of its rows, in each at every place or none.
fn has_half<T: Item>(left: u64) -> bool {
    let row = row_elements::<T>() as u64;
    let of_row = left % row;
    left <= ROWS as u64 / 2 * row && (of_row == 0 || of_row >= vector_elements::<T>() as u64)
}

/// Where the elements of a part lie in one of the arrays: those from number `first` on of the extent that begins at `start`, of which
/// the first `present` places are present.
#[derive(Clone, Copy)]
struct Places<T: Source> {
    extents: Extents<T>,
    array: usize,
    start: *const T::Element,
    first: u64,
    present: u32,
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

/// The words of a part whose elements share theirs with the neighbours'.
#[derive(Clone, Copy)]
struct SharedWords<T: Source>(Places<T>);

impl<T: Source, const N: usize> Read<N> for SharedWords<T> {
    #[inline(always)]
    unsafe fn read<S: Simt>(self, simt: S) -> Vectors<N> {
        // SAFETY: passed on to the caller.
        unsafe { load_shared_words(simt, self.0) }
    }
    /// Never: elements that have a mask share no words.
    #[inline(always)]
    unsafe fn read_mask<S: Simt>(self, _: S) -> Vectors<N> {
        each_row(|_| [0; WORDS])
    }
}

/// The words of a part's first `N` rows, whose elements share theirs with the neighbours'.
///
/// Called by: all 32 lanes together, with the same `first` · Valid in: every lane · Scratch: none
///
/// # Safety
///
/// As [`fold_part`].
#[inline(always)]
unsafe fn load_shared_words<S: Simt, T: Source, const N: usize>(simt: S, places: Places<T>) -> Vectors<N> {
    let Places {
        start, first, present, ..
    } = places;
    let elements = word_elements::<T>();
    let place_in_word = simt.lane() % elements as u32;
    let step = T::of(places.extents.step, places.array) as isize;
    let left = simt.anew(u32::saturating_sub(present, place_in_word));
    let offset = (first + u64::from(place_in_word)) as isize * step - place_in_word as isize;
    let mut from = start.wrapping_offset(offset);
    // All are read before any is exchanged.
    let read = each_row::<N>(|row| {
        let mut at = from;
        from = from.wrapping_offset(row_elements::<T>() as isize * step);
        let mut word = |i: usize| {
            let here = at;
            at = at.wrapping_offset(elements as isize * step);
            if place::<T>(row, i * elements) as u32 >= left {
                return 0;
            }
            // SAFETY: passed on to the caller; the word is of as many answers as it has elements, all at a place that is present.
            unsafe { simt.load_input(here.cast()) }
        };
        [word(0), word(1), word(2), word(3)]
    });
    each_row(|row| read[row].map(|word| exchanged::<S, T>(simt, word)))
}

/// Of the words that some lanes read, each at another place, this lane's answer's elements at all of these places.
///
/// Called by: all 32 lanes together · Valid in: every lane · Scratch: none
#[inline(always)]
fn exchanged<S: Simt, T: Item>(simt: S, word: u32) -> u32 {
    let meet = |word: u32, reach: u32, [first, second]: [u32; 2]| {
        let digits = if simt.lane() & reach == 0 { first } else { second };
        simt.permute(word, simt.shuffle_xor(word, reach), digits)
    };
    // Halves of words; bytes, and then halves.
    if T::BYTES == 2 {
        meet(word, 1, [0x5410, 0x3276])
    } else {
        meet(meet(word, 1, [0x6240, 0x3715]), 2, [0x5410, 0x3276])
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

/// How many rows of words that are shared are read in the code of [`fold_part`].
const fn shared_rows<T: Source, M: Monoid<T>>() -> usize {
    if folds_half::<T, M>() { ROWS + ROWS / 2 } else { ROWS }
}

/// How many shuffles stand in the code of [`fold_part`].
#[must_use]
pub const fn shuffles<T: Source, M: Monoid<T>>() -> usize {
    if shares_words::<T>() {
        u32::ilog2(word_elements::<T>() as u32) as usize * shared_rows::<T, M>() * WORDS * T::ARRAYS
    } else {
        0
    }
}

/// How many loads of elements and words stand in the code of [`fold_part`].
#[must_use]
pub const fn loads<T: Source, M: Monoid<T>>() -> Loads {
    let shared = if shares_words::<T>() {
        shared_rows::<T, M>() * WORDS * T::ARRAYS
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
