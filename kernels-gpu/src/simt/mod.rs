//! The machine, as a kernel sees it. Everything that touches hardware goes through this one door.
//!
//! Implementations: `nvptx::Nvptx` on an NVIDIA GPU, through either code generator, and on the CPU the emulator in
//! `tests/emulator`.
//! A grid is one-dimensional; a block is a whole number of warps; lane `l` of warp `w` is thread `32 w + l`.

#[cfg(target_arch = "nvptx64")]
pub mod nvptx;

use crate::leaf::LANES;

/// Bytes of shared memory that every kernel has: two buffers for the block stage, and a vector beside them.
pub const SHARED_BYTES: usize = 4096 + 16;

/// The same, in 32-bit words.
pub const SHARED_WORDS: usize = SHARED_BYTES / 4;

/// The first of the words of a block's shared memory that count what [is sent to it](Simt::cluster_send): two for even rounds and two for odd ones, aligned to 8 bytes.
pub const MAIL: u32 = SHARED_WORDS as u32 - 4;

const _: () = assert!(MAIL.is_multiple_of(2));

/// 32-bit words of dynamic shared memory, at most: two blocks of a multiprocessor of compute capability 9.0 have so many each.
pub const DYNAMIC_WORDS: u32 = 96 * 1024 / 4;

/// Warps in the largest block.
pub const MAX_WARPS: u32 = 32;

/// One thread's view of the machine.
///
/// A function that takes a `Simt` may be **collective**: its docs say which threads must call it together.
pub trait Simt: Copy {
    /// This thread's number in its block.
    fn thread(self) -> u32;
    /// Threads in a block.
    fn threads(self) -> u32;
    /// This block's number in the grid.
    fn block(self) -> u32;
    /// Blocks in the grid.
    fn blocks(self) -> u32;

    /// This thread's lane in its warp.
    fn lane(self) -> u32 {
        self.thread() % LANES
    }
    /// This thread's warp in its block.
    fn warp(self) -> u32 {
        self.thread() / LANES
    }
    /// Warps in a block.
    fn warps(self) -> u32 {
        self.threads() / LANES
    }

    /// The `word` of the lane whose number differs from this one's in the bits of `reach`.
    ///
    /// Called by: all 32 lanes of a warp together, with the same `reach`.
    fn shuffle_xor(self, word: u32, reach: u32) -> u32;

    /// The `word` of lane `from`, which each lane names for itself.
    ///
    /// Called by: all 32 lanes of a warp together.
    fn shuffle(self, word: u32, from: u32) -> u32;

    /// Which lanes say `yes`, a bit for each.
    ///
    /// Called by: all 32 lanes of a warp together · Valid in: every lane
    fn ballot(self, yes: bool) -> u32;

    /// Whether any lane says `yes`.
    ///
    /// Called by: all 32 lanes of a warp together · Valid in: every lane
    fn any(self, yes: bool) -> bool;

    /// The same word, of which the compiler does not know that it is: what follows is computed anew rather than kept in
    /// registers from before.
    fn opaque(self, word: u32) -> u32 {
        word
    }

    /// A word made of bytes of two: the lowest digit of `digits`, in base 16, says which its lowest byte is, 0 to 3 being those of
    /// `low` and 4 to 7 those of `high`.
    fn byte_perm(self, low: u32, high: u32, digits: u32) -> u32 {
        let bytes = u64::from(low) | u64::from(high) << 32;
        let byte = |i: u32| ((bytes >> (8 * (digits >> (4 * i) & 7))) as u32 & 0xff) << (8 * i);
        byte(0) | byte(1) | byte(2) | byte(3)
    }

    /// Waits for every lane of the warp; what they wrote or saw before, all may read after. A shuffle or a vote gives no
    /// such promise: they exchange registers and order no memory.
    ///
    /// Called by: all 32 lanes of a warp together.
    fn warp_barrier(self);

    /// Waits for every thread of the block; what they wrote before, all may read after.
    ///
    /// Called by: all threads of the block together.
    fn barrier(self);

    /// Whether the larger floats of two words are one instruction, NaN being the largest: then
    /// [operators that have such a maximum](crate::tree::ByWords) fold words. Elements that lie apart, and columns, are folded so on any machine.
    const HAS_WORD_MAXIMUM: bool;

    /// Whether blocks may be in a cluster, and write each other's shared memory.
    const HAS_CLUSTERS: bool;

    /// Says that this block has begun, and how many words blocks of its cluster will [send](Self::cluster_send) to it, in one round or in several; waits for nobody. Words from
    /// [`MAIL`] on are taken.
    ///
    /// Called by: all threads of the cluster, once.
    fn cluster_begin(self, words: u32, several: bool);

    /// Waits for all of the cluster's blocks to have begun. `blocks` is its size.
    ///
    /// Called by: all threads of the cluster, once, after `cluster_begin`.
    fn cluster_wait(self, blocks: u32);

