//! The gradients of row operations, by their inputs.

use warpfold_kernels::{kernels::rowwise::Second, rowwise};

use super::{Floats, Knowledge, MeanAndDeviation, Operand, Operation, ReciprocalRoot, Row, Shaped};

/// Nothing is known of rows.
impl From<Vec<[f32; 4]>> for Nothing {
    fn from(_: Vec<[f32; 4]>) -> Self {
        Self
    }
}

impl Knowledge for Nothing {
    const ASKED: [bool; 4] = [false; 4];
}

/// What a gradient knows of rows: nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nothing;

/// The gradient of softmax: see [`softmax_gradient`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SoftmaxGradient {
    scale: f32,
}

/// The gradient of its logarithm: see [`log_softmax_gradient`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogSoftmaxGradient {
    scale: f32,
}

/// The gradient of layer norm: see [`layer_norm_gradient`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LayerNormGradient;

/// The gradient of root-mean-square norm: see [`rms_norm_gradient`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RmsNormGradient {
    one_plus: bool,
}

/// `y · (dy − Σ y·dy) · scale`, of softmax's answers `y` and their gradients `dy`, of the same type.
///
/// With the [scale](Row::scaled_by) and the [causal](Row::causal_by) limits of the softmax that gave `y`; what that did not see has the gradient 0. Cost: both arrays are read once, and the answers written.
///
/// ```
/// use warpfold::row;
///
/// let y = row::softmax().on_cpu::<_, f32>(&[1.0_f32, 2.0, 3.0])?.values;
/// let dx = row::softmax_gradient(&[0.0_f32, 0.0, 1.0]).on_cpu::<_, f32>(&y)?;
/// assert_eq!(dx.values, [-0.059_892_014, -0.162_803_38, 0.222_695_45]);
/// # Ok::<(), warpfold::Error>(())
/// ```
pub fn softmax_gradient<'a>(gradients: impl Into<Operand<'a>>) -> Row<'a, SoftmaxGradient> {
    of_two(SoftmaxGradient { scale: 1.0 }, gradients.into())
}

/// `(dy − exp(y) · Σ dy) · scale`, of log-softmax's answers `y` and their gradients `dy`: as [`softmax_gradient`].
pub fn log_softmax_gradient<'a>(gradients: impl Into<Operand<'a>>) -> Row<'a, LogSoftmaxGradient> {
    of_two(LogSoftmaxGradient { scale: 1.0 }, gradients.into())
}

/// The gradient of [`layer_norm`](super::layer_norm) by its inputs `x`, of the gradients `dy` of its answers, and of what it knew of rows.
///
/// `q · (g − mean(g) − x̂ · mean(g·x̂))` with `g = dy · weight`, `x̂ = (x − mean) · q` and `q` the reciprocal deviation. Cost as [`softmax_gradient`].
pub fn layer_norm_gradient<'a>(
    gradients: impl Into<Operand<'a>>,
    known: &'a MeanAndDeviation,
) -> Row<'a, LayerNormGradient> {
    let row = of_two(LayerNormGradient, gradients.into());
    Row {
        given: Some([Some(&known.mean), Some(&known.reciprocal_deviation)]),
        ..row
    }
}

/// The gradient of [`rms_norm`](super::rms_norm) by its inputs: as [`layer_norm_gradient`], without means.
pub fn rms_norm_gradient<'a>(gradients: impl Into<Operand<'a>>, known: &'a ReciprocalRoot) -> Row<'a, RmsNormGradient> {
    let row = of_two(RmsNormGradient { one_plus: false }, gradients.into());
    Row {
        given: Some([None, Some(&known.reciprocal_root)]),
        ..row
    }
}

fn of_two<Op: Operation>(op: Op, gradients: Operand<'_>) -> Row<'_, Op> {
    Row {
        other: Some((Second::Nothing, gradients)),
        ..Row::new(op)
    }
}

macro_rules! exponentials {
    ($($op:ident)*) => {
        $(impl Row<'_, $op> {
            /// Of the operation with that [scale](Row::scale).
            pub fn scaled_by(mut self, scale: f32) -> Self {
                self.op.scale = scale;
                self
            }

            /// Of the operation that saw as little: [`Row::causal_by`].
            pub fn causal_by(self, offset: i64) -> Self {
                let causal = Some(offset);
                Self { causal, ..self }
            }
        }

        impl Operation for $op {
            type Op = rowwise::$op;
            type Known = Nothing;

            fn op(self) -> rowwise::$op {
                rowwise::$op { scale: self.scale }
            }
        })*
    };
}

exponentials!(SoftmaxGradient LogSoftmaxGradient);

macro_rules! norms {
    ($($op:ident $name:literal, |$this:ident| $centers:literal, $plus:expr;)*) => {
        $(impl Operation for $op {
            type Op = rowwise::NormGradient;
            type Known = Nothing;
            const NAME: &'static str = $name;

            fn op(self) -> rowwise::NormGradient {
                let $this = self;
                rowwise::NormGradient { centers: $centers, plus: $plus }
            }
            fn needs_weights(self) -> bool {
                self.op().plus == 1.0
            }
        }

        impl<'a> Row<'a, $op> {
            /// The weights that the norm had.
            pub fn weight(self, weights: impl Into<Shaped<Floats<'a>>>) -> Self {
                let weights = Some(weights.into());
                Self { weights, ..self }
            }
        })*
    };
}

norms! {
    LayerNormGradient "layer_norm_gradient", |_this| true, -0.0;
    RmsNormGradient "rms_norm_gradient", |this| false, if this.one_plus { 1.0 } else { -0.0 };
}

impl Row<'_, RmsNormGradient> {
    /// Weights are those beside 1, and 1 is added to each.
    pub fn one_plus_weight(mut self) -> Self {
        self.op.one_plus = true;
        self
    }
}
