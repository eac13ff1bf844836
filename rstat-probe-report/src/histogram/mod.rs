//! A log-linear histogram of times, over the slots of [`rstat_probe_common::slots`], with exact
//! count, sum and extremes. Sums and differences of histograms are in `combine`, quantiles in
//! `quantile`, the JSON in `json`.

mod combine;
mod error;
mod json;
mod quantile;
#[cfg(test)]
mod tests;

pub use error::HistogramError;
pub use json::HistogramJson;
pub(crate) use json::{metrics_from_json, write_sum};
pub use quantile::Range;
use rstat_probe_common::slots::{LIMIT, SLOTS, slot_high, slot_low, slot_of};
use serde::{Deserialize, Serialize};

/// A histogram of times in ns.
///
/// Invariants: slots ascend and none is empty, the number of events fits into a `u64`, the
/// extremes lie in the outermost slots, and the sum is one that the slots allow.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "HistogramJson", into = "HistogramJson")]
pub struct Histogram {
    /// Sparse: a recording holds one histogram per metric and interval, and most intervals fill
    /// a few dozen slots.
    slots: Vec<(usize, u64)>,
    overflow: u64,
    count: u64,
    sum: u128,
    extremes: Option<Extremes>,
}

/// Smallest and largest value, present from the first event on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Extremes {
    min: u64,
    max: u64,
    /// `min` is a value that was recorded, not only a bound from below.
    min_exact: bool,
    /// `max` is a value that was recorded, not only a bound from above.
    max_exact: bool,
}

/// A range of values with the number of events in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bucket {
    /// Smallest value. `None`: below zero, which only foreign data has.
    pub low: Option<u64>,
    /// First value above. `None`: open, or past `u64::MAX`.
    pub high: Option<u64>,
    /// Events.
    pub count: u64,
}

/// Lower and upper end, both inclusive, of the values that a slot stands for; slot [`SLOTS`] is
/// the overflow.
fn ends(slot: usize) -> (u64, u64) {
    if slot == SLOTS { (LIMIT, u64::MAX) } else { (slot_low(slot), slot_high(slot) - 1) }
}

impl Histogram {
    /// A histogram without events.
    #[must_use]
    pub const fn new() -> Self {
        Self { slots: Vec::new(), overflow: 0, count: 0, sum: 0, extremes: None }
    }

    /// Adds one event of `value` ns.
    ///
    /// # Panics
    /// After 2^64 - 1 events.
    pub fn record(&mut self, value: u64) {
        // At one event per nanosecond this takes 584 years; a wrong count would be worse.
        assert!(self.count < u64::MAX, "more than 2^64 - 1 events");
        self.count += 1;
        self.sum += u128::from(value);
        match slot_of(value) {
            None => self.overflow += 1,
            Some(slot) => match self.slots.binary_search_by_key(&slot, |&(slot, _)| slot) {
                Ok(index) => self.slots[index].1 += 1,
                Err(index) => self.slots.insert(index, (slot, 1)),
            },
        }
        let one = Extremes { min: value, max: value, min_exact: true, max_exact: true };
        self.extremes = Some(self.extremes.map_or(one, |all| all.merge(one)));
    }

    /// A histogram from one count for each slot and exact extremes, as the kernel side keeps it.
    ///
    /// # Errors
    /// If the numbers contradict each other.
    pub fn from_parts(
        slots: &[u64],
        overflow: u64,
        sum: u128,
        min: Option<u64>,
        max: Option<u64>,
    ) -> Result<Self, HistogramError> {
        if slots.len() != SLOTS {
            return Err(HistogramError::SlotCount { found: slots.len() });
        }
        let occupied = slots.iter().copied().enumerate().filter(|&(_, count)| count > 0).collect();
        let extremes = match (min, max) {
            (Some(min), Some(max)) => Some(Extremes { min, max, min_exact: true, max_exact: true }),
            (None, None) => None,
            _ => return Err(HistogramError::Extremes { min, max }),
        };
        Self::checked(occupied, overflow, sum, extremes)
    }

