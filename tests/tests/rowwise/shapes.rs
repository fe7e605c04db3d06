//! Shapes of what stands beside rows, a scale of 0, and rows of a larger array.

use warpfold::{Error, RowFault, View, layout::Layout, row};
use warpfold_tests::rows::numbers;

/// A scale of 0 is uniform over what is visible; 0 · ∞ is NaN.
#[test]
fn a_scale_of_zero_is_uniform_over_what_is_visible() {
    let (inf, nan) = (f32::INFINITY, f32::NAN);
    for len in [1_usize, 4, 513, 3000] {
        let row = numbers::<f32>(len, 7);
        let zero = row::softmax().scale(0.0);
        let uniform = row::softmax().on_cpu::<_, f32>(&vec![0.0_f32; len]).expect("a meaning");
        for scale in [0.0, -0.0] {
            let mapped = row::softmax().scale(scale).on_cpu::<_, f32>(&row).expect("a meaning");
            assert_eq!(mapped, uniform);
        }
        let sum: f64 = uniform.values.iter().copied().map(f64::from).sum();
        assert!((sum - 1.0).abs() < 1e-5);
        assert!((f64::from(uniform.known.log_sum_exp[0]) - (len as f64).ln()).abs() < 1e-6);
        let log = row::log_softmax().scale(0.0).on_cpu::<_, f32>(&row).expect("a meaning");
        assert!(
            log.values
                .iter()
                .all(|y| (f64::from(*y) + (len as f64).ln()).abs() < 1e-6)
        );
        let known = row::log_sum_exp()
            .scale(0.0)
            .on_cpu::<_, f32>(&row)
            .expect("a meaning")
            .known;
        assert_eq!(known, uniform.known);
        // With an array that is added, it is the softmax of that.
        let added = numbers::<f32>(len, 8);
        let plus = zero.clone().plus(&added).on_cpu::<_, f32>(&row).expect("a meaning");
        assert_eq!(plus, row::softmax().on_cpu::<_, f32>(&added).expect("a meaning"));
        for odd in [inf, -inf, nan] {
            let mut spoiled = row.clone();
            spoiled[len / 2] = odd;
            let mapped = zero.clone().on_cpu::<_, f32>(&spoiled).expect("a meaning");
            assert!(mapped.values.iter().all(|y| y.is_nan()), "{odd}");
            assert!(mapped.known.log_sum_exp[0].is_nan(), "{odd}");
            let plus = zero.clone().plus(&added).on_cpu::<_, f32>(&spoiled).expect("a meaning");
            assert!(plus.values.iter().all(|y| y.is_nan()), "{odd}");
            // Masked, it does not show.
            let mask: Vec<bool> = (0..len).map(|i| i != len / 2 && i % 3 != 1).collect();
            let absent: Vec<f32> = mask.iter().map(|seen| if *seen { 0.0 } else { -inf }).collect();
            let masked = zero.clone().mask(&mask).on_cpu::<_, f32>(&spoiled).expect("a meaning");
            let expected = row::softmax().on_cpu::<_, f32>(&absent).expect("a meaning");
            let bits = |values: &[f32]| values.iter().map(|y| y.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(&masked.values), bits(&expected.values), "{odd}");
        }
    }
    // Causal: of what is not seen nothing shows.
    let layout = Layout::c_order(&[2, 2]).expect("small");
    let values = [3.0_f32, nan, -1.0, 5.0];
    let view = View::new(&values, &layout).expect("in bounds");
    let causal = row::softmax()
        .scale(0.0)
        .causal()
        .on_cpu::<_, f32>(view)
        .expect("a meaning");
    assert_eq!(causal.values, [1.0, 0.0, 0.5, 0.5]);
    let gradient = row::softmax_gradient(&[1.0_f32, 2.0]).scaled_by(0.0);
    let gradient = gradient.on_cpu::<_, f32>(&[0.5_f32, 0.5]).expect("a meaning");
    assert!(gradient.values.iter().all(|x| *x == 0.0));
}

