//! Cumulative numbers at one moment, and the difference of two such moments.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::histogram::{Histogram, HistogramError, metrics_from_json};
use crate::metric::{Counter, Loss, Metric};

/// Everything counted from the begin of the measurement up to one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Snapshot {
    /// The moment, CLOCK_MONOTONIC ns.
    pub at_ns: u64,
    /// By metric that is measured; absent means not measured.
    pub metrics: BTreeMap<Metric, Histogram>,
    /// By counter; absent means 0.
    pub counters: BTreeMap<Counter, u64>,
    /// By cause; absent means 0.
    pub losses: BTreeMap<Loss, u64>,
}

/// What happened between two snapshots.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Interval {
    /// Begin, ns from the start of the recording.
    pub start_ns: u64,
    /// Length, ns.
    pub length_ns: u64,
    /// By metric that is measured; absent means not measured.
    #[serde(deserialize_with = "metrics_from_json")]
    pub metrics: BTreeMap<Metric, Histogram>,
    /// By counter; absent means 0.
    pub counters: BTreeMap<Counter, u64>,
    /// By cause; absent means 0.
    pub losses: BTreeMap<Loss, u64>,
}

/// Why two snapshots or intervals do not go together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SnapshotError {
    /// The later snapshot is the earlier one, or the recording started after it.
    #[error("the clock went back from {earlier_ns} ns to {later_ns} ns")]
    Clock {
        /// What should come first.
        earlier_ns: u64,
        /// What should come second.
        later_ns: u64,
    },
    /// The histograms of a metric do not go together.
    #[error("{metric}: {error}")]
    Histogram {
        /// The metric.
        metric: Metric,
        /// What is wrong.
        #[source]
        error: HistogramError,
    },
    /// A metric is measured on one side only.
    #[error("{metric} is measured on one side only")]
    Metric {
        /// The metric.
        metric: Metric,
    },
    /// A cumulative counter went backwards.
    #[error("{name} went back from {earlier} to {later}")]
    Backwards {
        /// Name of the counter or the cause of loss.
        name: &'static str,
        /// In the earlier snapshot.
        earlier: u64,
        /// In the later one.
        later: u64,
    },
    /// A counter of two intervals together exceeds `u64::MAX`.
    #[error("{name} is more than 2^64 - 1")]
    TooMany {
        /// Name of the counter or the cause of loss.
        name: &'static str,
    },
    /// The second interval does not begin where the first one ends.
    #[error("the interval ends at {end_ns} ns but the next one begins at {next_ns} ns")]
    NotAdjacent {
        /// End of the first, ns from the start of the recording.
        end_ns: u64,
        /// Begin of the second.
        next_ns: u64,
    },
}

impl Snapshot {
    /// What happened since `earlier`. `recording_start_ns` is the moment (CLOCK_MONOTONIC) that
    /// [`Interval::start_ns`] is counted from, usually that of the first snapshot.
    ///
    /// # Errors
    /// If a cumulative number or the clock went backwards, or the sets of metrics differ.
    pub fn since(&self, earlier: &Self, recording_start_ns: u64) -> Result<Interval, SnapshotError> {
        let elapsed = |earlier_ns: u64, later_ns: u64| {
            later_ns.checked_sub(earlier_ns).ok_or(SnapshotError::Clock { earlier_ns, later_ns })
        };
        Ok(Interval {
            start_ns: elapsed(recording_start_ns, earlier.at_ns)?,
            length_ns: elapsed(earlier.at_ns, self.at_ns)?,
            metrics: pairwise(&self.metrics, &earlier.metrics, Histogram::since)?,
            counters: differences(&self.counters, &earlier.counters, Counter::name)?,
            losses: differences(&self.losses, &earlier.losses, Loss::name)?,
        })
    }
}

impl Interval {
    /// This interval and the `next` one as one. Exact: merging the intervals between snapshots
    /// gives the interval between the first and the last of them.
    ///
    /// # Errors
    /// If `next` does not begin where this one ends, or the sets of metrics differ.
    pub fn merge(&self, next: &Self) -> Result<Self, SnapshotError> {
        let end_ns = self.start_ns.saturating_add(self.length_ns);
        if end_ns != next.start_ns {
            return Err(SnapshotError::NotAdjacent { end_ns, next_ns: next.start_ns });
        }
        Ok(Self {
            start_ns: self.start_ns,
            length_ns: self
                .length_ns
                .checked_add(next.length_ns)
                .ok_or(SnapshotError::TooMany { name: "length_ns" })?,
            metrics: pairwise(&self.metrics, &next.metrics, Histogram::merge)?,
            counters: sums(&self.counters, &next.counters, Counter::name)?,
            losses: sums(&self.losses, &next.losses, Loss::name)?,
        })
    }

    /// Events per second of `counter`, `None` for an interval without length.
    #[must_use]
    pub fn rate(&self, counter: Counter) -> Option<f64> {
        let count = self.counters.get(&counter).copied().unwrap_or(0);
        (self.length_ns > 0).then(|| count as f64 * 1e9 / self.length_ns as f64)
    }
}

