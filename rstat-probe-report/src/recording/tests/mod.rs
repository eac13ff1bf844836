//! Round trips, the JSON Schema, and damaged input.

mod damage;
pub(crate) mod generate;
pub(crate) mod schema;

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::metric::{Counter, Loss};
use crate::snapshot::Snapshot;
use crate::yields::YieldBehaviour;

/// A small recording, the same in every run, with something in every field: two intervals, a
/// metric without events, one that could not be measured, a loss, an overflow.
pub(crate) fn sample() -> Recording {
    let mut first = Snapshot { at_ns: 1_000_000_000, ..Snapshot::default() };
    for metric in [Metric::IrqsOff, Metric::LockWait, Metric::LockHold, Metric::Flush] {
        first.metrics.insert(metric, Histogram::new());
    }
    let mut second = Snapshot { at_ns: 2_000_000_000, ..first.clone() };
    record(&mut second, Metric::LockHold, &[700, 1_500, 1_600, 3_000, 1_048_576]);
    record(&mut second, Metric::IrqsOff, &[700, 1_500, 1_600, 3_000, 1_048_576]);
    record(&mut second, Metric::Flush, &[30_000, 1_200_000]);
    second.counters = BTreeMap::from([(Counter::Sections, 5), (Counter::Flushes, 2), (Counter::Yields, 4)]);
    let mut third = Snapshot { at_ns: 3_500_000_000, ..second.clone() };
    record(&mut third, Metric::LockHold, &[1_400, 300_000_000_000]);
    record(&mut third, Metric::IrqsOff, &[1_400, 300_000_000_000]);
    third.counters = BTreeMap::from([(Counter::Sections, 7), (Counter::Flushes, 2), (Counter::Yields, 5)]);
    third.losses = BTreeMap::from([(Loss::WaitMapFull, 3)]);
    let mut recording = empty();
    recording.intervals =
        vec![second.since(&first, first.at_ns).unwrap(), third.since(&second, first.at_ns).unwrap()];
    recording.losses = Loss::ALL.iter().map(|&loss| (loss, 0)).collect();
    recording.losses.extend(third.losses);
    recording.totals = Totals { metrics: third.metrics, counters: third.counters };
    recording
}

fn record(snapshot: &mut Snapshot, metric: Metric, values: &[u64]) {
    let histogram = snapshot.metrics.entry(metric).or_default();
    for &value in values {
        histogram.record(value);
    }
}

/// Everything but the figures.
fn empty() -> Recording {
    let text = str::to_owned;
    let basis = |words: &str| MetricBasis { basis: Some(words.to_owned()), unavailable: None };
    Recording {
        schema: text(SCHEMA),
        tool: Tool { name: text("rstat-probe"), version: text("0.1.0") },
        provenance: Provenance {
            started: text("2026-01-02T03:04:05.678Z"),
            host: text("web-7"),
            kernel: Kernel {
                release: text("6.12.1-amd64"),
                version: text("#1 SMP PREEMPT_DYNAMIC Debian 6.12.1-1"),
                machine: text("x86_64"),
                build_id: Some(text("0123456789abcdef0123456789abcdef01234567")),
                preempt_rt: false,
            },
            cpus: Cpus { possible: 4, possible_list: text("0-3"), online: 2, online_list: text("0-1") },
            command_line: ["rstat-probe", "run", "-d", "2500ms", "--", "echo", "a b\u{1b}[2J"]
                .map(text)
                .to_vec(),
            strategy: Some(text("tracepoints")),
            hooks: vec![Hook {
                hook: text("cgroup_rstat_locked"),
                attach: text("raw_tracepoint"),
                program: text("locked_raw_tp"),
                serves: vec![text("lock_hold"), text("sections")],
            }],
            hooks_not_used: vec![HookNotUsed {
                hook: text("css_rstat_flush"),
                attach: text("fentry"),
                reason: text("not in this kernel"),
            }],
            metrics: BTreeMap::from([
                (Metric::IrqsOff, basis("raw tracepoints")),
                (Metric::LockWait, basis("raw tracepoints")),
                (Metric::LockHold, basis("raw tracepoints")),
                (Metric::Flush, basis("derived from raw tracepoints")),
                (
                    Metric::CpuLockWait,
                    MetricBasis { basis: None, unavailable: Some(text("tracepoints are missing")) },
                ),
            ]),
            clock: text("CLOCK_MONOTONIC"),
            yield_behaviour: YieldBehaviour::from_counters(2, 5, 7, 4, true),
        },
        duration_ns: 2_500_000_000,
        ended_by: EndedBy::Signal { name: text("SIGTERM") },
        totals: Totals::default(),
        intervals: Vec::new(),
        losses: BTreeMap::new(),
        locks: vec![LockTotals {
            lock: text("memory"),
            sections: 6,
            contended: 2,
            hold_ns: 4_500_000,
            max_hold_ns: 1_048_576,
        }],
        cross_check: Some(crate::cross_check::tests::sample()),
        open: Open { at_end: 1, flushes_at_start: 1, ..Open::default() },
        overhead: Overhead {
            sampled: Some(OverheadSample {
                length_ns: 500_000_000,
                sections: 3,
                programs: vec![ProgramCost {
                    program: text("locked_raw_tp"),
                    run_count: 3,
                    run_time_ns: 1_234,
                }],
                ns_per_section: 411.333_333_333_333_3,
            }),
            percent_of_one_cpu: Some(0.000_115),
            unavailable: None,
            note: text("entry and exit of the programs are not in it"),
        },
        workload: Some(Workload {
            command: ["echo", "a b\u{1b}[2J"].map(text).to_vec(),
            exit_code: Some(0),
            signal: None,
            result: Some(serde_json::json!({"note": "no load result"})),
        }),
        tables: Vec::new(),
        slow_events: Vec::new(),
    }
}

fn written(recording: &Recording) -> String {
    let mut text = Vec::new();
    recording.write(&mut text).unwrap();
    String::from_utf8(text).unwrap()
}

fn read(text: &str) -> Result<Recording, RecordingError> {
    Recording::read(text.as_bytes(), "a.json")
}

#[test]
fn golden() {
    insta::assert_snapshot!(written(&sample()));
}

#[test]
fn sample_round_trip() {
    assert_eq!(read(&written(&sample())).unwrap(), sample());
}

#[test]
fn unknown_fields_are_skipped() {
    let mut json = serde_json::to_value(sample()).unwrap();
    json["novelty"] = serde_json::json!([1, {"a": 2}]);
    json["provenance"]["kernel"]["novelty"] = true.into();
    json["intervals"][0]["metrics"]["lock_hold"]["novelty"] = "x".into();
    assert_eq!(read(&json.to_string()).unwrap(), sample());
}

#[test]
fn errors_of_the_writer_come_through() {
    struct Full;
    impl std::io::Write for Full {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(std::io::ErrorKind::StorageFull.into())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    assert_eq!(sample().write(Full).unwrap_err().kind(), std::io::ErrorKind::StorageFull);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn round_trip(recording in generate::recording()) {
        let text = written(&recording);
        let closed = text.ends_with("\n}\n");
        prop_assert!(closed);
        let again = read(&text).unwrap();
        prop_assert_eq!(&again, &recording);
        prop_assert_eq!(written(&again), text);
    }
}
