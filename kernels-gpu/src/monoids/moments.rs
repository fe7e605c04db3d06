//! Mean and central moments in one pass: variance, standard deviation, skewness, kurtosis.
//!
//! A state is the number of elements, their mean, and sums of powers of their distances from it, so nothing cancels as it
//! does in `E[x²] − E[x]²`. Two states are combined by the formulas of T. F. Chan, G. H. Golub and R. J. LeVeque (*Updating
//! Formulae and a Pairwise Algorithm for Computing Sample Variances*, 1979) and P. Pébay (*Formulas for Robust, One-Pass
//! Parallel Computation of Covariances and Arbitrary-Order Statistical Moments*, 2008).
//!
//! They are written so that the order of two states does not matter to the bit. Where the counts are equal (everywhere in
//! the canonical tree but at its ragged end) the formulas are symmetric as they stand, and need no division. Otherwise the
//! larger state comes first.
//!
//! The elements of a column of a leaf are all at hand, and folded at once: their mean, then the powers of their distances
//! from it, which takes half the operations, and loses less.
//!
//! Infinities: the mean is what their sum has, ±∞ or NaN; everything else is NaN, as it is with a NaN.

mod column;

use self::column::{distances, mean_of};
use super::Words;
use crate::{
    arithmetic::double::{fma, sqrt},
    element::{Scale, Unscaled},
    tree::ROWS,
};

/// Count, mean and second moment.
///
/// Equal elements have their value for a mean and no variance, both exactly. In general, to first order, with `d = ⌈log₂ n⌉`,
/// `M` the largest magnitude and `σ` the standard deviation, for pairwise merges of f64:
///
/// * the mean is within `2 · d · M · 2⁻⁵³` of the exact one;
/// * `m2` is within `(4 · d + 4 · d · M / σ) · 2⁻⁵³` of the exact one, relatively: Chan's bound, linear in the condition
///   number where `E[x²] − E[x]²` is quadratic.
///
/// Where elements are f32, nothing over- or underflows. Where they are f64, distances are [scaled](Scale) before they are squared, so
/// that nothing does either.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments2<S = Unscaled> {
    /// How many elements.
    pub count: u64,
    /// Their mean; 0 if there are none.
    pub mean: f64,
    /// `Σ (xᵢ − mean)²`, the distances scaled.
    pub m2: f64,
    /// By what distances are scaled.
    pub scale: S,
}

/// How a larger and a smaller state are combined.
struct Merge {
    /// The smaller one's mean less the larger one's, scaled.
    delta: f64,
    /// The mean of all.
    mean: f64,
    /// The parts that the larger and the smaller have of all elements.
    parts: (f64, f64),
    /// The product of the counts, divided by their sum.
    weight: f64,
}

impl Merge {
    /// Of states that have `counts` elements, the first not fewer than the second, and `means`.
    #[inline(always)]
    fn of<S: Scale>(counts: (u64, u64), means: (f64, f64), scale: S) -> Self {
        let (larger, smaller) = (counts.0 as f64, counts.1 as f64);
        let part = smaller / (larger + smaller);
        let delta = means.1 - means.0;
        let mean = if delta.is_finite() {
            fma(delta, part, means.0)
        } else {
            // An infinite or NaN mean, or two that lie too far apart for a difference.
            means.0 * (1.0 - part) + means.1 * part
        };
        Self {
            delta: difference(means, scale),
            mean,
            parts: (1.0 - part, part),
            weight: larger * part,
        }
    }

    /// Of states that have `count` elements each: the same numbers, for their part is a half, and symmetric.
    #[inline(always)]
    fn of_equals<S: Scale>(count: u64, means: (f64, f64), scale: S) -> Self {
        Self {
            delta: difference(means, scale),
            mean: 0.5 * means.0 + 0.5 * means.1,
            parts: (0.5, 0.5),
            weight: 0.5 * count as f64,
        }
    }

