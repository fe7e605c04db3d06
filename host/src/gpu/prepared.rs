//! Asynchronous calls: everything that allocates or waits is done before them.

use std::{marker::PhantomData, mem::ManuallyDrop};

use cust::{
    context::Context,
    device::Device,
    error::CudaError,
    memory::{DeviceBuffer, DeviceCopy, DeviceSlice},
    stream::Stream,
};

use warpfold_kernels::{element::Item, monoids::Words as _};

use super::{
    Gpu,
    launch::{self, Bound},
    ready::Ready,
    status::{self, Status as _},
};
use crate::{Error, operand::DeviceArrays, ops::Reduction, plan::Plan};

/// One operator over one length of items, on one GPU: planned, its kernel loaded. Launch it as often as you like. An item is an element, or
/// [`Two`](crate::ops::element::Two) of them, or one under a mask ([`Masked`](crate::ops::element::Masked)).
///
/// A launch allocates nothing and waits for nothing, so it can be captured in a CUDA graph.
pub struct Prepared<R, I> {
    op: R,
    pub(super) ready: Ready,
    items: PhantomData<fn(I)>,
}

/// Device memory that a launch needs beside its input: a slot for each tile, and the tickets.
///
/// It serves any plan it is large enough for, one launch after another on one stream. Launches that may overlap need a
/// workspace each, and so does a captured launch, which is replayed whatever came between. A launch that fails on the device leaves it in disorder:
/// make a new one.
pub struct Workspace {
    words: DeviceMemory<u32>,
    /// Words from the first on that are zero between launches, as tickets are. Those behind may be an earlier plan's slots.
    zeros: usize,
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

    /// Of zeroed words.
    pub(super) fn new(words: DeviceMemory<u32>) -> Self {
        let zeros = words.len();
        Self { words, zeros }
    }

    /// Its address, and how many words a launch must zero first: tickets of the plan where an earlier one had slots.
    pub(super) fn for_launch(&mut self, plan: &Plan, gpu: &Gpu) -> Result<(u64, usize), Error> {
        let address = self.words.of(gpu, plan.workspace_words())?;
        let tickets = plan.ticket_words();
        let to_zero = if tickets > self.zeros { tickets } else { 0 };
        self.zeros = tickets;
        Ok((address, to_zero))
    }
}

impl<R: Reduction<I>, I: Item> Prepared<R, I> {
    /// By that operator, what was made ready for it.
    pub(crate) fn of(op: R, ready: Ready) -> Self {
        let items = PhantomData;
        Self { op, ready, items }
    }

    /// Whether inputs of so many elements and an output of so many answers are what was prepared for.
    pub(super) fn check(&self, inputs: impl Iterator<Item = usize>, answers: usize) -> Result<(), Error> {
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

    /// The same, launched early: CUDA's programmatic dependent launch. Its blocks may start while the kernel before it on the stream still
    /// runs. They touch no memory until all that this kernel wrote is seen, so no bit changes. A graph keeps it.
    ///
    /// What is saved is the latency of a launch, if the kernel before lets others start: those that are launched early here do. Behind others, and
    /// the first of a stream, it is as any launch.
    ///
    /// It takes compute capability 9.0, and a kernel built for that: of row operations, sums, means, largest and smallest values, their indices, and
    /// log-sum-exp. All but the first are of f32, f16 and bf16, not in segments, and not under masks. Any other is launched as before.
    #[must_use]
    pub fn early(self) -> Self {
        let ready = self.ready.early();
        Self { ready, ..self }
    }

    /// A workspace that fits, its tickets at zero. Allocates and waits, so not while a stream is captured.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`]; [`Error::Driver`].
    pub fn workspace(&self) -> Result<Workspace, Error> {
        self.ready.workspace()
    }

    /// Enqueues the fold of an array on `stream`, or of two, or of an array and its mask, as was prepared for. The answer goes to `answers[0]`, those
    /// of a fold along axes or in segments to as many places, in C order of the axes that are kept. Does not wait.
    ///
    /// Cost on the host: one driver call to launch and three to check the stream and switch contexts.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] where an array is not as long as prepared, or for a fold along axes too short;
    /// [`Error::OutputTooSmall`] where `answers` has too few places; [`Error::ForeignStream`] where the stream is another
    /// context's; [`Error::WorkspaceTooSmall`]; [`Error::Driver`]. Nothing is enqueued then.
    ///
    /// # Safety
    ///
    /// Until the stream has passed the launch: this `Prepared` lives (of a whole array, another handle of its GPU will do);
    /// the arrays stay allocated and unwritten; `answers` and `workspace` stay allocated and are used by nothing else. For a captured launch this
    /// holds for every launch of the graph. What writes to the arrays before is ordered with `stream`: mind that cust's
    /// `from_slice`, `copy_from` and `zeroed` work on the default stream and may return early.
    pub unsafe fn launch(
        &self,
        stream: &Stream,
        arrays: impl DeviceArrays<I>,
        answers: &mut DeviceSlice<R::Answer>,
        workspace: &mut Workspace,
    ) -> Result<(), Error>
    where
        R::Answer: DeviceCopy,
    {
        let arrays = arrays.each();
        let lens = arrays.iter().flatten().map(|(_, len)| *len);
        self.check(lens, answers.len())?;
        let addresses = arrays.map(|array| array.map_or(0, |(address, _)| address));
        // SAFETY: passed on to the caller; the slices are valid for their lengths.
        unsafe { self.launch_raw(stream, addresses, answers.as_device_ptr().as_raw(), workspace) }
    }

    /// The same by device addresses: of arrays of the prepared length, 0 for a second that there is not; and of `answers`, an answer for each
    /// extent, packed, at a multiple of what one is aligned to.
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
        arrays: [u64; 2],
        answers: u64,
        workspace: &mut Workspace,
    ) -> Result<(), Error> {
        // SAFETY: passed on to the caller.
        unsafe { self.ready.launch_at(stream, (arrays, 0), answers, workspace) }
    }
}
