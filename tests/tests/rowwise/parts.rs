//! Cross-entropy of rows that are split over several arrays.

use half::{bf16, f16};
use proptest::prelude::*;
use warpfold::{
    Error, RowFault, View,
    layout::Layout,
    row::{self, CrossEntropy, Losses, Operation as _, Partials, Row, RowElement},
};
use warpfold_emulator::{BesideRows, RowsOf, map_parts};
use warpfold_kernels::{kernels::rowwise::RowVariant, rowwise::leaf_elements};
use warpfold_tests::rows::{Kind, numbers, plant, shapes};

/// The columns of rows that a cut after so many leaves to each part.
fn cut<T: Copy>(rows: &[T], whole: usize, lens: &[usize]) -> Vec<Vec<T>> {
    let mut first = 0;
    let part = |len: &usize| {
        let columns = first..first + len;
        first = columns.end;
        rows.chunks(whole.max(1))
            .flat_map(|row| row[columns.clone()].to_vec())
            .collect()
    };
    lens.iter().map(part).collect()
}

/// What is known of rows and the gradient, by parts of so many columns: all parts know the same.
fn by_parts<T: RowElement, U: RowElement>(
    loss: &Row<'_, CrossEntropy>,
    rows: &[T],
    count: usize,
    lens: &[usize],
) -> (Losses, Vec<U>) {
    let whole: usize = lens.iter().sum();
    let mut first = 0;
    let parts = lens.iter().map(|len| {
        let part = loss.clone().part(first, whole as u64);
        first += *len as u64;
        part
    });
    let parts: Vec<_> = parts.collect();
    let layout = |len: usize| Layout::c_order(&[count as u64, len as u64]).expect("small");
    let arrays = cut(rows, whole, lens);
    let each = || parts.iter().zip(&arrays).zip(lens);
    let partials: Vec<Partials> = each()
        .map(|((part, array), len)| part.fold_on_cpu(View::new(array, &layout(*len)).expect("in bounds")))
        .collect::<Result<_, _>>()
        .expect("a meaning");
    let combined = Partials::combine(&partials).expect("as many rows");
    let mapped: Vec<_> = each()
        .map(|((part, array), len)| {
            let view = View::new(array, &layout(*len)).expect("in bounds");
            part.map_on_cpu::<_, U>(view, &combined).expect("a meaning")
        })
        .collect();
    let known = parts[0].losses(&combined).expect("a meaning");
    for mapped in &mapped {
        assert_eq!(mapped.known.bits(), known.bits());
    }
    let mut values = vec![];
    for row in 0..count {
        for (mapped, len) in mapped.iter().zip(lens).filter(|_| loss.operation().maps()) {
            values.extend_from_slice(&mapped.values[row * len..][..*len]);
        }
    }
    (known, values)
}

/// Parts have the whole row's bits, of its losses and of its gradients.
fn agree<T: RowElement, U: RowElement>(
    loss: &Row<'_, CrossEntropy>,
    rows: &[T],
    count: usize,
    lens: &[usize],
) -> Result<(), TestCaseError> {
    let whole = lens.iter().sum::<usize>() as u64;
    let layout = Layout::c_order(&[count as u64, whole]).expect("small");
    let view = View::new(rows, &layout).expect("in bounds");
    let expected = loss.clone().on_cpu::<_, U>(view).expect("a meaning");
    let (known, values) = by_parts::<T, U>(loss, rows, count, lens);
    prop_assert_eq!(known.bits(), expected.known.bits(), "{:?}", lens);
    let bits = |values: &[U]| values.iter().map(|value| value.word(0)).collect::<Vec<_>>();
    prop_assert_eq!(bits(&values), bits(&expected.values), "{:?}", lens);
    Ok(())
}

