//! A row operation: rows of unit length.

use warpfold_kernels::{
    arithmetic::single,
    kernels::rowwise::RowParams,
    ops::{BadParameter, OwnRowOp},
    rowwise::{Column, Given, LeafFound, RowAlgebra, RowFold, RowMap},
};

/// `x / max(|row|₂, ε)`: each row divided by its L2 norm, which is also what is known of a row, first of the four numbers.
///
/// * A row with a NaN is NaN, and so is its norm.
/// * A row of zeros has zeros; one of no elements has no answers, and the norm 0.
/// * Squares are of f32. Where their sum overflows (elements from 2⁶⁴ on), the norm is +∞: finite elements become 0, infinite ones NaN.
///   Squares below 2⁻¹⁴⁹ (elements below 2⁻⁷⁴) are no part of it.
/// * An element that a mask leaves out counts as 0, and its answer is 0.
///
/// ε is finite and at least 2⁻¹²⁶, so that its reciprocal is finite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct L2Normalise {
    /// The least that a row is divided by.
    pub epsilon: f32,
}

impl L2Normalise {
    /// The norm, by the sum of squares.
    #[inline(always)]
    fn norm(self, squares: f32) -> f32 {
        // The sum of no squares is −0.0, and its root would be.
        single::sqrt(squares + 0.0)
    }
}

impl RowFold for L2Normalise {
    type Value = f32;
    /// The element itself.
    type Relative = f32;
    type Sums = f32;
    /// The sum of squares.
    type State = f32;
    const ALGEBRA: RowAlgebra = RowAlgebra {
        masks: true,
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
        // −0.0 is the one float that changes no other.
        -0.0
    }
    #[inline(always)]
    fn combine(self, a: f32, b: f32) -> f32 {
        a + b
    }
}

impl RowMap for L2Normalise {
    /// The reciprocal of what is divided by.
    type Factors = f32;

    #[inline(always)]
    fn factors(self, _: f32, _: Option<f32>, row: f32, _: u64, _: Given) -> f32 {
        let norm = self.norm(row);
        // Of a NaN no comparison holds.
        1.0 / if norm < self.epsilon { self.epsilon } else { norm }
    }
    #[inline(always)]
    fn map(self, value: f32, reciprocal: f32, _: Column) -> f32 {
        value * reciprocal
    }
    #[inline(always)]
    fn known(self, row: f32, _: u64, _: Given) -> [f32; 4] {
        [self.norm(row), 0.0, 0.0, 0.0]
    }
}

impl OwnRowOp for L2Normalise {
    fn params(self) -> RowParams {
        RowParams {
            numbers: [self.epsilon, 0.0, 0.0, 0.0],
            ..RowParams::default()
        }
    }
    #[inline(always)]
    fn of_params(params: RowParams) -> Self {
        Self {
            epsilon: params.numbers[0],
        }
    }
    fn bad_parameter(self) -> Option<BadParameter> {
        let is_good = self.epsilon.is_finite() && self.epsilon >= f32::MIN_POSITIVE;
        (!is_good).then(|| BadParameter {
            name: "epsilon",
            value: self.epsilon.into(),
            must: "finite and at least 2⁻¹²⁶",
        })
    }
}

#[cfg(test)]
mod tests {
    use warpfold_kernels::testing::{check_row_laws, check_row_params};

    use super::*;

    #[test]
    fn laws_hold() {
        let samples = [0.0, -0.0, 1.0, -2.5, 1e30, 1e-30, f32::INFINITY, f32::NAN];
        for epsilon in [f32::MIN_POSITIVE, 1e-12, 3.0] {
            check_row_laws(L2Normalise { epsilon }, &samples);
            check_row_params(L2Normalise { epsilon }, &samples);
        }
    }
}
