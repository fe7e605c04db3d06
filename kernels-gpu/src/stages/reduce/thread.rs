//! Thread stage: a lane folds what it has read, and how much of it a piece of code folds at once.
//!
//! Code is a cost like time: what stands in it once for each of a part's elements stands there 32 to 128 times. So all but the cheapest
//! folds are loops over a vector's words: a turn folds the columns of the first words, and moves the others down. And one code folds
//! whatever was read, whole or not, wherever an operator has a [`filler`](Monoid::filler).
//!
//! What has no room in registers is read as it is folded, an element at a time.

use crate::{
    monoids::{Monoid, Words as _},
    simt::Simt,
    stages::{
        load::{
            contiguous::{base, load_leaf},
            extents::{Input, Items},
            fragment::Fragment,
            source::Source,
            words::{ALL, each_row, shifted_by_bytes},
        },
        reduce::{
            in_order,
            packed::{Packed, has_maximum, is_maximum},
        },
        strategy::{Strategy, is_vast},
    },
    tree::{
        self, Again, LANES, Part, PartFold as _, Positional as _, ROWS, RelativeSum as _, Unordered, pending::Pending,
        place, vector_elements,
    },
};

impl<T: Source, const N: usize> Fragment<T, N> {
    /// Folds it to one state.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn fold<S: Simt, M: Monoid<T>>(self, simt: S, op: M) -> M::State {
        if const { is_maximum::<S, T, M>() } {
            let op = Packed(op);
            return op.state(op.word(T::of(self.words, 0)));
        }
        if const { M::ALGEBRA.sums_relative } {
            let state = op.relative_sum().fold_at_hand(Kept { simt, part: self });
            return op.positional().shift(state, self.base);
        }
        let state = if op.filler().is_some() {
            self.fold_turns::<S, M, true>(simt, op)
        } else {
            self.fold_turns::<S, M, false>(simt, op)
        };
        op.positional().shift(state, self.base)
    }

    /// The same where most are whole: without a filler those have a code of their own.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn fold_leaf<S: Simt, M: Monoid<T>>(self, simt: S, op: M) -> M::State {
        match self.full() {
            Some(whole) if op.filler().is_none() && !is_vast(M::State::COUNT) => op
                .positional()
                .shift(whole.fold_turns::<S, M, true>(simt, op), self.base),
            _ => self.fold(simt, op),
        }
    }

    /// [`Unordered::fold_fast`] of it, a whole part.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn fold_fast<S: Simt, M: Monoid<T>>(self, simt: S, op: M, is_known: bool) -> (M::State, bool) {
        let part = Self { present: ALL, ..self };
        let (state, is_folded) = op.unordered().fold_fast(Kept { simt, part }, is_known);
        (op.positional().shift(state, self.base), is_folded)
    }

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn fold_turns<S: Simt, M: Monoid<T>, const WHOLE: bool>(self, simt: S, op: M) -> M::State {
        if const { Strategy::of::<T, M>().folds_at_once(N, WHOLE) } {
            return if WHOLE && const { has_maximum::<S, T, M>() } {
                op.part_fold().fold_part(Kept { simt, part: self })
            } else {
                op.part_fold().fold_part(self)
            };
        }
        match const {
            (
                vector_elements::<T>() / Strategy::of::<T, M>().columns_in_turn(),
                Strategy::of::<T, M>().columns_in_turn(),
            )
        } {
            (2, 1) => self.fold_columns::<S, M, WHOLE, 1, 1>(simt, op),
            (4, 1) => self.fold_columns::<S, M, WHOLE, 2, 1>(simt, op),
            (8, 1) => self.fold_columns::<S, M, WHOLE, 3, 1>(simt, op),
            (16, 1) => self.fold_columns::<S, M, WHOLE, 4, 1>(simt, op),
            (4, 2) => self.fold_columns::<S, M, WHOLE, 2, 2>(simt, op),
            _ => self.fold_columns::<S, M, WHOLE, 2, 4>(simt, op),
        }
    }

    /// Folds `2` to the power of `LEVELS` times `COLUMNS` columns, as many in a turn.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn fold_columns<S: Simt, M: Monoid<T>, const WHOLE: bool, const LEVELS: u32, const COLUMNS: usize>(
        mut self,
        simt: S,
        op: M,
    ) -> M::State {
        let mut pending = Pending::<M::State, LEVELS>::nothing(op);
        let (turns, mut turn) = (turns(simt, LEVELS), 0);
        while turn < turns {
            let columns: tree::Columns<Self, COLUMNS> = tree::Columns { part: self, first: 0 };
            let state = if WHOLE && const { has_maximum::<S, T, M>() } {
                let part = Kept { simt, part: self };
                op.part_fold().fold_part(tree::Columns::<_, COLUMNS> { part, first: 0 })
            } else {
                op.part_fold().fold_part(columns)
            };
            let state = op.positional().shift(state, u64::from(turn) * COLUMNS as u64);
            pending.push(simt, op, turn, state);
            if !WHOLE {
                self.present = u32::saturating_sub(self.present, COLUMNS as u32);
            }
            self.words = T::map(T::zip(self.words, T::pitches()), |(words, bytes)| {
                each_row(|row| moved_down(words[row], COLUMNS * bytes))
            });
            turn += 1;
        }
        pending.total(simt, op, 1 << LEVELS)
    }
}

