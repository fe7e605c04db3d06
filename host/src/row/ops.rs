//! The row operations as callers name them.

use std::fmt::Debug;

use warpfold_kernels::{
    ops::{BadParameter, RowOperation},
    rowwise::{self, OwnRowOp as _, RowParams, Scale},
};

use crate::Error;

/// A row operation as callers name it: which of the [kernels' operations](RowOperation) it is, and what it is told beside that. All else is derived.
pub trait Operation: Copy + Debug {
    /// What it computes with.
    type Op: RowOperation;
    /// What else it knows of rows.
    type Known: Knowledge;
    /// What it is called.
    const NAME: &'static str = <Self::Op as RowOperation>::NAME;

    /// What it computes with.
    fn op(self) -> Self::Op;
    /// Whether it has answers for elements, or only knows something of rows.
    fn maps(self) -> bool {
        true
    }
    /// The scale, of an operation that [takes one](Scales).
    #[doc(hidden)]
    fn scaling(self) -> Option<Scaled> {
        None
    }
    /// How many groups channels are in, of an operation whose rows they are.
    fn groups(self) -> Option<u64> {
        None
    }
    /// Whether it makes no sense without weights.
    fn needs_weights(self) -> bool {
        false
    }

    /// What a launch passes it.
    #[doc(hidden)]
    fn params(self) -> RowParams {
        let mut params = self.op().params();
        if let Some(scaled) = self.scaling() {
            params.numbers[2] = scaled.factor();
        }
        params
    }
    /// What elements are multiplied by before another array is added to them.
    #[doc(hidden)]
    fn factor(self) -> f32 {
        self.scaling().map_or(1.0, Scaled::factor)
    }
    /// Whether elements are multiplied by 0 before anything else is done with them, as a [scale](super::Row::scale) of 0 has it.
    #[doc(hidden)]
    fn zeroes(self) -> bool {
        self.scaling().is_some_and(Scaled::zeroes)
    }
    /// That its parameters have a meaning.
    ///
    /// # Errors
    ///
    /// [`Error::Parameter`].
    fn check(self) -> Result<(), Error> {
        let bad = match self.scaling() {
            Some(scaled) => Scale::bad_unless_0(scaled.scale),
            None => self.op().bad_parameter(),
        };
        match bad {
            None => Ok(()),
            Some(BadParameter { name, value, must }) => Err(Error::Parameter {
                op: Self::NAME,
                name,
                value,
                must,
            }),
        }
    }
}

/// What a row operation knows of rows, made of four numbers of each.
pub trait Knowledge: From<Vec<[f32; 4]>> {
    /// Which of a row's four numbers are asked for.
    const ASKED: [bool; 4];
    /// Whether what is known of a row is its state, of two sums.
    #[doc(hidden)]
    const ARE_SUMS: bool = false;
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
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scaled {
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

    /// All of it; 1 where that is 0.
    fn whole(self) -> Scale {
        Scale::by(if self.zeroes() { 1.0 } else { self.scale })
    }

    /// What is left to the exponentials.
    fn scale(self) -> Scale {
        let whole = self.whole();
        if self.is_added_to {
            let negates = whole.negates;
            Scale {
                negates,
                ..Scale::by(1.0)
            }
        } else {
            whole
        }
    }

    /// What comes before: a magnitude, for elements are negated first.
    fn factor(self) -> f32 {
        if self.is_added_to { self.whole().magnitude } else { 1.0 }
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

impl Knowledge for Exponentials {
    const ASKED: [bool; 4] = [true, false, false, false];
}

impl From<Vec<[f32; 4]>> for MeanAndDeviation {
    fn from(known: Vec<[f32; 4]>) -> Self {
        Self {
            mean: column(&known, 0),
            reciprocal_deviation: column(&known, 1),
        }
    }
}

impl Knowledge for MeanAndDeviation {
    const ASKED: [bool; 4] = [true, true, false, false];
}

impl From<Vec<[f32; 4]>> for ReciprocalRoot {
    fn from(known: Vec<[f32; 4]>) -> Self {
        let reciprocal_root = column(&known, 1);
        Self { reciprocal_root }
    }
}

impl Knowledge for ReciprocalRoot {
    const ASKED: [bool; 4] = [false, true, false, false];
}

macro_rules! scales {
    ($($op:ident of $rows:ident, |$this:ident| $value:expr, { $($item:item)* })*) => {
        $(impl Operation for $op {
            type Op = rowwise::$rows;
            type Known = Exponentials;
            $($item)*

            fn op(self) -> rowwise::$rows {
                let $this = self;
                $value
            }
            fn scaling(self) -> Option<Scaled> {
                Some(self.scaled)
            }
        }

        impl Scales for $op {
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

scales! {
    Softmax of Softmax, |this| rowwise::Softmax {
        scale: this.scaled.scale(),
        zero_if_masked: this.masked == AllMasked::Zero,
    }, {}
    LogSoftmax of LogSoftmax, |this| rowwise::LogSoftmax { scale: this.scaled.scale() }, {}
    LogSumExp of Softmax, |this| rowwise::Softmax { scale: this.scaled.scale(), zero_if_masked: false }, {
        const NAME: &'static str = "log_sum_exp";
        fn maps(self) -> bool {
            false
        }
    }
}

impl Operation for LayerNorm {
    type Op = rowwise::LayerNorm;
    type Known = MeanAndDeviation;

    fn op(self) -> rowwise::LayerNorm {
        rowwise::LayerNorm { epsilon: self.epsilon }
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

    fn op(self) -> rowwise::RmsNorm {
        rowwise::RmsNorm {
            epsilon: self.epsilon,
            plus: self.plus(),
        }
    }
    fn needs_weights(self) -> bool {
        self.one_plus
    }
}
