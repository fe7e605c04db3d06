//! What only some operations take.

use warpfold_kernels::kernels::rowwise::Second as Kind;

use super::{AllMasked, Floats, HasBiases, HasWeights, Mask, Operand, RmsNorm, Row, Scales, Shaped, Softmax};

impl<Op: Scales> Row<'_, Op> {
    /// Multiplies the elements first: of attention by `1 / √d`, of a temperature by its reciprocal. 0, or between 2⁻¹⁰⁰ and 2¹⁰⁰ in magnitude, times log₂ e too.
    ///
    /// By 0 softmax is uniform over what is visible, and a row with a visible infinity or NaN is NaN, for so is the product. On GPUs arrays in host memory are multiplied on the
    /// CPU first; `prepare` refuses a scale of 0.
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

impl<'a, Op: Scales> Row<'a, Op> {
    /// Only elements whose byte in the mask is not 0 are visible; any other is as a −∞, be it a NaN. The mask broadcasts to the array's shape.
    pub fn mask(self, mask: impl Into<Mask<'a>>) -> Self {
        self.with(Kind::Mask, mask.into().0)
    }

    /// Adds an array, of the elements' type, to the scaled elements: each sum `x·scale + b` is rounded once, to f32. It broadcasts to the array's shape if it has one.
    pub fn plus(self, added: impl Into<Operand<'a>>) -> Self {
        let op = self.op.added_to();
        Self { op, ..self }.with(Kind::Added, added.into())
    }
}

impl<'a, Op: HasWeights> Row<'a, Op> {
    /// Adds an array, of the elements' type, to the elements first; each sum is rounded to that type, and [given back](super::Mapped::sums) too. It broadcasts to the array's
    /// shape if it has one.
    pub fn residual(self, residual: impl Into<Operand<'a>>) -> Self {
        self.with(Kind::Residual, residual.into())
    }

    /// A weight of each column, of the elements' type or any of the three: a slice, or a view of a [shape](Shaped).
    pub fn weight(self, weights: impl Into<Shaped<Floats<'a>>>) -> Self {
        let weights = Some(weights.into());
        Self { weights, ..self }
    }
}

impl Row<'_, Softmax> {
    /// What becomes of a row of all −∞.
    pub fn all_masked(mut self, masked: AllMasked) -> Self {
        self.op.masked = masked;
        self
    }
}

impl<'a, Op: HasBiases> Row<'a, Op> {
    /// A bias of each column: as [weights](Self::weight).
    pub fn bias(self, biases: impl Into<Shaped<Floats<'a>>>) -> Self {
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
