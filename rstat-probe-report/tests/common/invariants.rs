//! What holds for whatever the importers make of a text. The fuzz targets check it too.

use rstat_probe_report::import::{ImportError, Imported, Unit};
use rstat_probe_report::render::foreign;

/// Checks `result`, which was read as a file called `what`.
pub(crate) fn check(result: &Result<Imported, ImportError>, what: &str) {
    match result {
        Ok(imported) => check_imported(imported),
        Err(error) => check_error(error, what),
    }
}

/// One line that names the file, and its line if there is one.
fn check_error(error: &ImportError, what: &str) {
    let message = error.to_string();
    let rest = message.strip_prefix(what).expect("the error names the file");
    match error {
        ImportError::Unrecognised { .. } => assert!(rest.starts_with(": the format is not recognised; ")),
        ImportError::Damaged { line, .. } | ImportError::Refused { line, .. } => {
            assert!(*line > 0, "{message}");
            assert!(rest.starts_with(&format!(":{line}: ")), "{message}");
        }
    }
    assert!(message.len() < 2000, "a message of {} bytes: {:?}", message.len(), message.get(..200));
    assert!(!message.contains(['\n', '\r', '\u{1b}', '\0']), "{message:?}");
}

fn check_imported(imported: &Imported) {
    assert!(!imported.format.is_empty());
    for histogram in &imported.histograms {
        histogram.total().expect("a total that fits");
        let mut end = f64::NEG_INFINITY;
        for bucket in &histogram.buckets {
            for edge in [bucket.low, bucket.high].into_iter().flatten() {
                assert!(edge.is_finite(), "{bucket:?}");
            }
            let low = bucket.low.unwrap_or(f64::NEG_INFINITY);
            // Equal edges: HdrHistogram's first row, and neighbours above 2^53.
            assert!(end <= low && low <= bucket.high.unwrap_or(f64::INFINITY), "{bucket:?} after {end}");
            end = bucket.high.unwrap_or(f64::INFINITY);
        }
        assert!(histogram.sum.is_none_or(f64::is_finite), "{:?}", histogram.sum);
        assert!(histogram.elapsed_s.is_none_or(|s| s.is_finite() && s >= 0.0), "{:?}", histogram.elapsed_s);
    }
    let names = imported.unique_names();
    for (index, name) in names.iter().enumerate().take(50) {
        assert_eq!(imported.select(name), Ok(index), "{name:?}");
    }
    // A fuzzer reads this file too.
    if !names.iter().any(|name| name.contains("no such")) {
        assert!(imported.select("no such name").is_err());
    }
    assert_eq!(imported.select("").is_ok(), names.len() == 1);
    serde_json::to_string(imported).expect("JSON");
    let mut out = Vec::new();
    foreign::write_text(&mut out, imported).expect("text");
    foreign::write_csv(&mut out, imported).expect("CSV");
    let other = imported.clone().with_unit(Unit::Ns);
    assert!(other.histograms.iter().all(|histogram| histogram.unit == Some(Unit::Ns)));
    assert!(other.warnings.len() <= imported.warnings.len() + 1);
}
