//! Blocking calls for many answers: what goes to the device, and what comes back.

use cust::memory::{CopyDestination, DeviceBuffer};

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
        let bytes = ready.plan.count as usize * ready.plan.entry.answer_bytes;
        if bytes == 0 {
            return Ok(vec![]);
        }
        let mut workspace = ready.workspace()?;
        let scratch = self.scratch();
        let scratch = scratch.as_ref().expect("present until dropped");
        let _bound = Bound::to(self.context())?;
        // SAFETY: only ever read after the launch has filled it.
        let answers = unsafe { DeviceBuffer::<u8>::uninitialized(bytes) };
        let answers = answers.map_err(|error| status::memory(bytes, error))?;
        // SAFETY: the inputs are the caller's word; workspace and answers are ours alone, and waited for.
        unsafe {
            ready.enqueue(Places {
                stream: scratch.stream.as_inner(),
                inputs,
                offsets: 0,
                workspace: &mut workspace,
                answer: answers.as_device_ptr().as_raw(),
                state: 0,
            })?;
        }
        scratch.stream.synchronize().or_fail("cuStreamSynchronize")?;
        let mut packed = room(bytes as u64)?;
        packed.resize(bytes, 0_u8);
        answers.copy_to(&mut packed).or_fail("cuMemcpyDtoH")?;
        Ok(packed)
    }
}

/// An array in device memory. The context is current, and so it must be where the array is dropped.
pub(super) fn upload(bytes: &[u8]) -> Result<DeviceBuffer<u8>, Error> {
    let array = DeviceBuffer::from_slice(bytes).map_err(|error| status::memory(bytes.len(), error))?;
    context::wait_for_default_stream()?;
    Ok(array)
}
