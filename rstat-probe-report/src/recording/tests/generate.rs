//! Recordings for property tests: events in random intervals, everything else random.

use std::collections::BTreeMap;

use proptest::collection::{btree_map, vec};
use proptest::num::f64::{NORMAL, POSITIVE, SUBNORMAL, ZERO};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::super::*;
use super::empty;
use crate::snapshot::Snapshot;
use crate::yields::YieldBehaviour;

/// Values of every magnitude.
pub(super) fn value() -> impl Strategy<Value = u64> {
    (0..=64_u32, any::<u64>()).prop_map(|(bits, value)| value.checked_shr(64 - bits).unwrap_or(0))
}

fn counts<K: Copy + Ord + std::fmt::Debug + 'static>(
    keys: &'static [K],
) -> impl Strategy<Value = BTreeMap<K, u64>> {
    btree_map(select(keys), 0..1_000_000_u64, 0..=keys.len())
}

/// Cumulative snapshots; each adds something to the one before.
fn snapshots() -> impl Strategy<Value = Vec<Snapshot>> {
    let more = (
        btree_map(select(Metric::ALL), vec(value(), 0..20), 0..=Metric::ALL.len()),
        counts(Counter::ALL),
        counts(Loss::ALL),
        1..10_000_000_000_u64,
    );
    (any::<u32>(), vec(more, 0..5)).prop_map(|(at_ns, steps)| {
        let metrics = Metric::ALL.iter().map(|&metric| (metric, Histogram::new())).collect();
        let mut all = vec![Snapshot { at_ns: at_ns.into(), metrics, ..Snapshot::default() }];
        for (events, counters, losses, length) in steps {
            let mut next = all[all.len() - 1].clone();
            next.at_ns += length;
            for (metric, values) in events {
                let histogram = next.metrics.entry(metric).or_default();
                for value in values {
                    histogram.record(value);
                }
            }
            for (key, count) in counters {
                *next.counters.entry(key).or_default() += count;
            }
            for (key, count) in losses {
                *next.losses.entry(key).or_default() += count;
            }
            all.push(next);
        }
        all
    })
}

fn float() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.0), 0.0..1e9_f64, POSITIVE | NORMAL | SUBNORMAL | ZERO]
}

fn ended_by() -> impl Strategy<Value = EndedBy> {
    prop_oneof![
        Just(EndedBy::Duration),
        Just(EndedBy::Command),
        Just(EndedBy::StdoutClosed),
        "SIG[A-Z]{3,4}".prop_map(|name| EndedBy::Signal { name }),
        any::<String>().prop_map(|message| EndedBy::Error { message }),
    ]
}

fn overhead() -> impl Strategy<Value = Overhead> {
    let program = (any::<String>(), any::<u64>(), any::<u64>())
        .prop_map(|(program, run_count, run_time_ns)| ProgramCost { program, run_count, run_time_ns });
    let sample = (any::<u64>(), any::<u64>(), vec(program, 0..3), float()).prop_map(
        |(length_ns, sections, programs, ns_per_section)| OverheadSample {
            length_ns,
            sections,
            programs,
            ns_per_section,
        },
    );
    (option::of(sample), option::of(float()), option::of(any::<String>()), any::<String>()).prop_map(
        |(sampled, percent_of_one_cpu, unavailable, note)| Overhead {
            sampled,
            percent_of_one_cpu,
            unavailable,
            note,
        },
    )
}

fn workload() -> impl Strategy<Value = Workload> {
    let result = any::<String>().prop_map(|text| serde_json::json!({"kind": text, "x": [1, null, 0.1]}));
    (vec(any::<String>(), 1..3), option::of(any::<i32>()), option::of(any::<i32>()), option::of(result))
        .prop_map(|(command, exit_code, signal, result)| Workload { command, exit_code, signal, result })
}

/// Recordings that are right in themselves.
pub(crate) fn recording() -> impl Strategy<Value = Recording> {
    let yields = (any::<u64>(), any::<u64>(), any::<u64>(), 1..=8192_u32, any::<bool>());
    (snapshots(), ended_by(), overhead(), option::of(workload()), yields, any::<[String; 3]>()).prop_map(
        |(snapshots, ended_by, overhead, workload, yields, text)| {
            let mut recording = empty();
            let start = snapshots[0].at_ns;
            recording.intervals =
                snapshots.windows(2).map(|pair| pair[1].since(&pair[0], start).unwrap()).collect();
            let last = &snapshots[snapshots.len() - 1];
            recording.duration_ns = last.at_ns - start;
            recording.totals = Totals { metrics: last.metrics.clone(), counters: last.counters.clone() };
            recording.losses = last.losses.clone();
            let (flushes, yields, sections, cpus, symbol) = yields;
            recording.provenance.yield_behaviour =
                YieldBehaviour::from_counters(flushes, yields, sections, cpus, symbol);
            let [host, argument, version] = text;
            recording.provenance.host = host;
            recording.provenance.command_line.push(argument);
            recording.provenance.kernel.version = version;
            Recording { ended_by, overhead, workload, ..recording }
        },
    )
}
