//! The operators themselves, in the emulator: parts that are read a word at a time, leaves that cannot matter and are skipped, parts of
//! segments that are folded in turn, columns whose elements lie apart. Other tests have the emulator's kernels ask an operator by name, whose parts are its own.

use warpfold::{
    Plan, cpu,
    layout::{Axes, Extents, Layout, Segments},
    ops::{
        ArgMax, ArgMaxLast, ArgMin, ArgMinLast, ArgMinMax, Describe, Exact, LogSumExp, Max, Mean, MeanVariance, Min,
        MinMax, Reduction, StdDev, Sum,
        element::{Element, bf16, f8e4m3, f8e5m2, f16},
    },
    plan::Shape,
};
use warpfold_kernels::tree::{leaf_elements, row_elements, vector_elements};
use warpfold_tests::{Bits, backends};

/// The bits of element `i`.
type Array = Box<dyn Fn(usize) -> u64>;

/// Arrays of numbers from 0x10 to 0x2f as bits, which are finite and positive in each type, and of what makes a difference; leaves being
/// of `leaf` elements.
fn arrays(leaf: usize, bits: u32) -> Vec<(&'static str, Array)> {
    let plain = |i: usize| (i.wrapping_mul(2_654_435_761) >> 7) as u64 % 32 + 16;
    let sign = 1 << (bits - 1);
    let late = move |i: usize, of: u64| {
        if i == 6 * leaf + 77 || i == 7 * leaf + 5 {
            of
        } else {
            plain(i)
        }
    };
    vec![
        ("plain", Box::new(plain)),
        ("a large one late, and once more", Box::new(move |i| late(i, 0x31))),
        ("a small one late, and once more", Box::new(move |i| late(i, 0x0f))),
        ("one with the other sign late", Box::new(move |i| late(i, sign | 3))),
        ("a NaN late, or the largest", Box::new(move |i| late(i, sign - 1))),
        (
            "zeros of both signs",
            Box::new(move |i| if i % 5 == 2 { sign } else { 0 }),
        ),
        ("rising", Box::new(move |i| (4 * i / leaf) as u64)),
        (
            "falling",
            Box::new(move |i| u64::saturating_sub(120, (4 * i / leaf) as u64)),
        ),
        ("one value", Box::new(|_| 17)),
        ("zeros below", Box::new(move |_| sign)),
    ]
}

fn values<T: Element>(len: usize, bits: &Array) -> Vec<T> {
    (0..len).map(|i| T::from_bits(bits(i))).collect()
}

/// Whole arrays of leaves that one warp folds one after the other, aligned or not, and part of another.
fn in_an_array<T: Element, R: Reduction<T>>(op: R) {
    let leaf = leaf_elements::<T>();
    for (name, bits) in arrays(leaf, 8 * size_of::<T>() as u32) {
        for len in [9 * leaf, 8 * leaf + 9] {
            let values: Vec<T> = values(len, &bits);
            let shape = backends::fit(
                op,
                Shape {
                    warps: 1,
                    leaves_per_warp: 4,
                    blocks: 1,
                },
            );
            let plan = Plan::with_shape(op.entry(), len as u64, shape).expect("a legal shape");
            for misalign in [0, 1] {
                let emulated = backends::emulator(op, &values, &plan, misalign, 1).expect("elements");
                let expected = Bits::of(cpu::reduce(op, &values).expect("elements"));
                assert_eq!(emulated.answer, expected, "{}, {name}, {plan}, {misalign} off", R::NAME);
            }
        }
    }
}

