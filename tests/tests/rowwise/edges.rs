//! What row operations answer at edges, and the bugs that others shipped.

use std::ops::Range;

use half::{bf16, f16};
use proptest::prelude::*;
use warpfold::{
    Error, RowFault, View,
    layout::Layout,
    row::{self, AllMasked, Later},
};
use warpfold_emulator::fold_states;
use warpfold_kernels::rowwise::RowFold as _;
use warpfold_tests::rows::{combine_pairs, numbers};

/// Layouts of one matrix of 37 rows of 150 columns: C and Fortran order, backwards, one row for all.
fn layouts() -> [Layout; 4] {
    let layout = |strides: [i64; 2], offset| Layout::strided(&[37, 150], &strides, offset).expect("small");
    [
        layout([150, 1], 0),
        layout([1, 37], 0),
        layout([-150, -1], 37 * 150 - 1),
        layout([0, 1], 3),
    ]
}

/// The elements of a matrix, row after row.
fn elements(values: &[f32], layout: &Layout) -> Vec<f32> {
    let (shape, strides) = (layout.shape(), layout.strides());
    let at = |row: u64, column: u64| layout.offset() as i64 + row as i64 * strides[0] + column as i64 * strides[1];
    (0..shape[0])
        .flat_map(|row| (0..shape[1]).map(move |column| (row, column)))
        .map(|(row, column)| values[at(row, column) as usize])
        .collect()
}

/// Strides that were ignored: flashinfer#4060.
#[test]
fn a_row_has_its_bits_wherever_its_elements_lie() {
    let values = numbers::<f32>(37 * 150, 5);
    for layout in layouts() {
        let view = || View::new(&values, &layout).expect("in bounds");
        let in_order = elements(&values, &layout);
        let rows = row::softmax().on_cpu::<_, f32>(view()).expect("a meaning");
        for (row, mapped) in in_order.chunks(150).zip(rows.values.chunks(150)) {
            let alone = row::softmax().on_cpu::<_, f32>(row).expect("a meaning");
            assert_eq!(alone.values, mapped, "{layout:?}");
        }
        let columns = row::layer_norm(1e-5)
            .axis(0)
            .on_cpu::<_, f32>(view())
            .expect("a meaning");
        for column in 0..150 {
            let lies: Vec<f32> = in_order.iter().copied().skip(column).step_by(150).collect();
            let alone = row::layer_norm(1e-5).on_cpu::<_, f32>(&lies).expect("a meaning");
            let mapped: Vec<f32> = columns.values.iter().copied().skip(column).step_by(150).collect();
            assert_eq!(alone.values, mapped, "{layout:?}");
        }
    }
}

#[test]
fn padding_changes_no_bit() {
    // Answers that are subnormal, or nearly.
    let faint: Vec<f32> = (0..1024)
        .map(|i| if i < 3 { 0.0 } else { -86.25 - i as f32 / 1600.0 })
        .collect();
    let rows = [1, 5, 300, 1024, 3000].map(|len| numbers::<f32>(len, len as u64));
    for row in rows.into_iter().chain([faint]) {
        let len = row.len();
        let alone = row::softmax().on_cpu::<_, f32>(&row).expect("a meaning");
        for more in [1, 3, 129, 2000] {
            let padded = [&row[..], &vec![f32::NEG_INFINITY; more]].concat();
            let mapped = row::softmax().on_cpu::<_, f32>(&padded).expect("a meaning");
            assert_eq!(mapped.values[..len], alone.values[..], "{len} and {more}");
            assert_eq!(mapped.values[len..], vec![0.0; more], "{len} and {more}");
            assert_eq!(mapped.known, alone.known);
            // What is not seen is as what is −∞.
            let layout = Layout::c_order(&[1, padded.len() as u64]).expect("small");
            let unseen: Vec<f32> = row.iter().copied().chain(vec![f32::NAN; more]).collect();
            let view = View::new(&unseen, &layout).expect("in bounds");
            let causal = row::softmax().causal_by(-(more as i64)).on_cpu::<_, f32>(view);
            assert_eq!(causal.expect("a meaning").values, mapped.values, "{len} and {more}");
        }
    }
}

