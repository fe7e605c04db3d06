//! What is exact of a description: its ends and counts, which are combined in any order.

use super::super::{Algebra, Arg, Best, End, Extremum, Monoid, Words, extremum::Key};
use crate::{
    element::{Float, Rank},
    tree::{Again, InTurn, PartFold},
};

/// What is exact of the state of [`Describe`](super::Describe).
#[derive(Clone, Copy)]
pub struct Found<T: Float> {
    pub(super) smallest: Best<Key<T>>,
    pub(super) largest: Best<Key<T>>,
    pub(super) zeros: u64,
    /// +∞ and −∞.
    pub(super) infinities: (u64, u64),
}

/// The operator on it.
#[derive(Clone, Copy)]
pub(super) struct Finds;

impl Finds {
    /// Of a part of finite elements at every place, and whether they are.
    #[inline(always)]
    pub(super) fn of_finite<T: Float>(part: impl Again<T>) -> (Found<T>, bool) {
        // A NaN is at both ends, and infinities each at one.
        let smallest: Best<Key<T>> = part.fold(SMALLEST.0);
        let largest: Best<Key<T>> = part.fold(LARGEST.0);
        let is_finite = |arg: Arg, best| arg.value::<T>(best).to_f64().is_finite();
        let found = Found {
            smallest: SMALLEST.of_part(smallest, part),
            largest: LARGEST.of_part(largest, part),
            zeros: part.fold(Zeros { negative: false }) as u64,
            infinities: (0, 0),
        };
        (found, is_finite(SMALLEST.0, smallest) && is_finite(LARGEST.0, largest))
    }

    /// Of the zeros of a part.
    #[inline(always)]
    pub(super) fn of_zeros<T: Float>(part: impl Again<T>) -> Found<T> {
        if !part.fold(AnyZero) {
            return Finds.identity();
        }
        let zeros = part.fold(Zeros { negative: false });
        let negative = part.fold(Zeros { negative: true });
        let place = part.fold(FirstZero) as u64;
        let zero = |is_negative| T::from_f64(if is_negative { -0.0 } else { 0.0 });
        Found {
            smallest: SMALLEST.lift(zero(negative > 0), place),
            largest: LARGEST.lift(zero(negative == zeros), place),
            zeros: zeros as u64,
            infinities: (0, 0),
        }
    }
}

/// Whether a part has a zero.
#[derive(Clone, Copy)]
struct AnyZero;

impl<T: Float> Monoid<T> for AnyZero {
    type State = bool;
    type Answer = bool;

    #[inline(always)]
    fn identity(self) -> bool {
        false
    }
    #[inline(always)]
    fn lift(self, value: T, _: u64) -> bool {
        value.rank() == T::from_bits(0).rank()
    }
    #[inline(always)]
    fn combine(self, a: bool, b: bool) -> bool {
        a | b
    }
    #[inline(always)]
    fn part_fold(self) -> impl PartFold<T, bool> {
        InTurn(self)
    }
    #[inline(always)]
    fn finish(self, any: bool, _: u64) -> bool {
        any
    }
    #[inline(always)]
    fn empty(self) -> Option<bool> {
        Some(false)
    }
}

/// How many zeros a part has, or negative ones.
#[derive(Clone, Copy)]
struct Zeros {
    negative: bool,
}

impl<T: Float> Monoid<T> for Zeros {
    type State = i32;
    type Answer = i32;

    #[inline(always)]
    fn identity(self) -> i32 {
        0
    }
    #[inline(always)]
    fn lift(self, value: T, _: u64) -> i32 {
        let counts = !self.negative || value.to_f64().is_sign_negative();
        i32::from(!value.is_nonzero() && counts)
    }
    #[inline(always)]
    fn combine(self, a: i32, b: i32) -> i32 {
        a + b
    }
    #[inline(always)]
    fn part_fold(self) -> impl PartFold<T, i32> {
        InTurn(self)
    }
    #[inline(always)]
    fn finish(self, zeros: i32, _: u64) -> i32 {
        zeros
    }
    #[inline(always)]
    fn empty(self) -> Option<i32> {
        Some(0)
    }
}

/// The place of the first zero of a part.
#[derive(Clone, Copy)]
struct FirstZero;

impl<T: Float> Monoid<T> for FirstZero {
    type State = i32;
    type Answer = i32;

    #[inline(always)]
    fn identity(self) -> i32 {
        i32::MAX
    }
    #[inline(always)]
    fn lift(self, value: T, index: u64) -> i32 {
        if value.is_nonzero() { i32::MAX } else { index as i32 }
    }
    #[inline(always)]
    fn combine(self, a: i32, b: i32) -> i32 {
        a.min(b)
    }
    #[inline(always)]
    fn part_fold(self) -> impl PartFold<T, i32> {
        InTurn(self)
    }
    #[inline(always)]
    fn finish(self, place: i32, _: u64) -> i32 {
        place
    }
    #[inline(always)]
    fn empty(self) -> Option<i32> {
        None
    }
}

impl<T: Float> Monoid<T> for Finds {
    type State = Found<T>;
    type Answer = u64;

