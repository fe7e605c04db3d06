//! The whole-array kernel on the emulator: no fault on any schedule, and always the canonical tree's bits.

use warpfold_emulator::{Shape, reduce_all};
use warpfold_kernels::monoids::{Arg, Extremum, Mean, Monoid, Sum};

/// The canonical tree as its text has it, by recursion and with its constants as numbers: rows of 128, 8 rows a leaf.
fn canonical<M: Monoid<f32>>(op: M, values: &[f32]) -> M::State {
    let at = |i: usize| match values.get(i) {
        Some(&value) => op.lift(value, i as u64),
        None => op.identity(),
    };
    let leaf = |leaf: usize| {
        let column = |column: usize| neighbours(op, 8, &|row| at(1024 * leaf + 128 * row + column));
        neighbours(op, 128, &column)
    };
    neighbours(op, values.len().div_ceil(1024).next_power_of_two(), &leaf)
}

/// `count` states in pairs of neighbours, then the results in pairs: the two halves, each on its own, then together.
fn neighbours<M: Monoid<f32>>(op: M, count: usize, state: &dyn Fn(usize) -> M::State) -> M::State {
    if count == 1 {
        return state(0);
    }
    let half = count / 2;
    let low = neighbours(op, half, state);
    op.combine(low, neighbours(op, half, &|i| state(half + i)))
}

/// Values whose sum depends on the order. The cycle's length is prime, so swapped tiles show.
fn cycle_of_251(len: usize) -> Vec<f32> {
    (0..len)
        .map(|i| (i % 251) as f32 * 0.1 - 7.3 + 1e6 * f32::from(u8::from(i % 83 == 0)))
        .collect()
}

/// Lengths where a stage changes shape, and one to each side.
const EDGES: [usize; 16] = [
    0, 1, 2, 31, 127, 128, 129, 1023, 1024, 1025, 4095, 4096, 4097, 33_000, 65_536, 65_537,
];

const SHAPES: [(u32, u32, u32); 6] = [
    (32, 1, 1),
    (32, 2, 5),
    (64, 1, 3),
    (128, 4, 2),
    (256, 1, 7),
    (1024, 4, 2),
];

#[test]
fn the_sum_is_the_canonical_trees_to_the_bit_whatever_the_launch() {
    for len in EDGES {
        let values = cycle_of_251(len);
        let expected = canonical(Sum, &values);
        for (i, (threads, leaves_per_warp, blocks)) in SHAPES.into_iter().enumerate() {
            let shape = Shape {
                threads,
                leaves_per_warp,
                blocks,
            };
            for (misalign, seed) in [(0, 1), (0, 2), (1, 3), (3, 4)] {
                let seed = 100 * i as u64 + seed;
                let folded = reduce_all(Sum, &values, misalign, shape, seed)
                    .unwrap_or_else(|fault| panic!("len {len}, {shape:?}, misalign {misalign}, seed {seed}: {fault}"));
                assert_eq!(
                    folded.state.to_bits(),
                    expected.to_bits(),
                    "len {len}, {shape:?}, misalign {misalign}, seed {seed}"
                );
            }
        }
    }
}

#[test]
fn the_slots_of_many_tiles_fold_in_rounds() {
    // One warp folds 1024 slots in a round, so these take two rounds.
    for (len, threads) in [(1024 * 1024 + 1, 32), (3 * 1024 * 1024, 64)] {
        let values = cycle_of_251(len);
        let shape = Shape {
            threads,
            leaves_per_warp: 1,
            blocks: 3,
        };
        let folded = reduce_all(Sum, &values, 0, shape, 9).unwrap_or_else(|fault| panic!("{fault}"));
        assert_eq!(folded.state.to_bits(), canonical(Sum, &values).to_bits());
    }
}

#[test]
fn operators_of_any_width_fold_alike() {
    let values = cycle_of_251(10_000);
    let shape = Shape {
        threads: 64,
        leaves_per_warp: 2,
        blocks: 2,
    };
    for seed in 0..8 {
        let fold = |misalign| {
            let max =
                reduce_all(Extremum::LARGEST, &values, misalign, shape, seed).unwrap_or_else(|fault| panic!("{fault}"));
            let best =
                reduce_all(Arg::LARGEST, &values, misalign, shape, seed).unwrap_or_else(|fault| panic!("{fault}"));
            let mean = reduce_all(Mean, &values, misalign, shape, seed).unwrap_or_else(|fault| panic!("{fault}"));
            let expected: f32 = Monoid::<f32>::finish(Mean, canonical(Mean, &values), 10_000);
            assert_eq!(mean.answer.to_bits(), expected.to_bits());
            (max.answer, best.answer, best.state)
        };
        let best = canonical(Arg::LARGEST, &values);
        let value: f32 = Arg::LARGEST.value(best);
        assert_eq!(fold(0), (value, best.place, best));
        assert_eq!(fold(2), (value, best.place, best));
    }
}

#[test]
fn nothing_has_the_answer_of_nothing() {
    let shape = Shape {
        threads: 64,
        leaves_per_warp: 1,
        blocks: 1,
    };
    let folded = reduce_all::<f32, _>(Sum, &[], 0, shape, 0).unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(
        (folded.answer.to_bits(), folded.state.to_bits()),
        (0, (-0.0f32).to_bits())
    );
}

#[test]
fn the_largest_blocks_fit_by_the_dozen() {
    let values = cycle_of_251(40 * 32 * 1024);
    let shape = Shape {
        threads: 1024,
        leaves_per_warp: 1,
        blocks: 40,
    };
    let folded = reduce_all(Sum, &values, 0, shape, 3).unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(folded.state.to_bits(), canonical(Sum, &values).to_bits());
}

#[test]
#[ignore = "a measurement: cargo test --release -p warpfold-emulator --test whole -- --ignored --nocapture"]
fn throughput() {
    let values = cycle_of_251(8 << 20);
    for (threads, leaves_per_warp, blocks) in [(32, 32, 4), (256, 1, 8), (256, 8, 32), (1024, 4, 16)] {
        let shape = Shape {
            threads,
            leaves_per_warp,
            blocks,
        };
        for (misalign, seed) in [(0, 1), (0, 2), (0, 3), (1, 1)] {
            let start = std::time::Instant::now();
            let folded = reduce_all(Sum, &values, misalign, shape, seed).unwrap_or_else(|fault| panic!("{fault}"));
            let seconds = start.elapsed().as_secs_f64();
            let (million, steps) = (values.len() as f64 / 1e6, folded.run.steps as f64);
            println!(
                "{shape:?}, misalign {misalign}, seed {seed}: {:.1} M elements/s, {:.0} ns a step",
                million / seconds,
                1e9 * seconds / steps
            );
        }
    }
}
