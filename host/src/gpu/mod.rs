//! The GPU backend, on cust.
//!
//! [`Gpu`] is one device. [`fold(op).on(&gpu, operand)`](crate::Fold::on) answers and waits, as [`Gpu::reduce`] does and its kin, which are short
//! names for it; [`Gpu::prepare`] gives a [`Prepared`] whose launches only enqueue, on a stream of the caller's, and can be captured in a CUDA
//! graph.
//!
//! All launches and driver calls of the crate are in this room.

mod batch;
mod blocking;
mod context;
mod distinct;
mod facts;
mod fold;
mod gradients;
#[cfg(feature = "command")]
pub mod ladder;
mod launch;
#[cfg(feature = "command")]
pub mod measure;
mod memory;
mod modules;
mod partial;
mod prepared;
mod raw;
mod ready;
mod row;
mod segmented;
mod status;
mod stream;
mod streamed;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cust::{
    context::Context,
    device::Device,
    memory::{AsyncCopyDestination, CopyDestination, DeviceBuffer, DeviceCopy, DeviceSlice},
    stream::{Stream, StreamFlags},
};
use warpfold_kernels::{
    element::Item,
    kernels::MOST_VAST_WORDS,
    tree::{LEAF_BYTES, VECTOR_BYTES, leaf_elements},
};

pub use batch::Batch;
pub use distinct::PreparedDistinct;
pub use facts::Facts;
pub use gradients::{NORM_BYTES, PreparedNorm, Tensors};
pub use memory::Workspace;
pub use partial::PreparedPartial;
pub use prepared::{AnyPrepared, Prepared};
pub use row::{ColumnPlaces, PreparedColumns, PreparedPart, PreparedRow, RowPlaces};
pub use segmented::Segmented;
pub use stream::RawStream;
pub use streamed::Fill;

use crate::{
    Error,
    ops::{AnyOp, Reduction},
    plan::{Plan, Shape},
};
use context::Bound;
use modules::Modules;
use ready::{Places, Ready};
use status::Status as _;

/// One GPU: its context, its kernels, and a stream and a workspace for blocking calls.
///
/// Cheap to clone; clones share everything. Safe to use from many threads: blocking calls take turns.
///
/// With the last clone the device's primary context ends, unless somebody else retains it. What cust made in that context, such as a stream,
/// is to be dropped before: in a struct of both, let the `Gpu` be the last field.
#[derive(Clone)]
pub struct Gpu {
    inner: Arc<Inner>,
}

struct Inner {
    context: Context,
    facts: Facts,
    modules: Modules,
    /// `None` only while being dropped.
    scratch: Mutex<Option<Scratch>>,
}

/// What blocking calls share.
struct Scratch {
    stream: Stream,
    workspace: Option<Workspace>,
    /// The answer and the state, side by side.
    output: DeviceBuffer<u32>,
    /// Where host data goes.
    staging: Option<DeviceBuffer<u8>>,
}

/// Words of the blocking calls' output: an answer and a state.
const OUTPUT_WORDS: usize = 2 * STATE_AT;
/// Where in it the state is: behind the largest answer. There is room for the largest state.
const STATE_AT: usize = MOST_VAST_WORDS;

impl Gpu {
    /// How many GPUs there are. Loads the driver.
    ///
    /// # Errors
    ///
    /// [`Error::NoDriver`] without an NVIDIA driver; [`Error::Driver`] where it does not come up.
    pub fn count() -> Result<usize, Error> {
        warpfold_driver::is_available().map_err(|error| Error::NoDriver { reason: error.reason })?;
        match cust::init(cust::CudaFlags::empty()) {
            Ok(()) => {}
            Err(cust::error::CudaError::NoDevice) => return Ok(0),
            Err(error) => return Err(status::driver("cuInit", error)),
        }
        Ok(Device::num_devices().or_fail("cuDeviceGetCount")? as usize)
    }

    /// The GPU of that index, in the driver's order.
    ///
    /// # Errors
    ///
    /// As [`count`](Self::count); [`Error::NoDevice`] where the index is past the last; [`Error::Driver`].
    pub fn new(index: usize) -> Result<Self, Error> {
        Self::open(index, None)
    }

    /// The same with the kernels for an older compute capability than the device's own, which it takes as well: a way to
    /// try them all. The answers are the same to the bit. A newer one counts as the device's own.
    ///
    /// # Errors
    ///
    /// As [`new`](Self::new).
    pub fn with_kernels_for(index: usize, compute_capability: (u32, u32)) -> Result<Self, Error> {
        Self::open(index, Some(compute_capability))
    }

