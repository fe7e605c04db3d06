//! Matrices, folded along their rows and along their columns.

use warpfold::{
    cpu, fold,
    layout::{Axes, Layout},
    ops::{ArgMax, LogSumExp, Max, Reduction, Sum, element::bf16},
};

use super::{Bench, Outcome, Sample, line, words};

/// From many short rows to few long ones.
const MATRICES: [(usize, usize); 6] = [
    (1 << 20, 64),
    (32_768, 256),
    (32_768, 1024),
    (16_384, 4096),
    (2048, 65_536),
    (1024, 262_144),
];

pub(crate) fn run(bench: &Bench) -> Outcome<()> {
    of::<f32>(bench)?;
    of::<bf16>(bench)
}

fn of<T: Sample>(bench: &Bench) -> Outcome<()>
where
    Sum: Reduction<T>,
    Max: Reduction<T>,
    ArgMax: Reduction<T>,
    LogSumExp: Reduction<T>,
{
    let pattern = bench.fill::<T>()?;
    each(bench, Sum, &pattern)?;
    each(bench, Max, &pattern)?;
    each(bench, ArgMax, &pattern)?;
    each(bench, LogSumExp, &pattern)
}

fn each<T: Sample, R: Reduction<T>>(bench: &Bench, op: R, pattern: &[T]) -> Outcome<()> {
    for (rows, columns) in [(100, 16), (50, 600), (60, 1001), (3, 40_000)] {
        for axis in [0, 1] {
            check(bench, op, pattern, (rows, columns), axis)?;
        }
    }
    time::<T, R>(bench, op)
}

pub(crate) fn time<T: Sample, R: Reduction<T>>(bench: &Bench, op: R) -> Outcome<()> {
    for (rows, columns) in MATRICES {
        for (axis, name) in [(1, "rows"), (0, "columns")] {
            let layout = Layout::c_order(&[rows as u64, columns as u64])?;
            let prepared = bench.gpu.prepare_axes::<T, R>(op, &layout, &Axes::of(&[axis]))?;
            let us = bench.time(&prepared, 0)?;
            let (case, bytes) = (format!("{rows}x{columns}"), rows * columns * size_of::<T>());
            line([name, R::NAME], case, T::TYPE.name(), us, bytes);
        }
    }
    Ok(())
}

/// Never time a wrong kernel.
fn check<T: Sample, R: Reduction<T>>(
    bench: &Bench,
    op: R,
    pattern: &[T],
    (rows, columns): (usize, usize),
    axis: i64,
) -> Outcome<()> {
    let (layout, axes) = (Layout::c_order(&[rows as u64, columns as u64])?, Axes::of(&[axis]));
    let expected = cpu::reduce_axes(op, &pattern[..rows * columns], &layout, &axes)?;
    let input = bench.view::<T>(0, rows * columns).with_layout(&layout)?;
    let answers = fold(op).along(axes).on(&bench.gpu, input)?;
    let bits = |answers: Vec<R::Answer>| answers.into_iter().map(words).collect::<Vec<_>>();
    if bits(answers.answers) == bits(expected.answers) {
        Ok(())
    } else {
        Err(format!("{} of {rows}x{columns} along axis {axis}: GPU and CPU differ", R::NAME).into())
    }
}
