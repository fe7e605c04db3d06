//! The row operations as callers name them.

use std::fmt::Debug;

use warpfold_kernels::{
    kernels::rowwise::RowParams,
    rowwise::{self, RowOp, Scale},
};

use crate::Error;

/// A row operation, and what it is passed.
pub trait Operation: Copy + Debug {
    /// What it computes with.
    type Op: RowOp<Value = f32>;
    /// What else it knows of rows.
    type Known: From<Vec<[f32; 2]>>;
    /// The name of its kernels.
    const NAME: &'static str;
    /// That of the kernel that folds its states.
    const STATES: &'static str;
    /// Which of a row's two numbers are known.
    const KNOWS: [bool; 2];

    /// What it computes with.
    fn op(self) -> Self::Op;
    /// What a launch passes it.
    fn params(self) -> RowParams;
    /// Whether it makes no sense without weights.
    fn needs_weights(self) -> bool {
        false
    }
    /// That its parameters have a meaning.
    ///
    /// # Errors
    ///
    /// [`Error::Parameter`].
    fn check(self) -> Result<(), Error>;
}

/// A row operation that takes a scale, and sees of a row what is visible of it.
pub trait Scales: Operation {
    /// With another scale.
    #[must_use]
    fn scaled(self, scale: f32) -> Self;
}

/// A row operation that takes weights and biases.
pub trait HasWeights: Operation {}

/// A row operation that takes biases.
pub trait HasBiases: HasWeights {}

/// Softmax: see [`softmax`](super::softmax()).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Softmax {
    pub(super) scale: f32,
    pub(super) masked: AllMasked,
}

/// What becomes of a row of which nothing is visible.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AllMasked {
    /// NaN, as of a row of −∞.
    #[default]
    Nan,
    /// Zeros.
    Zero,
}

/// The logarithm of softmax: see [`log_softmax`](super::log_softmax).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogSoftmax {
    pub(super) scale: f32,
}

/// Layer norm: see [`layer_norm`](super::layer_norm).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LayerNorm {
    pub(super) epsilon: f32,
}

/// Root-mean-square norm: see [`rms_norm`](super::rms_norm).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RmsNorm {
    pub(super) epsilon: f32,
    pub(super) one_plus: bool,
}

/// What softmax knows of rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Exponentials {
    /// The log-sum-exp of each row, scaled as its elements are: −∞ of a row of −∞, +∞ of one with a +∞.
    pub log_sum_exp: Vec<f32>,
}

/// What layer norm knows of rows.
#[derive(Clone, Debug, PartialEq)]
pub struct MeanAndDeviation {
    /// The mean of each row.
    pub mean: Vec<f32>,
    /// `1 / √(variance + ε)` of each.
    pub reciprocal_deviation: Vec<f32>,
}

/// What root-mean-square norm knows of rows.
#[derive(Clone, Debug, PartialEq)]
pub struct ReciprocalRoot {
    /// `1 / √(mean of squares + ε)` of each row.
    pub reciprocal_root: Vec<f32>,
}

/// Statistics have one NaN, on every backend.
fn canonical(value: f32) -> f32 {
    if value.is_nan() { f32::NAN } else { value }
}

fn column(known: &[[f32; 2]], i: usize) -> Vec<f32> {
    known.iter().map(|known| canonical(known[i])).collect()
}

impl From<Vec<[f32; 2]>> for Exponentials {
    fn from(known: Vec<[f32; 2]>) -> Self {
        let log_sum_exp = column(&known, 0);
        Self { log_sum_exp }
    }
}

impl From<Vec<[f32; 2]>> for MeanAndDeviation {
    fn from(known: Vec<[f32; 2]>) -> Self {
        Self {
            mean: column(&known, 0),
            reciprocal_deviation: column(&known, 1),
        }
    }
}

impl From<Vec<[f32; 2]>> for ReciprocalRoot {
    fn from(known: Vec<[f32; 2]>) -> Self {
        let reciprocal_root = column(&known, 1);
        Self { reciprocal_root }
    }
}

