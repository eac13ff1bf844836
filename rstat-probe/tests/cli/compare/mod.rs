//! `compare`: exit codes, inputs of every kind, and the three formats of the report.

mod codes;
mod formats;
mod inputs;
mod loads;
mod published;
mod throughput;

use std::{
    fs,
    path::{Path, PathBuf},
    process::Output,
};

use rstat_probe_report::{Counter, Histogram, Interval, Metric, Recording};
use serde_json::Value;

use crate::{recording, text};

/// Intervals of [`made`]: enough for a test, few enough for a quick one.
const INTERVALS: u64 = 24;

/// Length of each, ns.
const INTERVAL: u64 = 100_000_000;

/// A sample of the corpus, by the number it begins with.
fn sample(number: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../rstat-probe-report/tests/corpus/samples");
    let mut entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries
        .find(|path| path.file_name().unwrap().to_str().unwrap().starts_with(&format!("{number}-")))
        .unwrap()
}

/// `FILE:NAME` of a sample.
fn part(number: &str, name: &str) -> String {
    format!("{}:{name}", sample(number).display())
}

/// The storm, with 24 intervals of three metrics and times that are drawn from `seed`, all of them so many percent of
/// what they would be.
fn made(seed: u64, percent: u64) -> Recording {
    let mut made = Recording::read(recording("storm.json").as_bytes(), "storm.json").unwrap();
    made.provenance.started = format!("2026-01-02T03:04:05.{seed:03}Z");
    made.workload = None;
    made.intervals.clear();
    let mut drawn = seed;
    let mut draw = |below: u64| {
        // Knuth's MMIX; its upper bits are good enough.
        drawn = drawn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (drawn >> 33) % below
    };
    for metric in [Metric::LockWait, Metric::CpuLockWait, Metric::CpuLockHold] {
        without(&mut made, metric);
    }
    made.totals.metrics.values_mut().for_each(|histogram| *histogram = Histogram::new());
    made.totals.counters.values_mut().for_each(|count| *count = 0);
    for index in 0..INTERVALS {
        let mut interval =
            Interval { start_ns: index * INTERVAL, length_ns: INTERVAL, ..Interval::default() };
        let events = 150 + draw(100);
        for (metric, total) in &mut made.totals.metrics {
            let mut histogram = Histogram::new();
            for _ in 0..events {
                let rare = if draw(40) == 0 { 20 } else { 1 };
                let time = (1_000 + draw(2_000)) * rare * percent / 100;
                histogram.record(time);
                total.record(time);
            }
            interval.metrics.insert(*metric, histogram);
        }
        for (counter, total) in &mut made.totals.counters {
            let count = if *counter == Counter::Flushes { events / 2 } else { events };
            interval.counters.insert(*counter, count);
            *total += count;
        }
        interval.losses = made.losses.keys().map(|loss| (*loss, 0)).collect();
        made.intervals.push(interval);
    }
    made.losses.values_mut().for_each(|count| *count = 0);
    made.duration_ns = INTERVALS * INTERVAL;
    made
}

/// Takes a metric out of a recording, as on a kernel without it.
fn without(recording: &mut Recording, metric: Metric) {
    recording.totals.metrics.remove(&metric);
    for interval in &mut recording.intervals {
        interval.metrics.remove(&metric);
    }
    let basis = recording.provenance.metrics.get_mut(&metric).unwrap();
    (basis.basis, basis.unavailable) = (None, Some("no hooks".to_owned()));
}

fn save(folder: &Path, name: &str, recording: &Recording) {
    recording.write(fs::File::create(folder.join(name)).unwrap()).unwrap();
}

/// What `compare` made of `arguments` in `folder`, with few resamples unless they say how many.
fn compare<'a>(folder: &Path, arguments: impl IntoIterator<Item = &'a str>) -> Output {
    let mut command = crate::tool();
    let mut few = true;
    command.current_dir(folder).arg("compare");
    for argument in arguments {
        few &= argument != "--resamples";
        command.arg(argument);
    }
    if few {
        command.args(["--resamples", "200"]);
    }
    command.output().unwrap()
}

/// The report, after which the process ended with `code` and without a word on stderr.
#[track_caller]
fn report(output: &Output, code: i32) -> &str {
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(code), ""), "{output:?}");
    text(&output.stdout)
}

/// The report in JSON, which names the code that the process ended with.
#[track_caller]
fn json(output: &Output, code: i32) -> Value {
    let json: Value = serde_json::from_str(report(output, code)).unwrap();
    assert_eq!(json["exit_code"], code, "{json}");
    assert_eq!(json["schema"], "rstat-probe/comparison/1");
    json
}

/// The measure of a report in JSON.
#[track_caller]
fn measure<'a>(json: &'a Value, name: &str) -> &'a Value {
    let measures = json["measures"].as_array().unwrap();
    measures.iter().find(|measure| measure["name"] == name).unwrap_or_else(|| panic!("no {name}: {json:#}"))
}
