//! Clusters of blocks where there are none: a block is by itself, and none of this is called.

/// Whether there are any.
pub const ARE_THERE: bool = false;

/// Nobody to begin with.
pub fn begin(_: u32, _: u32, _: bool) {}

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
pub fn receive(_: u32) {}
