//! Long-form CSV of the histograms of a recording, one row for each occupied slot.

use std::collections::BTreeMap;
use std::io::{self, Write};

use crate::histogram::Histogram;
use crate::metric::Metric;
use crate::recording::Recording;

/// Writes the rows of the whole measurement (interval `total`), then those of each interval
/// (counted from 0). `high_ns` is the first value above, empty for the overflow. A metric that was
/// measured but saw nothing has one row with a count of 0 and no edges; one that was not measured
/// has none.
///
/// RFC 4180 but for lines that end in a newline alone. No field can need quotes: all are numbers
/// and names of ours.
///
/// # Errors
/// Those of the writer.
pub fn write_csv(w: &mut impl Write, recording: &Recording) -> io::Result<()> {
    writeln!(w, "metric,interval,start_ns,length_ns,low_ns,high_ns,count")?;
    write_rows(w, &recording.totals.metrics, &format!("total,0,{}", recording.duration_ns))?;
    for (index, interval) in recording.intervals.iter().enumerate() {
        write_rows(w, &interval.metrics, &format!("{index},{},{}", interval.start_ns, interval.length_ns))?;
    }
    Ok(())
}

fn write_rows(w: &mut impl Write, metrics: &BTreeMap<Metric, Histogram>, interval: &str) -> io::Result<()> {
    for (metric, histogram) in metrics {
        if histogram.is_empty() {
            writeln!(w, "{metric},{interval},,,0")?;
        }
        for bucket in histogram.slot_buckets() {
            let edge = |edge: Option<u64>| edge.map_or_else(String::new, |edge| edge.to_string());
            writeln!(w, "{metric},{interval},{},{},{}", edge(bucket.low), edge(bucket.high), bucket.count)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::tests::sample;

    #[test]
    fn golden() {
        let mut text = Vec::new();
        write_csv(&mut text, &sample()).unwrap();
        insta::assert_snapshot!(String::from_utf8(text).unwrap());
    }

    #[test]
    fn counts_add_up() {
        let mut text = Vec::new();
        write_csv(&mut text, &sample()).unwrap();
        let text = String::from_utf8(text).unwrap();
        let (mut total, mut parts) = (0, 0);
        for line in text.lines().skip(1) {
            let fields: Vec<&str> = line.split(',').collect();
            assert_eq!(fields.len(), 7, "{line}");
            let count: u64 = fields[6].parse().unwrap();
            *if fields[1] == "total" { &mut total } else { &mut parts } += count;
        }
        assert!(total > 0);
        assert_eq!(total, parts);
    }
}
