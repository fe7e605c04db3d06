//! Folds in segments: the emulator's kernel and the CPU give each segment the bits that it has alone.

use proptest::prelude::*;
use warpfold::{
    Error, Plan, cpu,
    layout::Segments,
    ops::{self, Reduction},
};
use warpfold_kernels::{
    element::{Element, Type, bf16},
    stages::strategy::SEGMENT_LEVELS,
};
use warpfold_tests::{
    Bits,
    backends::{self, Emulated},
    operations::{self, Operation},
    samples::{self, elements},
};

/// The tuned plan, or one of tiles of so many leaves.
fn plan(op: &dyn Operation, segments: &Segments, leaves: Option<u32>) -> Plan {
    let (len, count) = (segments.len(), segments.count() as u64);
    let plan = Plan::segments(op.entry(), len, count).expect("few blocks");
    match leaves {
        Some(leaves) => backends::in_tiles(plan, leaves),
        None => plan,
    }
}

/// The emulator's kernel, where segments follow one another and where they lie apart, against the CPU's answer for each alone.
fn agrees(op: &dyn Operation, values: &[u64], segments: &Segments, leaves: Option<u32>, seed: u64) {
    let plan = plan(op, segments, leaves);
    let alone = |i: usize| {
        let range = segments.get(i);
        let values = &values[range.start as usize..range.end as usize];
        Emulated {
            answer: op.cpu(values).expect("not empty, or an answer over nothing"),
            state: op.state(values),
        }
    };
    let expected: Vec<Emulated> = (0..segments.count()).map(alone).collect();
    for apart in [false, true] {
        let written = op.segments(values, &plan, segments, apart, seed);
        for (i, (written, expected)) in written.iter().zip(&expected).enumerate() {
            let what = (op.name(), op.ty(), segments.get(i), apart, seed);
            assert_eq!(written, expected, "{plan}, segment {i}: {what:?}");
        }
    }
}

fn operation(name: &str, ty: Type) -> Box<dyn Operation> {
    let mut all = operations::all().into_iter();
    all.find(|op| op.name() == name && op.ty() == ty).expect("an operation")
}

/// Lengths about the edges of a vector, of as many as lanes fold side by side, of a row, half a leaf, a leaf and a tile.
fn edges(ty: Type, leaves: usize) -> Vec<u64> {
    let [vector, row, leaf] = operations::extents(ty);
    let short = [vector, 2 * vector, 4 * vector, 8 * vector, 16 * vector, row, 2 * row];
    let edges = short
        .into_iter()
        .chain([leaf / 2, leaf, leaves * leaf, 3 * leaves * leaf]);
    let around = edges.flat_map(|edge| [edge - 1, edge, edge + 1]);
    [1, 2, 3].into_iter().chain(around).map(|len| len as u64).collect()
}

/// Each operator of each type, the lengths in an order of its own, with empty segments where it has an answer over nothing.
#[test]
fn every_operation_in_segments() {
    for (i, op) in operations::all().into_iter().enumerate() {
        let mut lens = edges(op.ty(), 1);
        let at = i * 7 % lens.len();
        lens.rotate_left(at);
        if op.empty().is_some() {
            lens.insert(i % lens.len(), 0);
            lens.push(0);
        }
        let segments = Segments::by_lens(lens).expect("few");
        let values = samples::ALL[i % samples::ALL.len()].array(op.ty(), segments.len() as usize);
        agrees(&*op, &values, &segments, None, i as u64);
    }
}

/// Each edge among neighbours that have it shared out in each way: many alike, and one among tiny ones.
#[test]
fn every_edge_in_segments() {
    for (name, ty) in [
        ("sum", Type::F32),
        ("argmax", Type::F32),
        ("sum", Type::Bf16),
        ("argmin-last", Type::U8),
        ("sum", Type::F64),
    ] {
        let op = operation(name, ty);
        for leaves in [1, 2, 1 << SEGMENT_LEVELS] {
            for (i, len) in edges(ty, leaves as usize).into_iter().enumerate() {
                let alike = [len; 37];
                let mut among = [[1, 2, 5][i % 3]; 70];
                among[i % 70] = len;
                for lens in [&alike[..if len > 3000 { 3 } else { 37 }], &among] {
                    let segments = Segments::by_lens(lens.iter().copied()).expect("few");
                    let values = samples::ALL[i % samples::ALL.len()].array(ty, segments.len() as usize);
                    agrees(&*op, &values, &segments, Some(leaves), i as u64);
                }
            }
        }
    }
}

/// More tiles than one warp folds the slots of, in a segment between others; two such side by side.
#[test]
fn segments_of_many_tiles() {
    for name in ["sum", "argmax"] {
        let op = operation(name, Type::F32);
        for lens in [&[3, 700_001, 5][..], &[262_145, 262_143, 1, 300_000], &[1 << 19]] {
            let segments = Segments::by_lens(lens.iter().copied()).expect("few");
            let values = samples::ALL[0].array(Type::F32, segments.len() as usize);
            agrees(&*op, &values, &segments, Some(1), 3);
        }
    }
}

