//! Many answers about an array in one pass.

use super::{
    Arg, Best, Extremum, IgnoreNan, Moments2, Moments4, Monoid, NormL1, Skewness, Sum, SumOfSquares, Summary, Words,
    extremum::Key, fold_column_in_pairs, sum::total, variance::is_small,
};
use crate::{
    element::{Element, Float, Rank, Wide},
    tree::{self, Part, ROWS},
};

/// What there is to say of an array at once, as a [`Summary`]: counts, ends, sum, moments, norms.
///
/// A NaN is counted, and left out of everything else, as pandas has it; infinities are counted, and take part. So where there
/// is no NaN, each number is that of the operator that answers it alone, to the bit: [`Sum`], [`Extremum`], [`Arg`],
/// [`MeanVariance`](super::MeanVariance) (also for the mean, which it has in f64), [`StdDev`](super::StdDev),
/// [`Skewness`](super::Skewness), [`Kurtosis`](super::Kurtosis), [`NormL1`], [`NormL2`](super::NormL2),
/// [`NormInf`](super::NormInf). Where there are some, each is the identity at its place in the tree.
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

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), inline)]
    fn identity(self) -> Described<T> {
        (Sums.identity(), Finds.identity())
    }

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), inline)]
    fn lift(self, value: T, index: u64) -> Described<T> {
        (Sums.lift(value, index), Finds.lift(value, index))
    }

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), inline)]
    fn combine(self, a: Described<T>, b: Described<T>) -> Described<T> {
        (Sums.combine(a.0, b.0), Finds.combine(a.1, b.1))
    }

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), inline)]
    fn shift(self, state: Described<T>, by: u64) -> Described<T> {
        let Found { smallest, largest, .. } = state.1;
        let found = Found {
            smallest: Monoid::<T>::shift(SMALLEST.0, smallest, by),
            largest: Monoid::<T>::shift(LARGEST.0, largest, by),
            ..state.1
        };
        (state.0, found)
    }

    const FOLDS_COLUMNS: bool = true;
    #[inline(always)]
    fn fold_column(self, column: [T; ROWS], index: u64, pitch: u64) -> Described<T> {
        (
            Sums.fold_column(column, index, pitch),
            Finds.fold_column(column, index, pitch),
        )
    }

    const REREADS: bool = true;

    /// A part without holes, NaNs and infinities has each number by its own operator, in as cheap a way as that has. Others are
    /// few, and have little code.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), inline)]
    fn fold_part(self, part: impl Part<T>) -> Described<T> {
        if let Some(part) = part.full() {
            // A NaN is at both ends, and infinities each at one.
            let smallest: Best<Key<T>> = SMALLEST.0.fold_part(part);
            let largest: Best<Key<T>> = LARGEST.0.fold_part(part);
            let is_finite = |arg: Arg, best| arg.value::<T>(best).to_f64().is_finite();
            if is_finite(SMALLEST.0, smallest) && is_finite(LARGEST.0, largest) {
                let sums = Summed {
                    moments: tree::fold_part(Finite, part),
                    sum: Sum.fold_part(part),
                    magnitudes: NormL1.fold_part(part),
                    squares: Monoid::<T>::fold_part(SumOfSquares, part),
                };
                let found = Found {
                    smallest: SMALLEST.of_part(smallest, part),
                    largest: LARGEST.of_part(largest, part),
                    zeros: total(part, |value: T| i32::from(!value.is_nonzero())) as u64,
                    infinities: (0, 0),
                };
                return (sums, found);
            }
        }
        // One after the other, the largest first: states that wait, of all together, take more registers than there are.
        let found = tree::fold_part_in_turn(Finds, part);
        let moments = tree::fold_part_in_turn(IgnoreNan(Skewness {}), part);
        let others = IgnoreNan((Sum, (NormL1, SumOfSquares)));
        let (sum, (magnitudes, squares)) = tree::fold_part_in_turn(others, part);
        let sums = Summed {
            moments,
            sum,
            magnitudes,
            squares,
        };
        (sums, found)
    }

    const FUSES: bool = true;

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), inline)]
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
            l2: T::root(sums.squares),
            linf: T::measure(if high > low { high } else { low }),
        }
    }

    #[inline]
    fn empty(self) -> Option<Summary<T>> {
        Some(self.finish(Monoid::<T>::identity(self), 0))
    }
}

