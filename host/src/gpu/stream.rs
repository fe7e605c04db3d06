//! Streams, whoever made them.

use cust::{context::CurrentContext, stream::Stream, sys::CUstream};
use warpfold_driver::sys;

use super::{
    Gpu,
    context::Bound,
    status::{Status as _, check},
};
use crate::Error;

/// A stream by its handle: one of cust's, of another library's, or one of the two that each context has.
///
/// ```no_run
/// # use warpfold::gpu::RawStream;
/// # fn handle() -> u64 { 0 }
/// // `torch.cuda.current_stream().cuda_stream`; 0 is the null stream.
/// let stream = unsafe { RawStream::from_raw(handle()) };
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RawStream(usize);

/// CU_STREAM_PER_THREAD
const PER_THREAD: usize = 2;

impl RawStream {
    /// The null stream of the GPU's context, which others that block wait for: most libraries' usual one.
    pub const NULL: Self = Self(0);
    /// The calling thread's own.
    pub const PER_THREAD: Self = Self(PER_THREAD);

    /// A stream by the driver's handle, a `CUstream` or a `cudaStream_t`.
    ///
    /// # Safety
    ///
    /// The handle is of a stream that lives as long as this is used, or of one that each context has.
    #[must_use]
    pub unsafe fn from_raw(handle: u64) -> Self {
        Self(handle as usize)
    }

    /// The driver's handle.
    #[must_use]
    pub fn as_raw(self) -> u64 {
        self.0 as u64
    }

    pub(super) fn as_inner(self) -> CUstream {
        self.0 as CUstream
    }

    /// Whether it is one that each context has.
    pub(super) fn is_any_contexts(self) -> bool {
        self.0 <= PER_THREAD
    }
}

impl From<&Stream> for RawStream {
    fn from(stream: &Stream) -> Self {
        Self(stream.as_inner() as usize)
    }
}

impl Gpu {
    /// Waits for all that was enqueued on the device by this process.
    ///
    /// # Errors
    ///
    /// [`Error::Driver`]: of an earlier launch, too.
    pub fn synchronize(&self) -> Result<(), Error> {
        let _bound = Bound::to(self.context())?;
        CurrentContext::synchronize().or_fail("cuCtxSynchronize")
    }

    /// Runs what plans a launch, while a stream is captured in a graph: it allocates, copies and loads, which the driver refuses meanwhile unless it is told that
    /// none of it belongs to the graph. What is captured must be on a stream that does not wait for the null stream.
    ///
    /// # Errors
    ///
    /// [`Error::Driver`].
    pub fn while_capturing<R>(&self, plan: impl FnOnce() -> R) -> Result<R, Error> {
        /// CU_STREAM_CAPTURE_MODE_RELAXED
        const RELAXED: u32 = 2;
        let _bound = Bound::to(self.context())?;
        let _before = CaptureMode(exchange_capture_mode(RELAXED)?);
        Ok(plan())
    }

    /// Whether launches on that stream are being captured in a graph.
    ///
    /// # Errors
    ///
    /// [`Error::Driver`].
    pub fn is_capturing(&self, stream: RawStream) -> Result<bool, Error> {
        let _bound = Bound::to(self.context())?;
        let mut status = 0;
        // SAFETY: whoever made it a `RawStream` says that it lives; writes one number.
        check("cuStreamIsCapturing", unsafe {
            sys::cuStreamIsCapturing(stream.as_inner().cast(), &mut status)
        })?;
        Ok(status != 0)
    }
}

/// What a thread's capture mode was: it is so again once this is dropped, though what it was changed for panics.
struct CaptureMode(u32);

impl Drop for CaptureMode {
    fn drop(&mut self) {
        // A driver that does not take it says so at the next call.
        let _ = exchange_capture_mode(self.0);
    }
}

fn exchange_capture_mode(mut mode: u32) -> Result<u32, Error> {
    // SAFETY: reads and writes one number, which outlives the call.
    let code = unsafe { sys::cuThreadExchangeStreamCaptureMode(&mut mode) };
    check("cuThreadExchangeStreamCaptureMode", code).map(|()| mode)
}
