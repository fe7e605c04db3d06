//! Folds along axes: rows, columns, any strides; each answer has the bits that its elements alone would give.
//!
//! `cargo run --release -p warpfold --example 05_axes`

use std::error::Error;

use cust::memory::DeviceBuffer;
use warpfold::{
    cpu,
    gpu::Gpu,
    layout::{Axes, Layout},
    ops::{ArgMax, LogSumExp, Sum},
};

fn main() -> Result<(), Box<dyn Error>> {
    // 3 rows of 5 columns, in C order.
    let values: Vec<f32> = (0..15).map(|i| (i * 7 % 15) as f32).collect();
    let matrix = Layout::c_order(&[3, 5])?;

    let rows = cpu::reduce_axes(ArgMax, &values, &matrix, &Axes::of(&[1]))?;
    println!("argmax of each row: {:?}, shape {:?}", rows.answers, rows.shape);
    let columns = cpu::reduce_axes(Sum, &values, &matrix, &Axes::of(&[0]).keepdim())?;
    println!("sum of each column: {:?}, shape {:?}", columns.answers, columns.shape);

    // A view is strides: every other column, without a copy.
    let every_other = matrix.sliced(1, 0, 3, 2)?;
    let sums = cpu::reduce_axes(Sum, &values, &every_other, &Axes::of(&[-1]))?;
    println!("sum of every other column, row by row: {:?}", sums.answers);

    // A row's answer does not know how many rows there are.
    let alone = cpu::reduce(LogSumExp, &values[5..10])?;
    let among_others = cpu::reduce_axes(LogSumExp, &values, &matrix, &Axes::of(&[1]))?;
    assert_eq!(alone.to_bits(), among_others.answers[1].to_bits());

    match Gpu::new(0) {
        Ok(gpu) => {
            gpu.make_current()?;
            let on_device = DeviceBuffer::from_slice(&values)?;
            let on_gpu = gpu.reduce_axes(LogSumExp, &on_device, &matrix, &Axes::of(&[1]))?;
            assert_eq!(on_gpu, among_others);
            println!("{} gives the same bits", gpu.facts());
        }
        Err(error) => println!("on the CPU alone: {error}"),
    }
    Ok(())
}
