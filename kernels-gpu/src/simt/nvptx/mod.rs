//! The machine on an NVIDIA GPU.
//!
//! Two code generators compile it, and each has a module for what it has its own way for: entry points, thread numbers,
//! shared memory. [`generator`] is the one in use: `llvm.rs`, rustc's own PTX backend, or with the feature `nvvm`
//! `nvvm.rs`, rustc_codegen_nvvm with `cuda_std`. The rest is written once, in what both understand:
//!
//! * Whatever threads do together (barrier, shuffle, vote) is an LLVM intrinsic, never inline assembly: only intrinsics
//!   carry LLVM's `convergent` mark, and without it the optimiser copies them into divergent branches. The one exception is what blocks of
//!   a cluster do together under `nvvm`, which has no intrinsic for it.
//! * Memory operations are inline assembly, for exact state spaces and orderings (`core`'s atomics lose theirs on this
//!   target, and a load through a generic pointer is slow).

#[cfg_attr(not(feature = "nvvm"), path = "llvm.rs")]
#[cfg_attr(feature = "nvvm", path = "nvvm.rs")]
pub mod generator;

pub mod arithmetic;
#[cfg_attr(
    not(any(target_feature = "sm_90", target_feature = "compute_90")),
    path = "no_clusters.rs"
)]
pub mod clusters;
pub(crate) mod convert;

use core::arch::asm;

use self::clusters::input;
use super::{MAIL, Simt};

/// Whether what is compiled is for compute capability 8.0 and newer. Each generator has a name of its own for that.
pub const IS_80: bool = cfg!(any(target_feature = "sm_80", target_feature = "compute_80"));

/// The same of 9.0.
pub const IS_90: bool = clusters::ARE_THERE;

/// One thread of an NVIDIA GPU.
#[derive(Clone, Copy)]
pub struct Nvptx;