/// Targets, weights and biases of views have the rows' or the columns' shape, or broadcast to it.
#[test]
fn shapes_of_targets_weights_and_biases() {
    let values = numbers::<f32>(30, 3);
    let shape = |shape: &[u64]| Layout::c_order(shape).expect("small");
    let array = || View::new(&values, &shape(&[2, 3, 5])).expect("in bounds");
    let targets = [0_i64, 1, 2, 3, 4, 0];
    let loss = |targets: View<'_, i64>| row::cross_entropy(targets).on_cpu::<_, f32>(array());
    let of = |len: usize, layout: &Layout| loss(View::new(&targets[..len], layout).expect("in bounds"));
    let whole = of(6, &shape(&[2, 3])).expect("the rows' shape");
    assert_eq!(
        whole,
        row::cross_entropy(&targets)
            .on_cpu::<_, f32>(array())
            .expect("in order")
    );
    let repeated = |each: [i64; 6]| row::cross_entropy(&each).on_cpu::<_, f32>(array()).expect("in order");
    for (layout, each) in [
        (shape(&[3]), [0, 1, 2, 0, 1, 2]),
        (shape(&[1, 3]), [0, 1, 2, 0, 1, 2]),
        (shape(&[2, 1]), [0, 0, 0, 1, 1, 1]),
        (shape(&[1]), [0; 6]),
        (shape(&[]), [0; 6]),
        (Layout::strided(&[2, 3], &[1, 2], 0).expect("small"), [0, 2, 4, 1, 3, 0]),
    ] {
        let len = layout.len() as usize;
        assert_eq!(of(len, &layout).expect("broadcasts"), repeated(each), "{layout:?}");
    }
    for wrong in [&[3, 2][..], &[6], &[2], &[1, 2, 3], &[2, 3, 1], &[6, 1]] {
        let told = of(6.min(wrong.iter().product::<u64>() as usize), &shape(wrong));
        let fault = RowFault::TargetShape {
            shape: wrong.to_vec(),
            rows: vec![2, 3],
        };
        assert!(matches!(told, Err(Error::Row(told)) if told == fault), "{wrong:?}");
    }
    // Along another axis the rows are those of the other axes.
    let along = |targets: &[i64], layout: &Layout| {
        let view = View::new(targets, layout).expect("in bounds");
        row::cross_entropy(view).axis(0).on_cpu::<_, f32>(array())
    };
    assert!(along(&[1; 15], &shape(&[3, 5])).is_ok());
    assert!(along(&[1; 15], &shape(&[5, 3])).is_err());

    let weights = numbers::<f32>(6, 4);
    let norm = |axis: i64, len: usize, layout: &Layout| {
        let view = || View::new(&weights[..len], layout).expect("in bounds");
        let norm = row::layer_norm(1e-5).axis(axis).weight(view()).bias(view());
        norm.on_cpu::<_, f32>(array()).map(|mapped| mapped.values)
    };
    let plain = |axis: i64, weights: &[f32]| {
        let norm = row::layer_norm(1e-5).axis(axis).weight(weights).bias(weights);
        norm.on_cpu::<_, f32>(array()).expect("in order").values
    };
    for (axis, len, layout) in [
        (-1, 5, shape(&[5])),
        (-1, 5, shape(&[1, 5])),
        (2, 5, shape(&[1, 1, 5])),
        (1, 3, shape(&[3])),
        (1, 3, shape(&[3, 1])),
        (0, 2, shape(&[2, 1, 1])),
    ] {
        assert_eq!(
            norm(axis, len, &layout).expect("a shape"),
            plain(axis, &weights[..len]),
            "{layout:?}"
        );
    }
    assert_eq!(
        norm(-1, 1, &shape(&[1, 1])).expect("one for all"),
        plain(-1, &[weights[0]; 5])
    );
    let backwards = Layout::strided(&[5], &[-1], 4).expect("small");
    let reversed: Vec<f32> = weights[..5].iter().rev().copied().collect();
    assert_eq!(norm(-1, 5, &backwards).expect("a stride"), plain(-1, &reversed));
    for (axis, wrong) in [
        (-1, &[3, 1][..]),
        (-1, &[2, 1, 1]),
        (-1, &[5, 1]),
        (-1, &[6]),
        (1, &[2]),
        (0, &[2, 3]),
    ] {
        let told = norm(axis, wrong.iter().product::<u64>() as usize, &shape(wrong));
        assert!(
            matches!(told, Err(Error::Row(RowFault::ColumnShape { .. }))),
            "{wrong:?}: {told:?}"
        );
    }
    let told = norm(-1, 3, &shape(&[3, 1])).expect_err("no columns").to_string();
    assert!(told.contains("[3, 1]") && told.contains("[2, 3, 5]"), "{told}");
    let wide = row::layer_norm(1e-5).weight(&[1.0_f64; 5]).on_cpu::<_, f32>(array());
    assert!(matches!(wide, Err(Error::Row(RowFault::ColumnType { of: "f64", .. }))));
    // Group norm: of channels.
    let layout = shape(&[2, 2, 3]);
    let channels = numbers::<f32>(12, 5);
    let group = |weights: &[f32], shape: Option<&Layout>| {
        let norm = row::group_norm(1, 1e-5);
        let norm = match shape {
            Some(shape) => norm.weight(View::new(weights, shape).expect("in bounds")),
            None => norm.weight(weights),
        };
        let mapped = norm.on_cpu::<_, f32>(View::new(&channels, &layout).expect("in bounds"));
        mapped.map(|mapped| mapped.values)
    };
    let expected = group(&weights[..2], None).expect("in order");
    assert_eq!(group(&weights[..2], Some(&shape(&[2]))).expect("channels"), expected);
    assert_eq!(
        group(&weights[..2], Some(&shape(&[1, 2, 1]))).expect("channels"),
        expected
    );
    assert!(group(&weights[..3], Some(&shape(&[3]))).is_err());
}

