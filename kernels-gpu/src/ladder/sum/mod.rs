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

/// A launch at its word: what a kernel reads and writes is there.
#[derive(Clone, Copy, Debug)]
pub struct SumView(SumLaunch);

impl SumLaunch {
    /// Its memory.
    ///
    /// # Safety
    ///
    /// All is as this type says, for the whole launch.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[must_use]
    pub unsafe fn view(self) -> SumView {
        SumView(self)
    }
}

impl SumView {
    /// How many elements there are.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[must_use]
    pub fn len(&self) -> u64 {
        self.0.len
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many elements each thread adds up by itself.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[must_use]
    pub fn factor(&self) -> u64 {
        self.0.factor
    }

    /// An element; 0 where there is none.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn element<S: Simt>(&self, simt: S, i: u64) -> f32 {
        if i >= self.0.len {
            return 0.0;
        }
        // SAFETY: it is there.
        f32::from_bits(unsafe { simt.load_input(self.0.input.add(i as usize).cast()) })
    }

    /// Four elements that there are, from a multiple of four on.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn four<S: Simt>(&self, simt: S, i: u64) -> [f32; 4] {
        debug_assert!(i + 4 <= self.0.len && i.is_multiple_of(4), "a vector");
        // SAFETY: a tile is whole, and begins at a vector, for the array does.
        unsafe { simt.load_input_vector(self.0.input.wrapping_add(i as usize).cast()) }.map(f32::from_bits)
    }

    /// Writes the answer. Called by: one thread
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn answer<S: Simt>(&self, simt: S, sum: f32) {
        // SAFETY: there is room for it.
        unsafe { simt.store(self.0.out.cast(), sum.to_bits()) };
    }

    /// Adds to the answer, by an atomic.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn add<S: Simt>(&self, simt: S, sum: f32) {
        // SAFETY: it is of all threads.
        unsafe { simt.atomic_add_f32(self.0.out, sum) };
    }

    /// Adds element `other` of `work` to element `to`, if there is such a one. No other thread has either of them now.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn add_work<S: Simt>(&self, simt: S, to: u32, other: u32) {
        if u64::from(u32::max(to, other)) >= self.0.len {
            return;
        }
        let at = |i: u32| self.0.work.wrapping_add(i as usize).cast::<u32>();
        // SAFETY: both are there.
        unsafe {
            let sum = f32::from_bits(simt.load(at(to))) + f32::from_bits(simt.load(at(other)));
            simt.store(at(to), sum.to_bits());
        }
    }

    /// Writes the first element of `work` as the answer. Called by: one thread
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn answer_with_first<S: Simt>(&self, simt: S) {
        let mut first = 0;
        if self.0.len > 0 {
            // SAFETY: it is there.
            first = unsafe { simt.load(self.0.work.cast()) };
        }
        self.answer(simt, f32::from_bits(first));
    }

    /// Writes this block's slot. Called by: one thread
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn put_slot<S: Simt>(&self, simt: S, sum: f32) {
        // SAFETY: there is a slot for each block.
        unsafe { simt.store(self.0.work.add(simt.block() as usize).cast(), sum.to_bits()) };
    }

    /// What this thread sums of the slots, all of which were written: every so many-th, in their order.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn slots_of_thread<S: Simt>(&self, simt: S) -> f32 {
        let (mut i, mut sum) = (simt.thread(), 0.0);
        while i < simt.blocks() {
            // SAFETY: there is a slot for each block.
            sum += f32::from_bits(unsafe { simt.load(self.0.work.add(i as usize).cast()) });
            i += simt.threads();
        }
        sum
    }

    /// Draws a ticket, and says whether it is the last: one for each block, by one of its threads, which sees the slots that others wrote before they drew theirs.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn draws_last<S: Simt>(&self, simt: S) -> bool {
        // SAFETY: the counter is of all blocks.
        unsafe { simt.ticket(self.0.counter, simt.blocks() - 1) + 1 == simt.blocks() }
    }

    /// Whether all tickets were drawn: the last sets the counter back to 0.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn is_last_drawn<S: Simt>(&self, simt: S) -> bool {
        // SAFETY: as above.
        unsafe { simt.load_acquire(self.0.counter) == 0 }
    }
}
