//! Mean and central moments in one pass: variance, standard deviation, skewness, kurtosis.
//!
//! A state is the number of elements, their mean, and sums of powers of their distances from it, so nothing cancels as it
//! does in `E[x²] − E[x]²`. Two states meet by the formulas of T. F. Chan, G. H. Golub and R. J. LeVeque (*Updating
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

use super::Words;
use crate::{
    arithmetic::double::{fma, sqrt},
    tree::ROWS,
};

/// Count, mean and second moment.
///
/// Equal elements have their value for a mean and no variance, both exactly. In general, to first order, with `d = ⌈log₂ n⌉`,
/// `M` the largest magnitude and `σ` the standard deviation, for pairwise meetings of f64:
///
/// * the mean is within `2 · d · M · 2⁻⁵³` of the exact one;
/// * `m2` is within `(4 · d + 4 · d · M / σ) · 2⁻⁵³` of the exact one, relatively: Chan's bound, linear in the condition
///   number where `E[x²] − E[x]²` is quadratic.
///
/// Where elements are f32, nothing over- or underflows. Where they are f64, `m2` is the variance times the number of
/// elements, and infinite where that is past f64's largest number (elements further apart than about 10¹⁵⁴); distances
/// below about 10⁻¹⁵⁴ have squares that underflow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments2 {
    /// How many elements.
    pub count: u64,
    /// Their mean; 0 if there are none.
    pub mean: f64,
    /// `Σ (xᵢ − mean)²`.
    pub m2: f64,
}

/// How a larger and a smaller state meet.
struct Meeting {
    /// The smaller one's mean less the larger one's.
    delta: f64,
    /// The mean of all.
    mean: f64,
    /// The parts that the larger and the smaller have of all elements.
    parts: (f64, f64),
    /// The product of the counts, divided by their sum.
    weight: f64,
}

