//! The norm of tensors that come one after the other.

use std::{fmt, sync::Arc};

use super::{
    Floats, Order, TotalNorm,
    norm::{self, AnyNorm, Found},
};
use crate::{Error, TensorFault, cpu::carries::Carries, ops::element::Type, pieces::AnyPieces};

/// The norm of tensors that come one after the other, each [whole](Self::push) or in [pieces](Self::tensor): see [`GradNorm::running`](super::GradNorm::running).
#[derive(Clone)]
pub struct RunningNorm {
    norm: Arc<dyn AnyNorm>,
    /// Neighbours are combined as they come.
    found: Carries<Found>,
}

impl RunningNorm {
    pub(super) fn new(order: Order) -> Result<Self, Error> {
        order.check()?;
        Ok(Self {
            norm: norm::of(order),
            found: Carries::new(),
        })
    }

    pub(super) fn fold(&self, tensor: Floats<'_>) -> Found {
        self.norm.fold(tensor)
    }

    pub(super) fn take(&mut self, found: Found) {
        self.found.push(found, |a, b| self.norm.combine(a, b));
    }

    /// Tensors so far.
    #[must_use]
    pub fn tensors(&self) -> usize {
        self.found.count()
    }

    /// The next tensor, whole. All cores fold it.
    pub fn push(&mut self, tensor: Floats<'_>) {
        self.take(self.fold(tensor));
    }

    /// The next tensor, in pieces of `piece` elements, the last of which may be shorter. It has its place in the list once it [ends](TensorPieces::end).
    ///
    /// # Errors
    ///
    /// [`Error::PieceLength`] if `piece` is not a power of two leaves: of 4096 bytes each, FP8 being f32. [`TensorFault::NoNorm`] of a type that has no norm.
    pub fn tensor(&mut self, element: Type, piece: u64) -> Result<TensorPieces<'_>, Error> {
        let pieces = self.norm.pieces(element, piece).ok_or(TensorFault::NoNorm {
            tensor: self.tensors(),
            element: element.name(),
        });
        Ok(TensorPieces {
            element,
            pieces: pieces.map_err(Error::Tensor)??,
            not_finite: 0,
            running: self,
        })
    }

    /// The norm of all of them.
    #[must_use]
    pub fn finish(self) -> TotalNorm {
        let found = self.found.total(|a, b| self.norm.combine(a, b));
        found.map_or_else(TotalNorm::default, |found| self.norm.finish(&found))
    }
}

impl fmt::Debug for RunningNorm {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RunningNorm")
            .field("tensors", &self.tensors())
            .finish_non_exhaustive()
    }
}

/// A tensor that comes in pieces: see [`RunningNorm::tensor`]. One that is dropped before it [ends](Self::end) is not in the list.
#[derive(Debug)]
#[must_use = "a tensor is in the list once it ends"]
pub struct TensorPieces<'a> {
    running: &'a mut RunningNorm,
    element: Type,
    pieces: AnyPieces,
    not_finite: u64,
}

impl TensorPieces<'_> {
    /// Takes the next piece. One of no elements changes nothing.
    ///
    /// # Errors
    ///
    /// [`TensorFault::Piece`] of another type; [`Error::PieceOrder`] if the piece is longer than it was said to be, or comes after a shorter one. The pieces so far stay as they
    /// were.
    pub fn push(&mut self, piece: Floats<'_>) -> Result<(), Error> {
        if piece.element() != self.element {
            return Err(Error::Tensor(TensorFault::Piece {
                tensor: self.running.tensors(),
                element: self.element.name(),
                piece: piece.element().name(),
            }));
        }
        let found = self.running.fold(piece);
        self.pieces.push(&found.state, found.elements)?;
        self.not_finite += found.not_finite;
        Ok(())
    }

    /// The tensor has no more pieces: it is the next of the list.
    pub fn end(self) {
        let found = self.running.norm.found(self.element, self.pieces, self.not_finite);
        self.running.take(found);
    }
}
