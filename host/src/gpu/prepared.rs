//! Asynchronous calls: everything that allocates or waits is done before them.

use std::{marker::PhantomData, mem::ManuallyDrop};

use cust::{
    context::Context,
    device::Device,
    error::CudaError,
    memory::{DeviceBuffer, DeviceCopy, DeviceSlice},
    stream::Stream,
};

use warpfold_kernels::{
    element::{Element, Item, Masked, Two},
    monoids::Words as _,
};

use super::{
    Gpu,
    launch::{self, Bound},
    ready::Ready,
    status::{self, Status as _},
};
use crate::{
    Error,
    layout::{Extents, Layout, Segments},
    ops::{EmptyInput as _, MaskElement, Reduction, TakesMask, Where},
    plan::Plan,
};

/// One operator over one length of elements of one type, of one array or of two (`T` is [`Two`] then) or of an array and its mask ([`Masked`]), on one GPU: planned, its kernel loaded. Launch it as often as you like.
///
/// A launch allocates nothing and waits for nothing, so it can be captured in a CUDA graph.
pub struct Prepared<R, T> {
    op: R,
    pub(super) ready: Ready,
    elements: PhantomData<fn(T)>,
}

/// Device memory that a launch needs beside its input: a slot for each tile, and the tickets.
///
/// It serves any plan it is large enough for, one launch after another on one stream. Launches that may overlap need a
/// workspace each. A launch that fails on the device leaves it in disorder: make a new one.
pub struct Workspace {
    pub(super) words: DeviceMemory<u32>,
}

/// Memory of a device, which may be dropped on any thread.
pub(super) struct DeviceMemory<T: DeviceCopy> {
    /// Dropped in its context, by `Drop`.
    words: ManuallyDrop<DeviceBuffer<T>>,
    /// Retained, so that the memory outlives the [`Gpu`]; not the `Gpu` itself, which keeps a workspace of its own.
    context: Context,
}

impl<T: DeviceCopy> DeviceMemory<T> {
    /// What `make` allocates, `bytes` bytes, and what it fills it with is there.
    pub(super) fn new(
        gpu: &Gpu,
        bytes: usize,
        make: impl FnOnce() -> Result<DeviceBuffer<T>, CudaError>,
    ) -> Result<Self, Error> {
        let device = Device::get_device(gpu.facts().index as u32).or_fail("cuDeviceGet")?;
        let context = launch::retain(device)?;
        let _bound = Bound::to(gpu.context())?;
        let words = make().map_err(|error| status::memory(bytes, error))?;
        launch::wait_for_default_stream()?;
        let words = ManuallyDrop::new(words);
        Ok(Self { words, context })
    }

    pub(super) fn address(&self) -> u64 {
        self.words.as_device_ptr().as_raw()
    }

    pub(super) fn len(&self) -> usize {
        self.words.len()
    }
}

impl DeviceMemory<u32> {
    /// The address, if it is of that GPU and has as many words as are `needed`.
    pub(super) fn of(&self, gpu: &Gpu, needed: usize) -> Result<u64, Error> {
        let address = self.address();
        if self.context.as_raw() != gpu.context().as_raw() {
            let index = gpu.facts().index;
            Err(Error::ForeignMemory { address, index })
        } else if self.len() >= needed {
            Ok(address)
        } else {
            Err(Error::WorkspaceTooSmall {
                needed: 4 * needed,
                got: 4 * self.len(),
            })
        }
    }
}

impl<T: DeviceCopy> Drop for DeviceMemory<T> {
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
        self.words.of(gpu, plan.workspace_words())
    }
}

impl<R: Reduction<T>, T: Item> Prepared<R, T> {
    /// Of a whole array.
    pub(super) fn new(gpu: &Gpu, op: R, plan: Plan) -> Result<Self, Error> {
        op.check_extent(plan.len)?;
        Ok(Self::of(op, Ready::whole(gpu, op.params(plan.entry), plan)?))
    }

    /// Along axes, each array with its layout, of which `extents` were made.
    pub(super) fn along(gpu: &Gpu, op: R, layouts: &[&Layout], extents: &[Extents]) -> Result<Self, Error> {
        op.check()?;
        if extents[0].count > 0 {
            op.check_extent(extents[0].len)?;
        }
        let plan = Plan::along_all(op.kernel()?, extents)?;
        Ok(Self::of(
            op,
            Ready::along(gpu, op.params(plan.entry), plan, layouts, extents)?,
        ))
    }

    /// Of an array in segments, or where there are `addresses` of arrays that lie apart.
    pub(super) fn segments(gpu: &Gpu, op: R, segments: &Segments, addresses: &[u64]) -> Result<Self, Error> {
        op.check_segments(segments)?;
        let plan = Plan::segments(op.kernel()?, segments.len(), segments.count() as u64)?;
        let ready = Ready::segments(gpu, op.params(plan.entry), plan, segments, addresses)?;
        Ok(Self::of(op, ready))
    }

    /// Of an array in segments whose offsets come with each launch.
    pub(super) fn segmented(gpu: &Gpu, op: R, len: u64, count: u64) -> Result<Self, Error> {
        op.check()?;
        let plan = Plan::segments(op.kernel()?, len, count)?;
        Ok(Self::of(op, Ready::segmented(gpu, op.params(plan.entry), plan)?))
    }

    fn of(op: R, ready: Ready) -> Self {
        let elements = PhantomData;
        Self { op, ready, elements }
    }

