//! Asynchronous calls: everything that allocates or waits is done before them.

use std::{marker::PhantomData, mem::ManuallyDrop};

use cust::{
    context::Context,
    device::Device,
    error::CudaError,
    memory::{DeviceBuffer, DeviceCopy, DeviceSlice},
    stream::Stream,
};

use warpfold_kernels::{element::Element, kernels::Kernel, monoids::Words as _};

use super::{
    Gpu,
    launch::{self, Bound, Function, Launch, Place},
    status::{self, Status as _},
};
use crate::{
    Error,
    layout::{Axes, Extents, Layout, Segments},
    ops::{OverNothing as _, Reduction},
    plan::Plan,
};

/// One operator over one length of elements of one type on one GPU: planned, its kernel loaded. Launch it as often as you like.
///
/// A launch allocates nothing and waits for nothing, so it can be captured in a CUDA graph.
pub struct Prepared<R, T> {
    gpu: Gpu,
    op: R,
    plan: Plan,
    place: Place,
    function: Function,
    elements: PhantomData<fn(T)>,
}

/// Device memory that a launch needs beside its input: a slot for each tile, and the tickets.
///
/// It serves any plan it is large enough for, one launch after another on one stream. Launches that may overlap need a
/// workspace each. A launch that fails on the device leaves it in disorder: make a new one.
pub struct Workspace {
    words: DeviceMemory<u32>,
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
    fn new(gpu: &Gpu, bytes: usize, make: impl FnOnce() -> Result<DeviceBuffer<T>, CudaError>) -> Result<Self, Error> {
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
        self.words.words.len() >= plan.workspace_words()
    }

    /// Its size in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        4 * self.words.words.len()
    }

    pub(super) fn for_launch(&mut self, plan: &Plan, gpu: &Gpu) -> Result<u64, Error> {
        let address = self.words.address();
        if self.words.context.as_raw() != gpu.context().as_raw() {
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
    /// Of a whole array.
    pub(super) fn new(gpu: &Gpu, op: R, plan: Plan) -> Result<Self, Error> {
        op.check_extent(plan.len)?;
        let place = Place {
            first: 0,
            stride: 0,
            step: 1,
            layout: None,
            reach: (0, plan.len),
        };
        Self::at(gpu, op, plan, place)
    }

    /// Of an array along axes.
    pub(super) fn along(gpu: &Gpu, op: R, layout: &Layout, axes: &Axes) -> Result<Self, Error> {
        let extents = Extents::new(layout, axes)?;
        op.check()?;
        if extents.count > 0 {
            op.check_extent(extents.len)?;
        }
        let plan = Plan::along(op.entry(), &extents)?;
        let dimensions = extents.has_several().then(|| {
            let numbers = extents.dimensions();
            DeviceMemory::new(gpu, 8 * numbers.len(), || DeviceBuffer::from_slice(&numbers))
        });
        let place = Place {
            first: extents.offset,
            stride: extents.stride(),
            step: extents.stride_within(),
            layout: dimensions.transpose()?,
            reach: layout.reach().unwrap_or((0, 0)),
        };
        Self::at(gpu, op, plan, place)
    }

    /// Of an array in segments, or where there are `addresses` of arrays that lie apart.
    pub(super) fn segments(gpu: &Gpu, op: R, segments: &Segments, addresses: &[u64]) -> Result<Self, Error> {
        op.check_segments(segments)?;
        let plan = Plan::segments(op.entry(), segments.len(), segments.count() as u64)?;
        let numbers = [segments.offsets(), addresses].concat();
        let numbers = DeviceMemory::new(gpu, 8 * numbers.len(), || DeviceBuffer::from_slice(&numbers))?;
        let place = Place {
            first: 0,
            stride: 0,
            step: i64::from(!addresses.is_empty()),
            layout: Some(numbers),
            reach: (0, segments.len()),
        };
        Self::at(gpu, op, plan, place)
    }

    fn at(gpu: &Gpu, op: R, plan: Plan, place: Place) -> Result<Self, Error> {
        if place.reach.1 > (isize::MAX as u64) / size_of::<T>() as u64 {
            return Err(Error::LengthOverflow {
                elements: place.reach.1,
                element_bytes: size_of::<T>(),
            });
        }
        let _bound = Bound::to(gpu.context())?;
        let function = gpu.inner.modules.function(plan.entry)?;
        Ok(Self {
            gpu: gpu.clone(),
            op,
            plan,
            place,
            function,
            elements: PhantomData,
        })
    }

    /// What will be launched.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Whether it folds all of its input, an element after the other, to one answer or in segments.
    fn is_whole(&self) -> bool {
        let one_run = self.plan.count == 1 && self.place.step == 1;
        self.place.reach == (0, self.plan.len) && (one_run || self.plan.entry.kernel == Kernel::Segments)
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
        let count = self.plan.workspace_words();
        let words = DeviceMemory::new(&self.gpu, 4 * count, || DeviceBuffer::zeroed(count))?;
        Ok(Workspace { words })
    }

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
        const {
            assert!(
                size_of::<R::Answer>() == R::Answer::COUNT * R::Answer::UNIT,
                "answers are packed"
            )
        };
        let (needed, got) = (self.place.reach.1, input.len() as u64);
        let fits = if self.is_whole() { got == needed } else { got >= needed };
        if !fits {
            return Err(Error::LengthMismatch { prepared: needed, got });
        }
        if (answer.len() as u64) < self.plan.count {
            return Err(Error::OutputTooSmall {
                needed: self.plan.count as usize,
                got: answer.len(),
            });
        }
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
        launch::check_stream(stream.as_inner(), self.gpu.context())?;
        let _bound = Bound::to(self.gpu.context())?;
        launch::check_alignment(answer, R::Answer::UNIT)?;
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
        if self.plan.count == 0 {
            return Ok(());
        }
        // SAFETY: the function is this plan's, and `gpu` keeps its module loaded; the rest is passed on.
        unsafe { launch::launch(self.function, &self.plan, self.op.parameter(), &self.place, launch) }
    }
}
