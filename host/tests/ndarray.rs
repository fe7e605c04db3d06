//! Arrays of ndarray, of any strides, against ndarray's own sums of integers.

use ndarray::{ArrayD, ArrayViewD, Axis, IxDyn, Slice};
use proptest::prelude::*;
use warpfold::{
    Error, cpu,
    layout::Axes,
    ndarray::{dense, reduce, reduce_axes},
    ops::{ArgMax, Max, Mean, Sum, Variance},
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
            prop_assert_eq!(reduce(Sum, view.view()).unwrap(), view.sum());
            let in_order: Vec<i64> = view.iter().copied().collect();
            if !in_order.is_empty() {
                prop_assert_eq!(reduce(ArgMax, view.view()).unwrap(), cpu::reduce(ArgMax, &in_order).unwrap());
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
            prop_assert_eq!(reduce_axes(Sum, view, &axes).unwrap(), sums);
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
            reduce_axes(Mean, part.view(), &axes).unwrap(),
            reduce_axes(Mean, copy.view(), &axes).unwrap(),
            "{axes:?}"
        );
    }
    // One extent, longer than a block.
    let line = part.slice_axis(Axis(1), Slice::from(1..2));
    let elements: Vec<f32> = line.iter().copied().collect();
    assert!(size_of_val(&elements[..]) > 1 << 20);
    assert_eq!(
        reduce(Sum, line).unwrap().to_bits(),
        cpu::reduce(Sum, &elements).unwrap().to_bits()
    );
}

#[test]
fn what_has_no_answer_is_an_error() {
    let none = ArrayD::<f64>::zeros(vec![0, 3]);
    assert!(matches!(reduce(Max, none.view()), Err(Error::EmptyExtent { .. })));
    assert_eq!(reduce_axes(Max, none.view(), &Axes::of(&[1])).unwrap().shape(), [0]);
    let apart = ArrayD::<f64>::zeros(vec![4, 4]);
    let apart = apart.slice_axis(Axis(1), Slice::from(..2));
    assert!(matches!(
        reduce_axes(Sum, apart.view(), &Axes::of(&[2])),
        Err(Error::NoAxis { axis: 2, axes: 2 })
    ));
    let wrong = Variance { correction: f64::NAN };
    assert!(matches!(reduce(wrong, apart), Err(Error::Parameter { .. })));
}
