//! What one side of a comparison brings for one measure: events of an interval, a run or a host,
//! in whatever buckets their source has.

use rstat_probe_common::slots::{LIMIT, SLOTS, slot_high, slot_low};

use super::Span;
use crate::histogram::Histogram;
use crate::import::ImportedHistogram;

/// A bucket `[low, high)`; `low == high` is one exact value. Ends may be infinite.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Row {
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) count: u64,
}

/// Events in the buckets of their source.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Counts {
    /// Ours: slot number ([`SLOTS`] is the overflow) and events. Small, because thousands of runs
    /// are held at once.
    Slots(Vec<(u16, u64)>),
    /// Another tool's, ascending, in ns where the unit is a time.
    Rows(Vec<Row>),
    /// Values as they are.
    Values(Vec<f64>),
}

/// Events of an interval, a run or a host.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Part {
    pub(super) counts: Counts,
    /// Sum of all values; `None` where only the buckets bound it.
    pub(super) sum: Option<f64>,
    /// Smallest value, or a bound from below.
    pub(super) min: Option<f64>,
    /// Largest value, as far as it is known.
    pub(super) max: Option<Span>,
    /// Time measured, s.
    pub(super) length_s: Option<f64>,
}

impl Part {
    pub(super) fn of_histogram(histogram: &Histogram, length_ns: u64) -> Self {
        let counts = histogram.occupied().map(|(slot, count)| (slot_number(slot), count)).collect();
        let max = histogram.max().map(|max| {
            let bound = max as f64;
            // Only the slot is known then; its lower end is a bound, too.
            let low = histogram.occupied().last().map_or(0.0, |(slot, _)| ends(slot).0);
            Span { low: if histogram.max_exact() { bound } else { low }, high: bound }
        });
        Self {
            counts: Counts::Slots(counts),
            sum: Some(histogram.sum() as f64),
            min: histogram.min().map(|min| min as f64),
            max,
            length_s: (length_ns > 0).then(|| length_ns as f64 / 1e9),
        }
    }

    /// A histogram of another tool. Its rows ascend and do not overlap, or it is an error.
    pub(super) fn of_foreign(histogram: &ImportedHistogram) -> Result<Self, String> {
        let scale = histogram.unit.map_or(1.0, |unit| unit.nanoseconds() as f64);
        let mut rows: Vec<Row> = Vec::with_capacity(histogram.buckets.len());
        for bucket in &histogram.buckets {
            let high = bucket.high.map_or(f64::INFINITY, |edge| whole(edge * scale));
            // No time is below zero, so that a bucket that is open below begins there.
            let open = if histogram.unit.is_some() && high > 0.0 { 0.0 } else { f64::NEG_INFINITY };
            let low = bucket.low.map_or(open, |edge| whole(edge * scale));
            let fits = low <= high && rows.last().is_none_or(|last| last.high <= low);
            if !fits {
                return Err(format!("bucket [{low}, {high}) overlaps the one before it"));
            }
            rows.push(Row { low, high, count: bucket.count });
        }
        if histogram.total().is_none() {
            return Err("more than 2^64 - 1 events".to_owned());
        }
        let occupied = || rows.iter().filter(|row| row.count > 0);
        Ok(Self {
            min: occupied().next().map(|row| row.low).filter(|low| low.is_finite()),
            max: occupied().next_back().map(|row| Span { low: row.low, high: row.high }),
            sum: histogram.sum.map(|sum| sum * scale),
            length_s: histogram.elapsed_s.filter(|elapsed| *elapsed > 0.0),
            counts: Counts::Rows(rows),
        })
    }

    pub(super) fn of_values(values: Vec<f64>) -> Self {
        let extreme = |pick: fn(f64, f64) -> f64| values.iter().copied().reduce(pick);
        let max = extreme(f64::max).map(Span::exact);
        Self {
            sum: Some(values.iter().sum()),
            min: extreme(f64::min),
            max,
            length_s: None,
            counts: Counts::Values(values),
        }
    }

    pub(super) fn events(&self) -> u64 {
        match &self.counts {
            Counts::Slots(slots) => slots.iter().map(|(_, count)| count).sum(),
            Counts::Rows(rows) => rows.iter().map(|row| row.count).sum(),
            Counts::Values(values) => values.len() as u64,
        }
    }

    /// The occupied buckets, ascending but for plain values.
    pub(super) fn rows(&self) -> Vec<Row> {
        match &self.counts {
            Counts::Slots(slots) => slots
                .iter()
                .map(|&(slot, count)| {
                    let (low, high) = ends(usize::from(slot));
                    Row { low, high, count }
                })
                .collect(),
            Counts::Rows(rows) => rows.iter().copied().filter(|row| row.count > 0).collect(),
            Counts::Values(values) => {
                values.iter().map(|&value| Row { low: value, high: value, count: 1 }).collect()
            }
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "SLOTS is below 2^16")]
fn slot_number(slot: usize) -> u16 {
    slot as u16
}

/// Lower edge and first value above; the overflow has no end.
pub(super) fn ends(slot: usize) -> (f64, f64) {
    if slot >= SLOTS {
        return (LIMIT as f64, f64::INFINITY);
    }
    (slot_low(slot) as f64, slot_high(slot) as f64)
}

/// A decimal edge in ns is whole: what is off by rounding is put right, so that 0.001024 s and
/// 1024 us are one edge.
fn whole(edge: f64) -> f64 {
    let nearest = edge.round();
    if (edge - nearest).abs() <= 1e-9 * nearest.abs().max(1.0) { nearest } else { edge }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::{ImportedBucket, Unit};

    fn foreign(unit: Option<Unit>, edges: &[f64]) -> ImportedHistogram {
        let bucket = |pair: &[f64]| ImportedBucket { low: Some(pair[0]), high: Some(pair[1]), count: 1 };
        let buckets = edges.windows(2).map(bucket).collect();
        ImportedHistogram { unit, buckets, ..ImportedHistogram::default() }
    }

    #[test]
    fn decimal_edges_meet() {
        let seconds = Part::of_foreign(&foreign(Some(Unit::S), &[0.000_512, 0.001_024, 0.002_048])).unwrap();
        let micros = Part::of_foreign(&foreign(Some(Unit::Us), &[512.0, 1024.0, 2048.0])).unwrap();
        assert_eq!(seconds.rows(), micros.rows());
        assert_eq!(micros.rows()[0].low, 512_000.0);
    }

    #[test]
    fn overlapping_rows_are_refused() {
        let mut histogram = foreign(None, &[0.0, 2.0, 4.0]);
        histogram.buckets[1].low = Some(1.0);
        assert!(Part::of_foreign(&histogram).is_err());
    }

    #[test]
    fn slots_keep_what_is_exact() {
        let mut histogram = Histogram::new();
        for value in [5, 1_000, 300_000_000_000] {
            histogram.record(value);
        }
        let part = Part::of_histogram(&histogram, 2_000_000_000);
        assert_eq!(part.events(), 3);
        assert_eq!(part.max, Some(Span::exact(300_000_000_000.0)));
        assert_eq!(part.length_s, Some(2.0));
        assert_eq!(part.rows()[0], Row { low: 5.0, high: 6.0, count: 1 });
        assert_eq!(part.rows()[2], Row { low: LIMIT as f64, high: f64::INFINITY, count: 1 });
    }
}