/// Of the first 32 of 40 causal rows of 8 nothing is seen: those, and the others, are what each row alone is.
#[test]
fn rows_of_which_nothing_is_seen_stand_among_others() {
    let [all, one] = [40, 1].map(|rows| Layout::c_order(&[rows, 8]).expect("small"));
    let (narrow, other, wide) = (numbers::<f16>(320, 3), numbers::<f16>(320, 4), numbers::<f32>(320, 5));
    let selected = [true; 320];
    for offset in [0, -7, -60] {
        let bits = |values: Vec<f16>| values.into_iter().map(f16::to_bits).collect::<Vec<_>>();
        let of = |rows: Range<usize>, layout: &Layout, offset: i64| {
            let part = rows.start * 8..rows.end * 8;
            let view = |values| View::new(values, layout).expect("in bounds");
            let (narrow, other) = (|| view(&narrow[part.clone()]), view(&other[part.clone()]));
            let mask = View::new(&selected[part.clone()], layout).expect("in bounds");
            let wide = View::new(&wide[part.clone()], layout).expect("in bounds");
            let log = row::log_softmax().causal_by(offset).on_cpu::<_, f16>(narrow());
            let gradient = row::softmax_gradient(other)
                .causal_by(offset)
                .on_cpu::<_, f16>(narrow());
            let masked = row::log_softmax().mask(mask).causal_by(offset).on_cpu::<_, f32>(wide);
            let masked = masked.expect("a meaning").values;
            (
                [log.expect("a meaning").values, gradient.expect("a meaning").values].map(bits),
                masked.into_iter().map(f32::to_bits).collect::<Vec<_>>(),
            )
        };
        let (narrows, masked) = of(0..40, &all, offset);
        for row in 0..40 {
            let (alone, masked_alone) = of(row..row + 1, &one, row as i64 - 39 + offset);
            let here = row * 8..row * 8 + 8;
            assert_eq!(
                narrows.each_ref().map(|values| values[here.clone()].to_vec()),
                alone,
                "{row}"
            );
            assert_eq!(masked[here], masked_alone, "{row}");
        }
    }
}

/// All-masked rows (pytorch#55056), infinities, NaNs, length 1.
#[test]
fn edges_of_softmax() {
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    let softmax = |row: &[f32]| row::softmax().on_cpu::<_, f32>(row).expect("a meaning");
    let all = |row: &[f32], is: fn(f32) -> bool| softmax(row).values.into_iter().all(is);
    for row in [
        &[-inf][..],
        &[-inf; 5],
        &[-inf; 3000],
        &[inf],
        &[1.0, inf, 2.0],
        &[nan, 1.0],
        &[-inf, nan],
    ] {
        assert!(all(row, f32::is_nan), "{row:?}");
        let zeros = row::softmax()
            .all_masked(AllMasked::Zero)
            .on_cpu::<_, f32>(row)
            .expect("a meaning");
        let is_masked = row.iter().all(|x| *x == -inf);
        assert_eq!(zeros.values.iter().all(|y| *y == 0.0), is_masked, "{row:?}");
        let known = zeros.known.log_sum_exp[0];
        match row
            .iter()
            .copied()
            .fold(-inf, |a, b| if a.is_nan() | b.is_nan() { nan } else { a.max(b) })
        {
            max if max.is_nan() => assert!(known.is_nan()),
            max => assert_eq!(known, max),
        }
    }
    // A +∞ in another leaf.
    let mut long = vec![0.5; 5000];
    long[4000] = inf;
    assert!(all(&long, f32::is_nan));
    for (row, expected) in [
        (&[7.5][..], &[1.0][..]),
        (&[-1e30], &[1.0]),
        (&[f32::MAX, -f32::MAX], &[1.0, 0.0]),
        (&[0.0, -inf], &[1.0, 0.0]),
        (&[3.0; 4], &[0.25; 4]),
        // Of e⁻⁶⁴ the exponent is off by what log₂ e is in f32.
        (&[1e9, 1e9 - 64.0], &[1.0, 1.603_812_3e-28]),
    ] {
        assert_eq!(softmax(row).values, expected, "{row:?}");
        let log = row::log_softmax().on_cpu::<_, f32>(row).expect("a meaning").values;
        for (log, y) in log.iter().zip(expected) {
            assert!((f64::from(*log).exp() - f64::from(*y)).abs() < 1e-6, "{row:?}: {log}");
        }
    }
    assert!(softmax(&[]).values.is_empty());
    // Below the range of normal floats, and below all floats.
    let tiny = softmax(&[0.0, -90.0, -103.0, -104.5]).values;
    assert_eq!(tiny, [1.0, 0.0, 0.0, 0.0]);
}

