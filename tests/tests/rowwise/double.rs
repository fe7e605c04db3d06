//! Norms of rows of f64: the specification, bounds, and edges.

use half::bf16;
use proptest::prelude::*;
use warpfold::{
    Error, RowFault, View, cpu,
    layout::{Axes, Extents, Layout},
    ops::{MeanVariance, SumOfSquares},
    row::{self, MeanAndDeviation},
};
use warpfold_emulator::{DoubleRows, map_doubles};
use warpfold_kernels::{kernels::rowwise::NormF64, stages::columns::Shares};
use warpfold_tests::rows::{self, numbers};

/// Half a unit in the last place of numbers from 1 to 2.
const V: f64 = 1.0 / (1_u64 << 53) as f64;

fn doubles(len: usize, seed: u64) -> Vec<f64> {
    rows::doubles(len, seed, 0)
}

fn bits(values: &[f64]) -> Vec<u64> {
    values.iter().map(|x| x.to_bits()).collect()
}

/// `docs/row-operations.md`: what the operators of f64 know of the row, and each element by that.
#[test]
fn norms_of_f64_are_as_specified() {
    for len in [1_usize, 2, 63, 64, 65, 512, 513, 4096, 5003] {
        let (row, weights) = (doubles(len, len as u64), doubles(len, 1));
        let biases = numbers::<bf16>(len, 2);
        let bias = |i: usize| f64::from(biases[i].to_f32());
        let (mean, variance) = cpu::reduce(MeanVariance { correction: 0.0 }, &row).expect("not empty");
        let reciprocal = 1.0 / (variance + f64::from(1e-5_f32)).sqrt();
        let norm = row::layer_norm(1e-5).weight(&weights).bias(&biases);
        let mapped = norm.on_cpu_f64(&row).expect("a meaning");
        let expected: Vec<f64> = (0..len)
            .map(|i| ((row[i] - mean) * reciprocal).mul_add(weights[i], bias(i)))
            .collect();
        assert_eq!(bits(&mapped.values), bits(&expected), "{len}");
        let known = MeanAndDeviation {
            mean: vec![mean],
            reciprocal_deviation: vec![reciprocal],
        };
        assert_eq!(mapped.known, known, "{len}");
        let squares = cpu::reduce(SumOfSquares, &row).expect("0 of nothing");
        let reciprocal = 1.0 / (squares / len as f64 + f64::from(1e-6_f32)).sqrt();
        let norm = row::rms_norm(1e-6).weight(&weights).one_plus_weight();
        let mapped = norm.on_cpu_f64(&row).expect("a meaning");
        let expected: Vec<f64> = (0..len).map(|i| row[i] * reciprocal * (weights[i] + 1.0)).collect();
        assert_eq!(bits(&mapped.values), bits(&expected), "{len}");
        assert_eq!(mapped.known.reciprocal_root, [reciprocal], "{len}");
        // Sums with a residual are normalised, and given back.
        let residual = doubles(len, 3);
        let sums: Vec<f64> = (0..len).map(|i| row[i] + residual[i]).collect();
        let with = row::rms_norm(1e-6)
            .residual(&residual)
            .on_cpu_f64(&row)
            .expect("a meaning");
        let alone = row::rms_norm(1e-6).on_cpu_f64(&sums).expect("a meaning");
        assert_eq!((with.values, with.known), (alone.values, alone.known));
        assert_eq!(with.sums, Some(sums));
    }
}

