//! Attention on a GPU: a kernel of a crate's own that is no operator, loaded and launched by way of `cust`.

use std::error::Error;

use cust::{
    memory::{CopyDestination, DeviceBuffer},
    module::Module,
    stream::Stream,
};
use own_operator::{
    LIBRARY,
    attention::{Launch, Plan, Sizes, note},
};
use warpfold::{gpu::Gpu, ptx};

/// All that launches need, in device memory.
pub struct OnGpu {
    module: Module,
    sizes: Sizes,
    plan: Plan,
    /// Queries, keys, values.
    inputs: [DeviceBuffer<f32>; 3],
    out: DeviceBuffer<f32>,
    slots: DeviceBuffer<u32>,
    tickets: DeviceBuffer<u32>,
}

impl OnGpu {
    /// Loads the kernel, and copies queries, keys and values to the device, whose context is current.
    pub fn new(gpu: &Gpu, sizes: Sizes, plan: Plan, inputs: [&[f32]; 3]) -> Result<Self, Box<dyn Error>> {
        let text = ptx::kernel(&LIBRARY, note(&plan), gpu.facts().compute_capability)?;
        let [queries, keys, values] = inputs;
        let answers = queries.len();
        Ok(Self {
            module: Module::from_ptx(text, &[])?,
            sizes,
            plan,
            inputs: [
                DeviceBuffer::from_slice(queries)?,
                DeviceBuffer::from_slice(keys)?,
                DeviceBuffer::from_slice(values)?,
            ],
            out: DeviceBuffer::zeroed(answers.max(1))?,
            slots: DeviceBuffer::zeroed(plan.slot_words().max(1) as usize)?,
            tickets: DeviceBuffer::zeroed(sizes.rows().max(1) as usize)?,
        })
    }

    /// Enqueues a launch. One follows the other on one stream, for they share their tickets.
    pub fn launch(&self, stream: &Stream) -> Result<(), Box<dyn Error>> {
        if self.plan.blocks == 0 {
            return Ok(());
        }
        let [queries, keys, values] = self.inputs.each_ref().map(|input| input.as_device_ptr().as_ptr());
        let mut passed = Launch {
            sizes: self.sizes,
            queries,
            keys,
            values,
            out: self.out.as_device_ptr().as_mut_ptr(),
            slots: self.slots.as_device_ptr().as_mut_ptr(),
            tickets: self.tickets.as_device_ptr().as_mut_ptr(),
            steps: self.plan.steps,
            parts: self.plan.parts,
        };
        let function = self.module.get_function(self.plan.entry())?;
        let (blocks, threads) = (u32::try_from(self.plan.blocks)?, self.plan.threads());
        // SAFETY: the plan is for these sizes, and all buffers are as long as both say; the entry takes this one parameter.
        unsafe { stream.launch(&function, blocks, threads, 0, &[(&raw mut passed).cast()])? };
        Ok(())
    }

    /// The answers, once the stream has come so far.
    pub fn answers(&self) -> Result<Vec<f32>, Box<dyn Error>> {
        let mut answers = vec![0.0; self.out.len()];
        self.out.copy_to(&mut answers)?;
        answers.truncate(self.inputs[0].len());
        Ok(answers)
    }
}
