//! All of an array, axes of it, or segments: what each answer is of.

use std::borrow::Cow;

use super::{Axes, Segments};

/// What of an operand is folded to an answer, chosen while the program runs.
#[derive(Clone, Copy, Debug)]
pub enum Extent<'a> {
    /// All of an operand.
    Whole,
    /// Along axes.
    Along(&'a Axes),
    /// In segments.
    In(&'a Segments),
}

impl Extent<'_> {
    /// The axes that are folded.
    pub(crate) fn axes(&self) -> Cow<'_, Axes> {
        match self {
            Self::Along(axes) => Cow::Borrowed(*axes),
            Self::Whole | Self::In(_) => Cow::Owned(Axes::all()),
        }
    }
}
