//! Folds along axes on the CPU, against each extent gathered by its indices and folded alone.

use std::fmt::Debug;

use proptest::{prelude::*, sample::Index};
use warpfold::{
    Error, cpu,
    layout::{Axes, Folded, Layout},
    ops::{
        All, ArgMax, ArgMinMax, LogSumExp, Max, Mean, MeanVariance, Min, MinMax, Reduction, Sum, Variance,
        element::{Element, bf16, f16},
        monoids::Words,
    },
};

fn words<W: Words>(value: &W) -> Vec<u32> {
    (0..W::COUNT).map(|i| value.word(i)).collect()
}

/// Every index of a shape, in C order.
fn indices(shape: &[u64]) -> Vec<Vec<u64>> {
    shape.iter().fold(vec![vec![]], |outer, extent| {
        let next = |index: &Vec<u64>, at| index.iter().copied().chain([at]).collect();
        outer
            .iter()
            .flat_map(|index| (0..*extent).map(move |at| next(index, at)))
            .collect()
    })
}

/// The elements of each extent, gathered one by one.
fn gathered<T: Copy>(values: &[T], layout: &Layout, folded: &[bool]) -> Vec<Vec<T>> {
    let side = |side: bool| {
        let axes = layout.shape().iter().zip(folded);
        let shape: Vec<u64> = axes
            .map(|(extent, folded)| if *folded == side { *extent } else { 1 })
            .collect();
        indices(&shape)
    };
    let within = side(true);
    let place = |outer: &[u64], inner: &[u64]| {
        let steps = outer.iter().zip(inner).zip(layout.strides());
        let place: i64 = steps
            .map(|((outer, inner), stride)| (outer + inner) as i64 * stride)
            .sum();
        (layout.offset() as i64 + place) as usize
    };
    side(false)
        .iter()
        .map(|outer| within.iter().map(|inner| values[place(outer, inner)]).collect())
        .collect()
}

/// Each answer has the bits of its extent folded alone.
#[track_caller]
fn check<T: Element, R: Reduction<T>>(op: R, values: &[T], layout: &Layout, folded: &[bool]) {
    let axes: Vec<i64> = (0..)
        .zip(folded)
        .filter(|(_, folded)| **folded)
        .map(|(axis, _)| axis)
        .collect();
    let extents = gathered(values, layout, folded);
    let expected: Result<Vec<_>, _> = extents.iter().map(|extent| cpu::reduce(op, extent)).collect();
    let found = cpu::reduce_axes(op, values, layout, &Axes::of(&axes));
    match (found, expected) {
        (Ok(Folded { answers, .. }), Ok(expected)) => {
            let found: Vec<_> = answers.iter().map(words).collect();
            let expected: Vec<_> = expected.iter().map(words).collect();
            assert_eq!(found, expected, "{} of {layout:?} along {axes:?}", R::NAME);
        }
        (Err(Error::EmptyExtent { op }), Err(Error::EmptyExtent { .. })) => assert_eq!(op, R::NAME),
        (found, _) => panic!("{} of {layout:?} along {axes:?}: {:?}", R::NAME, found.err()),
    }
}

/// Values whose order matters, with a NaN now and then.
fn uneven(len: usize) -> impl Iterator<Item = f32> {
    (0..len).map(|i| match i % 1009 {
        1000 => f32::NAN,
        _ => (i * 37 % 251) as f32 / 97.0 - 1.1,
    })
}

/// The same array of several types, under an operator of each family.
#[track_caller]
fn check_types(len: usize, layout: &Layout, folded: &[bool]) {
    let singles: Vec<f32> = uneven(len).collect();
    let finite: Vec<f64> = uneven(len)
        .map(|value| if value.is_nan() { 3.5 } else { value.into() })
        .collect();
    let bytes: Vec<u8> = (0..len).map(|i| (i * 89 % 251) as u8).collect();
    let halves: Vec<f16> = bytes
        .iter()
        .map(|byte| f16::from_bits(0x3000 + 7 * u16::from(*byte)))
        .collect();
    let brains: Vec<bf16> = bytes
        .iter()
        .map(|byte| bf16::from_bits(0x3e00 + u16::from(*byte)))
        .collect();
    let truths: Vec<bool> = bytes.iter().map(|byte| *byte > 1).collect();
    check(Sum, &singles, layout, folded);
    check(ArgMax, &singles, layout, folded);
    check(LogSumExp, &singles, layout, folded);
    check(MinMax, &singles, layout, folded);
    check(Variance::default(), &finite, layout, folded);
    check(MeanVariance { correction: 0.0 }, &finite, layout, folded);
    check(Max, &bytes, layout, folded);
    check(ArgMinMax, &bytes, layout, folded);
    check(Sum, &bytes, layout, folded);
    check(Mean, &halves, layout, folded);
    check(Min, &brains, layout, folded);
    check(All, &truths, layout, folded);
}

