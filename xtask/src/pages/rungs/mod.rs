//! The rungs of the sum, step by step: a picture of each, of a small run in the emulator. Which thread works in which step, and what the
//! step is, the run's events say.

mod board;
mod draw;
mod steps;
#[cfg(test)]
mod tests;

use anyhow::{Context, Result, ensure};
use warpfold_emulator::{
    Event,
    ladder::{Climb, sum_in_steps},
};
use warpfold_kernels::{
    ladder::{Grid, Rung, SUMS, SumKernel, sum::wide::TILE},
    tree::LANES,
};

use self::steps::Step;

/// A launch that is small enough to be drawn: a rung, blocks and threads of its first kernel, and elements. A second kernel has a block of
/// one warp.
type Small = (&'static str, [u32; 2], u64);

/// A launch of each rung: the fewest threads that show what is new in it. Tiles of wide loads are of blocks of 256 threads.
const SMALL: [Small; SUMS.len()] = [
    ("atomic", [2, 32], 64),
    ("interleaved", [1, 64], 128),
    ("prefix", [1, 64], 128),
    ("shared", [1, 64], 128),
    ("segmented", [4, 32], 256),
    ("coarsened", [2, 32], 256),
    ("block-atomic", [2, 64], 128),
    ("shuffled", [2, 64], 128),
    ("grid-stride", [2, 64], 512),
    ("wide", [2, 256], 4 * TILE),
    ("two-kernels", [3, 256], 3 * TILE),
    ("grid-barrier", [3, 256], 3 * TILE),
    ("last-block", [3, 256], 3 * TILE),
];

/// The schedule: with it, the last block is not the one with the largest number.
const SEED: u64 = 1;

/// A launch, as it went.
struct Launched {
    blocks: u32,
    threads: u32,
    steps: Vec<Step>,
}

/// Runs a rung's small launch.
fn run(&(name, [blocks, threads], len): &Small) -> Result<(&'static Rung<SumKernel>, Vec<Launched>)> {
    let rung = SUMS.iter().find(|rung| rung.name == name).context("no rung")?;
    let mut kernels = rung.steps.to_vec();
    for (i, kernel) in kernels.iter_mut().enumerate() {
        (kernel.threads, kernel.grid) = match i {
            0 => (threads, Grid::Each(len / u64::from(blocks))),
            _ => (LANES, Grid::One),
        };
    }
    // Sums of these are exact in any order.
    let values: Vec<f32> = (0..len).map(|i| (i % 7) as f32).collect();
    let mut climb = Climb::new(SEED);
    climb.traced = true;
    let climbed = sum_in_steps(rung, &kernels, &values, climb)?;
    ensure!(climbed.answer == values.iter().sum::<f32>(), "{name} is wrong");
    let launched = |(i, events): (usize, &[Event])| {
        let (blocks, threads) = (if i == 0 { blocks } else { 1 }, kernels[i].threads);
        Launched {
            blocks,
            threads,
            steps: steps::of(events),
        }
    };
    let launches = climbed.launches().enumerate().map(launched).collect();
    Ok((rung, launches))
}

/// The pictures: names and texts.
pub fn pictures() -> Result<Vec<(String, String)>> {
    let picture = |small: &Small| {
        let (rung, launches) = run(small).context(small.0)?;
        Ok((format!("rung-{}.svg", small.0), draw::draw(rung, small.2, &launches)))
    };
    SMALL.iter().map(picture).collect()
}
