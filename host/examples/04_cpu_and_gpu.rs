//! The same bits from the CPU, from the GPU, and from every launch shape.
//!
//! Each shape cuts the array into other tiles, for other warps and blocks. The emulator runs the GPU's kernel in the same
//! shapes. `cargo run --release --example 04_cpu_and_gpu`; needs no GPU.

use std::error::Error;

use cust::{
    memory::{DeviceBuffer, DeviceSlice},
    stream::{Stream, StreamFlags},
};
use warpfold::{
    cpu,
    gpu::Gpu,
    ops::{Reduction, Sum},
    plan::Shape,
};

/// Launches as unlike as can be, as `main` prints them.
const SHAPES: [[u32; 3]; 5] = [[1, 1, 1], [1, 1, 98], [2, 4, 3], [8, 2, 7], [16, 8, 2]];

fn main() -> Result<(), Box<dyn Error>> {
    let values: Vec<f32> = (1..=100_003_u32).map(|i| (i % 251) as f32 / i as f32).collect();
    let expected = cpu::reduce(Sum, &values)?;
    println!("[warps in a block, leaves that each folds of a tile, blocks]");
    show("a loop from left to right, to compare with", values.iter().sum());
    show(&format!("cpu, {} threads", cpu::threads()), expected);

    let mut same = true;
    for shape in SHAPES {
        let sum = on_emulator(&values, shape)?;
        same &= show(&format!("emulator, {shape:?}"), sum) == expected.to_bits();
    }
    match Gpu::new(0) {
        Ok(gpu) => {
            gpu.make_current()?;
            let input = DeviceBuffer::from_slice(&values)?;
            for shape in SHAPES {
                let sum = on_gpu(&gpu, &input, shape)?;
                same &= show(&format!("gpu:0, {shape:?}"), sum) == expected.to_bits();
            }
        }
        Err(error) => println!("gpu:0 not used: {error}"),
    }
    assert!(same, "a shape changed the bits");
    Ok(())
}

fn on_emulator(values: &[f32], [warps, leaves_per_warp, blocks]: [u32; 3]) -> Result<f32, Box<dyn Error>> {
    let shape = warpfold_emulator::Shape {
        threads: 32 * warps,
        leaves_per_warp,
        blocks,
    };
    // How many elements the array starts past a multiple of 16 bytes, and the seed of the lanes' schedule.
    let (misalign, seed) = (1, 42);
    Ok(warpfold_emulator::reduce_all(Reduction::<f32>::monoid(Sum), values, misalign, shape, seed)?.answer)
}

fn on_gpu(gpu: &Gpu, input: &DeviceSlice<f32>, shape: [u32; 3]) -> Result<f32, Box<dyn Error>> {
    let [warps, leaves_per_warp, blocks] = shape;
    let shape = Shape {
        warps,
        leaves_per_warp,
        blocks,
    };
    let prepared = gpu.prepare_shaped::<f32, _>(Sum, input.len() as u64, shape)?;
    let stream = Stream::new(StreamFlags::DEFAULT, None)?;
    let (mut workspace, mut answer) = (prepared.workspace()?, DeviceBuffer::<f32>::zeroed(1)?);
    // SAFETY: everything lives past the synchronisation, and nothing else uses it before.
    unsafe { prepared.launch(&stream, input, &mut answer, &mut workspace)? };
    stream.synchronize()?;
    Ok(answer.as_host_vec()?[0])
}

fn show(what: &str, sum: f32) -> u32 {
    println!("{what:<44} {:08x}  {sum}", sum.to_bits());
    sum.to_bits()
}
