//! Layer norm and root-mean-square norm.

use super::{Column, ColumnUse, FirstPass, Given, LeafFound, OwnRowOp, RowAlgebra, RowFold, RowMap, RowParams};
use crate::{arithmetic::single, monoids::Words, parameter::BadParameter};

/// How many elements, their mean, and the sum of the squares of their distances from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moments {
    /// A whole number; above 2²⁴ it is rounded.
    pub count: f32,
    /// The mean.
    pub mean: f32,
    /// The sum of squares.
    pub squares: f32,
}

impl Words for Moments {
    const COUNT: usize = 3;
    #[inline(always)]
    fn word(self, i: usize) -> u32 {
        match i {
            0 => self.count.to_bits(),
            1 => self.mean.to_bits(),
            _ => self.squares.to_bits(),
        }
    }
    #[inline(always)]
    fn from_words(mut word: impl FnMut(usize) -> u32) -> Self {
        Self {
            count: f32::from_bits(word(0)),
            mean: f32::from_bits(word(1)),
            squares: f32::from_bits(word(2)),
        }
    }
}

/// `(x − mean) / √(variance + ε) · weight + bias`, the variance being that of the row, divided by its length.
///
/// A leaf has its mean, then squares of distances from it; leaves are combined by the formulas of T. F. Chan, G. H. Golub and R. J.
/// LeVeque, *Updating formulae and a pairwise algorithm for computing sample variances* (1979). A row with a NaN or an infinity is NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LayerNorm {
    /// Added to the variance.
    pub epsilon: f32,
}

/// `x / √(mean of x² + ε) · weight`.
///
/// Squares are of f32: of an element from 2⁶⁴ on in magnitude one is infinite, and the row's answers are zeros and NaNs. A row with a NaN is NaN.
///
/// # Source
///
/// B. Zhang and R. Sennrich, *Root mean square layer normalization* (2019).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RmsNorm {
    /// Added to the mean of squares.
    pub epsilon: f32,
    /// What is added to each weight: 1 where they are those beside 1, −0.0 where they are not.
    pub plus: f32,
}

/// `1 / √x`, the root and the quotient rounded once each.
#[inline(always)]
fn reciprocal_root(x: f32) -> f32 {
    1.0 / single::sqrt(x)
}

impl RowFold for LayerNorm {
    type Value = f32;
    /// The distance from the leaf's mean.
    type Relative = f32;
    type Sums = f32;
    type State = Moments;
    const ALGEBRA: RowAlgebra = RowAlgebra {
        absent: [-0.0, 0.0],
        first_pass: FirstPass::Sum,
        // It would be as far from the mean as any 0.
        absent_is_reference: true,
        columns: ColumnUse::WeightsAndBiases,
        groups: true,
        adds_residual: true,
        ..RowAlgebra::PLAIN
    };

    #[inline(always)]
    fn reference(self, found: f32, len: u32) -> f32 {
        // Of a sum that is infinite a NaN: distances from it are.
        let mean = found / len as f32;
        single::fma(mean, 0.0, mean)
    }
    #[inline(always)]
    fn relative(self, value: f32, mean: f32) -> f32 {
        value - mean
    }
    #[inline(always)]
    fn term(self, distance: f32) -> f32 {
        distance * distance
    }
    #[inline(always)]
    fn leaf(self, found: LeafFound, squares: f32, len: u32) -> Moments {
        let (count, mean) = (len as f32, found.reference);
        Moments { count, mean, squares }
    }
    #[inline(always)]
    fn identity(self) -> Moments {
        // Of a row of nothing the mean is that.
        Moments {
            count: 0.0,
            mean: f32::NAN,
            squares: 0.0,
        }
    }
    #[inline(always)]
    fn combine(self, a: Moments, b: Moments) -> Moments {
        // The more of them first: so it commutes, but where counts are equal, and there the mean is symmetric.
        let (more, less) = if b.count > a.count { (b, a) } else { (a, b) };
        if less.count == 0.0 {
            return more;
        }
        let count = more.count + less.count;
        let gap = less.mean - more.mean;
        let mean = if more.count == less.count {
            0.5 * more.mean + 0.5 * less.mean
        } else {
            single::fma(gap, less.count / count, more.mean)
        };
        let between = gap * gap * (more.count * (less.count / count));
        Moments {
            count,
            mean,
            squares: (more.squares + less.squares) + between,
        }
    }
}

