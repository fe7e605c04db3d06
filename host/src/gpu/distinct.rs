//! Numbers of distinct elements.

use std::marker::PhantomData;

use bytemuck::NoUninit;
use cust::{
    memory::{DeviceCopy, DeviceSlice},
    sys::CUstream,
};
use warpfold_distinct::{LIBRARY, Params, equality::Equality};
use warpfold_driver::sys;
use warpfold_kernels::{
    element::Element,
    kernels::{self, Array},
};

use super::{
    Gpu, RawStream, Workspace,
    blocking::{download, room_for, upload},
    context::Bound,
    launch::{self, Function, device},
    memory::DeviceMemory,
    ready::{self, Strides},
    status::check,
};
use crate::{
    Error,
    layout::{Axes, Extents, Folded, Layout, Segments},
    plan::{DistinctPlan, distinct::first_slots},
    room::room,
};

/// A count of distinct elements on one GPU: planned, its kernel loaded. Launch it as often as you like.
///
/// A launch allocates nothing and waits for nothing, so it can be captured in a CUDA graph.
pub struct PreparedDistinct<T> {
    gpu: Gpu,
    plan: DistinctPlan,
    strides: Strides,
    /// The dimensions, where there are several; the numbers of segments.
    layout: Option<DeviceMemory<u64>>,
    /// Elements that the input has, or along axes has at least.
    is_whole: bool,
    function: Function,
    elements: PhantomData<fn(T)>,
}

impl<T: Element> PreparedDistinct<T> {
    fn new(
        gpu: &Gpu,
        plan: DistinctPlan,
        strides: Strides,
        layout: Option<DeviceMemory<u64>>,
        is_whole: bool,
    ) -> Result<Self, Error> {
        strides.check(T::TYPE.bytes())?;
        let _bound = Bound::to(gpu.context())?;
        Ok(Self {
            gpu: gpu.clone(),
            plan,
            strides,
            layout,
            is_whole,
            function: gpu.inner.modules.kernel(&LIBRARY, plan.entry.note())?,
            elements: PhantomData,
        })
    }

    /// What will be launched, and how much memory it takes.
    #[must_use]
    pub fn plan(&self) -> &DistinctPlan {
        &self.plan
    }

    /// A workspace that fits: [`DistinctPlan::workspace_bytes`]. Allocates, so not while a stream is captured.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfMemory`]; [`Error::Driver`].
    pub fn workspace(&self) -> Result<Workspace, Error> {
        Workspace::new(&self.gpu, self.plan.workspace_words() as u64, 0)
    }

    /// Enqueues the count of `input` on `stream`: it clears the workspace and the answers, and launches one kernel. The answer goes to
    /// `answers[0]`, those along axes or of segments to as many places, in C order of the axes that are kept. Does not wait.
    ///
    /// # Errors
    ///
    /// [`Error::LengthMismatch`] where `input` is not as long as prepared, or along axes too short; [`Error::OutputTooSmall`] where
    /// `answers` has too few places; [`Error::ForeignStream`] where the stream is another context's; [`Error::ForeignMemory`] where the
    /// workspace is; [`Error::WorkspaceTooSmall`]; [`Error::Driver`]. Nothing is enqueued then, unless it is the driver's own.
    ///
    /// # Safety
    ///
    /// Until the stream has passed the launch: this `PreparedDistinct` lives; `input` stays allocated and unwritten; `answers` and
    /// `workspace` stay allocated and are used by nothing else. For a captured launch this holds for every launch of the graph. What writes
    /// to `input` before is ordered with `stream`.
    pub unsafe fn launch(
        &self,
        stream: impl Into<RawStream>,
        input: &DeviceSlice<T>,
        answers: &mut DeviceSlice<u64>,
        workspace: &mut Workspace,
    ) -> Result<(), Error>
    where
        T: DeviceCopy,
    {
        let (prepared, got) = (self.strides.reach.1, input.len() as u64);
        if got < prepared || self.is_whole && got > prepared {
            return Err(Error::LengthMismatch { prepared, got });
        }
        ready::check_answers(self.plan.count, answers.len())?;
        let (input, answers) = (input.as_device_ptr().as_raw(), answers.as_device_ptr().as_raw());
        // SAFETY: passed on to the caller; the slices are valid for their lengths.
        unsafe { self.launch_raw(stream, input, answers, workspace) }
    }