impl<T: Source> Fragment<T, ROWS> {
    /// Folds it where the first `rows` rows alone may hold elements, the same number in all lanes: no more than half of them, if that does.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn fold_rows<S: Simt, M: Monoid<T>>(self, simt: S, op: M, rows: u32) -> M::State {
        let halves = if rows as usize > ROWS / 2 { 2 } else { 1 };
        if const { is_maximum::<S, T, M>() || M::ALGEBRA.sums_relative } {
            return self.fold(simt, op);
        }
        if const { Strategy::of::<T, M>().folds_in_halves() } && op.filler().is_some() {
            return op.positional().shift(self.fold_halves(simt, op, halves), self.base);
        }
        if halves == 2 {
            return self.fold(simt, op);
        }
        self.half(0).fold(simt, op)
    }

    /// Half of its rows.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn half(self, first: usize) -> Fragment<T, { ROWS / 2 }> {
        let words = T::map(self.words, |words| each_row(|row| words[first + row]));
        // Where all are present they are in each half, and no compiler has to ask.
        let present = match self.present {
            ALL => ALL,
            present => u32::saturating_sub(present, place::<T>(first, 0) as u32),
        };
        let base = self.base + place::<T>(first, 0);
        Fragment { words, present, base }
    }

    /// Folds the first half of its rows, or both, one after the other by the same code. Its base does not count.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn fold_halves<S: Simt, M: Monoid<T>>(mut self, simt: S, op: M, halves: u32) -> M::State {
        let mut columns = [op.identity(); 8];
        let (turns, mut turn) = (simt.opaque(halves), 0);
        while turn < turns {
            let (first, before) = (self.half(0), columns);
            let by = u64::from(turn) * place::<T>(ROWS / 2, 0);
            let state = |column: usize| {
                op.combine(
                    before[column],
                    op.positional().shift(first.fold_column(simt, op, column), by),
                )
            };
            columns = [
                state(0),
                state(1),
                state(2),
                state(3),
                state(4),
                state(5),
                state(6),
                state(7),
            ];
            let second = self.half(ROWS / 2);
            self.present = second.present;
            self.words = T::map(second.words, |words| each_row(|row| words[row % (ROWS / 2)]));
            turn += 1;
        }
        let [a, b, c, d, e, f, g, h] = columns;
        let low = op.combine(op.combine(a, b), op.combine(c, d));
        op.combine(low, op.combine(op.combine(e, f), op.combine(g, h)))
    }
}

impl<T: Source> Fragment<T, { ROWS / 2 }> {
    /// A column's state; in any order, the first's is that of all.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn fold_column<S: Simt, M: Monoid<T>>(self, simt: S, op: M, column: usize) -> M::State {
        if column
            >= if M::ALGEBRA.associates {
                1
            } else {
                vector_elements::<T>()
            }
        {
            return op.identity();
        }
        if !M::ALGEBRA.associates {
            let both = |row: usize| op.combine(self.lift(op, row, column), self.lift(op, row + 1, column));
            return op.combine(both(0), both(2));
        }
        if op.filler().is_some() {
            self.fold_turns::<S, M, true>(simt, op)
        } else {
            self.fold_turns::<S, M, false>(simt, op)
        }
    }
}