    /// The second moment, `m2` being those of the two.
    #[inline(always)]
    fn m2(&self, m2: (f64, f64)) -> f64 {
        fma(self.delta * self.weight, self.delta, m2.0 + m2.1)
    }
}

/// The second of two numbers less the first, scaled first: so it is finite wherever they are.
#[inline(always)]
fn difference<S: Scale>((a, b): (f64, f64), scale: S) -> f64 {
    b * scale.factor() - a * scale.factor()
}

impl<S: Scale> Moments2<S> {
    /// Of no elements.
    pub const EMPTY: Self = Self {
        count: 0,
        mean: 0.0,
        m2: 0.0,
        scale: S::LEAST,
    };

    /// Of one element.
    #[inline(always)]
    #[must_use]
    pub fn of(x: f64) -> Self {
        Self {
            count: 1,
            mean: x,
            m2: nothing(x),
            scale: S::of(x),
        }
    }

    /// Of those elements of a column that are `there`, by their distances from their mean; the others are zeros that are neutral in a
    /// sum. They `are_short` where they have at most 32 bits each.
    #[inline(always)]
    #[must_use]
    pub fn of_column(column: [f64; ROWS], there: [bool; ROWS], are_short: bool) -> Self {
        let (count, mean) = mean_of(column, there, are_short);
        let scale = S::of_column(column);
        let [first, rest @ ..] = distances(column, there, mean, scale);
        let m2 = rest.into_iter().fold(first * first, |m2, x| fma(x, x, m2));
        Self { count, mean, m2, scale }
    }

    /// The same, scaled as larger numbers are.
    #[inline(always)]
    fn scaled(self, scale: S) -> Self {
        let by = self.scale.to(scale);
        Self {
            m2: self.m2 * by * by,
            scale,
            ..self
        }
    }

    /// Of the elements of both. Neutral with [`EMPTY`](Self::EMPTY) and commutative, to the bit.
    #[inline(always)]
    #[must_use]
    pub fn combine(self, other: Self) -> Self {
        let (a, b) = if self.count < other.count {
            (other, self)
        } else {
            (self, other)
        };
        let scale = a.scale.larger(b.scale);
        let merge = if a.count == b.count {
            Merge::of_equals(a.count, (a.mean, b.mean), scale)
        } else if b.count == 0 {
            return a;
        } else {
            Merge::of((a.count, b.count), (a.mean, b.mean), scale)
        };
        Self {
            count: a.count + b.count,
            mean: merge.mean,
            m2: merge.m2((a.scaled(scale).m2, b.scaled(scale).m2)),
            scale,
        }
    }

    /// The second moment divided by `count − correction`, or by 0 where that is negative; NaN where it is not above 0. A correction of
    /// 1 gives the unbiased estimate, 0 the variance of the elements themselves. It may be too large for f64, or too small.
    #[inline]
    #[must_use]
    pub fn variance(self, correction: f64) -> f64 {
        self.scale.back(self.scale.back(self.scaled_variance(correction)))
    }

    /// The standard deviation: the root of the [`variance`](Self::variance), and finite wherever it is a number that f64 has.
    #[inline]
    #[must_use]
    pub fn std(self, correction: f64) -> f64 {
        self.scale.back(sqrt(self.scaled_variance(correction)))
    }

    #[inline]
    fn scaled_variance(self, correction: f64) -> f64 {
        let divisor = self.count as f64 - correction;
        if divisor > 0.0 { self.m2 / divisor } else { f64::NAN }
    }

    /// [`mean`](Self#structfield.mean), and NaN over nothing.
    #[inline]
    #[must_use]
    pub fn mean(self) -> f64 {
        if self.count == 0 { f64::NAN } else { self.mean }
    }
}

/// Count, mean and moments up to the fourth.
///
/// Count, mean and second moment are those of [`Moments2`], to the bit. Nothing over- or underflows, as there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments4<S = Unscaled> {
    /// Count, mean and second moment, and by what distances are scaled.
    pub lower: Moments2<S>,
    /// `Σ (xᵢ − mean)³`.
    pub m3: f64,
    /// `Σ (xᵢ − mean)⁴`.
    pub m4: f64,
}