/// Elements of the memory that a dense array takes.
fn memory(shape: &[u64]) -> usize {
    shape.iter().product::<u64>() as usize
}

#[test]
fn every_length_of_a_row_gives_its_own_bits() {
    // Where a row, a leaf, and the CPU's run change what is done; rows of memory and, turned, columns.
    for len in [
        1, 2, 3, 31, 127, 128, 129, 512, 513, 1023, 1024, 1025, 4096, 4099, 70_001,
    ] {
        for answers in [1, 3, 9] {
            let rows = Layout::c_order(&[answers, len]).unwrap();
            check_types(memory(&[answers, len]), &rows, &[false, true]);
            let columns = Layout::c_order(&[len, answers]).unwrap();
            check_types(memory(&[answers, len]), &columns, &[true, false]);
        }
    }
}

#[test]
fn many_short_extents_are_kept_apart() {
    for (shape, folded) in [
        (vec![70_000, 1], [false, true]),
        (vec![50_001, 3], [false, true]),
        (vec![3, 50_001], [true, false]),
        (vec![7, 33_333], [false, false]),
    ] {
        check_types(memory(&shape), &Layout::c_order(&shape).unwrap(), &folded);
    }
}

#[test]
fn elements_may_lie_anyhow() {
    let cube = Layout::c_order(&[20, 300, 17]).unwrap();
    let len = memory(cube.shape());
    let views = [
        cube.transposed(&[2, 0, 1]).unwrap(),
        Layout::fortran_order(&[20, 300, 17]).unwrap(),
        cube.sliced(1, 299, 150, -2).unwrap(),
        cube.sliced(2, 16, 17, -1).unwrap().sliced(0, 3, 5, 3).unwrap(),
        cube.sliced(1, 7, 1, 1).unwrap().broadcast(&[20, 40, 17]).unwrap(),
    ];
    for layout in views.iter().chain([&cube]) {
        for bits in 0..8 {
            check_types(len, layout, &[bits & 1 > 0, bits & 2 > 0, bits & 4 > 0]);
        }
    }
    let one = Layout::c_order(&[1]).unwrap().broadcast(&[9, 5000]).unwrap();
    check_types(1, &one, &[false, true]);
}

/// The same numbers in two layouts have the same bits, and so has a row alone.
#[test]
fn neither_neighbours_nor_strides_change_a_row() {
    let rows: Vec<f32> = uneven(11 * 3000).collect();
    let c = Layout::c_order(&[11, 3000]).unwrap();
    let fold = |values: &[f32], layout: &Layout, axis| {
        let folded = cpu::reduce_axes(Sum, values, layout, &Axes::of(&[axis])).unwrap();
        folded.answers.iter().map(|sum| sum.to_bits()).collect::<Vec<_>>()
    };
    let expected = fold(&rows, &c, 1);
    for (row, expected) in rows.chunks(3000).zip(&expected) {
        assert_eq!(fold(row, &Layout::c_order(&[1, 3000]).unwrap(), 1), [*expected]);
    }
    assert_eq!(fold(&rows, &c.transposed(&[1, 0]).unwrap(), 0), expected);

    let backwards = c.sliced(0, 10, 11, -1).unwrap();
    assert!(fold(&rows, &backwards, 1).iter().eq(expected.iter().rev()));

    let turned: Vec<f32> = (0..rows.len()).map(|i| rows[i % 11 * 3000 + i / 11]).collect();
    assert_eq!(fold(&turned, &Layout::c_order(&[3000, 11]).unwrap(), 0), expected);
    assert_eq!(fold(&turned, &Layout::fortran_order(&[11, 3000]).unwrap(), 1), expected);
}

