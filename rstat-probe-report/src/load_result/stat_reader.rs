//! What `load stat-reader` did.

use std::fmt::Write as _;
use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use super::LatencySummary;
use crate::render::text::escaped;
use crate::units;

/// Reads of one file of statistics by many threads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StatReaderResult {
    /// Threads that made accesses.
    pub threads: u32,
    /// Path of the file that was read.
    pub file: String,
    /// Reads of the whole file, by all threads.
    pub accesses: u64,
    /// Accesses by second.
    pub accesses_per_second: f64,
    /// Accesses that failed; they are not among `accesses`.
    pub errors: u64,
    /// How long the accesses took.
    pub latency: LatencySummary,
    /// Times that statistics were made dirty, so that a read has something to flush. 0 beside hogs, which do that
    /// with every page they touch.
    pub dirtied: u64,
}

impl StatReaderResult {
    /// What two of them have in common: the name of the file without the cgroup's, which is different each time.
    pub(super) fn identity(&self, version: u8) -> String {
        let file = self.file.rsplit('/').next().unwrap_or_default();
        format!("stat-reader of {file} (cgroup v{version}), {}", self.threads())
    }

    pub(super) fn threads(&self) -> String {
        units::counted(self.threads.into(), "thread", "threads")
    }

    pub(super) fn sentence(&self) -> String {
        let mut text = format!(
            "{} made {} to {} ({}), {} failed",
            self.threads(),
            units::counted(self.accesses, "access", "accesses"),
            escaped(&self.file),
            units::rate(self.accesses_per_second),
            units::count(self.errors)
        );
        let latency = &self.latency;
        if latency.count > 0 {
            let [p50, p99, max] = [latency.p50, latency.p99, latency.max].map(|ns| units::duration(ns, 3));
            let _ = write!(text, "; latency p50 {p50}, p99 {p99}, max {max}");
        }
        if let Some([low, high]) = latency.mode_pairs {
            let _ = write!(text, ", mode [{low}, {high}) ns");
        }
        text
    }

    pub(super) fn write_text(&self, w: &mut impl Write) -> io::Result<()> {
        writeln!(
            w,
            "accesses:   {} ({}), {} failed",
            units::count(self.accesses),
            units::rate(self.accesses_per_second),
            units::count(self.errors)
        )?;
        self.latency.write_text(w)
    }
}
