//! Folds along axes: the emulator's kernels and the CPU give each extent the bits that it has alone.

use proptest::prelude::*;
use warpfold::{
    Plan, cpu,
    layout::{Axes, Extents, Layout},
    ops::{self, Reduction},
    plan::Team,
};
use warpfold_kernels::{
    element::{Element, Type, bf16, f16},
    kernels::{Kernel, strided},
};
use warpfold_tests::{
    Bits, backends,
    operations::{self, Operation},
    samples::{self, elements},
};

/// The elements of each extent, by the layout's own indices.
fn gathered(values: &[u64], layout: &Layout, axes: &[i64]) -> Vec<Vec<u64>> {
    let rank = layout.shape().len();
    let is_folded = |axis: &usize| axes.iter().any(|a| a.rem_euclid(rank as i64) as usize == *axis);
    let (folded, kept): (Vec<usize>, Vec<usize>) = (0..rank).partition(is_folded);
    let place = |index: &[u64], of: &[usize]| -> i64 {
        let terms = of
            .iter()
            .zip(index)
            .map(|(axis, i)| layout.strides()[*axis] * *i as i64);
        terms.sum()
    };
    let indices = |of: &[usize]| {
        let mut all = vec![vec![]];
        for axis in of {
            let each = |index: Vec<u64>| (0..layout.shape()[*axis]).map(move |i| [&index[..], &[i]].concat());
            all = all.into_iter().flat_map(each).collect();
        }
        all
    };
    let extent = |start: Vec<u64>| {
        let start = layout.offset() as i64 + place(&start, &kept);
        let at = |index: Vec<u64>| values[(start + place(&index, &folded)) as usize];
        indices(&folded).into_iter().map(at).collect()
    };
    indices(&kept).into_iter().map(extent).collect()
}

/// The emulator's kernels in the tuned plan, against the CPU's answer for every extent alone. Returns the kernel.
fn agrees(op: &dyn Operation, values: &[u64], layout: &Layout, axes: &[i64], seed: u64) -> Kernel {
    let extents = Extents::new(layout, &Axes::of(axes)).expect("axes of the array");
    let alone = |extent: Vec<u64>| op.cpu(&extent).expect("not empty");
    let expected: Vec<Bits> = gathered(values, layout, axes).into_iter().map(alone).collect();
    let plan = Plan::along(op.entry(), &extents).expect("few blocks");
    let misalign = seed as usize % (16 / op.ty().bytes());
    let answers = op.along(values, &plan, &extents, misalign, seed);
    assert_eq!(
        answers, expected,
        "{plan}, {layout:?} along {axes:?}, misaligned by {misalign}"
    );
    plan.entry.kernel
}

fn operation(name: &str, ty: Type) -> Box<dyn Operation> {
    let mut all = operations::all().into_iter();
    all.find(|op| op.name() == name && op.ty() == ty).expect("an operation")
}

/// Each operator of each type, in shapes for each kernel about the edges of a vector, a row and a leaf of the tree: rows, columns
/// and middle axes, by turns.
#[test]
fn every_operation_along_axes() {
    let mut kernels = vec![];
    for (i, op) in operations::all().into_iter().enumerate() {
        let [vector, row, leaf] = operations::extents(op.ty()).map(|edge| edge as u64);
        let lens = [
            1,
            2,
            vector,
            vector + 1,
            3 * vector,
            row - 1,
            row,
            row + 1,
            leaf - 1,
            leaf,
            leaf + 1,
        ];
        for turn in 0..4 {
            let number = 4 * i + turn;
            let (len, others) = (lens[(i + 3 * turn) % lens.len()], [1, 3, 11][(i + turn) % 3]);
            let (shape, axis) = [
                ([others, len, 1], 1),
                ([1, len, others], 1),
                ([2, len, others], 1),
                ([len, others, 2], 0),
            ][turn];
            let layout = Layout::c_order(&shape).expect("small");
            let values = samples::ALL[number % samples::ALL.len()].array(op.ty(), layout.len() as usize);
            kernels.push(agrees(&*op, &values, &layout, &[axis], number as u64));
        }
    }
    for kernel in [Kernel::All, Kernel::Rows, Kernel::Strided] {
        assert!(kernels.contains(&kernel), "{kernel:?} is not met");
    }
}

