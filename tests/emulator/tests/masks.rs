//! Folds under a mask on the emulator: the CPU's bits, and no fault, in every kernel.

mod second_input;

use warpfold::{
    Plan, View, cpu, fold,
    layout::{Axes, Extents, Layout, Segments},
    ops::{
        All, Any, ArgMax, ArgMinLast, CountNan, CountNonzero, IgnoreNan, LogSumExp, Max, Mean, Min, NormInf, NormL1,
        NormL2, Product, Reduction, SkipsNan, StdDev, Sum, SumOfSquares, TakesMask, Variance, Where, monoids,
        monoids::{Monoid, WhereNumbers},
    },
    plan::Shape,
};
use warpfold_kernels::{
    element::{Element, Float, Masked, bf16, f16},
    kernels::{Kernel, OpParams},
    tree::{leaf_elements, row_elements, vector_elements},
};

use second_input::{Of, bits, emulated};

/// Small numbers, of which 251 come in turns, and whether each is selected: a few of them, or most, or all but one.
fn array<T: Element>(len: usize, seed: usize, of: impl Fn(u8) -> T) -> (Vec<T>, Vec<u8>) {
    let number = |i: usize| of(((i * 7 + 31 * seed) % 251) as u8);
    let truth = |i: usize| match seed % 3 {
        // Whatever is not 0 selects.
        0 => u8::from(i % 89 == 3) * 128,
        1 => u8::from(!(i * 3 + seed).is_multiple_of(5)) << (i % 8),
        _ => u8::from(i != len / 2),
    };
    ((0..len).map(number).collect(), (0..len).map(truth).collect())
}

/// Whole arrays about every edge, in the kernel for few tiles and in that for many, array and mask aligned differently.
fn whole<T: Element, Op: TakesMask, M: Monoid<Masked<T>> + Sync>(op: Op, monoid: M, of: impl Fn(u8) -> T)
where
    Where<Op>: Reduction<Masked<T>>,
{
    let (vector, row, leaf) = (vector_elements::<T>(), row_elements::<T>(), leaf_elements::<T>());
    let lens = [
        1,
        vector + 1,
        row - 1,
        leaf - 1,
        leaf,
        leaf + 1,
        5 * leaf + row + 3,
        9 * leaf,
    ];
    for (i, len) in lens.into_iter().enumerate() {
        let (values, mask) = array(len, i, &of);
        let expected = vec![bits(fold(op).masked(&mask).on_cpu(&values).expect("one length"))];
        let state = vec![bits(fold(op).masked(&mask).state_on_cpu(&values).expect("one length"))];
        let shape = Shape {
            warps: 2,
            leaves_per_warp: 2,
            blocks: 3,
        };
        let tuned = Plan::new(Where(op).entry(), len as u64);
        let many = Plan::with_shape(Where(op).entry(), len as u64, shape).expect("legal");
        assert!(tuned.entry.kernel == Kernel::Small && many.entry.kernel == Kernel::All);
        for plan in [tuned, many] {
            for misaligned in [[0, 0], [0, 1], [1, 0], [i % vector, (i + 3) % 16], [vector - 1, 15]] {
                let emulated =
                    emulated::<Masked<T>, _, _>(monoid, (&values, &mask), &plan, &Of::Whole, misaligned, i as u64);
                assert_eq!(emulated.answers, expected, "{plan}, misaligned by {misaligned:?}");
                assert_eq!(emulated.states, state, "{plan}, misaligned by {misaligned:?}");
            }
        }
    }
}

