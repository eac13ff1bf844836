//! The report that `run` prints at its end and `show` prints of a file, and the lines that `run`
//! prints meanwhile. What is in it comes in this order: heading, tables, summary, and everything
//! one must know before believing them.

mod cross_check;
pub(super) mod facts;
mod intervals;
pub(super) mod layout;
pub(super) mod summary;
#[cfg(test)]
mod tests;

use std::io::{self, Write};

pub use intervals::{interval_header, write_interval_line};
pub use layout::escaped;

use crate::recording::{Recording, Totals};
use crate::render::hist::{BAR_WIDTH, write_hist};

/// How to lay out a report.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextOptions {
    /// Columns of the terminal; `None` for a file or a pipe.
    pub width: Option<usize>,
    /// Whether to begin with where and when it was measured.
    pub heading: bool,
}

/// Writes the whole report, at most 100 columns wide but for words that are longer. Below 72
/// columns the summary table may stick out: figures are not cut.
///
/// # Errors
/// Those of the writer.
pub fn write_report(w: &mut impl Write, recording: &Recording, options: &TextOptions) -> io::Result<()> {
    let page = layout::Page::new(options.width);
    if options.heading {
        facts::write_heading(w, recording, page)?;
        writeln!(w)?;
    }
    write_tables(w, &recording.totals, options, page)?;
    summary::write_summary(w, &recording.totals, recording.duration_ns, page)?;
    writeln!(w)?;
    facts::write_facts(w, recording, page)
}

/// Writes a histogram for each metric, and a blank line after each.
pub(super) fn write_tables(
    w: &mut impl Write,
    totals: &Totals,
    options: &TextOptions,
    page: layout::Page,
) -> io::Result<()> {
    for (metric, histogram) in &totals.metrics {
        page.write_fact(w, metric.name(), &format!("{}, ns", metric.title()))?;
        if histogram.is_empty() {
            writeln!(w, "no events")?;
        }
        write_hist(w, &histogram.log2_buckets(), BAR_WIDTH, options.width)?;
        writeln!(w)?;
    }
    Ok(())
}
