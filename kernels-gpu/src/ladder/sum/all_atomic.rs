//! One atomic for each element: every thread adds its own to the one sum in memory.
//!
//! Right, and as slow as it gets: all of them want the same word, and the memory lets them have it one after the other. An atomic is not slow; a queue is.

use super::{SumView, thread_of_grid};
use crate::simt::Simt;

/// The kernel. Any length; a thread for each element.
#[cfg_attr(target_arch = "nvptx64", inline(always))]
pub fn sum<S: Simt>(simt: S, launch: SumView) {
    let i = thread_of_grid(simt);
    if i < launch.len() {
        launch.add(simt, launch.element(simt, i));
    }
}
