//! The row operations as callers name them.

use std::fmt::Debug;

use warpfold_kernels::{
    kernels::{LIBRARY, Library, rowwise::RowParams},
    rowwise::{self, RowOp, Scale},
};

use crate::Error;

/// A row operation, and what it is passed.
pub trait Operation: Copy + Debug {
    /// What it computes with.
    type Op: RowOp;
    /// What else it knows of rows.
    type Known: From<Vec<[f32; 4]>>;
    /// What it is called.
    const NAME: &'static str;
    /// What its kernels are built in.
    const LIBRARY: &'static Library = &LIBRARY;
    /// The name of its kernels there.
    const KERNELS: &'static str = Self::NAME;
    /// That of the kernel that folds its states, likewise.
    const STATES: &'static str;
    /// Which of a row's four numbers are known.
    const KNOWS: [bool; 4];

    /// What it computes with.
    fn op(self) -> Self::Op;
    /// What a launch passes it.
    fn params(self) -> RowParams;
    /// Whether it has answers for elements, or only knows something of rows.
    fn maps(self) -> bool {
        true
    }
    /// What elements are multiplied by before another array is added to them.
    fn factor(self) -> f32 {
        1.0
    }
    /// Whether elements are multiplied by 0 before anything else is done with them, as a [scale](super::Row::scale) of 0 has it.
    fn zeroes(self) -> bool {
        false
    }
    /// How many groups channels are in, of an operation whose rows they are.
    fn groups(self) -> Option<u64> {
        None
    }
    /// Whether what it knows of a row is the row's state, of two sums.
    #[doc(hidden)]
    fn knows_sums(self) -> bool {
        false
    }
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
    /// With the scale before an array is added, and none after.
    #[doc(hidden)]
    #[must_use]
    fn added_to(self) -> Self;
}

/// A row operation that takes weights and biases.
pub trait HasWeights: Operation {}

/// A row operation that takes biases.
pub trait HasBiases: HasWeights {}

/// Softmax: see [`softmax`](super::softmax()).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Softmax {
    pub(super) scaled: Scaled,
    pub(super) masked: AllMasked,
}

/// A scale, and whether it comes before an array is added.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Scaled {
    scale: f32,
    is_added_to: bool,
}

impl Scaled {
    pub(super) const NOT: Self = Self {
        scale: 1.0,
        is_added_to: false,
    };

    /// Whether elements are multiplied by 0, before all else: the scale is 1 then. No exponential has a scale of 0; nor is it the factor of kernels, for of a −∞ that stands where
    /// there is no element it would make a NaN.
    fn zeroes(self) -> bool {
        self.scale == 0.0
    }

    /// What is left to the exponentials.
    fn scale(self) -> Scale {
        if self.zeroes() {
            Scale::by(1.0)
        } else if self.is_added_to {
            let negates = self.scale < 0.0;
            Scale {
                negates,
                ..Scale::by(1.0)
            }
        } else {
            Scale::by(self.scale)
        }
    }

    /// What comes before: a magnitude, for elements are negated first.
    fn factor(self) -> f32 {
        if self.is_added_to && !self.zeroes() {
            self.scale.abs()
        } else {
            1.0
        }
    }

    fn params(self, flag: bool) -> RowParams {
        let mut params = RowParams::of_scale(self.scale(), flag);
        params.numbers[2] = self.factor();
        params
    }
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
    pub(super) scaled: Scaled,
}