    /// Sends a word in a round, the first of which is 0, to be word `at` of the shared memory of block `rank` of this block's cluster, which is of `blocks` blocks, side by side in the
    /// grid: `at < MAIL`, `rank < blocks`, and this one has waited for all of them, and received what it was sent in the round before. A word may be sent again
    /// two rounds later, if all who read it have passed a barrier before this block sends in between.
    fn cluster_send(self, round: u32, rank: u32, blocks: u32, at: u32, word: u32);

    /// Waits for all words that this block was to be sent in a round: then this thread may read them.
    ///
    /// Called by: any thread, before the round after the next.
    fn cluster_receive(self, round: u32, blocks: u32);

    /// Says how many words the block will be sent in the round after the next.
    ///
    /// Called by: the block's first thread, once a round, after `cluster_receive`; others may, which does nothing.
    fn cluster_expect(self, round: u32, words: u32);

    /// Writes word `at` of the block's shared memory, `at < SHARED_WORDS`.
    fn store_shared(self, at: u32, word: u32);

    /// Reads word `at` of the block's shared memory, `at < SHARED_WORDS`.
    fn load_shared(self, at: u32) -> u32;

    /// Copies four words of the kernel's input to words `at` to `at + 3` of the block's dynamic shared memory, of which the launch says how many there are. This thread may read or
    /// write those once it has [waited](Self::wait_for_copies), and others after a barrier more.
    ///
    /// # Safety
    ///
    /// As [`load_input_vector`](Self::load_input_vector); the launch has so many words, and `at` is a multiple of 4.
    unsafe fn copy_input_vector(self, at: u32, from: *const u32);

    /// Waits for all copies that this thread began.
    fn wait_for_copies(self);

    /// Reads words `at` to `at + 3` of the block's dynamic shared memory.
    ///
    /// # Safety
    ///
    /// The launch has so many words, and `at` is a multiple of 4.
    unsafe fn load_dynamic_vector(self, at: u32) -> [u32; 4];

    /// Writes words `at` to `at + 3` of the block's dynamic shared memory.
    ///
    /// # Safety
    ///
    /// As [`load_dynamic_vector`](Self::load_dynamic_vector).
    unsafe fn store_dynamic_vector(self, at: u32, words: [u32; 4]);

    /// Reads four words of the kernel's input in one 16-byte load.
    ///
    /// # Safety
    ///
    /// `from` is 16-byte aligned and valid for 16 bytes, which nobody writes while the kernel runs.
    unsafe fn load_input_vector(self, from: *const u32) -> [u32; 4];

    /// The same of what other warps read, too, as they do the weights of columns: the near cache keeps it.
    ///
    /// # Safety
    ///
    /// As [`load_input_vector`](Self::load_input_vector).
    unsafe fn load_shared_input_vector(self, from: *const u32) -> [u32; 4];

    /// Half of such a vector.
    ///
    /// # Safety
    ///
    /// `from` is 8-byte aligned and valid for 8 bytes, which nobody writes while the kernel runs.
    unsafe fn load_shared_input_pair(self, from: *const u32) -> [u32; 2];

    /// Asks for memory that a later block reads, if the machine takes such hints: nothing else changes.
    ///
    /// # Safety
    ///
    /// `from` is valid for `bytes`; both are multiples of 16.
    unsafe fn prefetch(self, from: *const u8, bytes: u32) {
        let _ = (from, bytes);
    }

    /// The same as [`load_input_vector`](Self::load_input_vector) where `wanted`, and else words at hand, without a branch: loads stand side by side in the code and are in flight together.
    ///
    /// # Safety
    ///
    /// As [`load_input_vector`](Self::load_input_vector), where it is wanted.
    unsafe fn load_input_vector_if(self, wanted: bool, from: *const u32, otherwise: [u32; 4]) -> [u32; 4];

    /// Reads the first `count`, at most 4, of four words of the kernel's input, each by a load of its own, and has the others from
    /// those at hand, without a branch.
    ///
    /// # Safety
    ///
    /// `from` is 4-byte aligned and valid for `count` words, which nobody writes while the kernel runs.
    unsafe fn load_input_words(self, count: u32, from: *const u32, otherwise: [u32; 4]) -> [u32; 4];

    /// Reads one word of the kernel's input if it is wanted, and else has the one at hand, without a branch.
    ///
    /// # Safety
    ///
    /// As [`load_input`](Self::load_input), where it is wanted.
    unsafe fn load_input_if(self, wanted: bool, from: *const u32, otherwise: u32) -> u32;

    /// Reads one word of the kernel's input.
    ///
    /// # Safety
    ///
    /// `from` is 4-byte aligned and valid for 4 bytes, which nobody writes while the kernel runs.
    unsafe fn load_input(self, from: *const u32) -> u32;

    /// Reads one byte of the kernel's input.
    ///
    /// # Safety
    ///
    /// `from` is valid for a byte, which nobody writes while the kernel runs.
    unsafe fn load_input_byte(self, from: *const u8) -> u32;

    /// Reads two bytes of the kernel's input.
    ///
    /// # Safety
    ///
    /// `from` is 2-byte aligned and valid for 2 bytes, which nobody writes while the kernel runs.
    unsafe fn load_input_short(self, from: *const u16) -> u32;

