//! Folds in segments whose offsets are in device memory, and may be others in each launch.

use cust::memory::{DeviceCopy, DeviceSlice};
use warpfold_kernels::element::Element;

use super::{Gpu, Prepared, RawStream, Workspace, launch::check_alignment, ready::Ready};
use crate::{
    Error, OffsetFault, Plan,
    ops::{AnyOp, Reduction},
};

impl Gpu {
    /// A fold in `count` segments of an array that has room for `len` elements, planned and its kernel loaded, for asynchronous calls:
    /// each launch brings the segments' offsets, which are in device memory and which the host never sees. They may be made by another
    /// kernel on the same stream, and may change from one replay of a graph to the next.
    ///
    /// Each answer has the bits that [`reduce_segments`](Self::reduce_segments) gives. Nobody can look for empty segments beforehand:
    /// one of an operator that has no answer over nothing has what nothing at all folds to, as under a mask that selects nothing: of a
    /// maximum or a minimum NaN, or of integers the lowest or the highest number there is, and of an index
    /// [`NO_INDEX`](crate::ops::NO_INDEX).
    ///
    /// For offsets that are to be checked, copy them: [`Segments::by_offsets`](crate::layout::Segments::by_offsets) names what is
    /// wrong with them.
    ///
    /// # Errors
    ///
    /// As [`prepare`](Self::prepare); [`Error::LengthOverflow`]; [`Error::GridOverflow`].
    pub fn prepare_segmented<T: Element, R: Reduction<T>>(
        &self,
        op: R,
        len: u64,
        count: u64,
    ) -> Result<Segmented<R, T>, Error> {
        let ready = Ready::segmented(self, &AnyOp::of::<T, R>(op), len, count)?;
        Ok(Segmented(Prepared::of(op, ready)))
    }
}

/// A fold in segments whose offsets come with each launch: made by [`Gpu::prepare_segmented`].
pub struct Segmented<R, T>(Prepared<R, T>);

impl<R: Reduction<T>, T: Element> Segmented<R, T> {
    /// What will be launched. It depends on how many elements and segments there are, not on the segments' lengths.
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

    /// Enqueues the fold of `input` on `stream`, segment `s` from element `offsets[s]` on up to `offsets[s + 1]`; its answer goes to
    /// `answers[s]`. Elements before the first offset and from the last on are left out. Does not wait.
    ///
    /// # Errors
    ///
    /// [`Error::Offset`] where there are fewer offsets than one more than segments; otherwise as [`Prepared::launch`]. Nothing is
    /// enqueued then.
    ///
    /// # Safety
    ///
    /// As [`Prepared::launch`], for `offsets` as for `input`; and when the launch runs no offset is less than the one before, and the
    /// last is at most the length that this was prepared for.
    pub unsafe fn launch(
        &self,
        stream: impl Into<RawStream>,
        input: &DeviceSlice<T>,
        offsets: &DeviceSlice<u64>,
        answers: &mut DeviceSlice<R::Answer>,
        workspace: &mut Workspace,
    ) -> Result<(), Error>
    where
        T: DeviceCopy,
        R::Answer: DeviceCopy,
    {
        self.0.check([input.len()].into_iter(), answers.len())?;
        if (offsets.len() as u64) < self.plan().count + 1 {
            return Err(Error::Offset {
                at: offsets.len(),
                fault: OffsetFault::Missing,
            });
        }
        let [input, offsets] = [input.as_device_ptr().as_raw(), offsets.as_device_ptr().as_raw()];
        // SAFETY: passed on to the caller; the slices are valid for their lengths.
        unsafe { self.launch_raw(stream, input, offsets, answers.as_device_ptr().as_raw(), workspace) }
    }

    /// The same by device addresses; offsets are u64, or i64 of which none is negative.
    ///
    /// # Errors
    ///
    /// As [`launch`](Self::launch), and [`Error::Misaligned`].
    ///
    /// # Safety
    ///
    /// As [`launch`](Self::launch); the addresses are valid in this GPU's context.
    pub unsafe fn launch_raw(
        &self,
        stream: impl Into<RawStream>,
        input: u64,
        offsets: u64,
        answers: u64,
        workspace: &mut Workspace,
    ) -> Result<(), Error> {
        check_alignment(offsets, size_of::<u64>())?;
        // SAFETY: passed on to the caller.
        unsafe {
            self.0
                .ready
                .launch_at(stream, ([input, 0], offsets), answers, workspace)
        }
    }
}
