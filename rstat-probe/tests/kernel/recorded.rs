//! Recordings that the tests make. Every one is read back and validated against the JSON Schema.

use std::{fs, path::Path, sync::OnceLock};

use jsonschema::Validator;
use rstat_probe_report::{
    Counter, Histogram, Metric, Recording,
    recording::{EndedBy, RECORDING_SCHEMA},
};
use serde_json::Value;

/// Reads and checks a recording.
pub(super) fn recording(path: &Path) -> Recording {
    let name = path.display().to_string();
    let text = fs::read(path).unwrap_or_else(|error| panic!("{name}: {error}"));
    recording_of(&text, &name)
}

/// Reads and checks the text of a recording.
pub(super) fn recording_of(text: &[u8], name: &str) -> Recording {
    static VALIDATOR: OnceLock<Validator> = OnceLock::new();
    let validator = VALIDATOR.get_or_init(|| {
        let schema: Value = serde_json::from_str(RECORDING_SCHEMA).unwrap();
        jsonschema::draft202012::new(&schema).unwrap()
    });
    let value: Value = serde_json::from_slice(text).unwrap_or_else(|error| panic!("{name}: {error}"));
    let complaints: Vec<String> =
        validator.iter_errors(&value).map(|error| format!("{}: {error}", error.instance_path())).collect();
    assert!(complaints.is_empty(), "{name}: {complaints:#?}");
    Recording::read(text, name).unwrap()
}

pub(super) fn counter(recording: &Recording, counter: Counter) -> u64 {
    recording.totals.counters.get(&counter).copied().unwrap_or(0)
}

pub(super) fn sections(recording: &Recording) -> u64 {
    counter(recording, Counter::Sections)
}

pub(super) fn metric(recording: &Recording, metric: Metric) -> &Histogram {
    recording.totals.metrics.get(&metric).unwrap_or_else(|| panic!("{metric} is missing"))
}

pub(super) fn count(recording: &Recording, name: Metric) -> u64 {
    metric(recording, name).count()
}

pub(super) fn assert_nothing_lost(recording: &Recording) {
    let lost: Vec<_> = recording.losses.iter().filter(|(_, count)| **count > 0).collect();
    assert!(lost.is_empty(), "lost {lost:?} of {} sections", sections(recording));
    assert!(recording.losses.len() >= 9, "watched: {:?}", recording.losses);
}

/// Every section is in every metric that it belongs to; this holds without losses.
pub(super) fn assert_consistent(recording: &Recording) {
    assert_nothing_lost(recording);
    let sections = sections(recording);
    let not_closed = recording.open.at_end;
    assert_eq!(count(recording, Metric::LockHold), sections - not_closed);
    assert_eq!(count(recording, Metric::IrqsOff), sections - not_closed);
    let contended = counter(recording, Counter::Contended);
    assert!(
        (contended - not_closed.min(contended)..=contended).contains(&count(recording, Metric::LockWait))
    );
}

pub(super) fn ended_by_signal(name: &str) -> EndedBy {
    EndedBy::Signal { name: name.to_owned() }
}

/// The report on stdout: with events or without, but whole.
pub(super) fn assert_is_report(text: &str) {
    for part in ["tool: rstat-probe", "irqs_off: ", "lock_hold: ", "counters: ", "own cost: "] {
        assert!(text.contains(part), "no {part:?} in {text}");
    }
    assert!(text.contains(" |@") || text.contains("no events"), "{text}");
    assert!(text.contains("\nlosses: ") || text.contains("\nlost: "), "{text}");
}