impl RowMap for LayerNorm {
    /// What is added to an element's distance from its leaf's mean, and the reciprocal deviation.
    type Factors = (f32, f32);

    #[inline(always)]
    fn factors(self, mean: f32, _: Option<Moments>, row: Moments, len: u64, given: Given) -> (f32, f32) {
        (mean - row.mean, self.known(row, len, given)[1])
    }
    #[inline(always)]
    fn map(self, distance: f32, (shift, reciprocal): (f32, f32), column: Column) -> f32 {
        single::fma((distance + shift) * reciprocal, column.weight, column.bias)
    }
    #[inline(always)]
    fn known(self, row: Moments, len: u64, _: Given) -> [f32; 4] {
        let reciprocal = reciprocal_root(row.squares / len as f32 + self.epsilon);
        [row.mean, reciprocal, 0.0, 0.0]
    }
}

impl RowFold for RmsNorm {
    type Value = f32;
    type Relative = f32;
    type Sums = f32;
    type State = f32;
    const ALGEBRA: RowAlgebra = RowAlgebra {
        columns: ColumnUse::Weights,
        adds_residual: true,
        ..RowAlgebra::PLAIN
    };

    #[inline(always)]
    fn relative(self, value: f32, _: f32) -> f32 {
        value
    }
    #[inline(always)]
    fn term(self, value: f32) -> f32 {
        value * value
    }
    #[inline(always)]
    fn leaf(self, _: LeafFound, squares: f32, _: u32) -> f32 {
        squares
    }
    #[inline(always)]
    fn identity(self) -> f32 {
        -0.0
    }
    #[inline(always)]
    fn combine(self, a: f32, b: f32) -> f32 {
        a + b
    }
}

impl RowMap for RmsNorm {
    /// The reciprocal root.
    type Factors = f32;

    #[inline(always)]
    fn factors(self, _: f32, _: Option<f32>, row: f32, len: u64, given: Given) -> f32 {
        self.known(row, len, given)[1]
    }
    #[inline(always)]
    fn map(self, value: f32, reciprocal: f32, column: Column) -> f32 {
        value * reciprocal * (column.weight + self.plus)
    }
    #[inline(always)]
    fn known(self, row: f32, len: u64, _: Given) -> [f32; 4] {
        [0.0, reciprocal_root(row / len as f32 + self.epsilon), 0.0, 0.0]
    }
}

/// An ε that is none.
fn bad_epsilon(epsilon: f32) -> Option<BadParameter> {
    (!(epsilon.is_finite() && epsilon > 0.0)).then_some(BadParameter {
        name: "epsilon",
        value: epsilon.into(),
        must: "finite and above 0",
    })
}

impl OwnRowOp for LayerNorm {
    fn params(self) -> RowParams {
        RowParams::of([self.epsilon, 0.0, 0.0])
    }
    #[inline(always)]
    fn of_params(params: RowParams) -> Self {
        let [epsilon, ..] = params.numbers;
        Self { epsilon }
    }
    fn bad_parameter(self) -> Option<BadParameter> {
        bad_epsilon(self.epsilon)
    }
}

impl OwnRowOp for RmsNorm {
    fn params(self) -> RowParams {
        RowParams::of([self.epsilon, self.plus, 0.0])
    }
    #[inline(always)]
    fn of_params(params: RowParams) -> Self {
        let [epsilon, plus, ..] = params.numbers;
        Self { epsilon, plus }
    }
    fn bad_parameter(self) -> Option<BadParameter> {
        bad_epsilon(self.epsilon)
    }
}