fn at_joints<T: RowElement, U: RowElement>(
    [parts, leaves, last, count]: [usize; 4],
    seed: u64,
    smoothing: f32,
    square: f32,
) -> Result<(), TestCaseError> {
    let leaf = leaf_elements(T::TYPE.bytes(), 1);
    let each = leaf << leaves;
    let mut lens = vec![each; parts];
    lens[parts - 1] = last % (each + 1);
    let whole: usize = lens.iter().sum();
    if whole == 0 {
        return Ok(());
    }
    let mut rows = numbers::<T>(count * whole, seed);
    if seed.is_multiple_of(5) {
        plant(&mut rows, seed);
    }
    let target = |row: usize| match row % 4 {
        3 => -100,
        _ => ((row as u64 * 7919 + seed % 10_007) % whole as u64) as i64,
    };
    let targets: Vec<i64> = (0..count).map(target).collect();
    let loss = row::cross_entropy(&targets).label_smoothing(smoothing).z_loss(square);
    agree::<T, U>(&loss, &rows, count, &lens)?;
    agree::<T, U>(&loss.gradient(0.25), &rows, count, &lens)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn parts_at_joints_have_the_bits_of_the_whole_row(
        parts in 1_usize..6,
        leaves in 0_usize..3,
        last in 0_usize..5000,
        count in 1_usize..5,
        seed in any::<u64>(),
        smoothing in prop::sample::select(&[0.0_f32, 0.1, 1.0][..]),
        square in prop::sample::select(&[0.0_f32, 1e-3][..]),
    ) {
        let size = [parts, leaves, last, count];
        at_joints::<f32, f32>(size, seed, smoothing, square)?;
        at_joints::<bf16, bf16>(size, seed, smoothing, square)?;
        at_joints::<f16, f32>(size, seed, smoothing, square)?;
    }
}

/// Half a unit in the last place of numbers from 1 to 2.
const U: f64 = 1.0 / (1 << 24) as f64;

/// The bounds of whole rows, wherever they are cut: each level of combining parts is one more of the tree.
#[test]
fn parts_at_any_cuts_are_within_the_bounds() {
    let (smoothing, square) = (0.1_f32, 1e-3_f32);
    for lens in [
        &[1, 1][..],
        &[3, 0, 1, 0],
        &[100, 27, 500],
        &[513, 511, 2, 5000],
        &[7, 40_000, 1],
        &[1000; 17],
    ] {
        let whole: usize = lens.iter().sum();
        let row = numbers::<f32>(whole, 31);
        let wide: Vec<f64> = row.iter().copied().map(f64::from).collect();
        let max = wide.iter().copied().fold(f64::MIN, f64::max);
        let lse = max + wide.iter().map(|x| (x - max).exp()).sum::<f64>().ln();
        let n = whole as f64;
        let (mean, size) = (
            wide.iter().sum::<f64>() / n,
            wide.iter().map(|x| x.abs()).sum::<f64>() / n,
        );
        let entropy: f64 = wide.iter().map(|x| (x - lse).exp() * (lse - x)).sum();
        let (e, z) = (f64::from(smoothing), f64::from(square));
        let levels = n.log2().ceil() + (lens.len() as f64).log2().ceil();
        let of_lse = 3.0 * levels + 8.0 + lse.abs();
        for target in [0, whole / 3, whole - 1] {
            let targets = [target as i64];
            let loss = row::cross_entropy(&targets).label_smoothing(smoothing).z_loss(square);
            let (known, values) = by_parts::<f32, f32>(&loss.gradient(1.0), &row, 1, lens);
            let near = |what: &str, got: f32, exact: f64, bound: f64| {
                let off = (f64::from(got) - exact).abs();
                assert!(off <= bound * U, "{what} by {lens:?}: {got} for {exact}, past {bound}");
            };
            let exact = (1.0 - e) * (lse - wide[target]) + e * (lse - mean) + z * lse * lse;
            let bound = of_lse * (1.0 + 2.0 * z * lse.abs()) + exact.abs() + e * (levels + 2.0) * size;
            near("the loss", known.loss[0], exact, bound);
            near("its log-sum-exp", known.log_sum_exp[0], lse, of_lse);
            let exact = wide[target] - lse;
            near(
                "the log-probability",
                known.log_probability[0],
                exact,
                of_lse + exact.abs(),
            );
            near(
                "the entropy",
                known.entropy[0],
                entropy,
                (3.0 * levels + 12.0) * (1.0 + entropy),
            );
            for (i, x) in wide.iter().enumerate() {
                let at_target = if i == target { 1.0 - e } else { 0.0 };
                let of_p = (x - lse).exp() * (1.0 + 2.0 * z * lse);
                let distance = (max - x) * std::f64::consts::LOG2_E;
                let bound = of_p.abs() * (3.0 * levels + 12.0 + distance) + 2.0 * (at_target + e / n) + 1e-30;
                near("the gradient", values[i], of_p - e / n - at_target, bound);
            }
        }
    }
}

