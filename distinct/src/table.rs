//! Table stage: keys meet in a hash table in global memory, and each that is new is counted by the lane that brought it.
//!
//! Open addressing with linear probing (Knuth, *The Art of Computer Programming*, volume 3, section 6.4, algorithm L), which on GPUs is
//! that of Alcantara et al., "Real-time parallel hashing on the GPU", 2009, and its successors: a slot is claimed by one
//! compare-and-swap. Keys are never taken out or moved, so a slot that was read as a key's stays that key's, and a relaxed read before
//! the exchange spares most exchanges.
//!
//! Which lane brings a key first is chance. How many keys are brought is not, nor is the sum of what the lanes count.

use warpfold_kernels::simt::Simt;

/// A slot's content: a key, or 0 for none.
pub trait Slot: Copy + Eq + 'static {
    /// 32-bit words.
    const WORDS: usize;
    /// Nothing is there.
    const EMPTY: Self;
    /// What is in the place that [`Region`] has for the key 0, once that was brought.
    const MARK: Self;

    /// The low bits of a key.
    fn of_key(key: u64) -> Self;
    /// The key.
    fn to_key(self) -> u64;

    /// [`Simt::load_relaxed`] of a slot.
    ///
    /// # Safety
    ///
    /// As [`Simt::load_relaxed`].
    unsafe fn load_relaxed<S: Simt>(simt: S, from: *const Self) -> Self;
    /// [`Simt::compare_exchange`] of an empty slot.
    ///
    /// # Safety
    ///
    /// As [`Simt::compare_exchange`].
    unsafe fn claim<S: Simt>(simt: S, at: *mut Self, new: Self) -> Self;
    /// [`Simt::load_shared_relaxed`] of slot `at` of the shared memory.
    fn load_shared_relaxed<S: Simt>(simt: S, at: u32) -> Self;
    /// [`Simt::store_shared_relaxed`].
    fn store_shared_relaxed<S: Simt>(simt: S, at: u32, key: Self);
}

impl Slot for u32 {
    const WORDS: usize = 1;
    const EMPTY: Self = 0;
    const MARK: Self = 1;

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn of_key(key: u64) -> Self {
        key as Self
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn to_key(self) -> u64 {
        self.into()
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn load_relaxed<S: Simt>(simt: S, from: *const Self) -> Self {
        // SAFETY: passed on to the caller.
        unsafe { simt.load_relaxed(from) }
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn claim<S: Simt>(simt: S, at: *mut Self, new: Self) -> Self {
        // SAFETY: passed on to the caller.
        unsafe { simt.compare_exchange(at, Self::EMPTY, new) }
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn load_shared_relaxed<S: Simt>(simt: S, at: u32) -> Self {
        simt.load_shared_relaxed(at)
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn store_shared_relaxed<S: Simt>(simt: S, at: u32, key: Self) {
        simt.store_shared_relaxed(at, key);
    }
}

impl Slot for u64 {
    const WORDS: usize = 2;
    const EMPTY: Self = 0;
    const MARK: Self = 1;

    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn of_key(key: u64) -> Self {
        key
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn to_key(self) -> u64 {
        self
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn load_relaxed<S: Simt>(simt: S, from: *const Self) -> Self {
        // SAFETY: passed on to the caller.
        unsafe { simt.load_relaxed_u64(from) }
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    unsafe fn claim<S: Simt>(simt: S, at: *mut Self, new: Self) -> Self {
        // SAFETY: passed on to the caller.
        unsafe { simt.compare_exchange_u64(at, Self::EMPTY, new) }
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn load_shared_relaxed<S: Simt>(simt: S, at: u32) -> Self {
        simt.load_shared_relaxed_u64(2 * at)
    }
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn store_shared_relaxed<S: Simt>(simt: S, at: u32, key: Self) {
        simt.store_shared_relaxed_u64(2 * at, key);
    }
}

/// The slots of one answer, and behind them the place of the key 0, whose bits are those of an empty slot.
#[derive(Clone, Copy)]
pub struct Region<K> {
    /// The first.
    pub first: *mut K,
    /// How many there are beside that place: more than there are keys.
    pub slots: u64,
}

impl<K: Slot> Region<K> {
    /// Puts a key in the table, unless it is there. Whether it was not: of all lanes that bring a key, one hears so.
    ///
    /// Called by: each lane by itself · Valid in: that lane · Scratch: the table
    ///
    /// # Safety
    ///
    /// The slots and the place behind them are valid, and in this launch touched by this function alone.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub unsafe fn bring<S: Simt>(self, simt: S, key: K, scattered: u64) -> bool {
        let (mut at, content) = if key == K::EMPTY {
            (self.slots, K::MARK)
        } else {
            (slot(scattered, self.slots), key)
        };
        // There is always an empty slot: that all are asked once at most is for an input that changes meanwhile.
        let mut left = self.slots;
        loop {
            let here = self.first.wrapping_add(at as usize);
            // SAFETY: passed on to the caller.
            let mut found = unsafe { K::load_relaxed(simt, here) };
            if found == K::EMPTY {
                // SAFETY: passed on to the caller.
                found = unsafe { K::claim(simt, here, content) };
                if found == K::EMPTY {
                    return true;
                }
            }
            if found == content || left == 0 {
                return false;
            }
            left -= 1;
            at += 1;
            if at >= self.slots {
                at = 0;
            }
        }
    }
}

/// The slot that a key is looked for in first: its scattered bits as a fraction of all there are (Lemire, "Fast random integer
/// generation in an interval", 2019).
#[cfg_attr(target_arch = "nvptx64", inline(always))]
const fn slot(scattered: u64, slots: u64) -> u64 {
    ((scattered as u128 * slots as u128) >> 64) as u64
}

/// The words of shared memory in which a block keeps keys that it has brought: a near cache of the table, each place that of the last
/// key of several. Where few keys are many elements, hardly any is looked for further away.
const NEAR_WORDS: u32 = 1024;

/// Empties the near cache.
///
/// Called by: all threads of the block together · Scratch: the shared buffers
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn empty_near<S: Simt>(simt: S) {
    let mut at = simt.thread();
    while at < NEAR_WORDS {
        simt.store_shared(at, 0);
        at += simt.threads();
    }
    simt.barrier();
}

/// The place of a key in the near cache: by other bits than its slot.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub const fn near<K: Slot>(scattered: u64) -> u32 {
    scattered as u32 % (NEAR_WORDS / K::WORDS as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::equality::scattered;

    #[test]
    fn every_slot_is_some_keys_and_none_is_outside() {
        let mut seen = [false; 37];
        for key in 0..1000 {
            seen[slot(scattered(key), 37) as usize] = true;
        }
        assert_eq!(seen, [true; 37]);
        assert_eq!(slot(u64::MAX, u64::MAX), u64::MAX - 1);
        assert_eq!((slot(0, 5), slot(u64::MAX, 5)), (0, 4));
        assert!((0..1000).all(|key| near::<u64>(scattered(key)) < 512 && near::<u32>(scattered(key)) < 1024));
    }
}
