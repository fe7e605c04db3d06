//! Wide loads, several in flight: four floats in one instruction, and eight of those before the first is waited for.
//!
//! Memory answers late. What a multiprocessor reads until then is what it has asked for; so each thread asks for more at once, and
//! the sums it adds to are four, for one would have each addition wait for the last.

use super::{SumView, shuffled::block};
use crate::simt::Simt;

/// Loads of a thread that are in flight together.
const LOADS: usize = 8;

/// Elements of a tile, which a block reads at once.
pub const TILE: u64 = 256 * 4 * LOADS as u64;

/// The kernel, in blocks of 256 threads. Any length, any grid.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn sum<S: Simt>(simt: S, launch: SumView) {
    let sum = block(simt, thread(simt, &launch));
    if simt.thread() == 0 {
        launch.add(simt, sum);
    }
}

/// What this thread sums: of each tile that its block has, eight vectors. What no tile holds, the last block's threads share.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn thread<S: Simt>(simt: S, launch: &SumView) -> f32 {
    let (tiles, mut tile, mut sums) = (launch.len() / TILE, u64::from(simt.block()), [0.0; 4]);
    while tile < tiles {
        add_tile(simt, launch, tile * TILE, &mut sums);
        tile += u64::from(simt.blocks());
    }
    let mut rest = tiles * TILE + u64::from(simt.thread());
    while simt.block() + 1 == simt.blocks() && rest < launch.len() {
        sums[0] += launch.element(simt, rest);
        rest += u64::from(simt.threads());
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}

/// Adds what this thread has of the tile that begins at an element.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
fn add_tile<S: Simt>(simt: S, launch: &SumView, first: u64, sums: &mut [f32; 4]) {
    let at = |load: usize| first + 4 * (256 * load as u64 + u64::from(simt.thread()));
    let vectors: [[f32; 4]; LOADS] = core::array::from_fn(|load| launch.four(simt, at(load)));
    for vector in vectors {
        for i in 0..4 {
            sums[i] += vector[i];
        }
    }
}