    /// The same by device addresses: `input` of the prepared length, `answers` of a u64 for each extent.
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
        answers: u64,
        workspace: &mut Workspace,
    ) -> Result<(), Error> {
        let stream = stream.into();
        let _bound = launch::bind(&self.gpu, stream)?;
        // SAFETY: passed on to the caller.
        unsafe { self.enqueue(stream.as_inner(), input, answers, workspace) }
    }

    /// The context is current.
    ///
    /// # Safety
    ///
    /// As [`launch_raw`](Self::launch_raw).
    unsafe fn enqueue(
        &self,
        stream: CUstream,
        input: u64,
        answers: u64,
        workspace: &mut Workspace,
    ) -> Result<(), Error> {
        let plan = &self.plan;
        launch::check_alignment(input, T::TYPE.bytes())?;
        launch::check_alignment(answers, size_of::<u64>())?;
        let words = plan.workspace_words();
        // SAFETY: passed on to the caller.
        let table = unsafe { workspace.for_launch(&self.gpu, stream, words, 0)? };
        if plan.count == 0 {
            return Ok(());
        }
        let clear = |address, words| {
            // SAFETY: the caller vouches for the answers, and the workspace was found to be large enough.
            let code = unsafe { sys::cuMemsetD32Async(address, 0, words, stream.cast()) };
            check("cuMemsetD32Async", code)
        };
        clear(answers, 2 * plan.count as usize)?;
        if plan.is_empty() {
            return Ok(());
        }
        clear(table, words)?;
        let params = Params {
            order: plan.order,
            equality: Equality::of(T::TYPE),
            slots: plan.slots,
            rows: plan.rows,
        };
        let passed = params.passed(kernels::Launch {
            arrays: [self.strides.at(input, T::TYPE.bytes()), Array::NONE],
            len: plan.len,
            count: plan.count,
            layout: device(self.layout.as_ref().map_or(0, DeviceMemory::address)),
            slots: device(table),
            answer: device(answers),
            ..kernels::Launch::NOTHING
        });
        let shape = [plan.blocks, plan.threads(), 1];
        // SAFETY: the entry has this one parameter; that what it points to is valid is the caller's word.
        unsafe { launch::launch_passing(self.function, shape, stream, passed) }
    }

    /// Launches on the blocking calls' own stream, waits, and brings back the answers.
    ///
    /// # Safety
    ///
    /// The input is valid for what is read of it, and nobody writes that during the call.
    unsafe fn answers(&self, input: u64) -> Result<Vec<u64>, Error> {
        let count = self.plan.count as usize;
        if count == 0 {
            return Ok(vec![]);
        }
        let mut workspace = self.workspace()?;
        let _bound = Bound::to(self.gpu.context())?;
        let answers = room_for(8 * count)?;
        self.gpu.enqueue_and_wait(|stream| {
            let to = answers.as_device_ptr().as_raw();
            // SAFETY: the input is the caller's word; workspace and answers are ours alone, and waited for.
            unsafe { self.enqueue(stream.as_inner(), input, to, &mut workspace) }
        })?;
        download(&answers, count as u64)
    }
}

impl Gpu {
    /// A count of the distinct elements among `len`, planned, its kernel loaded, for asynchronous calls.
    ///
    /// # Errors
    ///
    /// [`Error::LengthOverflow`] where elements or table would not fit in the address space; [`Error::NoPtx`], [`Error::StalePtx`],
    /// [`Error::DriverTooOld`], [`Error::Driver`].
    pub fn prepare_distinct<T: Element>(&self, len: u64) -> Result<PreparedDistinct<T>, Error> {
        let strides = Strides::run(len, 1);
        PreparedDistinct::new(self, DistinctPlan::new(T::TYPE, len)?, strides, None, true)
    }

    /// The same of each extent of an array of that layout along axes.
    ///
    /// # Errors
    ///
    /// As [`prepare_distinct`](Self::prepare_distinct); [`Error::NoAxis`], [`Error::AxisTwice`]; [`Error::OutOfBounds`] for a layout that
    /// goes before its memory's start; [`Error::OutOfMemory`].
    pub fn prepare_distinct_axes<T: Element>(
        &self,
        layout: &Layout,
        axes: &Axes,
    ) -> Result<PreparedDistinct<T>, Error> {
        layout.check(i64::MAX as u64)?;
        let extents = Extents::new(layout, axes)?;
        let plan = DistinctPlan::along(T::TYPE, &extents)?;
        let dimensions = extents.has_several().then(|| {
            let numbers = extents.dimensions();
            DeviceMemory::of_numbers(self, &numbers)
        });
        let strides = Strides::of(&extents, layout.reach());
        PreparedDistinct::new(self, plan, strides, dimensions.transpose()?, false)
    }