impl Meeting {
    /// Of states that have `counts` elements, the first not fewer than the second, and `means`.
    #[inline(always)]
    fn of(counts: (u64, u64), means: (f64, f64)) -> Self {
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
            delta,
            mean,
            parts: (1.0 - part, part),
            weight: larger * part,
        }
    }

    /// Of states that have `count` elements each: the same numbers, for their part is a half, and symmetric.
    #[inline(always)]
    fn of_equals(count: u64, means: (f64, f64)) -> Self {
        Self {
            delta: means.1 - means.0,
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

impl Moments2 {
    /// Of no elements.
    pub const EMPTY: Self = Self {
        count: 0,
        mean: 0.0,
        m2: 0.0,
    };

    /// Of one element.
    #[inline]
    #[must_use]
    pub fn of(x: f64) -> Self {
        Self {
            count: 1,
            mean: x,
            m2: nothing(x),
        }
    }

    /// Of those elements of a column that are `there`, by their distances from their mean; the others are zeros that are neutral in a
    /// sum. They `are_short` where they have at most 32 bits each.
    #[inline(always)]
    #[must_use]
    pub fn of_column(column: [f64; ROWS], there: [bool; ROWS], are_short: bool) -> Self {
        let (count, mean) = mean_of(column, there, are_short);
        let [first, rest @ ..] = less(column, there, mean);
        let m2 = rest.into_iter().fold(first * first, |m2, x| fma(x, x, m2));
        Self { count, mean, m2 }
    }

    /// Of the elements of both. Neutral with [`EMPTY`](Self::EMPTY) and commutative, to the bit.
    #[inline]
    #[must_use]
    pub fn combine(self, other: Self) -> Self {
        let (a, b) = if self.count < other.count {
            (other, self)
        } else {
            (self, other)
        };
        let meeting = if a.count == b.count {
            Meeting::of_equals(a.count, (a.mean, b.mean))
        } else if b.count == 0 {
            return a;
        } else {
            Meeting::of((a.count, b.count), (a.mean, b.mean))
        };
        Self {
            count: a.count + b.count,
            mean: meeting.mean,
            m2: meeting.m2((a.m2, b.m2)),
        }
    }

    /// `m2` divided by `count − correction`, or by 0 where that is negative; NaN where it is not above 0. A correction of 1
    /// gives the unbiased estimate, 0 the variance of the elements themselves.
    #[inline]
    #[must_use]
    pub fn variance(self, correction: f64) -> f64 {
        let divisor = self.count as f64 - correction;
        if divisor > 0.0 { self.m2 / divisor } else { f64::NAN }
    }

    /// The standard deviation: the root of the [`variance`](Self::variance).
    #[inline]
    #[must_use]
    pub fn std(self, correction: f64) -> f64 {
        sqrt(self.variance(correction))
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
/// Count, mean and second moment are those of [`Moments2`], to the bit. Where elements are f32, nothing over- or
/// underflows. Where they are f64, `m4` is infinite for elements further apart than about 10⁷⁷, and the answers NaN then;
/// and distances below about 10⁻⁷⁷ have powers that underflow.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments4 {
    /// Count, mean and second moment.
    pub lower: Moments2,
    /// `Σ (xᵢ − mean)³`.
    pub m3: f64,
    /// `Σ (xᵢ − mean)⁴`.
    pub m4: f64,
}

impl Moments4 {
    /// Of no elements.
    pub const EMPTY: Self = Self {
        lower: Moments2::EMPTY,
        m3: 0.0,
        m4: 0.0,
    };

    /// Of one element.
    #[inline]
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
        let [first, rest @ ..] = less(column, there, mean);
        let square = first * first;
        let powers = (square, square * first, square * square);
        let (m2, m3, m4) = rest.into_iter().fold(powers, |(m2, m3, m4), x| {
            let square = x * x;
            (fma(x, x, m2), fma(square, x, m3), fma(square, square, m4))
        });
        Self {
            lower: Moments2 { count, mean, m2 },
            m3,
            m4,
        }
    }

    /// Of the elements of both. Neutral with [`EMPTY`](Self::EMPTY) and commutative, to the bit.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), inline)]
    #[must_use]
    pub fn combine(self, other: Self) -> Self {
        if self.lower.count == other.lower.count {
            self.combine_with_equal(other)
        } else {
            self.combine_by_parts(other)
        }
    }

    /// The same bits, but of what underflows, in less code: one for all counts.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[cfg_attr(not(target_arch = "nvptx64"), inline)]
    #[must_use]
    pub fn combine_by_parts(self, other: Self) -> Self {
        let (a, b) = if self.lower.count < other.lower.count {
            (other, self)
        } else {
            (self, other)
        };
        let (low_a, low_b) = (a.lower, b.lower);
        let meeting = if low_a.count == low_b.count {
            Meeting::of_equals(low_a.count, (low_a.mean, low_b.mean))
        } else if low_b.count == 0 {
            return a;
        } else {
            Meeting::of((low_a.count, low_b.count), (low_a.mean, low_b.mean))
        };
        let lower = Moments2 {
            count: low_a.count + low_b.count,
            mean: meeting.mean,
            m2: meeting.m2((low_a.m2, low_b.m2)),
        };
        // Each line is symmetric where the parts are equal: a difference changes its sign as delta does.
        let (delta, (p, q)) = (meeting.delta, meeting.parts);
        let square = delta * delta;
        let m3 = 3.0 * (p * low_b.m2 - q * low_a.m2) + square * (meeting.weight * (p - q));
        let m4_square =
            6.0 * (p * p * low_b.m2 + q * q * low_a.m2) + square * (meeting.weight * (p * p - p * q + q * q));
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
    fn combine_with_equal(self, other: Self) -> Self {
        let (low_a, low_b) = (self.lower, other.lower);
        let meeting = Meeting::of_equals(low_a.count, (low_a.mean, low_b.mean));
        let delta = meeting.delta;
        let square = delta * delta;
        let m4_square = 1.5 * (low_a.m2 + low_b.m2) + square * (0.25 * meeting.weight);
        let m4 = fma(square, m4_square, 2.0 * delta * (other.m3 - self.m3)) + (self.m4 + other.m4);
        // A square that is infinite makes it NaN, for the difference of the parts, which it is multiplied by, is zero.
        let m3 = fma(square, 0.0, 1.5 * (low_b.m2 - low_a.m2));
        let lower = Moments2 {
            count: low_a.count + low_b.count,
            mean: meeting.mean,
            m2: meeting.m2((low_a.m2, low_b.m2)),
        };
        Self {
            lower,
            m3: fma(delta, m3, self.m3 + other.m3),
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

/// The sum of a column, in pairs of neighbours.
#[inline(always)]
fn sum_of([a, b, c, d, e, f, g, h]: [f64; ROWS]) -> f64 {
    ((a + b) + (c + d)) + ((e + f) + (g + h))
}

/// How many elements of a column are there, and their mean; 0 if there are none. Of equal elements it is what they are, exactly.
#[inline(always)]
fn mean_of(column: [f64; ROWS], there: [bool; ROWS], are_short: bool) -> (u64, f64) {
    let count = there
        .into_iter()
        .fold(0_u32, |count, is_there| count + u32::from(is_there));
    let mean = if count == 0 {
        0.0
    } else if are_short {
        // The sum of eight equal ones is an f64, and so is their value the next to its product with a reciprocal.
        sum_of(column) * reciprocal(count)
    } else if count == ROWS as u32 {
        mean_by_eighths(column, count)
    } else {
        // By what they are below the first: so it is what they are where all are −0.0, too.
        let first = first_of(column, there);
        let below = less(column.map(|x| -x), there, -first);
        let mean = first - sum_of(below) * reciprocal(count);
        // Infinities, and numbers that lie too far apart for a difference.
        if mean.is_finite() {
            mean
        } else {
            mean_by_eighths(column, count)
        }
    };
    (count.into(), mean)
}

/// The mean of `count` elements by the sum of their eighths, which is finite wherever they are.
#[inline(always)]
fn mean_by_eighths(column: [f64; ROWS], count: u32) -> f64 {
    let eighths = sum_of(column.map(|x| RECIPROCALS[ROWS] * x));
    eighths * (ROWS as f64 * reciprocal(count))
}

/// The first element that is there.
#[inline(always)]
fn first_of([a, b, c, d, e, f, g, h]: [f64; ROWS], there: [bool; ROWS]) -> f64 {
    let or = |row: usize, x: f64, later: f64| if there[row] { x } else { later };
    or(0, a, or(1, b, or(2, c, or(3, d, or(4, e, or(5, f, or(6, g, h)))))))
}

/// What the elements of a column are above `from`; 0 where there is none.
#[inline(always)]
fn less([a, b, c, d, e, f, g, h]: [f64; ROWS], there: [bool; ROWS], from: f64) -> [f64; ROWS] {
    let less = |row: usize, x: f64| if there[row] { x - from } else { 0.0 };
    [
        less(0, a),
        less(1, b),
        less(2, c),
        less(3, d),
        less(4, e),
        less(5, f),
        less(6, g),
        less(7, h),
    ]
}

/// The f64 next to one over each number of elements that a column can have.
const RECIPROCALS: [f64; ROWS + 1] = [
    1.0,
    1.0,
    1.0 / 2.0,
    1.0 / 3.0,
    1.0 / 4.0,
    1.0 / 5.0,
    1.0 / 6.0,
    1.0 / 7.0,
    1.0 / 8.0,
];

/// That of `count`, from 1 to 8. Chosen, not looked up: a table would be read from memory.
#[inline(always)]
fn reciprocal(count: u32) -> f64 {
    let of = |bit: u32, then: f64, otherwise: f64| if count & bit != 0 { then } else { otherwise };
    let [_, one, two, three, four, five, six, seven, eight] = RECIPROCALS;
    let low = of(2, of(1, three, two), of(1, one, eight));
    let high = of(2, of(1, seven, six), of(1, five, four));
    of(4, high, low)
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
type Row2 = (u64, (f64, f64));
type Row4 = (Row2, (f64, f64));

impl Moments2 {
    #[inline]
    fn row(self) -> Row2 {
        (self.count, (self.mean, self.m2))
    }
    #[inline]
    fn from_row((count, (mean, m2)): Row2) -> Self {
        Self { count, mean, m2 }
    }
}

impl Words for Moments2 {
    const COUNT: usize = Row2::COUNT;
    #[inline]
    fn word(self, i: usize) -> u32 {
        self.row().word(i)
    }
    #[inline]
    fn from_words(word: impl FnMut(usize) -> u32) -> Self {
        Self::from_row(Row2::from_words(word))
    }
}

impl Words for Moments4 {
    const COUNT: usize = Row4::COUNT;
    #[inline]
    fn word(self, i: usize) -> u32 {
        (self.lower.row(), (self.m3, self.m4)).word(i)
    }
    #[inline]
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