/// Sums and indices at every edge, in every arrangement.
#[test]
fn every_edge_along_axes() {
    for (name, ty) in [
        ("sum", Type::F32),
        ("argmax", Type::F32),
        ("sum", Type::Bf16),
        ("argmin-last", Type::U8),
    ] {
        let op = operation(name, ty);
        let [vector, row, leaf] = operations::extents(ty).map(|edge| edge as u64);
        let edges = [2, vector, 2 * vector, row / 2, row, 2 * row, 4 * row, leaf];
        let lens = edges.into_iter().flat_map(|edge| [edge - 1, edge, edge + 1]);
        for (i, len) in lens.enumerate() {
            let others = [1, 3, 37][i % 3];
            for (shape, axis) in [([others, len, 1], 1), ([1, len, others], 1), ([2, len, 3], 1)] {
                let layout = Layout::c_order(&shape).expect("small");
                let values = samples::ALL[i % samples::ALL.len()].array(ty, layout.len() as usize);
                agrees(&*op, &values, &layout, &[axis], i as u64);
            }
        }
    }
}

/// Columns of small types: read by words where they share them, and one by one where the words begin or end elsewhere.
#[test]
fn columns_that_share_words() {
    for (name, ty) in [
        ("sum", Type::F16),
        ("argmax", Type::Bf16),
        ("max", Type::Bf16),
        ("min", Type::F16),
        ("sum", Type::U8),
        ("argmin-last", Type::I8),
    ] {
        let op = operation(name, ty);
        let [vector, row, leaf] = operations::extents(ty).map(|edge| edge as u64);
        let lens = [2, vector - 1, vector + 2, row - 1, row + 1, 3 * row + 5, leaf, leaf + 3];
        for (i, len) in lens.into_iter().enumerate() {
            // A whole warp's and some; columns that words of four do not divide; those of an odd number.
            for (columns, seed) in [(36, 4 * i), (32, 4 * i + 1), (34, 0), (19, 0)] {
                let layout = Layout::c_order(&[len, columns]).expect("small");
                let values = samples::ALL[i % samples::ALL.len()].array(ty, layout.len() as usize);
                assert_eq!(agrees(&*op, &values, &layout, &[0], seed as u64), Kernel::Strided);
            }
        }
    }
}

/// Long extents: several blocks each, their slots folded in several turns.
#[test]
fn long_extents() {
    for name in ["sum", "argmax"] {
        let op = operation(name, Type::F32);
        let values = samples::ALL[0].array(Type::F32, 210_003);
        let rows = Layout::c_order(&[3, 70_001]).expect("small");
        assert_eq!(agrees(&*op, &values, &rows, &[1], 1), Kernel::All);
        let columns = Layout::c_order(&[70_001, 3]).expect("small");
        assert_eq!(agrees(&*op, &values, &columns, &[0], 3), Kernel::Strided);
    }
}

/// More tiles than a team folds at once: shapes that no tuned plan has.
#[test]
fn many_tiles() {
    let layout = Layout::c_order(&[40_000, 2]).expect("small");
    let extents = Extents::new(&layout, &Axes::of(&[0])).expect("an axis");
    let op = operation("argmin", Type::F32);
    let values = samples::ALL[0].array(Type::F32, 80_000);
    let expected: Vec<_> = gathered(&values, &layout, &[0])
        .iter()
        .map(|extent| op.cpu(extent).expect("some"))
        .collect();
    let mut plan = Plan::along(op.entry(), &extents).expect("few blocks");
    for (answers, warps, steps) in [(2, 1, 1), (8, 2, 1), (32, 1, 2)] {
        plan.team = Team { answers, warps, steps };
        plan.shape.warps = 2;
        plan.tiles = strided::parts(Type::F32, 40_000).div_ceil(plan.team.units());
        plan.shape.blocks = plan.tiles as u32;
        assert!(plan.tiles > plan.team.units());
        assert_eq!(op.along(&values, &plan, &extents, 0, 7), expected, "{plan}");
    }
}

