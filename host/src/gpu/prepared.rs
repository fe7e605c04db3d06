//! Asynchronous calls: everything that allocates or waits is done before them.

use std::{marker::PhantomData, mem::ManuallyDrop};

use cust::{
    context::Context,
    device::Device,
    memory::{DeviceBuffer, DeviceCopy, DeviceSlice},
    stream::Stream,
};

use warpfold_kernels::element::Element;

use super::{
    Gpu,
    launch::{self, Bound, Function, Launch},
    status::{self, Status as _},
};
use crate::{Error, ops::Reduction, plan::Plan};

/// One operator over one length of elements of one type on one GPU: planned, its kernel loaded. Launch it as often as you like.
///
/// A launch allocates nothing and waits for nothing, so it can be captured in a CUDA graph.
pub struct Prepared<R, T> {
    gpu: Gpu,
    op: R,
    plan: Plan,
    function: Function,
    elements: PhantomData<fn(T)>,
}

/// Device memory that a launch needs beside its input: a slot for each tile, and the tickets.
///
/// It serves any plan it is large enough for, one launch after another on one stream. Launches that may overlap need a
/// workspace each. A launch that fails on the device leaves it in disorder: make a new one.
pub struct Workspace {
    /// Dropped in its context, by `Drop`.
    words: ManuallyDrop<DeviceBuffer<u32>>,
    /// Retained, so that the memory outlives the [`Gpu`]; not the `Gpu` itself, which keeps a workspace of its own.
    context: Context,
}

impl Drop for Workspace {
    fn drop(&mut self) {
        // cust frees in whatever context is current, and on a thread that has none it frees nothing.
        if let Ok(_bound) = Bound::to(&self.context) {
            // SAFETY: dropped once, here.
            unsafe { ManuallyDrop::drop(&mut self.words) }
        }
    }
}

impl Workspace {
    /// Whether it is large enough for `plan`.
    #[must_use]
    pub fn fits(&self, plan: &Plan) -> bool {
        self.words.len() >= plan.workspace_words()
    }

    /// Its size in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        4 * self.words.len()
    }

    pub(super) fn for_launch(&mut self, plan: &Plan, gpu: &Gpu) -> Result<u64, Error> {
        let address = self.words.as_device_ptr().as_raw();
        if self.context.as_raw() != gpu.context().as_raw() {
            let index = gpu.facts().index;
            Err(Error::ForeignMemory { address, index })
        } else if self.fits(plan) {
            Ok(address)
        } else {
            Err(Error::WorkspaceTooSmall {
                needed: 4 * plan.workspace_words(),
                got: self.bytes(),
            })
        }
    }
}

impl<R: Reduction<T>, T: Element> Prepared<R, T> {
    pub(super) fn new(gpu: &Gpu, op: R, plan: Plan) -> Result<Self, Error> {
        op.check_extent(plan.len)?;
        if plan.len > (isize::MAX as u64) / size_of::<T>() as u64 {
            return Err(Error::LengthOverflow {
                elements: plan.len,
                element_bytes: size_of::<T>(),
            });
        }
        let _bound = Bound::to(gpu.context())?;
        let function = gpu.inner.modules.function(plan.entry)?;
        Ok(Self {
            gpu: gpu.clone(),
            op,
            plan,
            function,
            elements: PhantomData,
        })
    }

    /// What will be launched.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The operator.
    #[must_use]
    pub fn op(&self) -> R {
        self.op
    }

    /// A workspace that fits, its tickets at zero. Allocates and waits, so not while a stream is captured.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`]; [`Error::Driver`].
    pub fn workspace(&self) -> Result<Workspace, Error> {
        let device = Device::get_device(self.gpu.facts().index as u32).or_fail("cuDeviceGet")?;
        let context = launch::retain(device)?;
        let _bound = Bound::to(self.gpu.context())?;
        let count = self.plan.workspace_words();
        let words = DeviceBuffer::zeroed(count).map_err(|error| status::memory(4 * count, error))?;
        launch::wait_for_default_stream()?;
        let words = ManuallyDrop::new(words);
        Ok(Workspace { words, context })
    }

    /// Enqueues the fold of `input` on `stream`; the answer goes to `answer[0]`. Does not wait.
    ///
    /// Cost on the host: one driver call to launch and three to check the stream and switch contexts.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] where `input` is not as long as prepared; [`Error::OutputTooSmall`] for an empty
    /// `answer`; [`Error::ForeignStream`] where the stream is another context's; [`Error::WorkspaceTooSmall`];
    /// [`Error::Driver`]. Nothing is enqueued then.
    ///
    /// # Safety
    ///
    /// Until the stream has passed the launch: this `Prepared` or another handle of its GPU lives; `input` stays allocated
    /// and unwritten; `answer` and `workspace` stay allocated and are used by nothing else. For a captured launch this
    /// holds for every launch of the graph. What writes to `input` before is ordered with `stream`: mind that cust's
    /// `from_slice`, `copy_from` and `zeroed` work on the default stream and may return early.
    pub unsafe fn launch(
        &self,
        stream: &Stream,
        input: &DeviceSlice<T>,
        answer: &mut DeviceSlice<R::Answer>,
        workspace: &mut Workspace,
    ) -> Result<(), Error>
    where
        T: DeviceCopy,
        R::Answer: DeviceCopy,
    {
        if input.len() as u64 != self.plan.len {
            return Err(Error::LengthMismatch {
                prepared: self.plan.len,
                got: input.len() as u64,
            });
        }
        if answer.is_empty() {
            return Err(Error::OutputTooSmall { needed: 1, got: 0 });
        }
        let (input, answer) = (input.as_device_ptr().as_raw(), answer.as_device_ptr().as_raw());
        // SAFETY: passed on to the caller; the slices are valid for their lengths.
        unsafe { self.launch_raw(stream, input, answer, workspace) }
    }

    /// The same by device addresses: `input` of the prepared length, `answer` of one answer, a multiple of 4.
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
        stream: &Stream,
        input: u64,
        answer: u64,
        workspace: &mut Workspace,
    ) -> Result<(), Error> {
        launch::check_stream(stream.as_inner(), self.gpu.context())?;
        let _bound = Bound::to(self.gpu.context())?;
        launch::check_alignment(answer, 4)?;
        let stream = stream.as_inner();
        // SAFETY: passed on to the caller.
        unsafe {
            self.enqueue(Launch {
                gpu: &self.gpu,
                stream,
                input,
                workspace,
                answer,
                state: 0,
            })
        }
    }

    /// # Safety
    ///
    /// As [`launch::launch`].
    pub(super) unsafe fn enqueue(&self, launch: Launch<'_>) -> Result<(), Error> {
        // SAFETY: the function is this plan's, and `gpu` keeps its module loaded; the rest is passed on.
        unsafe { launch::launch(self.function, &self.plan, self.op.parameter(), launch) }
    }
}
