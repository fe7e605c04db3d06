//! Folds of many arrays at once.

use cust::memory::{DeviceCopy, DeviceSlice};
use warpfold_kernels::element::Element;

use super::{Gpu, Prepared, RawStream, Workspace, launch::check_alignment, ready::Ready};
use crate::{
    Error, Plan,
    layout::Segments,
    ops::{AnyOp, Reduction, untyped::unpacked},
};

impl Gpu {
    /// Folds many arrays in device memory in one launch, each to an answer, and waits for them: the gradients of a model. The
    /// arrays may be of any lengths; each answer has the bits that [`reduce`](Self::reduce) gives.
    ///
    /// # Errors
    ///
    /// As [`reduce_segments`](Self::reduce_segments), array `i` being segment `i`.
    ///
    /// ```no_run
    /// use cust::memory::DeviceBuffer;
    /// use warpfold::{gpu::Gpu, ops::NormL2};
    ///
    /// let gpu = Gpu::new(0)?;
    /// gpu.make_current()?;
    /// let (weights, bias) = (DeviceBuffer::from_slice(&[3.0_f32, 4.0])?, DeviceBuffer::from_slice(&[2.0_f32])?);
    /// assert_eq!(gpu.reduce_batch(NormL2, &[&weights, &bias])?, [5.0, 2.0]);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn reduce_batch<T: Element + DeviceCopy, R: Reduction<T>>(
        &self,
        op: R,
        arrays: &[&DeviceSlice<T>],
    ) -> Result<Vec<R::Answer>, Error> {
        let Batch(prepared) = self.prepare_batch(op, arrays)?;
        // SAFETY: the addresses are those of slices, which are valid as far as cust's types can tell, and the call waits. No
        // address is made from the input's.
        let packed = unsafe { self.packed(&prepared.ready, [0, 0])? };
        Ok(unpacked(&packed).collect())
    }

    /// The same, planned, its kernel loaded and the arrays' addresses on the device, for asynchronous calls: to be launched as often
    /// as the arrays change what they hold, and to be captured in a graph.
    ///
    /// # Errors
    ///
    /// As [`reduce_batch`](Self::reduce_batch).
    pub fn prepare_batch<T: Element + DeviceCopy, R: Reduction<T>>(
        &self,
        op: R,
        arrays: &[&DeviceSlice<T>],
    ) -> Result<Batch<R, T>, Error> {
        arrays.iter().try_for_each(|array| self.check_array(array))?;
        let address = |array: &&DeviceSlice<T>| array.as_device_ptr().as_raw();
        let places: Vec<(u64, u64)> = arrays
            .iter()
            .map(|array| (address(array), array.len() as u64))
            .collect();
        self.prepare_batch_raw(op, &places)
    }

    /// The same by device addresses, each with the number of elements there, such as other frameworks' tensors.
    ///
    /// # Errors
    ///
    /// As [`prepare_batch`](Self::prepare_batch), and [`Error::Misaligned`] for an address that is no multiple of an element's bytes.
    pub fn prepare_batch_raw<T: Element, R: Reduction<T>>(
        &self,
        op: R,
        arrays: &[(u64, u64)],
    ) -> Result<Batch<R, T>, Error> {
        let segments = Segments::by_lens(arrays.iter().map(|(_, len)| *len))?;
        let addresses: Vec<u64> = arrays.iter().map(|(address, _)| *address).collect();
        for address in &addresses {
            check_alignment(*address, size_of::<T>())?;
        }
        let ready = Ready::segments(self, &AnyOp::of::<T, R>(op), &segments, &addresses)?;
        Ok(Batch(Prepared::of(op, ready)))
    }
}

/// A fold of many arrays, ready to be launched: made by [`Gpu::prepare_batch`].
pub struct Batch<R, T>(Prepared<R, T>);

impl<R: Reduction<T>, T: Element> Batch<R, T> {
    /// What will be launched.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        self.0.plan()
    }

    /// A workspace that fits, as [`Prepared::workspace`].
    ///
    /// # Errors
    ///
    /// As [`Prepared::workspace`].
    pub fn workspace(&self) -> Result<Workspace, Error> {
        self.0.workspace()
    }

    /// Enqueues the fold on `stream`; the answer of array `i` goes to `answers[i]`. Does not wait.
    ///
    /// # Errors
    ///
    /// [`Error::OutputTooSmall`] where `answers` has fewer places than there are arrays; otherwise as [`Prepared::launch`]. Nothing is
    /// enqueued then.
    ///
    /// # Safety
    ///
    /// As [`Prepared::launch`], for each of the arrays that were named when this was prepared.
    pub unsafe fn launch(
        &self,
        stream: impl Into<RawStream>,
        answers: &mut DeviceSlice<R::Answer>,
        workspace: &mut Workspace,
    ) -> Result<(), Error>
    where
        R::Answer: DeviceCopy,
    {
        self.0.check(std::iter::empty(), answers.len())?;
        // SAFETY: passed on to the caller. No address is made from the input's.
        unsafe {
            self.0
                .launch_raw(stream, [0, 0], answers.as_device_ptr().as_raw(), workspace)
        }
    }
}
