//! The last steps on a GPU.

use std::sync::Arc;

use warpfold_kernels::element::Item;

use super::{Along, Fold, In, InParts, Output, Over, Own, Whole, each};
use crate::{
    Error,
    gpu::{Fill, Gpu, Prepared},
    operand::{Layouts, Operand, Shape, Shapes},
    ops::{
        AnyOp, Operator, Reduction,
        element::Element,
        untyped::{Typed, of_words, unpacked},
    },
    partial::Partial,
    pieces::AnyPieces,
};

impl<Op: Operator, E: Over, Out, Mask> Fold<Op, E, Out, Mask> {
    /// Folds on a GPU, and waits: to one answer, or to [`Folded`](crate::layout::Folded) answers along axes, or to a `Vec` of them in segments, with the bits of
    /// [`on_cpu`](Fold::on_cpu).
    ///
    /// Arrays in the GPU's memory are folded where they are, of any alignment: one launch, one copy of the answers, one synchronisation. What other
    /// streams still write to them must have been waited for. Arrays in host memory are copied to the device: where all are
    /// there, in order, and folded whole, in pieces no larger than the memory that is free, so their size is not limited by the device's.
    ///
    /// # Errors
    ///
    /// As `on_cpu`; [`Error::NoKernel`]; [`Error::NoPtx`] where this build has no kernels for the device; [`Error::DriverTooOld`] where the driver
    /// cannot read them; [`Error::ForeignMemory`] of an array in another GPU's memory; [`Error::Misaligned`]; [`Error::OutOfMemory`];
    /// [`Error::GridOverflow`]; [`Error::Driver`].
    pub fn on<'a, O>(self, gpu: &Gpu, operand: O) -> Result<E::Answers<Out::Number>, Error>
    where
        O: Operand<'a, Op, Mask>,
        Out: Output<<O::Op as Reduction<O::Item>>::Answer>,
    {
        let (op, placed) = (O::op(self.op), operand.place(self.mask));
        let any = AnyOp::of::<O::Item, O::Op>(op);
        let answers = gpu.answers(&any, &placed, self.over.extent(), &|piece| {
            pieces::<O::Item, _>(op, piece)
        })?;
        Ok(each::<E, Out, _>(answers.unpacked()?))
    }
}

impl<Op: Operator, E: InParts, Mask> Fold<Op, E, Own, Mask> {
    /// Folds a part of an array on a GPU, and waits: to what [`partial_on_cpu`](Fold::partial_on_cpu) folds it to, byte for byte
    /// but for NaN that arithmetic made, whose bits are the hardware's until an answer has one for all.
    ///
    /// Cost: a run of memory is one launch, and along axes each subtree of the canonical tree is one, at most 2 · log₂ of a part's leaves. The
    /// states are copied to the host, and the elements that no whole leaf has. Where [`split`](crate::partial::split) divides there are no
    /// such elements but the last leaf's.
    ///
    /// # Errors
    ///
    /// As `partial_on_cpu` and [`on`](Fold::on); [`PartialFault::Axes`](crate::PartialFault::Axes) where several axes are folded that are not
    /// one run of memory, unless a leaf is whole indices of the first, or any order of the elements serves.
    pub fn partial_on<'a, O>(self, gpu: &Gpu, operand: O, first: u64) -> Result<Partial<O::Op, O::Item, E>, Error>
    where
        O: Operand<'a, Op, Mask>,
    {
        let (op, placed) = (O::op(self.op), operand.place(self.mask));
        let (typed, any) = (
            Arc::new(Typed::<O::Op, O::Item>::new(op)),
            AnyOp::of::<O::Item, O::Op>(op),
        );
        let partial = gpu.partial(typed, &any, &placed, self.over.extent(), first)?;
        Ok(Partial::of(partial))
    }
}

fn pieces<I: Item, R: Reduction<I>>(op: R, piece: u64) -> Result<AnyPieces, Error> {
    AnyPieces::new(Arc::new(Typed::<R, I>::new(op)), piece)
}

