//! Short names: calls of a [`Gpu`] that put a fold together.

use bytemuck::NoUninit;
use cust::memory::{DeviceCopy, DeviceSlice};
use warpfold_kernels::element::{Element, Item};

use super::fold;
use crate::{
    DeviceView, Error, View,
    gpu::{Gpu, Prepared},
    layout::{Axes, Folded, Layout, Segments},
    ops::Reduction,
};

/// Short names.
impl Gpu {
    /// A fold of an array of that layout along axes, planned, its kernel loaded, for asynchronous calls:
    /// [`fold(op).along(axes).prepare`](crate::Fold::prepare).
    ///
    /// # Errors
    ///
    /// As [`prepare`](Self::prepare); [`Error::NoAxis`], [`Error::AxisTwice`]; [`Error::OutOfBounds`] for a layout that goes before
    /// its memory's start; [`Error::GridOverflow`]; [`Error::OutOfMemory`].
    pub fn prepare_axes<T: Element, R: Reduction<T>>(
        &self,
        op: R,
        layout: &Layout,
        axes: &Axes,
    ) -> Result<Prepared<R, T>, Error> {
        fold(op).along(axes.clone()).prepare(self, layout)
    }

    /// A fold of an array in segments, planned, its kernel loaded and the offsets on the device, for asynchronous calls:
    /// [`fold(op).segments(segments).prepare`](crate::Fold::prepare).
    ///
    /// # Errors
    ///
    /// As [`prepare`](Self::prepare); [`Error::EmptySegment`]; [`Error::GridOverflow`]; [`Error::OutOfMemory`].
    pub fn prepare_segments<I: Item, R: Reduction<I>>(
        &self,
        op: R,
        segments: &Segments,
    ) -> Result<Prepared<R, I>, Error> {
        fold(op).segments(segments.clone()).prepare(self)
    }

    /// Folds an array in device memory, of any alignment, and waits for the answer: [`fold(op).on(&gpu, input)`](crate::Fold::on).
    ///
    /// One launch, one copy of the answer, one synchronisation. The workspace is kept between calls. What other streams
    /// still write to `input` must have been waited for.
    ///
    /// # Errors
    ///
    /// As [`prepare`](Self::prepare); [`Error::ForeignMemory`] where `input` is not this GPU's; [`Error::OutOfMemory`] for
    /// the workspace.
    pub fn reduce<T: Element + DeviceCopy, R: Reduction<T>>(
        &self,
        op: R,
        input: &DeviceSlice<T>,
    ) -> Result<R::Answer, Error> {
        fold(op).on(self, input)
    }

    /// Folds an array in host memory and waits for the answer: [`fold(op).on(&gpu, input)`](crate::Fold::on).
    ///
    /// The array is copied to the device in pieces no larger than the memory that is free, so its size is not limited by
    /// the device's; the answer is the same to the bit. The device memory for a piece is kept for the next call.
    ///
    /// # Errors
    ///
    /// As [`reduce`](Self::reduce).
    pub fn reduce_host<T: Element + NoUninit, R: Reduction<T>>(&self, op: R, input: &[T]) -> Result<R::Answer, Error> {
        fold(op).on(self, input)
    }

    /// Folds an array in device memory along axes, and waits for the answers: [`fold(op).along(axes).on`](crate::Fold::on). What
    /// [`cpu::reduce_axes`](crate::cpu::reduce_axes) says of extents, indices and empty axes holds here.
    ///
    /// One launch, whatever the axes and strides; nothing of the input is copied. Runs of elements (the last axis of a C-order
    /// array) are read by vectors; all else element by element, neighbouring answers side by side: columns of f32 at nearly the
    /// same speed, and of 2 bytes (of 1) by words where rows have an even number of elements (a multiple of 4). Columns of small
    /// elements in other rows are read at a fraction of it, elements that lie apart as slowly as that is.
    ///
    /// # Errors
    ///
    /// As [`reduce`](Self::reduce), [`prepare_axes`](Self::prepare_axes) and [`DeviceView::new`].
    pub fn reduce_axes<T: Element + DeviceCopy, R: Reduction<T>>(
        &self,
        op: R,
        input: &DeviceSlice<T>,
        layout: &Layout,
        axes: &Axes,
    ) -> Result<Folded<R::Answer>, Error> {
        fold(op).along(axes.clone()).on(self, DeviceView::new(input, layout)?)
    }

    /// The same of an array in host memory, which is copied to the device.
    ///
    /// # Errors
    ///
    /// As [`reduce_axes`](Self::reduce_axes); [`Error::OutOfMemory`] where the array does not fit on the device.
    pub fn reduce_host_axes<T: Element + NoUninit, R: Reduction<T>>(
        &self,
        op: R,
        input: &[T],
        layout: &Layout,
        axes: &Axes,
    ) -> Result<Folded<R::Answer>, Error> {
        fold(op).along(axes.clone()).on(self, View::new(input, layout)?)
    }

    /// Folds an array in device memory in segments, and waits for the answers: what
    /// [`cpu::reduce_segments`](crate::cpu::reduce_segments) says holds here.
    ///
    /// One launch, whatever the lengths: the work is shared out by elements and segments, so one huge segment among many tiny ones
    /// is many warps' work. Read are the elements and 8 bytes for each segment. Short segments are read more slowly than long ones.
    ///
    /// # Errors
    ///
    /// As [`reduce`](Self::reduce) and [`prepare_segments`](Self::prepare_segments); [`Error::Offset`] if the segments are not of as many elements
    /// as `input` has.
    pub fn reduce_segments<T: Element + DeviceCopy, R: Reduction<T>>(
        &self,
        op: R,
        input: &DeviceSlice<T>,
        segments: &Segments,
    ) -> Result<Vec<R::Answer>, Error> {
        fold(op).segments(segments.clone()).on(self, input)
    }

    /// The same of an array in host memory, which is copied to the device.
    ///
    /// # Errors
    ///
    /// As [`reduce_segments`](Self::reduce_segments); [`Error::OutOfMemory`] where the array does not fit on the device.
    pub fn reduce_host_segments<T: Element + NoUninit, R: Reduction<T>>(
        &self,
        op: R,
        input: &[T],
        segments: &Segments,
    ) -> Result<Vec<R::Answer>, Error> {
        fold(op).segments(segments.clone()).on(self, input)
    }
}
