//! Operators of the largest states along axes and in segments: descriptions, and exact sums of f64.

use warpfold::ops::{Describe, Exact, Reduction, Sum};

use super::{Bench, Outcome, Sample, axes, segments};

pub(crate) fn run(bench: &Bench) -> Outcome<()> {
    of::<f32, _>(bench, Describe::default())?;
    of::<f64, _>(bench, Exact(Sum))
}

fn of<T: Sample, R: Reduction<T>>(bench: &Bench, op: R) -> Outcome<()> {
    let pattern = bench.fill::<T>()?;
    axes::each(bench, op, &pattern)?;
    segments::all(bench, op, &pattern)
}
