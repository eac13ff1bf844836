//! The sample, round trips, errors; laws, the schema, outliers and damaged input in their files.

mod damage;
mod laws;
mod outliers;
mod schema;

use super::*;
use crate::document::{Document, ReadError};
use crate::histogram::Histogram;
use crate::metric::Metric;
use crate::recording::Recording;
use crate::recording::tests::sample as recording;

pub(crate) fn tool() -> Tool {
    Tool { name: "rstat-probe".to_owned(), version: "0.1.0".to_owned() }
}

/// A recording of `host` that began in this second of a minute, with 200 events of each metric that
/// is measured, spread evenly up to `longest` ns.
pub(crate) fn run(host: &str, second: u32, longest: u64) -> Recording {
    let mut recording = recording();
    host.clone_into(&mut recording.provenance.host);
    recording.provenance.started = format!("2026-01-02T03:04:{second:02}.5Z");
    recording.intervals.clear();
    for histogram in recording.totals.metrics.values_mut() {
        *histogram = Histogram::new();
        (1..=200).for_each(|part| histogram.record(longest * part / 200));
    }
    recording
}

/// Six recordings of five hosts, one of which is slow, with two kernels, losses and an overlap.
pub(crate) fn sample() -> Fleet {
    let mut builder = FleetBuilder::new(tool());
    for (host, second, longest) in [
        ("web-1", 5, 1_000_000),
        ("web-2", 5, 1_100_000),
        ("web-3", 5, 900_000),
        ("db-1", 5, 50_000_000),
        ("web-4", 5, 1_050_000),
        ("web-4", 7, 1_000_000),
    ] {
        let mut recording = run(host, second, longest);
        if host == "db-1" {
            recording.provenance.kernel.release = "6.18.15-amd64".to_owned();
        }
        builder.add_recording(&recording, host).unwrap();
    }
    builder.finish().unwrap()
}

/// The fleet of `recordings`, in this order.
pub(crate) fn merged(recordings: &[Recording]) -> Fleet {
    let mut builder = FleetBuilder::new(tool());
    for (index, recording) in recordings.iter().enumerate() {
        builder.add_recording(recording, &index.to_string()).unwrap();
    }
    builder.finish().unwrap()
}

fn written(fleet: &Fleet) -> String {
    let mut text = Vec::new();
    fleet.write(&mut text).unwrap();
    String::from_utf8(text).unwrap()
}

fn read(text: &str) -> Result<Fleet, ReadError> {
    Fleet::read(text.as_bytes(), "f.json")
}

#[test]
fn golden() {
    insta::assert_snapshot!(written(&sample()));
}

#[test]
fn sample_round_trip() {
    assert_eq!(read(&written(&sample())).unwrap(), sample());
    assert!(matches!(
        Document::read(written(&sample()).as_bytes(), "f.json").unwrap(),
        Document::Fleet(fleet) if *fleet == sample()
    ));
    let mut text = Vec::new();
    recording().write(&mut text).unwrap();
    assert!(matches!(
        Document::read(&text[..], "a.json").unwrap(),
        Document::Recording(read) if *read == recording()
    ));
}

#[test]
fn runs_of_one_host_stay_apart_until_another_comes() {
    let runs = [run("a", 30, 3_000), run("a", 10, 1_000), run("a", 20, 2_000)];
    let one_host = merged(&runs);
    assert_eq!((one_host.unit, one_host.hosts(), one_host.recordings), (UnitKind::Run, 1, 3));
    let starts: Vec<&str> = one_host.units.iter().map(|unit| &unit.started[17..19]).collect();
    assert_eq!(starts, ["10", "20", "30"]);
    let longest: Vec<u64> =
        one_host.units.iter().map(|unit| unit.totals.metrics[&Metric::LockHold].max().unwrap()).collect();
    assert_eq!(longest, [1_000, 2_000, 3_000], "each run has its own events");

    let mut builder = FleetBuilder::new(tool());
    builder.add_fleet(&one_host, "one.json").unwrap();
    builder.add_recording(&run("b", 10, 1_000), "b.json").unwrap();
    let two_hosts = builder.finish().unwrap();
    assert_eq!((two_hosts.unit, two_hosts.hosts(), two_hosts.recordings), (UnitKind::Host, 2, 4));
    let hosts: Vec<(&str, u64)> =
        two_hosts.units.iter().map(|unit| (unit.host.as_str(), unit.recordings)).collect();
    assert_eq!(hosts, [("a", 3), ("b", 1)]);
    assert!(two_hosts.units[0].started.ends_with("10.5Z"), "the earliest");
}

