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

/// A launch that is small enough to be drawn: of the rung's first kernel. A second one has a block of one warp.
struct Small {
    rung: &'static str,
    blocks: u32,
    threads: u32,
    len: u64,
}

const fn small(rung: &'static str, [blocks, threads]: [u32; 2], len: u64) -> Small {
    Small {
        rung,
        blocks,
        threads,
        len,
    }
}

/// A launch of each rung: the fewest threads that show what is new in it. Tiles of wide loads are of blocks of 256 threads.
const SMALL: [Small; SUMS.len()] = [
    small("atomic", [2, 32], 64),
    small("interleaved", [1, 64], 128),
    small("prefix", [1, 64], 128),
    small("shared", [1, 64], 128),
    small("segmented", [4, 32], 256),
    small("coarsened", [2, 32], 256),
    small("block-atomic", [2, 64], 128),
    small("shuffled", [2, 64], 128),
    small("grid-stride", [2, 64], 512),
    small("wide", [2, 256], 4 * TILE),
    small("two-kernels", [3, 256], 3 * TILE),
    small("grid-barrier", [3, 256], 3 * TILE),
    small("last-block", [3, 256], 3 * TILE),
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
fn run(small: &Small) -> Result<(&'static Rung<SumKernel>, Vec<Launched>)> {
    let rung = SUMS.iter().find(|rung| rung.name == small.rung).context("no rung")?;
    let mut kernels = rung.steps.to_vec();
    for (i, kernel) in kernels.iter_mut().enumerate() {
        (kernel.threads, kernel.grid) = match i {
            0 => (small.threads, Grid::Each(small.len / u64::from(small.blocks))),
            _ => (LANES, Grid::One),
        };
    }
    // Sums of these are exact in any order.
    let values: Vec<f32> = (0..small.len).map(|i| (i % 7) as f32).collect();
    let climb = Climb {
        traced: true,
        ..Climb::new(SEED)
    };
    let climbed = sum_in_steps(rung, &kernels, &values, climb)?;
    ensure!(climbed.answer == values.iter().sum::<f32>(), "{} is wrong", small.rung);
    let launched = |(i, events): (usize, &[Event])| Launched {
        blocks: if i == 0 { small.blocks } else { 1 },
        threads: kernels[i].threads,
        steps: steps::of(events),
    };
    let launches = climbed.launches().enumerate().map(launched).collect();
    Ok((rung, launches))
}

/// The pictures: names and texts.
pub fn pictures() -> Result<Vec<(String, String)>> {
    let picture = |small: &Small| {
        let (rung, launches) = run(small).with_context(|| small.rung.to_owned())?;
        Ok((
            format!("rung-{}.svg", small.rung),
            draw::draw(rung, small.len, &launches),
        ))
    };
    SMALL.iter().map(picture).collect()
}
