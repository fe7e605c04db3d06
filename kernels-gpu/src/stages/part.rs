//! A lane's part of a leaf: read, or to be read as it is folded; and the ways to fold it that a machine's registers ask for.

use super::{
    extents::after,
    load::{ALL, Vectors, each_row, shifted_by_bytes, word_elements},
    source::{At, Source},
};
use crate::{
    monoids::{self, Monoid},
    simt::Simt,
    tree::{self, Again, LANES, Part, ROWS, pending::Pending, place, row_elements, vector_elements},
};
/// Whether the columns of a part are folded one after the other, in a loop: where there are so many that all at once would take more
/// registers than there are. Of moments, which are made of a column at once, and of states of several words of two arrays.
pub(super) const fn folds_in_turn<T: Source, M: Monoid<T>>() -> bool {
    let is_heavy = M::FOLDS_COLUMNS || T::ARRAYS > 1 && !T::MASKED && <M::State as monoids::Words>::COUNT > 4;
    T::BYTES < 4 && is_heavy
}

/// Whether those of a whole leaf that is aligned are folded all at once nonetheless, which is half as fast again: where registers
/// suffice.
pub(super) const fn folds_whole_at_once<T: Source, M: Monoid<T>>() -> bool {
    T::ARRAYS == 1 && <M::State as monoids::Words>::COUNT <= 6
}

