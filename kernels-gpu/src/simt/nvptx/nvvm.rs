//! What rustc_codegen_nvvm has its own way for, by way of `cuda_std`.
//!
//! At the pinned commit `cuda_std` is used where it is right. Not used, and why:
//!
//! | `cuda_std` | instead | because |
//! |---|---|---|
//! | `thread::sync_threads` | `llvm.nvvm.barrier0` | a function of the back end's own, which no pass knows as convergent: barriers are copied into divergent branches |
//! | `warp::sync_warp` | `llvm.nvvm.bar.warp.sync` | the same, written once for both generators |
//! | `warp::warp_vote_*`, `warp::warp_reduce` | `llvm.nvvm.vote.*`, shuffles | inline assembly, which is not convergent either |
//! | `warp::warp_shuffle_*` | `llvm.nvvm.shfl.sync.*` | not convergent, and `warp_shuffle_up` clamps at the wrong lane |
//! | `thread::*_fence`, `atomic` | inline assembly | `grid_fence` is a fence of the block; ptxas rejects others, and atomics on generic addresses are slow |
//! | `shared::dynamic_shared_mem` | a static | it becomes 16 bytes whatever is launched |

use core::{arch::asm, mem::MaybeUninit};

use cuda_std::address_space;

use super::Nvptx;
use crate::simt::{SHARED_WORDS, Simt as _};

/// For the macros: a crate that uses them need not depend on it itself.
#[doc(hidden)]
pub use cuda_std::kernel as cuda_std_kernel;
pub use cuda_std::thread::{
    block_dim_x as threads, block_idx_x as block, grid_dim_x as blocks, thread_idx_x as thread,
};

/// Defines an entry point: `kernel!(pub unsafe fn name(a: A, b: B) { … })`. Parameters are numbers and raw pointers. From compute capability
/// 9.0 on it first [takes its turn](crate::simt::nvptx::clusters::take_turn), so that it may be launched early.
#[macro_export]
macro_rules! kernel {
    ($(#[$attribute:meta])* pub unsafe fn $name:ident($($parameter:ident: $type:ty),* $(,)?) $body:block) => {
        $(#[$attribute])*
        #[$crate::simt::nvptx::generator::cuda_std_kernel]
        pub unsafe fn $name($($parameter: $type),*) {
            $crate::simt::nvptx::clusters::take_turn();
            $body
        }
    };
}

#[repr(C, align(16))]
struct Words([u32; SHARED_WORDS]);

#[address_space(shared)]
static mut SHARED: MaybeUninit<Words> = MaybeUninit::uninit();

/// The address of the block's shared memory, in its state space.
pub fn shared_base() -> u32 {
    // The back end hands out a static's address in the static's own state space; were it a generic one, it would have to be
    // converted, and the facts check finds no conversion. As a number, for assembly to use, and never as a pointer to read
    // and write through: LLVM 7's alias analysis holds that a barrier changes no static whose address nobody took, and would
    // carry words across it.
    (&raw const SHARED) as usize as u32
}

/// Arrives at the barrier of the cluster. LLVM 7 has no intrinsic for it, and does not know that assembly is convergent. It knows that of the
/// warp's barrier, and so copies no block of code that this stands in.
#[inline(always)]
pub fn cluster_arrive() {
    Nvptx.warp_barrier();
    // SAFETY: the trait has all threads of the cluster call this.
    unsafe { asm!("barrier.cluster.arrive.relaxed;", options(nostack, preserves_flags)) }
}

/// Waits at it, likewise.
#[inline(always)]
pub fn cluster_wait() {
    Nvptx.warp_barrier();
    // SAFETY: the trait has all threads of the cluster call this.
    unsafe { asm!("barrier.cluster.wait;", options(nostack, preserves_flags)) }
}
