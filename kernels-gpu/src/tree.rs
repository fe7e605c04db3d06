//! The canonical tree, version 1: which two states are combined, as a function of the length alone.
//!
//! Element `i` of an extent sits in **leaf** `i / LEAF`. A leaf is [`ROWS`] rows of [`row_elements`] columns, in
//! index order. States meet in pairs of neighbours, always `(0,1) (2,3) …`, then the results in pairs again:
//!
//! 1. the rows of a leaf, column by column: `ROWS` states become one per column;
//! 2. the columns of a leaf: neighbours, until one state is left;
//! 3. the leaves: neighbours, until one state is left.
//!
//! An operator may fold the elements of a column at once, in a way of its own ([`Monoid::fold_column`]).
//! A place past the end of the extent holds the operator's identity, which is neutral to the bit, so padding to a
//! power of two changes nothing. The full text is `docs/canonical-tree.md`.
//!
//! Any power-of-two group of neighbouring leaves is a subtree. That is why a warp may fold 1, 2, 4 … leaves, a block
//! any power-of-two number of warps, and a grid any number of blocks, without changing a bit of the answer.

pub(crate) mod pending;

use crate::{
    element::{Item, Type},
    monoids::{Monoid, Words},
};

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

/// A lane's part of a leaf: rows of neighbouring elements, as many as a vector has, some of them absent.
pub trait Part<T>: Copy {
    /// How many rows it has, a power of two; those of the leaf that it has not hold no elements.
    const ROWS: usize = ROWS;
    /// How many elements of a row it has: as many as a vector.
    const COLUMNS: usize;
    /// Whether its elements are in registers, so that each may as well be asked for twice.
    const AT_HAND: bool = false;

    /// The state of the element at a row and a column; the identity where there is none. Each is best asked for once, unless they are
    /// [at hand](Self::AT_HAND).
    fn lift<M: Monoid<T>>(self, op: M, row: usize, column: usize) -> M::State;

    /// The state of all its elements, of an operator to which no order matters, from a loop over them: of a part that is a run of memory,
    /// as on a CPU, where the compiler makes vectors of such a loop. `None` of any other.
    #[inline(always)]
    fn fold_in_loop<M: Monoid<T>>(self, op: M) -> Option<M::State> {
        let _ = op;
        None
    }

    /// The largest element of `count` columns from column `first` on, by an operator's [maximum of words](Monoid::WORD_MAXIMUM): of a part
    /// that is whole words, on a machine that has the instruction. `None` of any other.
    #[inline(always)]
    fn largest<M: Monoid<T>>(self, op: M, first: usize, count: usize) -> Option<T> {
        let _ = (op, first, count);
        None
    }

    /// The same part, known to a compiler to have an element at every place; `None` where it has not, or does not know.
    #[inline(always)]
    fn full(self) -> Option<Self> {
        None
    }
}

/// A lane's part of a leaf for several operators, one after the other.
pub trait Again<T>: Copy {
    /// Its state.
    fn fold<M: Monoid<T>>(self, op: M) -> M::State;

    /// The same in a loop over columns, a word or one of them in a turn: the least code.
    #[inline(always)]
    fn fold_in_turns<M: Monoid<T>>(self, op: M) -> M::State {
        self.fold(op)
    }

    /// The same, or of eight elements of 2 bytes in a vector in two turns.
    #[inline(always)]
    fn fold_in_halves<M: Monoid<T>>(self, op: M) -> M::State {
        self.fold(op)
    }

    /// The same by code that shares nothing with that before: what is computed of all elements is computed again, and not kept.
    #[inline(always)]
    fn fold_opaque<M: Monoid<T>>(self, op: M) -> M::State {
        self.fold(op)
    }
}

/// A part that is at hand, for several operators.
#[derive(Clone, Copy)]
pub struct AtHand<P>(pub P);

impl<T: Item, P: Part<T>> Again<T> for AtHand<P> {
    #[inline(always)]
    fn fold<M: Monoid<T>>(self, op: M) -> M::State {
        op.fold_part(self.0)
    }
}

/// `N` columns of a part, from column `first` on.
#[derive(Clone, Copy)]
pub struct Columns<P, const N: usize> {
    /// The part.
    pub part: P,
    /// The first of them.
    pub first: usize,
}

impl<T, P: Part<T>, const N: usize> Part<T> for Columns<P, N> {
    const ROWS: usize = P::ROWS;
    const COLUMNS: usize = N;
    const AT_HAND: bool = P::AT_HAND;

    #[inline(always)]
    fn lift<M: Monoid<T>>(self, op: M, row: usize, column: usize) -> M::State {
        self.part.lift(op, row, self.first + column)
    }
    #[inline(always)]
    fn largest<M: Monoid<T>>(self, op: M, first: usize, count: usize) -> Option<T> {
        self.part.largest(op, self.first + first, count)
    }
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
    in_turn(op, Elements(part), P::ROWS * P::COLUMNS)
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

/// A place of a column: an element, or nothing. Where there is nothing the value is one all the same, for what is no number at all a
/// compiler would keep in a register from before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place<T> {
    /// The element, if there is one.
    pub value: T,
    /// Whether there is.
    pub is_there: bool,
}

