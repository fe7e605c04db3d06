//! Folds in segments: ragged runs of an array, and many arrays at once; each answer has the bits that its elements alone would
//! give.
//!
//! `cargo run --release -p warpfold --example 06_segments`

use std::error::Error;

use cust::memory::DeviceBuffer;
use warpfold::{
    cpu,
    gpu::Gpu,
    layout::Segments,
    ops::{ArgMax, Mean, NormL2},
};

fn main() -> Result<(), Box<dyn Error>> {
    // Four sentences of 3, 5, 0 and 2 words; a number for each word.
    let values = [0.5_f32, -1.0, 2.0, 4.0, 0.0, 0.25, 8.0, -3.0, 1.5, 1.0];
    let sentences = Segments::by_offsets(&[0, 3, 8, 8, 10])?;
    println!("mean of each: {:?}", cpu::reduce_segments(Mean, &values, &sentences)?);

    // Over nothing there is no largest: the error says where.
    match cpu::reduce_segments(ArgMax, &values, &sentences) {
        Ok(_) => unreachable!("a sentence is empty"),
        Err(error) => println!("{error}"),
    }

    // A segment for each run of equal keys.
    let speakers = [7, 7, 7, 7, 1, 1, 7, 7, 7, 2];
    let turns = Segments::by_keys(&speakers);
    println!(
        "turns begin at {:?}; the largest in each is at {:?} of its own",
        &turns.offsets()[..turns.count()],
        cpu::reduce_segments(ArgMax, &values, &turns)?
    );

    match Gpu::new(0) {
        Ok(gpu) => {
            gpu.make_current()?;
            let on_device = DeviceBuffer::from_slice(&values)?;
            let on_gpu = gpu.reduce_segments(Mean, &on_device, &turns)?;
            assert_eq!(on_gpu, cpu::reduce_segments(Mean, &values, &turns)?);
            // Arrays that lie apart, in one launch.
            let other = DeviceBuffer::from_slice(&[3.0_f32, 4.0])?;
            println!("norms: {:?}", gpu.reduce_batch(NormL2, &[&on_device, &other])?);
            println!("{} gives the same bits", gpu.facts());
        }
        Err(error) => println!("on the CPU alone: {error}"),
    }
    Ok(())
}
