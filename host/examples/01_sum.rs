//! Sum an array on the best device there is, and see that the CPU gives the same bits.
//!
//! `cargo run --release --example 01_sum`; needs no GPU.

use warpfold::{Error, cpu, gpu::Gpu, ops::Sum};

fn main() -> Result<(), Error> {
    // The harmonic series. No partial sum of it is exact in f32, so another order of adding shows in the bits.
    let values: Vec<f32> = (1..=10_000_000_u32).map(|i| 1.0 / i as f32).collect();

    let on_cpu = cpu::reduce(Sum, &values)?;
    println!("cpu    {on_cpu}  bits {:08x}", on_cpu.to_bits());

    // The driver is loaded here, when first asked for. Where there is none, this is an error like any other, and the
    // program goes on.
    match Gpu::new(0) {
        Ok(gpu) => {
            let on_gpu = gpu.reduce_host(Sum, &values)?;
            println!("gpu:0  {on_gpu}  bits {:08x}", on_gpu.to_bits());
            assert_eq!(on_gpu.to_bits(), on_cpu.to_bits());
        }
        Err(error) => println!("gpu:0  not used: {error}"),
    }

    // From left to right, each addition rounds a sum that is already large; in the canonical tree only 24 roundings
    // lie between an element and the answer.
    let plain: f32 = values.iter().sum();
    let exact: f64 = values.iter().map(|value| f64::from(*value)).sum();
    println!("a loop from left to right {plain}, in f64 {exact:.6}");
    Ok(())
}
