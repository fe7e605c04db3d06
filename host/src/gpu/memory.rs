//! Memory of a device, and what of it launches share.

use std::mem::ManuallyDrop;

use cust::{
    context::Context,
    device::Device,
    error::CudaError,
    memory::{DeviceBuffer, DeviceCopy},
};

use super::{
    Gpu,
    context::{self, Bound},
    status::{self, Status as _},
};
use crate::{Error, plan::Plan};

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