/// Rows of f16 whose sum was 2: candle#3727; sums that are carried in the elements' type stop at 2048.
#[test]
fn rows_of_halves_sum_to_one() {
    for len in [10_usize, 2000, 4097, 60_000] {
        let row: Vec<f16> = numbers(len, 3);
        let mapped = row::softmax().on_cpu::<_, f32>(&row).expect("a meaning").values;
        let sum: f64 = mapped.iter().map(|y| f64::from(*y)).sum();
        assert!((sum - 1.0).abs() < 1e-5, "{len}: {sum}");
    }
    let equal = vec![f16::ONE; 4096];
    let mapped = row::softmax().on_cpu::<_, f16>(&equal).expect("a meaning").values;
    assert!(mapped.iter().all(|y| y.to_f32() == 1.0 / 4096.0));
}

/// 1 + weight that was dropped: Megatron#6859.
#[test]
fn one_is_added_to_weights_where_that_is_asked_for() {
    let row = numbers::<f32>(300, 8);
    let weights = numbers::<f32>(300, 9);
    let sums: Vec<f32> = weights.iter().map(|weight| weight + 1.0).collect();
    let plus = row::rms_norm(1e-6)
        .weight(&weights)
        .one_plus_weight()
        .on_cpu::<_, f32>(&row);
    let added = row::rms_norm(1e-6).weight(&sums).on_cpu::<_, f32>(&row);
    let plain = row::rms_norm(1e-6)
        .weight(&weights)
        .on_cpu::<_, f32>(&row)
        .expect("a meaning");
    let plus = plus.expect("a meaning");
    assert_eq!(plus.values, added.expect("a meaning").values);
    assert_ne!(plus.values, plain.values);
}

