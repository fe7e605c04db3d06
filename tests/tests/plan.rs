//! Plans: the leaves of an input are dealt out, each once; every slot has room; nothing depends on anything but the
//! arguments.

use proptest::prelude::*;
use warpfold::{Error, Plan, ops, ops::Reduction, plan::Shape};
use warpfold_kernels::{
    kernels::{Entry, Kernel},
    monoids::{Monoid, Positional, Words},
    tree,
};
use warpfold_tests::{backends, cases, each_operator};

const LEAF: u64 = 1024;

/// The entries of all operators, by the kernel that takes any length.
fn entries() -> Vec<&'static Entry> {
    fn entry<R: Reduction<f32>>(op: R, entries: &mut Vec<&'static Entry>) {
        entries.push(op.entry());
    }
    let mut entries = vec![];
    each_operator!(entry(&mut entries));
    entries
}

/// Those, and the entries for small inputs.
fn all_entries() -> Vec<&'static Entry> {
    let small = |entry: &&'static Entry| entry.with(Kernel::Small);
    entries()
        .iter()
        .copied()
        .chain(entries().iter().filter_map(small))
        .collect()
}

/// The leaves of tile `tile` that warp `warp` of a block folds: the warps take turns.
fn leaves_of(plan: &Plan, tile: u64, warp: u32) -> impl Iterator<Item = u64> {
    let warps = u64::from(plan.shape.warps);
    let leaves = warps * u64::from(plan.shape.leaves_per_warp);
    (u64::from(warp)..leaves)
        .step_by(warps as usize)
        .map(move |at| tile * leaves + at)
}

/// The tiles that a block folds, one after the other.
fn tiles_of(plan: &Plan, block: u32) -> impl Iterator<Item = u64> {
    (u64::from(block)..plan.tiles).step_by(plan.shape.blocks as usize)
}

/// Goes through a launch as its blocks and warps do.
fn covers_each_leaf_once(plan: &Plan) {
    let mut seen = vec![0_u32; plan.len.div_ceil(LEAF) as usize];
    let mut stored = vec![0_u32; plan.tiles as usize];
    for block in 0..plan.shape.blocks.min(plan.tiles as u32 + 3) {
        for tile in tiles_of(plan, block) {
            stored[tile as usize] += 1;
            for leaf in (0..plan.shape.warps).flat_map(|warp| leaves_of(plan, tile, warp)) {
                // A tile reaches past the end; a leaf there is nothing.
                if let Some(seen) = seen.get_mut(leaf as usize) {
                    *seen += 1;
                }
            }
        }
    }
    assert!(seen.iter().all(|&count| count == 1), "{plan}: leaves");
    assert!(stored.iter().all(|&count| count == 1), "{plan}: slots");
}

/// What must hold of any plan, of any length, without going through it.
fn is_sound(plan: &Plan) {
    let tile = LEAF * u64::from(plan.shape.warps) * u64::from(plan.shape.leaves_per_warp);
    assert_eq!(plan.tiles, plan.len.div_ceil(tile), "{plan}");
    assert!(plan.shape.blocks >= 1, "{plan}");
    assert!(plan.threads() <= plan.entry.max_threads, "{plan}");
    // A slot for each tile, and a word for the tickets.
    let slots = plan.tiles as usize * plan.entry.state_words;
    assert!(plan.workspace_words() > slots, "{plan}");
    assert_eq!(plan.bytes(), 4 * plan.len + plan.entry.answer_bytes as u64, "{plan}");
    // Every leaf in front of the last tile's end belongs to a tile; that is all leaves.
    assert!(plan.tiles * tile >= plan.len, "{plan}");
    if plan.entry.kernel == Kernel::Small {
        // It has no loop over tiles.
        assert_eq!(u64::from(plan.shape.blocks), plan.tiles.max(1), "{plan}");
    }
}

