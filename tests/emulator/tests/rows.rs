//! Rows of at most a leaf: the warp that takes 4 KiB of them at once, at every edge, and what falls back to the code for any extents.

use std::ptr;

use warpfold::{
    Plan, cpu,
    layout::{Axes, Extents, Layout},
    ops::{self, Reduction},
};
use warpfold_emulator::{Counts, Lane, Launch, Memory, launch, launch_traced};
use warpfold_kernels::{
    element::{Element, Float, Type, bf16, complex64, f16},
    kernels::{
        self, Arguments, Array, Kernel,
        rows::{Width, reduce_rows},
    },
    monoids::Words,
    stages::load::{around::Around, rows::Tiling},
    tree::VECTOR_BYTES,
};

/// Vectors of a row: each power of two, one to each side, and some between.
const VECTORS: [u64; 23] = [
    1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 25, 31, 32, 33, 48, 64, 65, 96, 127, 128, 129, 256,
];

/// How rows lie.
#[derive(Clone, Copy, Debug)]
enum Lie {
    /// One after the other.
    Dense,
    /// The same, one element past a vector's boundary.
    Misaligned,
    /// A vector apart.
    VectorApart,
    /// An element apart.
    ElementApart,
    /// A vector apart, the last first.
    Reversed,
    /// Of a block of rows each, as of a matrix of matrices.
    Blocks,
    /// Each the same.
    Broadcast,
    /// An element shorter than whole vectors.
    Short,
}

impl Lie {
    const ALL: [Self; 8] = [
        Self::Dense,
        Self::Misaligned,
        Self::VectorApart,
        Self::ElementApart,
        Self::Reversed,
        Self::Blocks,
        Self::Broadcast,
        Self::Short,
    ];

    /// Of `rows` rows of `len` elements, a vector having `vector`.
    fn layout(self, rows: u64, len: u64, vector: u64) -> Layout {
        let of = |stride: i64, offset: u64| Layout::strided(&[rows, len], &[stride, 1], offset);
        let (dense, apart) = (len as i64, (len + vector) as i64);
        let layout = match self {
            Self::Dense | Self::Misaligned | Self::Short => of(dense, 0),
            Self::VectorApart => of(apart, vector),
            Self::ElementApart => of(dense + 1, 0),
            Self::Reversed => of(-apart, apart as u64 * (rows - 1)),
            Self::Blocks => Layout::strided(&[rows, 2, len], &[3 * apart, apart, 1], 0),
            Self::Broadcast => of(0, vector),
        };
        layout.expect("small")
    }

    /// Whether the plan has a warp take 4 KiB.
    fn is_planned(self) -> bool {
        !matches!(self, Self::ElementApart | Self::Blocks | Self::Short)
    }
}

/// Kinds of arrays: of different numbers, of few and so of many ties, with a NaN here and there, of numbers far apart, large and infinite, and of zeros of both signs.
const KINDS: usize = 5;

/// An element of a kind, by its number in the array.
fn element<T: Element>(kind: usize, i: usize) -> T {
    let hash = (i as u32).wrapping_mul(2_654_435_761);
    let hash = hash ^ hash >> 15;
    let few = (hash >> 7) % 5;
    let of = |number: f64| match T::TYPE {
        Type::F32 => u64::from((number as f32).to_bits()),
        Type::F64 => number.to_bits(),
        Type::F16 => u64::from(<f16 as Float>::from_f64(number).to_bits()),
        Type::Bf16 => u64::from(<bf16 as Float>::from_f64(number).to_bits()),
        Type::Complex64 => u64::from((number as f32).to_bits()) | u64::from((-number as f32).to_bits()) << 32,
        _ => (number * 40.0) as i64 as u64,
    };
    T::from_bits(of(match kind {
        0 => f64::from(hash & 0xffff) / 16384.0 - 2.0,
        1 => f64::from(few) - 2.0,
        3 => match hash >> 8 & 1023 {
            0 => f64::INFINITY,
            1 => -1e9,
            2 => 3e6,
            3..=200 => f64::NEG_INFINITY,
            _ => -f64::from(hash & 0xff),
        },
        4 => [0.0, -0.0, -1.0][few as usize % 3],
        _ if hash.is_multiple_of(97) => f64::NAN,
        _ => f64::from(hash & 0xff) / 64.0 - 2.0,
    }))
}

