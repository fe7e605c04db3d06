//! Folds in segments.

use bytemuck::NoUninit;
use cust::memory::{DeviceCopy, DeviceSlice};
use warpfold_kernels::element::{Element, Item};

use super::{Gpu, Prepared, answers::upload, launch::Bound};
use crate::{Error, layout::Segments, ops::Reduction};

impl Gpu {
    /// A fold of an array in segments, planned, its kernel loaded and the offsets on the device, for asynchronous calls. Each
    /// answer has the bits that [`reduce`](Self::reduce) gives for its segment alone; positions count from its start. Of two arrays
    /// `T` is [`Two`](crate::ops::element::Two).
    ///
    /// # Errors
    ///
    /// As [`prepare`](Self::prepare); [`Error::EmptySegment`]; [`Error::GridOverflow`]; [`Error::OutOfMemory`].
    pub fn prepare_segments<T: Item, R: Reduction<T>>(
        &self,
        op: R,
        segments: &Segments,
    ) -> Result<Prepared<R, T>, Error> {
        Prepared::segments(self, op, segments, &[])
    }

    /// Folds an array in device memory in segments, and waits for the answers.
    ///
    /// One launch, whatever the lengths: the work is shared out by elements and segments, so one huge segment among many tiny ones
    /// is many warps' work. Read are the elements and 8 bytes for each segment. Short segments are read more slowly than long ones.
    ///
    /// # Errors
    ///
    /// As [`prepare_segments`](Self::prepare_segments); [`Error::Offset`] if the segments are not of as many elements as `input`
    /// has; [`Error::ForeignMemory`] where `input` is not this GPU's.
    pub fn reduce_segments<T: Element + DeviceCopy, R: Reduction<T>>(
        &self,
        op: R,
        input: &DeviceSlice<T>,
        segments: &Segments,
    ) -> Result<Vec<R::Answer>, Error> {
        segments.check(input.len() as u64)?;
        self.check_array(input)?;
        // SAFETY: the elements lie in the slice, which is valid as far as cust's types can tell, and the call waits.
        unsafe { self.reduce_segments_raw::<T, R>(op, input.as_device_ptr().as_raw(), segments) }
    }

    /// The same for elements at the device address `input`, such as another framework's tensor.
    ///
    /// # Errors
    ///
    /// As [`prepare_segments`](Self::prepare_segments), and [`Error::Misaligned`] for an address that is no multiple of an
    /// element's bytes.
    ///
    /// # Safety
    ///
    /// `input` is valid for reads of all of the segments' elements in this GPU's context, and nobody writes them during the call.
    pub unsafe fn reduce_segments_raw<T: Element, R: Reduction<T>>(
        &self,
        op: R,
        input: u64,
        segments: &Segments,
    ) -> Result<Vec<R::Answer>, Error> {
        let prepared = self.prepare_segments::<T, R>(op, segments)?;
        // SAFETY: passed on to the caller.
        unsafe { self.answers(&prepared, [input, 0]) }
    }

    /// Folds an array in host memory in segments, and waits for the answers. All of it is copied to the device.
    ///
    /// # Errors
    ///
    /// As [`reduce_segments`](Self::reduce_segments); [`Error::OutOfMemory`] where the array does not fit on the device.
    pub fn reduce_host_segments<T: Element + NoUninit, R: Reduction<T>>(
        &self,
        op: R,
        values: &[T],
        segments: &Segments,
    ) -> Result<Vec<R::Answer>, Error> {
        segments.check(values.len() as u64)?;
        let _bound = Bound::to(self.context())?;
        let input = upload(values)?;
        // SAFETY: the buffer holds the array, and the call waits.
        unsafe { self.reduce_segments_raw::<T, R>(op, input.as_device_ptr().as_raw(), segments) }
    }
}