/// The kernel maps rows that lie anyhow to the CPU's bits, and finds the same statistics.
#[test]
fn the_kernel_gives_the_cpus_bits() {
    let axes = Axes::of(&[2, 3, 4]);
    for (shape, groups) in [
        ([2_u64, 3, 1, 1], 1),
        ([3, 1, 1, 31], 1),
        ([1, 1, 1, 3000], 1),
        ([2, 6, 3, 40], 2),
        ([3, 4, 2, 1], 4),
    ] {
        let [samples, channels, ..] = shape;
        let [height, width, each] = [shape[2], shape[3], channels / groups];
        let of = |shape: &[u64]| Layout::c_order(shape).expect("small");
        let in_order = [of(&shape), of(&[samples, groups, each, height, width])];
        // The same samples, channels last; and rows as axes of their own.
        let turned = |layout: Layout, order: &[i64]| layout.transposed(order).expect("every axis");
        let last = [
            turned(of(&[samples, height, width, channels]), &[0, 3, 1, 2]),
            turned(of(&[samples, height, width, groups, each]), &[0, 3, 4, 1, 2]),
        ];
        for [layout, split] in [in_order, last] {
            let values = doubles(layout.len() as usize, groups + channels);
            let view = || View::new(&values, &layout).expect("in bounds");
            let [weights, biases] = [1, 2].map(|seed| doubles(channels as usize, seed));
            let mapped = row::group_norm(groups, 1e-5).weight(&weights).bias(&biases);
            let mapped = mapped.on_cpu_f64(view()).expect("a meaning");
            let from = Extents::new(&split, &axes).expect("axes that are there");
            let op = MeanVariance { correction: 0.0 };
            let folded = cpu::reduce_axes(op, &values, &split, &axes).expect("not empty");
            let dimensions = Extents::dimensions_of(&[from.clone(), from.clone()]);
            let rows = DoubleRows {
                values: &values,
                size: [from.count, from.len],
                strides: [from.stride(), from.stride_within()],
                layout: from.has_several().then_some(&dimensions[..]),
                folded: &folded.answers.iter().flat_map(|of| [of.0, of.1]).collect::<Vec<f64>>(),
                columns: [Some(&weights), Some(&biases)],
                shares: Shares::of(groups, height * width),
            };
            let norm = NormF64 {
                centers: true,
                epsilon: f64::from(1e-5_f32),
                plus: -0.0,
            };
            let (answers, known) = map_doubles(norm, rows, channels).expect("no fault");
            assert_eq!(answers, bits(&mapped.values), "{layout:?}");
            let [means, reciprocals] = [0, 1].map(|i| known.iter().map(|of| of[i]).collect::<Vec<u64>>());
            assert_eq!(means, bits(&mapped.known.mean));
            assert_eq!(reciprocals, bits(&mapped.known.reciprocal_deviation));
        }
    }
    let row = doubles(2100, 7);
    let mapped = row::rms_norm(1e-6).on_cpu_f64(&row).expect("a meaning");
    let rows = DoubleRows {
        values: &row,
        size: [1, 2100],
        strides: [2100, 1],
        layout: None,
        folded: &[cpu::reduce(SumOfSquares, &row).expect("not empty")],
        columns: [None; 2],
        shares: Shares::NONE,
    };
    let norm = NormF64 {
        centers: false,
        epsilon: f64::from(1e-6_f32),
        plus: -0.0,
    };
    let (answers, known) = map_doubles(norm, rows, 3).expect("no fault");
    assert_eq!(answers, bits(&mapped.values));
    assert_eq!(known, [[0, mapped.known.reciprocal_root[0].to_bits()]]);
}

/// The sum in twice the precision.
fn sum(terms: impl Iterator<Item = (f64, f64)>) -> (f64, f64) {
    terms.fold((0.0_f64, 0.0_f64), |(sum, rest), (term, error)| {
        let next = sum + term;
        let back = next - sum;
        (next, rest + ((sum - (next - back)) + (term - back)) + error)
    })
}

