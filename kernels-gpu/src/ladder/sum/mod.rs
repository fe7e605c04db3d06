//! A sum of f32, rung by rung: each file is a kernel, and begins with what it does that the one before it did not.

pub mod all_atomic;
pub mod block_atomic;
pub mod coarsened;
pub mod grid_barrier;
pub mod grid_stride;
pub mod interleaved;
pub mod last_block;
pub mod prefix;
pub mod segmented;
pub mod shared;
pub mod shuffled;
pub mod stages;
pub mod two_kernels;
pub mod wide;

use crate::simt::Simt;

/// What a launch passes to each of these kernels.
///
/// `input` is aligned to 16 bytes and valid for `len` elements, and so is `work` where a kernel overwrites elements; else there are
/// slots in it, one for each block. `out` is one element, 0 where blocks add to it by atomics. `counter` is 0, and is left at 0.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct SumLaunch {
    /// The elements.
    pub input: *const f32,
    /// The elements once more, to be overwritten; or slots.
    pub work: *mut f32,
    /// The answer.
    pub out: *mut f32,
    /// Where blocks draw tickets.
    pub counter: *mut u32,
    /// How many elements there are.
    pub len: u64,
    /// How many elements each thread adds up by itself, where that is the launch's to say.
    pub factor: u64,
}

/// This thread's number in the grid.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn thread_of_grid<S: Simt>(simt: S) -> u64 {
    u64::from(simt.block()) * u64::from(simt.threads()) + u64::from(simt.thread())
}

/// An element; 0 where there is none.
///
/// # Safety
///
/// As [`SumLaunch`] says.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub unsafe fn element<S: Simt>(simt: S, launch: &SumLaunch, i: u64) -> f32 {
    if i >= launch.len {
        return 0.0;
    }
    // SAFETY: it is there.
    f32::from_bits(unsafe { simt.load_input(launch.input.add(i as usize).cast()) })
}

impl SumLaunch {
    /// Writes the answer. Called by: one thread
    ///
    /// # Safety
    ///
    /// As the type says.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub unsafe fn answer<S: Simt>(&self, simt: S, sum: f32) {
        // SAFETY: passed on to the caller.
        unsafe { simt.store(self.out.cast(), sum.to_bits()) };
    }

    /// Adds element `other` of `work` to element `to`.
    ///
    /// # Safety
    ///
    /// As the type says; no other thread has either of them now.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub unsafe fn add_work<S: Simt>(&self, simt: S, to: u32, other: u32) {
        let at = |i: u32| self.work.wrapping_add(i as usize).cast::<u32>();
        // SAFETY: passed on to the caller.
        unsafe {
            let sum = f32::from_bits(simt.load(at(to))) + f32::from_bits(simt.load(at(other)));
            simt.store(at(to), sum.to_bits());
        }
    }

    /// Writes the first element of `work` as the answer. Called by: one thread
    ///
    /// # Safety
    ///
    /// As the type says.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub unsafe fn answer_with_first<S: Simt>(&self, simt: S) {
        // SAFETY: passed on to the caller.
        unsafe {
            let first = if self.len == 0 { 0 } else { simt.load(self.work.cast()) };
            self.answer(simt, f32::from_bits(first));
        }
    }

    /// What this thread sums of the slots: every so many-th, in their order.
    ///
    /// # Safety
    ///
    /// As the type says; all slots are written, and this thread sees them.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub unsafe fn slots_of_thread<S: Simt>(&self, simt: S) -> f32 {
        let (mut i, mut sum) = (simt.thread(), 0.0);
        while i < simt.blocks() {
            // SAFETY: there is a slot for each block.
            sum += f32::from_bits(unsafe { simt.load(self.work.add(i as usize).cast()) });
            i += simt.threads();
        }
        sum
    }
}
