//! Operators and a row operation of one's own, from the crate in `own-operator/`, on the CPU and on a GPU.
//!
//! `cargo xtask build-ptx --crate host/examples/own-operator` builds their kernels, then
//! `cargo run --release -p warpfold --example 07_own_operator`

use std::error::Error;

use cust::memory::DeviceBuffer;
use own_operator::{GeometricMean, L2Normalise, MeanDistance, TakeCensus};
use warpfold::{
    View, cpu,
    gpu::Gpu,
    layout::{Axes, Layout, Segments},
    ops::Mean,
    row,
};

fn main() -> Result<(), Box<dyn Error>> {
    // Growth factors of four years.
    let factors = [1.10_f32, 0.95, 1.20, 1.02];
    let (mean, left_out) = cpu::reduce(GeometricMean, &factors)?;
    println!("{factors:?} are {mean:.4} a year, {left_out} left out");

    // A mean of distances, in one pass and with no array of distances.
    let values: Vec<f32> = (0..1_000_000).map(|i| (i % 1001) as f32 / 8.0 - 50.0).collect();
    let deviation = MeanDistance {
        from: cpu::reduce(Mean, &values)?,
    };
    println!("mean absolute deviation: {}", cpu::reduce(deviation, &values)?);
    println!("{:?}", cpu::reduce(TakeCensus, &values)?);

    // Every way to fold takes them: along axes, in segments, in pieces.
    let matrix = Layout::c_order(&[1000, 1000])?;
    let columns = cpu::reduce_axes(deviation, &values, &matrix, &Axes::of(&[0]))?;
    let segments = Segments::by_lens([10, 0, 999_990])?;
    let counts = cpu::reduce_segments(TakeCensus, &values, &segments)?;
    println!("{} columns, {} segments", columns.answers.len(), counts.len());

    // A row operation: each row divided by its L2 norm, which comes with the answers.
    let rows = row::own(L2Normalise { epsilon: 1e-12 }).on_cpu::<_, f32>(View::new(&values, &matrix)?)?;
    println!("row 0 begins {:?}", &rows.values[..3]);
    println!("its norm is {}", rows.known.numbers[0][0]);

    match on_gpu(&values, deviation) {
        Ok(()) => println!("the GPU gives the same bits"),
        // No GPU here, or the kernels of `own-operator` were not built.
        Err(error) => println!("on the CPU alone: {error}"),
    }
    Ok(())
}

fn on_gpu(values: &[f32], deviation: MeanDistance) -> Result<(), Box<dyn Error>> {
    let gpu = Gpu::new(0)?;
    gpu.make_current()?;
    let on_device = DeviceBuffer::from_slice(values)?;
    let (mean, left_out) = gpu.reduce(GeometricMean, &on_device)?;
    let expected = cpu::reduce(GeometricMean, values)?;
    assert_eq!((mean.to_bits(), left_out), (expected.0.to_bits(), expected.1));
    assert_eq!(gpu.reduce(deviation, &on_device)?, cpu::reduce(deviation, values)?);
    assert_eq!(gpu.reduce(TakeCensus, &on_device)?, cpu::reduce(TakeCensus, values)?);

    let (matrix, axes) = (Layout::c_order(&[1000, 1000])?, Axes::of(&[0]));
    let columns = gpu.reduce_axes(TakeCensus, &on_device, &matrix, &axes)?;
    assert_eq!(
        columns.answers,
        cpu::reduce_axes(TakeCensus, values, &matrix, &axes)?.answers
    );
    let segments = Segments::by_lens([10, 0, 999_990])?;
    assert_eq!(
        gpu.reduce_segments(TakeCensus, &on_device, &segments)?,
        cpu::reduce_segments(TakeCensus, values, &segments)?
    );
    let unit = row::own(L2Normalise { epsilon: 1e-12 });
    let rows = unit.clone().on::<_, f32>(&gpu, View::new(values, &matrix)?)?;
    assert_eq!(rows, unit.on_cpu(View::new(values, &matrix)?)?);
    Ok(())
}
