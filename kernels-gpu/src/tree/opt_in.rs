//! What only some operators are, each a trait. [`Monoid`] has a method for each, which says what implements it.
//!
//! Traits are of elements `T` and states `State`, not of operators: so an operator in another hands on what that has in a line.

use super::{Again, Monoid, Part, Predicated, ROWS, chain, fold_column_in_pairs, fold_exactly, fold_part};
use crate::element::Item;

/// What implements the traits below of an operator that has none of them: each does here what is true of any operator.
#[derive(Clone, Copy, Debug)]
pub struct Basic<M>(pub M);

/// An operator that answers by position.
///
/// Law: `shift(lift(x, i), by) == lift(x, i + by)`, and the shift of two states combined is that of each, combined.
pub trait Positional<State>: Copy {
    /// The state of the same run, were it to start `by` elements later.
    fn shift(self, state: State, by: u64) -> State;
}

impl<M: Copy, State> Positional<State> for Basic<M> {
    #[inline(always)]
    fn shift(self, state: State, _: u64) -> State {
        state
    }
}

/// An operator that can tell from a fold and an element that the element changes nothing: stages then spare themselves the rest of
/// the work.
///
/// Law: an element that may not change a fold does not, wherever it comes after it.
pub trait Prefilter<T, State>: Copy {
    /// Whether `value`, coming after elements that folded to `best`, could change the fold. An operator that selects
    /// says no to most. `best` folds at least one element, which may be one that a mask leaves out.
    ///
    /// Of an operator that has [unordered words](crate::algebra::Algebra::unordered_words): whether it could change those, but for what
    /// [`Unordered::fold_fast`] looks for by itself. `best` has them, of nothing at first.
    fn may_change(self, best: State, value: T) -> bool;

    /// Bits that are not all zero if `word`, which is elements as memory holds them, has one that [may change](Self::may_change) the fold:
    /// a SWAR prefilter, of an operator that [has one](crate::algebra::Algebra::asks_at_once). A yes too many costs time, a no too many is a
    /// wrong fold.
    #[inline(always)]
    fn may_change_among(self, best: State, word: u32) -> u32 {
        let _ = (best, word);
        u32::MAX
    }
}

impl<T, M: Copy, State> Prefilter<T, State> for Basic<M> {
    #[inline(always)]
    fn may_change(self, _: State, _: T) -> bool {
        true
    }
}

/// An operator that folds the elements of a column at once, as it [says](crate::algebra::Algebra::folds_columns).
///
/// Law: the state of a column is the canonical one, whatever `lift` and `combine` would give; of nothing it is the identity. An operator that does not say so
/// has the bits of pairs of neighbours.
pub trait ColumnFold<T, State>: Copy {
    /// The state of a column of a leaf, its first place at `index` of its run and each a `pitch` further on, a
    /// [row](super::row_elements) of what memory holds. Places past the end, and such as an operator in front leaves out, are empty.
    fn fold_column(self, column: [Predicated<T>; ROWS], index: u64, pitch: u64) -> State
    where
        T: Item;
}

impl<T, M: Monoid<T>> ColumnFold<T, M::State> for Basic<M> {
    #[inline(always)]
    fn fold_column(self, column: [Predicated<T>; ROWS], index: u64, pitch: u64) -> M::State
    where
        T: Item,
    {
        fold_column_in_pairs(self.0, column, index, pitch)
    }
}

/// An operator that folds a lane's part of a leaf in a cheaper way than the canonical tree.
///
/// Law: its states are those of the canonical tree, to the bit. So `combine` is exact, or the way is the tree's.
pub trait PartFold<T, State>: Copy {
    /// The state of a part.
    fn fold_part(self, part: impl Part<T>) -> State
    where
        T: Item;

    /// `state` and all parts that `next` gives, of an operator `op` that associates.
    ///
    /// This combines the states of each. An operator may carry along what is cheaper to add to than a state, and add that in the end.
    #[inline(always)]
    fn fold_parts<P: Part<T>>(
        self,
        op: impl Monoid<T, State = State>,
        mut state: State,
        mut next: impl FnMut() -> Option<P>,
    ) -> State
    where
        T: Item,
    {
        while let Some(part) = next() {
            state = op.combine(state, self.fold_part(part));
        }
        state
    }
}

impl<T, M: Monoid<T>> PartFold<T, M::State> for Basic<M> {
    #[inline(always)]
    fn fold_part(self, part: impl Part<T>) -> M::State
    where
        T: Item,
    {
        fold_part(self.0, part)
    }
}

/// The [`PartFold`] of an operator whose `combine` is exact: one element [after the other](chain).
#[derive(Clone, Copy, Debug)]
pub struct InTurn<M>(pub M);

