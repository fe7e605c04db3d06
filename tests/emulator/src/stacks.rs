//! Stacks for the lanes, shared by all launches of the process and used again.

use std::{
    io,
    sync::{Condvar, Mutex, MutexGuard, PoisonError},
};

use corosensei::stack::DefaultStack;

/// Lanes that run at once in all launches of the process together: a launch that needs more waits for others to end.
/// Each lane takes two memory mappings (stack and guard page), of which Linux gives a process 65 530.
pub const RESIDENT_THREADS: u32 = 16 * 1024;

/// Bytes of a lane's stack. Kernels need a few thousand even unoptimised; the rest is for a panic that prints its
/// backtrace, and is never touched otherwise.
const STACK_BYTES: usize = 256 * 1024;

struct Pool {
    idle: Vec<DefaultStack>,
    /// Lanes that leases stand for.
    leased: usize,
}

static POOL: Mutex<Pool> = Mutex::new(Pool {
    idle: Vec::new(),
    leased: 0,
});
static RETURNED: Condvar = Condvar::new();

fn pool() -> MutexGuard<'static, Pool> {
    POOL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The right to a number of stacks, and those not in use.
pub struct Lease {
    lanes: usize,
    idle: Vec<DefaultStack>,
}

impl Lease {
    /// Waits until `lanes` stacks may be had. More than there may be are given to a launch that is alone.
    pub fn new(lanes: usize) -> Self {
        let full = |pool: &mut Pool| pool.leased > 0 && pool.leased + lanes > RESIDENT_THREADS as usize;
        let mut pool = RETURNED
            .wait_while(pool(), full)
            .unwrap_or_else(PoisonError::into_inner);
        pool.leased += lanes;
        let kept = pool.idle.len().saturating_sub(lanes);
        let idle = pool.idle.split_off(kept);
        Self { lanes, idle }
    }

    /// A stack: of a lane that ended, or a new one.
    pub fn take(&mut self) -> io::Result<DefaultStack> {
        match self.idle.pop() {
            Some(stack) => Ok(stack),
            None => DefaultStack::new(STACK_BYTES),
        }
    }

    /// A stack that is no longer used.
    pub fn give_back(&mut self, stack: DefaultStack) {
        self.idle.push(stack);
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut pool = pool();
        pool.idle.append(&mut self.idle);
        pool.idle.truncate(RESIDENT_THREADS as usize);
        pool.leased -= self.lanes;
        RETURNED.notify_all();
    }
}
