//! Softmax and its logarithm.

use super::{Column, FirstPass, Given, LeafFound, OwnRowOp, RowAlgebra, RowFold, RowMap, RowParams};
use crate::{
    arithmetic::{double, single},
    monoids::Scaled,
    parameter::BadParameter,
};

/// The bits of a float's exponent.
const EXPONENT_BITS: u32 = f32::INFINITY.to_bits();

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
    /// By a number: a [usable](Self::is_usable) one.
    #[must_use]
    pub fn by(scale: f32) -> Self {
        let magnitude = scale.abs();
        Self {
            magnitude,
            exponent: (f64::from(magnitude) * core::f64::consts::LOG2_E) as f32,
            negates: scale < 0.0,
        }
    }

    /// Whether exponents of it can be had: from 2⁻¹⁰⁰ to 2¹⁰⁰ in magnitude.
    #[must_use]
    pub fn is_usable(self) -> bool {
        const MOST: f32 = (1_u128 << 100) as f32;
        (1.0 / MOST..=MOST).contains(&self.exponent)
    }

    /// What is wrong with it, if it is not usable.
    #[must_use]
    pub fn bad(self) -> Option<BadParameter> {
        (!self.is_usable()).then_some(BadParameter {
            name: "the scale",
            value: f64::from(if self.negates { -self.magnitude } else { self.magnitude }),
            must: "between 2^-100 and 2^100 in magnitude, times log2 e too",
        })
    }

    /// What is wrong with a number that elements are to be multiplied by, where 0 has a meaning, too.
    #[must_use]
    pub fn bad_unless_0(scale: f32) -> Option<BadParameter> {
        let bad = Self::by(scale).bad().filter(|_| scale != 0.0);
        bad.map(|bad| BadParameter {
            must: "0, or between 2^-100 and 2^100 in magnitude, times log2 e too",
            ..bad
        })
    }

    /// The power of two that distances are multiplied by, to be shares of the largest that matters; and what a whole share is in powers of two: from 128 to 256.
    #[inline(always)]
    fn unit_and_rate(self) -> (f32, f32) {
        let bits = self.exponent.to_bits();
        let unit = f32::from_bits(bits & EXPONENT_BITS) * (1.0 / 128.0);
        (unit, f32::from_bits(bits & !EXPONENT_BITS | 128.0_f32.to_bits()))
    }

    /// How far an element is below a reference, as a share.
    #[inline(always)]
    pub(super) fn share(self, value: f32, reference: f32) -> f32 {
        let (unit, _) = self.unit_and_rate();
        single::fma_saturated(value, -unit, reference * unit)
    }

    /// What of an element less its reference a whole share is.
    #[inline(always)]
    pub(super) fn distance(self) -> f32 {
        let (unit, _) = self.unit_and_rate();
        -1.0 / unit
    }

    /// `exp(−distance · scale)` of the distance's share.
    #[inline(always)]
    pub(super) fn exp_of_share(self, share: f32) -> f32 {
        let (_, rate) = self.unit_and_rate();
        single::exp2_of_share(share, rate)
    }

    /// `exp((value − reference) · scale)` of what is no more than the reference.
    #[inline(always)]
    pub(super) fn exp(self, value: f32, reference: f32) -> f32 {
        self.exp_of_share(self.share(value, reference))
    }

    /// The sum of exponentials, or a NaN if the reference is infinite once it is scaled: then so were distances.
    #[inline(always)]
    fn sum_beside(self, reference: f32, sum: f32) -> f32 {
        let (unit, _) = self.unit_and_rate();
        if (reference * unit).is_infinite() {
            f32::NAN
        } else {
            sum
        }
    }

    /// The same of what is not negated.
    #[inline(always)]
    pub(super) fn plain(self) -> Self {
        Self { negates: false, ..self }
    }

    /// The state of both: the sum of the one with the smaller maximum is multiplied by the exponential of what is between.
    #[inline(always)]
    pub(super) fn combine(self, a: Scaled<f32>, b: Scaled<f32>) -> Scaled<f32> {
        let gap = a.max - b.max;
        let (larger, smaller) = if gap < 0.0 { (b.sum, a.sum) } else { (a.sum, b.sum) };
        Scaled {
            max: single::maximum(a.max, b.max),
            sum: single::fma(smaller, self.exp(-gap.abs(), 0.0), larger),
        }
    }

    /// The log-sum-exp.
    #[inline(always)]
    pub(super) fn log_sum_exp(self, row: Scaled<f32>) -> f32 {
        // A +∞ has no finite sum beside it.
        if row.max == f32::INFINITY {
            return row.max;
        }
        (f64::from(row.max) * f64::from(self.magnitude) + double::ln(f64::from(row.sum))) as f32
    }
}

/// `exp(x·scale − max) / Σ exp(xᵢ·scale − max)`.
///
/// An answer is exactly 0 where an element is more than about 87 below the largest, once both are scaled.
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
        // Where the largest is −∞ or a NaN, exponentials are relative to 0: of a −∞ they are 0, and none is of a NaN.
        #[inline(always)]
        fn reference(self, found: f32, _: u32) -> f32 {
            if found > f32::NEG_INFINITY { found } else { 0.0 }
        }
    };
}

