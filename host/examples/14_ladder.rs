//! A kernel of one's own on a machine without a GPU: the emulator runs it lane by lane, counts what it does, and finds what is wrong with it.
//!
//! `cargo run --release -p warpfold --example 14_ladder`

use std::error::Error;

use warpfold_emulator::{
    Counts,
    ladder::{self, Climb, planted::PLANTED},
};
use warpfold_kernels::{
    ladder::{
        Grid, SUMS, Step,
        sum::{SumView, shuffled, thread_of_grid},
    },
    simt::Simt,
};

/// The sum of squares: a rung of the ladder, with one line changed. A kernel is a function of the machine; this one has a thread for each element.
fn sum_of_squares<S: Simt>(simt: S, launch: SumView) {
    // An element that is not there counts as 0.
    let value = launch.element(simt, thread_of_grid(simt));
    let sum = shuffled::block(simt, value * value);
    if simt.thread() == 0 {
        launch.add(simt, sum);
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let values: Vec<f32> = (1..=1000).map(|i| (i % 7) as f32).collect();
    let traced = Climb {
        traced: true,
        ..Climb::new(1)
    };

    // Rungs, from the first to the last.
    for rung in &SUMS {
        let climbed = ladder::sum(rung, &values, traced)?;
        let counts = Counts::of(&climbed.events);
        println!(
            "{:<13} {}  {:>4} atomics, {:>3} barriers, {:>3} shuffles",
            rung.name, climbed.answer, counts.atomics, counts.barriers, counts.shuffles
        );
        assert_eq!(climbed.answer, values.iter().sum());
    }

    // One of our own.
    let blocks_of_256 = Step {
        kernel: (),
        threads: 256,
        grid: Grid::Each(256),
        cooperative: false,
    };
    let squares = ladder::sum_by(&[blocks_of_256], false, &values, traced, |(), lane, launch| {
        sum_of_squares(lane, launch);
    })?;
    println!("\nsum of squares: {}", squares.answer);
    assert_eq!(squares.answer, values.iter().map(|x| x * x).sum());

    // And some that are wrong.
    for planted in &PLANTED {
        let fault = planted.found(300, 1).ok_or("the emulator found nothing")?;
        println!("\n{}: {fault}", planted.name);
    }
    Ok(())
}
