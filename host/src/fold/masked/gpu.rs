//! The last steps on a GPU.

use bytemuck::NoUninit;

use super::{MaskedFold, in_order};
use crate::{
    Error,
    fold::{Along, Fold, In, Output, View, Whole, each, the_one},
    gpu::Gpu,
    layout::{Axes, Folded},
    ops::{
        MaskElement, Reduction, TakesMask, Where,
        element::{Element, Masked},
    },
};

impl<B: MaskElement + NoUninit, Op: TakesMask, Out> MaskedFold<'_, B, Op, Whole, Out> {
    /// Folds an array in host memory on a GPU: [`Gpu::reduce_host_where`], of a [`View`] with a layout
    /// [`Gpu::reduce_host_where_axes`].
    ///
    /// # Errors
    ///
    /// As that call.
    pub fn on<'a, T: Element + NoUninit>(self, gpu: &Gpu, array: impl Into<View<'a, T>>) -> Result<Out::Number, Error>
    where
        Where<Op>: Reduction<Masked<T>>,
        Out: Output<<Where<Op> as Reduction<Masked<T>>>::Answer>,
    {
        let (array, mask, op) = (array.into(), self.mask, self.fold.op);
        let answer = if array.layout.is_none() && mask.layout.is_none() {
            gpu.reduce_host_where(op, array.values, mask.values)?
        } else {
            let (array, mask) = (array.with_layout()?, mask.with_layout()?);
            let folded = gpu.reduce_host_where_axes(op, (array.0, &array.1), (mask.0, &mask.1), &Axes::all())?;
            the_one(folded)
        };
        Ok(Out::of(answer))
    }
}

impl<B: MaskElement + NoUninit, Op: TakesMask, Out> MaskedFold<'_, B, Op, Along, Out> {
    /// Folds an array in host memory on a GPU: [`Gpu::reduce_host_where_axes`].
    ///
    /// # Errors
    ///
    /// As that call.
    pub fn on<'a, T: Element + NoUninit>(
        self,
        gpu: &Gpu,
        array: impl Into<View<'a, T>>,
    ) -> Result<Folded<Out::Number>, Error>
    where
        Where<Op>: Reduction<Masked<T>>,
        Out: Output<<Where<Op> as Reduction<Masked<T>>>::Answer>,
    {
        let (array, mask) = (array.into().with_layout()?, self.mask.with_layout()?);
        let Fold { op, over, .. } = self.fold;
        let folded = gpu.reduce_host_where_axes(op, (array.0, &array.1), (mask.0, &mask.1), &over.axes())?;
        Ok(each::<Out, _>(folded))
    }
}

impl<B: MaskElement + NoUninit, Op: TakesMask, Out> MaskedFold<'_, B, Op, In, Out> {
    /// Folds an array in host memory on a GPU: [`Gpu::reduce_host_where_segments`].
    ///
    /// # Errors
    ///
    /// As that call; [`Error::MaskMismatch`] of a mask with a layout.
    pub fn on<T: Element + NoUninit>(self, gpu: &Gpu, values: &[T]) -> Result<Vec<Out::Number>, Error>
    where
        Where<Op>: Reduction<Masked<T>>,
        Out: Output<<Where<Op> as Reduction<Masked<T>>>::Answer>,
    {
        let mask = in_order(&self.mask, values.len())?;
        let answers = gpu.reduce_host_where_segments(self.fold.op, values, mask, &self.fold.over.0)?;
        Ok(answers.into_iter().map(Out::of).collect())
    }
}
