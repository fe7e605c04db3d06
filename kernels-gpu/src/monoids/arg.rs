//! Where the largest or the smallest value is.

mod peak;

use super::{
    Algebra, End, Monoid, Order, Words,
    extremum::{Key, word_maximum},
};
use crate::{
    element::{Item as _, Rank, Real},
    kernels::OpParams,
    tree::{self, ByWords, Part, PartFold, Positional, Prefilter},
};

/// Which of equals is the answer, and of several NaNs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ties {
    /// The one of the lowest index.
    First,
    /// The one of the highest index.
    Last,
}

/// The best element so far.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Best<Key> {
    /// Its key, in the order whose largest is sought: zeros are one, and so are NaNs.
    pub key: Key,
    /// Where it is, lower places being preferred: its index from the start of the run, or for the last of equals the
    /// highest number less that. The highest number if there is no element yet.
    pub place: u64,
}

/// The place of no element.
const NOWHERE: u64 = u64::MAX;

/// The index that is answered where [`IgnoreNan`](super::Filtered) leaves no element to have one: none has it, for arrays are
/// shorter.
pub const NO_INDEX: u64 = u64::MAX;

impl<Key: Words> Words for Best<Key> {
    const COUNT: usize = Key::COUNT + 2;
    #[inline]
    fn word(self, i: usize) -> u32 {
        if i < Key::COUNT {
            self.key.word(i)
        } else {
            self.place.word(i - Key::COUNT)
        }
    }
    #[inline]
    fn from_words(mut word: impl FnMut(usize) -> u32) -> Self {
        let key = Key::from_words(&mut word);
        let place = u64::from_words(|i| word(Key::COUNT + i));
        Self { key, place }
    }
}

/// Index of the largest or the smallest element; a NaN beats any number. Nothing has none.
///
/// −0.0 and +0.0 tie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arg {
    /// The order whose largest it is.
    pub order: Order,
    /// Which of equals.
    pub ties: Ties,
}

impl Arg {
    /// The first of the largest.
    pub const LARGEST: Self = Self {
        order: Order::RISING,
        ties: Ties::First,
    };
    /// The first of the smallest.
    pub const SMALLEST: Self = Self {
        order: Order::FALLING,
        ties: Ties::First,
    };

    /// The same for the last of equals.
    #[must_use]
    pub const fn last(self) -> Self {
        Self {
            ties: Ties::Last,
            ..self
        }
    }

    /// By what a launch passes: the number [`parameter`](Self::parameter).
    #[inline]
    #[must_use]
    pub fn of_params(params: OpParams) -> Self {
        Self {
            order: Order::of_params(params),
            ties: if params.number & 2 == 2 {
                Ties::Last
            } else {
                Ties::First
            },
        }
    }

    /// The same of signed integers, if a launch says so.
    #[inline]
    #[must_use]
    pub fn signed(mut self, params: OpParams) -> Self {
        self.order.signed = params.signed;
        self
    }

    /// The number that a launch passes: bit 0 for the smallest, bit 1 for the last.
    #[must_use]
    pub fn parameter(self) -> u64 {
        u64::from(self.order.end == End::Smallest) | u64::from(self.ties == Ties::Last) << 1
    }

    /// The element that was found, of `T`, in a state. A zero is +0.0.
    #[inline]
    #[must_use]
    pub fn value<T: Real>(self, best: Best<Key<T>>) -> T {
        T::from_rank(self.order.back::<T>(T::Rank::of_key(best.key)).zeros_alike())
    }

    #[inline]
    fn key<T: Real>(self, value: T) -> Key<T> {
        self.order.rank::<T>(value.rank()).zeros_alike().key()
    }

    /// What a value that comes later than `best` must rank above to win, if it is not any that may: as good a one loses, or wins. Where
    /// nothing was found yet, because all of it was left out, even the lowest integer wins.
    #[inline]
    fn to_beat<T: Real>(self, best: Best<Key<T>>) -> Option<T::Rank> {
        let rank = T::Rank::of_key(best.key);
        let below = rank.below();
        if (self.ties == Ties::First) & (best.place != NOWHERE) {
            Some(rank)
        } else {
            below
        }
    }

    /// The place of an index; and the index of a place.
    #[inline]
    fn place(self, index: u64) -> u64 {
        match self.ties {
            Ties::First => index,
            Ties::Last => u64::wrapping_sub(NOWHERE - 1, index),
        }
    }
}

impl<T: Real> Monoid<T> for Arg {
    type State = Best<Key<T>>;
    type Answer = u64;

