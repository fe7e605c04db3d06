//! Softmax and its logarithm.

use super::{Column, Given, LeafFound, RowOp};
use crate::{
    arithmetic::{double, single},
    monoids::Scaled,
};

/// What elements are multiplied by before their exponentials.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// The magnitude.
    pub magnitude: f32,
    /// The same times log₂ e, rounded once.
    pub exponent: f32,
    /// Whether elements are negated.
    pub negates: bool,
}

impl Scale {
    /// By a number: finite, not 0.
    #[must_use]
    pub fn by(scale: f32) -> Self {
        let magnitude = scale.abs();
        Self {
            magnitude,
            exponent: (f64::from(magnitude) * core::f64::consts::LOG2_E) as f32,
            negates: scale < 0.0,
        }
    }

    /// `2⁶⁴ · exp(gap · scale)`.
    #[inline(always)]
    pub(super) fn exp(self, gap: f32) -> f32 {
        single::exp_scaled(gap, self.exponent)
    }

    /// The state of both: the sum of the one with the smaller maximum is multiplied by the exponential of what is between.
    #[inline(always)]
    pub(super) fn combine(self, a: Scaled<f32>, b: Scaled<f32>) -> Scaled<f32> {
        let gap = a.max - b.max;
        let (larger, smaller) = if gap < 0.0 { (b.sum, a.sum) } else { (a.sum, b.sum) };
        let factor = self.exp(-gap.abs()) * single::SCALE_UNDONE;
        Scaled {
            max: single::maximum(a.max, b.max),
            sum: single::fma(smaller, factor, larger),
        }
    }

    /// The log-sum-exp.
    #[inline(always)]
    pub(super) fn log_sum_exp(self, row: Scaled<f32>) -> f32 {
        // A +∞ has no finite sum beside it.
        if row.max == f32::INFINITY {
            return row.max;
        }
        let sum = f64::from(row.sum) * f64::from(single::SCALE_UNDONE);
        (f64::from(row.max) * f64::from(self.magnitude) + double::ln(sum)) as f32
    }
}

/// `exp(x·scale − max) / Σ exp(xᵢ·scale − max)`.
///
/// Exponentials are carried [times 2⁶⁴](single::exp_scaled), so that none is subnormal before the division: each answer is rounded as if the exponential's
/// range had no end. An answer is exactly 0 where an element is more than about 104 below the largest, once both are scaled.
///
/// A row of all −∞, one with a +∞ and one with a NaN are NaN.
///
/// # Source
///
/// M. Milakov and N. Gimelshein, *Online normalizer calculation for softmax* (2018), of leaves in place of elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Softmax {
    /// What elements are multiplied by. Of a temperature it is the reciprocal.
    pub scale: Scale,
    /// Whether a row of all −∞ has zeros in place of NaNs.
    pub zero_if_masked: bool,
}

/// `(x − max)·scale − ln Σ exp((xᵢ − max)·scale)`.
///
/// A row of all −∞, one with a +∞ and one with a NaN are NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogSoftmax {
    /// As [`Softmax::scale`].
    pub scale: Scale,
}

/// What operations have alike whose reference is the largest element.
macro_rules! largest {
    () => {
        type Value = f32;

        #[inline(always)]
        fn negates(self) -> bool {
            self.scale.negates
        }
        #[inline(always)]
        fn absent(self) -> f32 {
            f32::NEG_INFINITY
        }
        #[inline(always)]
        fn nothing(self) -> f32 {
            f32::NEG_INFINITY
        }
        #[inline(always)]
        fn first(self, value: f32) -> f32 {
            value
        }
        #[inline(always)]
        fn both(self, a: f32, b: f32) -> f32 {
            single::maximum(a, b)
        }
        // Where the largest is −∞, exponentials are those beside 0: they are 0, and not of a NaN.
        #[inline(always)]
        fn reference(self, found: f32, _: u32) -> f32 {
            if found == f32::NEG_INFINITY { 0.0 } else { found }
        }
    };
}