/// The answers of the rows' kernel, and, if it is to be counted, what its lanes did; the first element `misaligned` elements past a boundary of 16 bytes.
fn emulated<T: Element, R: Reduction<T>>(
    op: R,
    values: &[T],
    plan: &Plan,
    along: &Extents,
    misaligned: usize,
    seed: u64,
    is_counted: bool,
) -> (Vec<R::Answer>, Counts) {
    let mut memory = Memory::new();
    let start = memory.input("input", values, misaligned);
    let (count, words) = (plan.count as usize, R::Answer::COUNT);
    let answer = memory.packed("answer", count * words, R::Answer::UNIT);
    let layout = if along.has_several() {
        memory.input("layout", &along.dimensions(), 0)
    } else {
        ptr::null()
    };
    let array = Array {
        start: start.wrapping_add(along.offset as usize).cast(),
        stride: along.stride(),
        step: along.stride_within(),
        around: Around(start.addr(), start.addr() + size_of_val(values)),
    };
    let passed = kernels::Launch {
        arrays: [array, Array::NONE],
        layout,
        answer: answer.start().cast(),
        ..plan.launch()
    };
    // SAFETY: the buffers are as the kernel wants them, and the emulator checks every access.
    let arguments: Arguments<T> = unsafe { passed.arguments() };
    let monoid = op.monoid();
    let config = Launch::new(plan.shape.blocks, plan.threads(), seed);
    let kernel = |lane: Lane<'_>| reduce_rows(lane, monoid, arguments);
    let ran = if is_counted {
        launch_traced(&config, &mut memory, kernel).map(|(_, events)| Counts::of(&events))
    } else {
        launch(&config, &mut memory, kernel).map(|_| Counts::default())
    };
    let counts = ran.unwrap_or_else(|fault| panic!("{plan}, misaligned by {misaligned}, seed {seed}: {fault}"));
    let word = |at| memory.word(answer, at).expect("every answer is written");
    let answers = (0..count).map(|i| R::Answer::from_words(|at| word(i * words + at)));
    (answers.collect(), counts)
}

/// The words of answers, to be compared.
fn bits<W: Words>(answers: Vec<W>) -> Vec<Vec<u32>> {
    let words = |answer: W| (0..W::COUNT).map(|i| answer.word(i)).collect();
    answers.into_iter().map(words).collect()
}

/// The emulator's kernel against the CPU, which folds each row by other code.
fn agrees<T: Element, R: Reduction<T>>(op: R, vectors: u64, lie: Lie, number: usize) {
    let vector = (VECTOR_BYTES / size_of::<T>()) as u64;
    let len = vectors * vector - u64::from(matches!(lie, Lie::Short));
    let tiling = Tiling::of(vectors as u32);
    let a_warp = u64::from(tiling.rows());
    let rows = [
        2,
        a_warp,
        a_warp + 1,
        2 * a_warp + 3,
        a_warp.max(3) - 1,
        5,
        1 + 4 * a_warp,
    ][number % 7];
    if len == 0 || rows == 1 {
        return;
    }
    let layout = lie.layout(rows, len, vector);
    let reach = layout.shape().iter().zip(layout.strides());
    let held = layout.offset()
        + reach
            .map(|(size, stride)| (size - 1) * stride.max(&0).unsigned_abs())
            .sum::<u64>()
        + 1;
    let values: Vec<T> = (0..held as usize).map(|i| element(number % KINDS, i)).collect();
    let axes = Axes::of(&[-1]);
    let along = Extents::new(&layout, &axes).expect("an axis");
    let plan = Plan::along(op.entry(), &along).expect("few blocks");
    if plan.entry.kernel != Kernel::Rows {
        // Rows of an element that lie in one run of memory, or elements apart.
        assert!(len == 1, "{plan}");
        return;
    }
    let is_planned = lie.is_planned() && plan.entry.strategy.folds_rows_at_once();
    let expected_rows = if is_planned {
        tiling.rows()
    } else {
        Width::of(T::TYPE, len).extents()
    };
    assert_eq!(plan.team.answers, expected_rows, "{plan}, {lie:?}");
    let misaligned = usize::from(matches!(lie, Lie::Misaligned));
    let (answers, _) = emulated(op, &values, &plan, &along, misaligned, number as u64, false);
    let expected = cpu::reduce_axes(op, &values, &layout, &axes).expect("not empty");
    assert_eq!(bits(answers), bits(expected.answers), "{plan}, {lie:?}, {number}");
}

