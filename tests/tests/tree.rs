//! One tree: the CPU, folds in pieces and the kernels on the emulator give the bits of the specification, whatever the
//! launch, the alignment and the schedule.

use proptest::prelude::*;
use warpfold::{Plan, cpu, ops::Reduction, plan::Shape};
use warpfold_tests::{
    Bits, backends,
    cases::{self, Case},
    each_operator, spec,
};

const LEAF: usize = 1024;

/// Lengths where something changes shape: a vector, a warp, a row, a leaf, two; the CPU's strip, the largest run of a
/// warp, of one CPU thread and of two.
const EDGES: [usize; 10] = [
    1,
    4,
    32,
    128,
    LEAF,
    2 * LEAF,
    8 * LEAF,
    32 * LEAF,
    64 * LEAF,
    128 * LEAF,
];

const fn shape(warps: u32, leaves_per_warp: u32, blocks: u32) -> Shape {
    Shape {
        warps,
        leaves_per_warp,
        blocks,
    }
}

/// Shapes that have little in common; each is legal for every operator. A tile has at most 128 leaves.
const SHAPES: [Shape; 7] = [
    shape(1, 1, 1),
    shape(1, 2, 5),
    shape(2, 1, 3),
    shape(4, 4, 2),
    shape(8, 1, 7),
    shape(8, 16, 2),
    shape(1, 128, 3),
];

fn about(edges: &[usize]) -> impl Iterator<Item = usize> {
    edges.iter().flat_map(|&edge| [edge - 1, edge, edge + 1])
}

/// The CPU's answer and state are the specification's; so are those of all kernels that take `shape`.
fn agrees<R: Reduction<f32>>(op: R, values: &[f32], shape: Shape, misalign: usize, seed: u64) {
    let len = values.len();
    let expected = spec::answer(R::NAME, values);
    assert_eq!(backends::cpu(op, values), expected, "{} of {len} on the CPU", R::NAME);
    let state = Bits::of_state(op, cpu::fold(op, values));
    for plan in backends::plans(op, len as u64, shape) {
        let emulated = backends::emulator(op, values, &plan, misalign, seed);
        let answer = emulated.as_ref().map(|emulated| &emulated.answer);
        assert_eq!(
            answer,
            expected.as_ref(),
            "{plan}, misaligned by {misalign}, seed {seed}"
        );
        if let Some(emulated) = emulated {
            assert_eq!(
                emulated.state, state,
                "state: {plan}, misaligned by {misalign}, seed {seed}"
            );
        }
    }
}

#[test]
fn all_follow_the_tree_at_every_edge() {
    for (i, len) in about(&EDGES).enumerate() {
        let values = cases::CYCLE.array(len);
        for (j, shape) in SHAPES.into_iter().enumerate() {
            // Long arrays in tiny tiles are slow to emulate, and come in the next test.
            if len <= 33 * LEAF || i % SHAPES.len() == j {
                each_operator!(agrees(&values, shape, (i + j) % 4, (100 * i + j) as u64));
            }
        }
    }
}

/// The last block folds the slots in another way for up to 256 tiles, up to 1024 for each of its warps, and more.
#[test]
fn all_follow_the_tree_at_the_edges_of_the_slots() {
    for (tiles, warps) in [(256, 1), (256, 2), (1024, 1)] {
        for len in about(&[tiles * warps * LEAF]) {
            let values = cases::CYCLE.array(len);
            each_operator!(agrees(&values, shape(warps as u32, 1, 6), len % 4, len as u64));
        }
    }
    // Two warps fold 2048 slots at once; one more is a second round.
    for tiles in [2048, 2049] {
        let values = cases::CYCLE.array(2 * tiles * LEAF - 1);
        agrees(warpfold::ops::Sum, &values, shape(2, 1, 4), 0, 5);
        agrees(warpfold::ops::ArgMin, &values, shape(2, 1, 4), 1, 6);
    }
}

/// A tile is what a block folds at once: its edges depend on the shape.
#[test]
fn all_follow_the_tree_at_the_edges_of_tiles() {
    for shape in SHAPES {
        let tile = shape.warps as usize * shape.leaves_per_warp as usize * LEAF;
        // One tile, two, and one more for a block than for another.
        let turn = shape.blocks as usize + 1;
        for len in about(&[tile, 2 * tile, (turn * tile).min(600 * LEAF)]) {
            let values = cases::CYCLE.array(len);
            each_operator!(agrees(&values, shape, 3 - len % 4, len as u64 / 3));
        }
    }
}

