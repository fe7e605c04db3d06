//! Row operations: softmax, log-softmax, layer norm, root-mean-square norm.
//!
//! Each row is folded, and its elements are mapped by what the fold found; a row is what lies along one axis. All arithmetic is in f32, whatever the elements
//! are and the answers. **The bits of a row are a function of that row, the weights and the parameters alone**: not of the rows beside it, of padding, of strides, of the
//! launch, of the GPU model, nor of whether a GPU or a CPU answers. [`docs/row-operations.md`](https://docs.rs/warpfold) has their specification.
//!
//! ```
//! use warpfold::row;
//!
//! let mapped = row::softmax().on_cpu::<_, f32>(&[1.0_f32, 2.0, 3.0])?;
//! assert_eq!(mapped.values, [0.090_030_57, 0.244_728_48, 0.665_240_94]);
//! assert_eq!(mapped.known.log_sum_exp, [3.407_606]);
//! # Ok::<(), warpfold::Error>(())
//! ```

mod ops;

pub use ops::{
    AllMasked, Exponentials, HasBiases, HasWeights, LayerNorm, LogSoftmax, MeanAndDeviation, Operation, ReciprocalRoot,
    RmsNorm, Scales, Softmax,
};
pub use warpfold_kernels::rowwise::{RowElement, VERSION};

use crate::{
    Error, RowFault,
    cpu::rowwise::{Beside, map_rows},
    layout::{Axes, Extents, Layout},
    operand::AsView,
    ops::element::{Type, bf16, f16},
    plan::row::Form,
    room::room,
};

/// A row operation that is being put together. The last step is where it runs: [`on_cpu`](Self::on_cpu), `on` (a GPU), or `prepare`.
#[derive(Clone, Debug)]
#[must_use = "nothing is mapped before its last step"]
pub struct Row<'a, Op> {
    pub(crate) op: Op,
    pub(crate) axis: i64,
    pub(crate) causal: Option<i64>,
    pub(crate) weights: Option<Floats<'a>>,
    pub(crate) biases: Option<Floats<'a>>,
    #[cfg_attr(not(feature = "cuda"), expect(dead_code, reason = "a launch has one"))]
    pub(crate) form: Form,
}

/// What a row operation made of an array.
#[derive(Clone, Debug, PartialEq)]
pub struct Mapped<U, Known> {
    /// The shape, that of the array.
    pub shape: Vec<u64>,
    /// The answers, in C order.
    pub values: Vec<U>,
    /// What else is known of each row, in C order of the other axes.
    pub known: Known,
}

/// Weights of any of the three types.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Floats<'a> {
    /// f32.
    F32(&'a [f32]),
    /// f16.
    F16(&'a [f16]),
    /// bf16.
    Bf16(&'a [bf16]),
}

macro_rules! floats {
    ($($element:ident: $variant:ident)*) => {
        $(impl<'a> From<&'a [$element]> for Floats<'a> {
            fn from(values: &'a [$element]) -> Self {
                Self::$variant(values)
            }
        }
        impl<'a> From<&'a Vec<$element>> for Floats<'a> {
            fn from(values: &'a Vec<$element>) -> Self {
                Self::$variant(values)
            }
        }
        impl<'a, const N: usize> From<&'a [$element; N]> for Floats<'a> {
            fn from(values: &'a [$element; N]) -> Self {
                Self::$variant(values)
            }
        })*
    };
}

floats!(f32: F32 f16: F16 bf16: Bf16);

impl Floats<'_> {
    /// How many there are.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::F32(values) => values.len(),
            Self::F16(values) => values.len(),
            Self::Bf16(values) => values.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Their type.
    #[must_use]
    pub fn element(&self) -> Type {
        match self {
            Self::F32(_) => Type::F32,
            Self::F16(_) => Type::F16,
            Self::Bf16(_) => Type::Bf16,
        }
    }

    /// Their bytes, as memory has them.
    #[cfg(feature = "cuda")]
    pub(crate) fn bytes(&self) -> &[u8] {
        match self {
            Self::F32(values) => bytemuck::cast_slice(values),
            Self::F16(values) => bytemuck::cast_slice(values),
            Self::Bf16(values) => bytemuck::cast_slice(values),
        }
    }

    /// As f32: exact.
    fn wide(&self) -> Vec<f32> {
        match self {
            Self::F32(values) => values.to_vec(),
            Self::F16(values) => values.iter().map(|value| value.to_f32()).collect(),
            Self::Bf16(values) => values.iter().map(|value| value.to_f32()).collect(),
        }
    }
}

