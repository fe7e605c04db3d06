//! Thread stage: a lane folds its part of a leaf in registers.

use super::{
    extents::{Around, Input},
    narrow,
};
use crate::{
    element::Element,
    monoids::Monoid,
    simt::Simt,
    tree::{self, LANES, Part, ROWS, VECTOR_BYTES, leaf_elements, place, row_elements, vector_elements},
};

/// 32-bit words in a vector.
pub(super) const WORDS: usize = VECTOR_BYTES / 4;

/// A lane's vectors of as many rows of a leaf.
pub(super) type Vectors<const N: usize> = [[u32; WORDS]; N];

/// This lane's part of a whole leaf: one vector of each row.
#[derive(Clone, Copy)]
pub struct Rows {
    words: Vectors<ROWS>,
    base: u64,
}

/// Whether leaves that are whole but not aligned are read as aligned ones are, all at once, only by words: for operators that
/// may then skip them. Others are as fast reading elements as they fold them, and spare themselves the registers.
#[must_use]
pub const fn loads_words<T: Element, M: Monoid<T>>() -> bool {
    M::SELECTS && size_of::<T>() >= 4
}

/// How many leaves [`load_leaf`] can read: the first.
#[must_use]
pub fn loadable_leaves<T: Element, M: Monoid<T>>(input: Input<T>) -> u64 {
    if loads_words::<T, M>() || input.is_aligned() {
        input.whole_leaves()
    } else {
        0
    }
}

/// Reads this lane's part of leaf `leaf`, all eight vectors in flight together.
///
/// Called by: any thread · Valid in: every lane, its own columns · Scratch: none
///
/// # Safety
///
/// `input` is valid and unwritten for the whole launch, and `leaf` is one of its [`loadable_leaves`].
#[inline(always)]
pub unsafe fn load_leaf<S: Simt, T: Element, M: Monoid<T>>(simt: S, input: Input<T>, leaf: u64) -> Rows {
    let base = base::<S, T>(simt, leaf);
    let from = input.start.wrapping_add(base as usize);
    // SAFETY: a whole leaf lies inside the input; a lane's vectors keep its alignment, and words that of their elements.
    let words = unsafe {
        if loads_words::<T, M>() && !input.is_aligned() {
            load_words::<S, T, ROWS>(simt, from, ALL)
        } else {
            load_wide::<S, T, ROWS>(simt, from, ALL)
        }
    };
    Rows { words, base }
}

impl Rows {
    /// Folds what was read to one state.
    #[inline(always)]
    pub fn fold<T: Element, M: Monoid<T>>(self, op: M) -> M::State {
        let words = self.words;
        op.shift(op.fold_part(Loaded { words, present: ALL }), self.base)
    }

    /// The same, for a second look that shares nothing with the first: registers are dearer than instructions.
    #[inline(always)]
    pub fn anew<S: Simt>(self, simt: S) -> Self {
        let [a, b, c, d, e, f, g, h] = self.words;
        let row = |row: [u32; WORDS]| row.map(|word| simt.anew(word));
        let words = [row(a), row(b), row(c), row(d), row(e), row(f), row(g), row(h)];
        Self { words, ..self }
    }

    /// Whether any element could change a fold of earlier elements, `best`.
    #[inline(always)]
    pub fn may_change<T: Element, M: Monoid<T>>(self, op: M, best: M::State) -> bool {
        let part = Loaded {
            words: self.words,
            present: ALL,
        };
        tree::chain(MayChange { op, best }, part)
    }
}

/// Whether any element could change a fold.
#[derive(Clone, Copy)]
struct MayChange<M, State> {
    op: M,
    best: State,
}

impl<T: Element, M: Monoid<T>> Monoid<T> for MayChange<M, M::State> {
    type State = bool;
    type Answer = bool;

    #[inline(always)]
    fn identity(self) -> bool {
        false
    }
    #[inline(always)]
    fn lift(self, value: T, _: u64) -> bool {
        self.op.may_change(self.best, value)
    }
    #[inline(always)]
    fn combine(self, a: bool, b: bool) -> bool {
        a | b
    }
    #[inline(always)]
    fn finish(self, any: bool, _: u64) -> bool {
        any
    }
    #[inline(always)]
    fn empty(self) -> Option<bool> {
        Some(false)
    }
}

/// As many places as a part may have: all hold elements.
pub(super) const ALL: u32 = u32::MAX;

/// A part that was read, of which the first `present` places hold elements.
#[derive(Clone, Copy)]
pub(super) struct Loaded<const N: usize> {
    pub(super) words: Vectors<N>,
    pub(super) present: u32,
}

