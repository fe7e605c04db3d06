//! The canonical tree, version 1: which two states are combined, as a function of the length alone.
//!
//! Element `i` of an extent sits in **leaf** `i / LEAF`. A leaf is [`ROWS`] rows of [`row_elements`] columns, in
//! index order. States are combined in pairs of neighbours, always `(0,1) (2,3) …`, then the results in pairs again:
//!
//! 1. the rows of a leaf, column by column: `ROWS` states become one per column;
//! 2. the columns of a leaf: neighbours, until one state is left;
//! 3. the leaves: neighbours, until one state is left.
//!
//! An operator may fold the elements of a column at once, in a way of its own ([`ColumnFold`]).
//! A place past the end of the extent holds the operator's identity, which is neutral to the bit, so padding to a
//! power of two changes nothing. The full text is `docs/canonical-tree.md`.
//!
//! Any power-of-two group of neighbouring leaves is a subtree. That is why a warp may fold 1, 2, 4 … leaves, a block
//! any power-of-two number of warps, and a grid any number of blocks, without changing a bit of the answer.

mod monoid;
mod opt_in;
mod part;
pub(crate) mod pending;

pub use crate::leaf::{LANES, LEAF_BYTES, ROWS, VECTOR_BYTES};
pub use monoid::Monoid;
pub use opt_in::{
    Basic, ByWords, ColumnFold, Exactly, InTurn, PartFold, Positional, Prefilter, RelativeSum, Unordered,
};
pub use part::{Again, AtHand, Columns, Part, Predicated};

use crate::element::{Item, Type};

/// The version of the canonical tree. A change to any constant here, or to the order above, is a new version.
pub const VERSION: u32 = 1;

impl Type {
    /// Elements in a leaf of the canonical tree.
    #[must_use]
    pub const fn leaf_elements(self) -> u64 {
        (LEAF_BYTES / self.bytes()) as u64
    }
}

/// Elements of `T` in one vector.
#[must_use]
pub const fn vector_elements<T: Item>() -> usize {
    VECTOR_BYTES / T::BYTES
}

/// Elements of `T` in one row of a leaf: one vector for each lane of a warp.
#[must_use]
pub const fn row_elements<T: Item>() -> usize {
    LANES as usize * vector_elements::<T>()
}

/// Elements of `T` in one leaf.
#[must_use]
pub const fn leaf_elements<T: Item>() -> usize {
    LEAF_BYTES / T::BYTES
}

/// Leaves that an extent of `len` elements of `T` touches.
#[must_use]
pub const fn leaves<T: Item>(len: u64) -> u64 {
    len.div_ceil(leaf_elements::<T>() as u64)
}

/// Where in a part an element is: counted from the part's first element, so that it is a constant.
#[must_use]
pub const fn place<T: Item>(row: usize, column: usize) -> u64 {
    (row * row_elements::<T>() + column) as u64
}

/// Whether a part has so many elements that an exact operator had better fold them as a [`chain`].
#[must_use]
pub const fn is_long<T: Item>() -> bool {
    vector_elements::<T>() > 4
}

/// Folds a part: the rows of each column, then the columns. Places where there is no element hold the identity; positions
/// count from the part's first element.
#[inline(always)]
pub fn fold_part<T: Item, M: Monoid<T>, P: Part<T>>(op: M, part: P) -> M::State {
    if M::ALGEBRA.associates
        && let Some(state) = part.fold_in_loop(op)
    {
        return state;
    }
    in_pairs(op, ColumnsInPairs(part), P::COLUMNS)
}

/// Folds one column of a part, as [`fold_part`] does.
#[inline(always)]
pub fn fold_column<T: Item, M: Monoid<T>>(op: M, part: impl Part<T>, column: usize) -> M::State {
    ColumnsInPairs(part).state(op, column)
}

/// Folds a part one element after the other: for operators whose `combine` is exact, where no order changes a bit. It needs
/// the fewest registers.
#[inline(always)]
pub fn chain<T, M: Monoid<T>, P: Part<T>>(op: M, part: P) -> M::State {
    if let Some(state) = part.fold_in_loop(op) {
        return state;
    }
    in_turn(op, PartElements(part), P::ROWS * P::COLUMNS)
}

