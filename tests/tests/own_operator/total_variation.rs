//! Total variation, a kernel of a user's own: the emulator's bits against the tree that its page draws, and sums against the plain formula.

#[path = "../../../host/examples/total_variation/emulator.rs"]
mod emulator;

use own_operator::total_variation::TILE;
use warpfold_tests::{cases, spec};

/// The kernel's answer on the schedule of a seed, of values that lie on each alignment in turn.
fn on_emulator(values: &[f32], seed: u64) -> f32 {
    emulator::on_emulator(values, (seed % 4) as usize, seed).expect("no fault")
}

#[test]
fn the_kernel_gives_the_bits_of_its_tree_on_every_schedule() {
    let tile = TILE as usize;
    for len in [0, 1, 2, 3, 256, 257, tile, tile + 1, tile + 2, 5 * tile + 77] {
        for case in [cases::UNIFORM, cases::WIDE, cases::CYCLE] {
            let values = case.array(len);
            let expected = spec::total_variation(&values);
            for seed in 0..3 {
                let sum = on_emulator(&values, seed);
                assert_eq!(sum.to_bits(), expected.to_bits(), "{len} elements, seed {seed}");
            }
        }
    }
}

#[test]
fn more_tiles_than_a_warp_folds_meet_in_a_block() {
    let values = cases::UNIFORM.array(257 * TILE as usize);
    assert_eq!(
        on_emulator(&values, 1).to_bits(),
        spec::total_variation(&values).to_bits()
    );
}

#[test]
fn sums_are_those_of_the_formula() {
    let values = cases::UNIFORM.array(10_000);
    let steps = values.windows(2).map(|pair| f64::from(pair[1]) - f64::from(pair[0]));
    let exact: f64 = steps.map(f64::abs).sum();
    // A step is rounded once, and then added 7 times in a thread, 8 times in a block and 3 times over blocks. All have one sign, so each
    // rounding is at most u of the sum: together 19 u / (1 − 19 u).
    let roundings = 19.0 / f64::from(1 << 24);
    let bound = roundings / (1.0 - roundings) * exact;
    assert!((f64::from(spec::total_variation(&values)) - exact).abs() <= bound);
    // One NaN, whatever the payload of those among the elements.
    for nan in [f32::NAN, -f32::NAN, f32::from_bits(0x7f80_0001)] {
        assert_eq!(on_emulator(&[0.0, nan, 1.0], 1).to_bits(), spec::NAN);
    }
    assert_eq!(spec::total_variation(&[0.0, f32::NAN]).to_bits(), spec::NAN);
    assert_eq!(on_emulator(&[7.0], 1).to_bits(), 0);
    assert_eq!(on_emulator(&[1.0, -2.0, 4.0], 1), 9.0);
}
