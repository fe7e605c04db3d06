//! Folds along axes.

use bytemuck::NoUninit;
use cust::memory::{DeviceCopy, DeviceSlice};
use warpfold_kernels::element::Element;

use super::{Gpu, Prepared, answers::upload, launch::Bound};
use crate::{
    Error,
    layout::{Axes, Extents, Folded, Layout},
    ops::Reduction,
};

impl Gpu {
    /// A fold of an array of that layout along axes, planned, its kernel loaded, for asynchronous calls. Each answer has the bits
    /// that [`reduce`](Self::reduce) gives for its extent alone.
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
        layout.check(i64::MAX as u64)?;
        let extents = Extents::new(layout, axes)?;
        Prepared::along(self, op, &[layout], std::slice::from_ref(&extents))
    }

    /// Folds an array in device memory along axes, and waits for the answers.
    ///
    /// One launch, whatever the axes and strides; nothing of the input is copied. Runs of elements (the last axis of a C-order
    /// array) are read by vectors; all else element by element, neighbouring answers side by side: columns of f32 at nearly the
    /// same speed, and of 2 bytes (of 1) by words where rows have an even number of elements (a multiple of 4). Columns of small
    /// elements in other rows are read at a fraction of it, elements that lie apart as slowly as that is.
    ///
    /// # Errors
    ///
    /// As [`prepare_axes`](Self::prepare_axes); [`Error::OutOfBounds`] where an element lies outside `input`;
    /// [`Error::ForeignMemory`] where `input` is not this GPU's; [`Error::OutOfMemory`] for answers and workspace.
    pub fn reduce_axes<T: Element + DeviceCopy, R: Reduction<T>>(
        &self,
        op: R,
        input: &DeviceSlice<T>,
        layout: &Layout,
        axes: &Axes,
    ) -> Result<Folded<R::Answer>, Error> {
        layout.check(input.len() as u64)?;
        self.check_array(input)?;
        // SAFETY: the elements lie in the slice, which is valid as far as cust's types can tell, and the call waits.
        unsafe { self.reduce_axes_raw::<T, R>(op, input.as_device_ptr().as_raw(), layout, axes) }
    }

    /// The same for elements at the device address `input`, such as another framework's tensor.
    ///
    /// # Errors
    ///
    /// As [`prepare_axes`](Self::prepare_axes), and [`Error::Misaligned`] for an address that is no multiple of an element's bytes.
    ///
    /// # Safety
    ///
    /// `input` is valid for reads of all of the layout's elements in this GPU's context, and nobody writes them during the call.
    pub unsafe fn reduce_axes_raw<T: Element, R: Reduction<T>>(
        &self,
        op: R,
        input: u64,
        layout: &Layout,
        axes: &Axes,
    ) -> Result<Folded<R::Answer>, Error> {
        let prepared = self.prepare_axes::<T, R>(op, layout, axes)?;
        let shape = Extents::new(layout, axes)?.shape;
        // SAFETY: passed on to the caller.
        let answers = unsafe { self.answers(&prepared, [input, 0])? };
        Ok(Folded { shape, answers })
    }

    /// Folds an array in host memory along axes, and waits for the answers. All of the array's memory is copied to the device.
    ///
    /// # Errors
    ///
    /// As [`reduce_axes`](Self::reduce_axes); [`Error::OutOfMemory`] where the array does not fit on the device.
    pub fn reduce_host_axes<T: Element + NoUninit, R: Reduction<T>>(
        &self,
        op: R,
        values: &[T],
        layout: &Layout,
        axes: &Axes,
    ) -> Result<Folded<R::Answer>, Error> {
        layout.check(values.len() as u64)?;
        let _bound = Bound::to(self.context())?;
        let input = upload(values)?;
        // SAFETY: the buffer holds the array, and the call waits.
        unsafe { self.reduce_axes_raw::<T, R>(op, input.as_device_ptr().as_raw(), layout, axes) }
    }
}