/// And what sums exponentials alone.
macro_rules! exponentials {
    () => {
        largest!();
        type Sums = f32;
        type State = Scaled<f32>;

        #[inline(always)]
        fn plain(self) -> Self {
            let mut plain = self;
            plain.scale = self.scale.plain();
            plain
        }
        #[inline(always)]
        fn leaf(self, found: LeafFound, sum: f32, _: u32) -> Scaled<f32> {
            Scaled {
                max: found.first,
                sum: self.scale.sum_beside(found.reference, sum),
            }
        }
        #[inline(always)]
        fn identity(self) -> Scaled<f32> {
            Scaled::<f32>::EMPTY
        }
        #[inline(always)]
        fn combine(self, a: Scaled<f32>, b: Scaled<f32>) -> Scaled<f32> {
            self.scale.combine(a, b)
        }
    };
}

/// The largest element is the reference.
pub(super) const LARGEST: RowAlgebra = RowAlgebra {
    absent: [f32::NEG_INFINITY, 0.0],
    first_pass: FirstPass::Largest,
    ..RowAlgebra::PLAIN
};

pub(super) use largest;

/// What exponentials beside a leaf's largest element are multiplied by, to be those beside the row's, divided by its sum. `nothing` is 0, or a NaN that answers are to be.
#[inline(always)]
pub(super) fn quotient(scale: Scale, leaf: f32, row: Scaled<f32>, nothing: f32) -> f32 {
    scale.exp(leaf, row.max) / row.sum + nothing
}

impl Softmax {
    /// Of infinite maxima, and of a NaN, a NaN, else 0; and if zeros are to stand there, nothing is left of what answers are multiplied by.
    #[inline(always)]
    fn of_row(self, factor: f32, row: Scaled<f32>) -> f32 {
        if self.zero_if_masked && row.max == f32::NEG_INFINITY {
            return 0.0;
        }
        factor
    }
}

impl RowFold for Softmax {
    exponentials!();
    /// The exponential.
    type Relative = f32;
    const ALGEBRA: RowAlgebra = RowAlgebra {
        masks: true,
        keeps_relative: true,
        ..LARGEST
    };

    #[inline(always)]
    fn relative(self, value: f32, reference: f32) -> f32 {
        self.scale.exp(value, reference)
    }
    #[inline(always)]
    fn term(self, exponential: f32) -> f32 {
        exponential
    }
}

impl RowMap for Softmax {
    type Factors = f32;

    #[inline(always)]
    fn factors(self, _: f32, leaf: Option<Scaled<f32>>, row: Scaled<f32>, _: u64, _: Given) -> f32 {
        match leaf {
            Some(leaf) => self.of_row(quotient(self.scale, leaf.max, row, row.max * 0.0), row),
            None => self.of_row(1.0 / row.sum + row.max * 0.0, row),
        }
    }
    #[inline(always)]
    fn map(self, exponential: f32, factor: f32, _: Column) -> f32 {
        exponential * factor
    }
    #[inline(always)]
    fn known(self, row: Scaled<f32>, _: u64, _: Given) -> [f32; 4] {
        [self.scale.log_sum_exp(row), 0.0, 0.0, 0.0]
    }
}

impl RowFold for LogSoftmax {
    exponentials!();
    /// The element, and the reference.
    type Relative = (f32, f32);
    const ALGEBRA: RowAlgebra = RowAlgebra { masks: true, ..LARGEST };

    #[inline(always)]
    fn relative(self, value: f32, reference: f32) -> (f32, f32) {
        (value, reference)
    }
    #[inline(always)]
    fn term(self, (value, reference): (f32, f32)) -> f32 {
        self.scale.exp(value, reference)
    }
}

impl RowMap for LogSoftmax {
    type Factors = f32;

    #[inline(always)]
    fn factors(self, reference: f32, _: Option<Scaled<f32>>, row: Scaled<f32>, _: u64, _: Given) -> f32 {
        (reference - row.max) * self.scale.magnitude - single::ln(row.sum)
    }
    #[inline(always)]
    fn map(self, (value, reference): (f32, f32), shift: f32, _: Column) -> f32 {
        single::fma(value - reference, self.scale.magnitude, shift)
    }
    #[inline(always)]
    fn known(self, row: Scaled<f32>, _: u64, _: Given) -> [f32; 4] {
        [self.scale.log_sum_exp(row), 0.0, 0.0, 0.0]
    }
}

impl OwnRowOp for Softmax {
    fn params(self) -> RowParams {
        RowParams::of_scale(self.scale, self.zero_if_masked)
    }
    #[inline(always)]
    fn of_params(params: RowParams) -> Self {
        Self {
            scale: params.scale(),
            zero_if_masked: params.flag,
        }
    }
    fn bad_parameter(self) -> Option<BadParameter> {
        self.scale.bad()
    }
}

impl OwnRowOp for LogSoftmax {
    fn params(self) -> RowParams {
        RowParams::of_scale(self.scale, false)
    }
    #[inline(always)]
    fn of_params(params: RowParams) -> Self {
        Self { scale: params.scale() }
    }
    fn bad_parameter(self) -> Option<BadParameter> {
        self.scale.bad()
    }
}