    #[inline(always)]
    fn identity(self) -> Found<T> {
        Found {
            smallest: Monoid::<T>::identity(SMALLEST.0),
            largest: Monoid::<T>::identity(LARGEST.0),
            zeros: 0,
            infinities: (0, 0),
        }
    }
    #[inline(always)]
    fn lift(self, value: T, index: u64) -> Found<T> {
        if value.rank().unordered() {
            return self.identity();
        }
        let is = |infinity: f64| u64::from(value.to_f64() == infinity);
        Found {
            smallest: SMALLEST.lift(value, index),
            largest: LARGEST.lift(value, index),
            zeros: u64::from(!value.is_nonzero()),
            infinities: (is(f64::INFINITY), is(f64::NEG_INFINITY)),
        }
    }
    #[inline(always)]
    fn combine(self, a: Found<T>, b: Found<T>) -> Found<T> {
        Found {
            smallest: SMALLEST.combine::<T>(a.smallest, b.smallest),
            largest: LARGEST.combine::<T>(a.largest, b.largest),
            zeros: a.zeros + b.zeros,
            infinities: (a.infinities.0 + b.infinities.0, a.infinities.1 + b.infinities.1),
        }
    }
    const ALGEBRA: Algebra = Algebra {
        associates: true,
        ..Algebra::PLAIN
    };

    /// How many zeros.
    #[inline(always)]
    fn finish(self, found: Found<T>, _: u64) -> u64 {
        found.zeros
    }
    #[inline(always)]
    fn empty(self) -> Option<u64> {
        Some(0)
    }
}

/// An end of the order and where it is: the key tells the zeros apart as [`Extremum`]'s does, while to the place they are equal as
/// to [`Arg`]'s.
#[derive(Clone, Copy)]
pub(super) struct Ends(pub(super) Arg);

impl Ends {
    #[inline(always)]
    fn lift<T: Float>(self, value: T, index: u64) -> Best<Key<T>> {
        Best {
            key: Extremum { order: self.0.order }.lift(value, index),
            place: index,
        }
    }

    #[inline(always)]
    fn combine<T: Float>(self, a: Best<Key<T>>, b: Best<Key<T>>) -> Best<Key<T>> {
        let alike = |best: Best<Key<T>>| Best {
            // The key of nothing is that of no number.
            key: if best.key == T::Rank::NOTHING {
                best.key
            } else {
                T::Rank::of_key(best.key).zeros_alike().key()
            },
            ..best
        };
        Best {
            key: if b.key > a.key { b.key } else { a.key },
            place: Monoid::<T>::combine(self.0, alike(a), alike(b)).place,
        }
    }

    /// Whether a value that is no zero, coming after elements of which `best` is the end, could be the end, or infinite, or a NaN.
    #[allow(clippy::neg_cmp_op_on_partial_ord)] // one instruction, and true for a NaN
    #[inline(always)]
    pub(super) fn may_change<T: Float>(self, best: Best<Key<T>>, value: T) -> bool {
        let (end, infinity) = (T::Rank::of_key(best.key), T::Rank::HIGHEST);
        let bar = if end == infinity {
            infinity.below().unwrap_or(infinity)
        } else {
            end
        };
        // The bar is turned over, once, rather than each value.
        match self.0.order.end {
            End::Largest => !(value.rank() <= bar),
            End::Smallest => !(value.rank() >= bar.reversed(true)),
        }
    }

    /// Of a part whose best element, by [`Arg`], is known.
    #[inline(always)]
    fn of_part<T: Float>(self, best: Best<Key<T>>, part: impl Again<T>) -> Best<Key<T>> {
        if best.key == self.0.lift(T::from_bits(0), 0).key {
            // A zero: of which sign, it takes a second look to tell.
            let key = part.fold_opaque(Extremum { order: self.0.order });
            return Best { key, ..best };
        }
        best
    }

    #[inline(always)]
    pub(super) fn value<T: Float>(self, best: Best<Key<T>>) -> Option<T> {
        (best.place != u64::MAX).then(|| Monoid::<T>::finish(Extremum { order: self.0.order }, best.key, 0))
    }
}

pub(super) const SMALLEST: Ends = Ends(Arg::SMALLEST);
pub(super) const LARGEST: Ends = Ends(Arg::LARGEST);

/// Words in a row, as nested pairs have them.
type Row<T> = ((Best<Key<T>>, Best<Key<T>>), (u64, (u64, u64)));

impl<T: Float> Words for Found<T> {
    const COUNT: usize = Row::<T>::COUNT;
    #[inline(always)]
    fn word(self, i: usize) -> u32 {
        let row: Row<T> = ((self.smallest, self.largest), (self.zeros, self.infinities));
        row.word(i)
    }
    #[inline(always)]
    fn from_words(word: impl FnMut(usize) -> u32) -> Self {
        let ((smallest, largest), (zeros, infinities)) = Row::<T>::from_words(word);
        Self {
            smallest,
            largest,
            zeros,
            infinities,
        }
    }
}