fn a_length(most: u32) -> impl Strategy<Value = u64> {
    (0..most).prop_flat_map(|log| (1_u64 << log) - 1..=2 << log)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn any_shape_covers_each_leaf_once(
        len in a_length(24),
        entry in prop::sample::select(entries()),
        (warps, leaves, blocks) in (0..5_u32, 0..8_u32, 1..5000_u32),
    ) {
        // At most 128 leaves a tile, fewer for states of many words.
        let warps = (1 << warps).min(entry.max_threads / 32);
        let leaves_per_warp = (1 << leaves).min(entry.strategy.most_leaves(warps));
        let shape = Shape { warps, leaves_per_warp, blocks };
        let plan = Plan::with_shape(entry, len, shape).expect("a legal shape");
        is_sound(&plan);
        covers_each_leaf_once(&plan);
    }

    #[test]
    fn a_tuned_plan_covers_each_leaf_once(len in a_length(24), entry in prop::sample::select(entries())) {
        let plan = Plan::new(entry, len);
        is_sound(&plan);
        covers_each_leaf_once(&plan);
        assert_eq!(plan, Plan::new(entry, len), "a plan is a function of its arguments");
    }

    /// Past anything a machine holds: no number overflows.
    #[test]
    fn a_plan_of_any_length_is_sound(len in a_length(61), entry in prop::sample::select(entries())) {
        let plan = Plan::new(entry, len);
        is_sound(&plan);
        // A thousandth of the input; the smallest inputs have a workspace of a few kilobytes, one for each word of a large state.
        let few = 1024 * entry.state_words.max(4) as u64 + 256;
        assert!(4 * plan.workspace_words() as u64 <= (4 * len / 1000).max(few), "{plan}");

    }

    #[test]
    fn a_shape_is_taken_or_named(
        len in a_length(40),
        entry in prop::sample::select(all_entries()),
        (warps, leaves_per_warp, blocks) in (0..70_u32, 0..70_u32, prop_oneof![0..3_u32, any::<u32>()]),
    ) {
        let shape = Shape { warps, leaves_per_warp, blocks };
        match Plan::with_shape(entry, len, shape) {
            Ok(plan) => {
                is_sound(&plan);
                assert_eq!((plan.entry, plan.len, plan.shape), (entry, len, shape));
                let printed = plan.to_string();
                for number in [len, plan.tiles, warps.into(), leaves_per_warp.into(), blocks.into()] {
                    assert!(printed.contains(&number.to_string()), "{printed}");
                }
            }
            Err(error @ Error::Shape { .. }) => assert!(error.to_string().contains(entry.name), "{error}"),
            Err(error) => panic!("{error}"),
        }
    }
}

/// A kernel counts tiles in 32 bits: a shape of more is refused, where it would leave out the rest.
#[test]
fn a_shape_has_no_more_tiles_than_a_kernel_counts() {
    let entry = entries()[0];
    let shape = Shape {
        warps: 1,
        leaves_per_warp: 1,
        blocks: 1,
    };
    let most = u64::from(u32::MAX) * entry.element.leaf_elements();
    assert_eq!(
        Plan::with_shape(entry, most, shape).expect("a legal shape").tiles,
        u64::from(u32::MAX)
    );
    let more = Plan::with_shape(entry, most + 1, shape);
    assert!(matches!(more, Err(Error::Shape { .. })), "{more:?}");
}

/// What a fold met: how many elements, and which. Elements here carry their own index in their bits.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Census {
    count: u64,
    /// Sum of a hash of each element: an element left out and another met twice do not cancel.
    elements: u64,
    /// Sum of the indices that the kernel gave the elements.
    indices: u64,
}

impl Words for Census {
    const COUNT: usize = 6;
    fn word(self, i: usize) -> u32 {
        [self.count, self.elements, self.indices][i / 2].word(i % 2)
    }
    fn from_words(mut word: impl FnMut(usize) -> u32) -> Self {
        let mut next = |at: usize| u64::from_words(|i| word(2 * at + i));
        Self {
            count: next(0),
            elements: next(1),
            indices: next(2),
        }
    }
}