/// Rows, long rows, columns, middle axes, and a mask that is broadcast, reversed or transposed.
fn along<T: Element, Op: TakesMask, M: Monoid<Masked<T>> + Sync>(op: Op, monoid: M, of: impl Fn(u8) -> T) -> Vec<Kernel>
where
    Where<Op>: Reduction<Masked<T>>,
{
    let leaf = leaf_elements::<T>() as u64;
    let c = |shape: &[u64]| Layout::c_order(shape).expect("small");
    let mut kernels = vec![];
    let mut check = |layout: &Layout, mask_layout: &Layout, axis: i64, misaligned: [usize; 2]| {
        let room = |layout: &Layout| layout.reach().expect("elements").1 as usize;
        let values = array(room(layout), 3, &of).0;
        let mask = array(room(mask_layout), kernels.len(), &of).1;
        let axes = Axes::of(&[axis]);
        let expected = fold(op)
            .along(axes.clone())
            .masked(View::new(&mask, mask_layout).expect("in the array"))
            .on_cpu(View::new(&values, layout).expect("in the array"))
            .expect("one shape");
        let expected: Vec<_> = expected.answers.into_iter().map(bits).collect();
        let extents = Extents::of_masked(layout, mask_layout, &axes).expect("one shape");
        let plan = Plan::along_all(Where(op).entry(), &extents).expect("few blocks");
        kernels.push(plan.entry.kernel);
        let of = Of::Along(&extents);
        let emulated = emulated::<Masked<T>, _, _>(monoid, (&values, &mask), &plan, &of, misaligned, 7);
        assert_eq!(emulated.answers, expected, "{plan}: {layout:?}, {mask_layout:?}");
    };
    // A mask of each row and one for all: rows of a few lanes' width, of more than a row, of more than a leaf; and of odd length.
    for columns in [1, 5, 16, 64, 768, leaf + 40] {
        let rows = if columns > leaf { 3 } else { 9 };
        let matrix = c(&[rows, columns]);
        check(&matrix, &matrix, 1, [0, 0]);
        check(&matrix, &matrix, 1, [1, 0]);
        check(&matrix, &c(&[columns]), 1, [0, 3]);
        check(&matrix, &c(&[rows, 1]), -1, [0, 0]);
    }
    let matrix = c(&[37, 12]);
    check(&matrix, &matrix, 0, [0, 0]);
    check(&matrix, &c(&[12, 37]).transposed(&[1, 0]).expect("a matrix"), 0, [0, 0]);
    check(&matrix, &c(&[37, 1]), 0, [0, 1]);
    check(&matrix, &matrix.sliced(1, 11, 12, -1).expect("reversed"), 1, [0, 0]);
    // As many answers as a warp has lanes, side by side: small elements share words without a mask.
    let wide = c(&[20, 64]);
    check(&wide, &wide, 0, [0, 0]);
    check(&wide, &c(&[64]), 0, [0, 1]);
    let cube = c(&[3, 40, 5]);
    check(&cube, &cube, 1, [0, 0]);
    check(&cube, &c(&[40, 1]), 1, [0, 0]);
    check(&cube, &Layout::fortran_order(&[3, 40, 5]).expect("small"), 0, [1, 0]);
    // Kept and folded are several axes each, which no one stride describes.
    let block = c(&[6, 5, 4]).transposed(&[2, 0, 1]).expect("a block");
    check(&block, &c(&[4, 1, 5]), 1, [0, 0]);
    kernels
}

/// Segments of all sizes, one after the other and lying apart.
fn segments<T: Element, Op: TakesMask, M: Monoid<Masked<T>> + Sync>(op: Op, monoid: M, of: impl Fn(u8) -> T)
where
    Where<Op>: Reduction<Masked<T>>,
{
    let leaf = leaf_elements::<T>() as u64;
    let vector = vector_elements::<T>() as u64;
    let ragged = [1, vector, 3, 2 * vector, leaf, 17, 2 * leaf + 5, 40 * leaf + 1, 9];
    for (i, lens) in [ragged.to_vec(), vec![vector; 70], vec![8 * vector; 9]]
        .into_iter()
        .enumerate()
    {
        let segments = Segments::by_lens(lens).expect("few");
        let (values, mask) = array(segments.len() as usize, i, &of);
        let expected = fold(op)
            .segments(segments.clone())
            .masked(&mask)
            .on_cpu(&values)
            .expect("one length");
        let expected: Vec<_> = expected.into_iter().map(bits).collect();
        let plan = Plan::segments(Where(op).entry(), segments.len(), segments.count() as u64).expect("few blocks");
        for (misaligned, of) in [
            ([0, 0], Of::Segments(&segments)),
            ([0, 1], Of::Segments(&segments)),
            ([0, 0], Of::Apart(&segments)),
        ] {
            let arrays = (&values[..], &mask[..]);
            let emulated = emulated::<Masked<T>, _, _>(monoid, arrays, &plan, &of, misaligned, i as u64);
            assert_eq!(emulated.answers, expected, "{plan}");
        }
    }
}