/// The bits of an f64 but its sign.
const MAGNITUDE: u64 = i64::MAX as u64;

/// What is rounded of the state of [`Describe`].
#[derive(Clone, Copy)]
pub struct Summed<T: Float> {
    moments: Moments4,
    sum: T::Wide,
    magnitudes: T::Wide,
    squares: f64,
}

/// The operator on it.
#[derive(Clone, Copy)]
struct Sums;

impl<T: Float> Monoid<T> for Sums {
    type State = Summed<T>;
    type Answer = u64;

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), inline)]
    fn identity(self) -> Summed<T> {
        Summed {
            moments: Moments4::EMPTY,
            sum: T::Wide::NOTHING,
            magnitudes: T::Wide::NOTHING,
            squares: 0.0,
        }
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), inline)]
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
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), inline)]
    fn combine(self, a: Summed<T>, b: Summed<T>) -> Summed<T> {
        Summed {
            moments: a.moments.combine(b.moments),
            sum: a.sum.plus(b.sum),
            magnitudes: a.magnitudes.plus(b.magnitudes),
            squares: a.squares + b.squares,
        }
    }
    const FOLDS_COLUMNS: bool = true;
    #[inline(always)]
    fn fold_column(self, column: [T; ROWS], index: u64, pitch: u64) -> Summed<T> {
        if column.iter().any(|value| value.rank().unordered()) {
            return fold_column_in_pairs(self, column, index, pitch);
        }
        Summed {
            moments: Moments4::of_column(column.map(T::to_f64), is_small::<T>()),
            sum: Sum.fold_column(column, index, pitch),
            magnitudes: NormL1.fold_column(column, index, pitch),
            squares: SumOfSquares.fold_column(column, index, pitch),
        }
    }
    /// How many numbers.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), inline)]
    fn finish(self, sums: Summed<T>, _: u64) -> u64 {
        sums.moments.lower.count
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), inline)]
    fn empty(self) -> Option<u64> {
        Some(0)
    }
}

/// The moments of finite elements at every place: what it says of others is never asked for. So all counts that meet are equal
/// and known to a compiler, and so are the moments of one element.
#[derive(Clone, Copy)]
struct Finite;

impl<T: Float> Monoid<T> for Finite {
    type State = Moments4;
    type Answer = u64;

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), inline)]
    fn identity(self) -> Moments4 {
        self.lift(T::from_bits(0), 0)
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), inline)]
    fn lift(self, value: T, _: u64) -> Moments4 {
        let lower = Moments2 {
            count: 1,
            mean: value.to_f64(),
            m2: 0.0,
        };
        Moments4 {
            lower,
            m3: 0.0,
            m4: 0.0,
        }
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), inline)]
    fn combine(self, a: Moments4, b: Moments4) -> Moments4 {
        a.combine(b)
    }
    const FOLDS_COLUMNS: bool = true;
    #[inline(always)]
    fn fold_column(self, column: [T; ROWS], _: u64, _: u64) -> Moments4 {
        Moments4::of_column(column.map(T::to_f64), is_small::<T>())
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), inline)]
    fn finish(self, moments: Moments4, _: u64) -> u64 {
        moments.lower.count
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), inline)]
    fn empty(self) -> Option<u64> {
        Some(0)
    }
}

/// What is exact of the state of [`Describe`].
#[derive(Clone, Copy)]
pub struct Found<T: Float> {
    smallest: Best<Key<T>>,
    largest: Best<Key<T>>,
    zeros: u64,
    /// +∞ and −∞.
    infinities: (u64, u64),
}

