//! Folds of two arrays on the emulator: the CPU's bits, and no fault, in every kernel.

mod second_input;

use warpfold::{
    Plan, View, fold,
    layout::{Axes, Extents, Layout, Segments},
    ops::{Cosine, Dot, Reduction},
    plan::Shape,
};
use warpfold_kernels::{
    element::{Float, Two, bf16, f16},
    kernels::Kernel,
    tree::{leaf_elements, row_elements, vector_elements},
};

use second_input::{Of, bits, emulated};

/// Numbers of either sign and of many sizes, the same ones for the same seed; their cycle is prime, so that swapped tiles show.
fn numbers<T: Float>(len: usize, seed: usize) -> Vec<T> {
    let number = |i: usize| {
        let cycle = ((i + 31 * seed) % 251) as f64;
        let sign = if (i + seed).is_multiple_of(3) { -1.0 } else { 1.0 };
        T::from_f64(sign * (cycle * 0.37 + 0.01) * if i % 83 == seed % 83 { 64.0 } else { 1.0 })
    };
    (0..len).map(number).collect()
}

/// Whole arrays about every edge, in the kernel for few tiles and in that for many, the two arrays aligned differently.
fn whole<T: Float, R: Reduction<Two<T>>>(op: R) {
    let (vector, row, leaf) = (vector_elements::<T>(), row_elements::<T>(), leaf_elements::<T>());
    let lens = [
        1,
        vector + 1,
        row - 1,
        leaf - 1,
        leaf,
        leaf + 1,
        5 * leaf + row + 3,
        19 * leaf,
    ];
    for (i, len) in lens.into_iter().enumerate() {
        let (a, b) = (numbers::<T>(len, 1), numbers::<T>(len, 2));
        let expected = vec![bits(fold(op).on_cpu((&a, &b)).expect("one length"))];
        let state = vec![bits(fold(op).state_on_cpu((&a, &b)).expect("one length"))];
        let shape = Shape {
            warps: 2,
            leaves_per_warp: 2,
            blocks: 3,
        };
        let tuned = Plan::new(op.entry(), len as u64);
        let many = Plan::with_shape(op.entry(), len as u64, shape).expect("legal");
        assert!(tuned.entry.kernel == Kernel::All && many.entry.kernel == Kernel::All);
        for plan in [tuned, many] {
            for misaligned in [[0, 0], [0, 1], [i % vector, (i + 1) % vector], [vector - 1, vector - 1]] {
                let emulated = emulated::<Two<T>, _, _>(op.monoid(), (&a, &b), &plan, &Of::Whole, misaligned, i as u64);
                assert_eq!(emulated.answers, expected, "{plan}, misaligned by {misaligned:?}");
                assert_eq!(emulated.states, state, "{plan}, misaligned by {misaligned:?}");
            }
        }
    }
}

/// Rows, long rows, columns, middle axes, and a second array that is repeated, reversed or transposed.
fn along<T: Float, R: Reduction<Two<T>>>(op: R) -> Vec<Kernel> {
    let leaf = leaf_elements::<T>() as u64;
    let c = |shape: &[u64]| Layout::c_order(shape).expect("small");
    let mut kernels = vec![];
    let mut check = |first: &Layout, second: &Layout, axis: i64, misaligned: [usize; 2]| {
        let room = |layout: &Layout| layout.reach().expect("elements").1 as usize;
        let (a, b) = (numbers::<T>(room(first), 3), numbers::<T>(room(second), 4));
        let axes = Axes::of(&[axis]);
        let expected = fold(op)
            .along(axes.clone())
            .on_cpu((
                View::new(&a, first).expect("in the array"),
                View::new(&b, second).expect("in the array"),
            ))
            .expect("one shape");
        let expected: Vec<_> = expected.answers.into_iter().map(bits).collect();
        let extents = Extents::of_pair(first, second, &axes).expect("one shape");
        let plan = Plan::along_all(op.entry(), &extents).expect("few blocks");
        kernels.push(plan.entry.kernel);
        let emulated = emulated::<Two<T>, _, _>(op.monoid(), (&a, &b), &plan, &Of::Along(&extents), misaligned, 7);
        assert_eq!(emulated.answers, expected, "{plan}: {first:?}, {second:?}");
    };
    // A query against rows: of a few lanes' width, of more than a row, of more than a leaf; and of odd length.
    for columns in [1, 5, 16, 64, 768, leaf + 40] {
        let rows = if columns > leaf { 3 } else { 9 };
        let query = c(&[columns]).broadcast(&[rows, columns]).expect("it repeats");
        check(&c(&[rows, columns]), &query, 1, [0, 0]);
        check(&c(&[rows, columns]), &query, 1, [1, 0]);
        check(&query, &c(&[rows, columns]), -1, [0, 1]);
    }
    let matrix = c(&[37, 12]);
    check(&matrix, &matrix, 0, [0, 0]);
    check(&matrix, &c(&[12, 37]).transposed(&[1, 0]).expect("a matrix"), 0, [0, 0]);
    check(
        &matrix,
        &c(&[37, 1]).broadcast(&[37, 12]).expect("it repeats"),
        0,
        [0, 0],
    );
    check(&matrix, &matrix.sliced(1, 11, 12, -1).expect("reversed"), 1, [0, 0]);
    // As many answers as a warp has lanes, side by side: small elements share words; and in one array alone.
    let wide = c(&[20, 64]);
    check(&wide, &wide, 0, [0, 0]);
    check(&wide, &wide, 0, [0, 1]);
    check(&wide, &c(&[20, 1]).broadcast(&[20, 64]).expect("it repeats"), 0, [0, 0]);
    let cube = c(&[3, 40, 5]);
    check(&cube, &cube, 1, [0, 0]);
    check(
        &cube,
        &c(&[40, 1]).broadcast(&[3, 40, 5]).expect("it repeats"),
        1,
        [0, 0],
    );
    check(&cube, &Layout::fortran_order(&[3, 40, 5]).expect("small"), 0, [1, 0]);
    kernels
}