/// More than 256 × 256 tiles: they meet in three turns.
#[test]
fn a_segment_of_three_turns() {
    let op = operation("sum", Type::F32);
    let segments = Segments::by_lens([7, 65_537 * 1024 + 1, 3]).expect("few");
    let values = samples::ALL[0].array(Type::F32, segments.len() as usize);
    let plan = plan(&*op, &segments, Some(1));
    let expected = op.cpu(&values[7..values.len() - 3]).expect("a sum");
    assert_eq!(op.segments(&values, &plan, &segments, false, 0)[1].answer, expected);
}

#[test]
fn nothing_but_empty_segments() {
    let op = operation("sum", Type::F32);
    for count in [1, 31, 32, 33, 1000] {
        let segments = Segments::by_lens(vec![0; count]).expect("few");
        agrees(&*op, &[], &segments, None, count as u64);
    }
    let none = Segments::by_lens([]).expect("none");
    assert!(
        cpu::reduce_segments(ops::Max, &[0.0_f32; 0], &none)
            .expect("no answers")
            .is_empty()
    );
}

#[test]
fn segments_without_an_answer_are_named() {
    let segments = Segments::by_offsets(&[0, 2, 2, 3]).expect("segments");
    let wrong = cpu::reduce_segments(ops::ArgMax, &[1.0_f32, 2.0, 3.0], &segments);
    assert!(
        matches!(
            wrong,
            Err(Error::EmptySegment {
                op: "argmax",
                segment: 1
            })
        ),
        "{wrong:?}"
    );
    let wrong = cpu::reduce_segments(ops::Sum, &[1.0_f32, 2.0], &segments);
    assert!(matches!(wrong, Err(Error::Offset { at: 3, .. })), "{wrong:?}");
}

/// Lengths as they come: mostly tiny, a few long.
fn lens() -> impl Strategy<Value = Vec<u64>> {
    let len = prop_oneof![6 => 0..20_u64, 3 => 0..300_u64, 1 => 0..9000_u64];
    prop::collection::vec(len, 0..120)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn any_segments(lens in lens(), leaves in prop::sample::select(vec![1, 2, 4, 1 << SEGMENT_LEVELS]), seed in 0..1000_u64) {
        for (name, ty) in [("sum", Type::F32), ("sum", Type::Bf16), ("argmin", Type::U8)] {
            let op = operation(name, ty);
            let lens = lens.iter().map(|len| if op.empty().is_some() { *len } else { len + 1 });
            let segments = Segments::by_lens(lens).expect("few");
            let values = samples::ALL[seed as usize % samples::ALL.len()].array(ty, segments.len() as usize);
            agrees(&*op, &values, &segments, Some(leaves), seed);
        }
    }

    /// The CPU folds a segment as it folds an array; permuted segments have permuted answers.
    #[test]
    fn the_cpu_in_segments(lens in prop::collection::vec(prop_oneof![4 => 0..40_u64, 1 => 0..70_000_u64], 0..300), by in 0..300_usize) {
        fn alone<T: Element, R: Reduction<T>>(op: R, values: &[T], segments: &Segments) -> Vec<Option<Bits>> {
            let of = |i: usize| segments.get(i);
            (0..segments.count())
                .map(|i| backends::cpu(op, &values[of(i).start as usize..of(i).end as usize]))
                .collect()
        }
        let segments = Segments::by_lens(lens.iter().copied()).expect("few");
        let bits = samples::ALL[0].array(Type::F32, segments.len() as usize);
        let values = elements::<f32>(&bits);
        let answers = cpu::reduce_segments(ops::Sum, &values, &segments).expect("answers");
        let answers: Vec<_> = answers.into_iter().map(|answer| Some(Bits::of(answer))).collect();
        prop_assert_eq!(&answers, &alone(ops::Sum, &values, &segments));

        let small: Vec<bf16> = elements(&samples::ALL[0].array(Type::Bf16, segments.len() as usize));
        let counts = cpu::reduce_segments(ops::CountNonzero, &small, &segments).expect("answers");
        let counts: Vec<_> = counts.into_iter().map(|answer| Some(Bits::of(answer))).collect();
        prop_assert_eq!(counts, alone(ops::CountNonzero, &small, &segments));

        let count = segments.count();
        if count > 0 {
            let by = by % count;
            let pieces: Vec<&[f32]> = (0..count)
                .map(|i| &values[segments.get(i).start as usize..segments.get(i).end as usize])
                .collect();
            let rotated = [&pieces[by..], &pieces[..by]].concat();
            let others = Segments::by_lens(rotated.iter().map(|piece| piece.len() as u64)).expect("few");
            let turned = cpu::reduce_segments(ops::Sum, &rotated.concat(), &others).expect("answers");
            let mut turned: Vec<_> = turned.into_iter().map(|answer| Some(Bits::of(answer))).collect();
            turned.rotate_right(by);
            prop_assert_eq!(turned, answers);
        }
    }
}
