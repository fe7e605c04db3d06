//! The answers of [`Describe`](super::Describe).

use super::Words;
use crate::element::{Element, Float};

/// The answers of [`Describe`](super::Describe). "Numbers" are the elements that are not NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary<T: Float> {
    /// How many elements, NaNs among them.
    pub count: u64,
    /// How many are NaN.
    pub nan: u64,
    /// How many are +∞.
    pub positive_infinities: u64,
    /// How many are −∞.
    pub negative_infinities: u64,
    /// How many are zero, of either sign.
    pub zeros: u64,
    /// The smallest number, −0.0 being below +0.0. None where there are no numbers.
    pub min: Option<T>,
    /// The largest number.
    pub max: Option<T>,
    /// The index of the first of the smallest, the zeros being equal.
    pub argmin: Option<u64>,
    /// The index of the first of the largest.
    pub argmax: Option<u64>,
    /// The sum of the numbers. 0 where there are none.
    pub sum: T::Total,
    /// Their mean, from sums in f64. NaN where there are none; ±∞ of infinities that agree, otherwise NaN.
    pub mean: T,
    /// Their variance. NaN where there are no more than the correction, and of an infinity.
    pub variance: T,
    /// Its root.
    pub std: T,
    /// The skewness of the numbers themselves. NaN where no two differ, and of an infinity.
    pub skewness: T,
    /// Their excess kurtosis. NaN where no two differ, and of an infinity.
    pub kurtosis: T,
    /// The sum of their magnitudes. 0 where there are none.
    pub l1: T::Total,
    /// The root of the sum of their squares. 0 where there are none.
    pub l2: T,
    /// The largest magnitude. 0 where there are none.
    pub linf: T,
}

/// The answers in a row: counts, ends, places, then the rest.
type SummaryRow<T> = (
    ((u64, u64), ((u64, u64), u64)),
    (((T, T), (u64, u64)), (TotalsRow<T>, SpreadRow<T>)),
);
type TotalsRow<T> = ((<T as Element>::Total, <T as Element>::Total), (T, T));
type SpreadRow<T> = (T, ((T, T), (T, T)));

/// The index of nothing.
const NOWHERE: u64 = u64::MAX;

impl<T: Float> Words for Summary<T> {
    const COUNT: usize = SummaryRow::<T>::COUNT;
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), inline)]
    fn word(self, i: usize) -> u32 {
        let counts = (
            (self.count, self.nan),
            ((self.positive_infinities, self.negative_infinities), self.zeros),
        );
        let zero = T::from_bits(0);
        let ends = (
            (self.min.unwrap_or(zero), self.max.unwrap_or(zero)),
            (self.argmin.unwrap_or(NOWHERE), self.argmax.unwrap_or(NOWHERE)),
        );
        let sums = ((self.sum, self.l1), (self.l2, self.linf));
        let spread = ((self.variance, self.std), (self.skewness, self.kurtosis));
        let answers: SummaryRow<T> = (counts, (ends, (sums, (self.mean, spread))));
        answers.word(i)
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), inline)]
    fn from_words(word: impl FnMut(usize) -> u32) -> Self {
        let (counts, (ends, (sums, (mean, spread)))) = SummaryRow::<T>::from_words(word);
        let ((count, nan), ((positive_infinities, negative_infinities), zeros)) = counts;
        let ((min, max), (argmin, argmax)) = ends;
        let ((sum, l1), (l2, linf)) = sums;
        let ((variance, std), (skewness, kurtosis)) = spread;
        Self {
            count,
            nan,
            positive_infinities,
            negative_infinities,
            zeros,
            min: (argmin != NOWHERE).then_some(min),
            max: (argmax != NOWHERE).then_some(max),
            argmin: (argmin != NOWHERE).then_some(argmin),
            argmax: (argmax != NOWHERE).then_some(argmax),
            sum,
            mean,
            variance,
            std,
            skewness,
            kurtosis,
            l1,
            l2,
            linf,
        }
    }
}
