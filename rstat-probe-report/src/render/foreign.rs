//! Foreign files as text, JSON and CSV, in their own units.

use std::io::{self, Write};

use serde_json::Value;

use super::hist::BAR_WIDTH;
use super::text::escaped;
use crate::import::{Imported, ImportedBucket, ImportedHistogram, Unit};
use crate::units;

/// Writes everything in `imported` for a person.
///
/// # Errors
/// Those of the writer.
pub fn write_text(w: &mut impl Write, imported: &Imported) -> io::Result<()> {
    writeln!(w, "format: {}", escaped(&imported.format))?;
    for histogram in &imported.histograms {
        write_histogram(w, histogram)?;
    }
    for (index, row) in imported.rows.iter().enumerate() {
        if index == 0 {
            writeln!(w, "\nrows")?;
        }
        let fields: Vec<String> =
            row.iter().map(|(name, value)| format!("{name}={}", plain(value))).collect();
        writeln!(w, "  {}", escaped(&fields.join("  ")))?;
    }
    for (index, (name, value)) in imported.scalars.iter().enumerate() {
        if index == 0 {
            writeln!(w)?;
        }
        writeln!(w, "{}: {}", escaped(name), escaped(&plain(value)))?;
    }
    for warning in &imported.warnings {
        writeln!(w, "warning: {}", escaped(warning))?;
    }
    Ok(())
}

fn write_histogram(w: &mut impl Write, histogram: &ImportedHistogram) -> io::Result<()> {
    let unit = histogram.unit.map_or("unit unknown", Unit::word);
    let total = histogram.total().map_or_else(|| "more than 2^64".to_owned(), units::count);
    write!(w, "\n{}, {unit}, {total} events", escaped(&histogram.full_name()))?;
    if let Some(elapsed) = histogram.elapsed_s {
        write!(w, " in {elapsed} s")?;
    }
    writeln!(w)?;
    let most = histogram.buckets.iter().map(|bucket| bucket.count).max().unwrap_or(0);
    for bucket in &histogram.buckets {
        // Of a bar that is no longer than its box the fraction is all that is lost.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "0 to BAR_WIDTH")]
        let stars = (bucket.count as f64 / most.max(1) as f64 * BAR_WIDTH as f64) as usize;
        let bar = "@".repeat(stars);
        let label = label(bucket, histogram.upper_inclusive);
        writeln!(w, "{label:<24} {:>12} |{bar:<BAR_WIDTH$}|", bucket.count)?;
    }
    Ok(())
}

fn label(bucket: &ImportedBucket, upper_inclusive: bool) -> String {
    let edge = |edge: Option<f64>| edge.map_or_else(|| "...".to_owned(), |edge| edge.to_string());
    let (open, close) = if upper_inclusive { ('(', ']') } else { ('[', ')') };
    format!("{open}{}, {}{close}", edge(bucket.low), edge(bucket.high))
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned)
}

/// Writes everything in `imported` as one JSON object.
///
/// # Errors
/// Those of the writer.
pub fn write_json(w: &mut impl Write, imported: &Imported) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *w, imported)?;
    writeln!(w)
}

/// Writes the histograms of `imported` as rows `name,unit,low,high,count`; open edges and an
/// unknown unit are empty.
///
/// # Errors
/// Those of the writer.
pub fn write_csv(w: &mut impl Write, imported: &Imported) -> io::Result<()> {
    let edge = |edge: Option<f64>| edge.map_or_else(String::new, |edge| edge.to_string());
    writeln!(w, "name,unit,low,high,count")?;
    for histogram in &imported.histograms {
        // RFC 4180: quotes in a quoted field are doubled.
        let quoted = histogram.full_name().replace('"', "\"\"");
        let unit = histogram.unit.map_or("", Unit::word);
        for bucket in &histogram.buckets {
            writeln!(w, "\"{quoted}\",{unit},{},{},{}", edge(bucket.low), edge(bucket.high), bucket.count)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::import;

    const TEXT: &str = "time elapsed: 10 sec\n\n@hold_ns[\"a, b\"]:\n[512, 1K)  3 |@@@|\n[1K, 2K)   1 |@|\n";

    fn written(write: impl Fn(&mut Vec<u8>, &Imported) -> io::Result<()>, text: &str) -> String {
        let mut out = Vec::new();
        write(&mut out, &import(text, "x").unwrap()).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn text() {
        insta::assert_snapshot!(written(write_text, TEXT));
    }

    #[test]
    fn csv_quotes_names() {
        insta::assert_snapshot!(written(write_csv, TEXT));
    }

    #[test]
    fn json_has_the_promised_fields() {
        let json: Value = serde_json::from_str(&written(write_json, TEXT)).unwrap();
        for field in ["format", "histograms", "rows", "scalars", "warnings"] {
            assert!(json.get(field).is_some(), "{field}");
        }
        assert_eq!(json["histograms"][0]["buckets"][0], serde_json::json!([512, 1024, 3]));
        assert_eq!(json["histograms"][0]["unit"], "ns");
    }
}
