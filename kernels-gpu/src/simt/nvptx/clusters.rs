//! What compute capability 9.0 and newer have: early launches, clusters of blocks, and copies to dynamic shared memory. Where they are
//! missing, `no_clusters.rs` stands in for it.

use core::arch::asm;

use super::generator;

/// Whether there are any.
pub const ARE_THERE: bool = true;

/// The load of what nobody writes while the kernel works. It may be launched early, so it is a plain one: the way without coherence may run
/// ahead of the wait for the launch before, or find what a cache had earlier.
macro_rules! input {
    () => {
        "ld.global"
    };
}
pub(super) use input;

/// Waits until all that the launch before wrote is seen, and only then lets the one behind start, which may look at nothing older without
/// waiting itself. Where no launch is early it does nothing.
#[inline(always)]
pub fn take_turn() {
    // SAFETY: no memory is touched; what is read or written behind it stays there.
    unsafe {
        asm!(
            "griddepcontrol.wait;",
            "griddepcontrol.launch_dependents;",
            options(nostack, preserves_flags)
        );
    }
}

/// Makes a barrier ready that counts bytes that are sent to this block; one thread does.
pub fn prepare(mail: u32, bytes: u32) {
    // SAFETY: the trait has this word for the barrier.
    unsafe {
        asm!("mbarrier.init.shared::cta.b64 [{}], 1;", in(reg32) mail, options(nostack, preserves_flags));
        asm!(
            "fence.mbarrier_init.release.cluster;",
            options(nostack, preserves_flags)
        );
    }
    expect(mail, bytes);
}

/// Has it count so many bytes in the phase that has begun.
pub fn expect(mail: u32, bytes: u32) {
    // SAFETY: the barrier is ready, and nobody else arrives at it.
    unsafe {
        asm!("{{ .reg .b64 token; mbarrier.arrive.expect_tx.shared::cta.b64 token, [{}], {}; }}",
            in(reg32) mail, in(reg32) bytes, options(nostack, preserves_flags));
    }
}

/// Arrives. A release of all that was written would wait for memory: what has to be seen is the barrier.
pub fn begin() {
    generator::cluster_arrive();
}

/// Waits for all to have begun.
pub fn wait() {
    generator::cluster_wait();
}

/// Sends a word to the address that block `rank` has for what is at `address` here; its barrier counts the bytes.
pub fn send(mail: u32, address: u32, rank: u32, word: u32) {
    // SAFETY: the trait bounds the address by the declaration's size, and the block runs until it has received all.
    unsafe {
        asm!("{{ .reg .b32 there, mail;",
            "mapa.shared::cluster.u32 there, {}, {rank};",
            "mapa.shared::cluster.u32 mail, {}, {rank};",
            "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [there], {}, [mail]; }}",
            in(reg32) address, in(reg32) mail, in(reg32) word, rank = in(reg32) rank,
            options(nostack, preserves_flags));
    }
}

/// Asks for memory to be in the cache that all multiprocessors share.
///
/// # Safety
///
/// `from` is valid for `bytes`; both are multiples of 16.
pub unsafe fn prefetch(from: *const u8, bytes: u32) {
    // SAFETY: passed on to the caller.
    unsafe {
        asm!("cp.async.bulk.prefetch.L2.global [{}], {};", in(reg64) from, in(reg32) bytes,
            options(readonly, nostack, preserves_flags));
    }
}

/// Waits for all bytes of a phase, and acquires what they were sent with.
pub fn receive(mail: u32, phase: u32) {
    let mut done: u32 = 0;
    while done == 0 {
        // SAFETY: the barrier is ready since all have begun.
        unsafe {
            // It sleeps for a millisecond at most, and not for the instant that it would by itself: others have work for the issue slots.
            asm!("{{ .reg .pred done; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 done, [{}], {}, {}; selp.u32 {}, 1, 0, done; }}",
                in(reg32) mail, in(reg32) phase, in(reg32) 1_000_000_u32, out(reg32) done, options(nostack, preserves_flags));
        }
    }
}

/// Dynamic shared memory, and copies to it that a thread does not wait for.
pub mod dynamic {
    use core::arch::{asm, global_asm};

    global_asm!(".extern .shared .align 16 .b8 warpfold_dynamic[];");

    /// The address of a word of it, in the state space of shared memory.
    fn address(at: u32) -> u32 {
        let base: u32;
        // SAFETY: takes the address of the declaration above.
        unsafe {
            asm!("mov.u32 {}, warpfold_dynamic;", out(reg32) base, options(pure, nomem, nostack, preserves_flags));
        }
        base + 4 * at
    }

    /// Begins to copy four words.
    ///
    /// # Safety
    ///
    /// As [`Simt::copy_input_vector`](crate::simt::Simt::copy_input_vector).
    pub unsafe fn copy(at: u32, from: *const u32) {
        // SAFETY: passed on to the caller.
        unsafe {
            asm!("cp.async.cg.shared.global [{}], [{}], 16;", in(reg32) address(at), in(reg64) from,
                options(nostack, preserves_flags));
        }
    }

    /// Waits for all that this thread began.
    pub fn wait() {
        // SAFETY: what was copied is read behind it.
        unsafe { asm!("cp.async.wait_all;", options(nostack, preserves_flags)) };
    }

    /// Reads four words.
    ///
    /// # Safety
    ///
    /// As [`Simt::load_dynamic_vector`](crate::simt::Simt::load_dynamic_vector).
    pub unsafe fn load(at: u32) -> [u32; 4] {
        let (a, b, c, d);
        // SAFETY: passed on to the caller.
        unsafe {
            asm!("ld.shared.v4.u32 {{{}, {}, {}, {}}}, [{}];",
                out(reg32) a, out(reg32) b, out(reg32) c, out(reg32) d, in(reg32) address(at),
                options(readonly, nostack, preserves_flags));
        }
        [a, b, c, d]
    }

    /// Writes four words.
    ///
    /// # Safety
    ///
    /// As [`load`].
    pub unsafe fn store(at: u32, [a, b, c, d]: [u32; 4]) {
        // SAFETY: passed on to the caller.
        unsafe {
            asm!("st.shared.v4.u32 [{}], {{{}, {}, {}, {}}};", in(reg32) address(at),
                in(reg32) a, in(reg32) b, in(reg32) c, in(reg32) d, options(nostack, preserves_flags));
        }
    }
}
