//! Lines that say what goes on.

use std::time::{Duration, Instant};

/// Lines of one command, with the time since its start.
pub(crate) struct Progress {
    command: &'static str,
    start: Instant,
}

impl Progress {
    /// The command starts now.
    pub(crate) fn of(command: &'static str) -> Self {
        Self { command, start: Instant::now() }
    }

    /// Announces a step that may take a while.
    pub(crate) fn step(&self, text: &str) {
        println!("{}: {:>6.1}s  {text}", self.command, self.start.elapsed().as_secs_f64());
    }

    /// Since the start.
    pub(crate) fn elapsed(&self) -> Duration {
        self.start.elapsed()
    }
}