/// A part of all −∞ is as none, one of nothing too; targets of −∞ and −0.0; NaNs and +∞ in one part.
#[test]
fn parts_at_the_edges_have_the_bits_of_the_whole_row() {
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    let leaf = leaf_elements(4, 1);
    let lens = [leaf, leaf, leaf, 100];
    let whole: usize = lens.iter().sum();
    let plain = numbers::<f32>(whole, 8);
    let with = |part: usize, value: f32, all: bool| {
        let mut row = plain.clone();
        let first = part * leaf;
        let len = if all { lens[part] } else { 1 };
        row[first..first + len].fill(value);
        row
    };
    let mut cases = vec![plain.clone(), vec![-inf; whole], vec![0.5; whole]];
    for part in 0..4 {
        cases.extend([with(part, -inf, true), with(part, -0.0, false)]);
        cases.extend([nan, inf, -inf, -3e38, 3e38].map(|value| with(part, value, false)));
    }
    let only = [vec![-inf; whole - 1], vec![2.0]].concat();
    cases.push(only);
    for row in &cases {
        for target in [0, leaf, 2 * leaf + 7, 3 * leaf, whole - 1] {
            for (smoothing, square) in [(0.0, 0.0), (0.1, 1e-3)] {
                let targets = [target as i64];
                let loss = row::cross_entropy(&targets).label_smoothing(smoothing).z_loss(square);
                agree::<f32, f32>(&loss.gradient(2.0), row, 1, &lens).expect("the same bits");
            }
        }
    }
}

/// The elements of rows anywhere; ignored rows by another index; targets of 32 bits; three ranks of three by way of pairs.
#[test]
fn parts_of_columns_and_parts_of_parts() {
    let (len, count, leaf) = (3000_usize, 5_usize, leaf_elements(4, 1));
    let values = numbers::<f32>(len * count, 12);
    let targets = [1023_i32, -1, 1024, 2999, 0];
    let loss = row::cross_entropy(&targets).ignore_index(-1).gradient(1.0).axis(0);
    let matrix = |rows: usize| Layout::c_order(&[rows as u64, count as u64]).expect("small");
    let expected = loss
        .clone()
        .on_cpu::<_, f32>(View::new(&values, &matrix(len)).expect("in bounds"));
    let expected = expected.expect("a meaning");
    let cuts = [0, 2 * leaf, 4 * leaf, len];
    let ranks: Vec<_> = cuts
        .windows(2)
        .map(|pair| (pair[0]..pair[1], loss.clone().part(pair[0] as u64, len as u64)))
        .collect();
    let layouts: Vec<Layout> = ranks.iter().map(|(columns, _)| matrix(columns.len())).collect();
    let views = || {
        ranks.iter().zip(&layouts).map(|((columns, part), layout)| {
            let array = &values[columns.start * count..columns.end * count];
            (part, View::new(array, layout).expect("in bounds"))
        })
    };
    let folded: Vec<Partials> = views()
        .map(|(part, view)| part.fold_on_cpu(view).expect("a meaning"))
        .collect();
    let first = Partials::combine(&folded[..2]).expect("as many rows");
    let sent = Partials::from_words(folded[2].words().to_vec()).expect("whole rows");
    let combined = Partials::combine(&[first, sent]).expect("as many rows");
    assert_eq!(combined, Partials::combine(&folded).expect("as many rows"));
    let mut gradient = vec![];
    for (part, view) in views() {
        let mapped = part.map_on_cpu::<_, f32>(view, &combined).expect("a meaning");
        assert_eq!(mapped.known, expected.known);
        gradient.extend(mapped.values);
    }
    assert_eq!(gradient, expected.values);
}