    /// The only way into a `Histogram` for numbers from outside; `slots` ascend, without empty ones.
    fn checked(
        slots: Vec<(usize, u64)>,
        overflow: u64,
        sum: u128,
        extremes: Option<Extremes>,
    ) -> Result<Self, HistogramError> {
        let count = slots
            .iter()
            .try_fold(overflow, |count, &(_, more)| count.checked_add(more))
            .ok_or(HistogramError::TooMany)?;
        let histogram = Self { slots, overflow, count, sum, extremes };
        let misfit =
            HistogramError::Extremes { min: extremes.map(|all| all.min), max: extremes.map(|all| all.max) };
        let (Some(lowest), Some(highest)) = (histogram.occupied().next(), histogram.occupied().last()) else {
            return match (extremes, sum) {
                (None, 0) => Ok(histogram),
                (None, _) => Err(HistogramError::Sum { sum, low: 0, high: 0 }),
                (Some(_), _) => Err(misfit),
            };
        };
        let inside = |value: u64, slot: usize| ends(slot).0 <= value && value <= ends(slot).1;
        match extremes {
            Some(Extremes { min, max, .. })
                if min <= max && inside(min, lowest.0) && inside(max, highest.0) =>
            {
                // Below 2^128: less than 2^64 events of less than 2^64 ns.
                let total = |end: fn((u64, u64)) -> u64| -> u128 {
                    histogram
                        .occupied()
                        .map(|(slot, count)| u128::from(end(histogram.clipped(slot))) * u128::from(count))
                        .sum()
                };
                let (low, high) = (total(|(low, _)| low), total(|(_, high)| high));
                if (low..=high).contains(&sum) {
                    Ok(histogram)
                } else {
                    Err(HistogramError::Sum { sum, low, high })
                }
            }
            _ => Err(misfit),
        }
    }

    /// The occupied slots in ascending order, the overflow last and as slot [`SLOTS`].
    pub(crate) fn occupied(&self) -> impl Iterator<Item = (usize, u64)> + '_ {
        self.slots.iter().copied().chain((self.overflow > 0).then_some((SLOTS, self.overflow)))
    }

    /// The values that events in `slot` can have, both ends inclusive.
    fn clipped(&self, slot: usize) -> (u64, u64) {
        let (low, high) = ends(slot);
        match self.extremes {
            Some(all) => (low.max(all.min), high.min(all.max)),
            None => (low, high),
        }
    }

    /// Number of events, those in the overflow included.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// True without events.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.count == 0
    }

    /// Number of events of [`LIMIT`] ns or more.
    #[must_use]
    pub const fn overflow(&self) -> u64 {
        self.overflow
    }

    /// Sum of all values, ns.
    #[must_use]
    pub const fn sum(&self) -> u128 {
        self.sum
    }

    /// Smallest value, ns; only a bound from below unless [`Self::min_exact`].
    #[must_use]
    pub fn min(&self) -> Option<u64> {
        self.extremes.map(|all| all.min)
    }

    /// Largest value, ns; only a bound from above unless [`Self::max_exact`].
    #[must_use]
    pub fn max(&self) -> Option<u64> {
        self.extremes.map(|all| all.max)
    }

    /// Whether [`Self::min`] is a value that was measured. True without events.
    #[must_use]
    pub fn min_exact(&self) -> bool {
        self.extremes.is_none_or(|all| all.min_exact)
    }

    /// Whether [`Self::max`] is a value that was measured. True without events.
    #[must_use]
    pub fn max_exact(&self) -> bool {
        self.extremes.is_none_or(|all| all.max_exact)
    }

    /// Whether both extremes are values that were measured.
    #[must_use]
    pub fn extremes_exact(&self) -> bool {
        self.min_exact() && self.max_exact()
    }

    /// Equality but for whether the extremes are exact: what a difference of cumulative
    /// histograms knows of its extremes depends on where it was cut.
    pub(crate) fn same_events(&self, other: &Self) -> bool {
        let parts = |all: &Self| (all.overflow, all.sum, all.min(), all.max());
        self.slots == other.slots && parts(self) == parts(other)
    }

    /// Mean in ns, `None` without events.
    #[must_use]
    pub fn mean(&self) -> Option<f64> {
        (self.count > 0).then(|| self.sum as f64 / self.count as f64)
    }

    /// The buckets of bpftrace's `hist()`: 0, 1, `[2, 4)`, `[4, 8)`, ... from the first to the
    /// last that is not empty, empty ones between them included. The overflow is one open bucket
    /// from [`LIMIT`] on.
    #[must_use]
    pub fn log2_buckets(&self) -> Vec<Bucket> {
        let index = |slot: usize| ends(slot).0.checked_ilog2().map_or(0, |power| power as usize + 1);
        let Some((lowest, _)) = self.occupied().next() else { return Vec::new() };
        let mut counts = Vec::new();
        for (slot, count) in self.occupied() {
            let position = index(slot) - index(lowest);
            counts.resize(position + 1, 0);
            counts[position] += count;
        }
        let bucket = |(index, count)| {
            let low = if index == 0 { 0 } else { 1_u64 << (index - 1) };
            Bucket { low: Some(low), high: (low < LIMIT).then_some(1_u64 << index), count }
        };
        (index(lowest)..).zip(counts).map(bucket).collect()
    }

    /// The occupied slots as buckets, ascending; the overflow is the open one at the end.
    #[must_use]
    pub fn slot_buckets(&self) -> Vec<Bucket> {
        self.occupied()
            .map(|(slot, count)| {
                let (low, high) = ends(slot);
                Bucket { low: Some(low), high: high.checked_add(1), count }
            })
            .collect()
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}