#[test]
fn a_recording_counts_once() {
    let error = |files: &[(&Recording, &str)]| {
        let mut builder = FleetBuilder::new(tool());
        let mut added = files.iter().map(|(recording, what)| builder.add_recording(recording, what));
        added.find_map(Result::err).unwrap().to_string()
    };
    let (one, other) = (run("a", 10, 1_000), run("b", 10, 1_000));
    assert_eq!(
        error(&[(&one, "a.json"), (&other, "x.json"), (&one, "b.json")]),
        "a.json and b.json have the same recording: that of a started 2026-01-02T03:04:10.5Z"
    );
    assert!(error(&[(&one, "a.json"), (&one, "a.json")]).starts_with("a.json is named twice, or"));
    // Merged before, and whatever was taken of it.
    let part = |metric| {
        let mut builder = FleetBuilder::new(tool()).only([metric]);
        builder.add_recording(&one, "a.json").unwrap();
        builder.add_recording(&other, "b.json").unwrap();
        builder.finish().unwrap()
    };
    let mut builder = FleetBuilder::new(tool()).only([Metric::Flush]);
    builder.add_recording(&one, "a.json").unwrap();
    let error = builder.add_fleet(&part(Metric::Flush), "f.json").unwrap_err().to_string();
    assert!(error.starts_with("a.json and f.json have the same recording"), "{error}");
}

#[test]
fn metrics_are_the_same_everywhere() {
    let full = run("a", 10, 1_000);
    let mut without = run("b", 10, 1_000);
    without.totals.metrics.remove(&Metric::Flush);
    without.totals.metrics.remove(&Metric::LockWait);
    without.provenance.metrics.get_mut(&Metric::LockWait).unwrap().unavailable = Some("no hook".to_owned());
    let expected = "b.json lacks lock_wait, flush, which a.json has (no hook); --only irqs_off,lock_hold \
                    sums what both have";
    for order in [[(&full, "a.json"), (&without, "b.json")], [(&without, "b.json"), (&full, "a.json")]] {
        let mut builder = FleetBuilder::new(tool());
        builder.add_recording(order[0].0, order[0].1).unwrap();
        let error = builder.add_recording(order[1].0, order[1].1).unwrap_err();
        assert_eq!(error.to_string(), expected);
    }
    let mut builder = FleetBuilder::new(tool()).only([Metric::LockHold, Metric::IrqsOff]);
    builder.add_recording(&full, "a.json").unwrap();
    builder.add_recording(&without, "b.json").unwrap();
    let fleet = builder.finish().unwrap();
    let metrics: Vec<Metric> = fleet.totals.metrics.keys().copied().collect();
    assert_eq!(metrics, [Metric::IrqsOff, Metric::LockHold]);
    assert_eq!(fleet.units[0].totals.metrics.len(), 2);

    let mut builder = FleetBuilder::new(tool()).only([Metric::LockWait]);
    let error = builder.add_recording(&without, "b.json").unwrap_err().to_string();
    assert_eq!(error, "b.json lacks lock_wait, which --only names (no hook)");

    let mut nothing = run("c", 10, 1_000);
    nothing.totals.metrics.retain(|metric, _| *metric == Metric::LockWait);
    without.totals.metrics.remove(&Metric::LockHold);
    let mut builder = FleetBuilder::new(tool());
    builder.add_recording(&without, "b.json").unwrap();
    let error = builder.add_recording(&nothing, "c.json").unwrap_err().to_string();
    assert_eq!(error, "c.json lacks irqs_off, which b.json has; they have no metric in common");
}

#[test]
fn sums_that_do_not_fit_are_refused() {
    let huge = |host: &str, change: fn(&mut Recording)| {
        let mut recording = run(host, 10, 1_000);
        change(&mut recording);
        recording
    };
    for (change, name) in [
        ((|one| one.duration_ns = u64::MAX) as fn(&mut Recording), "duration_ns"),
        (|one| one.totals.counters.extend([(crate::Counter::Yields, u64::MAX)]), "yields"),
        (|one| one.losses.extend([(Loss::TaskMismatch, u64::MAX)]), "task_mismatch"),
        (|one| one.open.at_start = u64::MAX, "what was open at an edge"),
        (
            |one| {
                let text = format!(
                    r#"{{"count":{0},"sum":0,"min":0,"max":0,"min_exact":true,"max_exact":true,"overflow":0,"slots":[[0,{0}]]}}"#,
                    u64::MAX
                );
                one.totals.metrics.insert(Metric::Flush, serde_json::from_str(&text).unwrap());
            },
            "flush",
        ),
    ] {
        let mut builder = FleetBuilder::new(tool());
        builder.add_recording(&huge("a", change), "a.json").unwrap();
        let error = builder.add_recording(&huge("b", change), "b.json").unwrap_err().to_string();
        assert_eq!(error, format!("b.json cannot be added: {name} would be more than 2^64 - 1"));
    }
    let error = FleetBuilder::new(tool()).finish().unwrap_err().to_string();
    assert_eq!(error, "there is no recording to sum up");
}

#[test]
fn overlaps_are_warned_of() {
    let fleet = sample();
    assert_eq!(fleet.warnings.len(), 1, "{:?}", fleet.warnings);
    assert!(fleet.warnings[0].starts_with("web-4: 2 of its 2 recordings overlap in time"), "{fleet:?}");
    assert_eq!(merged(&[run("a", 1, 9), run("a", 4, 9), run("b", 1, 9)]).warnings, Vec::<String>::new());
}
