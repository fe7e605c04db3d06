//! The canonical tree, version 1, word for word, and the operators as the table of `docs/canonical-tree.md` has them.
//!
//! It is slow, and shares nothing with the kernels and the host: not a constant, not an operator. Two who read the same
//! text independently and agree to the bit have probably both read it right.

pub mod typed;

use crate::{Bits, oracle};

/// The version of the tree that is written here.
pub const VERSION: u32 = 1;

/// The one NaN that answers have.
pub const NAN: u32 = 0x7fc0_0000;

const COLUMNS: usize = 128;
const ROWS: usize = 8;

/// Folds the states of an array of f32 in the canonical tree.
pub fn fold<S: Copy>(states: &[S], identity: S, combine: impl Fn(S, S) -> S) -> S {
    fold_columns(COLUMNS, states, identity, combine)
}

/// Folds `states` in the canonical tree of elements that have `columns` to a row: rows of a leaf, column by column; columns
/// of a leaf; leaves.
pub fn fold_columns<S: Copy>(columns: usize, states: &[S], identity: S, combine: impl Fn(S, S) -> S) -> S {
    let leaves = states
        .chunks(ROWS * columns)
        .map(|leaf| {
            let columns = (0..columns).map(|column| {
                let row = |row: usize| leaf.get(row * columns + column).copied().unwrap_or(identity);
                neighbours((0..ROWS).map(row).collect(), identity, &combine)
            });
            neighbours(columns.collect(), identity, &combine)
        })
        .collect();
    neighbours(leaves, identity, &combine)
}

/// `(0,1) (2,3) …`, then the results in pairs again. A state without a neighbour is combined with the identity.
fn neighbours<S: Copy>(states: Vec<S>, identity: S, combine: &impl Fn(S, S) -> S) -> S {
    if states.len() <= 1 {
        return states.first().copied().unwrap_or(identity);
    }
    let pair = |pair: &[S]| combine(pair[0], pair.get(1).copied().unwrap_or(identity));
    neighbours(states.chunks(2).map(pair).collect(), identity, combine)
}

/// Total variation, by the tree of the example crate's kernel: a thread adds its eight steps, which lie 256 apart, and threads are combined.
#[must_use]
pub fn total_variation(values: &[f32]) -> f32 {
    let steps: Vec<f32> = values.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    let of_tile = |tile: &[f32]| {
        let thread = |thread: usize| tile.iter().skip(thread).step_by(256).fold(-0.0, |sum, step| sum + step);
        (0..256).map(thread).collect::<Vec<f32>>()
    };
    let sum = neighbours(steps.chunks(2048).flat_map(of_tile).collect(), -0.0, &|a, b| a + b) + 0.0;
    if sum.is_nan() { f32::from_bits(NAN) } else { sum }
}

/// What the operator of that name answers over `values`; `None` where it has no answer over nothing.
///
/// # Panics
///
/// If there is no such operator.
#[must_use]
pub fn answer(op: &str, values: &[f32]) -> Option<Bits> {
    let len = values.len();
    let number = |value: f32| Some(Bits(vec![if value.is_nan() { NAN } else { value.to_bits() }]));
    let index = |index: usize| Some(Bits(vec![index as u32, (index as u64 >> 32) as u32]));
    let truth = |truth: bool| Some(Bits(vec![u32::from(truth)]));
    let both = |one: Option<Bits>, other: Option<Bits>| Some(Bits([one?.0, other?.0].concat()));
    match op {
        "sum" if len == 0 => number(0.0),
        "prod" if len == 0 => number(1.0),
        "mean" if len == 0 => number(f32::NAN),
        "min" | "max" | "argmin" | "argmax" | "argmin-last" | "argmax-last" | "minmax" | "argminmax" if len == 0 => {
            None
        }
        "l1" | "l2" | "linf" | "sumsq" | "sum-compensated" | "sum-wide" | "sum-exact" if len == 0 => number(0.0),
        "mean-compensated" | "mean-wide" | "mean-exact" if len == 0 => number(f32::NAN),
        "sum" => number(sum(values)),
        "prod" => number(fold(values, 1.0, |a, b| a * b)),
        "mean" => number((f64::from(sum(values)) / len as f64) as f32),
        "sum-compensated" => number(compensated(COLUMNS, values) as f32),
        "mean-compensated" => number((compensated(COLUMNS, values) / len as f64) as f32),
        "sum-wide" => number(in_f64(values) as f32),
        "mean-wide" => number((in_f64(values) / len as f64) as f32),
        "sum-exact" => number(exact(values, 1)),
        "mean-exact" => number(exact(values, len as u64)),
        "min" => number(-largest(&negated(values))),
        "max" => number(largest(values)),
        "argmin" => index(first_largest(&negated(values))),
        "argmax" => index(first_largest(values)),
        "argmin-last" => index(last_largest(&negated(values))),
        "argmax-last" => index(last_largest(values)),
        "minmax" => both(answer("min", values), answer("max", values)),
        "argminmax" => both(answer("argmin", values), answer("argmax", values)),
        "l1" => number(fold(&magnitudes(values), -0.0, |a, b| a + b)),
        "l2" => number(root(sum_of_squares(values))),
        "linf" => number(largest(&magnitudes(values))),
        "sumsq" => number(sum_of_squares(values) as f32),
        "count-nonzero" => index(values.iter().filter(|&&value| value != 0.0).count()),
        "count-nan" => index(values.iter().filter(|value| value.is_nan()).count()),
        "count-inf" => index(values.iter().filter(|value| value.abs() == f32::INFINITY).count()),
        "any" => truth(values.iter().any(|&value| value != 0.0)),
        "all" => truth(!values.contains(&0.0)),
        _ => panic!("no operator {op}"),
    }
}