#[test]
fn indices_count_along_the_folded_axes() {
    let mut values = vec![0_i32; 24];
    values[17] = 9; // (1, 1, 1)
    let cube = Layout::c_order(&[2, 3, 4]).unwrap();
    let fold = |axes: &[i64]| {
        cpu::reduce_axes(ArgMax, &values, &cube, &Axes::of(axes))
            .unwrap()
            .answers
    };
    assert_eq!(fold(&[0, 1, 2]), [17]);
    assert_eq!(fold(&[0, 2]), [0, 5, 0]);
    assert_eq!(fold(&[2, 0]), fold(&[0, -1])); // the order in which axes are named is none
    assert_eq!(fold(&[0]), [0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn empty_extents_have_the_operators_answer() {
    let nothing: [f32; 0] = [];
    let layout = Layout::c_order(&[3, 0, 2]).unwrap();
    let sums = |axes: Axes| cpu::reduce_axes(Sum, &nothing, &layout, &axes).unwrap();
    assert_eq!(
        (sums(Axes::of(&[1])).shape, sums(Axes::of(&[1])).answers),
        (vec![3, 2], vec![0.0; 6])
    );
    assert_eq!(sums(Axes::all()).answers, [0.0]);
    let none = sums(Axes::of(&[0]));
    assert_eq!((none.shape, none.answers.len()), (vec![0, 2], 0));
    assert!(cpu::reduce_axes(Mean, &nothing, &layout, &Axes::all()).unwrap().answers[0].is_nan());

    let max = |axes: &[i64]| cpu::reduce_axes(Max, &nothing, &layout, &Axes::of(axes));
    assert!(matches!(max(&[1]), Err(Error::EmptyExtent { op: "max" })));
    assert!(max(&[0]).unwrap().answers.is_empty());
    assert!(max(&[]).unwrap().answers.is_empty());
    // An axis of 0 is folded, but there are no answers: nothing is asked of the operator.
    let square = Layout::c_order(&[0, 0]).unwrap();
    let found = cpu::reduce_axes(Max, &nothing, &square, &Axes::of(&[0])).unwrap();
    assert_eq!((found.shape, found.answers.len()), (vec![0], 0));
}

#[test]
fn bad_input_is_told() {
    let values = [0.0_f32; 12];
    let matrix = Layout::c_order(&[3, 4]).unwrap();
    let fold = |layout: &Layout, axes: &[i64]| cpu::reduce_axes(Sum, &values, layout, &Axes::of(axes)).unwrap_err();
    assert_eq!(
        fold(&matrix, &[2]).to_string(),
        "axis 2 is out of bounds for an array of 2 axes"
    );
    assert_eq!(fold(&matrix, &[1, -1]).to_string(), "axis 1 (of 2) is named twice");
    let large = Layout::c_order(&[3, 5]).unwrap();
    assert_eq!(
        fold(&large, &[0]).to_string(),
        "the elements lie at 0 to 14, in memory of 12 elements"
    );
    // More answers than there is memory for.
    let wide = Layout::strided(&[1 << 62, 1], &[0, 0], 0).unwrap();
    assert!(matches!(fold(&wide, &[1]), Error::LengthOverflow { .. }));
}

/// A view of a dense array, as users make them: axes turned, sliced and repeated.
#[derive(Clone, Debug)]
struct View {
    dense: Vec<u64>,
    fortran: bool,
    order: Vec<usize>,
    slices: Vec<(Index, Index, Index, bool)>,
    repeats: Vec<Option<u64>>,
    folded: Vec<bool>,
}

impl View {
    fn layout(&self) -> Layout {
        let dense = if self.fortran {
            Layout::fortran_order
        } else {
            Layout::c_order
        };
        let order: Vec<i64> = self.order.iter().map(|axis| *axis as i64).collect();
        let mut layout = dense(&self.dense).unwrap().transposed(&order).unwrap();
        for (axis, (start, count, step, back)) in (0..).zip(&self.slices) {
            let extent = layout.shape()[axis as usize];
            if extent > 0 {
                let step = 1 + step.index(3) as u64;
                let start = start.index(extent as usize) as u64;
                let room = if *back { start } else { extent - 1 - start };
                let count = count.index((room / step + 2) as usize) as u64;
                let step = step as i64 * if *back { -1 } else { 1 };
                layout = layout.sliced(axis, start, count, step).unwrap();
            }
        }
        let shape: Vec<u64> = layout.shape().to_vec();
        let repeat = |(extent, repeat): (&u64, &Option<u64>)| if *extent == 1 { repeat.unwrap_or(1) } else { *extent };
        let shape: Vec<u64> = shape.iter().zip(&self.repeats).map(repeat).collect();
        layout.broadcast(&shape).unwrap()
    }
}

fn views() -> impl Strategy<Value = View> {
    let extent = prop_oneof![1 => Just(0_u64), 3 => Just(1), 8 => 2..8_u64, 3 => 8..40_u64, 1 => 500..700_u64];
    let axis = (
        extent,
        any::<(Index, Index, Index, bool)>(),
        proptest::option::of(1..70_u64),
        any::<bool>(),
    );
    (prop::collection::vec(axis, 0..=4), any::<bool>())
        .prop_filter("a large array", |(axes, _)| {
            axes.iter().map(|axis| axis.0).product::<u64>() < 60_000
        })
        .prop_flat_map(|(axes, fortran)| {
            let order: Vec<usize> = (0..axes.len()).collect();
            (Just(axes), Just(fortran), Just(order).prop_shuffle())
        })
        .prop_map(|(axes, fortran, order)| View {
            dense: axes.iter().map(|axis| axis.0).collect(),
            fortran,
            order,
            slices: axes.iter().map(|axis| axis.1).collect(),
            repeats: axes.iter().map(|axis| axis.2).collect(),
            folded: axes.iter().map(|axis| axis.3).collect(),
        })
}

proptest! {
    #[test]
    fn any_view_along_any_axes(view in views()) {
        let layout = view.layout();
        prop_assume!(layout.len() < 30_000);
        check_types(memory(&view.dense), &layout, &view.folded);
    }
}