/// Columns of whole vectors: every number of answers and of steps, of tiles that are whole, ragged and alone, in clusters and not, aligned and not.
#[test]
fn columns_of_vectors() {
    // Every other of the shapes, from that one on: each is met by several operators of a size.
    fn agrees<T: Element, R: Reduction<T>>(op: R, first: usize) {
        let vector = 16 / T::TYPE.bytes();
        let leaf = T::TYPE.leaf_elements();
        // As many answers of a lane's vectors as lanes, and a few more or less; rows of parts of a leaf, and of two.
        let wide = 32 * vector as u64;
        let shapes = [
            (leaf / 4, 40),
            (leaf - 1, wide + 8),
            (leaf + 3, 64),
            (leaf + leaf / 2 + 5, wide - 8),
        ];
        for (draw, (len, columns)) in shapes.into_iter().enumerate().skip(first).step_by(2) {
            let layout = Layout::c_order(&[len, columns]).expect("small");
            let samples = samples::ALL[(draw + columns as usize) % samples::ALL.len()];
            let values = elements::<T>(&samples.array(T::TYPE, layout.len() as usize));
            let extents = Extents::new(&layout, &Axes::of(&[0])).expect("an axis");
            let expected = cpu::reduce_axes(op, &values, &layout, &Axes::of(&[0])).expect("not empty");
            let mut plan = Plan::along(op.entry(), &extents).expect("few blocks");
            assert!(plan.team.answers > 32 && plan.entry.kernel == Kernel::Strided, "{plan}");
            let groups = 32 * vector as u64 / u64::from(plan.team.answers);
            let sets = columns.div_ceil(plan.team.answers.into());
            let each = [(1, 0, 1), (2, 1, 1), (32, 0, 1), (1, 1, 8), (32, 0, 8)];
            // In clusters a ragged leaf and two: the emulator takes long over many blocks.
            let tried = if draw % 2 == 1 { 5 } else { 3 };
            for (steps, misalign, cluster) in each.into_iter().take(tried) {
                plan.team.steps = steps;
                let tiles = (len.div_ceil(leaf) * leaf / 8).div_ceil(groups * u64::from(8 * steps));
                (plan.cluster, plan.tiles) = (cluster, tiles.next_multiple_of(cluster.into()));
                plan.shape.blocks = (sets * plan.tiles) as u32;
                let answers = backends::emulator_along(op.monoid(), &values, &plan, &extents, misalign, 5).0;
                let bits = |answers: Vec<R::Answer>| answers.into_iter().map(Bits::of).collect::<Vec<_>>();
                assert_eq!(
                    bits(answers),
                    bits(expected.answers.clone()),
                    "{plan}, misaligned by {misalign}"
                );
            }
        }
    }
    agrees::<f32, _>(ops::Sum, 0);
    agrees::<f32, _>(ops::Max, 1);
    agrees::<f32, _>(ops::NormInf, 0);
    agrees::<bf16, _>(ops::Sum, 1);
    agrees::<f16, _>(ops::Product, 0);
    agrees::<bf16, _>(ops::Max, 1);
    agrees::<f16, _>(ops::Min, 0);
}

/// Answers of one byte and of two lie side by side: the operators themselves, not by way of another's words.
#[test]
fn small_answers_are_packed() {
    fn packed<T: Element, R: Reduction<T>>(op: R) {
        for shape in [[5, 40], [5, 3000]] {
            for axis in [0, 1] {
                let layout = Layout::c_order(&shape).expect("small");
                let values = elements::<T>(&samples::ALL[0].array(T::TYPE, layout.len() as usize));
                let extents = Extents::new(&layout, &Axes::of(&[axis])).expect("an axis");
                let plan = Plan::along(op.entry(), &extents).expect("few blocks");
                let answers = backends::emulator_along(op.monoid(), &values, &plan, &extents, 1, 5).0;
                let expected = cpu::reduce_axes(op, &values, &layout, &Axes::of(&[axis])).expect("not empty");
                let bits = |answers: Vec<R::Answer>| answers.into_iter().map(Bits::of).collect::<Vec<_>>();
                assert_eq!(bits(answers), bits(expected.answers), "{plan}");
            }
        }
    }
    packed::<i8, _>(ops::Max);
    packed::<bf16, _>(ops::Sum);
}