impl<T: Element, const N: usize> Part<T> for Loaded<N> {
    const ROWS: usize = N;

    #[inline(always)]
    fn lift<M: Monoid<T>>(self, op: M, row: usize, column: usize) -> M::State {
        let place = place::<T>(row, column);
        if (place as u32) < self.present {
            op.lift(value(self.words[row], column), place)
        } else {
            op.identity()
        }
    }

    #[inline(always)]
    fn full(self) -> Option<Self> {
        let places = place::<T>(N - 1, vector_elements::<T>()) as u32;
        (self.present >= places).then_some(Self { present: ALL, ..self })
    }
}

/// A part that is read as it is folded, an element at a time, of which the first `present` places hold elements.
#[derive(Clone, Copy)]
struct Unloaded<S, T> {
    simt: S,
    from: *const T,
    present: u32,
}

impl<S: Simt, T: Element> Part<T> for Unloaded<S, T> {
    #[inline(always)]
    fn lift<M: Monoid<T>>(self, op: M, row: usize, column: usize) -> M::State {
        let place = place::<T>(row, column);
        if (place as u32) < self.present {
            // SAFETY: this element lies inside the input.
            let bits = unsafe { load_element(self.simt, self.from.wrapping_add(place as usize)) };
            op.lift(T::from_bits(bits), place)
        } else {
            op.identity()
        }
    }
}

/// An element's bytes.
///
/// # Safety
///
/// `from` is valid for an element, aligned and unwritten.
#[inline(always)]
pub(super) unsafe fn load_element<S: Simt, T>(simt: S, from: *const T) -> u64 {
    // SAFETY: passed on to the caller.
    unsafe {
        match size_of::<T>() {
            1 => u64::from(simt.load_input_byte(from.cast())),
            2 => u64::from(simt.load_input_short(from.cast())),
            4 => u64::from(simt.load_input(from.cast())),
            _ => {
                let low = u64::from(simt.load_input(from.cast()));
                low | u64::from(simt.load_input(from.cast::<u32>().wrapping_add(1))) << 32
            }
        }
    }
}

/// Element `column` of a vector.
#[inline(always)]
fn value<T: Element>(words: [u32; WORDS], column: usize) -> T {
    let bytes = size_of::<T>();
    let first = column * bytes;
    let word = u64::from(words[first / 4]);
    T::from_bits(if bytes == 8 {
        word | u64::from(words[first / 4 + 1]) << 32
    } else {
        word >> (8 * (first % 4))
    })
}

/// Reads and folds this lane's part of a leaf of any alignment and length, places past the end giving the identity.
///
/// Called by: any thread · Valid in: every lane, its own columns · Scratch: none
///
/// # Safety
///
/// `input` is valid and unwritten for the whole launch, and so is what is around it.
#[inline(always)]
pub unsafe fn fold_ragged<S: Simt, T: Element, M: Monoid<T>>(simt: S, op: M, input: Input<T>, leaf: u64) -> M::State {
    let base = base::<S, T>(simt, leaf);
    let from = input.start.wrapping_add(base as usize);
    if M::REREADS {
        let present = narrow(simt, u64::saturating_sub(input.len, base));
        // SAFETY: passed on to the caller; a whole leaf lies inside the input.
        let words = unsafe {
            if input.is_aligned() && leaf < input.whole_leaves() {
                load_wide::<S, T, ROWS>(simt, from, ALL)
            } else {
                load_ragged::<S, T, ROWS>(simt, from, present, input.around)
            }
        };
        return op.shift(op.fold_part(Loaded { words, present }), base);
    }
    if size_of::<T>() < 4 && input.is_shifted(leaf) {
        // SAFETY: every word that the leaf touches may be read.
        let words = unsafe { load_words::<S, T, ROWS>(simt, from, ALL) };
        return Rows { words, base }.fold(op);
    }
    let present = narrow(simt, u64::saturating_sub(input.len, base));
    let state = if size_of::<T>() < 4 {
        // SAFETY: passed on to the caller.
        let words = unsafe { load_bytes::<S, T, ROWS>(simt, from, present) };
        op.fold_part(Loaded { words, present })
    } else {
        op.fold_part(Unloaded { simt, from, present })
    };
    op.shift(state, base)
}

