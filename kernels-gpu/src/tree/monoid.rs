//! What the tree folds: a state, a neutral state, and an associative, commutative way for two states to become one.

use super::{Basic, ByWords, ColumnFold, PartFold, Positional, Prefilter, RelativeSum, Unordered};
use crate::{algebra::Algebra, words::Words};

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
///
/// # What only some operators are
///
/// An operator needs the two types and the five methods that have no default. Whatever else it is, it is by a trait of its own, and one
/// method here says what implements that trait: mostly the operator itself. [`opt_in!`](crate::opt_in) writes that method.
///
/// ```
/// use warpfold_kernels::monoids::{Monoid, Positional};
///
/// /// The sum of the indices of all elements that are not zero. It wraps around.
/// #[derive(Clone, Copy, Debug)]
/// struct Indices;
///
/// impl Monoid<f32> for Indices {
///     type State = (u64, u64);
///     type Answer = u64;
///
///     fn identity(self) -> (u64, u64) {
///         (0, 0)
///     }
///     fn lift(self, value: f32, index: u64) -> (u64, u64) {
///         if value == 0.0 { (0, 0) } else { (1, index) }
///     }
///     fn combine(self, a: (u64, u64), b: (u64, u64)) -> (u64, u64) {
///         (a.0 + b.0, a.1.wrapping_add(b.1))
///     }
///     warpfold_kernels::opt_in!(f32: Positional);
///     fn finish(self, (_, sum): (u64, u64), _: u64) -> u64 {
///         sum
///     }
///     fn empty(self) -> Option<u64> {
///         Some(0)
///     }
/// }
///
/// impl Positional<(u64, u64)> for Indices {
///     fn shift(self, (count, sum): (u64, u64), by: u64) -> (u64, u64) {
///         (count, sum.wrapping_add(count.wrapping_mul(by)))
///     }
/// }
/// ```
pub trait Monoid<T>: Copy {
    /// What is carried up the tree.
    type State: Words;
    /// What the caller gets.
    type Answer: Words;

    /// What states can be relied on for, and what the code is like.
    const ALGEBRA: Algebra = Algebra::PLAIN;

    /// The neutral state.
    fn identity(self) -> Self::State;

    /// The state of one element, at `index` of the run it belongs to.
    fn lift(self, value: T, index: u64) -> Self::State;

    /// The state of two runs together.
    fn combine(self, a: Self::State, b: Self::State) -> Self::State;

    /// The answer for an extent of `count` elements, at least one.
    fn finish(self, state: Self::State, count: u64) -> Self::Answer;

    /// The answer for an extent of no elements; `None` where there is none to give.
    fn empty(self) -> Option<Self::Answer>;

    /// An element that no fold notices: combined with any other element's state, its own gives that again, to the bit, whatever their
    /// indices. Stages have it where memory has none; without one they fold around such places, which is more code.
    #[inline]
    fn filler(self) -> Option<T> {
        None
    }

    /// How states follow their elements to other positions, of an operator that answers by position.
    #[inline(always)]
    fn positional(self) -> impl Positional<Self::State> {
        Basic(self)
    }

    /// Which elements cannot change a fold, of an operator that [selects](Algebra::selects) or has
    /// [unordered words](Algebra::unordered_words).
    #[inline(always)]
    fn prefilter(self) -> impl Prefilter<T, Self::State> {
        Basic(self)
    }

    /// How the elements of a column become a state.
    #[inline(always)]
    fn column_fold(self) -> impl ColumnFold<T, Self::State> {
        Basic(self)
    }

    /// How a lane's part of a leaf becomes a state.
    #[inline(always)]
    fn part_fold(self) -> impl PartFold<T, Self::State> {
        Basic(self)
    }

    /// How parts are folded of an operator with [unordered words](Algebra::unordered_words).
    #[inline(always)]
    fn unordered(self) -> impl Unordered<T, Self::State> {
        Basic(self)
    }

    /// How elements are summed relative to the largest, of an operator that [may](Algebra::sums_relative).
    #[inline(always)]
    fn relative_sum(self) -> impl RelativeSum<T, Self::State> {
        Basic(self)
    }

    /// How words of elements are compared, of an operator that [seeks the largest](Algebra::has_word_maximum).
    #[inline(always)]
    fn by_words(self) -> impl ByWords<T> {
        Basic(self)
    }
}
