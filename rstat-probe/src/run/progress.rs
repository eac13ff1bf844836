//! One line on a terminal that says that something happens.

use std::io::{self, IsTerminal as _, Write as _};

use rstat_probe_report::{Counter, Metric, Snapshot, units};

/// The line on stderr, if that is a terminal and nothing else shows progress there.
pub(crate) struct Progress {
    on: bool,
}

impl Progress {
    /// `wanted` is false when interval lines are printed.
    pub(crate) fn new(wanted: bool) -> Self {
        Self { on: wanted && io::stderr().is_terminal() }
    }

    /// Rewrites the line.
    pub(crate) fn show(&self, snapshot: &Snapshot, elapsed_ns: u64, duration_ns: Option<u64>) {
        if !self.on {
            return;
        }
        let of = duration_ns.map_or(String::new(), |total| format!(" of {}", units::duration(total, 3)));
        let sections = snapshot.counters.get(&Counter::Sections).copied().unwrap_or(0);
        let max = snapshot.metrics.get(&Metric::IrqsOff).and_then(rstat_probe_report::Histogram::max);
        let max = max.map_or_else(|| "-".to_owned(), |max| units::duration(max, 3));
        let line = format!(
            "\rmeasuring for {}{of}: {} sections, irqs_off max {max} (Ctrl-C ends and reports)\x1b[K",
            units::duration(elapsed_ns / 1_000_000_000 * 1_000_000_000, 3),
            units::count(sections),
        );
        // Progress that cannot be shown is not worth an error.
        let _ = io::stderr().write_all(line.as_bytes());
    }

    /// Removes the line.
    pub(crate) fn clear(&self) {
        if self.on {
            let _ = io::stderr().write_all(b"\r\x1b[K");
        }
    }
}
