//! Sums of everything that is counted, exact or refused.

use std::collections::BTreeMap;

use super::{Fleet, FleetUnit};
use crate::facts::Facts;
use crate::metric::{Counter, Loss, Metric};
use crate::recording::{Open, Recording, Totals};
use crate::snapshot::{SnapshotError, sums};

/// What is summed of a recording, a unit or all units.
#[derive(Clone, Debug, Default)]
pub(super) struct Sums {
    pub(super) recordings: u64,
    pub(super) duration_ns: u64,
    pub(super) totals: Totals,
    pub(super) losses: BTreeMap<Loss, u64>,
    pub(super) open: Open,
    pub(super) facts: Facts,
}

impl Sums {
    /// Those of one recording.
    pub(super) fn of_recording(recording: &Recording) -> Self {
        Self {
            recordings: 1,
            duration_ns: recording.duration_ns,
            totals: recording.totals.clone(),
            losses: recording.losses.clone(),
            open: recording.open,
            facts: Facts::of(recording),
        }
    }

    /// Those of a unit. Number and time are taken from its runs.
    pub(super) fn of_unit(unit: &FleetUnit) -> Option<Self> {
        let time = unit.runs.iter().try_fold(0_u64, |sum, run| sum.checked_add(run.duration_ns))?;
        Some(Self {
            recordings: unit.runs.len() as u64,
            duration_ns: time,
            totals: unit.totals.clone(),
            losses: unit.losses.clone(),
            open: unit.open,
            facts: unit.facts.clone(),
        })
    }

    /// Adds `other`; of the metrics those that it has. Fails with the name of what does not fit.
    pub(super) fn add(&mut self, other: &Self) -> Result<(), &'static str> {
        let name_of = |error: SnapshotError| match error {
            SnapshotError::TooMany { name } => name,
            _ => "a counter",
        };
        self.recordings = self.recordings.checked_add(other.recordings).ok_or("recordings")?;
        self.duration_ns = self.duration_ns.checked_add(other.duration_ns).ok_or("duration_ns")?;
        for (&metric, histogram) in &other.totals.metrics {
            let sum = self.totals.metrics.entry(metric).or_default();
            *sum = sum.merge(histogram).map_err(|_| metric.name())?;
        }
        self.totals.counters =
            sums(&self.totals.counters, &other.totals.counters, Counter::name).map_err(name_of)?;
        self.losses = sums(&self.losses, &other.losses, Loss::name).map_err(name_of)?;
        self.open = open_sum(self.open, other.open).ok_or("what was open at an edge")?;
        self.facts.merge(&other.facts);
        Ok(())
    }

    /// The metrics that it has.
    pub(super) fn metrics(&self) -> Vec<Metric> {
        self.totals.metrics.keys().copied().collect()
    }
}

fn open_sum(one: Open, other: Open) -> Option<Open> {
    Some(Open {
        at_start: one.at_start.checked_add(other.at_start)?,
        at_end: one.at_end.checked_add(other.at_end)?,
        flushes_at_start: one.flushes_at_start.checked_add(other.flushes_at_start)?,
        flushes_at_end: one.flushes_at_end.checked_add(other.flushes_at_end)?,
        waits_at_end: one.waits_at_end.checked_add(other.waits_at_end)?,
        cpu_locks_at_start: one.cpu_locks_at_start.checked_add(other.cpu_locks_at_start)?,
        cpu_locks_at_end: one.cpu_locks_at_end.checked_add(other.cpu_locks_at_end)?,
    })
}

/// The first thing in which a file differs from the sum of its units.
pub(super) fn difference(stated: &Fleet, held: &Fleet) -> Option<&'static str> {
    if stated.recordings != held.recordings {
        return Some("recordings");
    }
    if stated.duration_ns != held.duration_ns {
        return Some("duration_ns");
    }
    let totals = counted_difference(&stated.totals, &held.totals);
    let losses = || map_difference(&stated.losses, &held.losses, Loss::ALL).map(Loss::name);
    totals
        .or_else(losses)
        .or_else(|| (stated.open != held.open).then_some("open"))
        .or_else(|| (stated.facts != held.facts).then_some("facts"))
}

/// Name of the first metric or counter that differs.
fn counted_difference(one: &Totals, other: &Totals) -> Option<&'static str> {
    let metric = Metric::ALL.iter().find(|metric| one.metrics.get(metric) != other.metrics.get(metric));
    metric
        .map(|metric| metric.name())
        .or_else(|| map_difference(&one.counters, &other.counters, Counter::ALL).map(Counter::name))
}

/// The first key that differs, an absent one being 0.
fn map_difference<K: Copy + Ord>(one: &BTreeMap<K, u64>, other: &BTreeMap<K, u64>, keys: &[K]) -> Option<K> {
    let value = |map: &BTreeMap<K, u64>, key: &K| map.get(key).copied().unwrap_or(0);
    keys.iter().copied().find(|key| value(one, key) != value(other, key))
}