/// `exp(x·scale − m) / Σ exp(xᵢ·scale − m)`, `m` being the largest `x·scale` of the row.
///
/// A row of all −∞ is NaN, or zeros by [`all_masked`](Row::all_masked); one with a NaN or a +∞ is NaN. Of a row of length 1 the answer is 1.
///
/// Cost: each element is read once and written once, where a row fits in the registers of a block or a cluster (2¹⁸ f32 on compute capability 9.0 and newer, 2¹⁴
/// before), else read twice; where a row's elements lie apart, three times.
pub fn softmax<'a>() -> Row<'a, Softmax> {
    Row::new(Softmax {
        scale: 1.0,
        masked: AllMasked::Nan,
    })
}

/// `x·scale − m − ln Σ exp(xᵢ·scale − m)`: as [`softmax`].
pub fn log_softmax<'a>() -> Row<'a, LogSoftmax> {
    Row::new(LogSoftmax { scale: 1.0 })
}

/// `(x − mean) / √(variance + ε) · weight + bias`, the variance divided by the row's length.
///
/// A row with a NaN or an infinity is NaN. Distances from the mean and their squares are of f32: where they over- or underflow, so does the answer. `epsilon` is
/// finite and above 0. Cost as [`softmax`].
pub fn layer_norm<'a>(epsilon: f32) -> Row<'a, LayerNorm> {
    Row::new(LayerNorm { epsilon })
}

/// `x / √(mean of x² + ε) · weight`.
///
/// A row with a NaN is NaN. Squares are of f32: an element from 2⁶⁴ on in magnitude has an infinite one, and the row's finite elements become 0. `epsilon` is finite and above 0.
/// Cost as [`softmax`].
pub fn rms_norm<'a>(epsilon: f32) -> Row<'a, RmsNorm> {
    Row::new(RmsNorm {
        epsilon,
        one_plus: false,
    })
}

impl<'a, Op: Operation> Row<'a, Op> {
    fn new(op: Op) -> Self {
        Self {
            op,
            axis: -1,
            causal: None,
            weights: None,
            biases: None,
            form: Form::Best,
        }
    }

    /// The operation, without what it is beside.
    #[must_use]
    pub fn operation(&self) -> Op {
        self.op
    }

    /// How many columns more each row sees than a [causal](Row::causal) one; none where all is seen.
    #[must_use]
    pub fn causal_offset(&self) -> Option<i64> {
        self.causal
    }

    /// Along another axis than the last; negative ones count from the last, which is −1.
    pub fn axis(self, axis: i64) -> Self {
        Self { axis, ..self }
    }

    /// By another [form](Form) on GPUs: the bits are the same.
    pub fn form(self, form: Form) -> Self {
        Self { form, ..self }
    }

    /// Whether it has a meaning for an array of that layout: asked before anything is read.
    ///
    /// # Errors
    ///
    /// As [`on_cpu`](Self::on_cpu).
    pub fn check(&self, layout: &Layout) -> Result<(), Error> {
        self.problem(layout).map(drop)
    }

    /// Maps an array in host memory on the CPU, to answers of type `U`.
    ///
    /// # Errors
    ///
    /// [`Error::NoAxis`]; [`Error::Parameter`] of a scale or an ε without meaning; [`RowFault::Columns`] of weights or biases that are not as many as columns;
    /// [`RowFault::NotAMatrix`] where only part of a row is to be seen and there are no rows and columns; [`RowFault::NoWeights`]; [`Error::LengthOverflow`] where there is no room.
    pub fn on_cpu<'v, V, U>(self, values: V) -> Result<Mapped<U, Op::Known>, Error>
    where
        V: AsView<'v>,
        V::Element: RowElement,
        U: RowElement,
    {
        let view = values.view();
        let layout = view.its_layout()?;
        let problem = self.problem(&layout)?;
        // Of rows of nothing, too, something is known.
        drop(room::<[f32; 2]>(problem.from.count)?);
        let mut output = room::<U>(layout.len())?;
        output.resize(layout.len() as usize, U::narrowed(0.0));
        let (weights, biases) = (self.weights.map(|w| w.wide()), self.biases.map(|b| b.wide()));
        let beside = Beside {
            weights: weights.as_deref(),
            biases: biases.as_deref(),
            causal: problem.causal,
        };
        let known = map_rows(
            self.op.op(),
            view.values,
            &problem.from,
            &mut output,
            &problem.to,
            &beside,
        );
        Ok(Mapped {
            shape: layout.shape().to_vec(),
            values: output,
            known: known.into(),
        })
    }

