//! Table stage: keys go to a hash table in global memory, and each that is new is counted by the lane that inserted it.
//!
//! Open addressing with linear probing (Knuth, *The Art of Computer Programming*, volume 3, section 6.4, algorithm L), which on GPUs is
//! that of Alcantara et al., "Real-time parallel hashing on the GPU", 2009, and its successors: a slot is claimed by one
//! compare-and-swap. Keys are never taken out or moved, so a slot that was read as a key's stays that key's, and a relaxed load before
//! the compare-and-swap spares most of those.
//!
//! Which lane inserts a key first is chance. How many keys are inserted is not, nor is the sum of what the lanes count.

use core::marker::PhantomData;

use warpfold_kernels::simt::Simt;

/// A slot's content: a key, or 0 for none.
pub trait Slot: Copy + Eq + 'static {
    /// 32-bit words: one or two.
    const WORDS: usize;
    /// Nothing is there.
    const EMPTY: Self;
    /// What is in the place that [`Region`] has for the key 0, once that was inserted.
    const MARK: Self;

    /// The low bits of a key.
    fn of_key(key: u64) -> Self;
    /// The key.
    fn to_key(self) -> u64;
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
}

/// The slots of one answer, and after them the place of the key 0, whose bits are those of an empty slot.
#[derive(Clone, Copy)]
pub struct Region<K> {
    first: *mut K,
    slots: u64,
}

impl<K: Slot> Region<K> {
    /// So many slots from `first` on, beside the place of the key 0: more than there are keys.
    ///
    /// # Safety
    ///
    /// As long as keys are inserted, the slots and the place after them are valid, and nothing but [`insert`](Self::insert) touches them.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    #[must_use]
    pub const unsafe fn new(first: *mut K, slots: u64) -> Self {
        Self { first, slots }
    }

    /// Inserts a key, unless it is there. Whether it was not: of all lanes that insert a key, one is told so.
    ///
    /// Called by: each lane by itself · Valid in: that lane · Scratch: the table
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn insert<S: Simt>(self, simt: S, key: K, hash: u64) -> bool {
        let (mut at, content) = if key == K::EMPTY {
            (self.slots, K::MARK)
        } else {
            (slot(hash, self.slots), key)
        };
        // There is always an empty slot: that all are probed once at most is for an input that changes meanwhile.
        let mut left = self.slots;
        loop {
            let mut found = self.load(simt, at);
            if found == K::EMPTY {
                found = self.claim(simt, at, content);
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

    /// The content of slot `at`, or of the place after the last.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn load<S: Simt>(self, simt: S, at: u64) -> K {
        let from = self.first.wrapping_add(at as usize);
        // SAFETY: it is one of the region's, which whoever made the region vouches for.
        K::of_key(unsafe {
            if K::WORDS == 1 {
                simt.load_relaxed(from.cast()).into()
            } else {
                simt.load_relaxed_u64(from.cast())
            }
        })
    }

    /// Puts a content in slot `at`, if that is empty. What was there.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    fn claim<S: Simt>(self, simt: S, at: u64, content: K) -> K {
        let (to, content) = (self.first.wrapping_add(at as usize), content.to_key());
        // SAFETY: as `load`.
        K::of_key(unsafe {
            if K::WORDS == 1 {
                simt.compare_exchange(to.cast(), 0, content as u32).into()
            } else {
                simt.compare_exchange_u64(to.cast(), 0, content)
            }
        })
    }
}

/// The slot that a key is looked up in first: its hash as a fraction of all there are (Lemire, "Fast random integer generation in an
/// interval", 2019).
#[cfg_attr(target_arch = "nvptx64", inline(always))]
const fn slot(hash: u64, slots: u64) -> u64 {
    ((hash as u128 * slots as u128) >> 64) as u64
}

/// Words of a near cache.
const NEAR_WORDS: u32 = 1024;

/// A block's near cache of the table, in shared memory: keys that it has inserted, in each place the last of several. Where few keys
/// are many elements, hardly any is looked up in the table.
#[derive(Clone, Copy)]
pub struct NearCache<S>(S);

impl<S: Simt> NearCache<S> {
    /// An empty one.
    ///
    /// Called by: all threads of the block together · Scratch: the shared buffers
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn empty(simt: S) -> Self {
        let mut at = simt.thread();
        while at < NEAR_WORDS {
            simt.store_shared(at, 0);
            at += simt.threads();
        }
        simt.barrier();
        Self(simt)
    }

    /// The place of a key: by other bits of the hash than its slot.
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn cached<K: Slot>(self, hash: u64) -> CachedKey<S, K> {
        CachedKey {
            simt: self.0,
            place: place::<K>(hash),
            keys: PhantomData,
        }
    }
}

/// A place in a near cache, with room for one key.
#[derive(Clone, Copy)]
pub struct CachedKey<S, K> {
    simt: S,
    place: u32,
    keys: PhantomData<K>,
}

impl<S: Simt, K: Slot> CachedKey<S, K> {
    /// The key that is there; the empty slot's content where none is.
    ///
    /// Called by: each lane by itself · Valid in: that lane · Scratch: the shared buffers
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn get(self) -> K {
        K::of_key(if K::WORDS == 1 {
            self.simt.load_shared_relaxed(self.place).into()
        } else {
            self.simt.load_shared_relaxed_u64(2 * self.place)
        })
    }

    /// Puts a key there.
    ///
    /// Called by: each lane by itself · Scratch: the shared buffers
    #[cfg_attr(target_arch = "nvptx64", inline(always))]
    pub fn put(self, key: K) {
        if K::WORDS == 1 {
            self.simt.store_shared_relaxed(self.place, key.to_key() as u32);
        } else {
            self.simt.store_shared_relaxed_u64(2 * self.place, key.to_key());
        }
    }
}

#[cfg_attr(target_arch = "nvptx64", inline(always))]
const fn place<K: Slot>(hash: u64) -> u32 {
    hash as u32 % (NEAR_WORDS / K::WORDS as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::equality::hash;

    #[test]
    fn every_slot_is_some_keys_and_none_is_outside() {
        let mut seen = [false; 37];
        for key in 0..1000 {
            seen[slot(hash(key), 37) as usize] = true;
        }
        assert_eq!(seen, [true; 37]);
        assert_eq!(slot(u64::MAX, u64::MAX), u64::MAX - 1);
        assert_eq!((slot(0, 5), slot(u64::MAX, 5)), (0, 4));
        assert!((0..1000).all(|key| place::<u64>(hash(key)) < 512 && place::<u32>(hash(key)) < 1024));
    }
}
