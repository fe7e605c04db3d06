//! Arrays of ndarray, of any strides: against ndarray's own sums of integers, and against slices to the bit.

use std::fmt::Debug;

use half::{bf16, f16};
use ndarray::{Array2, ArrayD, ArrayViewD, Axis, IxDyn, Slice, s};
use proptest::prelude::*;
use warpfold::{
    Error, cpu, fold,
    layout::Axes,
    ndarray::{ReduceExt, dense},
    ops::{ArgMax, Compensated, Exact, IgnoreNan, Max, Mean, Reduction, Sum, Variance},
    row::{self, RowElement},
};

/// What is done to an axis.
#[derive(Clone, Copy, Debug)]
enum Step {
    Slice(usize, isize),
    Broadcast(usize),
    Swap(usize),
}

fn steps() -> impl Strategy<Value = Vec<(usize, Step)>> {
    let step = prop_oneof![
        (0..3_usize, prop::sample::select(vec![-3_isize, -2, -1, 1, 2])).prop_map(|(from, by)| Step::Slice(from, by)),
        (1..4_usize).prop_map(Step::Broadcast),
        (0..4_usize).prop_map(Step::Swap),
    ];
    prop::collection::vec((0..4_usize, step), 0..5)
}

/// A view after all the steps that it can take.
fn seen(
    array: &ArrayD<i64>,
    steps: &[(usize, Step)],
    check: impl FnOnce(ArrayViewD<'_, i64>) -> TestResult,
) -> TestResult {
    fn go(
        view: ArrayViewD<'_, i64>,
        steps: &[(usize, Step)],
        check: impl FnOnce(ArrayViewD<'_, i64>) -> TestResult,
    ) -> TestResult {
        let Some(((axis, step), rest)) = steps.split_first() else {
            return check(view);
        };
        let rank = view.ndim();
        let axis = axis % rank.max(1);
        let mut next = view.view();
        match *step {
            _ if rank == 0 => {}
            Step::Slice(from, by) => {
                let from = from.min(next.len_of(Axis(axis)));
                next.slice_axis_inplace(Axis(axis), Slice::new(from as isize, None, by));
            }
            Step::Swap(other) => next.swap_axes(axis, other % rank),
            Step::Broadcast(times) => {
                let mut shape = view.shape().to_vec();
                shape.insert(0, times);
                return go(view.broadcast(IxDyn(&shape)).expect("an axis more"), rest, check);
            }
        }
        go(next, rest, check)
    }
    go(array.view(), steps, check)
}

type TestResult = Result<(), TestCaseError>;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn any_view_has_ndarrays_sums(
        shape in prop::collection::vec(0..7_usize, 0..4),
        steps in steps(),
        folded in any::<[bool; 9]>(),
        keepdim in any::<bool>(),
    ) {
        let count: usize = shape.iter().product();
        let array = ArrayD::from_shape_vec(shape, (0..count as i64).map(|i| i * i % 1009 - 300).collect()).unwrap();
        seen(&array, &steps, |view| {
            prop_assert_eq!(view.reduce(Sum).unwrap(), view.sum());
            let in_order: Vec<i64> = view.iter().copied().collect();
            if !in_order.is_empty() {
                prop_assert_eq!(view.reduce(ArgMax).unwrap(), cpu::reduce(ArgMax, &in_order).unwrap());
            }
            let axes: Vec<i64> = (0..view.ndim()).filter(|axis| folded[*axis]).map(|axis| axis as i64).collect();
            let mut sums = view.to_owned();
            for axis in axes.iter().rev() {
                sums = sums.sum_axis(Axis(*axis as usize));
            }
            if keepdim {
                for axis in &axes {
                    sums.insert_axis_inplace(Axis(*axis as usize));
                }
            }
            let axes = Axes::of(&axes);
            let axes = if keepdim { axes.keepdim() } else { axes };
            prop_assert_eq!(view.reduce_axes(&axes, Sum).unwrap(), sums);
            // A mask of the same strides, and one of the last axis.
            let truths = view.map(|value| value % 3 != 0);
            let selected = view.map(|value| if value % 3 == 0 { 0 } else { *value });
            let expected = selected.reduce_axes(&axes, Sum).unwrap();
            prop_assert_eq!(view.reduce_axes_where(&axes, &truths, Sum).unwrap(), expected);
            if view.ndim() > 0 {
                let columns = view.len_of(Axis(view.ndim() - 1));
                let row: Vec<u8> = (0..columns).map(|column| (column % 2) as u8).collect();
                let mut selected = view.to_owned();
                for (mut lane, on) in selected.axis_iter_mut(Axis(view.ndim() - 1)).zip(&row) {
                    lane.mapv_inplace(|value| value * i64::from(*on));
                }
                let row = ArrayD::from_shape_vec(vec![columns], row).unwrap();
                prop_assert_eq!(view.reduce_where(&row, Sum).unwrap(), selected.sum());
            }
            Ok(())
        })?;
    }
}

/// Beyond a block, where an array that does not fill its memory is folded a part at a time.
#[test]
fn long_arrays_that_do_not_fill_their_memory() {
    let array = ArrayD::from_shape_fn(vec![700, 3, 801], |at| {
        ((at[0] * 31 + at[1] * 7 + at[2]) % 251) as f32 / 977.0
    });
    let part = array.slice_axis(Axis(2), Slice::new(0, Some(-1), 2));
    assert!(dense(part.view()).is_none() && dense(array.view()).is_some());
    let copy = part.as_standard_layout().into_owned();
    for axes in [&[0][..], &[1], &[2], &[0, 2], &[1, 2], &[0, 1, 2], &[]] {
        let axes = Axes::of(axes);
        assert_eq!(
            part.reduce_axes(&axes, Mean).unwrap(),
            copy.reduce_axes(&axes, Mean).unwrap(),
            "{axes:?}"
        );
        let truths = part.map(|value| *value > 0.1);
        assert_eq!(
            part.reduce_axes_where(&axes, &truths, Mean).unwrap().mapv(f32::to_bits),
            copy.reduce_axes_where(&axes, &truths, Mean).unwrap().mapv(f32::to_bits),
            "{axes:?}"
        );
    }
    // One extent, longer than a block.
    let line = part.slice_axis(Axis(1), Slice::from(1..2));
    let elements: Vec<f32> = line.iter().copied().collect();
    assert!(size_of_val(&elements[..]) > 1 << 20);
    assert_eq!(
        line.reduce(Sum).unwrap().to_bits(),
        cpu::reduce(Sum, &elements).unwrap().to_bits()
    );
    let truths: Vec<bool> = elements.iter().map(|value| *value > 0.1).collect();
    assert_eq!(
        line.reduce_where(&line.map(|value| *value > 0.1), Sum)
            .unwrap()
            .to_bits(),
        fold(Sum).masked(&truths).on_cpu(&elements).unwrap().to_bits()
    );
}

/// Rows of a matrix, its columns, each backwards, every other one, and one repeated, against slices.
fn rows_are_those_of_slices<T: RowElement + PartialEq + Debug>(of: impl Fn(f32) -> T) {
    let matrix = Array2::from_shape_fn((33, 70), |(i, j)| of((i * 37 + j * 11) as f32 % 23.0 / 7.0 - 1.0));
    let repeated = matrix.row(3);
    let repeated = repeated.broadcast((5, 70)).unwrap();
    let views = [
        matrix.view(),
        matrix.t(),
        matrix.slice(s![..;-1, ..;-1]),
        matrix.slice(s![1..;2, ..]),
        matrix.slice(s![.., ..;3]),
        repeated,
    ];
    for view in views {
        for axis in [0, 1] {
            let weights: Vec<f32> = (0..view.len_of(Axis(axis))).map(|i| i as f32 / 4.0).collect();
            let results = [
                view.softmax(Axis(axis)),
                view.log_softmax(Axis(axis)),
                view.layer_norm(Axis(axis), 1e-5),
                view.rms_norm(Axis(axis), 1e-5),
                view.map_rows(Axis(axis), row::rms_norm(1e-5).weight(&weights))
                    .map(|rows| rows.values),
            ];
            for (i, result) in results.into_iter().enumerate() {
                let result = result.unwrap();
                assert_eq!(result.dim(), view.dim());
                for (lane, lane_result) in view.lanes(Axis(axis)).into_iter().zip(result.lanes(Axis(axis))) {
                    let lane = lane.to_vec();
                    let expected: Vec<T> = match i {
                        0 => row::softmax().on_cpu(&lane).unwrap().values,
                        1 => row::log_softmax().on_cpu(&lane).unwrap().values,
                        2 => row::layer_norm(1e-5).on_cpu(&lane).unwrap().values,
                        3 => row::rms_norm(1e-5).on_cpu(&lane).unwrap().values,
                        _ => row::rms_norm(1e-5).weight(&weights).on_cpu(&lane).unwrap().values,
                    };
                    assert_eq!(lane_result.to_vec(), expected, "operation {i}, axis {axis}");
                }
            }
            let known = view.map_rows(Axis(axis), row::log_sum_exp()).unwrap();
            assert!(known.values.is_empty() && known.sums.is_none());
        }
    }
}

#[test]
fn row_operations_have_the_bits_of_slices() {
    rows_are_those_of_slices(|x| x);
    rows_are_those_of_slices(f16::from_f32);
    rows_are_those_of_slices(bf16::from_f32);
}

#[test]
fn operators_of_any_accuracy_go_through() {
    let matrix = Array2::from_shape_fn((40, 50), |(i, j)| {
        if i == j {
            f32::NAN
        } else {
            (i as f32 - 19.5) * 1e6 + j as f32
        }
    });
    let clean = matrix.mapv(|x| if x.is_nan() { 0.1 } else { x });
    fn agree<R: Reduction<f32, Answer = f32>>(matrix: &Array2<f32>, op: R) {
        for view in [matrix.view(), matrix.t(), matrix.slice(s![..;-3, ..;2])] {
            for axis in [0, 1] {
                let answers = view.reduce_axis(Axis(axis), op).unwrap();
                for (lane, answer) in view.lanes(Axis(axis)).into_iter().zip(answers) {
                    let expected = cpu::reduce(op, &lane.to_vec()).unwrap();
                    assert_eq!(answer.to_bits(), expected.to_bits());
                }
            }
        }
    }
    agree(&clean, Exact(Sum));
    agree(&clean, Compensated(Mean));
    agree(&matrix, IgnoreNan(Sum));
}

#[test]
fn what_has_no_answer_is_an_error() {
    let none = ArrayD::<f64>::zeros(vec![0, 3]);
    assert!(matches!(none.reduce(Max), Err(Error::EmptyExtent { .. })));
    assert_eq!(none.reduce_axis(Axis(1), Max).unwrap().shape(), [0]);
    let apart = ArrayD::<f64>::zeros(vec![4, 4]);
    let apart = apart.slice_axis(Axis(1), Slice::from(..2));
    assert!(matches!(
        apart.reduce_axis(Axis(2), Sum),
        Err(Error::NoAxis { axis: 2, axes: 2 })
    ));
    let wrong = Variance { correction: f64::NAN };
    assert!(matches!(apart.reduce(wrong), Err(Error::Parameter { .. })));
    let mask = ArrayD::<bool>::default(vec![3]);
    assert!(matches!(
        apart.reduce_where(&mask, Sum),
        Err(Error::MaskMismatch { mask, array }) if mask == [3] && array == [4, 2]
    ));
    let floats = Array2::<f32>::zeros((2, 2));
    assert!(matches!(
        floats.softmax(Axis(2)),
        Err(Error::NoAxis { axis: 2, axes: 2 })
    ));
    assert!(matches!(floats.layer_norm(Axis(1), 0.0), Err(Error::Parameter { .. })));
}
