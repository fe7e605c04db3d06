//! What blocking calls have in common: what goes to the device, what is launched and waited for, and what comes back.

use bytemuck::Pod;
use cust::{
    memory::{CopyDestination, DeviceBuffer},
    stream::Stream,
};

use super::{
    Gpu,
    context::{self, Bound},
    ready::{Places, Ready},
    status::{self, Status as _},
};
use crate::{Error, room::room};

impl Gpu {
    /// Launches on the blocking calls' own stream, waits, and brings back the answers, packed as the device has them.
    ///
    /// # Safety
    ///
    /// The inputs are valid for what is read of them, and nobody writes that during the call.
    pub(super) unsafe fn packed(&self, ready: &Ready, inputs: [u64; 2]) -> Result<Vec<u8>, Error> {
        let bytes = ready.plan.count as usize * ready.answer_bytes;
        if bytes == 0 {
            return Ok(vec![]);
        }
        let mut workspace = ready.workspace()?;
        let _bound = Bound::to(self.context())?;
        let answers = room_for(bytes)?;
        self.enqueue_and_wait(|stream| {
            // SAFETY: the inputs are the caller's word; workspace and answers are ours alone, and waited for.
            unsafe {
                ready.enqueue(Places {
                    stream: stream.as_inner(),
                    inputs,
                    offsets: 0,
                    workspace: &mut workspace,
                    answer: answers.as_device_ptr().as_raw(),
                    state: 0,
                })
            }
        })?;
        let mut packed = download(&answers, bytes as u64)?;
        ready.settle(&mut packed);
        Ok(packed)
    }

    /// What is enqueued on the blocking calls' own stream, and waited for: one call after another. The context is current, and what is enqueued uses memory that lives past this.
    pub(super) fn enqueue_and_wait<R>(&self, enqueue: impl FnOnce(&Stream) -> Result<R, Error>) -> Result<R, Error> {
        let scratch = self.scratch();
        let stream = &scratch.as_ref().expect("present until dropped").stream;
        let enqueued = enqueue(stream);
        // Whatever failed, nothing must outlive the memory that it uses.
        let waited = stream.synchronize().or_fail("cuStreamSynchronize");
        enqueued.and_then(|enqueued| waited.map(|()| enqueued))
    }
}

/// What was copied to a device, if there was something to copy: it has an address, though it be empty. The context is current, and so it must be where this is dropped.
pub(super) struct Uploaded(Option<DeviceBuffer<u8>>);

impl Uploaded {
    pub(super) fn new(bytes: Option<&[u8]>) -> Result<Self, Error> {
        let copy = |bytes: &[u8]| if bytes.is_empty() { room_for(0) } else { upload(bytes) };
        Ok(Self(bytes.map(copy).transpose()?))
    }

    pub(super) fn address(&self) -> u64 {
        self.0.as_ref().map_or(0, |buffer| buffer.as_device_ptr().as_raw())
    }
}

/// Room on the device for what a launch writes.
pub(super) fn room_for(bytes: usize) -> Result<DeviceBuffer<u8>, Error> {
    // SAFETY: only ever read after the launch has filled it.
    let buffer = unsafe { DeviceBuffer::uninitialized(bytes.max(1)) };
    buffer.map_err(|error| status::memory(bytes, error))
}

/// The first elements of what a launch wrote.
pub(super) fn download<X: Pod>(from: &DeviceBuffer<u8>, len: u64) -> Result<Vec<X>, Error> {
    let mut values = room::<X>(len)?;
    values.resize(len as usize, X::zeroed());
    if len > 0 {
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut values);
        from.index(..bytes.len()).copy_to(bytes).or_fail("cuMemcpyDtoH")?;
    }
    Ok(values)
}

/// An array in device memory. The context is current, and so it must be where the array is dropped.
pub(super) fn upload(bytes: &[u8]) -> Result<DeviceBuffer<u8>, Error> {
    let array = DeviceBuffer::from_slice(bytes).map_err(|error| status::memory(bytes.len(), error))?;
    context::wait_for_default_stream()?;
    Ok(array)
}