/// Segments of every way that they are folded in, which lie one after the other: so those of several leaves begin anywhere.
fn in_segments<T: Element, R: Reduction<T>>(op: R) {
    let (vector, leaf) = (vector_elements::<T>(), leaf_elements::<T>());
    let one = [
        3,
        vector,
        2 * vector + 1,
        4 * vector,
        7 * vector,
        15 * vector + 3,
        31 * vector,
        40 * vector + 1,
    ];
    let many = [
        3 * leaf / 8 + 1,
        leaf / 2,
        leaf / 2 + 1,
        leaf - 1,
        9 * leaf + 7,
        leaf,
        3 * leaf,
    ];
    let lens = one.into_iter().chain(many).chain([5; 40]).chain(one).chain([1]);
    let segments = Segments::by_lens(lens.map(|len| len as u64)).expect("few");
    for (name, bits) in arrays(leaf, 8 * size_of::<T>() as u32) {
        let values: Vec<T> = values(segments.len() as usize, &bits);
        let plan = Plan::segments(op.entry(), segments.len(), segments.count() as u64).expect("few blocks");
        for (apart, seed, leaves) in [
            (false, 0, 1),
            (false, 1, plan.entry.strategy.most_leaves_of_segments()),
            (true, 1, 2),
        ] {
            let plan = backends::in_tiles(plan, leaves);
            let (answers, _) = backends::emulator_segments(op.monoid(), &values, &plan, &segments, apart, seed);
            for (i, answer) in answers.into_iter().enumerate() {
                let range = segments.get(i);
                let alone = cpu::reduce(op, &values[range.start as usize..range.end as usize]).expect("elements");
                let what = || format!("{}, {name}, segment {i}, {range:?}, {apart}, {seed}, {plan}", R::NAME);
                assert_eq!(Bits::of(answer), Bits::of(alone), "{}", what());
            }
        }
    }
}

/// Rows and columns, of a leaf's rows all, some of them, half, and some with a part of another.
fn along_axes<T: Element, R: Reduction<T>>(op: R) {
    let (vector, row, leaf) = (vector_elements::<T>(), row_elements::<T>(), leaf_elements::<T>());
    let lens = [
        vector - 1,
        2 * row,
        leaf / 2,
        leaf / 2 + 3 * vector,
        6 * row + 5,
        leaf + row + 1,
        2 * leaf,
    ];
    for (i, (name, bits)) in arrays(leaf / 8, 8 * size_of::<T>() as u32).into_iter().enumerate() {
        // Two of each, in turns: of an odd number of columns, of one that words divide, and more of them than a warp's lanes.
        for (len, others) in [
            (lens[i % 7], [3, 36, 33][i % 3]),
            (lens[(3 * i + 4) % 7], [36, 5, 4][i % 3]),
        ] {
            let values: Vec<T> = values(len * others, &bits);
            for (shape, axis) in [([len, others], 0), ([others, len], 1)] {
                let layout = Layout::c_order(&shape.map(|len| len as u64)).expect("small");
                let axes = Axes::of(&[axis]);
                let extents = Extents::new(&layout, &axes).expect("an axis");
                let plan = Plan::along(op.entry(), &extents).expect("few blocks");
                let answers = backends::emulator_along(op.monoid(), &values, &plan, &extents, i % 2, i as u64).0;
                let expected = cpu::reduce_axes(op, &values, &layout, &axes).expect("elements");
                let bits = |answers: Vec<R::Answer>| answers.into_iter().map(Bits::of).collect::<Vec<_>>();
                assert_eq!(bits(answers), bits(expected.answers), "{}, {name}, {plan}", R::NAME);
            }
        }
    }
}

fn everywhere<T: Element, R: Reduction<T>>(op: R) {
    in_an_array(op);
    in_segments(op);
    along_axes(op);
}

macro_rules! tests {
    ($($name:ident { $($ty:ty => $($op:expr),+);+ })*) => {$(
        #[test]
        fn $name() {
            $($(everywhere::<$ty, _>($op);)+)+
        }
    )*};
}

// One of each kind: every kernel of every one would take long to compile.
tests! {
    selecting_bytes { u8 => ArgMinLast; i8 => Max }
    selecting_shorts { i16 => ArgMax; u16 => Min }
    selecting_halves { bf16 => Max, ArgMax }
    selecting_fp8 { f8e4m3 => ArgMin; f8e5m2 => Min }
    both_ends { u8 => MinMax; u16 => ArgMinMax }
    selecting_singles { f32 => ArgMaxLast }
    summing_halves { bf16 => Sum, LogSumExp }
    summing_others { f32 => Sum, LogSumExp; u8 => Sum }
    columns_of_halves { f16 => StdDev::default() }
    descriptions { f32 => Describe::default(); f64 => Describe { correction: 0.0 } }
    exact_sums { f32 => Exact(Sum), Exact(Mean); f64 => Exact(Sum), Exact(Mean) }
    columns_of_doubles { f64 => MeanVariance::default() }
}
