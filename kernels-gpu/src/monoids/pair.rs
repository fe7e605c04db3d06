//! Two operators in one pass: a pair of operators is an operator, with a pair of answers.

use super::{Algebra, Monoid, Words};
use crate::{
    element::Item,
    tree::{self, ColumnFold, Part, PartFold, Positional, Predicated, Prefilter, ROWS},
};

impl<A: Words, B: Words> Words for (A, B) {
    const COUNT: usize = A::COUNT + B::COUNT;
    const UNIT: usize = if A::UNIT > B::UNIT { A::UNIT } else { B::UNIT };
    #[inline(always)]
    fn word(self, i: usize) -> u32 {
        if i < A::COUNT {
            self.0.word(i)
        } else {
            self.1.word(i - A::COUNT)
        }
    }
    #[inline(always)]
    fn from_words(mut word: impl FnMut(usize) -> u32) -> Self {
        let first = A::from_words(&mut word);
        (first, B::from_words(|i| word(A::COUNT + i)))
    }
}

/// Both at once, each with its own rules; over nothing there is an answer where both have one.
impl<T: Item, A: Monoid<T>, B: Monoid<T>> Monoid<T> for (A, B) {
    type State = (A::State, B::State);
    type Answer = (A::Answer, B::Answer);

    #[inline]
    fn identity(self) -> Self::State {
        (self.0.identity(), self.1.identity())
    }
    #[inline]
    fn lift(self, value: T, index: u64) -> Self::State {
        (self.0.lift(value, index), self.1.lift(value, index))
    }
    #[inline]
    fn combine(self, a: Self::State, b: Self::State) -> Self::State {
        (self.0.combine(a.0, b.0), self.1.combine(a.1, b.1))
    }
    const ALGEBRA: Algebra = A::ALGEBRA.and(B::ALGEBRA);
    #[inline(always)]
    fn positional(self) -> impl Positional<Self::State> {
        (self.0.positional(), self.1.positional())
    }
    #[inline(always)]
    fn prefilter(self) -> impl Prefilter<T, Self::State> {
        (self.0.prefilter(), self.1.prefilter())
    }
    #[inline(always)]
    fn column_fold(self) -> impl ColumnFold<T, Self::State> {
        (self.0.column_fold(), self.1.column_fold())
    }
    #[inline(always)]
    fn part_fold(self) -> impl PartFold<T, Self::State> {
        self
    }
    #[inline]
    fn finish(self, state: Self::State, count: u64) -> Self::Answer {
        (self.0.finish(state.0, count), self.1.finish(state.1, count))
    }
    #[inline]
    fn empty(self) -> Option<Self::Answer> {
        Some((self.0.empty()?, self.1.empty()?))
    }
}

impl<A, B, P: Positional<A>, Q: Positional<B>> Positional<(A, B)> for (P, Q) {
    #[inline(always)]
    fn shift(self, state: (A, B), by: u64) -> (A, B) {
        (self.0.shift(state.0, by), self.1.shift(state.1, by))
    }
}

impl<T: Copy, A, B, P: Prefilter<T, A>, Q: Prefilter<T, B>> Prefilter<T, (A, B)> for (P, Q) {
    #[inline(always)]
    fn may_change(self, best: (A, B), value: T) -> bool {
        self.0.may_change(best.0, value) | self.1.may_change(best.1, value)
    }
    #[inline(always)]
    fn may_change_among(self, best: (A, B), word: u32) -> u32 {
        self.0.may_change_among(best.0, word) | self.1.may_change_among(best.1, word)
    }
}

impl<T: Item, A, B, P: ColumnFold<T, A>, Q: ColumnFold<T, B>> ColumnFold<T, (A, B)> for (P, Q) {
    #[inline(always)]
    fn fold_column(self, column: [Predicated<T>; ROWS], index: u64, pitch: u64) -> (A, B) {
        (
            self.0.fold_column(column, index, pitch),
            self.1.fold_column(column, index, pitch),
        )
    }
}

impl<T: Item, A: Monoid<T>, B: Monoid<T>> PartFold<T, (A::State, B::State)> for (A, B) {
    #[inline(always)]
    fn fold_part(self, part: impl Part<T>) -> (A::State, B::State) {
        match (Self::ALGEBRA.selects, tree::is_long::<T>()) {
            // Selecting is exact.
            (true, true) => tree::chain(self, part),
            (true, false) => tree::chains(self, part),
            (false, true) => (self.0.part_fold().fold_part(part), self.1.part_fold().fold_part(part)),
            (false, false) => tree::fold_part(self, part),
        }
    }
}
