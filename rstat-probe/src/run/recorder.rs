//! Turns readings of the maps into snapshots, intervals and totals.

use std::collections::BTreeMap;

use anyhow::Context as _;
use rstat_probe_report::{Counter, Histogram, Interval, Loss, Metric, Snapshot};

use crate::kernel::{plan::Basis, reader::Reading};

/// More intervals than this are joined in pairs, unless the user asked for their length: a
/// forgotten `run` must not eat the host's memory.
const MANY_INTERVALS: usize = 3600;

/// The measurement as it grows.
pub(crate) struct Recorder {
    start_ns: u64,
    last: Snapshot,
    /// Finished intervals, ascending.
    pub intervals: Vec<Interval>,
    /// Intervals of the user's length joined into one of ours.
    factor: usize,
    /// Parts of the interval that is being joined.
    pending: Vec<Interval>,
    join: bool,
}

impl Recorder {
    /// Starts with the snapshot taken when counting began.
    pub(crate) fn new(first: Snapshot, join: bool) -> Self {
        Self {
            start_ns: first.at_ns,
            last: first,
            intervals: Vec::new(),
            factor: 1,
            pending: Vec::new(),
            join,
        }
    }

    /// Ends an interval with `snapshot` and returns it.
    pub(crate) fn push(&mut self, snapshot: Snapshot) -> anyhow::Result<Interval> {
        let interval =
            snapshot.since(&self.last, self.start_ns).context("the counters contradict themselves")?;
        self.last = snapshot;
        self.pending.push(interval.clone());
        if self.pending.len() >= self.factor {
            self.close()?;
        }
        if self.join && self.intervals.len() >= MANY_INTERVALS {
            let pairs = self.intervals.chunks(2).map(joined).collect::<anyhow::Result<_>>()?;
            self.intervals = pairs;
            self.factor *= 2;
        }
        Ok(interval)
    }

    /// The totals, once the last snapshot is in.
    pub(crate) fn finish(mut self) -> anyhow::Result<(Snapshot, Vec<Interval>, u64)> {
        self.close()?;
        let duration = self.last.at_ns - self.start_ns;
        Ok((self.last, self.intervals, duration))
    }

    /// The newest snapshot.
    pub(crate) fn last(&self) -> &Snapshot {
        &self.last
    }

    /// CLOCK_MONOTONIC ns at the begin.
    pub(crate) fn start_ns(&self) -> u64 {
        self.start_ns
    }

    fn close(&mut self) -> anyhow::Result<()> {
        if !self.pending.is_empty() {
            self.intervals.push(joined(&self.pending)?);
            self.pending.clear();
        }
        Ok(())
    }
}

fn joined(intervals: &[Interval]) -> anyhow::Result<Interval> {
    let (first, rest) = intervals.split_first().context("nothing to join")?;
    rest.iter().try_fold(first.clone(), |sum, next| Ok(sum.merge(next)?))
}

/// The snapshot of `reading`: measured metrics, and every cause of loss that was watched for.
pub(crate) fn snapshot(
    basis: &BTreeMap<Metric, Basis>,
    reading: &Reading,
    recursion_misses: Option<u64>,
    at_ns: u64,
) -> anyhow::Result<Snapshot> {
    let measured = |metric: Metric| matches!(basis.get(&metric), Some(Basis::From(_)));
    let flush = reading.flush_by_tracepoint.merge(&reading.flush_by_function)?;
    let metrics = [
        (Metric::IrqsOff, &reading.irqs_off),
        (Metric::LockWait, &reading.lock_wait),
        (Metric::LockHold, &reading.lock_hold),
        (Metric::Flush, &flush),
        (Metric::CpuLockWait, &reading.cpu_lock_wait),
        (Metric::CpuLockHold, &reading.cpu_lock_hold),
    ];
    let metrics: BTreeMap<Metric, Histogram> = metrics
        .into_iter()
        .filter(|(metric, _)| measured(*metric))
        .map(|(metric, histogram)| (metric, histogram.clone()))
        .collect();
    let mut counters = BTreeMap::from([
        (Counter::Sections, reading.sections),
        (Counter::Flushes, reading.flushes),
        (Counter::Yields, reading.yields),
    ]);
    if measured(Metric::LockWait) {
        counters.insert(Counter::Contended, reading.contended);
    }
    let seldom = [
        (Counter::UnseenReturns, reading.unseen_returns),
        (Counter::UnseenEntries, reading.unseen_entries),
        (Counter::InferredEnds, reading.inferred_ends),
    ];
    counters.extend(seldom.into_iter().filter(|(_, count)| *count > 0));
    if let (1.., Some(lacking)) = (reading.inferred_ends, reading.unseen_hold_ns) {
        counters.insert(Counter::UnseenHoldNs, lacking);
    }
    let losses = [
        (Loss::WaitStartMissing, reading.wait_start_missing),
        (Loss::WaitMapFull, reading.wait_map_full),
        (Loss::WaitOverwritten, reading.wait_overwritten),
        (Loss::SectionOverwritten, reading.section_overwritten),
        (Loss::SectionUnseen, reading.section_unseen),
        (Loss::TaskMismatch, reading.task_mismatch),
        (Loss::FlushMapFull, reading.flush_map_full),
        (Loss::ClockBackwards, reading.clock_backwards),
        (Loss::CpuLockUnpaired, reading.cpu_lock_unpaired),
    ];
    let losses = losses.into_iter().chain(recursion_misses.map(|count| (Loss::RecursionMisses, count)));
    Ok(Snapshot { at_ns, metrics, counters, losses: losses.into_iter().collect() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(seconds: u64, sections: u64) -> Snapshot {
        let mut hold = Histogram::new();
        (0..sections).for_each(|value| hold.record(value));
        Snapshot {
            at_ns: 5_000_000_000 + seconds * 1_000_000_000,
            metrics: [(Metric::LockHold, hold)].into(),
            counters: [(Counter::Sections, sections)].into(),
            losses: BTreeMap::new(),
        }
    }

    #[test]
    fn a_long_run_keeps_few_intervals_and_loses_nothing() {
        let mut recorder = Recorder::new(at(0, 0), true);
        let seconds = 3 * MANY_INTERVALS as u64 + 1;
        for second in 1..=seconds {
            recorder.push(at(second, second / 100)).unwrap();
        }
        let (last, intervals, duration) = recorder.finish().unwrap();
        assert!(intervals.len() <= MANY_INTERVALS, "{}", intervals.len());
        assert_eq!(duration, seconds * 1_000_000_000);
        let sum = joined(&intervals).unwrap();
        assert_eq!(sum.length_ns, duration);
        assert_eq!(sum.counters, last.counters);
        assert_eq!(sum.metrics[&Metric::LockHold].count(), last.metrics[&Metric::LockHold].count());
    }

    #[test]
    fn intervals_asked_for_are_kept() {
        let mut recorder = Recorder::new(at(0, 0), false);
        for second in 1..=MANY_INTERVALS as u64 + 10 {
            recorder.push(at(second, 0)).unwrap();
        }
        assert_eq!(recorder.finish().unwrap().1.len(), MANY_INTERVALS + 10);
    }

    #[test]
    fn a_counter_that_goes_back_is_an_error() {
        let mut recorder = Recorder::new(at(0, 9), true);
        assert!(recorder.push(at(1, 8)).is_err());
    }
}
