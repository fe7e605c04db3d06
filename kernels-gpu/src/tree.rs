//! The canonical tree, version 1: which two states meet, as a function of the length alone.
//!
//! Element `i` of an extent sits in **leaf** `i / LEAF`. A leaf is [`ROWS`] rows of [`row_elements`] columns, in
//! index order. States meet in pairs of neighbours, always `(0,1) (2,3) …`, then the results in pairs again:
//!
//! 1. the rows of a leaf, column by column: `ROWS` states become one per column;
//! 2. the columns of a leaf: neighbours, until one state is left;
//! 3. the leaves: neighbours, until one state is left.
//!
//! A place past the end of the extent holds the operator's identity, which is neutral to the bit, so padding to a
//! power of two changes nothing. The full text is `docs/canonical-tree.md`.
//!
//! Any power-of-two group of neighbouring leaves is a subtree. That is why a warp may fold 1, 2, 4 … leaves, a block
//! any power-of-two number of warps, and a grid any number of blocks, without changing a bit of the answer.

use crate::monoids::Monoid;

/// The version of the canonical tree. A change to any constant here, or to the order above, is a new version.
pub const VERSION: u32 = 1;

/// Lanes in a warp.
pub const LANES: u32 = 32;

/// Bytes one lane loads at once.
pub const VECTOR_BYTES: usize = 16;

/// Rows of a leaf: the vectors each lane has in flight.
pub const ROWS: usize = 8;

/// Bytes of a leaf.
pub const LEAF_BYTES: usize = ROWS * LANES as usize * VECTOR_BYTES;

/// Elements of `T` in one vector.
#[must_use]
pub const fn vector_elements<T>() -> usize {
    VECTOR_BYTES / size_of::<T>()
}

/// Elements of `T` in one row of a leaf: one vector for each lane of a warp.
#[must_use]
pub const fn row_elements<T>() -> usize {
    LANES as usize * vector_elements::<T>()
}

/// Elements of `T` in one leaf.
#[must_use]
pub const fn leaf_elements<T>() -> usize {
    LEAF_BYTES / size_of::<T>()
}

/// Leaves that an extent of `len` elements of `T` touches.
#[must_use]
pub const fn leaves<T>(len: u64) -> u64 {
    len.div_ceil(leaf_elements::<T>() as u64)
}

/// A lane's part of a leaf: [`ROWS`] rows of neighbouring elements, as many as a vector has, some of them absent.
pub trait Part<T>: Copy {
    /// The state of the element at a row and a column; the identity where there is none. Each is asked for once.
    fn lift<M: Monoid<T>>(self, op: M, row: usize, column: usize) -> M::State;
}

/// Where in a part an element is: counted from the part's first element, so that it is a constant.
#[must_use]
pub const fn place<T>(row: usize, column: usize) -> u64 {
    (row * row_elements::<T>() + column) as u64
}

/// Whether a part has so many elements that an exact operator had better fold them as a [`chain`].
#[must_use]
pub const fn is_long<T>() -> bool {
    vector_elements::<T>() > 4
}

/// Folds a part: the rows of each column, then the columns. Places where there is no element hold the identity; positions
/// count from the part's first element.
#[inline(always)]
pub fn fold_part<T, M: Monoid<T>>(op: M, part: impl Part<T>) -> M::State {
    match vector_elements::<T>() {
        2 => pair_columns::<2, T, M>(op, part, 0),
        4 => pair_columns::<4, T, M>(op, part, 0),
        8 => pair_columns::<8, T, M>(op, part, 0),
        _ => pair_columns::<16, T, M>(op, part, 0),
    }
}

/// `N` columns from `first` on in pairs of neighbours: `(0,1) (2,3) …`, then the results in pairs again. Straight-line code
/// whatever the size of the operator, so that states stay in registers; and no closures, for nothing obliges a compiler to
/// inline those.
#[inline(always)]
fn pair_columns<const N: usize, T, M: Monoid<T>>(op: M, part: impl Part<T>, first: usize) -> M::State {
    match N {
        1 => pair_rows::<ROWS, T, M>(op, part, 0, first),
        2 => op.combine(
            pair_columns::<1, T, M>(op, part, first),
            pair_columns::<1, T, M>(op, part, first + 1),
        ),
        4 => op.combine(
            pair_columns::<2, T, M>(op, part, first),
            pair_columns::<2, T, M>(op, part, first + 2),
        ),
        8 => op.combine(
            pair_columns::<4, T, M>(op, part, first),
            pair_columns::<4, T, M>(op, part, first + 4),
        ),
        _ => op.combine(
            pair_columns::<8, T, M>(op, part, first),
            pair_columns::<8, T, M>(op, part, first + 8),
        ),
    }
}

