//! Lists of tensors: their norm, and clipping them.

use cust::{
    memory::{CopyDestination, DeviceBuffer},
    sys::CUstream,
};
use warpfold_kernels::{
    element::Type,
    kernels::{Array, Launch, gradients::TensorEntry},
    tree::VECTOR_BYTES,
};

use super::{
    Gpu, RawStream, Workspace,
    blocking::upload,
    context::{self, Bound},
    launch::{self, Function, device},
    memory::DeviceMemory,
    ready::{Ready, Strides},
    status::{self, Status as _},
};
use crate::{
    Error,
    gradients::{Floats, FloatsMut, GradNorm, Order, TotalNorm, check_max},
    plan::{Plan, clip_entry},
};

/// The norm of a list of tensors on one GPU: planned, its kernels loaded. Launch it as often as you like.
///
/// A launch allocates nothing and waits for nothing, so it can be captured in a CUDA graph.
pub struct PreparedNorm {
    ready: Ready,
    order: Order,
    lengths: Vec<(Type, u64)>,
    clip: Function,
}

/// Where the tensors of a list lie: a table in device memory. It holds as long as the tensors lie there, for any number of launches.
pub struct Tensors {
    table: DeviceMemory<u32>,
    plan: Plan,
}

/// Bytes of what a launch writes: the norm as f32, 4 bytes of zeros, and the count of elements that are not finite as u64.
pub const NORM_BYTES: usize = 16;

/// Words of a table's entry.
const ENTRY_WORDS: usize = size_of::<TensorEntry>() / 4;

impl PreparedNorm {
    fn new(gpu: &Gpu, order: Order, lengths: &[(Type, u64)]) -> Result<Self, Error> {
        let plan = Plan::list(order, lengths)?;
        let ready = Ready::new(gpu, plan, [Strides::default(); 2], None)?;
        let _bound = Bound::to(gpu.context())?;
        Ok(Self {
            ready,
            order,
            lengths: lengths.to_vec(),
            clip: gpu.inner.modules.function(clip_entry())?,
        })
    }