#[test]
fn what_has_no_meaning_is_told() {
    let row = [1.0_f32, 2.0];
    for scale in [1e-31, f32::NAN, f32::INFINITY] {
        let told = row::softmax().scale(scale).on_cpu::<_, f32>(&row);
        assert!(matches!(told, Err(Error::Parameter { op: "softmax", .. })), "{scale}");
    }
    for epsilon in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        let told = row::layer_norm(epsilon).on_cpu::<_, f32>(&row);
        assert!(
            matches!(told, Err(Error::Parameter { op: "layer_norm", .. })),
            "{epsilon}"
        );
        assert!(row::rms_norm(epsilon).on_cpu::<_, f32>(&row).is_err());
    }
    let told = row::rms_norm(1e-6).weight(&[1.0_f32; 3]).on_cpu::<_, f32>(&row);
    let fault = RowFault::Columns {
        name: "weights",
        columns: 2,
        got: 3,
    };
    assert!(matches!(told, Err(Error::Row(told)) if told == fault));
    let told = row::softmax().causal().on_cpu::<_, f32>(&row);
    assert!(matches!(told, Err(Error::Row(RowFault::NotAMatrix { axes: 1 }))));
    let told = row::softmax().axis(1).on_cpu::<_, f32>(&row);
    assert!(matches!(told, Err(Error::NoAxis { .. })));
    let told = row::softmax().plus(&[bf16::ONE; 2]).on_cpu::<_, f32>(&row);
    assert!(
        matches!(
            told,
            Err(Error::Row(RowFault::Types {
                of: "bf16",
                array: "f32",
                ..
            }))
        ),
        "{told:?}"
    );
    let told = row::softmax().mask(&[true; 3]).on_cpu::<_, f32>(&row);
    assert!(
        matches!(told, Err(Error::LengthMismatch { prepared: 2, got: 3 })),
        "{told:?}"
    );
    let three = Layout::c_order(&[3]).expect("small");
    let mask = View::new(&[1_u8; 3], &three).expect("in bounds");
    let told = row::softmax().mask(mask).on_cpu::<_, f32>(&row);
    assert!(matches!(told, Err(Error::Broadcast { .. })), "{told:?}");
    let told = row::softmax_gradient(Later::default()).on_cpu::<_, f32>(&row);
    assert!(matches!(told, Err(Error::Row(RowFault::Missing { .. }))), "{told:?}");
    for (target, row_of) in [(2, 0), (-1, 0), (i64::MIN, 0)] {
        let told = row::cross_entropy(&[target]).on_cpu::<_, f32>(&row);
        let fault = RowFault::Target {
            row: row_of,
            target,
            classes: 2,
        };
        assert!(matches!(told, Err(Error::Row(told)) if told == fault));
    }
    let told = row::cross_entropy(&[0_i32, 1]).on_cpu::<_, f32>(&row);
    assert!(
        matches!(told, Err(Error::Row(RowFault::Rows { rows: 1, got: 2, .. }))),
        "{told:?}"
    );
    let told = row::cross_entropy(&[0_i64]).label_smoothing(1.5).on_cpu::<_, f32>(&row);
    assert!(
        matches!(
            told,
            Err(Error::Parameter {
                op: "cross_entropy",
                ..
            })
        ),
        "{told:?}"
    );
    let told = row::softmax().plus(&row).mask(&[true; 2]).on_cpu::<_, f32>(&row);
    assert!(
        matches!(told, Err(Error::Row(RowFault::Together { op: "softmax" }))),
        "{told:?}"
    );
    let empty = row::MeanAndDeviation {
        mean: vec![],
        reciprocal_deviation: vec![1.0],
    };
    let told = row::layer_norm_gradient(&row, &empty).on_cpu::<_, f32>(&row);
    assert!(
        matches!(told, Err(Error::Row(RowFault::Rows { rows: 1, got: 0, .. }))),
        "{told:?}"
    );
    let known = row::rms_norm(1e-6).on_cpu::<_, f32>(&row).expect("a meaning").known;
    let told = row::rms_norm_gradient(&row, &known)
        .one_plus_weight()
        .on_cpu::<_, f32>(&row);
    assert!(matches!(told, Err(Error::Row(RowFault::NoWeights { .. }))), "{told:?}");
    let known = row::rms_norm(1e-6)
        .on_cpu::<_, f32>(&[1.0_f32, 2.0])
        .expect("a meaning")
        .known;
    let layout = Layout::c_order(&[2, 1]).expect("small");
    let view = View::new(&row, &layout).expect("in bounds");
    let told = row::rms_norm_gradient(&row, &known).on_cpu::<_, f32>(view);
    assert!(
        matches!(told, Err(Error::Row(RowFault::Rows { rows: 2, got: 1, .. }))),
        "{told:?}"
    );
}

