//! What of an operand is folded to an answer.

pub use crate::layout::extent::Extent;
use crate::layout::{Axes, Folded, Segments};

/// An extent: [`Whole`], [`Along`] axes or [`In`] segments.
pub trait Over {
    /// The answers.
    type Answers<A>;

    #[doc(hidden)]
    fn extent(&self) -> Extent<'_>;
    #[doc(hidden)]
    fn answers<A>(folded: Folded<A>) -> Self::Answers<A>;
}

/// An extent that may be folded in parts: [`Whole`] or [`Along`] axes.
pub trait InParts: Over {
    /// Whether its answers have that shape.
    #[doc(hidden)]
    fn fits(shape: &[u64]) -> bool;
}

impl InParts for Whole {
    fn fits(shape: &[u64]) -> bool {
        shape.is_empty()
    }
}

impl InParts for Along {
    fn fits(_: &[u64]) -> bool {
        true
    }
}

/// All of an operand, to one answer.
#[derive(Clone, Copy, Debug)]
pub struct Whole;

/// Along axes, to an answer for each index of those that are kept.
#[derive(Clone, Debug)]
pub struct Along(pub(super) Axes);

/// In segments, to an answer for each.
#[derive(Clone, Debug)]
pub struct In(pub(super) Segments);

impl Over for Whole {
    type Answers<A> = A;

    fn extent(&self) -> Extent<'_> {
        Extent::Whole
    }
    fn answers<A>(folded: Folded<A>) -> A {
        let mut answers = folded.answers.into_iter();
        answers.next().expect("nothing is kept, so there is one answer")
    }
}

impl Over for Along {
    type Answers<A> = Folded<A>;

    fn extent(&self) -> Extent<'_> {
        Extent::Along(&self.0)
    }
    fn answers<A>(folded: Folded<A>) -> Folded<A> {
        folded
    }
}

impl Over for In {
    type Answers<A> = Vec<A>;

    fn extent(&self) -> Extent<'_> {
        Extent::In(&self.0)
    }
    fn answers<A>(folded: Folded<A>) -> Vec<A> {
        folded.answers
    }
}