    /// What will be launched.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.ready.plan
    }

    /// The tensors at those device addresses, one for each that was prepared; that of an empty one may be 0. Allocates and waits, so not while a stream is captured.
    ///
    /// # Errors
    ///
    /// [`TensorFault::Count`](crate::TensorFault::Count), [`TensorFault::Misaligned`](crate::TensorFault::Misaligned),
    /// [`TensorFault::Nowhere`](crate::TensorFault::Nowhere), each with the tensor's place in the list; [`Error::OutOfMemory`]; [`Error::Driver`].
    pub fn tensors(&self, addresses: &[u64]) -> Result<Tensors, Error> {
        let Ready { gpu, plan, .. } = &self.ready;
        let table = plan.table(&self.lengths, addresses)?;
        let words: Vec<u32> = table.iter().flat_map(words_of).collect();
        let table = DeviceMemory::new(gpu, 4 * words.len(), || DeviceBuffer::from_slice(&words))?;
        Ok(Tensors { table, plan: *plan })
    }

    /// A workspace that fits. Allocates, so not while a stream is captured.
    ///
    /// # Errors
    ///
    /// [`Error::LengthOverflow`]; [`Error::OutOfMemory`]; [`Error::Driver`].
    pub fn workspace(&self) -> Result<Workspace, Error> {
        self.ready.workspace()
    }

    /// Enqueues the norm of `tensors` on `stream`: one launch. It writes [`NORM_BYTES`] at the device address `answer`. Does not wait.
    ///
    /// # Errors
    ///
    /// [`Error::ForeignStream`]; [`Error::ForeignMemory`] where table or workspace is another GPU's; [`Error::WorkspaceTooSmall`];
    /// [`Error::Misaligned`] of an answer that is no multiple of 8; [`Error::Driver`]. Nothing is enqueued then, unless it is the driver's own.
    ///
    /// # Safety
    ///
    /// Until the stream has passed the launch: this `PreparedNorm`, the tensors' table and the workspace live; the tensors' addresses are valid in this GPU's context for as
    /// many elements as were prepared, and nobody writes them; the answer is valid for writes, and nobody else's. For a captured launch this holds for every launch of the
    /// graph.
    pub unsafe fn launch_raw(
        &self,
        stream: impl Into<RawStream>,
        tensors: &Tensors,
        answer: u64,
        workspace: &mut Workspace,
    ) -> Result<(), Error> {
        let stream = stream.into();
        let _bound = launch::bind(&self.ready.gpu, stream)?;
        // SAFETY: passed on to the caller.
        unsafe { self.enqueue(stream.as_inner(), tensors, answer, workspace) }
    }

    /// Enqueues clipping on `stream`: one launch, which multiplies `tensors` in place by what the norm at the device address `answer` makes of `max_norm`, as
    /// [`GradNorm::clip_on_cpu`] does. Where that leaves them as they are, nothing is read or written. Does not wait.
    ///
    /// # Errors
    ///
    /// As [`launch_raw`](Self::launch_raw); [`Error::Parameter`] of a `max_norm` below 0 or NaN.
    ///
    /// # Safety
    ///
    /// As [`launch_raw`](Self::launch_raw), but that the tensors are valid for writes, too, and nobody else's, each at a place of its own; and the answer was written by a launch before.
    pub unsafe fn clip_raw(
        &self,
        stream: impl Into<RawStream>,
        tensors: &Tensors,
        max_norm: f32,
        answer: u64,
    ) -> Result<(), Error> {
        check_max(max_norm)?;
        let stream = stream.into();
        let _bound = launch::bind(&self.ready.gpu, stream)?;
        // SAFETY: passed on to the caller.
        unsafe { self.enqueue_clip(stream.as_inner(), tensors, max_norm, answer) }
    }

    /// The context is current.
    ///
    /// # Safety
    ///
    /// As [`launch_raw`](Self::launch_raw).
    unsafe fn enqueue(
        &self,
        stream: CUstream,
        tensors: &Tensors,
        answer: u64,
        workspace: &mut Workspace,
    ) -> Result<(), Error> {
        let passed = self.passed(tensors, answer)?;
        // The table may be that of a norm of another order, whose states are of other words.
        let plan = Plan {
            entry: self.ready.plan.entry,
            ..tensors.plan
        };
        // SAFETY: passed on to the caller.
        let [tickets, slots] = unsafe { workspace.for_plan(&self.ready.gpu, stream, &plan)? };
        let passed = Launch {
            slots: device(slots),
            tickets: device(tickets),
            numbers: match self.order {
                Order::P(p) => [p.to_bits(), 0],
                _ => [0; 2],
            },
            ..passed
        };
        // SAFETY: passed on to the caller.
        unsafe { launch::launch_passing(self.ready.function, plan.grid(), stream, passed) }
    }

    /// The context is current.
    ///
    /// # Safety
    ///
    /// As [`clip_raw`](Self::clip_raw).
    unsafe fn enqueue_clip(
        &self,
        stream: CUstream,
        tensors: &Tensors,
        max_norm: f32,
        answer: u64,
    ) -> Result<(), Error> {
        let passed = Launch {
            numbers: [max_norm.to_bits().into(), 0],
            ..self.passed(tensors, answer)?
        };
        // SAFETY: passed on to the caller.
        unsafe { launch::launch_passing(self.clip, tensors.plan.grid(), stream, passed) }
    }

    /// What both launches pass.
    fn passed(&self, tensors: &Tensors, answer: u64) -> Result<Launch, Error> {
        launch::check_alignment(answer, 8)?;
        let table = tensors
            .table
            .of(&self.ready.gpu, ENTRY_WORDS * (tensors.plan.count as usize + 1))?;
        Ok(Launch {
            arrays: [Array {
                start: device(table),
                ..Array::NONE
            }; 2],
            answer: device(answer),
            ..tensors.plan.launch()
        })
    }
}

/// An entry of a table in words, as a little-endian device has it.
fn words_of(entry: &TensorEntry) -> [u32; ENTRY_WORDS] {
    let TensorEntry {
        start,
        len,
        first_tile,
        floats,
    } = *entry;
    let [a, b, c, d] = [start, len, first_tile, floats].map(|number| [number as u32, (number >> 32) as u32]);
    [a[0], a[1], b[0], b[1], c[0], c[1], d[0], d[1]]
}

/// Tensors that were copied to a device, one behind the other, each aligned.
struct Uploaded {
    bytes: DeviceBuffer<u8>,
    /// Where each begins.
    firsts: Vec<usize>,
    lengths: Vec<(Type, u64)>,
}

