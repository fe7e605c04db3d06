//! What is rounded of a description: sums and moments, which must be combined in the tree.

use super::super::{
    Algebra, Moments2, Moments4, Monoid, NormL1, Skewness, Sum, SumOfSquares, Words, filtered::numbers,
};
use crate::{
    element::{Accumulator as _, Element, Float, Rank, Scale as _, Squares},
    tree::{ColumnFold, Predicated, ROWS, fold_column_in_pairs},
};

/// What is rounded of the state of [`Describe`](super::Describe).
#[derive(Clone, Copy)]
pub struct Summed<T: Float> {
    pub(super) moments: Moments4<T::Scale>,
    pub(super) sum: T::Wide,
    pub(super) magnitudes: T::Wide,
    pub(super) squares: Squares<T::Scale>,
}

impl<T: Float> Summed<T> {
    pub(super) fn of(moments: Moments4<T::Scale>, (sum, (magnitudes, squares)): Others<T>) -> Self {
        Self {
            moments,
            sum,
            magnitudes,
            squares,
        }
    }

    /// [`combine`](Monoid::combine) of as many elements each.
    #[inline(always)]
    pub(super) fn combine_equals(self, other: Self) -> Self {
        Self {
            moments: self.moments.combine_equals(other.moments),
            sum: self.sum.plus(other.sum),
            magnitudes: self.magnitudes.plus(other.magnitudes),
            squares: self.squares.plus(other.squares),
        }
    }
}

/// The operator on it.
#[derive(Clone, Copy)]
pub(super) struct RoundedSums;

impl<T: Float> Monoid<T> for RoundedSums {
    type State = Summed<T>;
    type Answer = u64;

    #[inline(always)]
    fn identity(self) -> Summed<T> {
        Summed {
            moments: Moments4::EMPTY,
            sum: T::Wide::NOTHING,
            magnitudes: T::Wide::NOTHING,
            squares: Squares::NOTHING,
        }
    }
    #[inline(always)]
    fn lift(self, value: T, index: u64) -> Summed<T> {
        if value.rank().unordered() {
            return self.identity();
        }
        Summed {
            moments: Moments4::of(value.to_f64()),
            sum: value.wide(),
            magnitudes: value.wide_magnitude(),
            squares: SumOfSquares.lift(value, index),
        }
    }
    #[inline(always)]
    fn combine(self, a: Summed<T>, b: Summed<T>) -> Summed<T> {
        Summed {
            moments: a.moments.combine(b.moments),
            sum: a.sum.plus(b.sum),
            magnitudes: a.magnitudes.plus(b.magnitudes),
            squares: a.squares.plus(b.squares),
        }
    }
    const ALGEBRA: Algebra = Algebra {
        folds_columns: true,
        ..Algebra::PLAIN
    };
    crate::opt_in!(T: ColumnFold);
    /// How many numbers.
    #[inline(always)]
    fn finish(self, sums: Summed<T>, _: u64) -> u64 {
        sums.moments.lower.count
    }
    #[inline(always)]
    fn empty(self) -> Option<u64> {
        Some(0)
    }
}

impl<T: Float> ColumnFold<T, Summed<T>> for RoundedSums {
    #[inline(always)]
    fn fold_column(self, column: [Predicated<T>; ROWS], index: u64, pitch: u64) -> Summed<T> {
        let column = numbers(column);
        Summed {
            moments: Skewness {}.fold_column(column, index, pitch),
            sum: fold_column_in_pairs(Sum, column, index, pitch),
            magnitudes: fold_column_in_pairs(NormL1, column, index, pitch),
            squares: SumOfSquares.fold_column(column, index, pitch),
        }
    }
}

/// The moments of finite elements at every place: what it says of others is never asked for. So all counts that are combined are equal
/// and known to a compiler, and so are the moments of one element.
#[derive(Clone, Copy)]
pub(super) struct Finite;

impl<T: Float> Monoid<T> for Finite {
    type State = Moments4<T::Scale>;
    type Answer = u64;

    #[inline(always)]
    fn identity(self) -> Moments4<T::Scale> {
        self.lift(T::from_bits(0), 0)
    }
    #[inline(always)]
    fn lift(self, value: T, _: u64) -> Moments4<T::Scale> {
        let lower = Moments2 {
            count: 1,
            mean: value.to_f64(),
            m2: 0.0,
            scale: T::Scale::of(value.to_f64()),
        };
        Moments4 {
            lower,
            m3: 0.0,
            m4: 0.0,
        }
    }
    #[inline(always)]
    fn combine(self, a: Moments4<T::Scale>, b: Moments4<T::Scale>) -> Moments4<T::Scale> {
        a.combine(b)
    }
    const ALGEBRA: Algebra = Algebra {
        folds_columns: true,
        ..Algebra::PLAIN
    };
    crate::opt_in!(T: ColumnFold; of |_| Skewness {});
    #[inline(always)]
    fn finish(self, moments: Moments4<T::Scale>, _: u64) -> u64 {
        moments.lower.count
    }
    #[inline(always)]
    fn empty(self) -> Option<u64> {
        Some(0)
    }
}

/// What is carried beside the moments: the sum, that of magnitudes, that of squares.
type Others<T> = (
    <T as Element>::Wide,
    (<T as Element>::Wide, Squares<<T as Element>::Scale>),
);

/// Words in a row, as nested pairs have them.
type Row<T> = (
    Moments4<<T as Element>::Scale>,
    (
        (<T as Element>::Wide, <T as Element>::Wide),
        Squares<<T as Element>::Scale>,
    ),
);

impl<T: Float> Words for Summed<T> {
    const COUNT: usize = Row::<T>::COUNT;
    #[inline(always)]
    fn word(self, i: usize) -> u32 {
        let row: Row<T> = (self.moments, ((self.sum, self.magnitudes), self.squares));
        row.word(i)
    }
    #[inline(always)]
    fn from_words(word: impl FnMut(usize) -> u32) -> Self {
        let (moments, ((sum, magnitudes), squares)) = Row::<T>::from_words(word);
        Self {
            moments,
            sum,
            magnitudes,
            squares,
        }
    }
}