/// What a mask does not select does not show, be it a NaN: as a row without it.
#[test]
fn a_masked_nan_changes_no_bit() {
    for len in [5_usize, 1024, 3000] {
        let row = numbers::<f32>(len, 4);
        let mask: Vec<bool> = (0..len).map(|i| i % 3 != 1).collect();
        let spoiled: Vec<f32> = row
            .iter()
            .zip(&mask)
            .map(|(x, seen)| if *seen { *x } else { f32::NAN })
            .collect();
        let absent: Vec<f32> = row
            .iter()
            .zip(&mask)
            .map(|(x, seen)| if *seen { *x } else { f32::NEG_INFINITY })
            .collect();
        let masked = row::softmax()
            .mask(&mask)
            .on_cpu::<_, f32>(&spoiled)
            .expect("a meaning");
        assert_eq!(masked, row::softmax().on_cpu::<_, f32>(&absent).expect("a meaning"));
        let none = vec![false; len];
        let nothing = row::softmax().mask(&none).all_masked(AllMasked::Zero);
        assert_eq!(
            nothing.on_cpu::<_, f32>(&spoiled).expect("a meaning").values,
            vec![0.0; len]
        );
    }
}

#[test]
fn sums_with_a_residual_are_given_back() {
    let (row, residual) = (numbers::<bf16>(700, 1), numbers::<bf16>(700, 2));
    let mapped = row::rms_norm(1e-6)
        .residual(&residual)
        .on_cpu::<_, bf16>(&row)
        .expect("a meaning");
    let sums: Vec<bf16> = row
        .iter()
        .zip(&residual)
        .map(|(a, b)| bf16::from_f32(a.to_f32() + b.to_f32()))
        .collect();
    assert_eq!(mapped.sums, Some(row::FloatVec::Bf16(sums.clone())));
    let alone = row::rms_norm(1e-6).on_cpu::<_, bf16>(&sums).expect("a meaning");
    assert_eq!((mapped.values, mapped.known), (alone.values, alone.known));
}

/// Rows of more leaves than a warp folds at once.
#[test]
fn states_of_many_leaves_are_combined_by_groups() {
    use warpfold_kernels::{monoids::Scaled, rowwise::Scale};

    let op = warpfold_kernels::rowwise::Softmax {
        scale: Scale::by(1.0),
        zero_if_masked: false,
    };
    for count in [1_usize, 2, 31, 33, 256, 257, 700] {
        let numbers = numbers::<f32>(2 * 3 * count, count as u64);
        let states: Vec<Scaled<f32>> = numbers
            .chunks(2)
            .map(|pair| Scaled {
                max: pair[0],
                sum: pair[1].abs() + 1.0,
            })
            .collect();
        let groups = fold_states(op, &states, 3, 1).expect("no fault");
        let each = count.div_ceil(256);
        assert_eq!(groups.len(), 3 * each);
        for (row, states) in states.chunks(count).enumerate() {
            for (group, states) in states.chunks(256).enumerate() {
                let expected = combine_pairs(states.to_vec(), op.identity(), &|a, b| op.combine(a, b));
                assert_eq!(groups[row * each + group], expected, "{count}");
            }
        }
    }
}

/// The recorded bits: `WARPFOLD_BLESS=1` writes them anew, with a new version.
#[test]
fn golden_rows() {
    let text = warpfold_tests::rows::golden();
    if std::env::var_os("WARPFOLD_BLESS").is_some() {
        std::fs::write(warpfold_tests::rows::GOLDEN_PATH, &text).expect("written");
    }
    assert_eq!(
        text,
        warpfold_tests::rows::GOLDEN,
        "the bits of a row operation changed"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn a_row_in_any_batch_has_its_bits_alone(
        len in 1_usize..4000,
        count in 1_usize..5,
        seed in any::<u64>(),
        scale in prop::sample::select(&[1.0_f32, 0.125, -2.5, 0.3][..]),
    ) {
        let values: Vec<bf16> = numbers(len * count, seed);
        let layout = Layout::c_order(&[count as u64, len as u64]).expect("small");
        let view = View::new(&values, &layout).expect("in bounds");
        let all = row::softmax().scale(scale).on_cpu::<_, bf16>(view).expect("a meaning");
        for (row, mapped) in values.chunks(len).zip(all.values.chunks(len)) {
            let alone = row::softmax().scale(scale).on_cpu::<_, bf16>(row).expect("a meaning");
            prop_assert_eq!(&alone.values[..], mapped);
        }
    }
}
