//! Folds behind a step, beside those of the operator alone.

use warpfold::ops::{ArgMin, LogSumExp, Mapped, Mean, Reduction, Step, Sum, SumOfSquares, element::bf16};

use super::{Bench, Outcome, Sample, types};

pub(crate) fn run(bench: &Bench) -> Outcome<()> {
    of::<f32>(bench)?;
    of::<f64>(bench)?;
    of::<bf16>(bench)
}

fn of<T: Sample>(bench: &Bench) -> Outcome<()>
where
    Sum: Reduction<T>,
    ArgMin: Reduction<T>,
    LogSumExp: Reduction<T>,
    SumOfSquares: Reduction<T>,
    Mapped<Sum>: Reduction<T>,
    Mapped<Mean>: Reduction<T>,
    Mapped<ArgMin>: Reduction<T>,
{
    let pattern = bench.fill::<T>()?;
    types::op(bench, Sum, &pattern)?;
    named("|x|", || types::op(bench, Mapped(Sum, Step::ABS), &pattern))?;
    named("(x - 1)²", || {
        types::op(bench, Mapped(Mean, Step::minus(1.0).square()), &pattern)
    })?;
    types::op(bench, SumOfSquares, &pattern)?;
    named("exp(x - 1)", || {
        types::op(bench, Mapped(Sum, Step::minus(1.0).exp()), &pattern)
    })?;
    types::op(bench, LogSumExp, &pattern)?;
    named("|x - 1|", || {
        types::op(bench, Mapped(ArgMin, Step::minus(1.0).abs()), &pattern)
    })?;
    types::op(bench, ArgMin, &pattern)
}

fn named(step: &str, bench: impl FnOnce() -> Outcome<()>) -> Outcome<()> {
    println!("# behind {step}:");
    bench()
}
