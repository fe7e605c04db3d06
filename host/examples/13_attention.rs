//! Attention as a reduction: one query for each head, as in decoding, by a kernel of one's own from the crate in `own-operator/`.
//!
//! `cargo xtask build-ptx --crate host/examples/own-operator` builds the kernel, then
//! `cargo run --release -p warpfold --example 13_attention`

#[path = "attention/launch.rs"]
mod launch;

use std::{error::Error, time::Instant};

use cust::{
    event::{Event, EventFlags},
    stream::{Stream, StreamFlags},
};
use own_operator::attention::{Fold, Plan, Sizes, TILE, attend_on_cpu};
use warpfold::gpu::Gpu;

use crate::launch::OnGpu;

fn main() -> Result<(), Box<dyn Error>> {
    // Two queries, of which the first does not see the last key.
    let sizes = Sizes::full(1, 2, 5, 3).causal();
    let inputs = inputs(&sizes);
    for (query, answer) in on_cpu(&sizes, &inputs).chunks(3).enumerate() {
        println!(
            "query {query} sees {} of 5 keys: {answer:.4?}",
            sizes.visible(query as u64)
        );
    }

    // Decoding: 8 heads of 16,384 keys. A head size of 80 is a multiple of neither 32 nor 64.
    for head_size in [80, 128] {
        decode(Sizes::full(8, 1, 16_384, head_size))?;
    }
    Ok(())
}

fn decode(sizes: Sizes) -> Result<(), Box<dyn Error>> {
    let inputs = inputs(&sizes);
    let size = sizes.head_size as usize;
    let start = Instant::now();
    let answers = on_cpu(&sizes, &inputs);
    let seconds = start.elapsed().as_secs_f64();
    let exact = formula(&sizes, &inputs);
    let off = answers
        .iter()
        .zip(&exact)
        .map(|(answer, exact)| (f64::from(*answer) - exact).abs());
    println!(
        "head size {size}: {:.6?} …, off the formula in f64 by {:.1e} at most",
        &answers[..2],
        off.fold(0.0, f64::max)
    );
    println!(
        "  CPU: {:.1} ms, {:.2} GB/s",
        1e3 * seconds,
        bytes(&sizes) / seconds / 1e9
    );

    // The first head's keys in two pieces, as of a cached prefix and of what came later: the same bits.
    let joint = 100 * TILE as usize * size;
    let of_head = sizes.keys as usize * size;
    let [queries, keys, values] = &inputs;
    let mut fold = Fold::<4>::new(&queries[..size], sizes.scale);
    for piece in [0..joint, joint..of_head] {
        fold.push(&keys[piece.clone()], &values[piece]);
    }
    let mut of_pieces = vec![0.0; size];
    fold.finish(&mut of_pieces);
    assert_eq!(of_pieces, answers[..size]);

    match Gpu::new(0) {
        Ok(gpu) => match on_gpu(&gpu, sizes, &inputs) {
            Ok((on_gpu, seconds)) => {
                assert_eq!(on_gpu, answers);
                println!(
                    "  {}: the same bits, {:.1} µs, {:.0} GB/s",
                    gpu.facts(),
                    1e6 * seconds,
                    bytes(&sizes) / seconds / 1e9
                );
            }
            // The kernel of `own-operator` was not built.
            Err(error) => println!("  on the CPU alone: {error}"),
        },
        Err(error) => println!("  on the CPU alone: {error}"),
    }
    Ok(())
}

/// Queries, keys and values.
fn inputs(sizes: &Sizes) -> [Vec<f32>; 3] {
    let number = |i: u64, by: u64| (i * by % 1009) as f32 / 252.0 - 2.0;
    let of = |rows: u64, by: u64| (0..rows * sizes.head_size).map(|i| number(i, by)).collect();
    let keys = sizes.heads * sizes.keys;
    [of(sizes.rows(), 7919), of(keys, 6151), of(keys, 3571)]
}

/// What is read: keys and values, once.
fn bytes(sizes: &Sizes) -> f64 {
    (2 * 4 * sizes.heads * sizes.keys * sizes.head_size) as f64
}

fn on_cpu(sizes: &Sizes, [queries, keys, values]: &[Vec<f32>; 3]) -> Vec<f32> {
    let mut answers = vec![0.0; queries.len()];
    attend_on_cpu(sizes, queries, keys, values, &mut answers);
    answers
}

/// The plain formula, with all of a query's scores in memory.
fn formula(sizes: &Sizes, [queries, keys, values]: &[Vec<f32>; 3]) -> Vec<f64> {
    let size = sizes.head_size as usize;
    let of_head = sizes.keys as usize * size;
    let mut answers = vec![];
    for ((query, keys), values) in queries
        .chunks(size)
        .zip(keys.chunks(of_head))
        .zip(values.chunks(of_head))
    {
        let score = |key: &[f32]| -> f64 { query.iter().zip(key).map(|(q, k)| f64::from(*q) * f64::from(*k)).sum() };
        let scores: Vec<f64> = keys
            .chunks(size)
            .map(|key| score(key) * f64::from(sizes.scale))
            .collect();
        let max = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let (mut sum, mut answer) = (0.0, vec![0.0; size]);
        for (score, value) in scores.iter().zip(values.chunks(size)) {
            let weight = (score - max).exp();
            sum += weight;
            for (answer, value) in answer.iter_mut().zip(value) {
                *answer += weight * f64::from(*value);
            }
        }
        answers.extend(answer.into_iter().map(|answer| answer / sum));
    }
    answers
}

/// The answers, and the seconds that a launch takes: the mean of many, which follow one another.
fn on_gpu(gpu: &Gpu, sizes: Sizes, inputs: &[Vec<f32>; 3]) -> Result<(Vec<f32>, f64), Box<dyn Error>> {
    const LAUNCHES: u32 = 50;
    gpu.make_current()?;
    let plan = Plan::new(&sizes, gpu.facts().multiprocessors).ok_or("no kernel has that head size")?;
    let attention = OnGpu::new(gpu, sizes, plan, inputs.each_ref().map(Vec::as_slice))?;
    let stream = Stream::new(StreamFlags::DEFAULT, None)?;
    let [start, end] = [Event::new(EventFlags::DEFAULT)?, Event::new(EventFlags::DEFAULT)?];
    attention.launch(&stream)?;
    start.record(&stream)?;
    for _ in 0..LAUNCHES {
        attention.launch(&stream)?;
    }
    end.record(&stream)?;
    stream.synchronize()?;
    let milliseconds = end.elapsed_time_f32(&start)?;
    Ok((
        attention.answers()?,
        f64::from(milliseconds) / 1e3 / f64::from(LAUNCHES),
    ))
}