/// `N` vectors, a row apart, of which the first `present` places hold elements. What is read of the others is anything.
///
/// # Safety
///
/// `from` is valid for `present` places' elements, and `around` for all of itself, and nobody writes them.
#[inline(always)]
unsafe fn load_ragged<S: Simt, T: Element, const N: usize>(
    simt: S,
    from: *const T,
    present: u32,
    around: Around,
) -> Vectors<N> {
    if size_of::<T>() >= 4 {
        // SAFETY: passed on to the caller.
        return unsafe { load_words::<S, T, N>(simt, from, present) };
    }
    // From the first word that is touched to the last.
    let rows = present.div_ceil(row_elements::<T>() as u32).clamp(1, N as u32);
    let bytes = (rows - 1) as usize * LANES as usize * VECTOR_BYTES + VECTOR_BYTES + 4;
    let first = from.addr() & !3;
    if around.has(first, first + bytes) {
        // SAFETY: every word that is touched may be read.
        unsafe { load_words::<S, T, N>(simt, from, present) }
    } else {
        // SAFETY: passed on to the caller.
        unsafe { load_bytes::<S, T, N>(simt, from, present) }
    }
}

/// Row `i` of `N` rows, each by its own piece of code: a loop is none that the compiler unrolls where it is long, and the words
/// would lie in memory.
#[inline(always)]
pub(super) fn each_row<const N: usize>(mut row: impl FnMut(usize) -> [u32; WORDS]) -> Vectors<N> {
    const { assert!(N <= 8, "eight rows are written out") };
    let mut rows = [[0; WORDS]; N];
    macro_rules! write_out {
        ($($i:literal)*) => {
            $(if $i < N {
                rows[$i] = row($i);
            })*
        };
    }
    write_out!(0 1 2 3 4 5 6 7);
    rows
}

/// By 16-byte loads. Rows of which no place is present are left out.
///
/// # Safety
///
/// `from` is 16-byte aligned, and each vector of which a place is present is valid as a whole and unwritten.
#[inline(always)]
unsafe fn load_wide<S: Simt, T: Element, const N: usize>(simt: S, from: *const T, present: u32) -> Vectors<N> {
    each_row(|row| {
        if place::<T>(row, 0) as u32 >= present {
            return [0; WORDS];
        }
        // SAFETY: passed on to the caller.
        unsafe { simt.load_input_vector(from.wrapping_add(row * row_elements::<T>()).cast()) }
    })
}

/// By 4-byte loads: of elements of whole words those that are present, of smaller ones the words that the vectors touch, in
/// rows of which a place is present, shifted into place.
///
/// # Safety
///
/// What is read is valid and unwritten.
#[inline(always)]
unsafe fn load_words<S: Simt, T: Element, const N: usize>(simt: S, from: *const T, present: u32) -> Vectors<N> {
    let aligned = from.map_addr(|address| address & !3).cast::<u32>();
    let shift = 8 * (from.addr() as u32 & 3);
    each_row(|row| {
        let first = row * LANES as usize * WORDS;
        let word = |i: usize| {
            let elements = if size_of::<T>() < 4 { 0 } else { 4 * i / size_of::<T>() };
            if place::<T>(row, elements) as u32 >= present {
                return 0;
            }
            // SAFETY: passed on to the caller.
            unsafe { simt.load_input(aligned.wrapping_add(first + i)) }
        };
        let (a, b, c, d) = (word(0), word(1), word(2), word(3));
        if size_of::<T>() >= 4 {
            return [a, b, c, d];
        }
        let e = word(4);
        let across = |low: u32, high: u32| low >> shift | (high << 1) << (31 - shift);
        [across(a, b), across(b, c), across(c, d), across(d, e)]
    })
}

/// Byte by byte: of small elements at an end of what may be read, which few blocks meet.
///
/// # Safety
///
/// `from` is valid for `present` places' elements, which nobody writes.
#[inline(always)]
unsafe fn load_bytes<S: Simt, T, const N: usize>(simt: S, from: *const T, present: u32) -> Vectors<N> {
    let mut rows = [[0; WORDS]; N];
    // A number of turns that no compiler knows: one unrolls the loop otherwise, and this is code that is seldom run.
    let turns = simt.anew(N as u32);
    for row in 0..turns {
        let first = row * row_elements::<T>() as u32;
        let elements = u32::saturating_sub(present, first).min(vector_elements::<T>() as u32);
        let bytes = elements * size_of::<T>() as u32;
        let from = from.wrapping_add(first as usize).cast::<u8>();
        let byte = |i: usize| {
            if i as u32 >= bytes {
                return 0;
            }
            // SAFETY: the byte lies inside the input.
            unsafe { simt.load_input_byte(from.wrapping_add(i)) }
        };
        let word = |i: usize| byte(i) | byte(i + 1) << 8 | byte(i + 2) << 16 | byte(i + 3) << 24;
        let read = [word(0), word(4), word(8), word(12)];
        let before = rows;
        rows = each_row(|i| if i + 1 < N { before[i + 1] } else { read });
    }
    rows
}

