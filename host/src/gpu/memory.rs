//! Memory of a device, and what of it launches share.

use std::mem::ManuallyDrop;

use cust::{
    context::Context,
    device::Device,
    error::CudaError,
    memory::{DeviceBuffer, DeviceCopy},
    sys::CUstream,
};
use warpfold_driver::sys;

use super::{
    Gpu,
    context::{self, Bound},
    status::{self, Status as _, check},
};
use crate::{Error, plan::Plan};

/// Device memory that launches need beside their arrays: tickets, then the states of tiles or rows, or a table of distinct elements.
///
/// It serves any plan it is large enough for, one launch after another on one stream. Launches that may overlap need a
/// workspace each, and so does a captured launch, which is replayed whatever came between. A launch that fails on the device leaves it in disorder:
/// make a new one.
pub struct Workspace {
    words: WorkspaceMemory,
    /// Words from the first on that are zero between launches, as tickets are. Those behind may be an earlier plan's.
    zeros: usize,
}

/// A workspace's words: its own, or those of whoever made it.
enum WorkspaceMemory {
    Own(DeviceMemory<u32>),
    Raw { address: u64, len: usize },
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
        let context = context::retain(device)?;
        let _bound = Bound::to(gpu.context())?;
        let words = make().map_err(|error| status::memory(bytes, error))?;
        context::wait_for_default_stream()?;
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

impl DeviceMemory<u64> {
    /// Those numbers.
    pub(super) fn of_numbers(gpu: &Gpu, numbers: &[u64]) -> Result<Self, Error> {
        Self::new(gpu, 8 * numbers.len(), || DeviceBuffer::from_slice(numbers))
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
    /// Whether it is large enough for a plan that needs so many words.
    #[must_use]
    pub fn fits(&self, words: usize) -> bool {
        self.len() >= words
    }

    fn len(&self) -> usize {
        match &self.words {
            WorkspaceMemory::Own(words) => words.len(),
            WorkspaceMemory::Raw { len, .. } => *len,
        }
    }

    /// Of `words` words of 32 bits at a device address: another library's memory. Each launch clears what it needs cleared, so it may be captured in a graph, and
    /// hold anything when that is launched.
    ///
    /// # Safety
    ///
    /// While launches use it, the address is valid for so many words in their GPU's context, a multiple of 16, and nothing else uses them.
    #[must_use]
    pub unsafe fn from_raw(address: u64, words: usize) -> Self {
        let words = WorkspaceMemory::Raw { address, len: words };
        Self { words, zeros: 0 }
    }

    /// Its size in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        4 * self.len()
    }

    /// Of so many words, of which the first are tickets, which are zeroed.
    pub(super) fn new(gpu: &Gpu, words: u64, tickets: usize) -> Result<Self, Error> {
        // Of nothing there is no allocation.
        let count = usize::try_from(words.max(1)).map_err(|_| Error::LengthOverflow {
            elements: words,
            element_bytes: 4,
        })?;
        let make = || {
            // SAFETY: tickets are zeroed here, and of all else each launch writes what it reads.
            let words = unsafe { DeviceBuffer::uninitialized(count)? };
            words.index(..tickets).set_zero()?;
            Ok(words)
        };
        let words = DeviceMemory::new(gpu, count.saturating_mul(4), make)?;
        Ok(Self {
            words: WorkspaceMemory::Own(words),
            zeros: tickets,
        })
    }

    /// The addresses of its tickets and of its slots, for a launch of a plan.
    ///
    /// # Safety
    ///
    /// As [`for_launch`](Self::for_launch).
    pub(super) unsafe fn for_plan(&mut self, gpu: &Gpu, stream: CUstream, plan: &Plan) -> Result<[u64; 2], Error> {
        let (words, tickets) = (plan.workspace_words(), plan.ticket_words());
        // SAFETY: passed on to the caller.
        let start = unsafe { self.for_launch(gpu, stream, words, tickets)? };
        Ok([start, start + 4 * tickets as u64])
    }

    /// Its address, for a launch that needs so many words and so many of them as tickets. Where an earlier launch had others there, they are zeroed on the stream. A
    /// launch that needs no words leaves tickets as they are. The context is current.
    ///
    /// # Safety
    ///
    /// Until the stream has passed the launch, nothing else uses the workspace.
    pub(super) unsafe fn for_launch(
        &mut self,
        gpu: &Gpu,
        stream: CUstream,
        words: usize,
        tickets: usize,
    ) -> Result<u64, Error> {
        let address = match &self.words {
            WorkspaceMemory::Own(own) => own.of(gpu, words)?,
            WorkspaceMemory::Raw { address, len } if *len >= words => *address,
            WorkspaceMemory::Raw { len, .. } => {
                return Err(Error::WorkspaceTooSmall {
                    needed: 4 * words,
                    got: 4 * len,
                });
            }
        };
        if tickets > self.zeros {
            // SAFETY: it has so many words, which are the caller's.
            check("cuMemsetD32Async", unsafe {
                sys::cuMemsetD32Async(address, 0, tickets, stream.cast())
            })?;
        }
        if words > 0 && matches!(self.words, WorkspaceMemory::Own(_)) {
            self.zeros = tickets;
        }
        Ok(address)
    }
}
