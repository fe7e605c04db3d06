//! A progress bar, for work that takes long.

use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// Work shorter than this shows nothing.
const PATIENCE: Duration = Duration::from_secs(1);

/// A bar of bytes on standard error, if that is a terminal.
pub struct Progress {
    bar: ProgressBar,
    start: Instant,
    shown: bool,
}

impl Progress {
    pub fn of_bytes(bytes: u64) -> Self {
        let style =
            ProgressStyle::with_template("{bar:40} {binary_bytes}/{binary_total_bytes} {binary_bytes_per_sec} {eta}")
                .expect("a template of known keys");
        Self {
            bar: ProgressBar::with_draw_target(Some(bytes), ProgressDrawTarget::hidden()).with_style(style),
            start: Instant::now(),
            shown: false,
        }
    }

    /// As many bytes of those that were expected are others.
    pub fn expect(&mut self, were: u64, are: u64) {
        let expected = self.bar.length().unwrap_or(0);
        self.bar.set_length(expected.saturating_sub(were) + are);
    }

    /// Bytes so far.
    pub fn done(&self) -> u64 {
        self.bar.position()
    }

    pub fn advance(&mut self, bytes: u64) {
        self.bar.inc(bytes);
        if !self.shown && self.start.elapsed() > PATIENCE {
            // indicatif draws only on terminals.
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            self.shown = true;
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}
