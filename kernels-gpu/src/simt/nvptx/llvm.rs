//! What rustc's own PTX backend has its own way for.

use core::arch::{asm, global_asm};

use crate::simt::SHARED_BYTES;

/// Defines an entry point: `kernel!(pub unsafe fn name(a: A, b: B) { … })`. Parameters are numbers and raw pointers. A crate
/// of your own that uses it needs `#![cfg_attr(target_arch = "nvptx64", feature(abi_ptx))]`. From compute capability 9.0 on it first
/// [takes its turn](crate::simt::nvptx::clusters::take_turn), so that it may be launched early.
#[macro_export]
macro_rules! kernel {
    ($(#[$attribute:meta])* pub unsafe fn $name:ident($($parameter:ident: $type:ty),* $(,)?) $body:block) => {
        $(#[$attribute])*
        #[unsafe(no_mangle)]
        pub unsafe extern "ptx-kernel" fn $name($($parameter: $type),*) {
            $crate::simt::nvptx::clusters::take_turn();
            $body
        }
    };
}

// This backend has no language form for shared memory; a module-level declaration, addressed by `mov.u32`, gives
// plain `ld.shared` and `st.shared`.
global_asm!(
    ".shared .align 16 .b8 warpfold_shared[{bytes}];",
    bytes = const SHARED_BYTES
);

/// The address of the block's shared memory, in its state space.
pub fn shared_base() -> u32 {
    let base;
    // SAFETY: takes the address of the declaration above.
    unsafe {
        asm!("mov.u32 {}, warpfold_shared;", out(reg32) base, options(pure, nomem, nostack, preserves_flags));
    }
    base
}

unsafe extern "C" {
    #[link_name = "llvm.nvvm.read.ptx.sreg.tid.x"]
    fn tid_x() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.ntid.x"]
    fn ntid_x() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.ctaid.x"]
    fn ctaid_x() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.nctaid.x"]
    fn nctaid_x() -> u32;
    #[link_name = "llvm.nvvm.barrier.cluster.arrive.relaxed"]
    fn barrier_cluster_arrive();
    #[link_name = "llvm.nvvm.barrier.cluster.wait"]
    fn barrier_cluster_wait();
}

/// This thread's number in its block.
pub fn thread() -> u32 {
    // SAFETY: reads a special register.
    unsafe { tid_x() }
}

/// Threads in a block.
pub fn threads() -> u32 {
    // SAFETY: reads a special register.
    unsafe { ntid_x() }
}

/// This block's number in the grid.
pub fn block() -> u32 {
    // SAFETY: reads a special register.
    unsafe { ctaid_x() }
}

/// Blocks in the grid.
pub fn blocks() -> u32 {
    // SAFETY: reads a special register.
    unsafe { nctaid_x() }
}

/// Arrives at the barrier of the cluster.
#[inline(always)]
pub fn cluster_arrive() {
    // SAFETY: the trait has all threads of the cluster call this.
    unsafe { barrier_cluster_arrive() }
}

/// Waits at it.
#[inline(always)]
pub fn cluster_wait() {
    // SAFETY: the trait has all threads of the cluster call this.
    unsafe { barrier_cluster_wait() }
}