/// What is folded where NaN is left out, without a mask: in every kernel, of the array alone.
fn numbers<T: Float, Op>(op: Op, of: impl Fn(u8) -> T)
where
    Op: SkipsNan + Reduction<T>,
    Op::Counted: Monoid<T, Answer = <Op as Reduction<T>>::Answer, State: Send + Sync + 'static>,
{
    let monoid = WhereNumbers::of_params(
        op.counted(T::TYPE),
        OpParams {
            numbers_only: true,
            ..OpParams::default()
        },
    );
    let check = |plan: &Plan, values: &[T], launched: &Of<'_>, misaligned: usize, expected: &[Vec<u32>]| {
        let arrays = (values, &[][..] as &[u8]);
        let emulated = emulated::<Masked<T>, _, _>(monoid, arrays, plan, launched, [misaligned, 0], 5);
        assert_eq!(emulated.answers, expected, "{plan}, misaligned by {misaligned}");
    };
    let (vector, leaf) = (vector_elements::<T>(), leaf_elements::<T>());
    for len in [1, vector + 1, leaf, 5 * leaf + 3] {
        let values = array(len, len, &of).0;
        let expected = bits(cpu::reduce(IgnoreNan(op), &values).expect("elements"));
        let plan = Plan::new(Reduction::<T>::entry(IgnoreNan(op)), len as u64);
        for misaligned in [0, 1 % vector] {
            check(&plan, &values, &Of::Whole, misaligned, std::slice::from_ref(&expected));
        }
    }
    let block = Layout::c_order(&[6, 5, 4]).expect("small");
    let block = block.transposed(&[2, 0, 1]).expect("a block");
    let matrix = |rows: u64, columns: u64| Layout::c_order(&[rows, columns]).expect("small");
    for (layout, axis) in [
        (matrix(9, 16), 1),
        (matrix(9, 5), 1),
        (matrix(3, leaf as u64 + 40), 1),
        (matrix(37, 12), 0),
        (block, 1),
    ] {
        let values = array(layout.reach().expect("elements").1 as usize, 4, &of).0;
        let axes = Axes::of(&[axis]);
        let folded = cpu::reduce_axes(IgnoreNan(op), &values, &layout, &axes).expect("a shape");
        let expected: Vec<_> = folded.answers.into_iter().map(bits).collect();
        // A mask that there is not has the array's layout.
        let extents = Extents::new(&layout, &axes).expect("an axis");
        let plan = Plan::along(Reduction::<T>::entry(IgnoreNan(op)), &extents).expect("few blocks");
        check(&plan, &values, &Of::Along(&[extents.clone(), extents]), 0, &expected);
    }
    let lens = [1, vector as u64, 3, leaf as u64, 17, 40 * leaf as u64 + 1, 9];
    let segments = Segments::by_lens(lens).expect("few");
    let values = array(segments.len() as usize, 7, &of).0;
    let folded = cpu::reduce_segments(IgnoreNan(op), &values, &segments).expect("one length");
    let expected: Vec<_> = folded.into_iter().map(bits).collect();
    let entry = Reduction::<T>::entry(IgnoreNan(op));
    let plan = Plan::segments(entry, segments.len(), segments.count() as u64).expect("few blocks");
    check(&plan, &values, &Of::Segments(&segments), 1 % vector, &expected);
    check(&plan, &values, &Of::Apart(&segments), 0, &expected);
}

#[test]
fn numbers_alone_without_a_mask() {
    numbers::<f32, _>(Sum, float);
    numbers::<f64, _>(Variance { correction: 0.0 }, |byte| float(byte).into());
    numbers::<bf16, _>(ArgMax, |byte| {
        bf16::from_bits(if byte == 131 { 0x7fc0 } else { 0x3f80 + u16::from(byte) })
    });
    numbers::<f16, _>(Mean, |byte| {
        f16::from_bits(if byte == 131 { 0x7e00 } else { 0x3c00 + u16::from(byte) })
    });
}