/// Segments of all sizes, one after the other and lying apart.
fn segments<T: Float, R: Reduction<Two<T>>>(op: R) {
    let leaf = leaf_elements::<T>() as u64;
    let vector = vector_elements::<T>() as u64;
    let ragged = [0, 1, vector, 3, 2 * vector, leaf, 17, 0, 2 * leaf + 5, 40 * leaf + 1, 9];
    for (i, lens) in [ragged.to_vec(), vec![vector; 70], vec![8 * vector; 9]]
        .into_iter()
        .enumerate()
    {
        let segments = Segments::by_lens(lens).expect("few");
        let len = segments.len() as usize;
        let (a, b) = (numbers::<T>(len, 5), numbers::<T>(len, 6));
        let expected = fold(op)
            .segments(segments.clone())
            .on_cpu((&a, &b))
            .expect("one length");
        let expected: Vec<_> = expected.into_iter().map(bits).collect();
        let plan = Plan::segments(op.entry(), segments.len(), segments.count() as u64).expect("few blocks");
        for (misaligned, of) in [
            ([0, 0], Of::Segments(&segments)),
            ([0, 1], Of::Segments(&segments)),
            ([0, 0], Of::Apart(&segments)),
        ] {
            let emulated = emulated::<Two<T>, _, _>(op.monoid(), (&a, &b), &plan, &of, misaligned, i as u64);
            assert_eq!(emulated.answers, expected, "{plan}");
            for (segment, state) in emulated
                .states
                .into_iter()
                .enumerate()
                .filter(|(i, _)| !segments.get(*i).is_empty())
            {
                let elements = segments.get(segment);
                let elements = elements.start as usize..elements.end as usize;
                let expected = fold(op)
                    .state_on_cpu((&a[elements.clone()], &b[elements]))
                    .expect("one length");
                assert_eq!(state, bits(expected), "{plan}, segment {segment}");
            }
        }
    }
}

/// Each of its own test, so that they run side by side.
macro_rules! each {
    ($($name:ident: $op:expr, $element:ty;)*) => {
        $(mod $name {
            use super::*;

            #[test]
            fn whole_arrays() {
                whole::<$element, _>($op);
            }
            #[test]
            fn along_axes() {
                let kernels = along::<$element, _>($op);
                for kernel in [Kernel::All, Kernel::Rows, Kernel::Strided] {
                    assert!(kernels.contains(&kernel), "{kernel:?} is not tried");
                }
            }
            #[test]
            fn in_segments() {
                segments::<$element, _>($op);
            }
        })*
    };
}

each! {
    dot_f32: Dot, f32;
    dot_f64: Dot, f64;
    dot_f16: Dot, f16;
    dot_bf16: Dot, bf16;
    cosine_f32: Cosine, f32;
    cosine_f64: Cosine, f64;
    cosine_f16: Cosine, f16;
}
