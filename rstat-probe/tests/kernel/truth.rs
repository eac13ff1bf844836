//! The counts are the truth: perf sees the same number of the same events.

use std::{env, time::Duration};

use rstat_probe_report::{Counter, Metric};

use super::{
    cgroup::Cgroup,
    perf::{Bracket, Setup},
    perf_ready,
    recorded::{count, counter, metric, sections},
    storm::{cpus, last_cpu},
};

/// A flush of the kernel's own at an edge of the measurement spoils equality; the tries that may lose to it.
const TRIES: usize = 6;

/// Measures until the two perfs agree; every try is checked as far as they do.
fn until_exact(setup: Setup<'_>) -> Bracket {
    let cgroup = Cgroup::in_calm();
    for _ in 0..TRIES {
        let bracket = Bracket::measure(setup, &cgroup);
        bracket.check();
        if bracket.is_exact() {
            return bracket;
        }
    }
    panic!("the two perfs did not agree in {TRIES} tries");
}

#[test]
#[ignore = "needs root and a kernel with rstat tracepoints"]
fn sections_equal_what_perf_counts() {
    if !perf_ready() {
        return;
    }
    let setup = Setup { pinned: (&[], &[]), run_options: &[], threads: 4, seconds: 2 };
    let recording = until_exact(setup).recording;
    assert!(sections(&recording) > 1000);
    assert!(cpus() == 1 || counter(&recording, Counter::Contended) > 0);
}

#[test]
#[ignore = "needs root and a kernel with rstat tracepoints"]
fn events_of_the_last_cpu_arrive_at_a_tool_on_the_first() {
    if !perf_ready() {
        return;
    }
    let last = last_cpu().to_string();
    let setup = Setup {
        pinned: (&["taskset", "-c", "0"], &["taskset", "-c", &last]),
        run_options: &[],
        threads: 2,
        seconds: 1,
    };
    let bracket = until_exact(setup);
    // Everything but the kernel's own flushes ran on the last CPU.
    assert!(bracket.task.locked > 1000, "{bracket:?}");
}

#[test]
#[ignore = "needs root and a kernel with rstat tracepoints"]
fn a_long_storm_loses_nothing() {
    if !perf_ready() {
        return;
    }
    let seconds = env::var("RSTAT_PROBE_STORM_SECONDS").map_or(60, |text| text.parse().unwrap());
    let setup = Setup { pinned: (&[], &[]), run_options: &["-i", "1s"], threads: 2 * cpus(), seconds };
    let bracket = Bracket::measure(setup, &Cgroup::in_calm());
    // Nothing lost, equal to perf where the two perfs agree, and the load's own reads equal in any case.
    bracket.check();
    let edges = bracket.outer.locked - bracket.inner.locked;
    println!("{seconds} s, {edges} events at the edges");
    assert!(edges <= 64 * u64::from(bracket.recording.provenance.cpus.possible), "{edges}");

    let recording = &bracket.recording;
    let expected = usize::try_from(seconds).unwrap();
    assert!((expected..=expected + 1).contains(&recording.intervals.len()), "{}", recording.intervals.len());
    let mut end = 0;
    for interval in &recording.intervals {
        assert_eq!(interval.start_ns, end);
        end += interval.length_ns;
        assert!(interval.length_ns < 1_500_000_000, "{}", interval.length_ns);
        for (metric, histogram) in &interval.metrics {
            let buckets: u64 = histogram.log2_buckets().iter().map(|bucket| bucket.count).sum();
            assert_eq!(buckets, histogram.count(), "{metric}");
        }
        assert!(interval.losses.values().all(|lost| *lost == 0));
        // A CPU whose events come late would make an interval without time and one with too much.
        let hold = u64::try_from(interval.metrics[&Metric::LockHold].sum()).unwrap();
        assert!(hold <= interval.length_ns * cpus() as u64, "{hold} ns held in {} ns", interval.length_ns);
    }
    assert_eq!(end, recording.duration_ns);
    // No interval gets what belongs to its neighbours: each has a share of the whole.
    let share = sections(recording) / seconds;
    let busy = recording.intervals.iter().take(expected - 1);
    assert!(
        busy.clone().all(|interval| interval.counters[&Counter::Sections] > share / 20),
        "a storm all the time"
    );
    for name in [Metric::IrqsOff, Metric::LockHold, Metric::LockWait] {
        let longest = metric(recording, name).max().unwrap();
        println!("{name}: {} events, max {:?}", count(recording, name), Duration::from_nanos(longest));
        assert!(longest < recording.duration_ns);
    }
}
