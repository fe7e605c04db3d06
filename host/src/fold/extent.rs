//! What of an operand is folded to an answer.

use std::borrow::Cow;

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

/// All of an operand, to one answer.
#[derive(Clone, Copy, Debug)]
pub struct Whole;

/// Along axes, to an answer for each index of those that are kept.
#[derive(Clone, Debug)]
pub struct Along(pub(super) Axes);

/// In segments, to an answer for each.
#[derive(Clone, Debug)]
pub struct In(pub(super) Segments);

/// Which of them, where that is known while the program runs.
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