/// The same for the rows of a column.
#[inline(always)]
fn pair_rows<const N: usize, T, M: Monoid<T>>(op: M, part: impl Part<T>, first: usize, column: usize) -> M::State {
    match N {
        1 => part.lift(op, first, column),
        2 => op.combine(
            pair_rows::<1, T, M>(op, part, first, column),
            pair_rows::<1, T, M>(op, part, first + 1, column),
        ),
        4 => op.combine(
            pair_rows::<2, T, M>(op, part, first, column),
            pair_rows::<2, T, M>(op, part, first + 2, column),
        ),
        _ => op.combine(
            pair_rows::<4, T, M>(op, part, first, column),
            pair_rows::<4, T, M>(op, part, first + 4, column),
        ),
    }
}

/// Folds a part one element after the other: for operators whose `combine` is exact, where no order changes a bit. It needs
/// the fewest registers.
#[inline(always)]
pub fn chain<T, M: Monoid<T>>(op: M, part: impl Part<T>) -> M::State {
    const { assert!(ROWS == 8, "eight rows are written out") };
    let state = chain_rows::<4, T, M>(op, part, 0, op.identity());
    chain_rows::<4, T, M>(op, part, 4, state)
}

/// The same, but the columns in pairs: a few more registers, and soon done.
#[inline(always)]
pub fn chains<T, M: Monoid<T>>(op: M, part: impl Part<T>) -> M::State {
    match vector_elements::<T>() {
        2 => pair_chains::<2, T, M>(op, part, 0),
        4 => pair_chains::<4, T, M>(op, part, 0),
        8 => pair_chains::<8, T, M>(op, part, 0),
        _ => pair_chains::<16, T, M>(op, part, 0),
    }
}

#[inline(always)]
fn pair_chains<const N: usize, T, M: Monoid<T>>(op: M, part: impl Part<T>, first: usize) -> M::State {
    match N {
        1 => chain_column::<ROWS, T, M>(op, part, 0, first, op.identity()),
        2 => op.combine(
            pair_chains::<1, T, M>(op, part, first),
            pair_chains::<1, T, M>(op, part, first + 1),
        ),
        4 => op.combine(
            pair_chains::<2, T, M>(op, part, first),
            pair_chains::<2, T, M>(op, part, first + 2),
        ),
        8 => op.combine(
            pair_chains::<4, T, M>(op, part, first),
            pair_chains::<4, T, M>(op, part, first + 4),
        ),
        _ => op.combine(
            pair_chains::<8, T, M>(op, part, first),
            pair_chains::<8, T, M>(op, part, first + 8),
        ),
    }
}

#[inline(always)]
fn chain_column<const N: usize, T, M: Monoid<T>>(
    op: M,
    part: impl Part<T>,
    row: usize,
    column: usize,
    state: M::State,
) -> M::State {
    match N {
        1 => op.combine(state, part.lift(op, row, column)),
        2 => {
            let state = chain_column::<1, T, M>(op, part, row, column, state);
            chain_column::<1, T, M>(op, part, row + 1, column, state)
        }
        4 => {
            let state = chain_column::<2, T, M>(op, part, row, column, state);
            chain_column::<2, T, M>(op, part, row + 2, column, state)
        }
        _ => {
            let state = chain_column::<4, T, M>(op, part, row, column, state);
            chain_column::<4, T, M>(op, part, row + 4, column, state)
        }
    }
}

/// Straight-line code, as [`pair_columns`] is.
#[inline(always)]
fn chain_rows<const N: usize, T, M: Monoid<T>>(op: M, part: impl Part<T>, row: usize, state: M::State) -> M::State {
    match N {
        4 => chain_rows::<2, T, M>(op, part, row + 2, chain_rows::<2, T, M>(op, part, row, state)),
        2 => chain_rows::<1, T, M>(op, part, row + 1, chain_rows::<1, T, M>(op, part, row, state)),
        _ => match vector_elements::<T>() {
            2 => chain_row::<2, T, M>(op, part, (row, 0), state),
            4 => chain_row::<4, T, M>(op, part, (row, 0), state),
            8 => chain_row::<8, T, M>(op, part, (row, 0), state),
            _ => chain_row::<16, T, M>(op, part, (row, 0), state),
        },
    }
}

#[inline(always)]
fn chain_row<const N: usize, T, M: Monoid<T>>(
    op: M,
    part: impl Part<T>,
    (row, column): (usize, usize),
    state: M::State,
) -> M::State {
    match N {
        1 => op.combine(state, part.lift(op, row, column)),
        2 => {
            let state = chain_row::<1, T, M>(op, part, (row, column), state);
            chain_row::<1, T, M>(op, part, (row, column + 1), state)
        }
        4 => {
            let state = chain_row::<2, T, M>(op, part, (row, column), state);
            chain_row::<2, T, M>(op, part, (row, column + 2), state)
        }
        8 => {
            let state = chain_row::<4, T, M>(op, part, (row, column), state);
            chain_row::<4, T, M>(op, part, (row, column + 4), state)
        }
        _ => {
            let state = chain_row::<8, T, M>(op, part, (row, column), state);
            chain_row::<8, T, M>(op, part, (row, column + 8), state)
        }
    }
}
