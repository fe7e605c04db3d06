//! Thread stage: a lane folds its part of a leaf in registers.

use super::{
    around::Around,
    extents::{Input, after},
    in_order,
    load::{ALL, Vectors, WORDS, each_row},
    narrow,
    part::{Columns, Loaded, Unloaded},
    source::{Across, Aligned, At, Bytes, Ragged, Source, Way, Whole, Within, Words, load},
    strategy::Strategy,
};
use crate::{
    element::Item,
    monoids::Monoid,
    simt::Simt,
    tree::{self, Again, Part, ROWS, leaf_elements, row_elements, vector_elements},
};

/// This lane's part of a whole leaf: one vector of each row.
#[derive(Clone, Copy)]
pub struct Rows<T: Source> {
    words: T::Each<Vectors<ROWS>>,
    base: u64,
}

/// How many leaves [`load_leaf`] can read: the first.
#[must_use]
pub fn loadable_leaves<T: Source, M: Monoid<T>>(input: Input<T>) -> u64 {
    if M::COMMUTES && (const { Strategy::of::<T, M>().loads_words() } || input.is_aligned()) {
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
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub unsafe fn load_leaf<S: Simt, T: Source, M: Monoid<T>>(simt: S, input: Input<T>, leaf: u64) -> Rows<T> {
    let base = base::<S, T>(simt, leaf);
    let from = after::<T>(input.start, base);
    // SAFETY: a whole leaf lies inside the input; a lane's vectors keep its alignment, and words that of their elements.
    let words = unsafe {
        if const { Strategy::of::<T, M>().loads_words() } && !input.is_aligned() {
            load::<S, T, _, ROWS>(simt, Words, from, ALL, input.around)
        } else {
            load::<S, T, _, ROWS>(simt, Whole, from, ALL, input.around)
        }
    };
    Rows { words, base }
}

/// Whether [`load_shifted`] can read the one leaf that an extent is.
#[must_use]
pub fn is_shifted<T: Source, M: Monoid<T>>(input: Input<T>) -> bool {
    T::BYTES < 4 && M::COMMUTES && input.is_shifted(0)
}

/// Reads this lane's part of the one leaf that an extent is, of small elements that lie on no vector's boundary.
///
/// Called by: any thread · Valid in: every lane, its own columns · Scratch: none
///
/// # Safety
///
/// `input` is valid and unwritten for the whole launch, so is what is around it, and it [is shifted](is_shifted).
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub unsafe fn load_shifted<S: Simt, T: Source>(simt: S, input: Input<T>) -> Rows<T> {
    let base = base::<S, T>(simt, 0);
    let from = after::<T>(input.start, base);
    // SAFETY: every aligned vector that the leaf touches may be read.
    let words = unsafe { load::<S, T, _, ROWS>(simt, Across, from, ALL, input.around) };
    Rows { words, base }
}

impl<T: Source> Rows<T> {
    /// Folds what was read to one state.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn fold<S: Simt, M: Monoid<T>>(self, simt: S, op: M) -> M::State {
        op.shift(self.loaded().fold_whole(simt, op), self.base)
    }

    /// [`Monoid::fold_fast`] of what was read.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn fold_fast<S: Simt, M: Monoid<T>>(self, simt: S, op: M, is_known: bool) -> (M::State, bool) {
        let (state, is_folded) = op.fold_fast(Kept { simt, rows: self }, is_known);
        (op.shift(state, self.base), is_folded)
    }

    /// What was read, for an operator that asks for no positions.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn part(self) -> impl Part<T> {
        self.loaded()
    }

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn loaded(self) -> Loaded<T, ROWS> {
        let (words, present) = (self.words, ALL);
        Loaded { words, present }
    }

    /// The same, for a second look that shares nothing with the first: registers are dearer than instructions.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn opaque<S: Simt>(self, simt: S) -> Self {
        let row = |row: [u32; WORDS]| row.map(|word| simt.opaque(word));
        let words = T::map(self.words, |[a, b, c, d, e, f, g, h]| {
            [row(a), row(b), row(c), row(d), row(e), row(f), row(g), row(h)]
        });
        Self { words, ..self }
    }

    /// Whether any element could change a fold of earlier elements, `best`.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn may_change<M: Monoid<T>>(self, op: M, best: M::State) -> bool {
        if M::ASKS_AT_ONCE && T::ARRAYS == 1 {
            const { assert!(!M::ASKS_AT_ONCE || T::BYTES < 4, "a word holds several elements") };
            let word = |word: u32| op.may_change_among(best, word);
            let row = |[a, b, c, d]: [u32; WORDS]| word(a) | word(b) | word(c) | word(d);
            let [a, b, c, d, e, f, g, h] = T::of(self.words, 0);
            return row(a) | row(b) | row(c) | row(d) | row(e) | row(f) | row(g) | row(h) != 0;
        }
        tree::chain(MayChange { op, best }, self.part())
    }
}

/// What was read, for several operators.
#[derive(Clone, Copy)]
struct Kept<S, T: Source> {
    simt: S,
    rows: Rows<T>,
}

