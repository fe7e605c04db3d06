//! The head of a language model: losses of logits and their gradients in one reading, and back through the norm before it.
//!
//! `cargo run --release -p warpfold --example 11_cross_entropy`

use std::error::Error;

use warpfold::{
    View,
    gpu::Gpu,
    layout::Layout,
    ops::element::bf16,
    row::{self, Partials},
};

const TOKENS: usize = 64;
/// That of GPT-2: rows that end in the middle of a vector.
const CLASSES: usize = 50_257;
const FEATURES: usize = 768;
/// Classes of a rank, where ranks share the vocabulary: 16 leaves of bf16. The last has the rest.
const OF_RANK: usize = 16_384;

fn main() -> Result<(), Box<dyn Error>> {
    let number = |i: usize| bf16::from_f32((i * 7919 % 1009) as f32 / 100.0 - 5.0);
    let logits: Vec<bf16> = (0..TOKENS * CLASSES).map(number).collect();
    // Every eighth token is padding.
    let target = |i: usize| if i % 8 == 7 { -100 } else { (i * 613 % CLASSES) as i64 };
    let targets: Vec<i64> = (0..TOKENS).map(target).collect();
    let counted = targets.iter().filter(|target| **target >= 0).count();
    let matrix = Layout::c_order(&[TOKENS as u64, CLASSES as u64])?;

    let loss = || {
        row::cross_entropy(&targets)
            .label_smoothing(0.1)
            .z_loss(1e-4)
            .gradient(1.0 / counted as f32)
    };
    let mapped = loss().on_cpu::<_, bf16>(View::new(&logits, &matrix)?)?;
    let mean = mapped.known.loss.iter().sum::<f32>() / counted as f32;
    println!("mean loss of {counted} of {TOKENS} tokens: {mean}");
    println!(
        "token 0: loss {}, log-probability {}, entropy {} nats",
        mapped.known.loss[0], mapped.known.log_probability[0], mapped.known.entropy[0]
    );

    // The vocabulary split over ranks: what each finds in its columns is five words of each token, and together these are what is found in all.
    let mut ranks = vec![];
    for first in (0..CLASSES).step_by(OF_RANK) {
        let shape = [TOKENS as u64, OF_RANK.min(CLASSES - first) as u64];
        let columns = Layout::strided(&shape, &[CLASSES as i64, 1], first as u64)?;
        ranks.push((loss().part(first as u64, CLASSES as u64), columns));
    }
    let fold = |(part, columns): &(row::Part<'_>, Layout)| part.fold_on_cpu(View::new(&logits, columns)?);
    let gathered: Vec<Partials> = ranks.iter().map(fold).collect::<Result<_, _>>()?;
    let rows = Partials::combine(&gathered)?;
    for (part, columns) in &ranks {
        let of_rank = part.map_on_cpu::<_, bf16>(View::new(&logits, columns)?, &rows)?;
        assert_eq!(of_rank.known, mapped.known);
    }
    println!(
        "{} ranks, which have a part of each row, know the same bits",
        ranks.len()
    );

    // A norm and its gradients: of its inputs, and of its weights and biases.
    let features = Layout::c_order(&[TOKENS as u64, FEATURES as u64])?;
    let inputs: Vec<bf16> = (0..TOKENS * FEATURES).map(number).collect();
    let gradients: Vec<bf16> = (0..TOKENS * FEATURES).map(|i| number(i * 3 + 1)).collect();
    let view = || View::new(&inputs, &features);
    let known = row::layer_norm(1e-5).on_cpu::<_, bf16>(view()?)?.known;
    let dx = row::layer_norm_gradient(&gradients, &known).on_cpu::<_, bf16>(view()?)?;
    let columns = row::norm_column_gradients(&gradients, &known).on_cpu(view()?)?;
    println!(
        "layer norm: dx begins {:?}, the bias's gradient {:?}",
        &dx.values[..3],
        &columns.bias[..3]
    );

    match Gpu::new(0) {
        Ok(gpu) => {
            gpu.make_current()?;
            assert_eq!(loss().on::<_, bf16>(&gpu, View::new(&logits, &matrix)?)?, mapped);
            assert_eq!(
                row::norm_column_gradients(&gradients, &known).on(&gpu, view()?)?,
                columns
            );
            println!("{} gives the same bits", gpu.facts());
        }
        Err(error) => println!("on the CPU alone: {error}"),
    }
    Ok(())
}