/// A layout made of a C-order array by transposing, slicing and broadcasting, and some of its axes.
fn strided() -> impl Strategy<Value = (Layout, Vec<i64>, u64)> {
    let shape = prop::collection::vec(1_u64..6, 1..5);
    let step = prop::sample::select(vec![-2_i64, -1, 1, 2]);
    (shape, any::<prop::sample::Index>(), step, any::<u8>(), any::<bool>()).prop_map(
        |(shape, axis, step, folded, repeat)| {
            let rank = shape.len();
            let axis = axis.index(rank);
            let dense = Layout::c_order(&shape).expect("small");
            let mut strides = dense.strides().to_vec();
            let mut shape = shape;
            let mut offset = 0;
            // Every other element of an axis, perhaps backwards.
            if step.unsigned_abs() <= shape[axis] {
                let count = shape[axis] / step.unsigned_abs();
                offset = if step < 0 {
                    (count - 1) * step.unsigned_abs() * strides[axis] as u64
                } else {
                    0
                };
                (shape[axis], strides[axis]) = (count, strides[axis] * step);
            }
            if repeat {
                shape.push(3);
                strides.push(0);
            }
            shape.rotate_left(axis);
            strides.rotate_left(axis);
            let axes: Vec<i64> = (0..shape.len() as i64).filter(|axis| folded >> axis & 1 == 1).collect();
            let len = dense.len();
            (Layout::strided(&shape, &strides, offset).expect("small"), axes, len)
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_strides((layout, axes, len) in strided(), seed in 0_u64..100) {
        let values = samples::ALL[seed as usize % samples::ALL.len()].array(Type::F32, len as usize);
        agrees(&*operation("argmax", Type::F32), &values, &layout, &axes, seed);
        agrees(&*operation("sum", Type::F32), &values, &layout, &axes, seed);
    }
}

/// Batch norm's: of each channel over samples and places.
#[test]
fn batch_statistics_are_a_channels_own() {
    let (samples, channels, places) = (5_u64, 3_u64, 77_u64);
    let layout = Layout::c_order(&[samples, channels, places]).expect("small");
    let values: Vec<f32> = (0..layout.len()).map(|i| (i * 37 % 1009) as f32 / 64.0 - 7.0).collect();
    let op = ops::MeanVariance { correction: 0.0 };
    let of = |values: &[f32], layout: &Layout| {
        let answers = cpu::reduce_axes(op, values, layout, &Axes::of(&[0, 2]))
            .expect("axes")
            .answers;
        answers
            .into_iter()
            .map(|(mean, variance)| [mean.to_bits(), variance.to_bits()])
            .collect::<Vec<_>>()
    };
    let all = of(&values, &layout);
    // Channels last, in memory.
    let last = Layout::strided(
        &[samples, channels, places],
        &[(channels * places) as i64, 1, channels as i64],
        0,
    );
    let at = |sample: u64, channel: u64, place: u64| values[((sample * channels + channel) * places + place) as usize];
    let each =
        |f: &mut dyn FnMut(u64, u64)| (0..samples).for_each(|sample| (0..places).for_each(|place| f(sample, place)));
    let mut moved = vec![];
    each(&mut |sample, place| moved.extend((0..channels).map(|channel| at(sample, channel, place))));
    assert_eq!(of(&moved, &last.expect("small")), all);
    for channel in 0..channels {
        let mut alone = vec![];
        each(&mut |sample, place| alone.push(at(sample, channel, place)));
        let one = Layout::c_order(&[samples, 1, places]).expect("small");
        assert_eq!(of(&alone, &one), all[channel as usize..][..1]);
        let n = alone.len() as f64;
        let mean = alone.iter().map(|x| f64::from(*x)).sum::<f64>() / n;
        let variance = alone.iter().map(|x| (f64::from(*x) - mean).powi(2)).sum::<f64>() / n;
        let [found, of_squares] = all[channel as usize].map(|bits| f64::from(f32::from_bits(bits)));
        // Both are of f64 inside, rounded once; the rest is f64's own error, and the oracle's.
        assert!(
            (found - mean).abs() <= 2.0_f64.powi(-23) * mean.abs().max(1e-3),
            "{found} for {mean}"
        );
        assert!(
            (of_squares / variance - 1.0).abs() <= 2.0_f64.powi(-23),
            "{of_squares} for {variance}"
        );
    }
}

#[test]
fn extents_of_nothing_have_the_answer_over_nothing() {
    let layout = Layout::c_order(&[3, 0]).expect("small");
    let extents = Extents::new(&layout, &Axes::of(&[1])).expect("an axis");
    let op = operation("prod", Type::F32);
    let plan = Plan::along(op.entry(), &extents).expect("few blocks");
    assert_eq!(op.along(&[], &plan, &extents, 0, 0), vec![Bits::of(1.0_f32); 3]);
}
