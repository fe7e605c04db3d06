//! Arrays in segments: of one length, of lengths about a mean, of a power law, one huge among tiny ones. The bytes are those of
//! the elements, the offsets and the answers.

use warpfold::{
    cpu, fold,
    layout::Segments,
    ops::{ArgMax, LogSumExp, Max, Reduction, Sum, element::bf16},
};

use super::{Bench, Outcome, Sample, line, words};

/// Elements of each array.
const LEN: u64 = 1 << 28;

/// Kinds of segments of `len` elements, by name.
fn kinds(len: u64) -> Outcome<Vec<(String, Segments)>> {
    let mut kinds = vec![];
    for log in [4, 6, 8, 10, 12, 16, 20, 24] {
        kinds.push((format!("2^{log}"), Segments::by_size(len, 1 << log)?));
    }
    kinds.push(("1..2047".into(), drawn(len, |u| 1 + (u * 2047.0) as u64)?));
    kinds.push(("power law".into(), drawn(len, |u| (8.0 / (u + 1e-9)).min(1e7) as u64)?));
    let tiny = (len / 268).min(1_000_000);
    let mut lens = vec![3; tiny as usize];
    lens.insert(tiny as usize / 3, len - 3 * tiny);
    kinds.push(("one huge among a million of 3".into(), Segments::by_lens(lens)?));
    Ok(kinds)
}

/// Segments whose lengths are drawn from numbers in [0, 1), the same in each run, until all elements are in one.
/// `host/benches/peers/peers.py` draws the same.
fn drawn(len: u64, of: impl Fn(f64) -> u64) -> Outcome<Segments> {
    let (mut state, mut left, mut lens) = (1_u64, len, vec![]);
    while left > 0 {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        let len = of((state >> 40) as f64 / (1_u64 << 24) as f64).min(left);
        lens.push(len);
        left -= len;
    }
    Ok(Segments::by_lens(lens)?)
}

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
    let (small, large) = (kinds(pattern.len() as u64)?, kinds(LEN)?);
    each(bench, Sum, &pattern, &small, &large)?;
    each(bench, Max, &pattern, &small, &large)?;
    each(bench, ArgMax, &pattern, &small, &large)?;
    each(bench, LogSumExp, &pattern, &small, &large)
}

pub(crate) fn time<T: Sample, R: Reduction<T>>(bench: &Bench, op: R) -> Outcome<()> {
    time_each::<T, R>(bench, op, &kinds(LEN)?)
}

fn each<T: Sample, R: Reduction<T>>(
    bench: &Bench,
    op: R,
    pattern: &[T],
    small: &[(String, Segments)],
    large: &[(String, Segments)],
) -> Outcome<()> {
    for (name, segments) in small {
        check(bench, op, pattern, name, segments)?;
    }
    time_each::<T, R>(bench, op, large)
}

fn time_each<T: Sample, R: Reduction<T>>(bench: &Bench, op: R, kinds: &[(String, Segments)]) -> Outcome<()> {
    for (name, segments) in kinds {
        let prepared = bench.gpu.prepare_segments::<T, R>(op, segments)?;
        let us = bench.time(&prepared, 0)?;
        let bytes = prepared.plan().bytes() as usize;
        line(["segments", R::NAME], name, T::TYPE.name(), us, bytes);
    }
    Ok(())
}

/// Never time a wrong kernel.
fn check<T: Sample, R: Reduction<T>>(
    bench: &Bench,
    op: R,
    pattern: &[T],
    name: &str,
    segments: &Segments,
) -> Outcome<()> {
    let expected = cpu::reduce_segments(op, pattern, segments)?;
    let input = bench.view::<T>(0, segments.len() as usize);
    let answers = fold(op).segments(segments.clone()).on(&bench.gpu, input)?;
    let bits = |answers: Vec<R::Answer>| answers.into_iter().map(words).collect::<Vec<_>>();
    if bits(answers) == bits(expected) {
        Ok(())
    } else {
        Err(format!("{} in segments of {name}: GPU and CPU differ", R::NAME).into())
    }
}