/// Every length, lying in every way, of different numbers of rows and kinds of elements by turns.
fn at_every_edge<T: Element, R: Reduction<T>>(op: R) {
    let mut number = 0;
    for vectors in VECTORS {
        for lie in Lie::ALL {
            agrees::<T, R>(op, vectors, lie, number);
            // Another number of rows, and of other kinds.
            number += 1;
        }
        number += 5;
    }
}

macro_rules! at_every_edge {
    ($($test:ident: [$($element:ty: $op:expr),+ $(,)?];)*) => {
        $(
            #[test]
            fn $test() {
                $(at_every_edge::<$element, _>($op);)+
            }
        )*
    };
}

at_every_edge! {
    sums: [f32: ops::Sum, bf16: ops::Sum, f64: ops::Sum, complex64: ops::Sum];
    exact_sums: [u8: ops::Sum, i32: ops::Sum, u16: ops::CountNonzero];
    means_and_products: [f16: ops::Mean, f32: ops::Product];
    norms: [f32: ops::NormL2, bf16: ops::NormL1];
    extrema: [f32: ops::Max, bf16: ops::Max, i8: ops::Min, f64: ops::Min];
    indices: [f32: ops::ArgMax, bf16: ops::ArgMax, f32: ops::ArgMin, i16: ops::ArgMin, u8: ops::ArgMax];
    indices_of_others: [f16: ops::ArgMin, bf16: ops::ArgMaxLast, f32: ops::ArgMinLast];
    log_sum_exps: [f32: ops::LogSumExp, bf16: ops::LogSumExp, f64: ops::LogSumExp];
    several_words: [f32: ops::MinMax, f32: ops::Compensated(ops::Sum), bf16: ops::Wide(ops::Sum)];
    large_states: [f32: ops::Variance::default(), f64: ops::ArgMax];
}

/// Which code a warp runs shows in how often it shuffles: rows that lie in whole vectors share the steps, and misaligned ones take a step's shuffle each.
#[test]
fn a_warp_of_rows_takes_few_shuffles() {
    for (vectors, at_once, misaligned) in [
        (1, 0, 0),
        (2, 4, 8),
        (3, 6, 16),
        (4, 6, 16),
        (8, 7, 24),
        (16, 8, 32),
        (32, 9, 40),
        (48, 6, 20),
        (64, 6, 20),
        (128, 5, 10),
        (256, 5, 5),
    ] {
        let (len, rows) = (4 * vectors, u64::from(Tiling::of(vectors as u32).rows()));
        for (lie, expected) in [
            (Lie::Dense, at_once),
            (Lie::VectorApart, at_once),
            (Lie::Misaligned, misaligned),
        ] {
            // Another row, and so another warp, for one row alone is a whole array.
            let layout = lie.layout(rows + 1, len, 4);
            let along = Extents::new(&layout, &Axes::of(&[-1])).expect("an axis");
            let plan = Plan::along(Reduction::<f32>::entry(ops::Sum), &along).expect("few blocks");
            let index_plan = Plan::along(Reduction::<f32>::entry(ops::ArgMax), &along).expect("few blocks");
            let values: Vec<f32> = (0..(rows + 2) as usize * (len + 4) as usize)
                .map(|i| element(0, i))
                .collect();
            let by = usize::from(matches!(lie, Lie::Misaligned));
            let (_, counts) = emulated(ops::Sum, &values, &plan, &along, by, 1, true);
            let of_a_turn = if by == 0 { expected } else { expected / turns(vectors) };
            assert_eq!(counts.shuffles, expected + of_a_turn, "{vectors} vectors, {lie:?}");
            if by == 0 {
                // An index takes two words, as it is found in two passes.
                let (_, counts) = emulated(ops::ArgMax, &values, &index_plan, &along, by, 1, true);
                assert_eq!(
                    counts.shuffles,
                    2 * (expected + of_a_turn),
                    "{vectors} vectors, {lie:?}"
                );
            }
        }
    }
}

/// Turns of the code for any extents that a warp's rows take, one of which the last warp's row takes.
fn turns(vectors: u64) -> u64 {
    let of_a_turn = Width::of(Type::F32, 4 * vectors).extents();
    u64::from(Tiling::of(vectors as u32).rows() / of_a_turn)
}