/// The bounds of `docs/row-operations.md`, far from zero, too.
#[test]
fn norms_of_f64_are_within_their_bounds() {
    for len in [1_usize, 2, 100, 512, 5000, 60_000] {
        for shift in [0.0, 1e3, -1e8] {
            let row: Vec<f64> = doubles(len, 5).iter().map(|x| x + shift).collect();
            let (weights, biases) = (doubles(len, 6), doubles(len, 7));
            let (n, d) = (len as f64, (len as f64).log2().ceil());
            let largest = row.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
            let (high, low) = sum(row.iter().map(|x| (*x, 0.0)));
            // The mean as two numbers.
            let mean = (high + low) / n;
            let rest = (mean.mul_add(-n, high) + low) / n;
            let distance = |x: f64| (x - mean) - rest;
            let squares = sum(row
                .iter()
                .map(|x| (distance(*x), 0.0))
                .map(|(d, _)| (d * d, d.mul_add(d, -(d * d)))));
            let variance = (squares.0 + squares.1) / n;
            let deviation = (variance + f64::from(1e-5_f32)).sqrt();
            let norm = row::layer_norm(1e-5).weight(&weights).bias(&biases);
            let mapped = norm.on_cpu_f64(&row).expect("a meaning");
            let part = largest / deviation;
            for (i, y) in mapped.values.iter().enumerate() {
                let x = distance(row[i]) / deviation;
                let before = (2.0 * d + 4.0) * part + x.abs() * (2.0 * d * (1.0 + part) + 8.0);
                let exact = x * weights[i] + biases[i];
                let bound = (weights[i].abs() * before + 2.0 * (exact.abs() + biases[i].abs())) * V;
                assert!(
                    (y - exact).abs() <= bound,
                    "{len}, {shift}: {y:e} for {exact:e}, {bound:e}"
                );
            }
            let squares = sum(row.iter().map(|x| (x * x, x.mul_add(*x, -(x * x)))));
            let root = ((squares.0 + squares.1) / n + f64::from(1e-6_f32)).sqrt();
            let norm = row::rms_norm(1e-6)
                .weight(&weights)
                .on_cpu_f64(&row)
                .expect("a meaning");
            for (i, y) in norm.values.iter().enumerate() {
                let exact = row[i] / root * weights[i];
                assert!(
                    (y - exact).abs() <= (d / 2.0 + 8.0) * V * exact.abs(),
                    "{len}, {shift}: {y:e}"
                );
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn a_row_of_f64_has_its_bits_alone_and_wherever_it_lies(
        len in 1_usize..3000,
        count in 1_usize..5,
        seed in any::<u64>(),
    ) {
        let values = doubles(len * count, seed);
        let shape = [count as u64, len as u64];
        let layout = Layout::c_order(&shape).expect("small");
        let weights = doubles(len, seed ^ 3);
        let norm = || row::layer_norm(1e-5).weight(&weights);
        let all = norm().on_cpu_f64(View::new(&values, &layout).expect("in bounds")).expect("a meaning");
        for (row, mapped) in values.chunks(len).zip(all.values.chunks(len)) {
            let alone = norm().on_cpu_f64(row).expect("a meaning");
            prop_assert_eq!(bits(&alone.values), bits(mapped));
        }
        // In Fortran order, and along the first axis of the transposed array.
        let turned: Vec<f64> = (0..len).flat_map(|i| (0..count).map(move |row| (row, i))).map(|(row, i)| values[row * len + i]).collect();
        let fortran = Layout::fortran_order(&shape).expect("small");
        let strided = norm().on_cpu_f64(View::new(&turned, &fortran).expect("in bounds")).expect("a meaning");
        prop_assert_eq!(bits(&strided.values), bits(&all.values));
        let transposed = Layout::c_order(&[len as u64, count as u64]).expect("small");
        let along = norm().axis(0).on_cpu_f64(View::new(&turned, &transposed).expect("in bounds")).expect("a meaning");
        let back: Vec<f64> = (0..count).flat_map(|row| (0..len).map(move |i| (row, i))).map(|(row, i)| along.values[i * count + row]).collect();
        prop_assert_eq!(bits(&back), bits(&all.values));
        prop_assert_eq!(along.known, all.known.clone());
        // A group of all channels is the flattened sample.
        let sample = Layout::c_order(&[1, count as u64, len as u64]).expect("small");
        let group = row::group_norm(1, 1e-5).on_cpu_f64(View::new(&values, &sample).expect("in bounds")).expect("a meaning");
        let flat = row::layer_norm(1e-5).on_cpu_f64(&values).expect("a meaning");
        prop_assert_eq!(bits(&group.values), bits(&flat.values));
    }
}

#[test]
fn edges_of_norms_of_f64() {
    let (inf, nan) = (f64::INFINITY, f64::NAN);
    let layer = |row: &[f64]| row::layer_norm(1e-5).on_cpu_f64(row).expect("a meaning");
    let rms = |row: &[f64]| row::rms_norm(1e-6).on_cpu_f64(row).expect("a meaning");
    for row in [&[nan, 1.0][..], &[inf], &[1.0, -inf, 2.0], &[inf, -inf]] {
        assert!(
            layer(row).values.iter().all(|y| y.to_bits() == nan.to_bits()),
            "{row:?}"
        );
    }
    assert!(rms(&[nan, 1.0]).values.iter().all(|y| y.is_nan()));
    let infinite = rms(&[inf, 1.0]).values;
    assert!(infinite[0].is_nan() && infinite[1] == 0.0, "{infinite:?}");
    assert_eq!(layer(&[7.25]).values, [0.0]);
    assert_eq!(layer(&[0.1; 1000]).values, [0.0; 1000]);
    let nothing = layer(&[]);
    assert!(nothing.values.is_empty() && nothing.known.mean[0].is_nan());
    let no_rows = Layout::c_order(&[0, 5]).expect("small");
    let none = row::rms_norm(1e-6)
        .on_cpu_f64(View::new(&[], &no_rows).expect("nothing"))
        .expect("no rows");
    assert_eq!(
        (none.shape, none.values, none.known.reciprocal_root),
        (vec![0, 5], vec![], vec![])
    );
    // Beyond f32.
    let large = layer(&[1e100, -1e100]).values;
    assert!((large[0] - 1.0).abs() <= 4.0 * V && large[1] == -large[0], "{large:?}");
    // Weights of each channel of each group.
    let shape = Layout::c_order(&[1, 4, 1]).expect("small");
    let values = [1.0_f64, 3.0, -2.0, 2.0];
    let group = row::group_norm(2, 1e-30).weight(&[1.0_f64, 2.0, 3.0, 4.0]);
    let group = group
        .on_cpu_f64(View::new(&values, &shape).expect("in bounds"))
        .expect("a meaning");
    assert_eq!(group.values, [-1.0, 2.0, -3.0, 4.0]);
    let row = [1.0_f64, 2.0];
    let told = row::layer_norm(1e-5).residual(&[1.0_f32; 2]).on_cpu_f64(&row);
    assert!(
        matches!(
            told,
            Err(Error::Row(RowFault::Types {
                of: "f32",
                array: "f64",
                ..
            }))
        ),
        "{told:?}"
    );
    let told = row::layer_norm(1e-5).weight(&[1.0_f64; 3]).on_cpu_f64(&row);
    assert!(
        matches!(told, Err(Error::Row(RowFault::Columns { columns: 2, got: 3, .. }))),
        "{told:?}"
    );
    assert!(row::layer_norm(0.0).on_cpu_f64(&row).is_err());
    assert!(row::rms_norm(1e-6).one_plus_weight().on_cpu_f64(&row).is_err());
}