impl<Op: Operator, Out, Mask> Fold<Op, Whole, Out, Mask> {
    /// Folds on a GPU to the state of a run, to go on with: see [`Pieces`](crate::pieces::Pieces). Positions count from its start; the state of nothing is the operator's
    /// identity.
    ///
    /// # Errors
    ///
    /// As [`on`](Fold::on), but for [`Error::EmptyExtent`]; [`Error::NotInOrder`].
    pub fn state_on<'a, O>(self, gpu: &Gpu, operand: O) -> Result<<O::Op as Reduction<O::Item>>::State, Error>
    where
        O: Operand<'a, Op, Mask>,
    {
        let (op, placed) = (O::op(self.op), operand.place(self.mask));
        let any = AnyOp::of::<O::Item, O::Op>(op);
        let words = gpu.state(&any, &placed, &|piece| pieces::<O::Item, _>(op, piece))?;
        Ok(of_words(&words))
    }
}

impl<Op: Operator> Fold<Op, Whole> {
    /// Folds an array of `len` elements that `fill` writes to host memory in parts, on all threads: reading, copying and folding overlap. See
    /// [`Gpu::fold_stream`].
    ///
    /// # Errors
    ///
    /// The first error of `fill`; those of [`prepare`](Self::prepare); [`Error::EmptyExtent`].
    pub fn stream_on<I: Element, E: From<Error> + Send>(
        self,
        gpu: &Gpu,
        len: u64,
        fill: Fill<'_, E>,
    ) -> Result<Op::Answer, E>
    where
        Op: Reduction<I>,
    {
        let any = AnyOp::of::<I, Op>(self.op);
        let pieces = pieces::<I, _>(self.op, gpu.stream_piece(&any))?;
        let (answer, _) = gpu.fold_stream(&any, len, pieces, fill)?.finish()?;
        Ok(unpacked(&answer).next().expect("one answer"))
    }
}

/// Launches for a stream and a workspace of yours, of items of a type: an element's, [`Two`](crate::ops::element::Two) of them, or with
/// [`Where`](crate::ops::Where) of an operator [`Masked`](crate::ops::element::Masked). Answers in device memory have the operator's own type.
impl<Op: Operator> Fold<Op, Whole> {
    /// Of arrays of `len` elements: [`Gpu::prepare`].
    ///
    /// # Errors
    ///
    /// As that call.
    pub fn prepare<I: Item>(self, gpu: &Gpu, len: u64) -> Result<Prepared<Op, I>, Error>
    where
        Op: Reduction<I>,
    {
        gpu.prepare(self.op, len)
    }
}

impl<Op: Operator> Fold<Op, Along> {
    /// Of an array of that layout, or of two arrays, or an array and its mask, of two layouts.
    ///
    /// # Errors
    ///
    /// As [`Gpu::prepare_axes`]; [`Error::PairMismatch`], [`Error::MaskMismatch`].
    pub fn prepare<I: Item>(self, gpu: &Gpu, layouts: impl Layouts<I>) -> Result<Prepared<Op, I>, Error>
    where
        Op: Reduction<I>,
    {
        let any = AnyOp::of::<I, Op>(self.op);
        let (ready, _) = gpu.ready(&any, &layouts.shapes(), self.over.extent())?;
        Ok(Prepared::of(self.op, ready))
    }
}

impl<Op: Operator> Fold<Op, In> {
    /// Of arrays of as many elements as the segments are of.
    ///
    /// # Errors
    ///
    /// As [`Gpu::prepare_segments`].
    pub fn prepare<I: Item>(self, gpu: &Gpu) -> Result<Prepared<Op, I>, Error>
    where
        Op: Reduction<I>,
    {
        let any = AnyOp::of::<I, Op>(self.op);
        let shapes = Shapes::one(Shape::of(self.over.0.len() as usize));
        let (ready, _) = gpu.ready(&any, &shapes, self.over.extent())?;
        Ok(Prepared::of(self.op, ready))
    }
}