/// The operator on it.
#[derive(Clone, Copy)]
struct Finds;

impl<T: Float> Monoid<T> for Finds {
    type State = Found<T>;
    type Answer = u64;

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), inline)]
    fn identity(self) -> Found<T> {
        Found {
            smallest: Monoid::<T>::identity(SMALLEST.0),
            largest: Monoid::<T>::identity(LARGEST.0),
            zeros: 0,
            infinities: (0, 0),
        }
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), inline)]
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
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), inline)]
    fn combine(self, a: Found<T>, b: Found<T>) -> Found<T> {
        Found {
            smallest: SMALLEST.combine::<T>(a.smallest, b.smallest),
            largest: LARGEST.combine::<T>(a.largest, b.largest),
            zeros: a.zeros + b.zeros,
            infinities: (a.infinities.0 + b.infinities.0, a.infinities.1 + b.infinities.1),
        }
    }
    /// How many zeros.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), inline)]
    fn finish(self, found: Found<T>, _: u64) -> u64 {
        found.zeros
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), inline)]
    fn empty(self) -> Option<u64> {
        Some(0)
    }
}

/// An end of the order and where it is: the key tells the zeros apart as [`Extremum`]'s does, while to the place they are equal as
/// to [`Arg`]'s.
#[derive(Clone, Copy)]
struct Ends(Arg);

impl Ends {
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), inline)]
    fn lift<T: Float>(self, value: T, index: u64) -> Best<Key<T>> {
        Best {
            key: Extremum { order: self.0.order }.lift(value, index),
            place: index,
        }
    }

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), inline)]
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

    /// Of a part whose best element, by [`Arg`], is known.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), inline)]
    fn of_part<T: Float>(self, best: Best<Key<T>>, part: impl Part<T>) -> Best<Key<T>> {
        if best.key == self.0.lift(T::from_bits(0), 0).key {
            // A zero: of which sign, it takes a second look to tell.
            let key = Monoid::<T>::fold_part(Extremum { order: self.0.order }, part);
            return Best { key, ..best };
        }
        best
    }

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), inline)]
    fn value<T: Float>(self, best: Best<Key<T>>) -> Option<T> {
        (best.place != u64::MAX).then(|| Monoid::<T>::finish(Extremum { order: self.0.order }, best.key, 0))
    }
}

const SMALLEST: Ends = Ends(Arg::SMALLEST);
const LARGEST: Ends = Ends(Arg::LARGEST);

/// Words in a row, as nested pairs have them.
type SumsRow<T> = (Moments4, ((<T as Element>::Wide, <T as Element>::Wide), f64));
type FoundRow<T> = ((Best<Key<T>>, Best<Key<T>>), (u64, (u64, u64)));

impl<T: Float> Words for Summed<T> {
    const COUNT: usize = SumsRow::<T>::COUNT;
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), inline)]
    fn word(self, i: usize) -> u32 {
        let row: SumsRow<T> = (self.moments, ((self.sum, self.magnitudes), self.squares));
        row.word(i)
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), inline)]
    fn from_words(word: impl FnMut(usize) -> u32) -> Self {
        let (moments, ((sum, magnitudes), squares)) = SumsRow::<T>::from_words(word);
        Self {
            moments,
            sum,
            magnitudes,
            squares,
        }
    }
}

impl<T: Float> Words for Found<T> {
    const COUNT: usize = FoundRow::<T>::COUNT;
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), inline)]
    fn word(self, i: usize) -> u32 {
        let row: FoundRow<T> = ((self.smallest, self.largest), (self.zeros, self.infinities));
        row.word(i)
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), inline)]
    fn from_words(word: impl FnMut(usize) -> u32) -> Self {
        let ((smallest, largest), (zeros, infinities)) = FoundRow::<T>::from_words(word);
        Self {
            smallest,
            largest,
            zeros,
            infinities,
        }
    }
}

#[cfg(test)]
#[path = "describe_tests.rs"]
mod tests;