/// What was read, for several operators.
#[derive(Clone, Copy)]
pub(crate) struct Kept<S, P> {
    pub(crate) simt: S,
    pub(crate) part: P,
}

impl<S: Simt, T: Source, const N: usize> Again<T> for Kept<S, Fragment<T, N>> {
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn fold<M: Monoid<T>>(self, op: M) -> M::State {
        op.part_fold().fold_part(self.part)
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn fold_opaque<M: Monoid<T>>(self, op: M) -> M::State {
        op.part_fold().fold_part(self.part.opaque(self.simt))
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn fold_in_turns<M: Monoid<T>>(self, op: M) -> M::State {
        let Self { simt, part } = self;
        match vector_elements::<T>() {
            2 => part.fold_columns::<S, M, true, 1, 1>(simt, op),
            4 => part.fold_columns::<S, M, true, 2, 1>(simt, op),
            8 => part.fold_columns::<S, M, true, 2, 2>(simt, op),
            _ => part.fold_columns::<S, M, true, 2, 4>(simt, op),
        }
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn fold_in_halves<M: Monoid<T>>(self, op: M) -> M::State {
        if const { vector_elements::<T>() == 8 && N == ROWS } {
            self.part.fold_columns::<S, M, true, 1, 4>(self.simt, op)
        } else {
            op.part_fold().fold_part(self.part)
        }
    }
}

/// As a part it is whole, for it says which of its elements is the largest.
impl<S: Simt, T: Source, const N: usize> Part<T> for Kept<S, Fragment<T, N>> {
    const ROWS: usize = N;
    const COLUMNS: usize = vector_elements::<T>();
    const AT_HAND: bool = true;

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn lift<M: Monoid<T>>(self, op: M, row: usize, column: usize) -> M::State {
        self.part.lift(op, row, column)
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn largest<M: Monoid<T>>(self, op: M, first: usize, count: usize) -> Option<T> {
        if const { !has_maximum::<S, T, M>() } {
            return None;
        }
        let word = Packed(op).word_of(T::of(self.part.words, 0), first, count);
        Some(Packed(op).finish(word, 0))
    }
}

/// A vector without its first bytes: `bytes` of them, a constant.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub(crate) fn moved_down([a, b, c, d]: [u32; 4], bytes: usize) -> [u32; 4] {
    match bytes {
        4 => [b, c, d, 0],
        8 => [c, d, 0, 0],
        _ => shifted_by_bytes([a, b, c, d], 0, bytes as u32),
    }
}

/// A part whose columns are read as they are folded, one after the other.
#[derive(Clone, Copy)]
pub(crate) struct UnloadedColumns<S, T: Source> {
    simt: S,
    items: Items<T>,
}

impl<S: Simt, T: Source> Again<T> for UnloadedColumns<S, T> {
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn fold<M: Monoid<T>>(self, op: M) -> M::State {
        let Self { simt, items } = self;
        if M::ALGEBRA.associates {
            return fold_elements(simt, op, items);
        }
        match vector_elements::<T>() {
            16 => fold_columns::<S, T, M, 4>(simt, op, items),
            8 => fold_columns::<S, T, M, 3>(simt, op, items),
            4 => fold_columns::<S, T, M, 2>(simt, op, items),
            2 => fold_columns::<S, T, M, 1>(simt, op, items),
            _ => fold_columns::<S, T, M, 0>(simt, op, items),
        }
    }
}

/// A part that is read as it is folded, an element at a time.
#[derive(Clone, Copy)]
pub struct Unloaded<S, T: Source> {
    simt: S,
    items: Items<T>,
}

impl<S: Simt, T: Source> Part<T> for Unloaded<S, T> {
    const COLUMNS: usize = vector_elements::<T>();

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn lift<M: Monoid<T>>(self, op: M, row: usize, column: usize) -> M::State {
        let place = place::<T>(row, column);
        match self.items.get(self.simt, place as u32) {
            Some(item) => op.lift(item, place),
            None => op.identity(),
        }
    }
}

/// Reads and folds `2` to the power of `LEVELS` columns of the items: one after the other, for
/// an operator that folds a column at once holds all of it in registers, and four of them in too many.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn fold_columns<S: Simt, T: Source, M: Monoid<T>, const LEVELS: u32>(simt: S, op: M, items: Items<T>) -> M::State {
    let mut pending = Pending::<M::State, LEVELS>::nothing(op);
    let (turns, mut column) = (turns(simt, LEVELS), 0);
    while column < turns {
        let part = Unloaded::<S, T> {
            simt,
            items: items.from(column),
        };
        pending.push(
            simt,
            op,
            column,
            op.positional().shift(tree::fold_column(op, part, 0), column.into()),
        );
        column += 1;
    }
    pending.total(simt, op, 1 << LEVELS)
}

/// The same one element after the other, for an operator that associates.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn fold_elements<S: Simt, T: Source, M: Monoid<T>>(simt: S, op: M, items: Items<T>) -> M::State {
    let mut state = op.identity();
    let mut number = 0;
    while number < simt.opaque((ROWS * vector_elements::<T>()) as u32) {
        let (row, column) = (
            number / vector_elements::<T>() as u32,
            number % vector_elements::<T>() as u32,
        );
        let place = u64::from(row) * place::<T>(1, 0) + u64::from(column);
        if let Some(item) = items.get(simt, place as u32) {
            state = op.combine(state, op.lift(item, place));
        }
        number += 1;
    }
    state
}

/// `2` to the power of `levels` turns: a number that neither the compiler nor the assembler knows, for either unrolls the loop otherwise.
pub(crate) fn turns<S: Simt>(simt: S, levels: u32) -> u32 {
    u32::min(simt.warps() * LANES, simt.opaque(1 << levels))
}

/// Reads and folds this lane's part of leaf `leaf`, of any alignment and length.
///
/// Called by, Valid in, Scratch: as [`load_leaf`]
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn fold_leaf<S: Simt, T: Source, M: Monoid<T>>(simt: S, op: M, input: Input<T>, leaf: u64) -> M::State {
    if M::ALGEBRA.commutes {
        load_leaf(simt, op, input, leaf).fold_leaf(simt, op)
    } else {
        in_order::fold_leaf(simt, op, input, leaf)
    }
}

/// This lane's part of leaf `leaf`, to be read an element at a time as it is folded: it leaves registers to the largest states.
///
/// Called by, Valid in, Scratch: as [`load_leaf`]
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn not_yet<S: Simt, T: Source>(simt: S, input: Input<T>, leaf: u64) -> Unloaded<S, T> {
    let items = input.items(simt, base::<S, T>(simt, leaf));
    Unloaded { simt, items }
}

/// Reads and folds this lane's part of leaf `leaf` by [`Unordered::fold_slow`].
///
/// Called by, Valid in, Scratch: as [`load_leaf`]
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn fold_slow<S: Simt, T: Source, M: Monoid<T>>(simt: S, op: M, input: Input<T>, leaf: u64) -> M::State {
    let base = base::<S, T>(simt, leaf);
    let items = input.items(simt, base);
    let state = op.unordered().fold_slow(UnloadedColumns { simt, items });
    op.positional().shift(state, base)
}

/// Eight states, all of them asked for before any is combined.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub(crate) fn eight<State>(state: impl Fn(u32) -> State) -> [State; 8] {
    [0, 1, 2, 3, 4, 5, 6, 7].map(state)
}

/// Folds eight states, neighbours first.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub(crate) fn fold_eight<T, M: Monoid<T>>(op: M, states: [M::State; 8]) -> M::State {
    let [a, b, c, d, e, f, g, h] = states;
    let four = |a, b, c, d| op.combine(op.combine(a, b), op.combine(c, d));
    op.combine(four(a, b, c, d), four(e, f, g, h))
}
