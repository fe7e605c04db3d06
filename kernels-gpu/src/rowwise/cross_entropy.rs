//! Cross-entropy of logits and a target.

use super::{
    Column, Given, LeafFound, OwnRowOp, RowAlgebra, RowFold, RowMap, RowParams, Scale, Several,
    softmax::{LARGEST, largest, quotient},
};
use crate::{
    arithmetic::{double, single},
    monoids::{Scaled, Words},
    parameter::BadParameter,
};

/// What a row's target is: the second number [given](Given), the first being its logit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// One of the row's elements.
    There,
    /// None: the row is ignored.
    Ignored,
    /// None, and it should be one.
    Beyond,
}

impl Target {
    /// As it is given.
    #[inline(always)]
    #[must_use]
    pub fn given(self, logit: f32) -> Given {
        let number = match self {
            Self::There => 0.0,
            Self::Ignored => 1.0,
            Self::Beyond => 2.0,
        };
        [logit, number]
    }

    #[inline(always)]
    fn of([_, number]: Given) -> Self {
        if number == 0.0 {
            Self::There
        } else if number == 1.0 {
            Self::Ignored
        } else {
            Self::Beyond
        }
    }
}

/// `(1 − ε) · −log p(target) + ε · mean of −log p + z · lse²`, `p` being the softmax of the row and `lse` its log-sum-exp; and the gradient of that, times a number:
/// `p · (1 + 2·z·lse) − ε / len`, less `1 − ε` at the target.
///
/// Known of a row: the loss, the log-sum-exp, the target's log-probability, and the entropy `−Σ p·log p`. All of them but the log-sum-exp are NaN
/// of a row of all −∞, one with a +∞ and one with a NaN. Of a row that is ignored the loss, the log-probability and the gradient are 0; of one whose target is beyond it they are NaN.
///
/// # Source
///
/// Label smoothing: C. Szegedy et al., *Rethinking the Inception architecture* (2016). z-loss: A. Chowdhery et al., *PaLM* (2022). Entropy beside it: the sums of
/// M. Milakov and N. Gimelshein (2018), with `e · (x − m)` summed too.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CrossEntropy {
    /// By 1.
    pub scale: Scale,
    /// ε.
    pub smoothing: f32,
    /// z.
    pub square: f32,
    /// What the gradient is multiplied by.
    pub gradient: f32,
    /// Whether the entropy is asked for, for which distances are summed.
    pub has_entropy: bool,
}

/// Exponentials beside the largest element; the same, each times its element's distance from that; and the elements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weighted {
    /// The largest, and the sum of exponentials.
    pub scaled: Scaled<f32>,
    /// The sum of exponentials, each times its distance.
    pub distances: f32,
    /// The sum of the elements.
    pub total: f32,
}

impl Words for Weighted {
    const COUNT: usize = 4;
    #[inline(always)]
    fn word(self, i: usize) -> u32 {
        match i {
            0 => self.scaled.max.to_bits(),
            1 => self.scaled.sum.to_bits(),
            2 => self.distances.to_bits(),
            _ => self.total.to_bits(),
        }
    }
    #[inline(always)]
    fn from_words(mut word: impl FnMut(usize) -> u32) -> Self {
        let mut next = |i: usize| f32::from_bits(word(i));
        let scaled = Scaled {
            max: next(0),
            sum: next(1),
        };
        Self {
            scaled,
            distances: next(2),
            total: next(3),
        }
    }
}

impl CrossEntropy {
    /// With a smoothing, a weight of the square, and what the gradient is multiplied by.
    #[inline(always)]
    #[must_use]
    pub fn new(smoothing: f32, square: f32, gradient: f32) -> Self {
        let scale = Scale {
            magnitude: 1.0,
            exponent: core::f32::consts::LOG2_E,
            negates: false,
        };
        Self {
            scale,
            smoothing,
            square,
            gradient,
            has_entropy: true,
        }
    }
}

impl RowFold for CrossEntropy {
    largest!();
    /// How far it is below the largest, as a share, and the exponential of that.
    type Relative = (f32, f32);
    type Sums = Several<2>;
    type State = Weighted;
    const ALGEBRA: RowAlgebra = RowAlgebra {
        has_targets: true,
        sums_elements: true,
        // The entropy has sums of its own.
        plain_statistics: 3,
        ..LARGEST
    };

    #[inline(always)]
    fn plain(self) -> Self {
        Self {
            has_entropy: false,
            ..self
        }
    }
    #[inline(always)]
    fn totals(self) -> bool {
        self.smoothing != 0.0
    }