    /// The same of each segment of an array; the segments' numbers are put on the device.
    ///
    /// # Errors
    ///
    /// As [`prepare_distinct`](Self::prepare_distinct); [`Error::OutOfMemory`].
    pub fn prepare_distinct_segments<T: Element>(&self, segments: &Segments) -> Result<PreparedDistinct<T>, Error> {
        let plan = DistinctPlan::segments(T::TYPE, segments)?;
        let offsets = segments.offsets();
        let mut numbers = room(2 * offsets.len() as u64)?;
        numbers.extend(offsets.iter().copied().chain(first_slots(T::TYPE, segments)));
        let numbers = DeviceMemory::of_numbers(self, &numbers)?;
        let strides = Strides::run(segments.len(), 1);
        PreparedDistinct::new(self, plan, strides, Some(numbers), true)
    }

    /// How many distinct elements an array in device memory has, of any alignment, and waits for the answer. What are the same is said
    /// at [`cpu::distinct`](crate::cpu::distinct), which gives the same number: it is that of a set, so it depends on neither the launch
    /// nor on which thread comes first.
    ///
    /// The elements are put in a hash table in device memory, a slot claimed by one compare-and-swap, which is allocated, cleared and
    /// freed in each call: about twice the bytes of elements of 4 or 8 bytes, see [`DistinctPlan`]. Cost: one reading of the elements; for
    /// each that the block has not just met a look at the table, and for each distinct one a claim, both as fast as memory, or a near
    /// cache of few distinct ones, is at random places; one launch, two fills, one synchronisation.
    ///
    /// # Errors
    ///
    /// As [`prepare_distinct`](Self::prepare_distinct); [`Error::ForeignMemory`] where `input` is not this GPU's;
    /// [`Error::OutOfMemory`] for the table.
    pub fn distinct<T: Element + DeviceCopy>(&self, input: &DeviceSlice<T>) -> Result<u64, Error> {
        self.check_array(input)?;
        // SAFETY: the slice is valid for its length as far as cust's types can tell, and the call waits for the launch.
        unsafe { self.distinct_raw::<T>(input.as_device_ptr().as_raw(), input.len() as u64) }
    }

    /// The same for `len` elements at the device address `input`, such as another framework's tensor.
    ///
    /// # Errors
    ///
    /// As [`distinct`](Self::distinct), and [`Error::Misaligned`] for an address that is no multiple of an element's bytes.
    ///
    /// # Safety
    ///
    /// `input` is valid for reads of `len` elements in this GPU's context, and nobody writes them during the call.
    pub unsafe fn distinct_raw<T: Element>(&self, input: u64, len: u64) -> Result<u64, Error> {
        let prepared = self.prepare_distinct::<T>(len)?;
        // SAFETY: passed on to the caller.
        Ok(unsafe { prepared.answers(input)? }[0])
    }

    /// The same for an array in host memory, all of which is copied to the device.
    ///
    /// # Errors
    ///
    /// As [`distinct`](Self::distinct); [`Error::OutOfMemory`] where array and table do not fit on the device.
    pub fn distinct_host<T: Element + NoUninit>(&self, values: &[T]) -> Result<u64, Error> {
        let _bound = Bound::to(self.context())?;
        let input = upload(bytemuck::cast_slice(values))?;
        // SAFETY: the buffer holds the array, and the call waits.
        unsafe { self.distinct_raw::<T>(input.as_device_ptr().as_raw(), values.len() as u64) }
    }

    /// How many distinct elements each extent of an array in device memory has along axes, and waits for the answers. Each extent has a
    /// table of its own; one launch, whatever the axes and strides. Cost: as [`distinct`](Self::distinct), but elements that recur are
    /// always looked for in the table.
    ///
    /// # Errors
    ///
    /// As [`prepare_distinct_axes`](Self::prepare_distinct_axes); [`Error::OutOfBounds`] where an element lies outside `input`;
    /// [`Error::ForeignMemory`] where `input` is not this GPU's; [`Error::OutOfMemory`] for answers and table.
    pub fn distinct_axes<T: Element + DeviceCopy>(
        &self,
        input: &DeviceSlice<T>,
        layout: &Layout,
        axes: &Axes,
    ) -> Result<Folded<u64>, Error> {
        layout.check(input.len() as u64)?;
        self.check_array(input)?;
        // SAFETY: the elements lie in the slice, which is valid as far as cust's types can tell, and the call waits.
        unsafe { self.distinct_axes_raw::<T>(input.as_device_ptr().as_raw(), layout, axes) }
    }

