//! How long the user has waited.

use std::{sync::OnceLock, time::Instant};

static START: OnceLock<Instant> = OnceLock::new();

/// Starts the clock, when the program starts.
pub fn start() {
    START.get_or_init(Instant::now);
}

/// Seconds since the program started: opening files, devices and kernels, reading, computing and writing.
pub fn seconds() -> f64 {
    START.get_or_init(Instant::now).elapsed().as_secs_f64()
}