/// Whether a part of which no place is absent has code of its own, that tests none: for operators to which a test is as dear as
/// an element, and where elements are many but not folded in a loop.
pub(super) const fn is_cheaper_whole<T: Source, M: Monoid<T>>() -> bool {
    M::SELECTS || word_elements::<T>() > 1 && !folds_in_turn::<T, M>()
}

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

    #[inline(always)]
    fn lift<M: Monoid<T>>(self, op: M, row: usize, column: usize) -> M::State {
        let place = place::<T>(row, column);
        if (place as u32) < self.present {
            op.lift(T::item(&self.words, row, column), place)
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

impl<T: Source, const N: usize> Loaded<T, N> {
    /// Folds what was read to one state.
    #[inline(always)]
    pub(super) fn fold<S: Simt, M: Monoid<T>>(self, simt: S, op: M) -> M::State {
        match (folds_in_turn::<T, M>(), vector_elements::<T>()) {
            (true, 8) => self.fold_columns::<S, M, 3>(simt, op),
            (true, 16) => self.fold_columns::<S, M, 4>(simt, op),
            _ => op.fold_part(self),
        }
    }

    /// The same in a loop over the words of a vector, for code that shares the cache of instructions with much other. Unless the part
    /// `has_many` rows, more than half, the others are left out.
    #[inline(always)]
    pub(super) fn fold_in_turn<S: Simt, M: Monoid<T>>(mut self, simt: S, op: M, has_many: bool) -> M::State {
        if T::BYTES > 4 || T::ARRAYS > 1 || folds_in_turn::<T, M>() || M::FOLDS_COLUMNS {
            return self.fold(simt, op);
        }
        const { assert!(N == ROWS, "half of a leaf's rows") };
        let columns = word_elements::<T>();
        in_turn::<S, T, M, 2>(simt, op, |turn| {
            let state = self.fold_word(op, has_many);
            self.present = u32::saturating_sub(self.present, columns as u32);
            self.words = T::map(self.words, |words| {
                each_row(|row| {
                    let [_, b, c, d] = words[row];
                    [b, c, d, 0]
                })
            });
            op.shift(state, u64::from(turn) * columns as u64)
        })
    }

    /// The same of a part whose last rows may be absent, by a test for each row; of another in a loop.
    #[inline(always)]
    pub(super) fn fold_by_rows<S: Simt, M: Monoid<T>>(self, simt: S, op: M) -> M::State {
        const { assert!(N == ROWS, "half of a leaf's rows") };
        if T::BYTES == 1 {
            return self.fold(simt, op);
        }
        let of_row = self.present % row_elements::<T>() as u32;
        let has_many = self.rows() > ROWS as u32 / 2;
        if T::BYTES == 2 && M::SELECTS || of_row != 0 && of_row < vector_elements::<T>() as u32 {
            return self.fold_in_turn(simt, op, has_many);
        }
        if has_many {
            return self.fold_whole_rows(op);
        }
        let words = T::map(self.words, |words| each_row(|row| words[row]));
        let present = self.present;
        Loaded::<T, { ROWS / 2 }> { words, present }.fold_whole_rows(op)
    }

    /// The same of a part whose rows are all there or absent, by a test for each.
    #[inline(always)]
    pub(super) fn fold_whole_rows<M: Monoid<T>>(self, op: M) -> M::State {
        let (words, rows) = (self.words, self.rows());
        op.fold_part(WholeRows::<T, N> { words, rows })
    }

    /// How many rows hold elements.
    #[inline(always)]
    fn rows(self) -> u32 {
        self.present.div_ceil(row_elements::<T>() as u32)
    }

    /// Folds what the first words of vectors hold: all of it where no order changes a bit, else one column after the other.
    #[inline(always)]
    fn fold_word<M: Monoid<T>>(self, op: M, has_many: bool) -> M::State {
        if M::IN_ANY_ORDER {
            let half = |first| {
                AllOf(Half {
                    part: self,
                    first,
                    column: 0,
                })
            };
            let low = op.fold_part(half(0));
            if !has_many {
                return low;
            }
            return op.combine(low, op.fold_part(half(ROWS / 2)));
        }
        match word_elements::<T>() {
            1 => self.fold_column(op, 0, has_many),
            2 => op.combine(self.fold_column(op, 0, has_many), self.fold_column(op, 1, has_many)),
            _ => op.combine(
                op.combine(self.fold_column(op, 0, has_many), self.fold_column(op, 1, has_many)),
                op.combine(self.fold_column(op, 2, has_many), self.fold_column(op, 3, has_many)),
            ),
        }
    }

    /// Folds a column.
    #[inline(always)]
    fn fold_column<M: Monoid<T>>(self, op: M, column: usize, has_many: bool) -> M::State {
        let low = op.fold_part(Half {
            part: self,
            first: 0,
            column,
        });
        if !has_many {
            return low;
        }
        let first = ROWS / 2;
        op.combine(
            low,
            op.fold_part(Half {
                part: self,
                first,
                column,
            }),
        )
    }

    /// The same of `2` to the power of `LEVELS` columns, one after the other: of all rows the first element each, and then what is left.
    #[inline(always)]
    fn fold_columns<S: Simt, M: Monoid<T>, const LEVELS: u32>(mut self, simt: S, op: M) -> M::State {
        in_turn::<S, T, M, LEVELS>(simt, op, |column| {
            let state = tree::fold_column(op, self, 0);
            self.present = u32::saturating_sub(self.present, 1);
            self.words = T::map(T::zip(self.words, T::pitches()), |(words, bytes)| {
                each_row(|row| shifted_by_bytes(words[row], 0, bytes as u32))
            });
            op.shift(state, column.into())
        })
    }
}

/// A part that was read, whose first `rows` rows hold elements and whose others hold none.
#[derive(Clone, Copy)]
struct WholeRows<T: Source, const N: usize> {
    words: T::Each<Vectors<N>>,
    rows: u32,
}

impl<T: Source, const N: usize> Part<T> for WholeRows<T, N> {
    const ROWS: usize = N;
    const COLUMNS: usize = vector_elements::<T>();
    const AT_HAND: bool = true;

    #[inline(always)]
    fn lift<M: Monoid<T>>(self, op: M, row: usize, column: usize) -> M::State {
        if (row as u32) < self.rows {
            op.lift(T::item(&self.words, row, column), place::<T>(row, column))
        } else {
            op.identity()
        }
    }
}

/// Half of the rows of a part, from row `first` on, of one column.
#[derive(Clone, Copy)]
struct Half<T: Source, const N: usize> {
    part: Loaded<T, N>,
    first: usize,
    column: usize,
}

impl<T: Source, const N: usize> Part<T> for Half<T, N> {
    const ROWS: usize = N / 2;
    const COLUMNS: usize = 1;

    #[inline(always)]
    fn lift<M: Monoid<T>>(self, op: M, row: usize, column: usize) -> M::State {
        self.part.lift(op, self.first + row, self.column + column)
    }
}

/// The same of all columns of a word.
#[derive(Clone, Copy)]
struct AllOf<T: Source, const N: usize>(Half<T, N>);

impl<T: Source, const N: usize> Part<T> for AllOf<T, N> {
    const ROWS: usize = N / 2;
    const COLUMNS: usize = word_elements::<T>();
    const AT_HAND: bool = true;

    #[inline(always)]
    fn lift<M: Monoid<T>>(self, op: M, row: usize, column: usize) -> M::State {
        self.0.lift(op, row, column)
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
    #[inline(always)]
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

    #[inline(always)]
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
#[inline(always)]
fn fold_columns<S: Simt, T: Source, M: Monoid<T>, const LEVELS: u32>(
    simt: S,
    op: M,
    from: At<T>,
    present: u32,
) -> M::State {
    in_turn::<S, T, M, LEVELS>(simt, op, |column| {
        let part = Unloaded::<S, T> {
            simt,
            from: after::<T>(from, column.into()),
            present: u32::saturating_sub(present, column),
        };
        op.shift(tree::fold_column(op, part, 0), column.into())
    })
}

/// The same one element after the other, for an operator that associates.
#[inline(always)]
fn fold_elements<S: Simt, T: Source, M: Monoid<T>>(simt: S, op: M, from: At<T>, present: u32) -> M::State {
    let mut state = op.identity();
    let mut number = 0;
    while number < simt.anew((ROWS * vector_elements::<T>()) as u32) {
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

/// The state of `2` to the power of `LEVELS` columns, `of` giving that of each, one after the other in a loop.
#[inline(always)]
fn in_turn<S: Simt, T: Source, M: Monoid<T>, const LEVELS: u32>(
    simt: S,
    op: M,
    mut of: impl FnMut(u32) -> M::State,
) -> M::State {
    const { assert!(1 << LEVELS <= LANES, "a warp has as many threads") };
    let mut columns = Pending::<M::State, LEVELS>::nothing(op);
    // A number of turns that neither the compiler nor the assembler knows: either unrolls the loop otherwise.
    let count = u32::min(simt.warps() * LANES, simt.anew(1 << LEVELS));
    let mut column = 0;
    while column < count {
        columns.push(op, column, of(column));
        column += 1;
    }
    columns.total(op, 1 << LEVELS)
}
