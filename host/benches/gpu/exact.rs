//! Exact sums beside plain ones: of elements of about one size, and of any.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use warpfold::ops::{Exact, Reduction, Sum};

use super::{Bench, Outcome, PATTERN, Sample, types};

pub(crate) fn run(bench: &Bench) -> Outcome<()> {
    of::<f32>(bench, |hash| f32::from_bits(finite(hash, 32, 23) as u32))?;
    of::<f64>(bench, |hash| f64::from_bits(finite(hash, 64, 52)))
}

/// Of the bits of a float those that make no infinity and no NaN.
fn finite(hash: u64, bits: u32, fraction: u32) -> u64 {
    let all = u64::MAX >> (64 - bits);
    let exponent = all >> 1 >> fraction << fraction;
    if hash & exponent == exponent { 0 } else { hash & all }
}

fn of<T: Sample>(bench: &Bench, any: impl Fn(u64) -> T) -> Outcome<()>
where
    Sum: Reduction<T>,
    Exact<Sum>: Reduction<T>,
{
    let pattern = bench.fill::<T>()?;
    types::op(bench, ["exact", "sum"], Sum, &pattern)?;
    types::op(bench, ["exact", "exact sum"], Exact(Sum), &pattern)?;
    let hash = |i: usize| {
        let mut hasher = DefaultHasher::new();
        i.hash(&mut hasher);
        hasher.finish()
    };
    let pattern: Vec<T> = (0..PATTERN).map(|i| any(hash(i))).collect();
    bench.fill_with(&pattern)?;
    types::op(bench, ["exact", "exact sum of any exponent"], Exact(Sum), &pattern)
}