impl<T, M: Monoid<T>> PartFold<T, M::State> for InTurn<M> {
    #[inline(always)]
    fn fold_part(self, part: impl Part<T>) -> M::State
    where
        T: Item,
    {
        chain(self.0, part)
    }
}

/// The same, in whichever of two ways [suits](fold_exactly) the type of elements.
#[derive(Clone, Copy, Debug)]
pub struct Exactly<M>(pub M);

impl<T, M: Monoid<T>> PartFold<T, M::State> for Exactly<M> {
    #[inline(always)]
    fn fold_part(self, part: impl Part<T>) -> M::State
    where
        T: Item,
    {
        fold_exactly(self.0, part)
    }
}

/// An operator whose states have order-independent accumulators beside rounded words, as it [says](crate::algebra::Algebra::unordered_words).
///
/// Law: either part of a state is what it is without the other, and the unordered one associates.
pub trait Unordered<T, State>: Copy {
    /// The state of two runs of as many elements each, none of which is left out: there may be less code for these.
    fn combine_equals(self, a: State, b: State) -> State;

    /// The state of a part without a hole, in as cheap a way as most parts let it; and whether this one does, for otherwise the state
    /// is any. Where `is_known`, none of its elements [may change](Prefilter::may_change) the unordered words of what was folded before. Those of the state may
    /// then be anything that changes as much.
    fn fold_fast(self, part: impl Again<T>, is_known: bool) -> (State, bool)
    where
        T: Item;

    /// The state of a part none of whose elements [may change](Prefilter::may_change) the unordered words of what was folded before. Only its
    /// unordered words are asked for, which may be anything that changes those as much.
    fn fold_unordered(self, part: impl Again<T>) -> State
    where
        T: Item;

    /// The state of any part, for those that [`fold_fast`](Self::fold_fast) does not fold, which are few.
    fn fold_slow(self, part: impl Again<T>) -> State
    where
        T: Item;
}

impl<T, M: Monoid<T>> Unordered<T, M::State> for Basic<M> {
    #[inline(always)]
    fn combine_equals(self, a: M::State, b: M::State) -> M::State {
        self.0.combine(a, b)
    }
    #[inline(always)]
    fn fold_fast(self, part: impl Again<T>, _: bool) -> (M::State, bool)
    where
        T: Item,
    {
        (part.fold(self.0), true)
    }
    #[inline(always)]
    fn fold_unordered(self, part: impl Again<T>) -> M::State
    where
        T: Item,
    {
        part.fold(self.0)
    }
    #[inline(always)]
    fn fold_slow(self, part: impl Again<T>) -> M::State
    where
        T: Item,
    {
        part.fold(self.0)
    }
}

/// An operator of which up to 64 elements may be summed relative to the largest of them, as it [says](crate::algebra::Algebra::sums_relative).
///
/// Law: `of_terms` of the largest and the sum of all terms has the bits of their states, combined.
pub trait RelativeSum<T, State>: Copy {
    /// An element as a number; −∞ is none.
    fn number(self, value: T) -> f32;

    /// Whether sums relative to such a number take less code: whether it is within bounds.
    fn is_bounded(self, number: f32) -> bool;

    /// What an element adds to the sum relative to the largest, which may be known to be within bounds.
    fn term(self, largest: f32, number: f32, is_bounded: bool) -> f32;

    /// The state of elements by the largest of them and the sum of their [terms](Self::term).
    fn of_terms(self, largest: f32, terms: f32, is_bounded: bool) -> State;

    /// [`combine`](Monoid::combine) of states of elements within bounds.
    fn combine_bounded(self, a: State, b: State) -> State;

    /// The state of a part at hand without a hole.
    fn fold_at_hand<P: Again<T> + Part<T>>(self, part: P) -> State
    where
        T: Item;
}

impl<T, M: Monoid<T>> RelativeSum<T, M::State> for Basic<M> {
    #[inline(always)]
    fn number(self, _: T) -> f32 {
        f32::NEG_INFINITY
    }
    #[inline(always)]
    fn is_bounded(self, _: f32) -> bool {
        false
    }
    #[inline(always)]
    fn term(self, _: f32, _: f32, _: bool) -> f32 {
        0.0
    }
    #[inline(always)]
    fn of_terms(self, _: f32, _: f32, _: bool) -> M::State {
        self.0.identity()
    }
    #[inline(always)]
    fn combine_bounded(self, a: M::State, b: M::State) -> M::State {
        self.0.combine(a, b)
    }
    #[inline(always)]
    fn fold_at_hand<P: Again<T> + Part<T>>(self, part: P) -> M::State
    where
        T: Item,
    {
        part.fold(self.0)
    }
}

