//! Cross-entropy.

use warpfold_kernels::rowwise;

use super::{Knowledge, Operation, Row, Shaped, Targets, ops::column};

/// Cross-entropy: see [`cross_entropy()`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CrossEntropy {
    smoothing: f32,
    square: f32,
    pub(super) gradient: Option<f32>,
}

/// What cross-entropy knows of rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Losses {
    /// The loss of each row; 0 of one that is ignored.
    pub loss: Vec<f32>,
    /// Its log-sum-exp.
    pub log_sum_exp: Vec<f32>,
    /// The log-probability of its target; 0 of one that is ignored.
    pub log_probability: Vec<f32>,
    /// The entropy of its softmax, in nats.
    pub entropy: Vec<f32>,
}

impl From<Vec<[f32; 4]>> for Losses {
    fn from(known: Vec<[f32; 4]>) -> Self {
        Self {
            loss: column(&known, 0),
            log_sum_exp: column(&known, 1),
            log_probability: column(&known, 2),
            entropy: column(&known, 3),
        }
    }
}

/// `−ln softmax(x)[target]` of each row of logits, in one reading: with its log-sum-exp, the target's log-probability and the entropy; and its
/// [gradient](Row::gradient), if that is asked for.
///
/// Targets are a slice in C order of the rows, or a view whose [shape](Shaped) is that of the rows, or broadcasts to it. A target is an index of the row's elements; that of a row that is ignored is −100, unless [another](Row::ignore_index) is. Any other that is no index is an error, and nothing
/// is computed; where targets come with a launch, such a row's loss and gradient are NaN. A row of all −∞, one with a +∞ and one with a NaN have a loss of NaN. Rows of no elements have no
/// target that is an index.
///
/// Answers are computed in f64 from the row's sums, which are f32's, and rounded once. Cost: the logits are read once; with a
/// gradient as [`softmax`](super::softmax()).
///
/// ```
/// use warpfold::row;
///
/// let mapped = row::cross_entropy(&[2_i64]).gradient(1.0).on_cpu::<_, f32>(&[1.0_f32, 2.0, 3.0])?;
/// assert_eq!(mapped.known.loss, [0.407_606_04]);
/// assert_eq!(mapped.values, [0.090_030_566, 0.244_728_48, -0.334_759_12]);
/// # Ok::<(), warpfold::Error>(())
/// ```
pub fn cross_entropy<'a>(targets: impl Into<Shaped<Targets<'a>>>) -> Row<'a, CrossEntropy> {
    let op = CrossEntropy {
        smoothing: 0.0,
        square: 0.0,
        gradient: None,
    };
    Row {
        targets: Some((targets.into(), -100)),
        ..Row::new(op)
    }
}

impl Row<'_, CrossEntropy> {
    /// The target of rows that are ignored.
    pub fn ignore_index(mut self, index: i64) -> Self {
        if let Some((_, ignored)) = &mut self.targets {
            *ignored = index;
        }
        self
    }

    /// Gives `ε` of a target's probability to all classes alike: the loss is `(1 − ε) · −ln p(target) + ε · mean of −ln p`. From 0 to 1.
    pub fn label_smoothing(mut self, smoothing: f32) -> Self {
        self.op.smoothing = smoothing;
        self
    }

    /// Adds `z · lse²` to each loss, `lse` being the row's log-sum-exp. Finite, at least 0.
    pub fn z_loss(mut self, square: f32) -> Self {
        self.op.square = square;
        self
    }

    /// Answers with the gradient of each loss by its row's logits, times a number: of a mean over rows its reciprocal. Finite.
    pub fn gradient(mut self, times: f32) -> Self {
        self.op.gradient = Some(times);
        self
    }
}

impl Knowledge for Losses {
    const ASKED: [bool; 4] = [true; 4];
}

impl Operation for CrossEntropy {
    type Op = rowwise::CrossEntropy;
    type Known = Losses;

    fn op(self) -> rowwise::CrossEntropy {
        rowwise::CrossEntropy::new(self.smoothing, self.square, self.gradient.unwrap_or(0.0))
    }
    fn maps(self) -> bool {
        self.gradient.is_some()
    }
}