unsafe extern "C" {
    #[link_name = "llvm.nvvm.barrier0"]
    fn barrier0();
    #[link_name = "llvm.nvvm.bar.warp.sync"]
    fn bar_warp_sync(mask: u32);
    #[link_name = "llvm.nvvm.shfl.sync.bfly.i32"]
    fn shfl_sync_bfly(mask: u32, word: u32, reach: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.shfl.sync.idx.i32"]
    fn shfl_sync_idx(mask: u32, word: u32, from: u32, clamp: u32) -> u32;
    #[link_name = "llvm.nvvm.vote.ballot.sync"]
    fn vote_ballot_sync(mask: u32, yes: bool) -> u32;
    #[link_name = "llvm.nvvm.vote.any.sync"]
    fn vote_any_sync(mask: u32, yes: bool) -> bool;
}

/// Every lane of the warp takes part.
const ALL: u32 = u32::MAX;
/// A segment as wide as the warp.
const CLAMP: u32 = 31;

/// The address of word `at` of the block's shared memory, in the state space of that memory.
fn shared_address(at: u32) -> u32 {
    generator::shared_base() + 4 * at
}

/// The address of what counts the words of a round.
fn mail(round: u32) -> u32 {
    shared_address(MAIL + 2 * (round % 2))
}

impl Simt for Nvptx {
    fn thread(self) -> u32 {
        generator::thread()
    }
    fn threads(self) -> u32 {
        generator::threads()
    }
    fn block(self) -> u32 {
        generator::block()
    }
    fn blocks(self) -> u32 {
        generator::blocks()
    }

    fn shuffle_xor(self, word: u32, reach: u32) -> u32 {
        // SAFETY: the trait has all 32 lanes call this together.
        unsafe { shfl_sync_bfly(ALL, word, reach, CLAMP) }
    }
    fn shuffle(self, word: u32, from: u32) -> u32 {
        // SAFETY: the trait has all 32 lanes call this together.
        unsafe { shfl_sync_idx(ALL, word, from, CLAMP) }
    }
    fn ballot(self, yes: bool) -> u32 {
        // SAFETY: the trait has all 32 lanes call this together.
        unsafe { vote_ballot_sync(ALL, yes) }
    }
    fn any(self, yes: bool) -> bool {
        // SAFETY: the trait has all 32 lanes call this together.
        unsafe { vote_any_sync(ALL, yes) }
    }
    fn opaque(self, word: u32) -> u32 {
        let same;
        // SAFETY: copies a register.
        unsafe {
            asm!("mov.b32 {}, {};", out(reg32) same, in(reg32) word, options(pure, nomem, nostack, preserves_flags));
        }
        same
    }
    fn byte_perm(self, low: u32, high: u32, digits: u32) -> u32 {
        let word;
        // SAFETY: picks bytes of registers.
        unsafe {
            asm!("prmt.b32 {}, {}, {}, {};", out(reg32) word, in(reg32) low, in(reg32) high, in(reg32) digits,
                options(pure, nomem, nostack, preserves_flags));
        }
        word
    }
    fn warp_barrier(self) {
        // SAFETY: the trait has all 32 lanes call this together.
        unsafe { bar_warp_sync(ALL) }
    }
    fn barrier(self) {
        // SAFETY: the trait has all threads of the block call this together.
        unsafe { barrier0() }
    }

    const HAS_WORD_MAXIMUM: bool = IS_80;

    const HAS_CLUSTERS: bool = IS_90;

    fn cluster_begin(self, words: u32, several: bool) {
        if self.thread() == 0 {
            clusters::prepare(mail(0), 4 * words);
            if several {
                clusters::prepare(mail(1), 4 * words);
            }
        }
        clusters::begin();
    }
    fn cluster_wait(self, _: u32) {
        clusters::wait();
    }
    fn cluster_send(self, round: u32, rank: u32, _: u32, at: u32, word: u32) {
        clusters::send(mail(round), shared_address(at), rank, word);
    }
    fn cluster_receive(self, round: u32, _: u32) {
        clusters::receive(mail(round), round / 2 % 2);
    }
    fn cluster_expect(self, round: u32, words: u32) {
        if self.thread() == 0 {
            clusters::expect(mail(round), 4 * words);
        }
    }

    fn store_shared(self, at: u32, word: u32) {
        // SAFETY: the trait bounds `at` by the declaration's size.
        unsafe {
            asm!("st.shared.u32 [{}], {};", in(reg32) shared_address(at), in(reg32) word,
                options(nostack, preserves_flags));
        }
    }
    fn load_shared(self, at: u32) -> u32 {
        let word;
        // SAFETY: the trait bounds `at` by the declaration's size.
        unsafe {
            asm!("ld.shared.u32 {}, [{}];", out(reg32) word, in(reg32) shared_address(at),
                options(readonly, nostack, preserves_flags));
        }
        word
    }

    unsafe fn copy_input_vector(self, at: u32, from: *const u32) {
        // SAFETY: passed on to the caller.
        unsafe { clusters::dynamic::copy(at, from) };
    }
    fn wait_for_copies(self) {
        clusters::dynamic::wait();
    }
    unsafe fn load_dynamic_vector(self, at: u32) -> [u32; 4] {
        // SAFETY: passed on to the caller.
        unsafe { clusters::dynamic::load(at) }
    }
    unsafe fn store_dynamic_vector(self, at: u32, words: [u32; 4]) {
        // SAFETY: passed on to the caller.
        unsafe { clusters::dynamic::store(at, words) };
    }

    unsafe fn load_input_vector(self, from: *const u32) -> [u32; 4] {
        let (a, b, c, d);
        // SAFETY: the caller vouches for 16 aligned bytes that nobody writes.
        unsafe {
            asm!(concat!(input!(), ".L1::no_allocate.v4.u32 {{{}, {}, {}, {}}}, [{}];"),
                out(reg32) a, out(reg32) b, out(reg32) c, out(reg32) d, in(reg64) from,
                options(readonly, nostack, preserves_flags));
        }
        [a, b, c, d]
    }
    unsafe fn load_shared_input_vector(self, from: *const u32) -> [u32; 4] {
        let (a, b, c, d);
        // SAFETY: the caller vouches for 16 aligned bytes that nobody writes.
        unsafe {
            asm!(concat!(input!(), ".v4.u32 {{{}, {}, {}, {}}}, [{}];"),
                out(reg32) a, out(reg32) b, out(reg32) c, out(reg32) d, in(reg64) from,
                options(pure, readonly, nostack, preserves_flags));
        }
        [a, b, c, d]
    }
    unsafe fn load_shared_input_pair(self, from: *const u32) -> [u32; 2] {
        let (a, b);
        // SAFETY: the caller vouches for 8 aligned bytes that nobody writes.
        unsafe {
            asm!(concat!(input!(), ".v2.u32 {{{}, {}}}, [{}];"),
                out(reg32) a, out(reg32) b, in(reg64) from,
                options(pure, readonly, nostack, preserves_flags));
        }
        [a, b]
    }
    unsafe fn prefetch(self, from: *const u8, bytes: u32) {
        // SAFETY: passed on to the caller.
        unsafe { clusters::prefetch(from, bytes) };
    }
    unsafe fn load_input_vector_if(self, wanted: bool, from: *const u32, otherwise: [u32; 4]) -> [u32; 4] {
        let [mut a, mut b, mut c, mut d] = otherwise;
        // SAFETY: where it is wanted, the caller vouches for 16 aligned bytes that nobody writes; else nothing is read.
        unsafe {
            asm!(
                "{{",
                ".reg .pred wanted;",
                "setp.ne.u32 wanted, {}, 0;",
                concat!("@wanted ", input!(), ".L1::no_allocate.v4.u32 {{{}, {}, {}, {}}}, [{}];"),
                "}}",
                in(reg32) u32::from(wanted),
                inout(reg32) a, inout(reg32) b, inout(reg32) c, inout(reg32) d, in(reg64) from,
                options(readonly, nostack, preserves_flags));
        }
        [a, b, c, d]
    }
    unsafe fn load_input_words(self, count: u32, from: *const u32, otherwise: [u32; 4]) -> [u32; 4] {
        let [mut a, mut b, mut c, mut d] = otherwise;
        // SAFETY: the caller vouches for as many aligned words, which nobody writes; no other is read.
        unsafe {
            asm!(
                "{{",
                ".reg .pred wanted;",
                "setp.gt.u32 wanted, {0}, 0;", concat!("@wanted ", input!(), ".u32 {1}, [{5}];"),
                "setp.gt.u32 wanted, {0}, 1;", concat!("@wanted ", input!(), ".u32 {2}, [{5}+4];"),
                "setp.gt.u32 wanted, {0}, 2;", concat!("@wanted ", input!(), ".u32 {3}, [{5}+8];"),
                "setp.gt.u32 wanted, {0}, 3;", concat!("@wanted ", input!(), ".u32 {4}, [{5}+12];"),
                "}}",
                in(reg32) count,
                inout(reg32) a, inout(reg32) b, inout(reg32) c, inout(reg32) d, in(reg64) from,
                options(readonly, nostack, preserves_flags));
        }
        [a, b, c, d]
    }
    unsafe fn load_input_if(self, wanted: bool, from: *const u32, otherwise: u32) -> u32 {
        let mut word = otherwise;
        // SAFETY: the caller vouches for 4 aligned bytes that nobody writes, where they are read.
        unsafe {
            asm!(
                "{{",
                ".reg .pred wanted;",
                "setp.ne.u32 wanted, {}, 0;",
                concat!("@wanted ", input!(), ".u32 {}, [{}];"),
                "}}",
                in(reg32) u32::from(wanted),
                inout(reg32) word, in(reg64) from,
                options(readonly, nostack, preserves_flags));
        }
        word
    }
    unsafe fn load_input(self, from: *const u32) -> u32 {
        let word;
        // SAFETY: the caller vouches for 4 aligned bytes that nobody writes.
        unsafe {
            asm!(concat!(input!(), ".u32 {}, [{}];"), out(reg32) word, in(reg64) from,
                options(pure, readonly, nostack, preserves_flags));
        }
        word
    }
    unsafe fn load_input_byte(self, from: *const u8) -> u32 {
        let byte;
        // SAFETY: the caller vouches for a byte that nobody writes.
        unsafe {
            asm!(concat!(input!(), ".u8 {}, [{}];"), out(reg32) byte, in(reg64) from,
                options(pure, readonly, nostack, preserves_flags));
        }
        byte
    }
    unsafe fn load_input_short(self, from: *const u16) -> u32 {
        let short: u16;
        // SAFETY: the caller vouches for 2 aligned bytes that nobody writes.
        unsafe {
            asm!(concat!(input!(), ".u16 {}, [{}];"), out(reg16) short, in(reg64) from,
                options(pure, readonly, nostack, preserves_flags));
        }
        u32::from(short)
    }
    unsafe fn load(self, from: *const u32) -> u32 {
        let word;
        // SAFETY: the caller vouches for the address, and for having synchronised: then a plain load sees the word.
        unsafe {
            asm!("ld.global.u32 {}, [{}];", out(reg32) word, in(reg64) from,
                options(readonly, nostack, preserves_flags));
        }
        word
    }
    unsafe fn load_short(self, from: *const u16) -> u32 {
        let short: u16;
        // SAFETY: as above.
        unsafe {
            asm!("ld.global.u16 {}, [{}];", out(reg16) short, in(reg64) from,
                options(readonly, nostack, preserves_flags));
        }
        u32::from(short)
    }
    unsafe fn store(self, to: *mut u32, word: u32) {
        // SAFETY: the caller vouches for the address.
        unsafe {
            asm!("st.global.u32 [{}], {};", in(reg64) to, in(reg32) word, options(nostack, preserves_flags));
        }
    }
    unsafe fn store_vector(self, to: *mut u32, [a, b, c, d]: [u32; 4]) {
        // SAFETY: the caller vouches for the address.
        unsafe {
            asm!("st.global.v4.u32 [{}], {{{}, {}, {}, {}}};", in(reg64) to, in(reg32) a, in(reg32) b, in(reg32) c, in(reg32) d,
                options(nostack, preserves_flags));
        }
    }
    unsafe fn store_pair(self, to: *mut u32, [a, b]: [u32; 2]) {
        // SAFETY: the caller vouches for the address.
        unsafe {
            asm!("st.global.v2.u32 [{}], {{{}, {}}};", in(reg64) to, in(reg32) a, in(reg32) b,
                options(nostack, preserves_flags));
        }
    }
    unsafe fn store_short(self, to: *mut u16, word: u32) {
        // SAFETY: the caller vouches for the address.
        unsafe {
            asm!("st.global.u16 [{}], {};", in(reg64) to, in(reg16) word as u16, options(nostack, preserves_flags));
        }
    }
    unsafe fn store_byte(self, to: *mut u8, word: u32) {
        // SAFETY: the caller vouches for the address. The instruction stores the low byte of a wider register.
        unsafe {
            asm!("st.global.u8 [{}], {};", in(reg64) to, in(reg32) word, options(nostack, preserves_flags));
        }
    }
    unsafe fn ticket(self, counter: *mut u32, last: u32) -> u32 {
        let drawn;
        // SAFETY: the caller vouches for the counter.
        unsafe {
            asm!("atom.acq_rel.gpu.global.inc.u32 {}, [{}], {};",
                out(reg32) drawn, in(reg64) counter, in(reg32) last, options(nostack, preserves_flags));
        }
        drawn
    }
    unsafe fn load_relaxed(self, from: *const u32) -> u32 {
        let word;
        // SAFETY: the caller vouches for the address.
        unsafe {
            asm!("ld.relaxed.gpu.global.u32 {}, [{}];", out(reg32) word, in(reg64) from,
                options(readonly, nostack, preserves_flags));
        }
        word
    }
    unsafe fn load_relaxed_u64(self, from: *const u64) -> u64 {
        let words;
        // SAFETY: the caller vouches for the address.
        unsafe {
            asm!("ld.relaxed.gpu.global.u64 {}, [{}];", out(reg64) words, in(reg64) from,
                options(readonly, nostack, preserves_flags));
        }
        words
    }
    unsafe fn compare_exchange(self, at: *mut u32, old: u32, new: u32) -> u32 {
        let found;
        // SAFETY: the caller vouches for the address.
        unsafe {
            asm!("atom.relaxed.gpu.global.cas.b32 {}, [{}], {}, {};",
                out(reg32) found, in(reg64) at, in(reg32) old, in(reg32) new, options(nostack, preserves_flags));
        }
        found
    }
    unsafe fn compare_exchange_u64(self, at: *mut u64, old: u64, new: u64) -> u64 {
        let found;
        // SAFETY: the caller vouches for the address.
        unsafe {
            asm!("atom.relaxed.gpu.global.cas.b64 {}, [{}], {}, {};",
                out(reg64) found, in(reg64) at, in(reg64) old, in(reg64) new, options(nostack, preserves_flags));
        }
        found
    }
    unsafe fn atomic_add_u64(self, to: *mut u64, addend: u64) {
        // SAFETY: the caller vouches for the address.
        unsafe {
            asm!("red.relaxed.gpu.global.add.u64 [{}], {};", in(reg64) to, in(reg64) addend,
                options(nostack, preserves_flags));
        }
    }
    unsafe fn atomic_add_f32(self, to: *mut f32, addend: f32) {
        // SAFETY: the caller vouches for the address.
        unsafe {
            asm!("red.relaxed.gpu.global.add.f32 [{}], {};", in(reg64) to, in(reg32) addend,
                options(nostack, preserves_flags));
        }
    }
    unsafe fn load_acquire(self, counter: *const u32) -> u32 {
        let word;
        // SAFETY: the caller vouches for the address. It is no reading of memory alone: what is read after it stays after it.
        unsafe {
            asm!("ld.acquire.gpu.global.u32 {}, [{}];", out(reg32) word, in(reg64) counter,
                options(nostack, preserves_flags));
        }
        word
    }
    fn load_shared_relaxed(self, at: u32) -> u32 {
        let word;
        // SAFETY: the trait bounds `at` by the declaration's size.
        unsafe {
            asm!("ld.relaxed.cta.shared.u32 {}, [{}];", out(reg32) word, in(reg32) shared_address(at),
                options(readonly, nostack, preserves_flags));
        }
        word
    }
    fn store_shared_relaxed(self, at: u32, word: u32) {
        // SAFETY: the trait bounds `at` by the declaration's size.
        unsafe {
            asm!("st.relaxed.cta.shared.u32 [{}], {};", in(reg32) shared_address(at), in(reg32) word,
                options(nostack, preserves_flags));
        }
    }
    fn load_shared_relaxed_u64(self, at: u32) -> u64 {
        let words;
        // SAFETY: the trait bounds `at` by the declaration's size, which is aligned, and has it even.
        unsafe {
            asm!("ld.relaxed.cta.shared.u64 {}, [{}];", out(reg64) words, in(reg32) shared_address(at),
                options(readonly, nostack, preserves_flags));
        }
        words
    }
    fn store_shared_relaxed_u64(self, at: u32, words: u64) {
        // SAFETY: the trait bounds `at` by the declaration's size, which is aligned, and has it even.
        unsafe {
            asm!("st.relaxed.cta.shared.u64 [{}], {};", in(reg32) shared_address(at), in(reg64) words,
                options(nostack, preserves_flags));
        }
    }
}
