//! Folds along axes.

use bytemuck::NoUninit;
use cust::memory::{CopyDestination, DeviceBuffer, DeviceCopy, DeviceSlice};
use warpfold_kernels::{element::Element, monoids::Words};

use super::{
    Gpu, Prepared,
    launch::{self, Bound, Launch},
    status::{self, Status as _},
};
use crate::{
    Error,
    layout::{Axes, Folded, Layout},
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
        Prepared::along(self, op, layout, axes)
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
        let shape = crate::layout::Extents::new(layout, axes)?.shape;
        // SAFETY: passed on to the caller.
        let answers = unsafe { self.answers(&prepared, input)? };
        Ok(Folded { shape, answers })
    }

    /// Launches on the blocking calls' own stream, waits, and brings back the answers.
    ///
    /// # Safety
    ///
    /// `input` is valid for what is read of it, and nobody writes that during the call.
    pub(super) unsafe fn answers<T: Element, R: Reduction<T>>(
        &self,
        prepared: &Prepared<R, T>,
        input: u64,
    ) -> Result<Vec<R::Answer>, Error> {
        let count = prepared.plan().count as usize;
        if count == 0 {
            return Ok(vec![]);
        }
        let bytes = count * prepared.plan().entry.answer_bytes;
        let mut workspace = prepared.workspace()?;
        let scratch = self.scratch();
        let scratch = scratch.as_ref().expect("present until dropped");
        let _bound = Bound::to(self.context())?;
        // SAFETY: only ever read after the launch has filled it.
        let answers = unsafe { DeviceBuffer::<u8>::uninitialized(bytes) };
        let answers = answers.map_err(|error| status::memory(bytes, error))?;
        // SAFETY: the input is the caller's word; workspace and answers are ours alone, and waited for.
        unsafe {
            prepared.enqueue(Launch {
                gpu: self,
                stream: scratch.stream.as_inner(),
                input,
                workspace: &mut workspace,
                answer: answers.as_device_ptr().as_raw(),
                state: 0,
            })?;
        }
        scratch.stream.synchronize().or_fail("cuStreamSynchronize")?;
        let mut packed = vec![0_u8; bytes];
        answers.copy_to(&mut packed).or_fail("cuMemcpyDtoH")?;
        Ok(packed.chunks_exact(bytes / count).map(unpack).collect())
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
        let bytes: &[u8] = bytemuck::cast_slice(values);
        let _bound = Bound::to(self.context())?;
        let input = DeviceBuffer::from_slice(bytes).map_err(|error| status::memory(bytes.len(), error))?;
        launch::wait_for_default_stream()?;
        // SAFETY: the buffer holds the array, and the call waits.
        unsafe { self.reduce_axes_raw::<T, R>(op, input.as_device_ptr().as_raw(), layout, axes) }
    }
}

/// A packed value.
pub(super) fn unpack<W: Words>(bytes: &[u8]) -> W {
    let word = |i: usize| bytes[i * W::UNIT..][..W::UNIT].iter().rev();
    W::from_words(|i| word(i).fold(0, |word, byte| word << 8 | u32::from(*byte)))
}