impl<S: Simt, T: Source> Again<T> for Kept<S, T> {
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn fold<M: Monoid<T>>(self, op: M) -> M::State {
        op.fold_part(self.rows.loaded())
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn fold_opaque<M: Monoid<T>>(self, op: M) -> M::State {
        op.fold_part(self.rows.opaque(self.simt).loaded())
    }
}

/// Whether any element could change a fold.
#[derive(Clone, Copy)]
struct MayChange<M, State> {
    op: M,
    best: State,
}

impl<T, M: Monoid<T>> Monoid<T> for MayChange<M, M::State> {
    type State = bool;
    type Answer = bool;

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn identity(self) -> bool {
        false
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn lift(self, value: T, _: u64) -> bool {
        self.op.may_change(self.best, value)
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn combine(self, a: bool, b: bool) -> bool {
        a | b
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn finish(self, any: bool, _: u64) -> bool {
        any
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn empty(self) -> Option<bool> {
        Some(false)
    }
}

/// Reads and folds this lane's part of a leaf of any alignment and length, by [`Monoid::fold_slow`].
///
/// Called by: any thread · Valid in: every lane, its own columns · Scratch: none
///
/// # Safety
///
/// As [`fold_ragged`].
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub unsafe fn fold_slow<S: Simt, T: Source, M: Monoid<T>>(simt: S, op: M, input: Input<T>, leaf: u64) -> M::State {
    let base = base::<S, T>(simt, leaf);
    let from = after::<T>(input.start, base);
    let present = narrow(simt, u64::saturating_sub(input.len, base));
    op.shift(op.fold_slow(Columns { simt, from, present }), base)
}

/// Reads and folds this lane's part of a leaf of any alignment and length, places past the end giving the identity.
///
/// Called by: any thread · Valid in: every lane, its own columns · Scratch: none
///
/// # Safety
///
/// `input` is valid and unwritten for the whole launch, and so is what is around it.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub unsafe fn fold_ragged<S: Simt, T: Source, M: Monoid<T>>(simt: S, op: M, input: Input<T>, leaf: u64) -> M::State {
    if !M::COMMUTES {
        // SAFETY: passed on to the caller.
        return unsafe { in_order::fold_leaf(simt, op, input, leaf) };
    }
    let base = base::<S, T>(simt, leaf);
    let from = after::<T>(input.start, base);
    if T::BYTES < 4 && input.is_shifted(leaf) {
        // SAFETY: every aligned vector that the leaf touches may be read.
        let words = unsafe { load::<S, T, _, ROWS>(simt, Across, from, ALL, input.around) };
        return op.shift(Loaded::<T, ROWS> { words, present: ALL }.fold_whole(simt, op), base);
    }
    let present = narrow(simt, u64::saturating_sub(input.len, base));
    let state = if T::BYTES >= 4 && M::FOLDS_COLUMNS {
        Columns { simt, from, present }.fold(op)
    } else {
        // SAFETY: passed on to the caller.
        let words = unsafe {
            if T::BYTES < 4 {
                load::<S, T, _, ROWS>(simt, Bytes, from, present, input.around)
            } else {
                load::<S, T, _, ROWS>(simt, Words, from, present, input.around)
            }
        };
        Loaded::<T, ROWS> { words, present }.fold(simt, op)
    };
    op.shift(state, base)
}

/// A state and that of this lane's part of a leaf, as [`fold_ragged`] gives it, of an operator that associates: its
/// [`fold_parts`](Monoid::fold_parts) may need no state of the part alone.
///
/// Called by, Valid in, Scratch: as [`fold_ragged`]
///
/// # Safety
///
/// As [`fold_ragged`].
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub unsafe fn fold_ragged_onto<S: Simt, T: Source, M: Monoid<T>>(
    simt: S,
    op: M,
    input: Input<T>,
    leaf: u64,
    state: M::State,
) -> M::State {
    if T::BYTES < 4 || M::FOLDS_COLUMNS || !M::COMMUTES {
        // SAFETY: passed on to the caller.
        return op.combine(state, unsafe { fold_ragged(simt, op, input, leaf) });
    }
    let base = base::<S, T>(simt, leaf);
    let from = after::<T>(input.start, base);
    let present = narrow(simt, u64::saturating_sub(input.len, base));
    let mut part = Some(Unloaded::<S, T> { simt, from, present });
    op.fold_parts(state, || part.take())
}

/// Reads and folds an extent of at most a leaf.
///
/// Called by: any thread · Valid in: every lane, its own columns · Scratch: none
///
/// # Safety
///
/// As [`fold_ragged`].
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub unsafe fn fold_rows<S: Simt, T: Source, M: Monoid<T>>(simt: S, op: M, input: Input<T>) -> M::State {
    // SAFETY: passed on to the caller.
    let Short { part, base } = unsafe {
        if has_whole_vectors(input) {
            load_rows::<S, T, _, ROWS>(simt, Aligned, input, simt.lane())
        } else {
            load_rows::<S, T, _, ROWS>(simt, Ragged, input, simt.lane())
        }
    };
    let rows = (input.len as u32).div_ceil(row_elements::<T>() as u32);
    op.shift(part.fold_first_rows(simt, op, rows), base)
}

/// Reads vector `vector` of each of four extents that have at most one row of one leaf, all in flight together.
///
/// Called by: any thread · Valid in: every lane · Scratch: none
///
/// # Safety
///
/// As [`fold_ragged`], for each.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub unsafe fn load_rows_of<S: Simt, T: Source>(simt: S, inputs: [Input<T>; 4], vector: u32) -> [Short<T, 1>; 4] {
    let [a, b, c, d] = inputs;
    // One way for all of them.
    if has_whole_vectors(a) && has_whole_vectors(b) && has_whole_vectors(c) && has_whole_vectors(d) {
        // SAFETY: passed on to the caller.
        let load = |input| unsafe { load_rows::<S, T, _, 1>(simt, Aligned, input, vector) };
        return [load(a), load(b), load(c), load(d)];
    }
    if T::MASKED {
        // Each lane as it can: a mask may be one row for all, and end with each.
        // SAFETY: passed on to the caller.
        let load = |input| unsafe { load_rows::<S, T, _, 1>(simt, Ragged, input, vector) };
        return [load(a), load(b), load(c), load(d)];
    }
    if a.has_words() && b.has_words() && c.has_words() && d.has_words() {
        // SAFETY: passed on to the caller.
        let load = |input| unsafe { load_rows::<S, T, _, 1>(simt, Within, input, vector) };
        return [load(a), load(b), load(c), load(d)];
    }
    // At an end of what may be read, which few warps reach: little code, one after the other.
    let mut read = [Short::nothing(); 4];
    let mut left = inputs;
    let mut turn = simt.opaque(0);
    while turn < 4 {
        let [input, b, c, d] = left;
        left = [b, c, d, input];
        let [_, f, g, h] = read;
        // SAFETY: passed on to the caller.
        read = [f, g, h, unsafe { load_rows::<S, T, _, 1>(simt, Bytes, input, vector) }];
        turn = simt.opaque(turn + 1);
    }
    read
}

/// Reads `N` vectors from `from` on, a row apart, of which the first `present` places hold elements; by one load each where they are
/// `wide`: all of a vector then, or nothing; else by words. They begin at place `first` of their extent.
///
/// Called by: any thread · Valid in: every lane · Scratch: none
///
/// # Safety
///
/// As [`fold_ragged`]; vectors that are wide and not absent are aligned, and valid as a whole; of others all words that hold an element
/// are valid, and nobody writes them.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub unsafe fn load_vectors<S: Simt, T: Source, const N: usize>(
    simt: S,
    from: At<T>,
    first: u32,
    present: u32,
    wide: bool,
    around: T::Each<Around>,
) -> Short<T, N> {
    // SAFETY: passed on to the caller.
    let words = unsafe {
        if wide {
            load::<S, T, _, N>(simt, Aligned, from, present, around)
        } else {
            load::<S, T, _, N>(simt, Within, from, present, around)
        }
    };
    Short {
        part: Loaded { words, present },
        base: first.into(),
    }
}

/// Vectors of an extent of at most `N` rows.
#[derive(Clone, Copy)]
pub struct Short<T: Source, const N: usize> {
    part: Loaded<T, N>,
    base: u64,
}

impl<T: Source, const N: usize> Short<T, N> {
    /// Folds what was read to one state.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn fold<S: Simt, M: Monoid<T>>(self, simt: S, op: M) -> M::State {
        op.shift(self.part.fold(simt, op), self.base)
    }

