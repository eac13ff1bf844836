use super::*;
use crate::metric::{Counter, Loss, Metric};
use crate::recording::tests::sample;
use crate::recording::{EndedBy, Overhead};

fn report(recording: &Recording, options: TextOptions) -> String {
    let mut text = Vec::new();
    write_report(&mut text, recording, &options).unwrap();
    String::from_utf8(text).unwrap()
}

fn line(recording: &Recording, index: usize, metrics: &[Metric]) -> String {
    let mut text = Vec::new();
    write_interval_line(&mut text, &recording.intervals[index], metrics).unwrap();
    String::from_utf8(text).unwrap()
}

#[test]
fn golden() {
    insta::assert_snapshot!(report(&sample(), TextOptions { width: None, heading: true }));
}

#[test]
fn golden_narrow() {
    insta::assert_snapshot!(report(&sample(), TextOptions { width: Some(60), heading: false }));
}

#[test]
fn golden_intervals() {
    let metrics = [Metric::IrqsOff];
    let mut text = interval_header(&metrics) + "\n";
    for index in 0..2 {
        text += &line(&sample(), index, &metrics);
    }
    insta::assert_snapshot!(text);
    assert_eq!(text.lines().next().unwrap().len(), line(&sample(), 0, &metrics).trim_end().len());
}

#[test]
fn intervals_without_events_or_metric() {
    let mut recording = sample();
    recording.intervals[0].counters.clear();
    let text = line(&recording, 0, &[Metric::LockWait, Metric::CpuLockHold]);
    insta::assert_snapshot!(text);
}

#[test]
fn quantiles_in_the_overflow_are_open() {
    let mut histogram = crate::Histogram::new();
    for value in [1, 300_000_000_000, 400_000_000_000, 500_000_000_000] {
        histogram.record(value);
    }
    assert_eq!(summary::quantile(&histogram, 0.5), ">=4.6 min");
    assert_eq!(summary::quantile(&histogram, 1.0), "8.3 min");
}

#[test]
fn lines_fit() {
    for columns in [72, 80, 100, 200] {
        let text = report(&sample(), TextOptions { width: Some(columns), heading: true });
        for line in text.lines() {
            assert!(line.chars().count() <= columns.min(100), "{columns}: {line}");
            assert!(!line.ends_with(' '), "{line}");
        }
    }
}

#[test]
fn nothing_steers_the_terminal() {
    let mut recording = sample();
    let evil = || "a\u{1b}[2J\r\u{202e}b".to_owned();
    recording.provenance.host = evil();
    recording.provenance.started = evil();
    recording.provenance.kernel.version = evil();
    recording.provenance.cpus.possible_list = evil();
    recording.provenance.hooks[0].hook = evil();
    recording.provenance.command_line.push(evil());
    recording.tool.version = evil();
    recording.ended_by = EndedBy::Error { message: evil() };
    recording.overhead.note = evil();
    recording.overhead.unavailable = Some(evil());
    for basis in recording.provenance.metrics.values_mut() {
        basis.unavailable = Some(evil());
    }
    let workload = recording.workload.as_mut().unwrap();
    workload.command.push(evil());
    workload.result = Some(serde_json::json!({"kind": evil()}));
    let text = report(&recording, TextOptions { width: None, heading: true });
    let bad = |c: char| (c.is_control() && c != '\n') || c == '\u{202e}';
    assert!(!text.contains(bad), "{text:?}");
    assert!(text.matches("\\u{1b}").count() >= 12);
}

#[test]
fn losses_and_cost_are_never_silent() {
    let mut recording = sample();
    recording.losses = Loss::ALL.iter().map(|&loss| (loss, 0)).collect();
    let text = report(&recording, TextOptions::default());
    assert!(text.contains("losses: none (watched: wait_start_missing,"), "{text}");
    recording.losses.clear();
    recording.overhead = Overhead::default();
    let text = report(&recording, TextOptions::default());
    assert!(text.contains("losses: none known, and none watched for"), "{text}");
    assert!(text.contains("own cost: unknown"), "{text}");
}

#[test]
fn nothing_measured_says_so() {
    let mut recording = sample();
    recording.totals.metrics.clear();
    recording.totals.counters = [(Counter::Sections, 0)].into();
    recording.duration_ns = 0;
    let text = report(&recording, TextOptions::default());
    assert!(text.contains("no metric could be measured"), "{text}");
    assert!(text.contains("counters: sections 0 (-)"), "{text}");
}

#[test]
fn inferred_ends_say_what_they_may_lack() {
    let mut recording = sample();
    assert!(!report(&recording, TextOptions::default()).contains("precision"));
    recording.totals.counters.insert(Counter::InferredEnds, 4);
    let text = report(&recording, TextOptions::default()).replace("\n  ", " ");
    assert!(text.contains("nothing bounds how much"), "{text}");
    recording.totals.counters.insert(Counter::UnseenHoldNs, 5_000);
    let text = report(&recording, TextOptions::default()).replace("\n  ", " ");
    assert!(!text.contains("inferred_ends") && !text.contains("unseen_hold_ns"), "{text}");
    let expected = "precision: 4 releases were not seen but inferred: lock_hold and irqs_off lack at most 1.3 us a section";
    assert!(text.contains(expected), "{text}");
}
