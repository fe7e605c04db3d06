//! Folds behind a step. Those of the operator alone are among the types.

use warpfold::ops::{ArgMin, Mapped, Mean, Reduction, Step, Sum, element::bf16};

use super::{Bench, Outcome, Sample, types};

pub(crate) fn run(bench: &Bench) -> Outcome<()> {
    of::<f32>(bench)?;
    of::<bf16>(bench)
}

fn of<T: Sample>(bench: &Bench) -> Outcome<()>
where
    Mapped<Sum>: Reduction<T>,
    Mapped<Mean>: Reduction<T>,
    Mapped<ArgMin>: Reduction<T>,
{
    let pattern = bench.fill::<T>()?;
    let behind = |op| ["steps", op];
    types::op(bench, behind("sum of |x|"), Mapped(Sum, Step::ABS), &pattern)?;
    let squares = Mapped(Mean, Step::minus(1.0).square());
    types::op(bench, behind("mean of (x - 1)²"), squares, &pattern)?;
    let exponentials = Mapped(Sum, Step::minus(1.0).exp());
    types::op(bench, behind("sum of exp(x - 1)"), exponentials, &pattern)?;
    let nearest = Mapped(ArgMin, Step::minus(1.0).abs());
    types::op(bench, behind("argmin of |x - 1|"), nearest, &pattern)
}