    /// What is to be done, once it is found to have a meaning.
    pub(crate) fn problem(&self, layout: &Layout) -> Result<Problem, Error> {
        if self.op.needs_weights() && self.weights.is_none() {
            return Err(Error::Row(RowFault::NoWeights { op: Op::NAME }));
        }
        self.layout_problem(layout)
    }

    /// The same, where weights come later.
    pub(crate) fn layout_problem(&self, layout: &Layout) -> Result<Problem, Error> {
        self.op.check()?;
        let axes = Axes::of(&[self.axis]);
        let from = Extents::new(layout, &axes)?;
        let to = Extents::new(&Layout::c_order(layout.shape())?, &axes)?;
        for (name, floats) in [("weights", self.weights), ("biases", self.biases)] {
            if let Some(floats) = floats.filter(|floats| floats.len() as u64 != from.len) {
                let fault = RowFault::Columns {
                    name,
                    columns: from.len,
                    got: floats.len() as u64,
                };
                return Err(Error::Row(fault));
            }
        }
        let causal = self
            .causal
            .map(|offset| causal(layout, self.axis, offset))
            .transpose()?;
        Ok(Problem { from, to, causal })
    }
}

/// Where rows lie, and what is seen of them.
pub(crate) struct Problem {
    pub(crate) from: Extents,
    /// In the answers.
    pub(crate) to: Extents,
    /// Of row `r` the first `r mod period + shown` elements are seen.
    pub(crate) causal: Option<(u64, i64)>,
}

/// Of the last but one axis' row `r` the elements 0 to `r + S − T + offset` are seen.
fn causal(layout: &Layout, axis: i64, offset: i64) -> Result<(u64, i64), Error> {
    let shape = layout.shape();
    let [.., rows, columns] = *shape else {
        return Err(Error::Row(RowFault::NotAMatrix { axes: shape.len() }));
    };
    if axis != -1 && axis != shape.len() as i64 - 1 {
        return Err(Error::Row(RowFault::NotAMatrix { axes: shape.len() }));
    }
    let shown = i128::from(columns) - i128::from(rows) + i128::from(offset) + 1;
    // Further than any row reaches is as good as that far.
    let most = i64::MAX / 2;
    Ok((rows.max(1), shown.clamp((-most).into(), most.into()) as i64))
}

impl<Op: Scales> Row<'_, Op> {
    /// Multiplies the elements first: of attention by `1 / √d`, of a temperature by its reciprocal. Finite, not 0.
    pub fn scale(self, scale: f32) -> Self {
        let op = self.op.scaled(scale);
        Self { op, ..self }
    }

    /// Of the last two axes, T rows of S columns, row `r` sees columns 0 to `r + S − T`: aligned to the lower right, as keys that were there before have it.
    /// What is not seen has the answer of a −∞, and is not read.
    pub fn causal(self) -> Self {
        self.causal_by(0)
    }

    /// The same, with `offset` more columns for each row, or fewer.
    pub fn causal_by(self, offset: i64) -> Self {
        let causal = Some(offset);
        Self { causal, ..self }
    }
}

impl Row<'_, Softmax> {
    /// What becomes of a row of all −∞.
    pub fn all_masked(mut self, masked: AllMasked) -> Self {
        self.op.masked = masked;
        self
    }
}

impl<'a, Op: HasWeights> Row<'a, Op> {
    /// A weight of each column, of the elements' type or any of the three.
    pub fn weight(self, weights: impl Into<Floats<'a>>) -> Self {
        let weights = Some(weights.into());
        Self { weights, ..self }
    }
}

impl<'a, Op: HasBiases> Row<'a, Op> {
    /// A bias of each column.
    pub fn bias(self, biases: impl Into<Floats<'a>>) -> Self {
        let biases = Some(biases.into());
        Self { biases, ..self }
    }
}

impl Row<'_, RmsNorm> {
    /// Weights are those beside 1, and 1 is added to each.
    pub fn one_plus_weight(mut self) -> Self {
        self.op.one_plus = true;
        self
    }
}
