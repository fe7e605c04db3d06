//! What each operation takes beside its array.

use warpfold::{
    ops::element::{bf16, f16},
    row::{
        CrossEntropy, Exponentials, Floats, GroupNorm, LayerNorm, LogSoftmax, Losses, Mask, MeanAndDeviation, Operand,
        Operation, ReciprocalRoot, RmsNorm, Row, Shaped, Softmax,
    },
};

use super::Second;

/// A second array, there or coming with each launch.
pub enum SecondOperand<'a> {
    Mask(Mask<'a>),
    Floats(Operand<'a>),
}

/// An operation, and what it takes.
pub trait Takes: Operation<Known: KnownOfRows> + Send + Sync + 'static {
    /// With a second array.
    fn with_second<'a>(row: Row<'a, Self>, second: Second, operand: SecondOperand<'a>) -> Row<'a, Self>;
    /// With a weight of each column.
    fn with_weight<'a>(row: Row<'a, Self>, _: Shaped<Floats<'a>>) -> Row<'a, Self> {
        row
    }
    /// With a bias of each.
    fn with_bias<'a>(row: Row<'a, Self>, _: Shaped<Floats<'a>>) -> Row<'a, Self> {
        row
    }
}

/// Elements that operands are of.
pub trait RowType: warpfold::row::RowElement {
    /// A view of them.
    fn operand(view: warpfold::View<'_, Self>) -> Operand<'_>;
}

macro_rules! row_types {
    ($($element:ty)*) => {
        $(impl RowType for $element {
            fn operand(view: warpfold::View<'_, Self>) -> Operand<'_> {
                view.into()
            }
        })*
    };
}

row_types!(f32 f16 bf16);

/// What is known of rows, in the order that launches have it.
pub trait KnownOfRows: Send {
    /// Numbers of each row; none where the operation has no such number.
    fn columns(self) -> [Vec<f32>; 4];
}

impl KnownOfRows for Exponentials {
    fn columns(self) -> [Vec<f32>; 4] {
        [self.log_sum_exp, vec![], vec![], vec![]]
    }
}

impl KnownOfRows for MeanAndDeviation {
    fn columns(self) -> [Vec<f32>; 4] {
        [self.mean, self.reciprocal_deviation, vec![], vec![]]
    }
}

impl KnownOfRows for ReciprocalRoot {
    fn columns(self) -> [Vec<f32>; 4] {
        [vec![], self.reciprocal_root, vec![], vec![]]
    }
}

impl KnownOfRows for Losses {
    fn columns(self) -> [Vec<f32>; 4] {
        [self.loss, self.log_sum_exp, self.log_probability, self.entropy]
    }
}

macro_rules! exponentials {
    ($($op:ident)*) => {
        $(impl Takes for $op {
            fn with_second<'a>(row: Row<'a, Self>, _: Second, operand: SecondOperand<'a>) -> Row<'a, Self> {
                match operand {
                    SecondOperand::Mask(mask) => row.mask(mask),
                    SecondOperand::Floats(added) => row.plus(added),
                }
            }
        })*
    };
}

exponentials!(Softmax LogSoftmax);

macro_rules! norms {
    ($($op:ident $(, $bias:ident)?;)*) => {
        $(impl Takes for $op {
            fn with_second<'a>(row: Row<'a, Self>, _: Second, operand: SecondOperand<'a>) -> Row<'a, Self> {
                match operand {
                    SecondOperand::Mask(_) => row,
                    SecondOperand::Floats(residual) => row.residual(residual),
                }
            }
            fn with_weight<'a>(row: Row<'a, Self>, weight: Shaped<Floats<'a>>) -> Row<'a, Self> {
                row.weight(weight)
            }
            $(fn with_bias<'a>(row: Row<'a, Self>, bias: Shaped<Floats<'a>>) -> Row<'a, Self> {
                row.$bias(bias)
            })?
        })*
    };
}

norms! {
    RmsNorm;
    LayerNorm, bias;
    GroupNorm, bias;
}

impl Takes for CrossEntropy {
    fn with_second<'a>(row: Row<'a, Self>, _: Second, _: SecondOperand<'a>) -> Row<'a, Self> {
        row
    }
}