/// Counts what it folds. A monoid of a user's own, too: six words, which the library's have not.
#[derive(Clone, Copy)]
struct TakeCensus;

impl Monoid<f32> for TakeCensus {
    type State = Census;
    type Answer = Census;
    fn identity(self) -> Census {
        Census::default()
    }
    fn lift(self, value: f32, index: u64) -> Census {
        Census {
            count: 1,
            elements: cases::mix(99, value.to_bits() as usize),
            indices: index,
        }
    }
    fn combine(self, a: Census, b: Census) -> Census {
        Census {
            count: a.count + b.count,
            elements: a.elements.wrapping_add(b.elements),
            indices: a.indices + b.indices,
        }
    }
    warpfold_kernels::opt_in!(f32: Positional);
    fn finish(self, census: Census, _: u64) -> Census {
        census
    }
    fn empty(self) -> Option<Census> {
        Some(Census::default())
    }
}

impl Positional<Census> for TakeCensus {
    fn shift(self, census: Census, by: u64) -> Census {
        Census {
            indices: census.indices + by * census.count,
            ..census
        }
    }
}

/// Elements that carry their own index, and what a census of them must say.
fn numbered(len: u32) -> (Vec<f32>, Census) {
    let values: Vec<f32> = (0..len).map(f32::from_bits).collect();
    let met = values.iter().zip(0..).map(|(&value, at)| TakeCensus.lift(value, at));
    let census = met.fold(Census::default(), |census, one| TakeCensus.combine(census, one));
    (values, census)
}

/// The kernel itself, on the emulator, meets each element once and under its own index.
#[test]
fn the_kernel_meets_each_element_once() {
    const SHAPES: [(u32, u32, u32); 4] = [(32, 1, 3), (64, 4, 2), (256, 2, 5), (1024, 1, 2)];
    for (i, len) in [0, 1, 129, 1024, 5000, 33_001, 70_000, 300_000].into_iter().enumerate() {
        let (values, expected) = numbered(len);
        for (j, (threads, leaves_per_warp, blocks)) in SHAPES.into_iter().enumerate() {
            let shape = warpfold_emulator::Shape {
                threads,
                leaves_per_warp,
                blocks,
            };
            let folded = warpfold_emulator::reduce_all(TakeCensus, &values, (i + j) % 4, shape, (10 * i + j) as u64);
            let folded = folded.unwrap_or_else(|fault| panic!("{len} in {shape:?}: {fault}"));
            assert_eq!(folded.answer, expected, "{len} in {shape:?}");
        }
    }
}

/// The same for the kernel for small inputs, in the plans that use it.
#[test]
fn the_small_kernel_meets_each_element_once() {
    let mut small = 0;
    for len in [1, 129, 1024, 5000, 33_001, 70_000, 260_000] {
        let (values, expected) = numbered(len);
        let plan = Plan::new(Reduction::<f32>::entry(ops::Sum), u64::from(len));
        if plan.entry.kernel != Kernel::Small {
            continue;
        }
        let folded = warpfold_emulator::reduce_small(TakeCensus, &values, len as usize % 4, plan.threads(), len.into());
        let folded = folded.unwrap_or_else(|fault| panic!("{plan}: {fault}"));
        assert_eq!(folded.answer, expected, "{plan}");
        small += 1;
    }
    assert!(small > 3, "the small kernel has {small} plans");
}

/// The plans above speak of leaves of 1024 and warps of 32.
#[test]
fn the_numbers_of_these_tests_are_the_trees() {
    assert_eq!(tree::leaf_elements::<f32>() as u64, LEAF);
    assert_eq!(tree::LANES, 32);
    let plans = backends::plans::<f32, _>(
        ops::Max,
        5000,
        Shape {
            warps: 2,
            leaves_per_warp: 2,
            blocks: 3,
        },
    );
    assert_eq!(plans.iter().map(|plan| plan.tiles).collect::<Vec<_>>(), [2, 3]);
}
