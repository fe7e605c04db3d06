//! A step of one's own in front of an operator of the library: one pass over the elements, where an array of distances would be
//! written and read again.

use warpfold_kernels::{
    monoids::{Map, Mean, Transform},
    ops::OwnOperator,
};

/// The mean of `|x − from|`: with the mean or the median for `from`, the mean absolute deviation. NaN over nothing.
///
/// Distances are rounded to f32, and averaged as [`Mean`] averages.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MeanDistance {
    /// Where distances are measured from.
    pub from: f32,
}

impl Transform<f32> for MeanDistance {
    type Output = f32;

    #[inline]
    fn apply(self, value: f32) -> f32 {
        (value - self.from).abs()
    }
}

impl OwnOperator for MeanDistance {
    type Monoid = Map<Self, Mean>;

    fn monoid(self) -> Self::Monoid {
        Map {
            transform: self,
            op: Mean,
        }
    }
    fn parameter(self) -> u64 {
        self.from.to_bits().into()
    }
    fn of_parameter(parameter: u64) -> Self {
        Self {
            from: f32::from_bits(parameter as u32),
        }
    }
}

#[cfg(test)]
mod tests {
    use warpfold_kernels::testing::{check_laws, check_parameter};

    use super::*;

    #[test]
    fn laws_hold() {
        for from in [0.0, -2.5, f32::INFINITY] {
            let op = MeanDistance { from };
            check_laws(op.monoid(), &[0.0, -0.0, 1.0, -2.5, 1e38, f32::INFINITY, f32::NAN]);
            check_parameter(op, &[0.0_f32, 1.0, f32::NAN]);
        }
    }
}
