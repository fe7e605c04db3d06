//! Rungs with a mistake that everybody makes once, for the emulator to find. On a GPU each of them is right most of the time.

use warpfold_kernels::{
    ladder::{
        Grid, Step,
        sum::{SumView, shuffled, thread_of_grid},
    },
    simt::Simt,
};

use super::{Climb, sum_by};
use crate::{fault::Fault, lane::Lane};

/// A kernel with a mistake in it.
#[derive(Clone, Copy, Debug)]
pub struct Planted {
    /// What it is called.
    pub name: &'static str,
    /// What is wrong.
    pub wrong: &'static str,
    kernel: fn(Lane<'_>, SumView),
}

/// All of them.
pub const PLANTED: [Planted; 3] = [
    Planted {
        name: "barrier left out",
        wrong: "the tree in shared memory without its barrier: a thread adds what its neighbour may not have written yet",
        kernel: |lane, launch| barrier_left_out(lane, launch),
    },
    Planted {
        name: "read before write",
        wrong: "the first warp reads a slot of each of 32 warps, though the block has 8",
        kernel: |lane, launch| read_before_write(lane, launch),
    },
    Planted {
        name: "shuffle with an absent lane",
        wrong: "lanes without an element leave before the shuffles that wait for them",
        kernel: |lane, launch| absent_lane(lane, launch),
    },
];

impl Planted {
    /// Runs it over so many ones, and says what the emulator found; nothing, where it found nothing.
    #[must_use]
    pub fn found(&self, len: usize, seed: u64) -> Option<Fault> {
        let step = Step {
            kernel: self.kernel,
            threads: 256,
            grid: Grid::Each(256),
            cooperative: false,
        };
        sum_by(
            &[step],
            false,
            &vec![1.0; len],
            Climb::new(seed),
            |kernel, lane, launch| kernel(lane, launch),
        )
        .err()
    }
}

fn of_thread<S: Simt>(simt: S, launch: &SumView) -> f32 {
    launch.element(simt, thread_of_grid(simt))
}

fn answer<S: Simt>(simt: S, launch: &SumView, sum: f32) {
    if simt.thread() == 0 {
        launch.add(simt, sum);
    }
}

fn barrier_left_out<S: Simt>(simt: S, launch: SumView) {
    let (thread, mut sum) = (simt.thread(), of_thread(simt, &launch));
    simt.store_shared(thread, sum.to_bits());
    simt.barrier();
    let mut stride = simt.threads() / 2;
    while stride >= 1 {
        if thread < stride {
            sum += f32::from_bits(simt.load_shared(thread + stride));
            simt.store_shared(thread, sum.to_bits());
        }
        // Here is where it should be.
        stride /= 2;
    }
    answer(simt, &launch, sum);
}

fn read_before_write<S: Simt>(simt: S, launch: SumView) {
    let sum = shuffled::warp(simt, of_thread(simt, &launch));
    if simt.lane() == 0 {
        simt.store_shared(simt.warp(), sum.to_bits());
    }
    simt.barrier();
    if simt.warp() == 0 {
        // It should ask for as many as there are warps.
        let of_warp = f32::from_bits(simt.load_shared(simt.lane()));
        answer(simt, &launch, shuffled::warp(simt, of_warp));
    }
}

fn absent_lane<S: Simt>(simt: S, launch: SumView) {
    if thread_of_grid(simt) >= launch.len() {
        // It should stay, and bring 0.
        return;
    }
    let sum = shuffled::warp(simt, of_thread(simt, &launch));
    if simt.lane() == 0 {
        launch.add(simt, sum);
    }
}
