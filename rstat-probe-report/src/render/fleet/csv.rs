//! Long-form CSV of the histograms of a fleet, one row for each occupied slot.

use std::borrow::Cow;
use std::io::{self, Write};

use crate::fleet::Fleet;
use crate::recording::Totals;

/// Writes the rows of the whole fleet (without host and start), then those of each unit. The other
/// columns are those of [`crate::render::csv::write_csv`]; `length_ns` is the time measured.
///
/// # Errors
/// Those of the writer.
pub fn write_csv(w: &mut impl Write, fleet: &Fleet) -> io::Result<()> {
    writeln!(w, "metric,host,started,length_ns,low_ns,high_ns,count")?;
    write_rows(w, &fleet.totals, &format!(",,{}", fleet.duration_ns))?;
    for unit in &fleet.units {
        let place = format!("{},{},{}", field(&unit.host), field(&unit.started), unit.duration_ns);
        write_rows(w, &unit.totals, &place)?;
    }
    Ok(())
}

fn write_rows(w: &mut impl Write, totals: &Totals, place: &str) -> io::Result<()> {
    for (metric, histogram) in &totals.metrics {
        if histogram.is_empty() {
            writeln!(w, "{metric},{place},,,0")?;
        }
        for bucket in histogram.slot_buckets() {
            let edge = |edge: Option<u64>| edge.map_or_else(String::new, |edge| edge.to_string());
            writeln!(w, "{metric},{place},{},{},{}", edge(bucket.low), edge(bucket.high), bucket.count)?;
        }
    }
    Ok(())
}

/// Text from outside as RFC 4180 wants it.
fn field(text: &str) -> Cow<'_, str> {
    if text.contains([',', '"', '\n', '\r']) {
        format!("\"{}\"", text.replace('"', "\"\"")).into()
    } else {
        text.into()
    }
}
