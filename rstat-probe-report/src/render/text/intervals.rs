//! One line for each interval, printed while the measurement runs.

use std::fmt::Write as _;
use std::io::{self, Write};

use crate::histogram::Histogram;
use crate::metric::{Counter, Metric};
use crate::snapshot::Interval;
use crate::units;

use super::summary::{bounded_max, quantile, time_share};

/// Heading of the lines of [`write_interval_line`], without a newline. One metric gives 79
/// columns.
#[must_use]
pub fn interval_header(metrics: &[Metric]) -> String {
    let mut line = format!("{:>10} {:>10} {:>10}", "from", "flushes", "sections");
    for metric in metrics {
        let first = format!("{metric} p50");
        // Writing to a string cannot fail.
        let _ = write!(line, " {first:>17} {:>8} {:>9} {:>9}", "p99", "max", "share");
    }
    line
}

/// Writes one line: begin of the interval from the start of the recording, flushes and sections
/// per second, then of each of `metrics` p50, p99, max and the time share of one CPU. Quantiles
/// are upper edges of buckets; a max with `<=` is one, too. Losses are at the end of the line.
///
/// # Errors
/// Those of the writer.
pub fn write_interval_line(w: &mut impl Write, interval: &Interval, metrics: &[Metric]) -> io::Result<()> {
    let rate = |counter| interval.rate(counter).map_or_else(|| "-".to_owned(), units::rate);
    let from = units::tenths_of_seconds(interval.start_ns);
    write!(w, "{from:>10} {:>10} {:>10}", rate(Counter::Flushes), rate(Counter::Sections))?;
    for metric in metrics {
        let [p50, p99, max, share] = match interval.metrics.get(metric) {
            None => ["n/a"; 4].map(str::to_owned),
            Some(histogram) => cells(histogram, interval.length_ns),
        };
        write!(w, " {p50:>17} {p99:>8} {max:>9} {share:>9}")?;
    }
    let causes = interval.losses.iter().filter(|(loss, _)| !loss.is_counted_twice());
    let lost = causes.fold(0_u64, |sum, (_, &lost)| sum.saturating_add(lost));
    if lost > 0 {
        write!(w, "  lost {}", units::count(lost))?;
    }
    writeln!(w)
}

fn cells(histogram: &Histogram, elapsed_ns: u64) -> [String; 4] {
    [
        quantile(histogram, 0.5),
        quantile(histogram, 0.99),
        bounded_max(histogram, |max| units::duration(max, 3)),
        time_share(histogram, elapsed_ns),
    ]
}
