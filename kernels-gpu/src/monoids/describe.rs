//! Many answers about an array in one pass.

mod found;
mod summed;

pub use found::Found;
pub use summed::Summed;

use super::{Algebra, IgnoreNan, Monoid, NormL1, Skewness, Sum, SumOfSquares, Summary, Words};
use crate::{
    element::{Accumulator as _, Float, Normed as _},
    tree::{
        Again, AtHand, ColumnFold, Part, PartFold, Positional, Predicated, Prefilter, ROWS, Unordered,
        fold_column_in_pairs,
    },
};
use found::{Finds, LARGEST, SMALLEST};
use summed::{Finite, RoundedSums};

/// What there is to say of an array at once, as a [`Summary`]: counts, ends, sum, moments, norms.
///
/// A NaN is counted, and left out of everything else, as pandas has it; infinities are counted, and take part. So where there
/// is no NaN, each number is that of the operator that answers it alone, to the bit: [`Sum`], [`Extremum`](super::Extremum),
/// [`Arg`](super::Arg), [`MeanVariance`](super::MeanVariance) (also for the mean, which it has in f64),
/// [`StdDev`](super::StdDev), [`Skewness`](super::Skewness), [`Kurtosis`](super::Kurtosis), [`NormL1`],
/// [`NormL2`](super::NormL2), [`NormInf`](super::NormInf). Where there are some, each is the identity at its place in the tree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Describe {
    /// What is taken off the number of elements to divide the variance by: 1 for an estimate from a sample, 0 for the elements
    /// themselves.
    pub correction: f64,
}

impl Default for Describe {
    /// With a correction of 1.
    fn default() -> Self {
        Self { correction: 1.0 }
    }
}

/// What [`Describe`] carries up the tree: what is rounded, and what is exact. What can be told of these at the end has no word
/// here: the NaNs are the elements that the moments have not counted, and the largest magnitude is at one of the ends.
type Described<T> = (Summed<T>, Found<T>);

impl<T: Float> Monoid<T> for Describe {
    type State = Described<T>;
    type Answer = Summary<T>;

    #[inline(always)]
    fn identity(self) -> Described<T> {
        (RoundedSums.identity(), Finds.identity())
    }

    #[inline(always)]
    fn lift(self, value: T, index: u64) -> Described<T> {
        (RoundedSums.lift(value, index), Finds.lift(value, index))
    }

    #[inline(always)]
    fn combine(self, a: Described<T>, b: Described<T>) -> Described<T> {
        (RoundedSums.combine(a.0, b.0), Finds.combine(a.1, b.1))
    }

    const ALGEBRA: Algebra = Algebra {
        folds_columns: true,
        unordered_words: Found::<T>::COUNT,
        fuses: true,
        ..Algebra::PLAIN
    };
    crate::opt_in!(T: Positional, Prefilter, ColumnFold, PartFold, Unordered);
    #[inline(always)]
    fn finish(self, (sums, found): Described<T>, count: u64) -> Summary<T> {
        let moments = sums.moments;
        let numbers = moments.lower.count;
        let (min, max) = (SMALLEST.value::<T>(found.smallest), LARGEST.value::<T>(found.largest));
        let magnitude = |end: Option<T>| end.map_or(0.0, |end| f64::from_bits(end.to_f64().to_bits() & MAGNITUDE));
        let (low, high) = (magnitude(min), magnitude(max));
        // The sum of nothing is +0.0, while the states' is −0.0.
        let sum = |sum| T::total(if numbers == 0 { T::Wide::ZERO } else { sum });
        Summary {
            count,
            nan: count - numbers,
            positive_infinities: found.infinities.0,
            negative_infinities: found.infinities.1,
            zeros: found.zeros,
            min,
            max,
            argmin: min.map(|_| found.smallest.place),
            argmax: max.map(|_| found.largest.place),
            sum: sum(sums.sum),
            mean: T::measure(moments.lower.mean()),
            variance: T::measure(moments.lower.variance(self.correction)),
            std: T::measure(moments.lower.std(self.correction)),
            skewness: T::measure(moments.skewness()),
            kurtosis: T::measure(moments.kurtosis()),
            l1: sum(sums.magnitudes),
            l2: T::norm_of_squares(sums.squares),
            linf: T::measure(if high > low { high } else { low }),
        }
    }

    #[inline]
    fn empty(self) -> Option<Summary<T>> {
        Some(self.finish(Monoid::<T>::identity(self), 0))
    }
}

impl<T: Float> Positional<Described<T>> for Describe {
    #[inline(always)]
    fn shift(self, state: Described<T>, by: u64) -> Described<T> {
        let Found { smallest, largest, .. } = state.1;
        let found = Found {
            smallest: Positional::shift(SMALLEST.0, smallest, by),
            largest: Positional::shift(LARGEST.0, largest, by),
            ..state.1
        };
        (state.0, found)
    }
}

impl<T: Float> Prefilter<T, Described<T>> for Describe {
    /// Where it is not between the ends, or one of infinity. Zeros are looked for once more in any case.
    #[inline(always)]
    fn may_change(self, (_, found): Described<T>, value: T) -> bool {
        SMALLEST.may_change(found.smallest, value) | LARGEST.may_change(found.largest, value)
    }
}

impl<T: Float> ColumnFold<T, Described<T>> for Describe {
    #[inline(always)]
    fn fold_column(self, column: [Predicated<T>; ROWS], index: u64, pitch: u64) -> Described<T> {
        (
            RoundedSums.fold_column(column, index, pitch),
            fold_column_in_pairs(Finds, column, index, pitch),
        )
    }
}

impl<T: Float> PartFold<T, Described<T>> for Describe {
    #[inline(always)]
    fn fold_part(self, part: impl Part<T>) -> Described<T> {
        if let Some(part) = part.full()
            && let (state, true) = self.fold_fast(AtHand(part), false)
        {
            return state;
        }
        self.fold_slow(AtHand(part))
    }
}

impl<T: Float> Unordered<T, Described<T>> for Describe {
    #[inline(always)]
    fn combine_equals(self, a: Described<T>, b: Described<T>) -> Described<T> {
        (a.0.combine_equals(b.0), Finds.combine(a.1, b.1))
    }

    /// Without NaNs and infinities each number is had by its own operator, in as cheap a way as that has.
    #[inline(always)]
    fn fold_fast(self, part: impl Again<T>, is_known: bool) -> (Described<T>, bool) {
        let (found, is_finite) = if is_known {
            (Finds::of_zeros(part), true)
        } else {
            Finds::of_finite(part)
        };
        // Together, a column at a time: what the columns need at once are more registers than there are.
        let (moments, others) = part.fold_opaque((Finite, (Sum, (NormL1, SumOfSquares))));
        ((Summed::of(moments, others), found), is_finite)
    }

    #[inline(always)]
    fn fold_unordered(self, part: impl Again<T>) -> Described<T> {
        (RoundedSums.identity(), Finds::of_zeros(part))
    }

    /// One after the other: states that wait, of all together, take more registers than there are.
    #[inline(always)]
    fn fold_slow(self, part: impl Again<T>) -> Described<T> {
        let moments = part.fold(IgnoreNan(Skewness {}));
        let others = part.fold(IgnoreNan((Sum, (NormL1, SumOfSquares))));
        (Summed::of(moments, others), part.fold(Finds))
    }
}

/// The bits of an f64 but its sign.
const MAGNITUDE: u64 = i64::MAX as u64;

#[cfg(test)]
#[path = "describe_tests.rs"]
mod tests;