/// Rows of a larger array have the bits that they have in it: causal ones by their number, targets and masks by their own.
#[test]
fn rows_in_pieces_have_the_bits_of_the_whole() {
    let (matrices, of, columns) = (3_u64, 7_u64, 600_u64);
    let values = numbers::<f32>((matrices * of * columns) as usize, 6);
    let mask: Vec<u8> = (0..values.len()).map(|i| (i % 7 != 2).into()).collect();
    let targets: Vec<i64> = (0..(matrices * of) as i64).map(|row| row * 31 % 600).collect();
    let shape = |shape: &[u64]| Layout::c_order(shape).expect("small");
    let whole = || View::new(&values, &shape(&[matrices, of, columns])).expect("in bounds");
    let elements = |first: u64, rows: u64| (first * columns) as usize..((first + rows) * columns) as usize;
    let piece =
        |first: u64, rows: u64| View::new(&values[elements(first, rows)], &shape(&[rows, columns])).expect("in bounds");
    let causal = || row::softmax().causal_by(-590);
    let all = causal().on_cpu::<_, f32>(whole()).expect("a meaning");
    let losses = row::cross_entropy(&targets).gradient(1.0);
    let losses = losses.on_cpu::<_, f32>(whole()).expect("a meaning");
    let masked = row::softmax().mask(&mask).on_cpu::<_, f32>(whole());
    let masked = masked.expect("a meaning");
    // From a multiple of a matrix' rows any number of them; else to the end of the matrix at most.
    for (first, rows) in [
        (0, 21),
        (0, 5),
        (7, 14),
        (7, 9),
        (3, 4),
        (10, 2),
        (20, 1),
        (14, 0),
        (5, 0),
    ] {
        let part = causal().rows_from(first, of).on_cpu::<_, f32>(piece(first, rows));
        let part = part.expect("a piece");
        assert_eq!(part.values, all.values[elements(first, rows)], "{first}, {rows}");
        let numbers = first as usize..(first + rows) as usize;
        assert_eq!(part.known.log_sum_exp, all.known.log_sum_exp[numbers.clone()]);
        let loss = row::cross_entropy(&targets[numbers.clone()]).gradient(1.0);
        let loss = loss.on_cpu::<_, f32>(piece(first, rows)).expect("a piece");
        assert_eq!(loss.values, losses.values[elements(first, rows)]);
        assert_eq!(loss.known.loss, losses.known.loss[numbers]);
        let mask = &mask[elements(first, rows)];
        let part = row::softmax().mask(View::new(mask, &shape(&[rows, columns])).expect("in bounds"));
        let part = part.on_cpu::<_, f32>(piece(first, rows)).expect("a piece");
        assert_eq!(part.values, masked.values[elements(first, rows)]);
    }
    // A row alone has one axis.
    let alone = causal().rows_from(9, of);
    let alone = alone.on_cpu::<_, f32>(&values[elements(9, 1)]).expect("a piece");
    assert_eq!(alone.values, all.values[elements(9, 1)]);
    for (first, rows) in [(3, 5), (20, 2)] {
        let told = causal().rows_from(first, of).on_cpu::<_, f32>(piece(0, rows));
        let fault = RowFault::Piece { first, rows, of };
        assert!(matches!(told, Err(Error::Row(told)) if told == fault));
    }
    // Samples of a group norm.
    let norm = |from: usize, samples: u64| {
        let layout = shape(&[samples, of, columns]);
        let view = View::new(&values[from..], &layout).expect("in bounds");
        row::group_norm(7, 1e-5)
            .on_cpu::<_, f32>(view)
            .expect("a meaning")
            .values
    };
    let (all, sample) = (norm(0, 3), (of * columns) as usize);
    assert_eq!(norm(sample, 2), all[sample..]);
}