/// The log-sum-exp alone: see [`log_sum_exp`](super::log_sum_exp).
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogSumExp {
    pub(super) scaled: Scaled,
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
pub struct MeanAndDeviation<T = f32> {
    /// The mean of each row.
    pub mean: Vec<T>,
    /// `1 / √(variance + ε)` of each.
    pub reciprocal_deviation: Vec<T>,
}

/// What root-mean-square norm knows of rows.
#[derive(Clone, Debug, PartialEq)]
pub struct ReciprocalRoot<T = f32> {
    /// `1 / √(mean of squares + ε)` of each row.
    pub reciprocal_root: Vec<T>,
}

/// Statistics have one NaN, on every backend.
pub(super) fn canonical(value: f32) -> f32 {
    if value.is_nan() { f32::NAN } else { value }
}

pub(super) fn column(known: &[[f32; 4]], i: usize) -> Vec<f32> {
    known.iter().map(|known| canonical(known[i])).collect()
}

impl From<Vec<[f32; 4]>> for Exponentials {
    fn from(known: Vec<[f32; 4]>) -> Self {
        let log_sum_exp = column(&known, 0);
        Self { log_sum_exp }
    }
}

impl From<Vec<[f32; 4]>> for MeanAndDeviation {
    fn from(known: Vec<[f32; 4]>) -> Self {
        Self {
            mean: column(&known, 0),
            reciprocal_deviation: column(&known, 1),
        }
    }
}

impl From<Vec<[f32; 4]>> for ReciprocalRoot {
    fn from(known: Vec<[f32; 4]>) -> Self {
        let reciprocal_root = column(&known, 1);
        Self { reciprocal_root }
    }
}

pub(super) fn check_scale(op: &'static str, scale: f32) -> Result<(), Error> {
    if scale == 0.0 || Scale::by(scale).is_usable() {
        return Ok(());
    }
    Err(Error::Parameter {
        op,
        name: "the scale",
        value: scale.into(),
        must: "0, or between 2^-100 and 2^100 in magnitude, times log2 e too",
    })
}

pub(super) fn check_epsilon(op: &'static str, epsilon: f32) -> Result<(), Error> {
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
    const KNOWS: [bool; 4] = [true, false, false, false];

    fn op(self) -> rowwise::Softmax {
        rowwise::Softmax {
            scale: self.scaled.scale(),
            zero_if_masked: self.masked == AllMasked::Zero,
        }
    }
    fn params(self) -> RowParams {
        self.scaled.params(self.masked == AllMasked::Zero)
    }
    fn factor(self) -> f32 {
        self.scaled.factor()
    }
    fn zeroes(self) -> bool {
        self.scaled.zeroes()
    }
    fn check(self) -> Result<(), Error> {
        check_scale(Self::NAME, self.scaled.scale)
    }
}

impl Operation for LogSoftmax {
    type Op = rowwise::LogSoftmax;
    type Known = Exponentials;
    const NAME: &'static str = "log_softmax";
    const STATES: &'static str = "scaled";
    const KNOWS: [bool; 4] = [true, false, false, false];

    fn op(self) -> rowwise::LogSoftmax {
        rowwise::LogSoftmax {
            scale: self.scaled.scale(),
        }
    }
    fn params(self) -> RowParams {
        self.scaled.params(false)
    }
    fn factor(self) -> f32 {
        self.scaled.factor()
    }
    fn zeroes(self) -> bool {
        self.scaled.zeroes()
    }
    fn check(self) -> Result<(), Error> {
        check_scale(Self::NAME, self.scaled.scale)
    }
}

impl Operation for LogSumExp {
    type Op = rowwise::Softmax;
    type Known = Exponentials;
    const NAME: &'static str = "log_sum_exp";
    const KERNELS: &'static str = "softmax";
    const STATES: &'static str = "scaled";
    const KNOWS: [bool; 4] = [true, false, false, false];

    fn op(self) -> rowwise::Softmax {
        rowwise::Softmax {
            scale: self.scaled.scale(),
            zero_if_masked: false,
        }
    }
    fn params(self) -> RowParams {
        self.scaled.params(false)
    }
    fn maps(self) -> bool {
        false
    }
    fn factor(self) -> f32 {
        self.scaled.factor()
    }
    fn zeroes(self) -> bool {
        self.scaled.zeroes()
    }
    fn check(self) -> Result<(), Error> {
        check_scale(Self::NAME, self.scaled.scale)
    }
}

macro_rules! scales {
    ($($op:ident)*) => {
        $(impl Scales for $op {
            fn scaled(mut self, scale: f32) -> Self {
                self.scaled.scale = scale;
                self
            }
            fn added_to(mut self) -> Self {
                self.scaled.is_added_to = true;
                self
            }
        })*
    };
}

scales!(Softmax LogSoftmax LogSumExp);

impl Operation for LayerNorm {
    type Op = rowwise::LayerNorm;
    type Known = MeanAndDeviation;
    const NAME: &'static str = "layer_norm";
    const STATES: &'static str = "moments";
    const KNOWS: [bool; 4] = [true, true, false, false];

    fn op(self) -> rowwise::LayerNorm {
        rowwise::LayerNorm { epsilon: self.epsilon }
    }
    fn params(self) -> RowParams {
        RowParams::of([self.epsilon, 0.0, 0.0])
    }
    fn check(self) -> Result<(), Error> {
        check_epsilon(Self::NAME, self.epsilon)
    }
}

impl HasWeights for RmsNorm {}
impl HasWeights for LayerNorm {}
impl HasBiases for LayerNorm {}

impl RmsNorm {
    pub(super) fn plus(self) -> f32 {
        if self.one_plus { 1.0 } else { -0.0 }
    }
}

impl Operation for RmsNorm {
    type Op = rowwise::RmsNorm;
    type Known = ReciprocalRoot;
    const NAME: &'static str = "rms_norm";
    const STATES: &'static str = "sum";
    const KNOWS: [bool; 4] = [false, true, false, false];

    fn op(self) -> rowwise::RmsNorm {
        rowwise::RmsNorm {
            epsilon: self.epsilon,
            plus: self.plus(),
        }
    }
    fn params(self) -> RowParams {
        RowParams::of([self.epsilon, self.plus(), 0.0])
    }
    fn needs_weights(self) -> bool {
        self.one_plus
    }
    fn check(self) -> Result<(), Error> {
        check_epsilon(Self::NAME, self.epsilon)
    }
}
