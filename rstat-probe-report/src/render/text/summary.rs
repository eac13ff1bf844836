//! The summary table: one row for each metric that is measured.

use std::io::{self, Write};

use rstat_probe_common::slots::LIMIT;

use super::layout::{Page, columns_width, write_columns};
use crate::histogram::Histogram;
use crate::recording::Totals;
use crate::units;

/// What the figures are, for somebody who has never seen them.
const LEGEND: &str = "each table line counts the events of [low, high) ns, K M G being 2^10 2^20 2^30; \
     p50 to p99.9 are upper edges of buckets at most 6.25 % wide, hence two digits; max is exact unless \
     it says <=; time share is the sum of all times by the time measured, in percent of one CPU";

/// Percentiles that are shown.
const QUANTILES: [(&str, f64); 4] = [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("p99.9", 0.999)];

/// Writes the table of what was counted in `elapsed` ns, and what its columns are. Where it does
/// not fit, it is two tables.
pub(in crate::render) fn write_summary(
    w: &mut impl Write,
    totals: &Totals,
    elapsed: u64,
    page: Page,
) -> io::Result<()> {
    if totals.metrics.is_empty() {
        return writeln!(w, "no metric could be measured");
    }
    let mut amounts = vec![["metric", "count", "rate", "time share"].map(str::to_owned).to_vec()];
    let mut times = vec![vec!["metric".to_owned()]];
    times[0].extend(QUANTILES.iter().map(|(name, _)| (*name).to_owned()));
    times[0].push("max".to_owned());
    for (metric, histogram) in &totals.metrics {
        let name = metric.name().to_owned();
        if histogram.is_empty() {
            amounts.push(vec![name.clone(), "0".to_owned(), "no events".to_owned()]);
            times.push(vec![name, "no events".to_owned()]);
            continue;
        }
        amounts.push(vec![
            name.clone(),
            units::count(histogram.count()),
            rate(histogram.count(), elapsed),
            time_share(histogram, elapsed),
        ]);
        let mut row = vec![name];
        row.extend(QUANTILES.iter().map(|&(_, q)| quantile(histogram, q)));
        row.push(bounded_max(histogram, units::exact));
        times.push(row);
    }
    let joined: Vec<Vec<String>> = amounts
        .iter()
        .zip(&times)
        .map(|(left, right)| if left.len() < 4 { left.clone() } else { [left, &right[1..]].concat() })
        .collect();
    if columns_width(&joined) <= page.width {
        write_columns(w, &joined)?;
    } else {
        write_columns(w, &amounts)?;
        writeln!(w)?;
        write_columns(w, &times)?;
    }
    page.write_fact(w, "legend", LEGEND)
}

/// Events per second.
pub(in crate::render) fn rate(count: u64, elapsed_ns: u64) -> String {
    if elapsed_ns == 0 {
        return "-".to_owned();
    }
    units::rate(count as f64 * 1e9 / elapsed_ns as f64)
}

/// The sum of all times by the time measured.
pub(in crate::render) fn time_share(histogram: &Histogram, elapsed_ns: u64) -> String {
    if elapsed_ns == 0 {
        return "-".to_owned();
    }
    units::percent(histogram.sum() as f64 / elapsed_ns as f64)
}

/// Upper end of the range that a quantile lies in; two digits, because the range is up to 6.25 %
/// wide. In the overflow only the lower end is near to anything.
pub(in crate::render) fn quantile(histogram: &Histogram, q: f64) -> String {
    match histogram.quantile(q) {
        None => "-".to_owned(),
        Some(range) if range.low >= LIMIT && range.low < range.high => {
            format!(">={}", units::duration(range.low, 2))
        }
        Some(range) => units::duration(range.high, 2),
    }
}

/// The largest value as `exact` writes it, or its bound with two digits.
pub(in crate::render) fn bounded_max(histogram: &Histogram, exact: impl Fn(u64) -> String) -> String {
    match histogram.max() {
        None => "-".to_owned(),
        Some(max) if histogram.max_exact() => exact(max),
        Some(max) => format!("<={}", units::duration(max, 2)),
    }
}