/// A NaN has any payload in a state.
fn canonical(words: &[u32]) -> Vec<u32> {
    let one = |word: &u32| {
        if f32::from_bits(*word).is_nan() {
            0x7fc0_0000
        } else {
            *word
        }
    };
    words.iter().map(one).collect()
}

/// Rows that follow one another.
fn rows_of<T>(values: &[T], [count, len]: [u64; 2]) -> RowsOf<'_, T> {
    RowsOf {
        values,
        len,
        count,
        stride: len as i64,
        first: 0,
        misalign: 0,
        causal: None,
        layout: None,
    }
}

/// The kernels, in every shape, and the CPU.
fn emulated<T: RowElement, U: RowElement>(lens: &[usize], seed: u64) {
    let (count, whole) = (3_usize, lens.iter().sum::<usize>());
    let mut values = numbers::<T>(count * whole, seed);
    if seed.is_multiple_of(3) {
        plant(&mut values, seed);
    }
    let targets = [whole as i64 - 1, -100, (seed as usize * 37 % whole) as i64];
    let arrays = cut(&values, whole, lens);
    for gradient in [false, true] {
        let loss = row::cross_entropy(&targets).label_smoothing(0.1).z_loss(1e-3);
        let loss = if gradient { loss.gradient(0.5) } else { loss };
        let (known, answers) = by_parts::<T, U>(&loss, &values, count, lens);
        let beside = BesideRows {
            targets: Some((&targets[..], -100)),
            maps: gradient,
            ..BesideRows::default()
        };
        for apart in [false, true] {
            let parts: Vec<_> = lens
                .iter()
                .zip(&arrays)
                .map(|(len, values)| {
                    let size = [count as u64, *len as u64];
                    let rows = rows_of(values, size);
                    let mut shapes = shapes(T::TYPE.bytes(), 1, size, false).into_iter();
                    let shape = shapes.find(|shape| {
                        if apart {
                            shape.variant == RowVariant::Strided
                        } else {
                            shape.is_split
                        }
                    });
                    (rows, shape.expect("there is one of each"))
                })
                .collect();
            let op = loss.operation().op();
            let got =
                map_parts::<T, U, _>(op, &parts, &beside, seed).unwrap_or_else(|fault| panic!("{fault}\n{lens:?}"));
            let mut first = 0;
            for (i, len) in lens.iter().enumerate() {
                let part = loss.clone().part(first, whole as u64);
                first += *len as u64;
                let layout = Layout::c_order(&[count as u64, *len as u64]).expect("small");
                let partials = part.fold_on_cpu(View::new(&arrays[i], &layout).expect("in bounds"));
                let words: Vec<u32> = partials
                    .expect("a meaning")
                    .words()
                    .iter()
                    .map(|word| word.to_bits())
                    .collect();
                assert_eq!(
                    canonical(&got.partials[i]),
                    canonical(&words),
                    "{lens:?}, part {i}, {apart}"
                );
                assert_eq!(got.known[i], known.bits(), "{lens:?}, part {i}, {apart}");
            }
            let mut by_rows = vec![];
            for row in 0..count {
                for (values, len) in got.values.iter().zip(lens).filter(|_| gradient) {
                    by_rows.extend_from_slice(&values[row * len..][..*len]);
                }
            }
            let bits: Vec<u32> = answers.iter().map(|answer| answer.word(0)).collect();
            assert_eq!(by_rows, bits, "{lens:?}, {apart}");
        }
    }
}

