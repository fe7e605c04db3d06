//! The last steps on a GPU.

use bytemuck::NoUninit;
use cust::memory::{DeviceCopy, DeviceSlice};

use super::{Along, Fold, In, Output, View, Whole, each, the_one};
use crate::{
    Error,
    gpu::{Gpu, Prepared},
    layout::{Axes, Folded, Layout},
    ops::{Operator, Reduction, element::Element},
};

impl<Op: Operator, Out> Fold<Op, Whole, Out> {
    /// Folds an array in host memory on a GPU: [`Gpu::reduce_host`], of a [`View`] with a layout [`Gpu::reduce_host_axes`].
    ///
    /// # Errors
    ///
    /// As that call.
    pub fn on<'a, T: Element + NoUninit>(self, gpu: &Gpu, array: impl Into<View<'a, T>>) -> Result<Out::Number, Error>
    where
        Op: Reduction<T>,
        Out: Output<Op::Answer>,
    {
        let View { values, layout } = array.into();
        let answer = match layout {
            None => gpu.reduce_host(self.op, values)?,
            Some(layout) => the_one(gpu.reduce_host_axes(self.op, values, &layout, &Axes::all())?),
        };
        Ok(Out::of(answer))
    }

    /// Folds an array in device memory: [`Gpu::reduce`].
    ///
    /// # Errors
    ///
    /// As that call.
    pub fn on_device<T: Element + DeviceCopy>(self, gpu: &Gpu, array: &DeviceSlice<T>) -> Result<Out::Number, Error>
    where
        Op: Reduction<T>,
        Out: Output<Op::Answer>,
    {
        gpu.reduce(self.op, array).map(Out::of)
    }
}

impl<Op: Operator> Fold<Op, Whole> {
    /// A launch for a stream and a workspace of yours: [`Gpu::prepare`]. Answers in device memory have the operator's own type.
    ///
    /// # Errors
    ///
    /// As that call.
    pub fn prepare<T: Element>(self, gpu: &Gpu, len: u64) -> Result<Prepared<Op, T>, Error>
    where
        Op: Reduction<T>,
    {
        gpu.prepare(self.op, len)
    }
}

impl<Op: Operator, Out> Fold<Op, Along, Out> {
    /// Folds an array in host memory on a GPU: [`Gpu::reduce_host_axes`].
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
        Op: Reduction<T>,
        Out: Output<Op::Answer>,
    {
        let (values, layout) = array.into().with_layout()?;
        let folded = gpu.reduce_host_axes(self.op, values, &layout, &self.over.axes())?;
        Ok(each::<Out, _>(folded))
    }

    /// Folds an array in device memory: [`Gpu::reduce_axes`].
    ///
    /// # Errors
    ///
    /// As that call.
    pub fn on_device<T: Element + DeviceCopy>(
        self,
        gpu: &Gpu,
        array: &DeviceSlice<T>,
        layout: &Layout,
    ) -> Result<Folded<Out::Number>, Error>
    where
        Op: Reduction<T>,
        Out: Output<Op::Answer>,
    {
        let folded = gpu.reduce_axes(self.op, array, layout, &self.over.axes())?;
        Ok(each::<Out, _>(folded))
    }
}

impl<Op: Operator> Fold<Op, Along> {
    /// A launch for a stream and a workspace of yours: [`Gpu::prepare_axes`]. Answers in device memory have the operator's own type.
    ///
    /// # Errors
    ///
    /// As that call.
    pub fn prepare<T: Element>(self, gpu: &Gpu, layout: &Layout) -> Result<Prepared<Op, T>, Error>
    where
        Op: Reduction<T>,
    {
        gpu.prepare_axes(self.op, layout, &self.over.axes())
    }
}

impl<Op: Operator, Out> Fold<Op, In, Out> {
    /// Folds an array in host memory on a GPU: [`Gpu::reduce_host_segments`].
    ///
    /// # Errors
    ///
    /// As that call.
    pub fn on<T: Element + NoUninit>(self, gpu: &Gpu, values: &[T]) -> Result<Vec<Out::Number>, Error>
    where
        Op: Reduction<T>,
        Out: Output<Op::Answer>,
    {
        let answers = gpu.reduce_host_segments(self.op, values, &self.over.0)?;
        Ok(answers.into_iter().map(Out::of).collect())
    }

    /// Folds an array in device memory: [`Gpu::reduce_segments`].
    ///
    /// # Errors
    ///
    /// As that call.
    pub fn on_device<T: Element + DeviceCopy>(
        self,
        gpu: &Gpu,
        array: &DeviceSlice<T>,
    ) -> Result<Vec<Out::Number>, Error>
    where
        Op: Reduction<T>,
        Out: Output<Op::Answer>,
    {
        let answers = gpu.reduce_segments(self.op, array, &self.over.0)?;
        Ok(answers.into_iter().map(Out::of).collect())
    }
}

impl<Op: Operator> Fold<Op, In> {
    /// A launch for a stream and a workspace of yours: [`Gpu::prepare_segments`]. Answers in device memory have the operator's own
    /// type.
    ///
    /// # Errors
    ///
    /// As that call.
    pub fn prepare<T: Element>(self, gpu: &Gpu) -> Result<Prepared<Op, T>, Error>
    where
        Op: Reduction<T>,
    {
        gpu.prepare_segments(self.op, &self.over.0)
    }
}