    /// No elements.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[must_use]
    pub fn nothing() -> Self {
        let words = T::each(|_| each_row(|_| [0; WORDS]));
        Self {
            part: Loaded { words, present: 0 },
            base: 0,
        }
    }
}

/// Whether of each vector of an extent all is present, or nothing, and it is aligned.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn has_whole_vectors<T: Source>(input: Input<T>) -> bool {
    input.is_aligned() && input.len.is_multiple_of(vector_elements::<T>() as u64)
}

/// Vector `vector` of each row.
///
/// # Safety
///
/// As [`fold_ragged`], and as the way has it.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
unsafe fn load_rows<S: Simt, T: Source, W: Way, const N: usize>(
    simt: S,
    way: W,
    input: Input<T>,
    vector: u32,
) -> Short<T, N> {
    let base = u64::from(vector) * vector_elements::<T>() as u64;
    let from = after::<T>(input.start, base);
    let present = narrow(simt, u64::saturating_sub(input.len, base));
    // SAFETY: passed on to the caller.
    let words = unsafe { load::<S, T, _, N>(simt, way, from, present, input.around) };
    let part = Loaded { words, present };
    Short { part, base }
}

/// Index of this lane's first element of a leaf.
fn base<S: Simt, T: Item>(simt: S, leaf: u64) -> u64 {
    leaf * leaf_elements::<T>() as u64 + u64::from(simt.lane()) * vector_elements::<T>() as u64
}