#[test]
fn the_kernels_give_the_bits_of_the_cpu_for_parts() {
    for (i, lens) in [&[5, 3][..], &[512, 512, 40], &[0, 100, 1], &[1030, 7], &[128], &[64; 9]]
        .into_iter()
        .enumerate()
    {
        emulated::<f32, f32>(lens, i as u64);
        emulated::<bf16, bf16>(lens, i as u64 + 1);
        emulated::<f16, f32>(lens, i as u64 + 2);
    }
}

/// Only a launch can meet a target that is no column of the whole row: every part of that row is NaN, and of no other.
#[test]
fn a_target_beyond_the_whole_row_is_nan_in_every_part() {
    let (lens, whole) = ([40_usize, 24], 64_i64);
    let values = numbers::<f32>(3 * 64, 2);
    let arrays = cut(&values, 64, &lens);
    for beyond in [whole, -1, i64::MIN, i64::MAX] {
        let targets = [5, beyond, 41];
        let beside = BesideRows {
            targets: Some((&targets[..], -100)),
            ..BesideRows::default()
        };
        for variant in [RowVariant::Any, RowVariant::Strided] {
            let parts = lens.iter().zip(&arrays).map(|(len, values)| {
                let size = [3, *len as u64];
                let mut shapes = shapes(4, 1, size, false).into_iter();
                let shape = shapes.find(|shape| shape.variant == variant);
                (rows_of(values, size), shape.expect("there is one"))
            });
            let parts: Vec<_> = parts.collect();
            let op = row::cross_entropy(&[0_i64]).gradient(1.0).operation().op();
            let got = map_parts::<f32, f32, _>(op, &parts, &beside, 1).expect("no fault");
            for ((values, known), len) in got.values.iter().zip(&got.known).zip(lens) {
                let is_nan = |row: usize| {
                    values[row * len..][..len]
                        .iter()
                        .all(|bits| f32::from_bits(*bits).is_nan())
                };
                assert_eq!([0, 1, 2].map(is_nan), [false, true, false], "{beyond}, {variant:?}");
                assert_eq!(
                    known.iter().map(|known| known[0] == 0x7fc0_0000).collect::<Vec<_>>(),
                    [false, true, false]
                );
            }
        }
    }
}

#[test]
fn what_has_no_meaning_of_parts_is_told() {
    let row = [1.0_f32, 2.0];
    let loss = |target: i64| row::cross_entropy(if target == 3 { &[3_i64] } else { &[9_i64] });
    let fault = |told: Result<Partials, Error>| match told {
        Err(Error::Row(fault)) => fault,
        told => panic!("{told:?}"),
    };
    for (first, whole) in [(3, 4), (0, 1), (u64::MAX, 4), (0, u64::MAX)] {
        let told = fault(loss(3).part(first, whole).fold_on_cpu(&row));
        assert_eq!(told, RowFault::Part { first, len: 2, whole });
    }
    let target = RowFault::Target {
        row: 0,
        target: 9,
        classes: 9,
    };
    assert_eq!(fault(loss(9).part(2, 9).fold_on_cpu(&row)), target);
    let part = loss(3).part(2, 9);
    let partials = part.fold_on_cpu(&row).expect("a meaning");
    assert!(matches!(loss(9).part(0, 9).losses(&partials), Err(Error::Row(told)) if told == target));
    assert_eq!(
        fault(Partials::from_words(vec![0.0; 7])),
        RowFault::Words { got: 7, each: 5 }
    );
    let two = Partials::from_words(vec![0.0; 10]).expect("two rows");
    let rows = RowFault::Rows {
        what: "partial states",
        rows: 1,
        got: 2,
    };
    assert_eq!(fault(Partials::combine(&[partials.clone(), two.clone()])), rows);
    assert!(matches!(part.map_on_cpu::<_, f32>(&row, &two), Err(Error::Row(told)) if told == rows));
    assert_eq!(Partials::combine(&[]).expect("no rows").rows(), 0);
    let told = loss(3).label_smoothing(2.0).part(0, 9).fold_on_cpu(&row);
    assert!(matches!(told, Err(Error::Parameter { .. })));
}