fn check_scale(op: &'static str, scale: f32) -> Result<(), Error> {
    if Scale::by(scale).exponent.is_finite() && scale != 0.0 {
        return Ok(());
    }
    Err(Error::Parameter {
        op,
        name: "the scale",
        value: scale.into(),
        must: "finite, times log2 e too, and not 0",
    })
}

fn check_epsilon(op: &'static str, epsilon: f32) -> Result<(), Error> {
    if epsilon.is_finite() && epsilon > 0.0 {
        return Ok(());
    }
    Err(Error::Parameter {
        op,
        name: "epsilon",
        value: epsilon.into(),
        must: "finite and above 0",
    })
}

impl Operation for Softmax {
    type Op = rowwise::Softmax;
    type Known = Exponentials;
    const NAME: &'static str = "softmax";
    const STATES: &'static str = "scaled";
    const KNOWS: [bool; 2] = [true, false];

    fn op(self) -> rowwise::Softmax {
        rowwise::Softmax {
            scale: Scale::by(self.scale),
            zero_if_masked: self.masked == AllMasked::Zero,
        }
    }
    fn params(self) -> RowParams {
        RowParams::of_scale(Scale::by(self.scale), self.masked == AllMasked::Zero)
    }
    fn check(self) -> Result<(), Error> {
        check_scale(Self::NAME, self.scale)
    }
}

impl Scales for Softmax {
    fn scaled(self, scale: f32) -> Self {
        Self { scale, ..self }
    }
}

impl Operation for LogSoftmax {
    type Op = rowwise::LogSoftmax;
    type Known = Exponentials;
    const NAME: &'static str = "log_softmax";
    const STATES: &'static str = "scaled";
    const KNOWS: [bool; 2] = [true, false];

    fn op(self) -> rowwise::LogSoftmax {
        rowwise::LogSoftmax {
            scale: Scale::by(self.scale),
        }
    }
    fn params(self) -> RowParams {
        RowParams::of_scale(Scale::by(self.scale), false)
    }
    fn check(self) -> Result<(), Error> {
        check_scale(Self::NAME, self.scale)
    }
}

impl Scales for LogSoftmax {
    fn scaled(self, scale: f32) -> Self {
        Self { scale }
    }
}

impl Operation for LayerNorm {
    type Op = rowwise::LayerNorm;
    type Known = MeanAndDeviation;
    const NAME: &'static str = "layer_norm";
    const STATES: &'static str = "moments";
    const KNOWS: [bool; 2] = [true, true];

    fn op(self) -> rowwise::LayerNorm {
        rowwise::LayerNorm { epsilon: self.epsilon }
    }
    fn params(self) -> RowParams {
        RowParams {
            numbers: [self.epsilon, 0.0],
            ..RowParams::default()
        }
    }
    fn check(self) -> Result<(), Error> {
        check_epsilon(Self::NAME, self.epsilon)
    }
}

impl HasWeights for RmsNorm {}
impl HasWeights for LayerNorm {}
impl HasBiases for LayerNorm {}

impl RmsNorm {
    fn plus(self) -> f32 {
        if self.one_plus { 1.0 } else { -0.0 }
    }
}

impl Operation for RmsNorm {
    type Op = rowwise::RmsNorm;
    type Known = ReciprocalRoot;
    const NAME: &'static str = "rms_norm";
    const STATES: &'static str = "sum";
    const KNOWS: [bool; 2] = [false, true];

    fn op(self) -> rowwise::RmsNorm {
        rowwise::RmsNorm {
            epsilon: self.epsilon,
            plus: self.plus(),
        }
    }
    fn params(self) -> RowParams {
        RowParams {
            numbers: [self.epsilon, self.plus()],
            ..RowParams::default()
        }
    }
    fn needs_weights(self) -> bool {
        self.one_plus
    }
    fn check(self) -> Result<(), Error> {
        check_epsilon(Self::NAME, self.epsilon)
    }
}
