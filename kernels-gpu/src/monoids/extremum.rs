//! The largest or the smallest value.

use super::{Algebra, Monoid};
use crate::{
    element::{Rank, Real},
    kernels::OpParams,
    tree::{ByWords, Exactly, PartFold, Prefilter},
};

/// Which end is sought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The largest.
    Largest,
    /// The smallest.
    Smallest,
}

/// An order of elements, whose largest is sought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// Which end of their own.
    pub end: End,
    /// Whether unsigned integers are the bits of signed ones, and compare as those.
    pub signed: bool,
}

impl Order {
    /// From the smallest to the largest.
    pub const RISING: Self = Self {
        end: End::Largest,
        signed: false,
    };
    /// From the largest to the smallest.
    pub const FALLING: Self = Self {
        end: End::Smallest,
        signed: false,
    };

    /// By what a launch passes: bit 0 of the number is for the smallest.
    #[inline]
    pub(super) fn of_params(params: OpParams) -> Self {
        Self {
            signed: params.signed,
            ..if params.number & 1 == 1 {
                Self::FALLING
            } else {
                Self::RISING
            }
        }
    }

    /// An element's rank as its rank in this order.
    #[inline]
    pub(super) fn rank<T: Real>(self, rank: T::Rank) -> T::Rank {
        T::rank_as_signed(rank, self.signed).reversed(self.end == End::Smallest)
    }

    /// [`Real::beyond`] in this order.
    #[inline(always)]
    pub(super) fn beyond<T: Real>(self, word: u32, bar: Option<T::Rank>) -> u32 {
        T::beyond(word, self.rank::<T>(T::from_bits(0).rank()), bar)
    }

    /// [`ByWords::turned_signs`] of operators that seek the largest in this order.
    #[inline(always)]
    pub(super) fn turned_signs<T: Real>(self) -> u32 {
        let sign = T::TYPE.sign() as u32;
        match self.end {
            End::Largest => 0,
            End::Smallest if T::TYPE.bytes() == 2 => sign | sign << 16,
            End::Smallest => sign,
        }
    }

    /// The way back; of no element, where a mask selects none, to the nearest there is, before bits are turned that an element has.
    #[inline]
    pub(super) fn back<T: Real>(self, rank: T::Rank) -> T::Rank {
        T::rank_as_signed(T::nearest(rank.reversed(self.end == End::Smallest)), self.signed)
    }
}

/// The largest or the smallest value; NaN if there is one. Nothing has none.
///
/// The state is an integer key that orders as the values do, so that `combine` is one integer instruction, and
/// associative and commutative to the bit. −0.0 sits just below +0.0, as in IEEE 754-2019's `maximum` and `minimum`,
/// so the answer never depends on the order even there; a NaN sits past the end that is sought, so it always wins.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extremum {
    /// The order whose largest it is.
    pub order: Order,
}

impl Extremum {
    /// The largest.
    pub const LARGEST: Self = Self { order: Order::RISING };
    /// The smallest.
    pub const SMALLEST: Self = Self { order: Order::FALLING };

    /// By what a launch passes: the number [`parameter`](Self::parameter).
    #[inline]
    #[must_use]
    pub fn of_params(params: OpParams) -> Self {
        Self {
            order: Order::of_params(params),
        }
    }

    /// The same of signed integers, if a launch says so.
    #[inline]
    #[must_use]
    pub fn signed(mut self, params: OpParams) -> Self {
        self.order.signed = params.signed;
        self
    }

    /// The number that a launch passes: 1 for the smallest.
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
        self.order.rank::<T>(value.rank()).key()
    }
    #[inline]
    fn filler(self) -> Option<T> {
        // The element that every other is beyond.
        Some(match T::TYPE.largest_float() {
            Some(bits) if self.order.end == End::Largest => T::from_bits(bits | T::TYPE.sign()),
            Some(bits) => T::from_bits(bits),
            None => T::from_rank(self.order.back::<T>(T::Rank::LOWEST)),
        })
    }
    #[inline]
    fn combine(self, a: Key<T>, b: Key<T>) -> Key<T> {
        if b > a { b } else { a }
    }
    const ALGEBRA: Algebra = Algebra {
        associates: true,
        selects: true,
        asks_at_once: T::PACKED,
        has_word_maximum: T::WORD_MAXIMUM.is_some(),
        ..Algebra::PLAIN
    };
    crate::opt_in!(T: Prefilter);
    #[inline(always)]
    fn part_fold(self) -> impl PartFold<T, Key<T>> {
        Exactly(self)
    }
    crate::opt_in!(T: ByWords);
    #[inline]
    fn finish(self, best: Key<T>, _: u64) -> T {
        T::from_rank(self.order.back::<T>(T::Rank::of_key(best)))
    }
    #[inline]
    fn empty(self) -> Option<T> {
        None
    }
}

impl<T: Real> Prefilter<T, Key<T>> for Extremum {
    #[allow(clippy::neg_cmp_op_on_partial_ord)] // one instruction, and true for a NaN
    #[inline]
    fn may_change(self, best: Key<T>, value: T) -> bool {
        !(self.order.rank::<T>(value.rank()) <= T::Rank::bar(best))
    }
    #[inline(always)]
    fn may_change_among(self, best: Key<T>, word: u32) -> u32 {
        self.order.beyond::<T>(word, Some(T::Rank::bar(best)))
    }
}

impl<T: Real> ByWords<T> for Extremum {
    #[inline(always)]
    fn maximum(self, a: u32, b: u32) -> u32 {
        word_maximum::<T>(a, b)
    }
    #[inline(always)]
    fn turned_signs(self) -> u32 {
        self.order.turned_signs::<T>()
    }
}

/// [`Real::WORD_MAXIMUM`] of two words, of a type that has it.
#[inline(always)]
pub(super) fn word_maximum<T: Real>(a: u32, b: u32) -> u32 {
    match T::WORD_MAXIMUM {
        Some(maximum) => maximum(a, b),
        None => a,
    }
}
