//! An operator over items of one type, the types forgotten.

use std::ops::Deref;

use warpfold_kernels::{
    element::{Item, Type},
    kernels::{Entry, OpParams},
    monoids::{Monoid as _, Words as _},
};

use super::{BadParameter, Reduction};
#[cfg(feature = "cuda")]
use super::{Operator as _, Sum};
use crate::{Error, layout::Segments};

/// What calls must know of an operator over items of one type, but the fold itself: the code that reads it is compiled once.
#[derive(Clone, Copy, Debug)]
pub struct OpFacts {
    name: &'static str,
    element: Type,
    leaf_bytes: usize,
    answers_nothing: bool,
    in_any_order: bool,
    bad_parameter: Option<BadParameter>,
}

/// The same, and its kernel on GPUs.
#[derive(Clone, Copy, Debug)]
pub struct AnyOp {
    facts: OpFacts,
    built: Option<&'static Entry>,
    params: OpParams,
    answer_bytes: usize,
}

impl AnyOp {
    /// Of that operator.
    #[must_use]
    pub fn of<I: Item, R: Reduction<I>>(op: R) -> Self {
        let built = op.built();
        Self {
            facts: OpFacts::of::<I, R>(op),
            built,
            params: built.map_or_else(OpParams::default, |entry| op.params(entry)),
            answer_bytes: R::Answer::COUNT * R::Answer::UNIT,
        }
    }

    /// Bytes of an answer.
    #[must_use]
    pub fn answer_bytes(&self) -> usize {
        self.answer_bytes
    }

    /// Whether its answers are the states of its kernels, which are another operator's: [`InF64`](super::InF64).
    #[must_use]
    pub fn answers_are_states(&self) -> bool {
        self.built.is_some_and(|entry| entry.answer_bytes != self.answer_bytes)
    }

    /// What its kernels are passed.
    #[must_use]
    pub fn params(&self) -> OpParams {
        self.params
    }

    /// What is known of its whole-array kernel.
    ///
    /// # Errors
    ///
    /// [`Error::NoKernel`] where GPUs have none: of some operators under a mask and behind a step.
    pub fn kernel(&self) -> Result<&'static Entry, Error> {
        self.built.ok_or_else(|| self.no_kernel())
    }

    /// The same, if its states have the words of those on the CPU.
    #[cfg(feature = "cuda")]
    pub(crate) fn kernel_of_states(&self) -> Result<&'static Entry, Error> {
        let entry = self.kernel()?;
        // A sum of i64 under a mask is u64's kernel's: the upper half of its state, which no sum shows, is another.
        let is_of_unsigned = self.element == Type::I64 && entry.element == Type::U64;
        if is_of_unsigned && self.name == Sum::NAME {
            return Err(self.no_kernel());
        }
        Ok(entry)
    }

    fn no_kernel(&self) -> Error {
        Error::NoKernel {
            op: self.name,
            element: self.element.name(),
        }
    }
}

impl Deref for AnyOp {
    type Target = OpFacts;

    fn deref(&self) -> &OpFacts {
        &self.facts
    }
}

impl OpFacts {
    /// Of that operator.
    #[must_use]
    pub fn of<I: Item, R: Reduction<I>>(op: R) -> Self {
        Self {
            name: R::NAME,
            element: I::ELEMENT,
            leaf_bytes: I::ELEMENT.leaf_elements() as usize * size_of::<I>(),
            answers_nothing: op.monoid().empty().is_some(),
            in_any_order: R::Monoid::ALGEBRA.commutes && R::Monoid::ALGEBRA.in_any_order(),
            bad_parameter: op.bad_parameter(),
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Elements of a leaf.
    #[must_use]
    pub fn leaf_elements(&self) -> u64 {
        self.element.leaf_elements()
    }

    /// Bytes of an element.
    #[must_use]
    pub fn element_bytes(&self) -> usize {
        self.element.bytes()
    }

    /// Bytes of a leaf's items on the host.
    #[must_use]
    pub fn leaf_bytes(&self) -> usize {
        self.leaf_bytes
    }

    /// Whether states may be combined in any order, with the same bits.
    #[must_use]
    pub fn in_any_order(&self) -> bool {
        self.in_any_order
    }

    /// Whether the operator's own parameters, if it has any, have a meaning.
    ///
    /// # Errors
    ///
    /// [`Error::Parameter`] for a correction or a power that has none.
    pub fn check(&self) -> Result<(), Error> {
        match self.bad_parameter {
            None => Ok(()),
            Some(BadParameter { name, value, must }) => Err(Error::Parameter {
                op: self.name,
                name,
                value,
                must,
            }),
        }
    }

    /// Whether there is an answer over `len` elements.
    ///
    /// # Errors
    ///
    /// As [`check`](Self::check); [`Error::EmptyExtent`] where `len` is 0 and the operator has no answer over nothing.
    pub fn check_extent(&self, len: u64) -> Result<(), Error> {
        self.check()?;
        if len == 0 && !self.answers_nothing {
            return Err(Error::EmptyExtent { op: self.name });
        }
        Ok(())
    }

    /// Whether there is an answer over each segment.
    ///
    /// # Errors
    ///
    /// As [`check`](Self::check); [`Error::EmptySegment`] where one is empty and the operator has no answer over nothing.
    pub fn check_segments(&self, segments: &Segments) -> Result<(), Error> {
        self.check()?;
        match segments.first_empty() {
            Some(segment) if !self.answers_nothing => Err(Error::EmptySegment { op: self.name, segment }),
            _ => Ok(()),
        }
    }
}
