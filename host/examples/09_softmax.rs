//! Softmax of attention scores: each row sees the keys up to its own. The bits of a row depend on that row alone.
//!
//! `cargo run --release -p warpfold --example 09_softmax`

use std::error::Error;

use warpfold::{View, gpu::Gpu, layout::Layout, row};

fn main() -> Result<(), Box<dyn Error>> {
    // 4 queries of 6 keys, of which the last 4 are the queries' own.
    let (queries, keys, depth) = (4, 6, 64.0_f32);
    let scores: Vec<f32> = (0..queries * keys).map(|i| ((i * 7 % 11) as f32 - 5.0) * 4.0).collect();
    let matrix = Layout::c_order(&[queries, keys])?;
    let softmax = || row::softmax().scale(1.0 / depth.sqrt()).causal();

    let mapped = softmax().on_cpu::<_, f32>(View::new(&scores, &matrix)?)?;
    for (row, known) in mapped.values.chunks(keys as usize).zip(&mapped.known.log_sum_exp) {
        let row: Vec<String> = row.iter().map(|y| format!("{y:.3}")).collect();
        println!("{}   log-sum-exp {known:.3}", row.join(" "));
    }

    // Alone, a row has the bits that it has among others: of the first row three keys are seen.
    let alone = row::softmax()
        .scale(1.0 / depth.sqrt())
        .on_cpu::<_, f32>(&scores[..3])?;
    assert_eq!(alone.values, mapped.values[..3]);

    match Gpu::new(0) {
        Ok(gpu) => {
            // Rows of several leaves, which one launch folds and maps; and longer ones, which one launch folds and another maps.
            for len in [5000, 300_000] {
                let long: Vec<f32> = (0..8 * len).map(|i| (i * 7919 % 1009) as f32 / 50.0).collect();
                let rows = Layout::c_order(&[8, len])?;
                let expected = row::softmax().on_cpu::<_, f32>(View::new(&long, &rows)?)?;
                let on_gpu = row::softmax().on::<_, f32>(&gpu, View::new(&long, &rows)?)?;
                assert_eq!(on_gpu, expected);
            }
            println!("{} gives the same bits, fused or not", gpu.facts());
        }
        Err(error) => println!("on the CPU alone: {error}"),
    }
    Ok(())
}
