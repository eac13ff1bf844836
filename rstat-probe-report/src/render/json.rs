//! A recording as one JSON object for dashboards: flat, with edges instead of slot numbers and
//! quantiles worked out, so that a reader needs to know nothing of ours.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;
use serde_json::Value;

use crate::histogram::{Histogram, write_sum};
use crate::metric::{Counter, Loss};
use crate::recording::{EndedBy, Recording};

/// Quantiles that are worked out.
const QUANTILES: [(&str, f64); 5] =
    [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99), ("p99.9", 0.999)];

#[derive(Serialize)]
struct View {
    format: &'static str,
    histograms: Vec<HistogramView>,
    rows: [Value; 0],
    scalars: BTreeMap<String, Value>,
    warnings: Vec<String>,
}

/// All figures in ns but the counts and `elapsed_s`.
#[derive(Serialize)]
struct HistogramView {
    name: &'static str,
    unit: &'static str,
    /// Low, high (null: open), count.
    buckets: Vec<(Option<u64>, Option<u64>, u64)>,
    total: u64,
    #[serde(serialize_with = "write_sum")]
    sum: u128,
    min: Option<u64>,
    max: Option<u64>,
    elapsed_s: f64,
    /// Smallest and largest value that the quantile can have.
    quantiles: BTreeMap<&'static str, [u64; 2]>,
}

impl HistogramView {
    fn of(name: &'static str, histogram: &Histogram, elapsed_s: f64) -> Self {
        let buckets = histogram.slot_buckets();
        Self {
            name,
            unit: "ns",
            buckets: buckets.iter().map(|bucket| (bucket.low, bucket.high, bucket.count)).collect(),
            total: histogram.count(),
            sum: histogram.sum(),
            min: histogram.min(),
            max: histogram.max(),
            elapsed_s,
            quantiles: QUANTILES
                .iter()
                .filter_map(|&(name, q)| histogram.quantile(q).map(|range| (name, [range.low, range.high])))
                .collect(),
        }
    }
}

/// Writes the object: `format`, `histograms`, `rows` (none from a recording), `scalars` and
/// `warnings`. A metric that saw nothing has no buckets and no quantiles; one that was not
/// measured is absent, with a warning that says why.
///
/// # Errors
/// Those of the writer.
pub fn write_json(w: &mut impl Write, recording: &Recording) -> io::Result<()> {
    let elapsed_s = recording.duration_ns as f64 / 1e9;
    let view = View {
        format: "rstat-probe",
        histograms: recording
            .totals
            .metrics
            .iter()
            .map(|(metric, histogram)| HistogramView::of(metric.name(), histogram, elapsed_s))
            .collect(),
        rows: [],
        scalars: scalars(recording),
        warnings: warnings(recording),
    };
    crate::recording::write_json(&view, w)
}

fn scalars(recording: &Recording) -> BTreeMap<String, Value> {
    let at = &recording.provenance;
    let seen = &at.yield_behaviour;
    let mut scalars: BTreeMap<String, Value> = [
        ("duration_ns", recording.duration_ns.into()),
        ("intervals", recording.intervals.len().into()),
        ("host", at.host.as_str().into()),
        ("kernel", at.kernel.release.as_str().into()),
        ("started", at.started.as_str().into()),
        ("possible_cpus", at.cpus.possible.into()),
        ("online_cpus", at.cpus.online.into()),
        ("yield_behaviour", seen.behaviour.name().into()),
        ("yields_per_flush", seen.yields_per_flush.into()),
        ("sections_per_flush", seen.sections_per_flush.into()),
        ("percent_of_one_cpu", recording.overhead.percent_of_one_cpu.into()),
        ("ns_per_section", recording.overhead.sampled.as_ref().map(|sample| sample.ns_per_section).into()),
    ]
    .map(|(name, value): (&str, Value)| (name.to_owned(), value))
    .into();
    for counter in Counter::ALL {
        if let Some(&count) = recording.totals.counters.get(counter) {
            scalars.insert(counter.name().to_owned(), count.into());
        }
    }
    for loss in Loss::ALL {
        if let Some(&count) = recording.losses.get(loss) {
            scalars.insert(format!("lost_{loss}"), count.into());
        }
    }
    scalars
}

/// What one must know before believing the figures.
fn warnings(recording: &Recording) -> Vec<String> {
    let mut warnings = Vec::new();
    if let EndedBy::Error { message } = &recording.ended_by {
        warnings.push(format!("ended by an error: {message}"));
    }
    for (loss, &count) in &recording.losses {
        if count > 0 {
            warnings.push(format!("lost {count} ({loss}): {}", loss.explain()));
        }
    }
    for (metric, histogram) in &recording.totals.metrics {
        if histogram.overflow() > 0 {
            let overflow = histogram.overflow();
            warnings.push(format!("{metric}: {overflow} events of 2^38 ns or more, in no finer bucket"));
        }
    }
    for (metric, basis) in &recording.provenance.metrics {
        if let Some(reason) = &basis.unavailable {
            warnings.push(format!("{metric} was not measured: {reason}"));
        }
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recording::tests::sample;

    #[test]
    fn golden() {
        let mut text = Vec::new();
        write_json(&mut text, &sample()).unwrap();
        let text = String::from_utf8(text).unwrap();
        assert!(serde_json::from_str::<Value>(&text).unwrap().is_object());
        insta::assert_snapshot!(text);
    }
}