    #[inline]
    fn identity(self) -> Best<Key<T>> {
        Best {
            key: T::Rank::NOTHING,
            place: NOWHERE,
        }
    }
    #[inline]
    fn lift(self, value: T, index: u64) -> Best<Key<T>> {
        Best {
            key: self.key(value),
            place: self.place(index),
        }
    }
    #[inline]
    fn combine(self, a: Best<Key<T>>, b: Best<Key<T>>) -> Best<Key<T>> {
        if b.key > a.key || (b.key == a.key && b.place < a.place) {
            b
        } else {
            a
        }
    }
    const ALGEBRA: Algebra = Algebra {
        selects: true,
        asks_at_once: T::PACKED,
        has_word_maximum: T::WORD_MAXIMUM.is_some(),
        has_word_equal: T::WORD_EQUAL.is_some(),
        ..Algebra::PLAIN
    };
    crate::opt_in!(T: Positional, Prefilter, PartFold, ByWords);
    #[inline]
    fn finish(self, best: Best<Key<T>>, _: u64) -> u64 {
        self.place(best.place)
    }
    #[inline]
    fn empty(self) -> Option<u64> {
        None
    }
}

impl<K: Words> Positional<Best<K>> for Arg {
    #[inline]
    fn shift(self, best: Best<K>, by: u64) -> Best<K> {
        let place = match self.ties {
            _ if best.place == NOWHERE => NOWHERE,
            Ties::First => best.place + by,
            Ties::Last => best.place - by,
        };
        Best { place, ..best }
    }
}

impl<T: Real> Prefilter<T, Best<Key<T>>> for Arg {
    #[allow(clippy::neg_cmp_op_on_partial_ord)] // one instruction, and true for a NaN
    #[inline]
    fn may_change(self, best: Best<Key<T>>, value: T) -> bool {
        // A NaN compares false, so it may win. No branch, which for each element would cost more than comparing it.
        let bar = self.to_beat::<T>(best);
        bar.is_none() | !(self.order.rank::<T>(value.rank()) <= bar.unwrap_or(T::Rank::LOWEST))
    }
    #[inline(always)]
    fn may_change_among(self, best: Best<Key<T>>, word: u32) -> u32 {
        self.order.beyond::<T>(word, self.to_beat::<T>(best))
    }
}

impl<T: Real> PartFold<T, Best<Key<T>>> for Arg {
    /// With indices of 32 bits.
    #[inline(always)]
    fn fold_part(self, part: impl Part<T>) -> Best<Key<T>> {
        let (key, index) = Near(self).fold(part);
        if index == Near(self).nowhere() {
            return Monoid::<T>::identity(self);
        }
        Best {
            key,
            place: self.place(index as u64),
        }
    }
}

impl<T: Real> ByWords<T> for Arg {
    #[inline(always)]
    fn maximum(self, a: u32, b: u32) -> u32 {
        word_maximum::<T>(a, b)
    }
    #[inline(always)]
    fn equal(self, a: u32, b: u32) -> u32 {
        match T::WORD_EQUAL {
            Some(equal) => equal(a, b),
            None => 0,
        }
    }
    #[inline(always)]
    fn turned_indices(self) -> u32 {
        match self.ties {
            Ties::First => 0,
            Ties::Last => u32::MAX,
        }
    }
    #[inline(always)]
    fn turned_signs(self) -> u32 {
        self.order.turned_signs::<T>()
    }
}

/// The same within a part, whose indices fit 32 bits. They stay what they are, whichever of equals is sought: places would each
/// be a number that is not known before the launch, and kept in a register from one part to the next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Near(pub(super) Arg);

impl Near {
    /// One element after the other, unless the highest may be looked for first: of a few that is slower, and so it is where the key is the
    /// rank and there is no NaN; of bytes it takes too many registers.
    #[inline(always)]
    fn fold<T: Real, P: Part<T>>(self, part: P) -> (Key<T>, i32) {
        let has_dear_keys = T::Rank::UNORDERED.is_some() && T::BYTES > 1;
        if P::AT_HAND && P::ROWS * P::COLUMNS > 4 && has_dear_keys {
            peak::find(self, part)
        } else {
            tree::fold_exactly(self, part)
        }
    }

    /// The index of no element, which comes after all in the order that is preferred.
    #[inline(always)]
    fn nowhere(self) -> i32 {
        match self.0.ties {
            Ties::First => i32::MAX,
            Ties::Last => -1,
        }
    }
}

impl<T: Real> Monoid<T> for Near {
    type State = (Key<T>, i32);
    type Answer = i32;

    #[inline(always)]
    fn identity(self) -> (Key<T>, i32) {
        (T::Rank::NOTHING, self.nowhere())
    }
    #[inline(always)]
    fn lift(self, value: T, index: u64) -> (Key<T>, i32) {
        (self.0.key(value), index as i32)
    }
    #[inline(always)]
    fn combine(self, a: (Key<T>, i32), b: (Key<T>, i32)) -> (Key<T>, i32) {
        let is_preferred = (b.1 < a.1) != (self.0.ties == Ties::Last);
        if b.0 > a.0 || (b.0 == a.0 && is_preferred) {
            b
        } else {
            a
        }
    }
    #[inline(always)]
    fn finish(self, best: (Key<T>, i32), _: u64) -> i32 {
        best.1
    }
    #[inline(always)]
    fn empty(self) -> Option<i32> {
        None
    }
}
