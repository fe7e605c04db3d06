//! The gradients of softmax, its logarithm, and norms: folds over two arrays, and maps of both.

use super::{Column, ColumnUse, Given, LeafFound, OwnRowOp, RowAlgebra, RowFold, RowMap, RowParams, Scale, Several};
use crate::{arithmetic::single, parameter::BadParameter};

/// Of softmax: `y · (dy − Σ y·dy) · scale`, of its answers `y` and their gradients `dy`.
///
/// A row of which an answer or a gradient is a NaN, or a gradient infinite, is NaN.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SoftmaxGradient {
    /// What elements were multiplied by.
    pub scale: f32,
}

/// Of the logarithm of softmax: `(dy − exp(y) · Σ dy) · scale`, of its answers and their gradients.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogSoftmaxGradient {
    /// What elements were multiplied by.
    pub scale: f32,
}

/// Of layer norm and of root-mean-square norm, of their inputs `x` and the gradients `dy` of their answers: `q · (g − mean(g) − x̂ · mean(g·x̂))` with
/// `x̂ = (x − mean) · q` and `g = dy · weight`; of the latter without means. `mean` and `q` are [given](Given), as the norm knew them.
///
/// # Source
///
/// J. L. Ba, J. R. Kiros, G. E. Hinton, *Layer normalization* (2016); of the other norm B. Zhang and R. Sennrich (2019).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NormGradient {
    /// Whether it is layer norm's.
    pub centers: bool,
    /// What is added to each weight: 1 where they are those beside 1, −0.0 where they are not.
    pub plus: f32,
}

/// What is alike where two arrays are read, nothing is looked at first, and states are sums.
macro_rules! of_two {
    ($sums:ty) => {
        type Value = (f32, f32);
        type Relative = (f32, f32);
        type Sums = $sums;
        type State = $sums;

        #[inline(always)]
        fn relative(self, value: (f32, f32), _: f32) -> (f32, f32) {
            value
        }
        #[inline(always)]
        fn leaf(self, _: LeafFound, sums: $sums, _: u32) -> $sums {
            sums
        }
        #[inline(always)]
        fn identity(self) -> $sums {
            super::Sums::nothing()
        }
        #[inline(always)]
        fn combine(self, a: $sums, b: $sums) -> $sums {
            super::Sums::plus(a, b)
        }
    };
}

impl RowFold for SoftmaxGradient {
    of_two!(f32);
    const ALGEBRA: RowAlgebra = RowAlgebra {
        absent: [0.0, -0.0],
        ..RowAlgebra::PLAIN
    };

    #[inline(always)]
    fn term(self, (y, dy): (f32, f32)) -> f32 {
        y * dy
    }
}

impl RowMap for SoftmaxGradient {
    /// The sum.
    type Factors = f32;

    #[inline(always)]
    fn factors(self, _: f32, _: Option<f32>, row: f32, _: u64, _: Given) -> f32 {
        row
    }
    #[inline(always)]
    fn map(self, (y, dy): (f32, f32), sum: f32, _: Column) -> f32 {
        y * (dy - sum) * self.scale
    }
}

impl RowFold for LogSoftmaxGradient {
    of_two!(f32);
    const ALGEBRA: RowAlgebra = RowAlgebra {
        absent: [f32::NEG_INFINITY, -0.0],
        ..RowAlgebra::PLAIN
    };

    #[inline(always)]
    fn term(self, (_, dy): (f32, f32)) -> f32 {
        dy
    }
}

impl RowMap for LogSoftmaxGradient {
    /// The sum.
    type Factors = f32;

    #[inline(always)]
    fn factors(self, _: f32, _: Option<f32>, row: f32, _: u64, _: Given) -> f32 {
        row
    }
    #[inline(always)]
    fn map(self, (y, dy): (f32, f32), sum: f32, _: Column) -> f32 {
        single::fma(-single::exp(y), sum, dy) * self.scale
    }
}

impl RowFold for NormGradient {
    of_two!(Several<2>);
    const ALGEBRA: RowAlgebra = RowAlgebra {
        absent: [0.0, -0.0],
        columns: ColumnUse::BeforeFirst,
        groups: true,
        ..RowAlgebra::PLAIN
    };

    #[inline(always)]
    fn take(self, (x, dy): (f32, f32), column: Column, [mean, reciprocal]: Given) -> (f32, f32) {
        ((x - mean) * reciprocal, dy * (column.weight + self.plus))
    }
    #[inline(always)]
    fn term(self, (x, g): (f32, f32)) -> Several<2> {
        Several([g, g * x])
    }
}

impl RowMap for NormGradient {
    /// The means, and the reciprocal deviation.
    type Factors = [f32; 3];

    #[inline(always)]
    fn factors(self, _: f32, _: Option<Several<2>>, row: Several<2>, len: u64, [_, reciprocal]: Given) -> [f32; 3] {
        let Several([sum, product]) = row;
        let len = len as f32;
        let mean = if self.centers { sum / len } else { 0.0 };
        [mean, product / len, reciprocal]
    }
    #[inline(always)]
    fn map(self, (x, g): (f32, f32), [mean, product, reciprocal]: [f32; 3], _: Column) -> f32 {
        (g - single::fma(x, product, mean)) * reciprocal
    }
    #[inline(always)]
    fn known(self, Several([sum, product]): Several<2>, _: u64, _: Given) -> [f32; 4] {
        [sum, product, 0.0, 0.0]
    }
}

macro_rules! scaled {
    ($($op:ident)*) => {
        $(impl OwnRowOp for $op {
            fn params(self) -> RowParams {
                RowParams::of([self.scale, 0.0, 0.0])
            }
            #[inline(always)]
            fn of_params(params: RowParams) -> Self {
                let [scale, ..] = params.numbers;
                Self { scale }
            }
            fn bad_parameter(self) -> Option<BadParameter> {
                // By 0 no element matters, and none has a gradient.
                Scale::bad_unless_0(self.scale)
            }
        })*
    };
}

scaled!(SoftmaxGradient LogSoftmaxGradient);

impl OwnRowOp for NormGradient {
    fn params(self) -> RowParams {
        RowParams {
            flag: self.centers,
            ..RowParams::of([0.0, self.plus, 0.0])
        }
    }
    #[inline(always)]
    fn of_params(params: RowParams) -> Self {
        let [_, plus, ..] = params.numbers;
        Self {
            centers: params.flag,
            plus,
        }
    }
}
