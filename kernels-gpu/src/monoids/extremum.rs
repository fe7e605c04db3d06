//! The largest or the smallest value.

use super::Monoid;
use crate::{
    element::{Rank, Real},
    tree::{self, Part},
};

/// Which end of the order is sought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The largest.
    Largest,
    /// The smallest.
    Smallest,
}

impl End {
    /// A rank in the order whose largest is sought.
    #[inline]
    pub(super) fn order<R: Rank>(self, rank: R) -> R {
        rank.reversed(self == Self::Smallest)
    }
}

/// The largest or the smallest value; NaN if there is one. Nothing has none.
///
/// The state is an integer key that orders as the values do, so that `combine` is one integer instruction, and
/// associative and commutative to the bit. −0.0 sits just below +0.0, as in IEEE 754-2019's `maximum` and `minimum`,
/// so the answer never depends on the order even there; a NaN sits past the end that is sought, so it always wins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extremum {
    /// Which end.
    pub end: End,
}

impl Extremum {
    /// The largest.
    pub const LARGEST: Self = Self { end: End::Largest };
    /// The smallest.
    pub const SMALLEST: Self = Self { end: End::Smallest };

    /// By the number that a launch passes: 1 is the smallest.
    #[inline]
    #[must_use]
    pub fn of_parameter(parameter: u64) -> Self {
        if parameter == 1 { Self::SMALLEST } else { Self::LARGEST }
    }

    /// The number that a launch passes.
    #[must_use]
    pub fn parameter(self) -> u64 {
        u64::from(self == Self::SMALLEST)
    }
}

/// A key of elements of `T`.
pub type Key<T> = <<T as Real>::Rank as Rank>::Key;

impl<T: Real> Monoid<T> for Extremum {
    type State = Key<T>;
    type Answer = T;

    #[inline]
    fn identity(self) -> Key<T> {
        T::Rank::NOTHING
    }
    #[inline]
    fn lift(self, value: T, _: u64) -> Key<T> {
        self.end.order(value.rank()).key()
    }
    #[inline]
    fn combine(self, a: Key<T>, b: Key<T>) -> Key<T> {
        if b > a { b } else { a }
    }
    #[inline(always)]
    fn fold_part(self, part: impl Part<T>) -> Key<T> {
        if tree::is_long::<T>() {
            tree::chain(self, part)
        } else {
            tree::chains(self, part)
        }
    }
    const SELECTS: bool = true;
    #[allow(clippy::neg_cmp_op_on_partial_ord)] // one instruction, and true for a NaN
    #[inline]
    fn may_change(self, best: Key<T>, value: T) -> bool {
        !(self.end.order(value.rank()) <= T::Rank::bar(best))
    }
    #[inline]
    fn finish(self, best: Key<T>, _: u64) -> T {
        T::from_rank(self.end.order(T::Rank::of_key(best)))
    }
    #[inline]
    fn empty(self) -> Option<T> {
        None
    }
}