    /// Whether inputs of so many elements and an output of so many answers are what was prepared for.
    pub(super) fn check(&self, inputs: &[usize], answers: usize) -> Result<(), Error> {
        const {
            assert!(
                size_of::<R::Answer>() == R::Answer::COUNT * R::Answer::UNIT,
                "answers are packed"
            )
        };
        self.ready.check(inputs, answers)
    }

    /// What will be launched.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.ready.plan
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
        self.ready.workspace()
    }
}

impl<R: Reduction<T>, T: Element> Prepared<R, T> {
    /// Enqueues the fold of `input` on `stream`; the answer goes to `answer[0]`, those of a fold along axes or in segments to as
    /// many places, in C order of the axes that are kept. Does not wait.
    ///
    /// Cost on the host: one driver call to launch and three to check the stream and switch contexts.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] where `input` is not as long as prepared, or for a fold along axes too short;
    /// [`Error::OutputTooSmall`] where `answer` has too few places; [`Error::ForeignStream`] where the stream is another
    /// context's; [`Error::WorkspaceTooSmall`]; [`Error::Driver`]. Nothing is enqueued then.
    ///
    /// # Safety
    ///
    /// Until the stream has passed the launch: this `Prepared` lives (of a whole array, another handle of its GPU will do);
    /// `input` stays allocated and unwritten; `answer` and `workspace` stay allocated and are used by nothing else. For a captured launch this
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
        self.check(&[input.len()], answer.len())?;
        let (input, answer) = (input.as_device_ptr().as_raw(), answer.as_device_ptr().as_raw());
        // SAFETY: passed on to the caller; the slices are valid for their lengths.
        unsafe { self.launch_raw(stream, input, answer, workspace) }
    }

    /// The same by device addresses: `input` of the prepared length, `answer` of an answer for each extent, packed, and a multiple
    /// of what one is aligned to.
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
        // SAFETY: passed on to the caller.
        unsafe { self.ready.launch_at(stream, ([input, 0], 0), answer, workspace) }
    }
}

impl<R: Reduction<Two<T>>, T: Element> Prepared<R, Two<T>> {
    /// Enqueues the fold of two arrays on `stream`, as [`launch`](Prepared::launch) does that of one.
    ///
    /// # Errors
    ///
    /// As [`launch`](Prepared::launch), for each array.
    ///
    /// # Safety
    ///
    /// As [`launch`](Prepared::launch), for each array.
    pub unsafe fn launch_pair(
        &self,
        stream: &Stream,
        first: &DeviceSlice<T>,
        second: &DeviceSlice<T>,
        answer: &mut DeviceSlice<R::Answer>,
        workspace: &mut Workspace,
    ) -> Result<(), Error>
    where
        T: DeviceCopy,
        R::Answer: DeviceCopy,
    {
        self.check(&[first.len(), second.len()], answer.len())?;
        let inputs = [first, second].map(|input| input.as_device_ptr().as_raw());
        // SAFETY: passed on to the caller; the slices are valid for their lengths.
        unsafe { self.launch_pair_raw(stream, inputs, answer.as_device_ptr().as_raw(), workspace) }
    }

    /// The same by device addresses.
    ///
    /// # Errors
    ///
    /// As [`launch_raw`](Prepared::launch_raw).
    ///
    /// # Safety
    ///
    /// As [`launch_raw`](Prepared::launch_raw), for each array.
    pub unsafe fn launch_pair_raw(
        &self,
        stream: &Stream,
        inputs: [u64; 2],
        answer: u64,
        workspace: &mut Workspace,
    ) -> Result<(), Error> {
        // SAFETY: passed on to the caller.
        unsafe { self.ready.launch_at(stream, (inputs, 0), answer, workspace) }
    }
}

impl<Op: TakesMask, T: Element> Prepared<Where<Op>, Masked<T>>
where
    Where<Op>: Reduction<Masked<T>>,
{
    /// Enqueues the fold of what `mask` selects of `input` on `stream`, as [`launch`](Prepared::launch) does that of all of it.
    ///
    /// # Errors
    ///
    /// As [`launch`](Prepared::launch), for array and mask.
    ///
    /// # Safety
    ///
    /// As [`launch`](Prepared::launch), for array and mask.
    pub unsafe fn launch_where<B: MaskElement + DeviceCopy>(
        &self,
        stream: &Stream,
        input: &DeviceSlice<T>,
        mask: &DeviceSlice<B>,
        answer: &mut DeviceSlice<<Where<Op> as Reduction<Masked<T>>>::Answer>,
        workspace: &mut Workspace,
    ) -> Result<(), Error>
    where
        T: DeviceCopy,
        <Where<Op> as Reduction<Masked<T>>>::Answer: DeviceCopy,
    {
        self.check(&[input.len(), mask.len()], answer.len())?;
        let inputs = [input.as_device_ptr().as_raw(), mask.as_device_ptr().as_raw()];
        // SAFETY: passed on to the caller; the slices are valid for their lengths.
        unsafe { self.launch_where_raw(stream, inputs, answer.as_device_ptr().as_raw(), workspace) }
    }

    /// The same by device addresses.
    ///
    /// # Errors
    ///
    /// As [`launch_raw`](Prepared::launch_raw).
    ///
    /// # Safety
    ///
    /// As [`launch_raw`](Prepared::launch_raw), for array and mask.
    pub unsafe fn launch_where_raw(
        &self,
        stream: &Stream,
        inputs: [u64; 2],
        answer: u64,
        workspace: &mut Workspace,
    ) -> Result<(), Error> {
        // SAFETY: passed on to the caller.
        unsafe { self.ready.launch_at(stream, (inputs, 0), answer, workspace) }
    }
}