/// And what sums exponentials alone.
macro_rules! exponentials {
    () => {
        largest!();
        const MASKS: bool = true;
        type Beside = f32;
        type Sums = f32;
        type State = Scaled<f32>;

        #[inline(always)]
        fn leaf(self, found: LeafFound, sum: f32, _: u32) -> Scaled<f32> {
            let max = found.first;
            Scaled { max, sum }
        }
        #[inline(always)]
        fn identity(self) -> Scaled<f32> {
            Scaled::<f32>::EMPTY
        }
        #[inline(always)]
        fn combine(self, a: Scaled<f32>, b: Scaled<f32>) -> Scaled<f32> {
            self.scale.combine(a, b)
        }
        #[inline(always)]
        fn known(self, row: Scaled<f32>, _: u64, _: Given) -> [f32; 4] {
            [self.scale.log_sum_exp(row), 0.0, 0.0, 0.0]
        }
    };
}

pub(super) use largest;

/// What exponentials beside a leaf's largest element are multiplied by, and then by what more, to be those beside the row's, divided by its sum: in one number
/// that would be subnormal, of a leaf far below the row's largest. `nothing` is 0, or a NaN that answers are to be.
#[inline(always)]
pub(super) fn quotient(scale: Scale, leaf: f32, row: Scaled<f32>, nothing: f32) -> (f32, f32) {
    let factor = scale.exp(leaf - row.max) / row.sum;
    // In one number, as of a row that is one leaf, so that an answer is rounded once: unless it would be subnormal.
    if factor < 4.0 * single::SCALE_UNDONE {
        (factor + nothing, single::SCALE_UNDONE)
    } else {
        (factor * single::SCALE_UNDONE + nothing, 1.0)
    }
}

impl Softmax {
    /// Of infinite maxima, and of a NaN, a NaN, else 0; and if zeros are to stand there, nothing is left of what answers are multiplied by.
    #[inline(always)]
    fn of_row(self, factors: (f32, f32), row: Scaled<f32>) -> (f32, f32) {
        if self.zero_if_masked && row.max == f32::NEG_INFINITY {
            return (0.0, 1.0);
        }
        factors
    }
}

impl RowOp for Softmax {
    exponentials!();
    type Factors = (f32, f32);
    const KEEPS: bool = true;

    #[inline(always)]
    fn beside(self, value: f32, reference: f32) -> f32 {
        self.scale.exp(value - reference)
    }
    #[inline(always)]
    fn term(self, exponential: f32) -> f32 {
        exponential
    }
    #[inline(always)]
    fn factors(self, _: f32, leaf: Scaled<f32>, row: Scaled<f32>, _: u64, _: Given) -> (f32, f32) {
        self.of_row(quotient(self.scale, leaf.max, row, row.max * 0.0), row)
    }
    #[inline(always)]
    fn factors_alone(self, _: f32, row: Scaled<f32>, _: u64, _: Given) -> (f32, f32) {
        self.of_row((1.0 / row.sum + row.max * 0.0, 1.0), row)
    }
    #[inline(always)]
    fn map(self, exponential: f32, (factor, more): (f32, f32), _: Column) -> f32 {
        exponential * factor * more
    }
}

impl RowOp for LogSoftmax {
    exponentials!();
    type Factors = f32;

    #[inline(always)]
    fn beside(self, value: f32, reference: f32) -> f32 {
        value - reference
    }
    #[inline(always)]
    fn term(self, gap: f32) -> f32 {
        self.scale.exp(gap)
    }
    #[inline(always)]
    fn factors(self, reference: f32, _: Scaled<f32>, row: Scaled<f32>, _: u64, _: Given) -> f32 {
        (reference - row.max) * self.scale.magnitude - single::ln(row.sum * single::SCALE_UNDONE)
    }
    #[inline(always)]
    fn map(self, gap: f32, shift: f32, _: Column) -> f32 {
        single::fma(gap, self.scale.magnitude, shift)
    }
}