/// −0.0 is the float that changes no other: -0.0 + 0.0 is 0.0.
fn sum(values: &[f32]) -> f32 {
    fold(values, -0.0, |a, b| a + b)
}

/// A float, and how to tell what an addition rounded off.
trait Float: Copy + Into<f64> {
    const ZERO: Self;
    const NOTHING: Self;
    fn plus(self, other: Self) -> Self;
    fn minus(self, other: Self) -> Self;
}

macro_rules! float {
    ($($float:ident)*) => {
        $(impl Float for $float {
            const ZERO: Self = 0.0;
            const NOTHING: Self = -0.0;
            fn plus(self, other: Self) -> Self {
                self + other
            }
            fn minus(self, other: Self) -> Self {
                self - other
            }
        })*
    };
}

float!(f32 f64);

/// The plain sum and the sum of what its additions rounded off, in f64; without the latter where that is 0 or no number.
fn compensated<F: Float>(columns: usize, values: &[F]) -> f64 {
    let states: Vec<(F, F)> = values.iter().map(|&value| (value, F::ZERO)).collect();
    let (sum, rest) = fold_columns(columns, &states, (F::NOTHING, F::ZERO), |a, b| {
        let sum = a.0.plus(b.0);
        if !sum.into().is_finite() {
            return (sum, F::ZERO);
        }
        let (large, small) = if a.0.into().abs() < b.0.into().abs() {
            (b.0, a.0)
        } else {
            (a.0, b.0)
        };
        let error = small.minus(sum.minus(large));
        (sum, a.1.plus(b.1).plus(error))
    });
    match rest.into() {
        0.0 => sum.into(),
        rest if rest.is_finite() => sum.into() + rest,
        _ => sum.into(),
    }
}

fn in_f64(values: &[f32]) -> f64 {
    let values: Vec<f64> = values.iter().copied().map(f64::from).collect();
    fold(&values, -0.0, |a, b| a + b)
}

/// The sum of the numbers as mathematics has it, over the divisor, to the nearest f32.
fn exact(values: &[f32], divisor: u64) -> f32 {
    let has = |what: f32| values.contains(&what);
    match (has(f32::INFINITY), has(f32::NEG_INFINITY)) {
        _ if values.iter().any(|value| value.is_nan()) => f32::NAN,
        (true, true) => f32::NAN,
        (true, false) => f32::INFINITY,
        (false, true) => f32::NEG_INFINITY,
        _ if values.iter().all(|value| value.to_bits() == (-0.0_f32).to_bits()) => -0.0,
        _ => oracle::sum(values.iter().copied()).nearest(divisor),
    }
}

fn magnitudes(values: &[f32]) -> Vec<f32> {
    values.iter().map(|value| value.abs()).collect()
}

/// In f64, where squares of f32 are exact.
fn sum_of_squares(values: &[f32]) -> f64 {
    let squares: Vec<f64> = values.iter().map(|&value| f64::from(value).powi(2)).collect();
    fold(&squares, 0.0, |a, b| a + b)
}

/// The root of an f64, rounded to f32 once: the root of the machine, rounded twice, and then set right. The middle between
/// two neighbouring f32 has 25 bits, so its square is exact in f64.
fn root(sum: f64) -> f32 {
    let near = sum.sqrt() as f32;
    if !near.is_finite() || near == 0.0 {
        return near;
    }
    let middle = |a: f32, b: f32| f64::midpoint(f64::from(a), f64::from(b)).powi(2);
    let even = near.to_bits().is_multiple_of(2);
    let (below, above) = (middle(near.next_down(), near), middle(near, near.next_up()));
    if sum < below || (sum == below && !even) {
        near.next_down()
    } else if sum > above || (sum == above && !even) {
        near.next_up()
    } else {
        near
    }
}

/// Where the largest is the smallest. Exact: it flips one bit.
fn negated(values: &[f32]) -> Vec<f32> {
    values.iter().map(|value| -value).collect()
}

/// A NaN wins, −0.0 is below +0.0.
fn largest(values: &[f32]) -> f32 {
    fold(values, f32::NEG_INFINITY, |a, b| match (a.is_nan(), b.is_nan()) {
        (true, _) => a,
        (_, true) => b,
        _ if a == 0.0 && b == 0.0 => a + b, // +0.0 unless both are −0.0
        _ if a < b => b,
        _ => a,
    })
}

/// A NaN wins, the zeros tie, and of equals the first wins.
fn first_largest(values: &[f32]) -> usize {
    let places: Vec<usize> = (0..values.len()).collect();
    // Past the end there is nothing, and nothing loses to anything.
    fold(&places, usize::MAX, |a, b| {
        let (Some(&x), Some(&y)) = (values.get(a), values.get(b)) else {
            return a.min(b);
        };
        match (x.is_nan(), y.is_nan()) {
            (true, false) => a,
            (false, true) => b,
            (false, false) if x > y => a,
            (false, false) if x < y => b,
            _ => a.min(b),
        }
    })
}

/// The last of equals is the first from behind.
fn last_largest(values: &[f32]) -> usize {
    let behind: Vec<f32> = values.iter().rev().copied().collect();
    values.len() - 1 - first_largest(&behind)
}
