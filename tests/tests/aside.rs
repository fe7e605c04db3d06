//! What of a state associates is set aside until a lane's last leaf, and leaves meet four at a time: the kernel in the emulator gives
//! the CPU's answers and states, wherever the elements lie that change what was set aside.

use warpfold::{
    Plan, cpu,
    ops::{Describe, Kurtosis, MeanVariance, Reduction, element::Float},
    plan::Shape,
};
use warpfold_kernels::tree::leaf_elements;
use warpfold_tests::{Bits, backends};

/// Whole leaves of the arrays below; part of another follows.
const LEAVES: usize = 37;

/// Elements from −1 to 1, no two alike in a leaf.
fn plain(i: usize) -> f64 {
    (i.wrapping_mul(2_654_435_761) % 65_521) as f64 / 32_760.5 - 1.0
}

/// The elements of an array, by their indices.
type Array = Box<dyn Fn(usize) -> f64>;

/// Arrays, leaves being of `leaf` elements.
fn arrays(leaf: usize) -> Vec<(&'static str, Array)> {
    let at = move |i: usize, number: usize, place: usize| i == number * leaf + place;
    vec![
        ("plain", Box::new(plain)),
        // Every leaf has a new end.
        ("rising", Box::new(|i| i as f64)),
        ("falling", Box::new(|i| -(i as f64))),
        // The ends come late, and once more.
        (
            "two of each end",
            Box::new(move |i| match i {
                _ if at(i, 20, 5) || at(i, 21, 0) => 7.0,
                _ if at(i, 36, 3) || at(i, 35, 9) => -7.0,
                _ => plain(i),
            }),
        ),
        // Zeros are the smallest, and the largest; the other zero comes later, and changes the end, but not its place.
        ("no negative", Box::new(|i| plain(i).max(0.0))),
        ("no positive", Box::new(|i| plain(i).min(-0.0))),
        (
            "a negative zero among positive ones",
            Box::new(move |i| if at(i, 25, 70) { -0.0 } else { plain(i).max(0.0) }),
        ),
        (
            "a positive zero among negative ones",
            Box::new(move |i| if at(i, 25, 70) { 0.0 } else { plain(i).min(-0.0) }),
        ),
        ("zeros", Box::new(|i| if i % 3 == 0 { -0.0 } else { 0.0 })),
        // What is not finite is seen in some leaves; after an infinity there may be another.
        (
            "few that are not finite",
            Box::new(move |i| match i {
                _ if at(i, 9, 33) || at(i, 30, 1) => f64::NAN,
                _ if at(i, 12, 2) || at(i, 31, 4) => f64::INFINITY,
                _ if at(i, 17, 0) || at(i, 17, 1) => f64::NEG_INFINITY,
                _ => plain(i),
            }),
        ),
        (
            "a leaf of NaN",
            Box::new(move |i| if i / leaf == 4 { f64::NAN } else { plain(i) }),
        ),
        ("nothing but NaN", Box::new(|_| f64::NAN)),
        ("one value", Box::new(|_| 0.25)),
    ]
}

fn same_as_the_cpu<T: Float, R: Reduction<T>>(op: R, name: &str, values: &[T]) {
    let expected = (
        Bits::of(cpu::reduce(op, values).expect("elements")),
        Bits::of_state(op, cpu::fold(op, values)),
    );
    for (seed, (warps, leaves_per_warp, blocks)) in [(1, 32, 1), (4, 4, 1), (2, 8, 2), (2, 2, 3), (4, 1, 2), (1, 1, 5)]
        .into_iter()
        .enumerate()
    {
        let shape = Shape {
            warps,
            leaves_per_warp,
            blocks,
        };
        let plan = Plan::with_shape(op.entry(), values.len() as u64, shape).expect("a legal shape");
        for misalign in [0, 1] {
            let emulated = backends::emulator(op, values, &plan, misalign, seed as u64).expect("elements");
            let got = (emulated.answer, emulated.state);
            assert_eq!(got, expected, "{}, {name}, {plan}, {misalign} off", R::NAME);
        }
    }
}

fn every_array<T: Float, R: Reduction<T>>(op: R) {
    let leaf = leaf_elements::<T>();
    for (name, element) in arrays(leaf) {
        let values: Vec<T> = (0..LEAVES * leaf + leaf / 3).map(|i| T::from_f64(element(i))).collect();
        same_as_the_cpu(op, name, &values);
    }
}

#[test]
fn descriptions_of_f32() {
    every_array::<f32, _>(Describe { correction: 1.0 });
}

#[test]
fn descriptions_of_f64() {
    every_array::<f64, _>(Describe { correction: 0.0 });
}

#[test]
fn leaves_that_meet_in_fours() {
    every_array::<f32, _>(Kurtosis);
    every_array::<f64, _>(MeanVariance::default());
}

/// What a description has of zeros is what its elements are, one after the other.
#[test]
fn zeros_are_told_apart_and_share_a_place() {
    let leaf = leaf_elements::<f32>();
    let mut values = vec![1.0_f32; 3 * leaf];
    values[leaf + 5] = 0.0;
    values[2 * leaf + 7] = -0.0;
    let shape = Shape {
        warps: 1,
        leaves_per_warp: 4,
        blocks: 1,
    };
    let op = Describe::default();
    let plan = Plan::with_shape(<Describe as Reduction<f32>>::entry(op), values.len() as u64, shape).expect("legal");
    let emulated = backends::emulator(op, &values, &plan, 0, 0).expect("elements");
    let summary = cpu::reduce(op, &values).expect("elements");
    assert_eq!(emulated.answer, Bits::of(summary));
    assert_eq!(summary.min.map(f32::to_bits), Some((-0.0_f32).to_bits()));
    assert_eq!((summary.argmin, summary.zeros), (Some(leaf as u64 + 5), 2));
}
