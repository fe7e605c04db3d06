//! One atomic for each element: every thread adds its own to the one sum in memory.
//!
//! Right, and as slow as it gets: all of them want the same word, and the memory lets them have it one after the other. An atomic is not slow; a queue is.

use super::{SumLaunch, element, thread_of_grid};
use crate::simt::Simt;

/// The kernel. Any length; a thread for each element.
///
/// # Safety
///
/// As [`SumLaunch`] says.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub unsafe fn sum<S: Simt>(simt: S, launch: SumLaunch) {
    let i = thread_of_grid(simt);
    if i < launch.len {
        // SAFETY: the element is there, and `out` is of all threads.
        unsafe { simt.atomic_add_f32(launch.out, element(simt, &launch, i)) };
    }
}
