//! Clusters of blocks where there are none: a block is by itself, and none of this is called.

/// None.
pub const ARE_THERE: bool = false;

/// The load of what nobody writes while the kernel works: no launch is early, so it goes the way without coherence.
macro_rules! input {
    () => {
        "ld.global.nc"
    };
}
pub(super) use input;

/// No launch is early.
#[inline(always)]
pub fn take_turn() {}

/// Nothing to make ready.
pub fn prepare(_: u32, _: u32) {}

/// Nothing to expect.
pub fn expect(_: u32, _: u32) {}

/// Nobody to begin with.
pub fn begin() {}

/// Nobody to wait for.
pub fn wait() {}

/// Nobody to send to.
pub fn send(_: u32, _: u32, _: u32, _: u32) {}

/// A hint that is not taken: who has no clusters reads no rows ahead.
///
/// # Safety
///
/// None is needed.
pub unsafe fn prefetch(_: *const u8, _: u32) {}

/// Nobody to receive from.
pub fn receive(_: u32, _: u32) {}

/// Dynamic shared memory, which no kernel here has.
pub mod dynamic {
    /// Nothing to copy to.
    ///
    /// # Safety
    ///
    /// None is needed.
    pub unsafe fn copy(_: u32, _: *const u32) {}

    /// Nothing to wait for.
    pub fn wait() {}

    /// Nothing to read.
    ///
    /// # Safety
    ///
    /// None is needed.
    pub unsafe fn load(_: u32) -> [u32; 4] {
        [0; 4]
    }

    /// Nothing to write to.
    ///
    /// # Safety
    ///
    /// None is needed.
    pub unsafe fn store(_: u32, _: [u32; 4]) {}
}