/// Applies `operation` to the two histograms of each metric.
fn pairwise(
    left: &BTreeMap<Metric, Histogram>,
    right: &BTreeMap<Metric, Histogram>,
    operation: impl Fn(&Histogram, &Histogram) -> Result<Histogram, HistogramError>,
) -> Result<BTreeMap<Metric, Histogram>, SnapshotError> {
    if let Some(&metric) = right.keys().find(|metric| !left.contains_key(metric)) {
        return Err(SnapshotError::Metric { metric });
    }
    left.iter()
        .map(|(&metric, histogram)| {
            let other = right.get(&metric).ok_or(SnapshotError::Metric { metric })?;
            let result =
                operation(histogram, other).map_err(|error| SnapshotError::Histogram { metric, error })?;
            Ok((metric, result))
        })
        .collect()
}

fn differences<K: Copy + Ord>(
    later: &BTreeMap<K, u64>,
    earlier: &BTreeMap<K, u64>,
    name: impl Fn(K) -> &'static str,
) -> Result<BTreeMap<K, u64>, SnapshotError> {
    combine(later, earlier, |key, later, earlier| {
        later.checked_sub(earlier).ok_or(SnapshotError::Backwards { name: name(key), earlier, later })
    })
}

/// Sums by key, an absent one being 0.
pub(crate) fn sums<K: Copy + Ord>(
    left: &BTreeMap<K, u64>,
    right: &BTreeMap<K, u64>,
    name: impl Fn(K) -> &'static str,
) -> Result<BTreeMap<K, u64>, SnapshotError> {
    combine(left, right, |key, left, right| {
        left.checked_add(right).ok_or(SnapshotError::TooMany { name: name(key) })
    })
}

fn combine<K: Copy + Ord>(
    left: &BTreeMap<K, u64>,
    right: &BTreeMap<K, u64>,
    operation: impl Fn(K, u64, u64) -> Result<u64, SnapshotError>,
) -> Result<BTreeMap<K, u64>, SnapshotError> {
    let value = |map: &BTreeMap<K, u64>, key| map.get(key).copied().unwrap_or(0);
    left.keys()
        .chain(right.keys())
        .map(|key| Ok((*key, operation(*key, value(left, key), value(right, key))?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn snapshot(at_ns: u64, holds: &[u64], sections: u64, lost: u64) -> Snapshot {
        let mut histogram = Histogram::new();
        for &hold in holds {
            histogram.record(hold);
        }
        Snapshot {
            at_ns,
            metrics: BTreeMap::from([(Metric::LockHold, histogram)]),
            counters: BTreeMap::from([(Counter::Sections, sections)]),
            losses: BTreeMap::from([(Loss::TaskMismatch, lost)]),
        }
    }

    #[test]
    fn intervals_are_differences_and_add_up() {
        let first = snapshot(1_000, &[], 0, 0);
        let second = snapshot(3_000, &[100, 200], 2, 0);
        let third = snapshot(3_500, &[100, 200, 150], 3, 1);
        let one = second.since(&first, 1_000).unwrap();
        let two = third.since(&second, 1_000).unwrap();
        assert_eq!((one.start_ns, one.length_ns, two.start_ns, two.length_ns), (0, 2_000, 2_000, 500));
        assert_eq!(two.metrics[&Metric::LockHold].count(), 1);
        assert_eq!((two.counters[&Counter::Sections], two.losses[&Loss::TaskMismatch]), (1, 1));
        assert_eq!(one.merge(&two).unwrap(), third.since(&first, 1_000).unwrap());
        assert_eq!(one.rate(Counter::Sections), Some(1e6));
        assert_eq!(one.rate(Counter::Yields), Some(0.0));
        assert_eq!(Interval::default().rate(Counter::Sections), None);
        let error = two.merge(&one).unwrap_err().to_string();
        assert_eq!(error, "the interval ends at 2500 ns but the next one begins at 0 ns");
    }

    #[test]
    fn nothing_goes_backwards() {
        let earlier = snapshot(1_000, &[5], 1, 2);
        let error = |later: &Snapshot, start| later.since(&earlier, start).unwrap_err().to_string();
        let later = snapshot(2_000, &[5], 1, 2);
        assert!(later.since(&earlier, 1_000).is_ok());
        assert_eq!(error(&snapshot(999, &[5], 1, 2), 0), "the clock went back from 1000 ns to 999 ns");
        assert_eq!(error(&later, 1_001), "the clock went back from 1001 ns to 1000 ns");
        assert_eq!(error(&snapshot(2_000, &[6], 1, 2), 0), "lock_hold: slot 5 went back from 1 to 0");
        assert_eq!(error(&snapshot(2_000, &[5], 0, 2), 0), "sections went back from 1 to 0");
        let mut forgotten = later.clone();
        forgotten.losses.clear();
        assert_eq!(error(&forgotten, 0), "task_mismatch went back from 2 to 0");
    }

    #[test]
    fn metrics_are_the_same_throughout() {
        let full = snapshot(1_000, &[5], 1, 0);
        let mut without = snapshot(1_000, &[], 1, 0);
        without.metrics.clear();
        let expected = Err(SnapshotError::Metric { metric: Metric::LockHold });
        assert_eq!(full.since(&without, 0), expected);
        assert_eq!(without.since(&full, 0), expected);
    }

    #[test]
    fn counters_that_appear_began_at_nothing() {
        let mut earlier = snapshot(1_000, &[], 0, 0);
        earlier.counters.clear();
        let interval = snapshot(2_000, &[], 4, 0).since(&earlier, 0).unwrap();
        assert_eq!(interval.counters[&Counter::Sections], 4);
    }
}