/// The same, but the columns in pairs: a few more registers, and soon done.
#[inline(always)]
pub fn chains<T, M: Monoid<T>, P: Part<T>>(op: M, part: P) -> M::State {
    if let Some(state) = part.fold_in_loop(op) {
        return state;
    }
    in_pairs(op, ColumnsInTurn(part), P::COLUMNS)
}

/// Folds a part in whichever of the two ways suits its type of elements.
#[inline(always)]
pub fn fold_exactly<T: Item, M: Monoid<T>>(op: M, part: impl Part<T>) -> M::State {
    if is_long::<T>() {
        chain(op, part)
    } else {
        chains(op, part)
    }
}

/// As an operator it says what is at a place.
#[derive(Clone, Copy)]
struct Any;

impl<T: Item> Monoid<T> for Any {
    type State = Predicated<T>;
    type Answer = bool;

    #[inline(always)]
    fn identity(self) -> Predicated<T> {
        Predicated::empty()
    }
    #[inline(always)]
    fn lift(self, value: T, _: u64) -> Predicated<T> {
        Predicated::of(value)
    }
    #[inline(always)]
    fn combine(self, a: Predicated<T>, b: Predicated<T>) -> Predicated<T> {
        if b.is_there { b } else { a }
    }
    #[inline(always)]
    fn finish(self, place: Predicated<T>, _: u64) -> bool {
        place.is_there
    }
    #[inline(always)]
    fn empty(self) -> Option<bool> {
        Some(false)
    }
}

/// States by number. Each is asked for once.
trait StatesByNumber<T, M: Monoid<T>>: Copy {
    fn state(self, op: M, number: usize) -> M::State;
}

/// The elements of a part, row after row.
#[derive(Clone, Copy)]
struct PartElements<P>(P);

impl<T, M: Monoid<T>, P: Part<T>> StatesByNumber<T, M> for PartElements<P> {
    #[inline(always)]
    fn state(self, op: M, number: usize) -> M::State {
        self.0.lift(op, number / P::COLUMNS, number % P::COLUMNS)
    }
}

/// The elements of a column.
#[derive(Clone, Copy)]
struct PartColumn<P> {
    part: P,
    column: usize,
}

impl<T, M: Monoid<T>, P: Part<T>> StatesByNumber<T, M> for PartColumn<P> {
    #[inline(always)]
    fn state(self, op: M, row: usize) -> M::State {
        self.part.lift(op, row, self.column)
    }
}

/// The columns of a part, each folded in pairs.
#[derive(Clone, Copy)]
struct ColumnsInPairs<P>(P);

impl<T: Item, M: Monoid<T>, P: Part<T>> StatesByNumber<T, M> for ColumnsInPairs<P> {
    #[inline(always)]
    fn state(self, op: M, column: usize) -> M::State {
        if !M::ALGEBRA.folds_columns {
            return in_pairs(op, PartColumn { part: self.0, column }, P::ROWS);
        }
        let at = |row| {
            if row < P::ROWS {
                self.0.lift(Any, row, column)
            } else {
                Predicated::empty()
            }
        };
        let places = [at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7)];
        op.column_fold()
            .fold_column(places, place::<T>(0, column), place::<T>(1, 0))
    }
}

/// The columns of a part, each folded one element after the other.
#[derive(Clone, Copy)]
struct ColumnsInTurn<P>(P);

impl<T, M: Monoid<T>, P: Part<T>> StatesByNumber<T, M> for ColumnsInTurn<P> {
    #[inline(always)]
    fn state(self, op: M, column: usize) -> M::State {
        in_turn(op, PartColumn { part: self.0, column }, P::ROWS)
    }
}

/// The first `count` states in pairs of neighbours: `(0,1) (2,3) …`, then the results in pairs again. `count` is a constant, a
/// power of two.
///
/// This and [`in_turn`] are straight-line code whatever the size of the operator, so that states stay in registers; and no
/// closures, for nothing obliges a compiler to inline those.
#[inline(always)]
fn in_pairs<T, M: Monoid<T>>(op: M, states: impl StatesByNumber<T, M>, count: usize) -> M::State {
    match count {
        1 => pairs::<1, T, M>(op, states, 0),
        2 => pairs::<2, T, M>(op, states, 0),
        4 => pairs::<4, T, M>(op, states, 0),
        8 => pairs::<8, T, M>(op, states, 0),
        _ => {
            assert!(count == 16, "a vector has at most 16 elements");
            pairs::<16, T, M>(op, states, 0)
        }
    }
}

