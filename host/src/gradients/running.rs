//! The norm of tensors that come one after the other.

use std::{fmt, sync::Arc};

use super::{
    Floats, Order, TotalNorm,
    norm::{self, AnyNorm, Found},
};
use crate::{Error, TensorFault, cpu::carries::Carries, ops::element::Type, partial::AnyPartial, pieces::AnyPieces};

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

    /// The next tensor, of `elements` elements, by a partial that has all of them: of this norm's operator over the whole tensor. Elements that
    /// are not finite show in the norm, and are not counted.
    ///
    /// ```
    /// use warpfold::{fold, gradients::{Order, grad_norm}, ops::NormL2};
    ///
    /// let (weights, biases) = ([3.0_f32, 0.0, -4.0], [12.0_f32]);
    /// let mut sharded = fold(NormL2).partial_on_cpu(&weights[1..], 1)?;
    /// sharded.merge(fold(NormL2).partial_on_cpu(&weights[..1], 0)?)?;
    /// let mut running = grad_norm(Order::L2).running()?;
    /// running.partial(sharded.as_any(), 3)?;
    /// running.push((&biases).into());
    /// assert_eq!(running.finish().norm, 13.0);
    /// # Ok::<(), warpfold::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`TensorFault::NoNorm`] of a type that has no norm, and of FP8; [`PartialFault`](crate::PartialFault) of a partial of another operator, and of one that lacks an
    /// element.
    pub fn partial(&mut self, partial: &AnyPartial, elements: u64) -> Result<(), Error> {
        let element = partial.signature().element;
        let own = self.norm.partial(element).ok_or(TensorFault::NoNorm {
            tensor: self.tensors(),
            element: element.name(),
        });
        let mut own = own.map_err(Error::Tensor)??;
        own.merge(partial.clone())?;
        match own.state(elements)? {
            None if element == Type::F64 => self.push(Floats::F64(&[])),
            None => self.push(Floats::F32(&[])),
            Some(state) => self.take(Found {
                state,
                is_f64: element == Type::F64,
                elements,
                not_finite: 0,
            }),
        }
        Ok(())
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