impl Uploaded {
    /// The context is current.
    fn new(tensors: &[Floats<'_>]) -> Result<Self, Error> {
        let mut firsts = Vec::with_capacity(tensors.len());
        let mut next = 0_usize;
        for tensor in tensors {
            firsts.push(next);
            next += tensor.bytes().len().next_multiple_of(VECTOR_BYTES);
        }
        // SAFETY: each tensor's bytes are filled before they are read, and no others are read.
        let bytes = unsafe { DeviceBuffer::uninitialized(next.max(1)) };
        let bytes: DeviceBuffer<u8> = bytes.map_err(|error| status::memory(next, error))?;
        for (tensor, first) in tensors.iter().zip(&firsts).filter(|(tensor, _)| !tensor.is_empty()) {
            let from = tensor.bytes();
            let mut part = bytes.index(*first..*first + from.len());
            part.copy_from(from).or_fail("cuMemcpyHtoD")?;
        }
        context::wait_for_default_stream()?;
        let lengths = tensors
            .iter()
            .map(|tensor| (tensor.element(), tensor.len() as u64))
            .collect();
        Ok(Self { bytes, firsts, lengths })
    }

    fn addresses(&self) -> Vec<u64> {
        let start = self.bytes.as_device_ptr().as_raw();
        self.firsts.iter().map(|first| start + *first as u64).collect()
    }
}

impl GradNorm {
    /// Plans the norm of tensors of as many elements of those types, and loads its kernels, for launches of your own.
    ///
    /// # Errors
    ///
    /// [`Error::Parameter`] of an order that has no meaning; [`TensorFault::Type`](crate::TensorFault::Type) and
    /// [`TensorFault::TooLong`](crate::TensorFault::TooLong), with the tensor's place in the list; [`Error::GridOverflow`]; [`Error::NoPtx`], [`Error::StalePtx`],
    /// [`Error::DriverTooOld`], [`Error::Driver`].
    pub fn prepare(self, gpu: &Gpu, tensors: &[(Type, u64)]) -> Result<PreparedNorm, Error> {
        PreparedNorm::new(gpu, self.order, tensors)
    }

    /// The norm of tensors in host memory, on a GPU, and waits: to the bits of [`on_cpu`](Self::on_cpu). The tensors are copied to the device.
    ///
    /// # Errors
    ///
    /// As [`prepare`](Self::prepare); [`Error::OutOfMemory`].
    pub fn on(self, gpu: &Gpu, tensors: &[Floats<'_>]) -> Result<TotalNorm, Error> {
        // Memory is freed in whatever context is current.
        let _bound = Bound::to(gpu.context())?;
        self.run(gpu, tensors, None).map(|(total, _)| total)
    }

    /// Multiplies tensors in host memory so that their norm is `max_norm` at most, on a GPU, and waits: to the bits of [`clip_on_cpu`](Self::clip_on_cpu). The tensors are
    /// copied to the device, and back where they change.
    ///
    /// # Errors
    ///
    /// As [`on`](Self::on); [`Error::Parameter`] of a `max_norm` below 0 or NaN.
    pub fn clip_on(self, gpu: &Gpu, tensors: &mut [FloatsMut<'_>], max_norm: f32) -> Result<TotalNorm, Error> {
        check_max(max_norm)?;
        // Memory is freed in whatever context is current.
        let _bound = Bound::to(gpu.context())?;
        let views: Vec<Floats<'_>> = tensors.iter().map(FloatsMut::as_ref).collect();
        let (total, uploaded) = self.run(gpu, &views, Some(max_norm))?;
        if total.clip_factor(max_norm).is_some() {
            for (tensor, first) in tensors.iter_mut().zip(&uploaded.firsts) {
                let to = tensor.bytes();
                if !to.is_empty() {
                    let part = uploaded.bytes.index(*first..*first + to.len());
                    part.copy_to(to).or_fail("cuMemcpyDtoH")?;
                }
            }
        }
        Ok(total)
    }

    /// The norm, and the tensors on the device, clipped if they are to be.
    fn run(self, gpu: &Gpu, tensors: &[Floats<'_>], max_norm: Option<f32>) -> Result<(TotalNorm, Uploaded), Error> {
        self.order.check()?;
        let _bound = Bound::to(gpu.context())?;
        let uploaded = Uploaded::new(tensors)?;
        let prepared = self.prepare(gpu, &uploaded.lengths)?;
        let table = prepared.tensors(&uploaded.addresses())?;
        let mut workspace = prepared.workspace()?;
        let answer = upload(&[0; NORM_BYTES])?;
        let address = answer.as_device_ptr().as_raw();
        gpu.enqueue_and_wait(|stream| {
            let stream = stream.as_inner();
            // SAFETY: all memory is this call's own, and waited for.
            unsafe {
                prepared.enqueue(stream, &table, address, &mut workspace)?;
                max_norm.map_or(Ok(()), |max_norm| {
                    prepared.enqueue_clip(stream, &table, max_norm, address)
                })
            }
        })?;
        let mut bytes = [0; NORM_BYTES];
        answer.copy_to(&mut bytes).or_fail("cuMemcpyDtoH")?;
        Ok((TotalNorm::of_words(bytemuck::cast(bytes)), uploaded))
    }
}
