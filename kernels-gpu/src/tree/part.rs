//! What a lane has of a leaf.

use super::{Monoid, PartFold as _, ROWS};
use crate::{element::Item, words::Words};

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

    /// The largest element of `count` columns from column `first` on, by an operator's [maximum of words](super::ByWords): of a part
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
        op.part_fold().fold_part(self.0)
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

/// A place of a column: an element, or nothing. Where there is nothing the value is one all the same, for what is no number at all a
/// compiler would keep in a register from before.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Predicated<T> {
    /// The element, if there is one.
    pub value: T,
    /// Whether there is.
    pub is_there: bool,
}

impl<T: Words> Predicated<T> {
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
    pub fn map<U>(self, f: impl FnOnce(T) -> U) -> Predicated<U> {
        let Self { value, is_there } = self;
        let value = f(value);
        Predicated { value, is_there }
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
impl<T: Words> Words for Predicated<T> {
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