#[test]
fn all_follow_the_tree_over_every_special_value() {
    for (i, case) in cases::ALL.into_iter().enumerate() {
        for (j, len) in [1, 2, 130, 1025, 5003, 20_001].into_iter().enumerate() {
            let values = case.array(len);
            let shape = SHAPES[(i + j) % SHAPES.len()];
            each_operator!(agrees(&values, shape, (i + j) % 4, (10 * i + j) as u64));
        }
    }
}

/// What the host launches by itself, where the plan's rule changes: the emulator runs the very plan.
#[test]
fn tuned_plans_follow_the_tree() {
    fn agrees<R: Reduction<f32>>(op: R, values: &[f32], seed: u64) {
        let plan = Plan::new(op.entry(), values.len() as u64);
        let emulated = backends::emulator(op, values, &plan, 0, seed).map(|emulated| emulated.answer);
        assert_eq!(emulated, spec::answer(R::NAME, values), "{plan}, seed {seed}");
    }
    for leaves in [1, 2, 8, 16, 17, 256, 257, 600] {
        for len in about(&[leaves * LEAF]) {
            let values = cases::CYCLE.array(len);
            each_operator!(agrees(&values, len as u64));
        }
    }
    let values = cases::CYCLE.array(4097 * LEAF + 1);
    agrees(warpfold::ops::Sum, &values, 1);
    agrees(warpfold::ops::ArgMax, &values, 2);
}

/// Long arrays on the CPU, where halves go to other threads.
#[test]
fn the_cpu_follows_the_tree_in_long_arrays() {
    fn agrees<R: Reduction<f32>>(op: R, values: &[f32], name: &str) {
        let expected = spec::answer(R::NAME, values);
        assert_eq!(
            backends::cpu(op, values),
            expected,
            "{} of {} {name}",
            R::NAME,
            values.len()
        );
    }
    for case in [cases::CYCLE, cases::CANCELLING, cases::ASCENDING, cases::MIXED] {
        for len in about(&[256 * LEAF, 1024 * LEAF]) {
            each_operator!(agrees(&case.array(len), case.name));
        }
    }
    // The specification is slow over so many elements: one array of them.
    each_operator!(agrees(&cases::CYCLE.array(3000 * LEAF + 1), cases::CYCLE.name));
}

fn a_shape() -> impl Strategy<Value = Shape> {
    (0..4_u32, 0..8_u32, 1..40_u32)
        .prop_map(|(warps, leaves, blocks)| shape(1 << warps, 1 << leaves.min(7 - warps), blocks))
}

fn a_case() -> impl Strategy<Value = Case> {
    prop::sample::select(&cases::ALL[..])
}

/// Short lengths as often as long ones.
fn a_length(most: u32) -> impl Strategy<Value = usize> {
    (0..most).prop_flat_map(|log| (1_usize << log) - 1..=2 << log)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, ..ProptestConfig::default() })]

    #[test]
    fn all_follow_the_tree_at_any_length_in_any_launch(
        len in a_length(16),
        case in a_case(),
        shape in a_shape(),
        misalign in 0..4_usize,
        seed: u64,
    ) {
        let values = case.array(len);
        each_operator!(agrees(&values, shape, misalign, seed));
    }

    /// The first sight of a better element must not be skipped, wherever it is: one element beats all others.
    #[test]
    fn one_odd_element_is_found_wherever_it_is(
        len in a_length(16),
        at: prop::sample::Index,
        special in prop::sample::select(&cases::SPECIAL[..]),
        common in prop::sample::select(vec![0.0_f32, -0.0, 1.0, -1.0, f32::MIN_POSITIVE]),
        shape in a_shape(),
        misalign in 0..4_usize,
        seed: u64,
    ) {
        let mut values = vec![common; len.max(1)];
        let at = at.index(values.len());
        values[at] = f32::from_bits(special);
        each_operator!(agrees(&values, shape, misalign, seed));
    }

    #[test]
    fn the_cpu_follows_the_tree_at_any_length_and_alignment(
        len in a_length(19),
        case in a_case(),
        skip in 0..17_usize,
    ) {
        fn agrees<R: Reduction<f32>>(op: R, values: &[f32], case: Case) {
            let expected = spec::answer(R::NAME, values);
            assert_eq!(backends::cpu(op, values), expected, "{} of {} {}", R::NAME, values.len(), case.name);
        }
        let values = case.array(len + skip);
        each_operator!(agrees(&values[skip..], case));
    }

    #[test]
    fn pieces_are_the_whole(len in a_length(18), case in a_case(), piece in 0..7_u32) {
        fn agree<R: Reduction<f32>>(op: R, values: &[f32], piece: usize) {
            let (whole, pieces) = (backends::cpu(op, values), backends::pieces(op, values, piece));
            assert_eq!(pieces, whole, "{} of {} by {piece}", R::NAME, values.len());
        }
        each_operator!(agree(&case.array(len), LEAF << piece));
    }
}