/// Reads and folds an extent that has at most `N` rows of one leaf.
///
/// Called by: any thread · Valid in: every lane, its own columns · Scratch: none
///
/// # Safety
///
/// As [`fold_ragged`].
#[inline(always)]
pub unsafe fn fold_rows<S: Simt, T: Element, M: Monoid<T>, const N: usize>(
    simt: S,
    op: M,
    input: Input<T>,
) -> M::State {
    // SAFETY: passed on to the caller.
    unsafe { load_rows::<S, T, N>(simt, input, simt.lane()) }.fold(op)
}

/// Reads vector `vector` of an extent that has at most one row of one leaf.
///
/// Called by: any thread · Valid in: every lane · Scratch: none
///
/// # Safety
///
/// As [`fold_ragged`].
#[inline(always)]
pub unsafe fn load_row<S: Simt, T: Element>(simt: S, input: Input<T>, vector: u32) -> Short<1> {
    // SAFETY: passed on to the caller.
    unsafe { load_rows(simt, input, vector) }
}

/// Reads the vector from `from` on, of which the first `present` places hold elements; by one load where it is `wide`: all of it
/// then, or nothing. It begins at place `first` of its extent.
///
/// Called by: any thread · Valid in: every lane · Scratch: none
///
/// # Safety
///
/// As [`fold_ragged`]; a vector that is wide and not absent is aligned, and valid as a whole.
#[inline(always)]
pub unsafe fn load_vector<S: Simt, T: Element>(
    simt: S,
    from: *const T,
    first: u32,
    present: u32,
    wide: bool,
    around: Around,
) -> Short<1> {
    // SAFETY: passed on to the caller.
    let words = unsafe {
        if wide {
            load_wide::<S, T, 1>(simt, from, present)
        } else {
            load_ragged::<S, T, 1>(simt, from, present, around)
        }
    };
    Short {
        part: Loaded { words, present },
        base: first.into(),
    }
}

/// Vectors of an extent of at most `N` rows.
#[derive(Clone, Copy)]
pub struct Short<const N: usize> {
    part: Loaded<N>,
    base: u64,
}

impl<const N: usize> Short<N> {
    /// Folds what was read to one state.
    #[inline(always)]
    pub fn fold<T: Element, M: Monoid<T>>(self, op: M) -> M::State {
        op.shift(op.fold_part(self.part), self.base)
    }

    /// The same where all places hold elements, or none.
    #[inline(always)]
    pub fn fold_whole<T: Element, M: Monoid<T>>(self, op: M) -> M::State {
        let Loaded { words, present } = self.part;
        if present == 0 {
            return op.identity();
        }
        op.shift(op.fold_part(Loaded { words, present: ALL }), self.base)
    }
}

/// Vector `vector` of each row.
///
/// # Safety
///
/// As [`fold_ragged`].
#[inline(always)]
unsafe fn load_rows<S: Simt, T: Element, const N: usize>(simt: S, input: Input<T>, vector: u32) -> Short<N> {
    let base = u64::from(vector) * vector_elements::<T>() as u64;
    let from = input.start.wrapping_add(base as usize);
    let present = narrow(simt, u64::saturating_sub(input.len, base));
    // Then of a vector all is present, or nothing.
    let words = if input.is_aligned() && input.len.is_multiple_of(vector_elements::<T>() as u64) {
        // SAFETY: passed on to the caller.
        unsafe { load_wide::<S, T, N>(simt, from, present) }
    } else {
        // SAFETY: passed on to the caller.
        unsafe { load_ragged::<S, T, N>(simt, from, present, input.around) }
    };
    let part = Loaded { words, present };
    Short { part, base }
}

/// How many loads of words stand in the code that reads `rows` rows by words, and how many of bytes in that by bytes.
#[must_use]
pub const fn scalar_loads<T>(rows: usize) -> (usize, usize) {
    if size_of::<T>() < 4 {
        (rows * (WORDS + 1), VECTOR_BYTES)
    } else {
        (rows * WORDS, 0)
    }
}

/// Index of this lane's first element of a leaf.
fn base<S: Simt, T>(simt: S, leaf: u64) -> u64 {
    leaf * leaf_elements::<T>() as u64 + u64::from(simt.lane()) * vector_elements::<T>() as u64
}
