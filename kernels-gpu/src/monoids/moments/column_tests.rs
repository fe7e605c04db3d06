extern crate std;

use std::vec::Vec;

use super::{super::*, *};
use crate::{
    element::Real,
    monoids::{ColumnFold as _, Kurtosis, MeanVariance, Skewness, Variance, testing::same},
    tree::Predicated,
};

/// A column of eight whose moments are whole numbers, by hand; and what is not finite.
#[test]
fn a_column_is_folded_at_once() {
    // About 4: −3, −3, −1, −1, 1, 1, 3, 3.
    let column = [1.0_f32, 1.0, 3.0, 3.0, 5.0, 5.0, 7.0, 7.0];
    let lower = Moments2 {
        count: 8,
        mean: 4.0,
        m2: 40.0,
        scale: Unscaled,
    };
    assert_eq!(Variance::default().fold_column(column.map(Predicated::of), 0, 1), lower);
    let moments = Skewness {}.fold_column(column.map(Predicated::of), 0, 1);
    assert_eq!((moments.lower, moments.m3, moments.m4), (lower, 0.0, 328.0));
    let skewed = Skewness {}.fold_column([0.0_f32, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 8.0].map(Predicated::of), 0, 1);
    assert_eq!((skewed.lower.m2, skewed.m3, skewed.m4), (56.0, 336.0, 2408.0));

    for (special, mean) in [
        (f32::INFINITY, f64::INFINITY),
        (f32::NEG_INFINITY, f64::NEG_INFINITY),
        (f32::NAN, f64::NAN),
    ] {
        let mut column = column;
        column[5] = special;
        let state = Skewness {}.fold_column(column.map(Predicated::of), 0, 1);
        assert_eq!(state.lower.mean.to_bits() << 1 >> 52, mean.to_bits() << 1 >> 52);
        assert!(state.lower.mean == mean || mean.is_nan());
        assert!(state.lower.m2.is_nan() && state.m3.is_nan() && state.m4.is_nan());
    }
    // The sum of eight would be infinite, the mean is not.
    let large = MeanVariance::default().fold_column([Predicated::of(f64::MAX); 8], 0, 1);
    assert_eq!((large.mean, large.m2), (f64::MAX, 0.0));
}

/// A column as the page on the tree has it; elements `are_short` of at most 32 bits.
fn by_the_page<S: Scale>(column: [Option<f64>; ROWS], are_short: bool) -> Moments4<S> {
    let sum = |nothing: f64, of: &dyn Fn(f64) -> f64| {
        let mut sums = column.map(|x| x.map_or(nothing, of)).to_vec();
        while sums.len() > 1 {
            sums = sums.chunks(2).map(|pair| pair[0] + pair[1]).collect();
        }
        sums[0]
    };
    let there: Vec<f64> = column.into_iter().flatten().collect();
    let part = 1.0 / there.len() as f64;
    let eighths = || sum(-0.0, &|x| x / 8.0);
    let mean = match there[..] {
        [] => 0.0,
        _ if are_short => sum(-0.0, &|x| x) * part,
        [_, _, _, _, _, _, _, _] => eighths(),
        [p, ..] => match p - sum(0.0, &|x| p - x) * part {
            mean if mean.is_finite() => mean,
            _ => eighths() * (8.0 * part),
        },
    };
    let scale = there.iter().fold(S::LEAST, |scale, x| scale.larger(S::of(*x)));
    let by = scale.factor();
    let [e, rest @ ..] = column.map(|x| x.map_or(0.0, |x| x * by - mean * by));
    let (mut m2, mut m3, mut m4) = (e * e, e * e * e, e * e * (e * e));
    for e in rest {
        (m2, m3, m4) = (e.mul_add(e, m2), (e * e).mul_add(e, m3), (e * e).mul_add(e * e, m4));
    }
    let count = there.len() as u64;
    Moments4 {
        lower: Moments2 { count, mean, m2, scale },
        m3,
        m4,
    }
}

/// Whatever places hold nothing; and of equal elements their value, and no variance.
#[test]
fn a_column_has_any_places_empty() {
    fn law<T: Real>(values: [T; ROWS]) {
        let op = Kurtosis {};
        for places in 0..1_u32 << ROWS {
            let is_there = |row: usize| places >> row & 1 == 1;
            let column = core::array::from_fn(|row| Predicated::of(values[row]).filter(|_| is_there(row)));
            let expected = by_the_page(
                core::array::from_fn(|row| is_there(row).then(|| values[row].to_f64())),
                size_of::<T>() <= 4,
            );
            assert!(same(op.fold_column(column, 0, 1), expected), "{places:b}");
            assert!(same(Variance::default().fold_column(column, 0, 1), expected.lower));
            let value = values[5].to_f64();
            let equal = op.fold_column(column.map(|place| place.map(|_| values[5])), 0, 1);
            let moments = (equal.lower.mean, equal.lower.m2, equal.m3, equal.m4);
            assert!(places == 0 || value.is_infinite() || moments == (value, 0.0, 0.0, 0.0));
        }
    }
    law([0.1_f32, -7.5, 1e10, 3.0, 0.7, 16_777_213.0 / 3.0, -1e-3, 99.0]);
    law([0.1_f64, -7.5, 1e10, 3.0, 0.7, 1.0 / 3.0, -1e-3, 99.0]);
    law([1e200_f64, -7.5e200, 1e-210, 3.0, -0.0, 1e300, -1e-3, 99.0]);
    law([1e-200_f64, -7.5e-201, 1e-210, 3e-100, 0.7e-90, 1e-300, 0.0, 99e-90]);
    law([u32::MAX, 3, u32::MAX - 1, 0, 7, u32::MAX - 37, 1, 99]);
    law([i64::MAX, i64::MIN, 3, -7, i64::MAX / 3, i64::MAX - 77, 0, 1]);
    // Too far apart for a difference, and infinite.
    law([f64::MAX, -f64::MAX, 1.0, f64::MAX, -f64::MAX, -f64::MAX, 0.0, 3.0]);
    law([f64::MAX, 1.0, f64::INFINITY, 2.0, -3.0, f64::INFINITY, -0.0, 3.0]);
}

#[test]
fn reciprocals_are_chosen_as_they_stand() {
    for count in 1..=ROWS as u32 {
        assert_eq!(reciprocal(count), 1.0 / f64::from(count));
    }
}
