//! A kernel of one's own, around the library's stages: how much an array varies from each element to the next.

use warpfold_kernels::{
    kernels::{Facts, Note},
    monoids::{Monoid, Sum},
    simt::Simt,
    stages::reduce::{
        block::{self, Turn},
        grid::{self, TileSlots},
        warp,
    },
};

/// Threads of a block.
pub const THREADS: u32 = 256;

/// Steps of a thread, each with an element of its own and the one behind it.
const STEPS: u32 = 8;

/// Steps from one element to the next that a block sums. It is the same for every launch: the bits depend on it.
pub const TILE: u64 = (THREADS * STEPS) as u64;

/// The entry point's name.
pub const ENTRY: &str = "total_variation";

/// What a launch passes, in one parameter.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Launch {
    /// The elements.
    pub input: *const f32,
    /// How many there are.
    pub len: u64,
    /// The answer.
    pub out: *mut f32,
    /// A word for each block.
    pub slots: *mut u32,
    /// Zero before the launch, and zero again after it.
    pub ticket: *mut u32,
}

/// How many blocks a launch has: one for each [`TILE`], and at least one.
#[must_use]
pub const fn blocks(len: u64) -> u64 {
    let tiles = len.saturating_sub(1).div_ceil(TILE);
    if tiles == 0 { 1 } else { tiles }
}

/// Sums `|xᵢ₊₁ − xᵢ|`: 0 of fewer than two elements, NaN where one is NaN.
///
/// ```text
/// thread: 8 steps ─ warp: 5 shuffles ─ block: shared memory ─ slot ─ last block: all slots
/// ```
///
/// # Safety
///
/// `input` is valid for `len` elements, which nobody writes meanwhile; `slots` has a word for each of the [`blocks`], which this grid
/// has, of [`THREADS`] threads. All threads of the grid call this alike.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub unsafe fn total_variation<S: Simt>(simt: S, launch: Launch) {
    let mut mine = Monoid::<f32>::identity(Sum);
    let first = u64::from(simt.block()) * TILE + u64::from(simt.thread());
    let mut step = 0;
    while step < STEPS {
        let i = first + u64::from(step * THREADS);
        if i + 1 < launch.len {
            let at = launch.input.wrapping_add(i as usize).cast();
            // SAFETY: both elements are there.
            let [this, next] = unsafe { [simt.load_input(at), simt.load_input(at.wrapping_add(1))] };
            mine += (f32::from_bits(next) - f32::from_bits(this)).abs();
        }
        step += 1;
    }
    let of_warp = warp::reduce::<S, f32, Sum>(simt, Sum, mine);
    let of_block = block::reduce::<S, f32, Sum>(simt, Sum, of_warp, Turn::FIRST);
    // SAFETY: each block has a slot of its own, and they draw this ticket alone.
    let tile_slots = unsafe { TileSlots::new(launch.slots, simt.blocks().into(), launch.ticket, simt.blocks()) };
    grid::put(simt, 0, simt.block().into(), of_block, tile_slots);
    if let Some(total) = grid::last_block_folds::<S, f32, Sum>(simt, Sum, 0, of_block, tile_slots)
        && simt.thread() == 0
    {
        // Fewer than two elements leave the sum of nothing, −0.0. To finish gives the one NaN that answers have.
        let answer = Monoid::<f32>::finish(Sum, total + 0.0, launch.len);
        // SAFETY: one thread of the grid writes it.
        unsafe { simt.store(launch.out.cast(), answer.to_bits()) };
    }
}

/// What the build has to know of the entry: threads of a block, blocks at once (any), words of its state and of its answer, whether it fuses
/// multiplications with additions, barriers, bytes of a launch. One barrier is the block stage's, and three are the last block's.
const FACTS: Facts = [THREADS, 0, 1, 1, 0, 4, size_of::<Launch>() as u32];

/// The line of the module that tells PTX of another source apart.
#[must_use]
pub fn note() -> Note<'static> {
    Note {
        name: ENTRY,
        facts: FACTS,
    }
}

#[cfg(target_arch = "nvptx64")]
mod entry {
    use warpfold_kernels::{kernels::Facts, simt::nvptx::Nvptx};

    use super::{Launch, total_variation};

    warpfold_kernels::kernel! {
        /// [`total_variation`], on a GPU.
        ///
        /// # Safety
        ///
        /// As [`total_variation`].
        #[unsafe(export_name = "total_variation")]
        pub unsafe fn entry(launch: Launch) {
            // SAFETY: passed on to the launcher.
            unsafe { total_variation(Nvptx, launch) }
        }
    }

    #[used]
    #[unsafe(export_name = concat!(env!("CARGO_CRATE_NAME"), "$total_variation"))]
    static FACTS: Facts = super::FACTS;
}
