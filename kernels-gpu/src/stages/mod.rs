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

/// Reads the state at `slot` of an array of states that this launch wrote.
///
/// # Safety
///
/// As [`Simt::load`], for each of the state's words.
pub(crate) unsafe fn load_state<S: Simt, W: Words>(simt: S, slots: *const u32, slot: u64) -> W {
    // SAFETY: passed on to the caller.
    W::from_words(|i| unsafe { simt.load(slots.add(slot as usize * W::COUNT + i)) })
}

/// Writes `state` at `slot` of an array of states.
///
/// # Safety
///
/// As [`Simt::store`], for each of the state's words.
pub(crate) unsafe fn store_state<S: Simt, W: Words>(simt: S, slots: *mut u32, slot: u64, state: W) {
    // SAFETY: passed on to the caller.
    each_word(state, |i, word| unsafe {
        simt.store(slots.add(slot as usize * W::COUNT + i), word);
    });
}
