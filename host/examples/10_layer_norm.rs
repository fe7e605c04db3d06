//! Layer norm and root-mean-square norm of bf16 rows, with weights of their type; and what is known of each row beside.
//!
//! `cargo run --release -p warpfold --example 10_layer_norm`

use std::error::Error;

use cust::{
    memory::{CopyDestination, DeviceBuffer},
    stream::{Stream, StreamFlags},
};
use warpfold::{
    View,
    gpu::{Gpu, RowPlaces},
    layout::Layout,
    ops::element::{Type, bf16},
    row,
};

const ROWS: usize = 1024;
const COLUMNS: usize = 768;

fn main() -> Result<(), Box<dyn Error>> {
    let number = |i: usize| bf16::from_f32((i * 7919 % 1009) as f32 / 100.0 - 4.0);
    let values: Vec<bf16> = (0..ROWS * COLUMNS).map(number).collect();
    let weights: Vec<bf16> = (0..COLUMNS).map(|i| bf16::from_f32(1.0 + i as f32 / 4096.0)).collect();
    let matrix = Layout::c_order(&[ROWS as u64, COLUMNS as u64])?;

    let normed = row::layer_norm(1e-5)
        .weight(&weights)
        .on_cpu::<_, bf16>(View::new(&values, &matrix)?)?;
    println!("layer norm: row 0 begins {:?}", &normed.values[..4]);
    println!(
        "its mean is {}, and 1 / deviation {}",
        normed.known.mean[0], normed.known.reciprocal_deviation[0]
    );
    let normed = row::rms_norm(1e-6)
        .weight(&weights)
        .on_cpu::<_, bf16>(View::new(&values, &matrix)?)?;
    println!("RMS norm: row 0 begins {:?}", &normed.values[..4]);

    match Gpu::new(0) {
        Ok(gpu) => {
            // On a stream of one's own, from device memory to device memory: nothing is allocated, nothing waited for.
            gpu.make_current()?;
            let prepared = row::rms_norm(1e-6).prepare::<bf16, bf16>(&gpu, &matrix)?;
            println!("{}: {}", gpu.facts(), prepared.plan());
            let stream = Stream::new(StreamFlags::DEFAULT, None)?;
            let (input, weight) = (
                DeviceBuffer::from_slice(&bits(&values))?,
                DeviceBuffer::from_slice(&bits(&weights))?,
            );
            let output = DeviceBuffer::<u16>::zeroed(values.len())?;
            let mut workspace = prepared.workspace()?;
            let places = RowPlaces {
                input: input.as_device_ptr().as_raw(),
                output: output.as_device_ptr().as_raw(),
                weights: (weight.as_device_ptr().as_raw(), Some(Type::Bf16)),
                ..RowPlaces::default()
            };
            // SAFETY: all of it lives past the synchronisation, and nothing else uses it before.
            unsafe { prepared.launch_raw(&stream, &places, &mut workspace)? };
            stream.synchronize()?;
            let mut mapped = vec![0; values.len()];
            output.copy_to(&mut mapped)?;
            assert_eq!(mapped, bits(&normed.values));
            println!("and the same bits");
        }
        Err(error) => println!("on the CPU alone: {error}"),
    }
    Ok(())
}

fn bits(values: &[bf16]) -> Vec<u16> {
    values.iter().map(|value| value.to_bits()).collect()
}
