//! The published comparisons, the rates of false and missed alarms, and the laws.

mod laws;
mod published;
mod trials;

use super::*;
use crate::histogram::Histogram;
use crate::import::{Unit, import};
use crate::input::Input;
use crate::metric::Metric;
use crate::recording::Recording;
use crate::recording::tests::sample;
use crate::snapshot::Interval;

/// A sample of the corpus, as a side of its own.
pub(crate) fn corpus_side(file: &str, name: Option<&str>, unit: Option<Unit>) -> Side {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/corpus/samples");
    let entry = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .find(|path| path.file_name().unwrap().to_str().unwrap().starts_with(&format!("{file}-")))
        .unwrap();
    let imported = import(&std::fs::read_to_string(entry).unwrap(), file).unwrap();
    let imported = match unit {
        Some(unit) => imported.with_unit(unit),
        None => imported,
    };
    let mut side = Side::new(file, false);
    side.add(Input::Foreign(imported), file, name).unwrap();
    side
}

/// A recording whose intervals have these values of `irqs_off`.
pub(crate) fn recording(host: &str, intervals: &[Vec<u64>]) -> Recording {
    let mut recording = sample();
    host.clone_into(&mut recording.provenance.host);
    recording.provenance.started = format!("2026-01-02T03:04:05.{:03}Z", intervals[0].len() % 1000);
    recording.intervals.clear();
    recording.losses.clear();
    recording.totals = crate::recording::Totals::default();
    let mut total = Histogram::new();
    for (index, values) in (0..).zip(intervals) {
        let mut histogram = Histogram::new();
        for value in values {
            histogram.record(*value);
        }
        total = total.merge(&histogram).unwrap();
        recording.intervals.push(Interval {
            start_ns: index * 1_000_000_000,
            length_ns: 1_000_000_000,
            metrics: [(Metric::IrqsOff, histogram)].into(),
            ..Interval::default()
        });
    }
    recording.totals.metrics = [(Metric::IrqsOff, total)].into();
    recording.duration_ns = intervals.len() as u64 * 1_000_000_000;
    recording
}

pub(crate) fn side_of(recordings: Vec<Recording>) -> Side {
    let mut side = Side::new("side", false);
    for (index, recording) in recordings.into_iter().enumerate() {
        side.add(Input::Recording(Box::new(recording)), &format!("{index}.json"), None).unwrap();
    }
    side
}

fn compared(baseline: &Side, candidate: &Side) -> Comparison {
    compare(baseline, candidate, &Options::default(), &[]).unwrap()
}

fn figure(measure: &Measure, name: &str) -> Figure {
    measure.figures.iter().find(|figure| figure.kind.name() == name).unwrap().clone()
}

#[test]
fn one_cross_checked_side_is_told() {
    let recorded = |cross_checked| {
        let mut recording = recording("a", &[vec![1_000; 20], vec![2_000; 20]]);
        recording.cross_check = recording.cross_check.filter(|_| cross_checked);
        side_of(vec![recording])
    };
    let told = |baseline: &Side, candidate: &Side| {
        let differences = compared(baseline, candidate).differences;
        differences.into_iter().find(|difference| difference.what == "cross-check")
    };
    let difference = told(&recorded(false), &recorded(true)).unwrap();
    assert_eq!(
        (&difference.baseline[..], &difference.candidate[..]),
        (&["none".to_owned()][..], &["irqsoff tracer".to_owned()][..])
    );
    assert!(difference.matters.unwrap().contains("without --cross-check"));
    assert_eq!(told(&recorded(true), &recorded(true)), None);
    // Fleets of earlier versions say nothing of it.
    let mut earlier = recorded(false);
    let facts = serde_json::to_value(&earlier.facts).unwrap();
    let mut facts = facts.as_object().unwrap().clone();
    assert!(facts.remove("cross_check").is_some());
    earlier.facts = serde_json::from_value(facts.into()).unwrap();
    assert_eq!(told(&earlier, &recorded(false)), None);
    assert!(told(&earlier, &recorded(true)).is_some());
}
