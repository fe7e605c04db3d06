//! What parts of an array fold to: on several machines, in any order, with the bits of one fold of the whole.
//!
//! A [`Partial`] has what some runs of an array's elements fold to. Partials of one fold are [merged](Partial::merge), in any order and
//! with gaps between them, and the one that has all elements is [finished](Partial::finish). Each travels as
//! [bytes](Partial::to_bytes).
//!
//! ```
//! use warpfold::{cpu, fold, ops::Sum, partial::Partial};
//!
//! let values: Vec<f32> = (0..10_000).map(|i| 1.0 / (1 + i) as f32).collect();
//! let (low, high) = values.split_at(3_333);
//! // Elsewhere:
//! let sent = fold(Sum).partial_on_cpu(high, 3_333)?.to_bytes();
//! // Here:
//! let mut partial = fold(Sum).partial_on_cpu(low, 0)?;
//! partial.merge(Partial::from_bytes(Sum, &sent)?)?;
//! assert_eq!(partial.finish(10_000)?, cpu::reduce(Sum, &values)?);
//! # Ok::<(), warpfold::Error>(())
//! ```
//!
//! # What it holds
//!
//! A run's whole leaves are held as the states of the fewest subtrees of the canonical tree, and the elements before and after those as they
//! are. There is one such division of a run. So a partial, and its bytes, depend on the elements that it is of, and not on how they
//! came together.
//!
//! | operator | a run holds, for each answer |
//! |---|---|
//! | any | at most 2 · log₂ of its leaves states, and fewer than two leaves of elements |
//! | that any order serves: extrema and their indices, counts, truths, bits, sums of integers, exact sums and means | one state, for all runs together |
//!
//! A leaf is 4,096 bytes. A run shorter than that holds all of its elements, unless any order serves.
//!
//! # Along axes
//!
//! A partial [along axes](crate::Fold::axis) has as much for each answer. Each array that is folded then has all indices of the axes that
//! are kept, and of the folded ones but the first; of the first it has some. Positions are those in the extent of an answer: where
//! an array has the indices from `i` on of the first folded axis, `first` is `i` times the product of the others' lengths.
//!
//! # NaN
//!
//! A state that is rounded may hold a NaN, whose sign and payload are the machine's. They show in no answer. They may show in bytes: of
//! partials of one array that was divided in different ways, such a state may differ.

pub(crate) mod any;
pub(crate) mod cpu;
mod crc;
mod head;
mod read;
mod reader;
mod run;
mod split;
mod write;

pub use any::AnyPartial;
pub use head::Head;
pub use split::{split, subtrees};

use std::{fmt, marker::PhantomData, ops::Range, sync::Arc};

use warpfold_kernels::element::Item;

use crate::{
    Error, PartialFault,
    fold::extent::{InParts, Whole},
    ops::{Reduction, untyped::Typed},
};

/// What some runs of an array's elements fold to: see the [module](self).
///
/// It is of an operator over items of one type, and of a whole array or [along](crate::fold::Along) axes.
/// [`Fold::partial_on_cpu`](crate::Fold::partial_on_cpu) and `Fold::partial_on` make one.
#[derive(Clone)]
pub struct Partial<R, I, E = Whole> {
    any: AnyPartial,
    of: PhantomData<fn(R, I, E)>,
}

impl<R: Reduction<I>, I: Item, E: InParts> Partial<R, I, E> {
    pub(crate) fn of(any: AnyPartial) -> Self {
        let of = PhantomData;
        Self { any, of }
    }

    /// The runs of elements that it has, in their order. No two touch.
    pub fn runs(&self) -> impl ExactSizeIterator<Item = Range<u64>> + '_ {
        self.any.runs()
    }

    /// Whether it has no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.any.is_empty()
    }

    /// Takes what another has. Runs that touch become one: elements that make a leaf whole are folded, and subtrees are combined.
    ///
    /// Any order of merges gives the same partial.
    ///
    /// Cost: for each answer a `combine` for each pair of subtrees that become one, and a leaf for each two runs that meet within
    /// one.
    ///
    /// # Errors
    ///
    /// [`PartialFault::Overlap`] if both have an element; [`PartialFault::Other`] if they are of operators with different parameters, or
    /// their answers have different shapes. This one is then as it was.
    pub fn merge(&mut self, other: Self) -> Result<(), Error> {
        self.any.merge(other.any)
    }

    /// The answers of extents of `len` elements, which it must have all of: as [`Fold::on_cpu`](crate::Fold::on_cpu) gives them, to the bit.
    ///
    /// # Errors
    ///
    /// [`PartialFault::Gap`] if an element is missing, [`PartialFault::TooLong`] if there is one past the end; [`Error::EmptyExtent`] where
    /// `len` is 0 and the operator has no answer over nothing.
    pub fn finish(&self, len: u64) -> Result<E::Answers<R::Answer>, Error> {
        Ok(E::answers(self.any.finish(len)?.unpacked()?))
    }

    /// It as bytes, for another machine or a file: little-endian, with a checksum. The [head](Head) says what they are of. Equal
    /// partials have equal bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        self.any.to_bytes()
    }

    /// The partial of such bytes, of the same operator with the same parameter.
    ///
    /// The checksum finds accidents. It does not tell who wrote the bytes: what they hold is believed.
    ///
    /// # Errors
    ///
    /// Each is a [`PartialFault`]: `NotPartial`, `Version`, `Length`, `Checksum` or `Malformed` of bytes that cannot be read, `Other` of
    /// those of another fold. No more memory is taken than a small multiple of theirs. [`Error::Parameter`] of the operator.
    pub fn from_bytes(op: R, bytes: &[u8]) -> Result<Self, Error> {
        let any = AnyPartial::from_bytes(Arc::new(Typed::<R, I>::new(op)), bytes)?;
        if !E::fits(any.shape()) {
            return Err(Error::Partial(PartialFault::Other {
                what: "shape of the answers",
                this: "[]".into(),
                other: format!("{:?}", any.shape()),
            }));
        }
        Ok(Self::of(any))
    }

    /// It, types forgotten.
    #[must_use]
    pub fn as_any(&self) -> &AnyPartial {
        &self.any
    }

    /// The same, and no more this one.
    #[must_use]
    pub fn into_any(self) -> AnyPartial {
        self.any
    }
}

impl<R, I, E> fmt::Debug for Partial<R, I, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.any.fmt(f)
    }
}
