//! Thread stage: a lane folds its part of a leaf in registers.

use crate::{
    element::Element,
    monoids::Monoid,
    simt::Simt,
    tree::{self, LANES, Part, ROWS, VECTOR_BYTES, leaf_elements, place, row_elements, vector_elements},
};

/// The input of a fold: `len` elements from `start` on, read where they lie.
#[derive(Clone, Copy)]
pub struct Input<T> {
    /// The first element.
    pub start: *const T,
    /// How many there are.
    pub len: u64,
}

impl<T> Input<T> {
    /// How many leaves, from the first on, [`load_leaf`] can read: all that are whole, if the start is aligned.
    #[must_use]
    pub fn wide_leaves(self) -> u64 {
        if self.start.addr().is_multiple_of(VECTOR_BYTES) {
            self.len / leaf_elements::<T>() as u64
        } else {
            0
        }
    }

    /// Whether [`shifted_leaf`] can read a leaf: elements of 1 or 2 bytes, and more of the input before and behind it.
    #[must_use]
    pub fn is_shifted(self, leaf: u64) -> bool {
        size_of::<T>() < 4 && leaf > 0 && leaf + 1 < self.len / leaf_elements::<T>() as u64
    }
}

/// 32-bit words in a vector.
const WORDS: usize = VECTOR_BYTES / 4;

/// This lane's part of a leaf: one vector of each row.
#[derive(Clone, Copy)]
pub struct Rows {
    words: [[u32; WORDS]; ROWS],
    base: u64,
}

/// Reads this lane's part of leaf `leaf`, all eight vectors in flight together.
///
/// Called by: any thread · Valid in: every lane, its own columns · Scratch: none
///
/// # Safety
///
/// `input` is valid and unwritten for the whole launch, and `leaf < input.wide_leaves()`.
#[inline(always)]
pub unsafe fn load_leaf<S: Simt, T: Element>(simt: S, input: Input<T>, leaf: u64) -> Rows {
    let base = base::<S, T>(simt, leaf);
    let from = input.start.wrapping_add(base as usize);
    let words = core::array::from_fn(|row| {
        // SAFETY: a wide leaf lies inside the input, and a lane's vectors keep its alignment.
        unsafe { simt.load_input_vector(from.wrapping_add(row * row_elements::<T>()).cast()) }
    });
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
const ALL: u32 = u32::MAX;

/// How many places of a part hold elements, `left` being those from its first place to the end of the input.
fn present(left: u64) -> u32 {
    left.min(u64::from(ALL)) as u32
}

/// A part that was read, of which the first `present` places hold elements.
#[derive(Clone, Copy)]
struct Loaded {
    words: [[u32; WORDS]; ROWS],
    present: u32,
}

impl<T: Element> Part<T> for Loaded {
    #[inline(always)]
    fn lift<M: Monoid<T>>(self, op: M, row: usize, column: usize) -> M::State {
        let place = place::<T>(row, column);
        if (place as u32) < self.present {
            op.lift(value(self.words[row], column), place)
        } else {
            op.identity()
        }
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
        let from = self.from.wrapping_add(place as usize).cast::<u32>();
        // SAFETY: elements are whole words, and this one lies inside the input.
        let word = |i| u64::from(unsafe { self.simt.load_input(from.wrapping_add(i)) });
        if (place as u32) < self.present {
            let low = word(0);
            let bits = if size_of::<T>() == 8 { low | word(1) << 32 } else { low };
            op.lift(T::from_bits(bits), place)
        } else {
            op.identity()
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

/// Reads and folds this lane's part of a leaf of any alignment and length, places past the end giving the identity. For
/// elements of 4 and 8 bytes it is what an unaligned array is folded with; for smaller ones it is slow, and [`shifted_leaf`]
/// takes all but the first leaf and the last.
///
/// Called by: any thread · Valid in: every lane, its own columns · Scratch: none
///
/// # Safety
///
/// `input` is valid and unwritten for the whole launch.
#[inline(always)]
pub unsafe fn narrow_leaf<S: Simt, T: Element, M: Monoid<T>>(simt: S, op: M, input: Input<T>, leaf: u64) -> M::State {
    let base = base::<S, T>(simt, leaf);
    let from = input.start.wrapping_add(base as usize);
    let present = present(u64::saturating_sub(input.len, base));
    let state = if size_of::<T>() < 4 {
        // SAFETY: passed on to the caller.
        let words = unsafe { ragged(simt, from, present) };
        op.fold_part(Loaded { words, present })
    } else {
        op.fold_part(Unloaded { simt, from, present })
    };
    op.shift(state, base)
}

/// This lane's vectors of a leaf, byte by byte: of a leaf that has two ends at most, and that few blocks read.
///
/// # Safety
///
/// `from` is valid for `present` elements, which nobody writes.
#[inline(always)]
unsafe fn ragged<S: Simt, T>(simt: S, from: *const T, present: u32) -> [[u32; WORDS]; ROWS] {
    let mut rows = [[0; WORDS]; ROWS];
    // A number of turns that no compiler knows: one unrolls the loop otherwise, and this is code that is seldom run.
    let turns = simt.threads().min(ROWS as u32);
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
        let [_, b, c, d, e, f, g, h] = rows;
        rows = [b, c, d, e, f, g, h, [word(0), word(4), word(8), word(12)]];
    }
    rows
}

/// Reads and folds this lane's part of a leaf whose start no wide load takes, of elements of 1 and 2 bytes: the words that
/// the vectors touch, shifted into place.
///
/// Called by: any thread · Valid in: every lane, its own columns · Scratch: none
///
/// # Safety
///
/// `input` is valid and unwritten for the whole launch, and [`input.is_shifted(leaf)`](Input::is_shifted).
#[inline(always)]
pub unsafe fn shifted_leaf<S: Simt, T: Element, M: Monoid<T>>(simt: S, op: M, input: Input<T>, leaf: u64) -> M::State {
    let base = base::<S, T>(simt, leaf);
    let from = input.start.wrapping_add(base as usize);
    let aligned = from.map_addr(|address| address & !3).cast::<u32>();
    let shift = 8 * (from.addr() as u32 % 4);
    let row = |row: usize| {
        let first = row * LANES as usize * WORDS;
        // SAFETY: the leaf is not at an end of the input, which then has every word that the leaf touches.
        let word = |i: usize| unsafe { simt.load_input(aligned.wrapping_add(first + i)) };
        let (a, b, c, d, e) = (word(0), word(1), word(2), word(3), word(4));
        let across = |low: u32, high: u32| ((u64::from(high) << 32 | u64::from(low)) >> shift) as u32;
        [across(a, b), across(b, c), across(c, d), across(d, e)]
    };
    // Written out: a loop of so much code is none that the compiler unrolls, and the words would lie in memory.
    let words = [row(0), row(1), row(2), row(3), row(4), row(5), row(6), row(7)];
    Rows { words, base }.fold(op)
}

/// How many loads of words and bytes stand in the code of [`narrow_leaf`] and of [`shifted_leaf`].
#[must_use]
pub const fn narrow_loads<T>() -> usize {
    if size_of::<T>() < 4 {
        VECTOR_BYTES + ROWS * (WORDS + 1)
    } else {
        ROWS * WORDS
    }
}

/// Index of this lane's first element of a leaf.
fn base<S: Simt, T>(simt: S, leaf: u64) -> u64 {
    leaf * leaf_elements::<T>() as u64 + u64::from(simt.lane()) * vector_elements::<T>() as u64
}