impl<S: Scale> Moments4<S> {
    /// Of no elements.
    pub const EMPTY: Self = Self {
        lower: Moments2::EMPTY,
        m3: 0.0,
        m4: 0.0,
    };

    /// Of one element.
    #[inline(always)]
    #[must_use]
    pub fn of(x: f64) -> Self {
        Self {
            lower: Moments2::of(x),
            m3: nothing(x),
            m4: nothing(x),
        }
    }

    /// Of those elements of a column that are `there`, by their distances from their mean; the others are zeros that are neutral in a
    /// sum. They `are_short` where they have at most 32 bits each.
    #[inline(always)]
    #[must_use]
    pub fn of_column(column: [f64; ROWS], there: [bool; ROWS], are_short: bool) -> Self {
        let (count, mean) = mean_of(column, there, are_short);
        let scale = S::of_column(column);
        let [first, rest @ ..] = distances(column, there, mean, scale);
        let square = first * first;
        let powers = (square, square * first, square * square);
        let (m2, m3, m4) = rest.into_iter().fold(powers, |(m2, m3, m4), x| {
            let square = x * x;
            (fma(x, x, m2), fma(square, x, m3), fma(square, square, m4))
        });
        Self {
            lower: Moments2 { count, mean, m2, scale },
            m3,
            m4,
        }
    }

    /// The same, scaled as larger numbers are.
    #[inline(always)]
    fn scaled(self, scale: S) -> Self {
        let by = self.lower.scale.to(scale);
        let square = by * by;
        Self {
            lower: self.lower.scaled(scale),
            m3: self.m3 * square * by,
            m4: self.m4 * square * square,
        }
    }

    /// Of the elements of both. Neutral with [`EMPTY`](Self::EMPTY) and commutative, to the bit.
    #[inline(always)]
    #[must_use]
    pub fn combine(self, other: Self) -> Self {
        if self.lower.count == other.lower.count {
            self.combine_equals(other)
        } else {
            self.combine_by_parts(other)
        }
    }

    /// The same bits, but of what underflows, in less code: one for all counts.
    #[inline(always)]
    #[must_use]
    pub fn combine_by_parts(self, other: Self) -> Self {
        let (a, b) = if self.lower.count < other.lower.count {
            (other, self)
        } else {
            (self, other)
        };
        let scale = a.lower.scale.larger(b.lower.scale);
        let (a, b) = (a.scaled(scale), b.scaled(scale));
        let (low_a, low_b) = (a.lower, b.lower);
        let merge = if low_a.count == low_b.count {
            Merge::of_equals(low_a.count, (low_a.mean, low_b.mean), scale)
        } else if low_b.count == 0 {
            return a;
        } else {
            Merge::of((low_a.count, low_b.count), (low_a.mean, low_b.mean), scale)
        };
        let lower = Moments2 {
            count: low_a.count + low_b.count,
            mean: merge.mean,
            m2: merge.m2((low_a.m2, low_b.m2)),
            scale,
        };
        // Each line is symmetric where the parts are equal: a difference changes its sign as delta does.
        let (delta, (p, q)) = (merge.delta, merge.parts);
        let square = delta * delta;
        let m3 = 3.0 * (p * low_b.m2 - q * low_a.m2) + square * (merge.weight * (p - q));
        let m4_square = 6.0 * (p * p * low_b.m2 + q * q * low_a.m2) + square * (merge.weight * (p * p - p * q + q * q));
        let m4 = fma(square, m4_square, 4.0 * delta * (p * b.m3 - q * a.m3));
        Self {
            lower,
            m3: fma(delta, m3, a.m3 + b.m3),
            m4: m4 + (a.m4 + b.m4),
        }
    }

