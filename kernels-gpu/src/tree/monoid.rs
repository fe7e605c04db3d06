//! What the tree folds: a state, a neutral state, and an associative, commutative way for two states to become one.

use super::{Again, Part, Place, ROWS, fold_column_in_pairs, fold_part};
use crate::{algebra::Algebra, element::Item, words::Words};

/// How elements of type `T` fold into one answer.
///
/// Laws, for all states `a`, `b`, `c` that come from `lift` and `combine`, **to the bit**:
///
/// * `combine(identity, a) == a == combine(a, identity)`;
/// * `combine(a, b) == combine(b, a)`, but [in order](crate::monoids::InOrder);
/// * `combine(lift(x, i), lift(filler, j)) == lift(x, i)` of an operator that has a [`filler`](Monoid::filler).
///
/// All NaNs count as one here: which of two payloads an addition keeps is the hardware's choice, and `finish` gives a
/// single one.
///
/// Mark the methods `#[inline]`: the CPU backend is another crate, and an operator that is not inlined there is ten times
/// slower.
///
/// `combine` is associative as mathematics; where rounding breaks associativity, the canonical [tree](super)
/// fixes the order. Operators are values, so what an answer needs (which end, an ε) rides along.
pub trait Monoid<T>: Copy {
    /// What is carried up the tree.
    type State: Words;
    /// What the caller gets.
    type Answer: Words;

    /// The neutral state.
    fn identity(self) -> Self::State;

    /// The state of one element, at `index` of the run it belongs to.
    fn lift(self, value: T, index: u64) -> Self::State;

    /// The state of two runs together.
    fn combine(self, a: Self::State, b: Self::State) -> Self::State;

    /// The same of two runs of as many elements each, none of which is left out: an operator may have less code for these.
    #[inline(always)]
    fn combine_equals(self, a: Self::State, b: Self::State) -> Self::State {
        self.combine(a, b)
    }

    /// An element that no fold notices: combined with any other element's state, its own gives that again, to the bit, whatever their
    /// indices. Stages have it where memory has none; without one they fold around such places, which is more code.
    #[inline]
    fn filler(self) -> Option<T> {
        None
    }

    /// What states can be relied on for, and what the code is like.
    const ALGEBRA: Algebra = Algebra::PLAIN;

    /// The state of the same run, were it to start `by` elements later. Only operators that report positions care.
    #[inline]
    fn shift(self, state: Self::State, by: u64) -> Self::State {
        let _ = by;
        state
    }

    /// Whether `value`, coming after elements that folded to `best`, could change the fold. An operator that selects
    /// says no to most, and a stage then spares itself the rest of the work. `best` folds at least one element, which may be one that
    /// a mask leaves out.
    ///
    /// Of an operator that sets words aside ([`Algebra::unordered_words`]): whether it could change that, but for what
    /// [`fold_fast`](Self::fold_fast) looks for by itself. `best` is then what was set aside, of nothing at first.
    #[inline]
    fn may_change(self, best: Self::State, value: T) -> bool {
        let _ = (best, value);
        true
    }

    /// Bits that are not all zero if `word`, which is elements as memory holds them, has one that [may change](Self::may_change) the fold.
    /// A yes too many costs time, a no too many is a wrong fold.
    #[inline(always)]
    fn may_change_among(self, best: Self::State, word: u32) -> u32 {
        let _ = (best, word);
        u32::MAX
    }

    /// The larger of two floats at each place of two words, of an operator that seeks the largest, or [sums relative to it](Algebra::sums_relative): a NaN is largest of all, and +0.0
    /// larger than −0.0. Words are elements as memory holds them, but that [signs are turned](Self::turned_signs).
    ///
    /// What an element alone may do the largest of several may: [change](Self::may_change) a fold, or, where the operator
    /// [associates](Algebra::associates), be its state. Such an operator has a [filler](Self::filler), states of one word, and elements of 2 bytes or 4.
    const WORD_MAXIMUM: Option<fn(u32, u32) -> u32> = None;

    /// All bits of each float of a word that equals the other word's, of an operator that [selects](Algebra::selects) by the [maximum](Self::WORD_MAXIMUM)
    /// the index of one element: zeros are equal, and a NaN equals nothing. [`lift`](Self::lift) makes the whole state, of two words or more, of that element and its index.
    const WORD_EQUAL: Option<fn(u32, u32) -> u32> = None;

    /// Bits of an index in 32 bits that are flipped so that of equals the one that is sought has the lowest: none, or all.
    #[inline(always)]
    fn turned_indices(self) -> u32 {
        0
    }