/// `N` states from `first` on.
#[inline(always)]
fn pairs<const N: usize, T, M: Monoid<T>>(op: M, states: impl StatesByNumber<T, M>, first: usize) -> M::State {
    match N {
        1 => states.state(op, first),
        2 => op.combine(
            pairs::<1, T, M>(op, states, first),
            pairs::<1, T, M>(op, states, first + 1),
        ),
        4 => op.combine(
            pairs::<2, T, M>(op, states, first),
            pairs::<2, T, M>(op, states, first + 2),
        ),
        8 => op.combine(
            pairs::<4, T, M>(op, states, first),
            pairs::<4, T, M>(op, states, first + 4),
        ),
        _ => op.combine(
            pairs::<8, T, M>(op, states, first),
            pairs::<8, T, M>(op, states, first + 8),
        ),
    }
}

/// The first `count` states one after the other. `count` is a constant, a power of two.
#[inline(always)]
fn in_turn<T, M: Monoid<T>>(op: M, states: impl StatesByNumber<T, M>, count: usize) -> M::State {
    let nothing = op.identity();
    match count {
        1 => turns::<1, T, M>(op, states, 0, nothing),
        2 => turns::<2, T, M>(op, states, 0, nothing),
        4 => turns::<4, T, M>(op, states, 0, nothing),
        8 => turns::<8, T, M>(op, states, 0, nothing),
        16 => turns::<16, T, M>(op, states, 0, nothing),
        32 => turns::<32, T, M>(op, states, 0, nothing),
        64 => turns::<64, T, M>(op, states, 0, nothing),
        _ => {
            assert!(count == 128, "a part has at most 128 elements");
            turns::<128, T, M>(op, states, 0, nothing)
        }
    }
}

/// `N` states from `first` on, after `state`.
#[inline(always)]
fn turns<const N: usize, T, M: Monoid<T>>(
    op: M,
    states: impl StatesByNumber<T, M>,
    first: usize,
    state: M::State,
) -> M::State {
    match N {
        1 => op.combine(state, states.state(op, first)),
        2 => {
            let state = turns::<1, T, M>(op, states, first, state);
            turns::<1, T, M>(op, states, first + 1, state)
        }
        4 => {
            let state = turns::<2, T, M>(op, states, first, state);
            turns::<2, T, M>(op, states, first + 2, state)
        }
        8 => {
            let state = turns::<4, T, M>(op, states, first, state);
            turns::<4, T, M>(op, states, first + 4, state)
        }
        16 => {
            let state = turns::<8, T, M>(op, states, first, state);
            turns::<8, T, M>(op, states, first + 8, state)
        }
        32 => {
            let state = turns::<16, T, M>(op, states, first, state);
            turns::<16, T, M>(op, states, first + 16, state)
        }
        64 => {
            let state = turns::<32, T, M>(op, states, first, state);
            turns::<32, T, M>(op, states, first + 32, state)
        }
        _ => {
            let state = turns::<64, T, M>(op, states, first, state);
            turns::<64, T, M>(op, states, first + 64, state)
        }
    }
}

/// A column by `lift`, the identity where there is no element, and `combine` in pairs of neighbours: what [`ColumnFold`] is of most operators.
#[inline(always)]
pub fn fold_column_in_pairs<T: Item, M: Monoid<T>>(
    op: M,
    [a, b, c, d, e, f, g, h]: [Predicated<T>; ROWS],
    index: u64,
    pitch: u64,
) -> M::State {
    let row = |row: u64, place: Predicated<T>| place.lift(op, index + row * pitch);
    let low = op.combine(op.combine(row(0, a), row(1, b)), op.combine(row(2, c), row(3, d)));
    let high = op.combine(op.combine(row(4, e), row(5, f)), op.combine(row(6, g), row(7, h)));
    op.combine(low, high)
}
