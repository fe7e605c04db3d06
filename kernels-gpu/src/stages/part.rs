//! A lane's part of a leaf: read, or to be read as it is folded; and how much of it a piece of code folds at once.
//!
//! Code is a cost like time: what stands in it once for each of a part's elements stands there 32 to 128 times. So all but the cheapest
//! folds are loops over a vector's words: a turn folds the columns of the first words, and moves the others down.

use super::{
    extents::after,
    load::{ALL, Vectors, each_row, shifted_by_bytes},
    source::{At, Source},
    strategy::Strategy,
};
use crate::{
    monoids::Monoid,
    simt::Simt,
    tree::{self, Again, LANES, Part, ROWS, pending::Pending, place, vector_elements},
};

/// A part that was read, of which the first `present` places hold elements.
#[derive(Clone, Copy)]
pub(super) struct Loaded<T: Source, const N: usize> {
    pub(super) words: T::Each<Vectors<N>>,
    pub(super) present: u32,
}

impl<T: Source, const N: usize> Part<T> for Loaded<T, N> {
    const ROWS: usize = N;
    const COLUMNS: usize = vector_elements::<T>();
    const AT_HAND: bool = true;

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn lift<M: Monoid<T>>(self, op: M, row: usize, column: usize) -> M::State {
        let place = place::<T>(row, column);
        if (place as u32) < self.present {
            op.lift(T::item(&self.words, row, column), place)
        } else {
            op.identity()
        }
    }

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn full(self) -> Option<Self> {
        let places = place::<T>(N - 1, vector_elements::<T>()) as u32;
        (self.present >= places).then_some(Self { present: ALL, ..self })
    }
}

impl<T: Source, const N: usize> Loaded<T, N> {
    /// Folds what was read to one state.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn fold<S: Simt, M: Monoid<T>>(self, simt: S, op: M) -> M::State {
        self.fold_turns::<S, M, false>(simt, op)
    }

    /// The same of a part of which all is present.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn fold_whole<S: Simt, M: Monoid<T>>(self, simt: S, op: M) -> M::State {
        Self { present: ALL, ..self }.fold_turns::<S, M, true>(simt, op)
    }

    /// The same of a part of which the first `rows` rows alone hold elements: the same number in all lanes.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub(super) fn fold_first_rows<S: Simt, M: Monoid<T>>(self, simt: S, op: M, rows: u32) -> M::State {
        const { assert!(N == ROWS, "half of a leaf's rows") };
        if const { Strategy::of::<T, M>().folds_first_rows() } {
            return tree::fold_first_rows(op, self, rows);
        }
        if rows as usize > ROWS / 2 {
            return self.fold(simt, op);
        }
        let words = T::map(self.words, |words| each_row(|row| words[row]));
        let present = self.present;
        Loaded::<T, { ROWS / 2 }> { words, present }.fold(simt, op)
    }

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn fold_turns<S: Simt, M: Monoid<T>, const WHOLE: bool>(self, simt: S, op: M) -> M::State {
        if const { Strategy::of::<T, M>().folds_at_once(N, WHOLE) } {
            return op.fold_part(self);
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
            let state = op.shift(op.fold_part(columns), u64::from(turn) * COLUMNS as u64);
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

/// A vector without its first bytes: `bytes` of them, a constant.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn moved_down([a, b, c, d]: [u32; 4], bytes: usize) -> [u32; 4] {
    match bytes {
        4 => [b, c, d, 0],
        8 => [c, d, 0, 0],
        _ => shifted_by_bytes([a, b, c, d], 0, bytes as u32),
    }
}

/// A part whose columns are read as they are folded, one after the other, of which the first `present` places hold elements.
#[derive(Clone, Copy)]
pub(super) struct Columns<S, T: Source> {
    pub(super) simt: S,
    pub(super) from: At<T>,
    pub(super) present: u32,
}

impl<S: Simt, T: Source> Again<T> for Columns<S, T> {
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn fold<M: Monoid<T>>(self, op: M) -> M::State {
        let Self { simt, from, present } = self;
        if M::ASSOCIATES {
            return fold_elements(simt, op, from, present);
        }
        match vector_elements::<T>() {
            16 => fold_columns::<S, T, M, 4>(simt, op, from, present),
            8 => fold_columns::<S, T, M, 3>(simt, op, from, present),
            4 => fold_columns::<S, T, M, 2>(simt, op, from, present),
            2 => fold_columns::<S, T, M, 1>(simt, op, from, present),
            _ => fold_columns::<S, T, M, 0>(simt, op, from, present),
        }
    }
}

/// A part that is read as it is folded, an element at a time, of which the first `present` places hold elements.
#[derive(Clone, Copy)]
pub(super) struct Unloaded<S, T: Source> {
    pub(super) simt: S,
    pub(super) from: At<T>,
    pub(super) present: u32,
}

impl<S: Simt, T: Source> Part<T> for Unloaded<S, T> {
    const COLUMNS: usize = vector_elements::<T>();

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn lift<M: Monoid<T>>(self, op: M, row: usize, column: usize) -> M::State {
        let place = place::<T>(row, column);
        if (place as u32) < self.present {
            // SAFETY: this element lies inside the input.
            let item = unsafe { T::read_item(self.simt, after::<T>(self.from, place)) };
            op.lift(item, place)
        } else {
            op.identity()
        }
    }
}

/// Reads and folds `2` to the power of `LEVELS` columns, of which the first `present` places hold elements: one after the other, for
/// an operator that folds a column at once holds all of it in registers, and four of them in too many.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn fold_columns<S: Simt, T: Source, M: Monoid<T>, const LEVELS: u32>(
    simt: S,
    op: M,
    from: At<T>,
    present: u32,
) -> M::State {
    let mut pending = Pending::<M::State, LEVELS>::nothing(op);
    let (turns, mut column) = (turns(simt, LEVELS), 0);
    while column < turns {
        let part = Unloaded::<S, T> {
            simt,
            from: after::<T>(from, column.into()),
            present: u32::saturating_sub(present, column),
        };
        pending.push(
            simt,
            op,
            column,
            op.shift(tree::fold_column(op, part, 0), column.into()),
        );
        column += 1;
    }
    pending.total(simt, op, 1 << LEVELS)
}

/// The same one element after the other, for an operator that associates.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn fold_elements<S: Simt, T: Source, M: Monoid<T>>(simt: S, op: M, from: At<T>, present: u32) -> M::State {
    let mut state = op.identity();
    let mut number = 0;
    while number < simt.opaque((ROWS * vector_elements::<T>()) as u32) {
        let (row, column) = (
            number / vector_elements::<T>() as u32,
            number % vector_elements::<T>() as u32,
        );
        let place = u64::from(row) * place::<T>(1, 0) + u64::from(column);
        if (place as u32) < present {
            // SAFETY: this element lies inside the input.
            let item = unsafe { T::read_item(simt, after::<T>(from, place)) };
            state = op.combine(state, op.lift(item, place));
        }
        number += 1;
    }
    state
}

/// `2` to the power of `levels` turns: a number that neither the compiler nor the assembler knows, for either unrolls the loop otherwise.
fn turns<S: Simt>(simt: S, levels: u32) -> u32 {
    u32::min(simt.warps() * LANES, simt.opaque(1 << levels))
}
