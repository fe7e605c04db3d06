//! What a row operation reads, and how it folds: one value, as an operator's [`Algebra`](crate::algebra::Algebra).

use crate::arithmetic::single;

/// What an operation says of itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RowAlgebra {
    /// What stands where an array has no element: zeros and infinities only.
    pub absent: [f32; 2],
    /// What the first pass finds.
    pub first_pass: FirstPass,
    /// Whether an absent element is the reference in the second pass, which would notice it otherwise.
    pub absent_is_reference: bool,
    /// Whether what an element is relative to the reference is expensive, and kept for the map rather than computed again.
    pub keeps_relative: bool,
    /// What weights and biases are for.
    pub columns: ColumnUse,
    /// Whether a row may be a group of channels: along several dimensions, and with weights that columns share.
    pub groups: bool,
    /// Whether elements may be masked, negated, or have others added to them before the first pass.
    pub masks: bool,
    /// Whether elements may have a residual added to them, each sum rounded.
    pub adds_residual: bool,
    /// Whether a row has a target, whose answer is [another's](super::RowMap::at_target).
    pub has_targets: bool,
    /// Whether the sum of the elements may be [asked for](super::RowFold::totals).
    pub sums_elements: bool,
    /// How many of the numbers that are [known](super::RowMap::known) of a row plain launches may ask for, the first ones.
    pub plain_statistics: usize,
}

impl RowAlgebra {
    /// Of one pass over elements that are zeros where they are absent, and nothing beside them.
    pub const PLAIN: Self = Self {
        absent: [0.0; 2],
        first_pass: FirstPass::None,
        absent_is_reference: false,
        keeps_relative: false,
        columns: ColumnUse::None,
        groups: false,
        masks: false,
        adds_residual: false,
        has_targets: false,
        sums_elements: false,
        plain_statistics: 4,
    };
}

/// What the first pass over a leaf finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstPass {
    /// There is none.
    None,
    /// The sum.
    Sum,
    /// The largest element; of a NaN that. [`first`](super::RowFold::first) is then the element itself.
    Largest,
    /// The largest that [`first`](super::RowFold::first) makes of an element; of what is [absent](RowAlgebra::absent) it makes nothing larger.
    LargestOf,
}

impl FirstPass {
    /// What it has of two runs together.
    #[inline(always)]
    pub(super) fn combine(self, a: f32, b: f32) -> f32 {
        match self {
            Self::None | Self::Sum => a + b,
            Self::Largest | Self::LargestOf => single::maximum(a, b),
        }
    }
}

/// What weights and biases of columns are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnUse {
    /// There are none.
    None,
    /// The map takes weights. They are so few registers that they are asked for before the first pass: on an H200 on 2026-11-27 RMS norm of a row of 4096 bf16 took 2.2 µs
    /// for 2.9.
    Weights,
    /// It takes both. Those of f32 are asked for behind the last pass, a vector ahead: layer norm of a row of 4096 f32 took 2.9 µs for 3.2 on 2026-11-28.
    WeightsAndBiases,
    /// [`take`](super::RowFold::take) takes weights before the first pass.
    BeforeFirst,
}
