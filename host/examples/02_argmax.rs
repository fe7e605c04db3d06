//! Where the largest value is: ties, NaN, signed zeros and the empty array.
//!
//! `cargo run --release --example 02_argmax`; needs no GPU.

use warpfold::{
    Error, cpu,
    gpu::Gpu,
    ops::{ArgMax, Max},
};

fn main() {
    let gpu = match Gpu::new(0) {
        Ok(gpu) => {
            println!("on {}", gpu.facts());
            Some(gpu)
        }
        Err(error) => {
            println!("on the CPU: {error}");
            None
        }
    };
    let argmax = |values: &[f32]| -> Result<u64, Error> {
        match &gpu {
            Some(gpu) => gpu.reduce_host(ArgMax, values),
            None => cpu::reduce(ArgMax, values),
        }
    };

    let cases: [(&str, &[f32]); 5] = [
        ("equals: the first of them", &[1.0, 7.0, 3.0, 7.0]),
        ("a NaN beats every number", &[1.0, f32::INFINITY, f32::NAN, 3.0]),
        ("among NaNs, the first", &[1.0, f32::NAN, -f32::NAN]),
        ("the two zeros are equals", &[-0.0, 0.0]),
        ("nothing has no largest", &[]),
    ];
    for (what, values) in cases {
        match argmax(values) {
            // The answer is an index, and 64 bits wide: arrays may have more than 2³² elements.
            Ok(index) => println!("{what:<27} {values:?}: index {index}, value {}", values[index as usize]),
            Err(error) => println!("{what:<27} {values:?}: {error}"),
        }
    }

    // The two zeros tie here, but `max` tells them apart, so that its answer does not depend on their order.
    let largest = cpu::reduce(Max, &[-0.0, 0.0]).expect("two elements");
    println!("{:<27} [-0.0, 0.0]: {largest:?}", "max knows the larger zero");
}