    #[inline(always)]
    fn relative(self, value: f32, reference: f32) -> (f32, f32) {
        let share = self.scale.share(value, reference);
        (share, self.scale.exp_of_share(share))
    }
    #[inline(always)]
    fn term(self, (share, exponential): (f32, f32)) -> Several<2> {
        Several([exponential, if self.has_entropy { exponential * share } else { -0.0 }])
    }
    #[inline(always)]
    fn sums_one(self) -> bool {
        !self.has_entropy
    }
    #[inline(always)]
    fn leaf(self, found: LeafFound, Several([sum, shares]): Several<2>, _: u32) -> Weighted {
        Weighted {
            scaled: Scaled { max: found.first, sum },
            distances: if self.has_entropy {
                shares * self.scale.distance()
            } else {
                -0.0
            },
            total: found.total,
        }
    }
    #[inline(always)]
    fn identity(self) -> Weighted {
        Weighted {
            scaled: Scaled::<f32>::EMPTY,
            distances: -0.0,
            total: -0.0,
        }
    }
    #[inline(always)]
    fn combine(self, a: Weighted, b: Weighted) -> Weighted {
        let gap = a.scaled.max - b.scaled.max;
        // Number by number: a choice between states is one between addresses to LLVM 7, and keeps both in local memory.
        let sort = |a: f32, b: f32| if gap < 0.0 { (b, a) } else { (a, b) };
        let (larger_sum, smaller_sum) = sort(a.scaled.sum, b.scaled.sum);
        let (larger_distances, smaller_distances) = sort(a.distances, b.distances);
        let factor = self.scale.exp(-gap.abs(), 0.0);
        // Every distance grows by the gap.
        let distances = single::fma(-gap.abs(), smaller_sum, smaller_distances);
        Weighted {
            scaled: Scaled {
                max: single::maximum(a.scaled.max, b.scaled.max),
                sum: single::fma(smaller_sum, factor, larger_sum),
            },
            distances: if !self.has_entropy {
                -0.0
            } else if factor == 0.0 {
                larger_distances
            } else {
                single::fma(distances, factor, larger_distances)
            },
            total: a.total + b.total,
        }
    }
}

impl RowMap for CrossEntropy {
    /// What exponentials are multiplied by; what is added, and at the target.
    type Factors = [f32; 3];

    #[inline(always)]
    fn factors(self, _: f32, leaf: Option<Weighted>, row: Weighted, len: u64, given: Given) -> [f32; 3] {
        let leaf = leaf.unwrap_or(row);
        let factor = quotient(self.scale, leaf.scaled.max, row.scaled, row.scaled.max * 0.0);
        let all = if self.square == 0.0 {
            self.gradient
        } else {
            self.gradient * single::fma(2.0 * self.square, self.scale.log_sum_exp(row.scaled), 1.0)
        };
        let shift = -(self.gradient * (self.smoothing / len as f32));
        let target = shift - self.gradient * (1.0 - self.smoothing);
        match Target::of(given) {
            Target::There => [factor * all, shift, target],
            Target::Ignored => [0.0; 3],
            Target::Beyond => [f32::NAN; 3],
        }
    }
    #[inline(always)]
    fn map(self, (_, exponential): (f32, f32), [factor, shift, _]: [f32; 3], _: Column) -> f32 {
        single::fma(exponential, factor, shift)
    }
    #[inline(always)]
    fn at_target(self, (_, exponential): (f32, f32), [factor, _, target]: [f32; 3]) -> f32 {
        single::fma(exponential, factor, target)
    }
    #[inline(always)]
    fn known(self, row: Weighted, len: u64, given: Given) -> [f32; 4] {
        let Scaled { max, sum } = row.scaled;
        let logarithm = double::ln(f64::from(sum));
        let log_sum_exp = if max == f32::INFINITY {
            max
        } else {
            (f64::from(max) + logarithm) as f32
        };
        // Less 0, or a NaN that all else is to be.
        let logarithm = logarithm - f64::from(max * 0.0);
        let entropy = if self.has_entropy {
            logarithm - f64::from(row.distances / sum)
        } else {
            f64::NAN
        };
        let max = f64::from(max);
        let of_target = (f64::from(given[0]) - max) - logarithm;
        let exact = max + logarithm;
        let smoothing = f64::from(self.smoothing);
        let of_all = if smoothing == 0.0 {
            0.0
        } else {
            smoothing * (exact - f64::from(row.total) / len as f64)
        };
        let square = if self.square == 0.0 {
            0.0
        } else {
            f64::from(self.square) * exact * exact
        };
        let loss = (smoothing - 1.0) * of_target + of_all + square;
        let [loss, of_target] = match Target::of(given) {
            Target::There => [loss as f32, of_target as f32],
            Target::Ignored => [0.0; 2],
            Target::Beyond => [f32::NAN; 2],
        };
        [loss, log_sum_exp, of_target, entropy as f32]
    }
}

impl OwnRowOp for CrossEntropy {
    fn params(self) -> RowParams {
        RowParams::of([self.smoothing, self.square, self.gradient])
    }
    #[inline(always)]
    fn of_params(params: RowParams) -> Self {
        let [smoothing, square, _, gradient] = params.numbers;
        Self::new(smoothing, square, gradient)
    }
    fn bad_parameter(self) -> Option<BadParameter> {
        let unless = |name: &'static str, value: f32, is_right: bool, must: &'static str| {
            (!is_right).then_some(BadParameter {
                name,
                value: value.into(),
                must,
            })
        };
        let Self {
            smoothing,
            square,
            gradient,
            ..
        } = self;
        let is_share = (0.0..=1.0).contains(&smoothing);
        unless("the label smoothing", smoothing, is_share, "from 0 to 1")
            .or_else(|| {
                let name = "the weight of the squared log-sum-exp";
                unless(
                    name,
                    square,
                    square.is_finite() && square >= 0.0,
                    "finite, and at least 0",
                )
            })
            .or_else(|| {
                unless(
                    "what the gradient is multiplied by",
                    gradient,
                    gradient.is_finite(),
                    "finite",
                )
            })
    }
}
