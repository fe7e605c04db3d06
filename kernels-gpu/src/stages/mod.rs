//! What every kernel is made of: [`load`], what a lane reads; [`reduce`], how that becomes states and one state; [`emit`], where an answer
//! goes. Each is the same for every operator; which of its ways it takes is a [`strategy`].
//!
//! On GPUs stages are inlined, whatever the compiler would do: states stay in registers, and no kernel calls. Elsewhere, on the emulator, it decides;
//! inlined into each kernel of each operator they took four times as long to compile, and ran no faster.

pub mod columns;
pub(crate) mod each;
pub mod emit;
pub mod load;
pub mod reduce;
pub mod strategy;

use crate::{monoids::Words, simt::Simt};

/// A count in 32 bits, as far as they reach: what is compared with it is then compared in 32 bits, whatever a compiler knows of
/// where it comes from.
pub(crate) fn narrow<S: Simt>(simt: S, count: u64) -> u32 {
    simt.opaque(count.min(u64::from(u32::MAX)) as u32)
}

/// Every word of `state` through `f`.
fn map_words<W: Words>(state: W, mut f: impl FnMut(u32) -> u32) -> W {
    let mut i = 0;
    W::from_words(|_| {
        let word = f(state.word(i));
        i += 1;
        word
    })
}

/// Every word of `value`, with its number, to `f`. No loop: a compiler unrolls none of many words, and they would lie in memory.
pub(crate) fn each_word<W: Words>(value: W, mut f: impl FnMut(usize, u32)) {
    let _ = W::from_words(|i| {
        f(i, value.word(i));
        0
    });
}

/// Writes a state to words of shared memory, from one on.
pub(crate) fn store_words<S: Simt, W: Words>(simt: S, at: u32, state: W) {
    each_word(state, |i, word| simt.store_shared(at + i as u32, word));
}

/// The state that lies there.
pub(crate) fn load_words<S: Simt, W: Words>(simt: S, at: u32) -> W {
    W::from_words(|i| simt.load_shared(at + i as u32))
}

/// The state of lane `from`, which each lane names for itself.
///
/// Called by: all 32 lanes together
pub(crate) fn shuffle<S: Simt, W: Words>(simt: S, state: W, from: u32) -> W {
    map_words(state, |word| simt.shuffle(word, from))
}

/// States in global memory, by number: what the blocks of a launch leave each other, and one launch the next.
#[derive(Clone, Copy)]
pub struct StateArray(*mut u32);

impl StateArray {
    /// From an address on; null is no array.
    ///
    /// # Safety
    ///
    /// It is null, or valid for as many states as the kernel has numbers for, and no other launch touches them meanwhile. Who loads one sees that it was stored.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub const unsafe fn new(start: *mut u32) -> Self {
        Self(start)
    }

    /// Whether there is none.
    pub fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// The states from that number on.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[must_use]
    pub fn from<W: Words>(self, number: u64) -> Self {
        Self(self.0.wrapping_add(number as usize * W::COUNT))
    }

    /// Those that begin so many words further on.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[must_use]
    pub(crate) fn words_further(self, words: isize) -> Self {
        Self(self.0.wrapping_offset(words))
    }

    /// The state of that number.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn load<S: Simt, W: Words>(self, simt: S, number: u64) -> W {
        debug_assert!(!self.is_null(), "an array of states");
        // SAFETY: it is one of the array's, as its maker has it; which one is the kernel's to know.
        W::from_words(|i| unsafe { simt.load(self.0.add(number as usize * W::COUNT + i)) })
    }

    /// Stores the state of that number.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn store<S: Simt, W: Words>(self, simt: S, number: u64, state: W) {
        debug_assert!(!self.is_null(), "an array of states");
        // SAFETY: as above.
        each_word(state, |i, word| unsafe {
            simt.store(self.0.add(number as usize * W::COUNT + i), word);
        });
    }
}