    /// Bits of a word that are flipped so that the element that is sought is the largest: none, or the signs.
    #[inline(always)]
    fn turned_signs(self) -> u32 {
        0
    }

    /// The state of a lane's part of a leaf.
    ///
    /// This folds it in the canonical tree. An operator whose `combine` is exact, so that no order changes a bit, may do it
    /// in a cheaper way.
    #[inline(always)]
    fn fold_part(self, part: impl Part<T>) -> Self::State
    where
        T: Item,
    {
        fold_part(self, part)
    }

    /// The state of a part at hand without a hole, of an operator that has a way of its own.
    #[inline(always)]
    fn fold_at_hand<P: Again<T> + Part<T>>(self, part: P) -> Option<Self::State>
    where
        T: Item,
    {
        let _ = part;
        None
    }

    /// An element as a number; −∞ is none. This and the four below are asked of an operator whose elements are [summed relative to the
    /// largest](Algebra::sums_relative). It must define all five.
    #[inline(always)]
    fn number(self, value: T) -> f32 {
        let _ = value;
        0.0
    }

    /// Whether sums relative to such a number take less code: whether it is within bounds.
    #[inline(always)]
    fn is_bounded(self, number: f32) -> bool {
        let _ = number;
        false
    }

    /// What an element adds to the sum relative to the largest, which may be known to be within bounds.
    #[inline(always)]
    fn term(self, largest: f32, number: f32, is_bounded: bool) -> f32 {
        let _ = (largest, number, is_bounded);
        0.0
    }

    /// The state of elements by the largest of them and the sum of their [terms](Self::term).
    #[inline(always)]
    fn of_terms(self, largest: f32, terms: f32, is_bounded: bool) -> Self::State {
        let _ = (largest, terms, is_bounded);
        self.identity()
    }

    /// [`combine`](Self::combine) of states of elements within bounds.
    #[inline(always)]
    fn combine_bounded(self, a: Self::State, b: Self::State) -> Self::State {
        self.combine(a, b)
    }

    /// `state` and all parts that `next` gives, of an operator that associates.
    ///
    /// This combines the states of each. An operator may carry along what is cheaper to add to than a state, and add that in the end.
    #[inline(always)]
    fn fold_parts<P: Part<T>>(self, mut state: Self::State, mut next: impl FnMut() -> Option<P>) -> Self::State
    where
        T: Item,
    {
        while let Some(part) = next() {
            state = self.combine(state, self.fold_part(part));
        }
        state
    }

    /// The state of a column of a leaf, its first place at `index` of its run and each a `pitch` further on, a
    /// [row](super::row_elements) of what memory holds; places past the end, and such as an operator in front leaves out, are empty. By
    /// `lift`, the identity where there is no element, and `combine` in pairs of neighbours.
    ///
    /// An operator that says so ([`Algebra::folds_columns`]) does it in a way of its own, and of other bits: that way is then
    /// the canonical one. Of nothing it gives the identity.
    #[inline(always)]
    fn fold_column(self, column: [Place<T>; ROWS], index: u64, pitch: u64) -> Self::State
    where
        T: Item,
    {
        fold_column_in_pairs(self, column, index, pitch)
    }

    /// The state of a part without a hole, in as cheap a way as most parts let it; and whether this one does, for otherwise the state
    /// is any. Where `is_known`, none of its elements [may change](Self::may_change) what was set aside before, and what the state has
    /// aside may then be anything that changes as much.
    #[inline(always)]
    fn fold_fast(self, part: impl Again<T>, is_known: bool) -> (Self::State, bool)
    where
        T: Item,
    {
        let _ = is_known;
        (part.fold(self), true)
    }

    /// The state of a part none of whose elements [may change](Self::may_change) the unordered words of what was folded before. Only its
    /// unordered words are asked for, which may be anything that changes those as much.
    #[inline(always)]
    fn fold_unordered(self, part: impl Again<T>) -> Self::State
    where
        T: Item,
    {
        part.fold(self)
    }

    /// The state of any part, for those that [`fold_fast`](Self::fold_fast) does not fold, which are few.
    #[inline(always)]
    fn fold_slow(self, part: impl Again<T>) -> Self::State
    where
        T: Item,
    {
        part.fold(self)
    }

    /// The answer for an extent of `count` elements, at least one.
    fn finish(self, state: Self::State, count: u64) -> Self::Answer;

    /// The answer for an extent of no elements; `None` where there is none to give.
    fn empty(self) -> Option<Self::Answer>;
}