    /// Reads one word that another thread of this launch may have written before the last synchronisation.
    ///
    /// # Safety
    ///
    /// `from` is 4-byte aligned and valid for 4 bytes; the writer synchronised with this thread.
    unsafe fn load(self, from: *const u32) -> u32;

    /// Reads two bytes, likewise.
    ///
    /// # Safety
    ///
    /// As [`load`](Self::load), for 2 bytes.
    unsafe fn load_short(self, from: *const u16) -> u32;

    /// Writes one word.
    ///
    /// # Safety
    ///
    /// `to` is 4-byte aligned and valid for 4 bytes; no other thread touches it before synchronising with this one.
    unsafe fn store(self, to: *mut u32, word: u32);

    /// Writes four words in one 16-byte store.
    ///
    /// # Safety
    ///
    /// As [`store`](Self::store), for 16 bytes and their alignment.
    unsafe fn store_vector(self, to: *mut u32, words: [u32; 4]);

    /// Writes two words in one 8-byte store.
    ///
    /// # Safety
    ///
    /// As [`store`](Self::store), for 8 bytes and their alignment.
    unsafe fn store_pair(self, to: *mut u32, words: [u32; 2]);

    /// Writes the low half of a word.
    ///
    /// # Safety
    ///
    /// As [`store`](Self::store), for 2 bytes and their alignment.
    unsafe fn store_short(self, to: *mut u16, word: u32);

    /// Writes the low byte of a word.
    ///
    /// # Safety
    ///
    /// As [`store`](Self::store), for a byte.
    unsafe fn store_byte(self, to: *mut u8, word: u32);

    /// Takes the next ticket from a counter that starts at zero: 0, 1, …, `last`, then from 0 again.
    ///
    /// Acquire and release at the scope of the GPU: who draws ticket `t` sees what the holders of all tickets before
    /// it wrote before they drew. The holder of `last` leaves the counter at zero, ready for the next launch.
    ///
    /// # Safety
    ///
    /// `counter` is 4-byte aligned, valid for 4 bytes and used for nothing else.
    unsafe fn ticket(self, counter: *mut u32, last: u32) -> u32;

    /// Reads a word that other threads may change meanwhile, by [`compare_exchange`](Self::compare_exchange): relaxed, so it orders nothing.
    ///
    /// # Safety
    ///
    /// `from` is 4-byte aligned and valid for 4 bytes, which this launch touches by operations like this alone.
    unsafe fn load_relaxed(self, from: *const u32) -> u32;

    /// The same of two words at once.
    ///
    /// # Safety
    ///
    /// As [`load_relaxed`](Self::load_relaxed), for 8 bytes and their alignment.
    unsafe fn load_relaxed_u64(self, from: *const u64) -> u64;

    /// Writes `new` where `old` is, at once, and gives what was there: compare-and-swap, at the scope of the GPU. Relaxed: it orders
    /// nothing but the changes of this word, of which all threads see one order.
    ///
    /// # Safety
    ///
    /// As [`load_relaxed`](Self::load_relaxed); valid for writes, too.
    unsafe fn compare_exchange(self, at: *mut u32, old: u32, new: u32) -> u32;

    /// The same of two words at once.
    ///
    /// # Safety
    ///
    /// As [`compare_exchange`](Self::compare_exchange), for 8 bytes and their alignment.
    unsafe fn compare_exchange_u64(self, at: *mut u64, old: u64, new: u64) -> u64;

    /// Adds to two words at once, at the scope of the GPU, wrapping around. Relaxed.
    ///
    /// # Safety
    ///
    /// As [`compare_exchange_u64`](Self::compare_exchange_u64).
    unsafe fn atomic_add_u64(self, to: *mut u64, addend: u64);

    /// Adds to a float, at the scope of the GPU; in which order many do is chance. Relaxed.
    ///
    /// # Safety
    ///
    /// `to` is 4-byte aligned, valid for 4 bytes, and touched by additions alone while the kernel runs.
    unsafe fn atomic_add_f32(self, to: *mut f32, addend: f32);

    /// Reads a [ticket](Self::ticket) counter, and acquires what those who drew from it before had written.
    ///
    /// # Safety
    ///
    /// As [`ticket`](Self::ticket).
    unsafe fn load_acquire(self, counter: *const u32) -> u32;

    /// Reads word `at` of the block's shared memory, `at < SHARED_WORDS`, which other threads may write meanwhile, by
    /// [`store_shared_relaxed`](Self::store_shared_relaxed): relaxed, so it orders nothing.
    fn load_shared_relaxed(self, at: u32) -> u32;

    /// Writes word `at` of the block's shared memory, `at < SHARED_WORDS`, which other threads may read or write meanwhile, like this
    /// alone: relaxed.
    fn store_shared_relaxed(self, at: u32, word: u32);

    /// [`load_shared_relaxed`](Self::load_shared_relaxed) of words `at` and `at + 1` at once, `at` being even.
    fn load_shared_relaxed_u64(self, at: u32) -> u64;

    /// [`store_shared_relaxed`](Self::store_shared_relaxed) of words `at` and `at + 1` at once, `at` being even.
    fn store_shared_relaxed_u64(self, at: u32, words: u64);
}