/// An operator that seeks the largest of some floats, or [sums relative to it](RelativeSum), and finds it by words as memory holds them: of elements of 2 bytes or 4,
/// as it [says](crate::algebra::Algebra::has_word_maximum). It has a [filler](Monoid::filler).
///
/// Law: what an element alone may do the largest of several may: [change](Prefilter::may_change) a fold, or, of an operator that
/// [associates](crate::algebra::Algebra::associates), be its state, which is of one word.
pub trait ByWords<T>: Copy {
    /// The larger of two floats at each place of two words, with [signs turned](Self::turned_signs): a NaN is largest of all, and +0.0 larger than −0.0.
    fn maximum(self, a: u32, b: u32) -> u32;

    /// All bits of each float of a word that equals the other word's, of an operator that selects the index of one element by the
    /// [maximum](Self::maximum), as it [says](crate::algebra::Algebra::has_word_equal): zeros are equal, and a NaN equals nothing. [`lift`](Monoid::lift) makes the whole
    /// state, of two words or more, of that element and its index.
    #[inline(always)]
    fn equal(self, a: u32, b: u32) -> u32 {
        let _ = (a, b);
        0
    }

    /// Bits of a word that are flipped so that the element that is sought is the largest: none, or the signs.
    #[inline(always)]
    fn turned_signs(self) -> u32 {
        0
    }

    /// Bits of an index in 32 bits that are flipped so that of equals the one that is sought has the lowest: none, or all.
    #[inline(always)]
    fn turned_indices(self) -> u32 {
        0
    }
}

impl<T, M: Copy> ByWords<T> for Basic<M> {
    #[inline(always)]
    fn maximum(self, a: u32, _: u32) -> u32 {
        a
    }
}

/// Which traits an operator opts in to, in its `impl Monoid<T>`: those that it implements itself, or those of an operator inside it.
///
/// ```
/// use warpfold_kernels::monoids::{Monoid, Positional};
///
/// /// The first or the last of two indices that another operator finds.
/// #[derive(Clone, Copy)]
/// struct Same<M>(M);
///
/// impl<T, M: Monoid<T>> Monoid<T> for Same<M> {
///     type State = M::State;
///     type Answer = M::Answer;
///     fn identity(self) -> M::State {
///         self.0.identity()
///     }
///     fn lift(self, value: T, index: u64) -> M::State {
///         self.0.lift(value, index)
///     }
///     fn combine(self, a: M::State, b: M::State) -> M::State {
///         self.0.combine(a, b)
///     }
///     warpfold_kernels::opt_in!(T: Positional, ColumnFold; of |same| same.0);
///     fn finish(self, state: M::State, count: u64) -> M::Answer {
///         self.0.finish(state, count)
///     }
///     fn empty(self) -> Option<M::Answer> {
///         self.0.empty()
///     }
/// }
/// ```
#[macro_export]
macro_rules! opt_in {
    ($element:ty: $($trait:ident),+ $(; of |$op:pat_param| $of:expr)?) => {
        $crate::opt_in! { @each $element, [$($trait)+], [$(|$op| $of)?] }
    };
    (@each $element:ty, [$($trait:ident)+], $of:tt) => {
        $($crate::opt_in! { @one $trait, $element, $of })+
    };
    (@one Positional, $element:ty, $of:tt) => {
        $crate::opt_in! { @hook positional, [Positional<Self::State>], $element, $of }
    };
    (@one Prefilter, $element:ty, $of:tt) => {
        $crate::opt_in! { @hook prefilter, [Prefilter<$element, Self::State>], $element, $of }
    };
    (@one ColumnFold, $element:ty, $of:tt) => {
        $crate::opt_in! { @hook column_fold, [ColumnFold<$element, Self::State>], $element, $of }
    };
    (@one PartFold, $element:ty, $of:tt) => {
        $crate::opt_in! { @hook part_fold, [PartFold<$element, Self::State>], $element, $of }
    };
    (@one Unordered, $element:ty, $of:tt) => {
        $crate::opt_in! { @hook unordered, [Unordered<$element, Self::State>], $element, $of }
    };
    (@one RelativeSum, $element:ty, $of:tt) => {
        $crate::opt_in! { @hook relative_sum, [RelativeSum<$element, Self::State>], $element, $of }
    };
    (@one ByWords, $element:ty, $of:tt) => {
        $crate::opt_in! { @hook by_words, [ByWords<$element>], $element, $of }
    };
    (@hook $hook:ident, [$($trait:tt)+], $element:ty, []) => {
        #[inline(always)]
        fn $hook(self) -> impl $crate::tree::$($trait)+ {
            self
        }
    };
    (@hook $hook:ident, [$($trait:tt)+], $element:ty, [|$op:pat_param| $of:expr]) => {
        #[inline(always)]
        fn $hook(self) -> impl $crate::tree::$($trait)+ {
            let $op = self;
            $crate::tree::Monoid::<$element>::$hook($of)
        }
    };
}