/// Each of its own test, so that they run side by side.
macro_rules! each {
    ($($how:ident: { $($name:ident: $op:expr, $of:expr;)* })*) => {
        $($(mod $name {
            use super::*;

            #[test]
            fn whole_arrays() {
                whole($op, $how($op, $of), $of);
            }
            #[test]
            fn along_axes() {
                let kernels = along($op, $how($op, $of), $of);
                for kernel in [Kernel::All, Kernel::Rows, Kernel::Strided] {
                    assert!(kernels.contains(&kernel), "{kernel:?} is not tried");
                }
            }
            #[test]
            fn in_segments() {
                segments($op, $how($op, $of), $of);
            }
        })*)*
    };
}

/// What GPUs fold of floats: they are passed whether NaN is left out, too.
fn floats<T: Float, Op: TakesMask>(op: Op, _: impl Fn(u8) -> T) -> WhereNumbers<Op::Counted> {
    WhereNumbers::of_params(op.counted(T::TYPE), OpParams::default())
}

/// What GPUs fold of integers, and of bits.
fn bits_of<T: Element, Op: TakesMask>(op: Op, _: impl Fn(u8) -> T) -> monoids::Where<Op::Counted> {
    monoids::Where(op.counted(T::TYPE))
}

/// Some of them NaN, which a mask mostly hides.
fn float(byte: u8) -> f32 {
    if byte == 131 {
        f32::NAN
    } else {
        f32::from(byte) * 0.37 - 40.0
    }
}

each! {
    floats: {
        sum_f32: Sum, float;
        sum_f64: Sum, |byte| f64::from(byte) * 0.37 - 40.0;
        mean_f16: Mean, |byte| f16::from_bits(0x3c00 + u16::from(byte));
        max_bf16: Max, |byte| bf16::from_bits(0x3f80 + u16::from(byte));
        min_f32: Min, float;
        argmax_f32: ArgMax, float;
        argmin_last_f64: ArgMinLast, f64::from;
        std_dev_f32: StdDev::default(), float;
        variance_f64: Variance { correction: 0.0 }, f64::from;
        variance_f16: Variance { correction: 1.0 }, |byte| f16::from_bits(0x3c00 + u16::from(byte));
        product_f32: Product, |byte| 1.0 + f32::from(byte) * 1e-4;
        product_bf16: Product, |byte| bf16::from_bits(0x3f80 + u16::from(byte % 3));
        norm_l1_f32: NormL1, float;
        norm_l1_f16: NormL1, |byte| f16::from_bits(0xbc00 + u16::from(byte));
        norm_l2_f32: NormL2, float;
        sum_of_squares_bf16: SumOfSquares, |byte| bf16::from_bits(0x3f80 + u16::from(byte));
        norm_inf_f64: NormInf, |byte| 40.0 - f64::from(byte);
        norm_inf_f16: NormInf, |byte| f16::from_bits(0xbc00 + u16::from(byte));
        log_sum_exp_f32: LogSumExp, float;
        log_sum_exp_bf16: LogSumExp, |byte| bf16::from_bits(0x3f80 + u16::from(byte));
    }
    bits_of: {
        sum_u8: Sum, |byte| byte;
        sum_i8: Sum, |byte| byte as i8;
        sum_u16: Sum, |byte| u16::from(byte) * 257;
        count_nonzero_f32: CountNonzero, |byte| f32::from(byte % 3);
        count_nan_f16: CountNan, |byte| f16::from_bits(if byte % 5 == 1 { 0x7e01 } else { u16::from(byte) });
        count_nonzero_u8: CountNonzero, |byte| byte % 3;
        any_bool: Any, |byte| byte == 7;
        all_i32: All, |byte| i32::from(byte) - 3;
        all_f64: All, |byte| f64::from(byte) - 3.0;
        max_i8: Max, |byte| byte as i8;
        min_u64: Min, |byte| u64::from(byte) << 56;
        max_bool: Max, |byte| byte == 7;
    }
}