    /// The same for elements at the device address `input`.
    ///
    /// # Errors
    ///
    /// As [`distinct_axes`](Self::distinct_axes), and [`Error::Misaligned`].
    ///
    /// # Safety
    ///
    /// `input` is valid for reads of all of the layout's elements in this GPU's context, and nobody writes them during the call.
    pub unsafe fn distinct_axes_raw<T: Element>(
        &self,
        input: u64,
        layout: &Layout,
        axes: &Axes,
    ) -> Result<Folded<u64>, Error> {
        let prepared = self.prepare_distinct_axes::<T>(layout, axes)?;
        let shape = Extents::new(layout, axes)?.shape;
        // SAFETY: passed on to the caller.
        let answers = unsafe { prepared.answers(input)? };
        Ok(Folded { shape, answers })
    }

    /// The same for an array in host memory, all of which is copied to the device.
    ///
    /// # Errors
    ///
    /// As [`distinct_axes`](Self::distinct_axes); [`Error::OutOfMemory`] where array and table do not fit on the device.
    pub fn distinct_host_axes<T: Element + NoUninit>(
        &self,
        values: &[T],
        layout: &Layout,
        axes: &Axes,
    ) -> Result<Folded<u64>, Error> {
        layout.check(values.len() as u64)?;
        let _bound = Bound::to(self.context())?;
        let input = upload(bytemuck::cast_slice(values))?;
        // SAFETY: the buffer holds the array, and the call waits.
        unsafe { self.distinct_axes_raw::<T>(input.as_device_ptr().as_raw(), layout, axes) }
    }

    /// How many distinct elements each segment of an array in device memory has, and waits for the answers. As
    /// [`distinct_axes`](Self::distinct_axes); the segment of an element is found by bisection.
    ///
    /// # Errors
    ///
    /// As [`prepare_distinct_segments`](Self::prepare_distinct_segments); [`Error::Offset`] if the segments are not of as many elements as
    /// `input` has; [`Error::ForeignMemory`] where `input` is not this GPU's.
    pub fn distinct_segments<T: Element + DeviceCopy>(
        &self,
        input: &DeviceSlice<T>,
        segments: &Segments,
    ) -> Result<Vec<u64>, Error> {
        segments.check(input.len() as u64)?;
        self.check_array(input)?;
        // SAFETY: the elements lie in the slice, which is valid as far as cust's types can tell, and the call waits.
        unsafe { self.distinct_segments_raw::<T>(input.as_device_ptr().as_raw(), segments) }
    }

    /// The same for elements at the device address `input`.
    ///
    /// # Errors
    ///
    /// As [`distinct_segments`](Self::distinct_segments), and [`Error::Misaligned`].
    ///
    /// # Safety
    ///
    /// `input` is valid for reads of all of the segments' elements in this GPU's context, and nobody writes them during the call.
    pub unsafe fn distinct_segments_raw<T: Element>(&self, input: u64, segments: &Segments) -> Result<Vec<u64>, Error> {
        let prepared = self.prepare_distinct_segments::<T>(segments)?;
        // SAFETY: passed on to the caller.
        unsafe { prepared.answers(input) }
    }

    /// The same for an array in host memory, all of which is copied to the device.
    ///
    /// # Errors
    ///
    /// As [`distinct_segments`](Self::distinct_segments); [`Error::OutOfMemory`] where array and table do not fit on the device.
    pub fn distinct_host_segments<T: Element + NoUninit>(
        &self,
        values: &[T],
        segments: &Segments,
    ) -> Result<Vec<u64>, Error> {
        segments.check(values.len() as u64)?;
        let _bound = Bound::to(self.context())?;
        let input = upload(bytemuck::cast_slice(values))?;
        // SAFETY: the buffer holds the array, and the call waits.
        unsafe { self.distinct_segments_raw::<T>(input.as_device_ptr().as_raw(), segments) }
    }
}