impl<T: Words> Place<T> {
    /// An element.
    #[inline(always)]
    pub fn of(value: T) -> Self {
        let is_there = true;
        Self { value, is_there }
    }

    /// Nothing.
    #[inline(always)]
    #[must_use]
    pub fn empty() -> Self {
        let value = T::from_words(|_| 0);
        Self { value, is_there: false }
    }

    /// What `f` makes of it.
    #[inline(always)]
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Place<U> {
        let Self { value, is_there } = self;
        let value = f(value);
        Place { value, is_there }
    }

    /// The same, but nothing unless `f` says yes.
    #[inline(always)]
    #[must_use]
    pub fn filter(self, f: impl FnOnce(T) -> bool) -> Self {
        let Self { value, is_there } = self;
        let is_there = is_there & f(value);
        Self { value, is_there }
    }

    /// The state of the element at `index`; the identity where there is none.
    #[inline(always)]
    pub fn lift<M: Monoid<T>>(self, op: M, index: u64) -> M::State {
        if self.is_there {
            op.lift(self.value, index)
        } else {
            op.identity()
        }
    }
}

/// For the sake of [`Monoid`]; it never travels.
impl<T: Words> Words for Place<T> {
    const COUNT: usize = T::COUNT + 1;
    #[inline]
    fn word(self, i: usize) -> u32 {
        if i < T::COUNT {
            self.value.word(i)
        } else {
            self.is_there.into()
        }
    }
    #[inline]
    fn from_words(mut word: impl FnMut(usize) -> u32) -> Self {
        let value = T::from_words(&mut word);
        let is_there = word(T::COUNT) == 1;
        Self { value, is_there }
    }
}

/// As an operator it says what is at a place.
#[derive(Clone, Copy)]
struct Any;

impl<T: Item> Monoid<T> for Any {
    type State = Place<T>;
    type Answer = bool;

    #[inline(always)]
    fn identity(self) -> Place<T> {
        Place::empty()
    }
    #[inline(always)]
    fn lift(self, value: T, _: u64) -> Place<T> {
        Place::of(value)
    }
    #[inline(always)]
    fn combine(self, a: Place<T>, b: Place<T>) -> Place<T> {
        if b.is_there { b } else { a }
    }
    #[inline(always)]
    fn finish(self, place: Place<T>, _: u64) -> bool {
        place.is_there
    }
    #[inline(always)]
    fn empty(self) -> Option<bool> {
        Some(false)
    }
}

/// States by number. Each is asked for once.
trait States<T, M: Monoid<T>>: Copy {
    fn state(self, op: M, number: usize) -> M::State;
}

/// The elements of a part, row after row.
#[derive(Clone, Copy)]
struct Elements<P>(P);

impl<T, M: Monoid<T>, P: Part<T>> States<T, M> for Elements<P> {
    #[inline(always)]
    fn state(self, op: M, number: usize) -> M::State {
        self.0.lift(op, number / P::COLUMNS, number % P::COLUMNS)
    }
}

/// The elements of a column.
#[derive(Clone, Copy)]
struct Column<P> {
    part: P,
    column: usize,
}

impl<T, M: Monoid<T>, P: Part<T>> States<T, M> for Column<P> {
    #[inline(always)]
    fn state(self, op: M, row: usize) -> M::State {
        self.part.lift(op, row, self.column)
    }
}

/// The columns of a part, each folded in pairs.
#[derive(Clone, Copy)]
struct ColumnsInPairs<P>(P);

impl<T: Item, M: Monoid<T>, P: Part<T>> States<T, M> for ColumnsInPairs<P> {
    #[inline(always)]
    fn state(self, op: M, column: usize) -> M::State {
        if !M::ALGEBRA.folds_columns {
            return in_pairs(op, Column { part: self.0, column }, P::ROWS);
        }
        let at = |row| {
            if row < P::ROWS {
                self.0.lift(Any, row, column)
            } else {
                Place::empty()
            }
        };
        let places = [at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7)];
        op.fold_column(places, place::<T>(0, column), place::<T>(1, 0))
    }
}

/// The columns of a part, each folded one element after the other.
#[derive(Clone, Copy)]
struct ColumnsInTurn<P>(P);

impl<T, M: Monoid<T>, P: Part<T>> States<T, M> for ColumnsInTurn<P> {
    #[inline(always)]
    fn state(self, op: M, column: usize) -> M::State {
        in_turn(op, Column { part: self.0, column }, P::ROWS)
    }
}

/// The first `count` states in pairs of neighbours: `(0,1) (2,3) …`, then the results in pairs again. `count` is a constant, a
/// power of two.
///
/// This and [`in_turn`] are straight-line code whatever the size of the operator, so that states stay in registers; and no
/// closures, for nothing obliges a compiler to inline those.
#[inline(always)]
fn in_pairs<T, M: Monoid<T>>(op: M, states: impl States<T, M>, count: usize) -> M::State {
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
fn pairs<const N: usize, T, M: Monoid<T>>(op: M, states: impl States<T, M>, first: usize) -> M::State {
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
fn in_turn<T, M: Monoid<T>>(op: M, states: impl States<T, M>, count: usize) -> M::State {
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
fn turns<const N: usize, T, M: Monoid<T>>(op: M, states: impl States<T, M>, first: usize, state: M::State) -> M::State {
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
