//! Gradient norm and clipping over many tensors of different lengths and types, on the device: two launches whatever their number, and no waiting between them.
//!
//! `cargo run --release -p warpfold --example 12_clip_gradients`

use std::error::Error;

use cust::{
    memory::{CopyDestination, DeviceBuffer},
    stream::{Stream, StreamFlags},
};
use warpfold::{
    gpu::{Gpu, NORM_BYTES},
    gradients::{Floats, FloatsMut, Order, TotalNorm, grad_norm},
    ops::element::bf16,
};

/// Gradients of a model: matrices of bf16, and what is small of f32.
struct Gradients {
    matrices: Vec<Vec<bf16>>,
    norms: Vec<Vec<f32>>,
}

impl Gradients {
    fn new(layers: usize) -> Self {
        let number = |i: usize| (i * 7919 % 1009) as f32 / 5e4 - 0.01;
        let matrix = |layer: usize| (0..256 * 1024).map(|i| bf16::from_f32(number(i + layer))).collect();
        let norm = |layer: usize| (0..1000 + layer).map(number).collect();
        Self {
            matrices: (0..layers).map(matrix).collect(),
            norms: (0..layers).map(norm).collect(),
        }
    }

    fn floats(&self) -> Vec<Floats<'_>> {
        let both = self.matrices.iter().zip(&self.norms);
        both.flat_map(|(matrix, norm)| [matrix.into(), norm.into()]).collect()
    }

    fn floats_mut(&mut self) -> Vec<FloatsMut<'_>> {
        let both = self.matrices.iter_mut().zip(&mut self.norms);
        both.flat_map(|(matrix, norm)| [matrix.into(), norm.into()]).collect()
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut gradients = Gradients::new(24);
    let norm = grad_norm(Order::L2);
    let total = norm.on_cpu(&gradients.floats())?;
    println!(
        "{} tensors: norm {}, {} elements are not finite",
        gradients.floats().len(),
        total.norm,
        total.not_finite
    );
    match Gpu::new(0) {
        Ok(gpu) => on_gpu(&gpu, &gradients, total)?,
        Err(error) => println!("on the CPU alone: {error}"),
    }
    norm.clip_on_cpu(&mut gradients.floats_mut(), 1.0)?;
    println!("clipped: norm {}", norm.on_cpu(&gradients.floats())?.norm);
    Ok(())
}

/// As a training loop does it: all is prepared once, and each step enqueues two launches on its stream.
fn on_gpu(gpu: &Gpu, gradients: &Gradients, expected: TotalNorm) -> Result<(), Box<dyn Error>> {
    gpu.make_current()?;
    let stream = Stream::new(StreamFlags::DEFAULT, None)?;
    let buffers = |floats: &Floats<'_>| match floats {
        Floats::F32(values) => DeviceBuffer::from_slice(bytemuck::cast_slice::<f32, u8>(values)),
        Floats::F16(values) => DeviceBuffer::from_slice(bytemuck::cast_slice::<_, u8>(values)),
        Floats::Bf16(values) => DeviceBuffer::from_slice(bytemuck::cast_slice::<_, u8>(values)),
        other => unreachable!("no gradient here is of {}", other.element().name()),
    };
    let tensors = gradients.floats();
    let on_device: Vec<DeviceBuffer<u8>> = tensors.iter().map(buffers).collect::<Result<_, _>>()?;
    let addresses: Vec<u64> = on_device.iter().map(|buffer| buffer.as_device_ptr().as_raw()).collect();
    let lengths: Vec<_> = tensors
        .iter()
        .map(|tensor| (tensor.element(), tensor.len() as u64))
        .collect();

    let prepared = grad_norm(Order::L2).prepare(gpu, &lengths)?;
    let table = prepared.tensors(&addresses)?;
    let mut workspace = prepared.workspace()?;
    let answer = DeviceBuffer::<u8>::zeroed(NORM_BYTES)?;
    let address = answer.as_device_ptr().as_raw();
    println!("{}", prepared.plan());
    // SAFETY: all of it lives past the synchronisation, and nothing else uses it.
    unsafe {
        prepared.launch_raw(&stream, &table, address, &mut workspace)?;
        prepared.clip_raw(&stream, &table, 1.0, address)?;
    }
    stream.synchronize()?;
    let mut bytes = [0; NORM_BYTES];
    answer.copy_to(&mut bytes)?;
    assert_eq!(TotalNorm::of_words(bytemuck::cast(bytes)), expected);
    println!("{} gives the same bits", gpu.facts());
    Ok(())
}