    /// The same where the counts are equal, and both parts a half, in half the operations: powers of two round nothing, so where they stand
    /// does not matter.
    #[inline(always)]
    #[must_use]
    pub fn combine_equals(self, other: Self) -> Self {
        let scale = self.lower.scale.larger(other.lower.scale);
        let (a, b) = (self.scaled(scale), other.scaled(scale));
        let (low_a, low_b) = (a.lower, b.lower);
        let merge = Merge::of_equals(low_a.count, (low_a.mean, low_b.mean), scale);
        let delta = merge.delta;
        let square = delta * delta;
        let m4_square = 1.5 * (low_a.m2 + low_b.m2) + square * (0.25 * merge.weight);
        let m4 = fma(square, m4_square, 2.0 * delta * (b.m3 - a.m3)) + (a.m4 + b.m4);
        // A square that is infinite makes it NaN, for the difference of the parts, which it is multiplied by, is zero.
        let m3 = fma(square, 0.0, 1.5 * (low_b.m2 - low_a.m2));
        let lower = Moments2 {
            count: low_a.count + low_b.count,
            mean: merge.mean,
            m2: merge.m2((low_a.m2, low_b.m2)),
            scale,
        };
        Self {
            lower,
            m3: fma(delta, m3, a.m3 + b.m3),
            m4,
        }
    }

    /// The skewness of the elements themselves, `g₁ = (m3 / n) / (m2 / n)^1.5` (SciPy's `skew` with its default
    /// `bias=True`). NaN where no two elements differ, and over nothing. SciPy gives NaN for elements that nearly agree,
    /// too.
    #[inline]
    #[must_use]
    pub fn skewness(self) -> f64 {
        let n = self.lower.count as f64;
        let variance = self.lower.m2 / n;
        self.m3 / n / (variance * sqrt(variance))
    }

    /// The excess kurtosis of the elements themselves, `(m4 / n) / (m2 / n)² − 3` (SciPy's `kurtosis` with its defaults).
    /// NaN where no two elements differ, and over nothing.
    #[inline]
    #[must_use]
    pub fn kurtosis(self) -> f64 {
        let n = self.lower.count as f64;
        let variance = self.lower.m2 / n;
        self.m4 / n / (variance * variance) - 3.0
    }
}

/// The moments of one element: 0 if it is finite, otherwise NaN. In integers: f64 units are few on most GPUs.
#[inline(always)]
fn nothing(x: f64) -> f64 {
    const EXPONENT: u64 = f64::INFINITY.to_bits();
    if x.to_bits() & EXPONENT == EXPONENT {
        f64::NAN
    } else {
        0.0
    }
}

/// Words in a row, as nested pairs have them.
type Row2<S> = (u64, (f64, (f64, S)));
type Row4<S> = (Row2<S>, (f64, f64));

impl<S: Scale> Moments2<S> {
    #[inline]
    fn row(self) -> Row2<S> {
        (self.count, (self.mean, (self.m2, self.scale)))
    }
    #[inline]
    fn from_row((count, (mean, (m2, scale))): Row2<S>) -> Self {
        Self { count, mean, m2, scale }
    }
}

impl<S: Scale> Words for Moments2<S> {
    const COUNT: usize = Row2::<S>::COUNT;
    #[inline]
    fn word(self, i: usize) -> u32 {
        self.row().word(i)
    }
    #[inline]
    fn from_words(word: impl FnMut(usize) -> u32) -> Self {
        Self::from_row(Row2::from_words(word))
    }
}

impl<S: Scale> Words for Moments4<S> {
    const COUNT: usize = Row4::<S>::COUNT;
    #[inline(always)]
    fn word(self, i: usize) -> u32 {
        (self.lower.row(), (self.m3, self.m4)).word(i)
    }
    #[inline(always)]
    fn from_words(word: impl FnMut(usize) -> u32) -> Self {
        let (lower, (m3, m4)) = Row4::from_words(word);
        Self {
            lower: Moments2::from_row(lower),
            m3,
            m4,
        }
    }
}

#[cfg(test)]
#[path = "moments_tests.rs"]
mod tests;
