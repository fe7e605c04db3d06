//! A kernel of one's own from the first line to a GPU: `total_variation` of the crate in `own-operator/`, the book's eighth chapter. The emulator
//! runs it lane by lane; where there is a GPU, its bits are the same.
//!
//! `cargo xtask build-ptx --crate host/examples/own-operator` builds the kernel for GPUs, then
//! `cargo run --release -p warpfold --example 15_total_variation`

#[path = "total_variation/emulator.rs"]
mod emulator;
#[path = "total_variation/launch.rs"]
mod launch;

use std::error::Error;

use emulator::on_emulator;
use warpfold::gpu::Gpu;

fn main() -> Result<(), Box<dyn Error>> {
    let values: Vec<f32> = (0..10_000).map(|i| (i as f32 / 100.0).sin()).collect();
    let steps = values.windows(2).map(|pair| f64::from(pair[1]) - f64::from(pair[0]));
    println!("a loop in f64:  {}", steps.map(f64::abs).sum::<f64>());

    let sum = on_emulator(&values, 0, 1)?;
    for seed in 2..10 {
        assert_eq!(on_emulator(&values, 0, seed)?.to_bits(), sum.to_bits());
    }
    println!("the emulator:   {sum}, on nine schedules");

    match Gpu::new(0)
        .map_err(Into::into)
        .and_then(|gpu| Ok((launch::on_gpu(&gpu, &values)?, gpu)))
    {
        Ok((on_gpu, gpu)) => {
            assert_eq!(on_gpu.to_bits(), sum.to_bits());
            println!("{}: the same bits", gpu.facts());
        }
        Err::<_, Box<dyn Error>>(error) => println!("no GPU:         {error}"),
    }
    Ok(())
}
