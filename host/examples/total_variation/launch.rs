//! Total variation on a GPU: a kernel of a crate's own, loaded and launched by way of `cust`.

use std::error::Error;

use cust::{
    memory::{CopyDestination, DeviceBuffer},
    module::Module,
    stream::{Stream, StreamFlags},
};
use own_operator::{
    LIBRARY,
    total_variation::{ENTRY, Launch, THREADS, blocks, note},
};
use warpfold::{gpu::Gpu, ptx};

/// The answer of a GPU.
pub fn on_gpu(gpu: &Gpu, values: &[f32]) -> Result<f32, Box<dyn Error>> {
    let text = ptx::kernel(&LIBRARY, note(), gpu.facts().compute_capability)?;
    gpu.make_current()?;
    let module = Module::from_ptx(text, &[])?;
    let blocks = u32::try_from(blocks(values.len() as u64))?;
    // An array of no elements has no memory.
    let input = (!values.is_empty())
        .then(|| DeviceBuffer::from_slice(values))
        .transpose()?;
    let out = DeviceBuffer::from_slice(&[f32::NAN])?;
    let slots = DeviceBuffer::from_slice(&vec![0_u32; blocks as usize])?;
    let ticket = DeviceBuffer::from_slice(&[0_u32])?;
    let mut passed = Launch {
        input: input
            .as_ref()
            .map_or(std::ptr::null(), |input| input.as_device_ptr().as_ptr()),
        len: values.len() as u64,
        out: out.as_device_ptr().as_mut_ptr(),
        slots: slots.as_device_ptr().as_mut_ptr(),
        ticket: ticket.as_device_ptr().as_mut_ptr(),
    };
    let stream = Stream::new(StreamFlags::DEFAULT, None)?;
    let function = module.get_function(ENTRY)?;
    // SAFETY: the buffers are as long as the kernel wants them; the entry takes this one parameter.
    unsafe { stream.launch(&function, blocks, THREADS, 0, &[(&raw mut passed).cast()])? };
    stream.synchronize()?;
    let mut answer = [0.0];
    out.copy_to(&mut answer)?;
    Ok(answer[0])
}
