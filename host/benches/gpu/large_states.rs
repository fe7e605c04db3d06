//! Operators of the largest states along axes and in segments: descriptions, and exact sums of f64.

use warpfold::{
    fold,
    layout::{Layout, Segments},
    ops::{Describe, Exact, Reduction, Sum},
};

use super::{Bench, Outcome, Sample, axes, segments, words};

pub(crate) fn run(bench: &Bench) -> Outcome<()> {
    of::<f32, _>(bench, Describe::default())?;
    of::<f64, _>(bench, Exact(Sum))
}

fn of<T: Sample, R: Reduction<T>>(bench: &Bench, op: R) -> Outcome<()> {
    let pattern = bench.fill::<T>()?;
    check_columns(bench, op, &pattern)?;
    check_segments(bench, op, &pattern)?;
    axes::time::<T, R>(bench, op)?;
    segments::time::<T, R>(bench, op)
}

/// Never time a wrong kernel: the bits are those of each extent alone, by the kernel of whole arrays. (Those are checked against the
/// CPU's where they are timed; its own folds along axes take long to compile of so large states.)
fn check_columns<T: Sample, R: Reduction<T>>(bench: &Bench, op: R, pattern: &[T]) -> Outcome<()> {
    let (rows, columns) = (3001, 20);
    let layout = Layout::c_order(&[rows as u64, columns as u64])?;
    let input = bench.view::<T>(0, rows * columns).with_layout(&layout)?;
    let folded = fold(op).axis(0).on(&bench.gpu, input)?;
    for (column, answer) in folded.answers.into_iter().enumerate() {
        let alone: Vec<T> = pattern[column..].iter().step_by(columns).take(rows).copied().collect();
        same(R::NAME, answer, bench.gpu.reduce_host(op, &alone)?)?;
    }
    Ok(())
}

/// The same of segments.
fn check_segments<T: Sample, R: Reduction<T>>(bench: &Bench, op: R, pattern: &[T]) -> Outcome<()> {
    let segments = Segments::by_lens([3, 60, 1, 700, 5000, 400_000, 17])?;
    let input = bench.view::<T>(0, segments.len() as usize);
    let answers = fold(op).segments(segments.clone()).on(&bench.gpu, input)?;
    for (i, answer) in answers.into_iter().enumerate() {
        let range = segments.get(i);
        let alone = &pattern[range.start as usize..range.end as usize];
        same(R::NAME, answer, bench.gpu.reduce_host(op, alone)?)?;
    }
    Ok(())
}

fn same<A: warpfold_kernels::monoids::Words>(name: &str, answer: A, alone: A) -> Outcome<()> {
    if words(answer) == words(alone) {
        Ok(())
    } else {
        Err(format!("{name}: an extent among others has other bits than alone").into())
    }
}
