//! Wide loads, several in flight: four floats in one instruction, and eight of those before the first is waited for.
//!
//! Memory answers late. What a multiprocessor reads until then is what it has asked for; so each thread asks for more at once, and
//! the sums it adds to are four, for one would have each addition wait for the last.

use super::{SumLaunch, element, shuffled::block};
use crate::simt::Simt;

/// Loads of a thread that are in flight together.
const LOADS: usize = 8;

/// Elements of a tile, which a block reads at once.
pub const TILE: u64 = 256 * 4 * LOADS as u64;

/// The kernel, in blocks of 256 threads. Any length, any grid.
///
/// # Safety
///
/// As [`SumLaunch`] says.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub unsafe fn sum<S: Simt>(simt: S, launch: SumLaunch) {
    // SAFETY: passed on to the caller.
    let sum = block(simt, unsafe { thread(simt, &launch) });
    if simt.thread() == 0 {
        // SAFETY: `out` is of all threads.
        unsafe { simt.atomic_add_f32(launch.out, sum) };
    }
}

/// What this thread sums: of each tile that its block has, eight vectors. What no tile holds, the last block's threads share.
///
/// # Safety
///
/// As [`SumLaunch`] says.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub unsafe fn thread<S: Simt>(simt: S, launch: &SumLaunch) -> f32 {
    let (tiles, mut tile, mut sums) = (launch.len / TILE, u64::from(simt.block()), [0.0; 4]);
    while tile < tiles {
        // SAFETY: the tile is whole, and begins at a vector, for the array does.
        unsafe { add_tile(simt, launch.input.add((tile * TILE) as usize), &mut sums) };
        tile += u64::from(simt.blocks());
    }
    let mut rest = tiles * TILE + u64::from(simt.thread());
    while simt.block() + 1 == simt.blocks() && rest < launch.len {
        // SAFETY: the element is there.
        sums[0] += unsafe { element(simt, launch, rest) };
        rest += u64::from(simt.threads());
    }
    (sums[0] + sums[1]) + (sums[2] + sums[3])
}

/// # Safety
///
/// `tile` is one, aligned to 16 bytes.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
unsafe fn add_tile<S: Simt>(simt: S, tile: *const f32, sums: &mut [f32; 4]) {
    let at = |load: usize| tile.wrapping_add(4 * (256 * load + simt.thread() as usize));
    // SAFETY: within the tile, and aligned as it is.
    let words: [[u32; 4]; LOADS] = core::array::from_fn(|load| unsafe { simt.load_input_vector(at(load).cast()) });
    for words in words {
        for i in 0..4 {
            sums[i] += f32::from_bits(words[i]);
        }
    }
}