    fn open(index: usize, kernels_for: Option<(u32, u32)>) -> Result<Self, Error> {
        let count = Self::count()?;
        if index >= count {
            return Err(Error::NoDevice { index, count });
        }
        let device = Device::get_device(index as u32).or_fail("cuDeviceGet")?;
        let facts = Facts::of(device, index)?;
        let context = context::retain(device)?;
        let bound = Bound::to(&context)?;
        let scratch = Scratch {
            // Ordered with the default stream, on which cust's safe copies and fills may still be under way.
            stream: Stream::new(StreamFlags::DEFAULT, None).or_fail("cuStreamCreate")?,
            workspace: None,
            output: DeviceBuffer::zeroed(OUTPUT_WORDS).map_err(|error| status::memory(4 * OUTPUT_WORDS, error))?,
            staging: None,
        };
        drop(bound);
        let modules =
            Modules::new(kernels_for.map_or(facts.compute_capability, |older| older.min(facts.compute_capability)));
        let inner = Inner {
            context,
            facts,
            modules,
            scratch: Mutex::new(Some(scratch)),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// What the driver says of the device.
    #[must_use]
    pub fn facts(&self) -> &Facts {
        &self.inner.facts
    }

    /// The handle of the device's primary context, which streams and buffers must belong to.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.inner.context
    }

    /// Makes this GPU's context current on the calling thread, for cust's own calls (allocation, copies, streams).
    ///
    /// # Errors
    ///
    /// [`Error::Driver`].
    pub fn make_current(&self) -> Result<(), Error> {
        cust::context::CurrentContext::set_current(&self.inner.context).or_fail("cuCtxSetCurrent")
    }

    /// The plan for `len` elements.
    ///
    /// # Errors
    ///
    /// [`Error::NoKernel`].
    pub fn plan<T: Item, R: Reduction<T>>(&self, op: R, len: u64) -> Result<Plan, Error> {
        Ok(Plan::new(AnyOp::of::<T, R>(op).kernel()?, len))
    }

    /// A launch of `op` over `len` elements, planned, its kernel loaded, for asynchronous calls. Of two arrays
    /// `T` is [`Two`](crate::ops::element::Two).
    ///
    /// # Errors
    ///
    /// [`Error::EmptyExtent`] where `op` has no answer over nothing and `len` is 0; [`Error::Parameter`] for a correction or a power
    /// that has no meaning; [`Error::NoPtx`] where this build has
    /// no kernels for the device; [`Error::DriverTooOld`] where the driver cannot read them; [`Error::Driver`].
    pub fn prepare<T: Item, R: Reduction<T>>(&self, op: R, len: u64) -> Result<Prepared<R, T>, Error> {
        let any = AnyOp::of::<T, R>(op);
        Ok(Prepared::of(
            op,
            Ready::whole(self, &any, Plan::new(any.kernel()?, len))?,
        ))
    }

    /// The same in a given shape, for tuning and for tests.
    ///
    /// # Errors
    ///
    /// As [`prepare`](Self::prepare), and [`Error::Shape`].
    pub fn prepare_shaped<T: Item, R: Reduction<T>>(
        &self,
        op: R,
        len: u64,
        shape: Shape,
    ) -> Result<Prepared<R, T>, Error> {
        let any = AnyOp::of::<T, R>(op);
        let plan = Plan::with_shape(any.kernel()?, len, shape)?;
        Ok(Prepared::of(op, Ready::whole(self, &any, plan)?))
    }

    /// A length for the pieces of an array in host memory: a subtree of the canonical tree, of at most 256 MiB and half
    /// the memory that is free.
    ///
    /// # Errors
    ///
    /// [`Error::Driver`].
    pub fn piece_len<T: Item>(&self) -> Result<usize, Error> {
        // Of two arrays, that of both.
        let leaf = LEAF_BYTES * size_of::<T>() / T::BYTES;
        Ok(leaf_elements::<T>() << self.piece_leaves(leaf)?)
    }

    /// The same in leaves of so many bytes, the logarithm of their number.
    fn piece_leaves(&self, leaf_bytes: usize) -> Result<u32, Error> {
        let bytes = (self.inner.facts.free_memory(self)? / 2).min(256 << 20);
        Ok((bytes / leaf_bytes).max(1).ilog2())
    }

    /// Copies arrays of host memory to the device, side by side, and folds them: the words of an output.
    fn run_staged(&self, ready: &Ready, arrays: &[&[u8]]) -> Result<[u32; OUTPUT_WORDS], Error> {
        let room = |array: &&[u8]| array.len().next_multiple_of(VECTOR_BYTES);
        let needed = arrays.iter().map(room).sum();
        let mut guard = self.scratch();
        let bound = Bound::to(&self.inner.context)?;
        let scratch = guard.as_mut().expect("present until dropped");
        let fits = scratch.staging.as_ref().is_some_and(|staging| staging.len() >= needed);
        if !fits {
            // Freed before the larger one is asked for.
            scratch.staging = None;
            // SAFETY: only ever read after `copy_from` has filled the part in use.
            let staging = unsafe { DeviceBuffer::uninitialized(needed) };
            scratch.staging = Some(staging.map_err(|error| status::memory(needed, error))?);
        }
        let staging = scratch.staging.as_ref().expect("just made");
        let mut inputs = [0; 2];
        let mut copy = || {
            let mut at = 0;
            for (array, input) in arrays.iter().zip(&mut inputs) {
                let mut filled = staging.index(at..at + array.len());
                // SAFETY: on the stream of the launch below, which is waited for while the arrays are borrowed.
                unsafe { filled.async_copy_from(*array, &scratch.stream) }.or_fail("cuMemcpyHtoDAsync")?;
                *input = filled.as_device_ptr().as_raw();
                at += room(array);
            }
            Ok(())
        };
        let copied = copy();
        drop(bound);
        // SAFETY: the staging buffer holds the arrays, and the guard keeps others off it.
        let words = copied.and_then(|()| unsafe { self.run(&mut guard, ready, inputs) });
        if words.is_err() {
            // Whatever failed, no copy must outlive the borrow of the arrays.
            let _ = guard.as_ref().map(|scratch| scratch.stream.synchronize());
        }
        words
    }

    /// Launches on the blocking calls' own stream, waits, and brings back their output.
    ///
    /// # Safety
    ///
    /// As [`packed`](Self::packed).
    unsafe fn run(
        &self,
        scratch: &mut Option<Scratch>,
        ready: &Ready,
        inputs: [u64; 2],
    ) -> Result<[u32; OUTPUT_WORDS], Error> {
        let _bound = Bound::to(&self.inner.context)?;
        let scratch = scratch.as_mut().expect("present until dropped");
        if !scratch
            .workspace
            .as_ref()
            .is_some_and(|workspace| workspace.fits(ready.plan.workspace_words()))
        {
            scratch.workspace = None;
            scratch.workspace = Some(ready.workspace()?);
        }
        let workspace = scratch.workspace.as_mut().expect("just made");
        let output = scratch.output.as_device_ptr().as_raw();
        // SAFETY: the inputs are the caller's word; workspace and output are ours alone, and waited for below.
        unsafe {
            ready.enqueue(Places {
                stream: scratch.stream.as_inner(),
                inputs,
                offsets: 0,
                workspace,
                answer: output,
                state: output + 4 * STATE_AT as u64,
            })?;
        }
        scratch.stream.synchronize().or_fail("cuStreamSynchronize")?;
        let mut words = [0; OUTPUT_WORDS];
        scratch.output.copy_to(&mut words).or_fail("cuMemcpyDtoH")?;
        Ok(words)
    }

    /// Fails unless an array is this GPU's, or empty.
    fn check_array<T: DeviceCopy>(&self, array: &DeviceSlice<T>) -> Result<(), Error> {
        if array.is_empty() {
            return Ok(());
        }
        let _bound = Bound::to(&self.inner.context)?;
        launch::check_memory(array.as_device_ptr().as_raw(), self.inner.facts.index)
    }

    fn scratch(&self) -> MutexGuard<'_, Option<Scratch>> {
        // A panic under the lock leaves nothing half done: every call writes what it then reads.
        self.inner.scratch.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // cust frees buffers, streams and modules in whatever context is current.
        if let Ok(_bound) = Bound::to(&self.context) {
            // Launches of a `Prepared` that is gone may still run; an error here has nobody to go to.
            let _ = cust::context::CurrentContext::synchronize();
            self.modules.unload();
            *self.scratch.get_mut().unwrap_or_else(PoisonError::into_inner) = None;
        }
    }
}
