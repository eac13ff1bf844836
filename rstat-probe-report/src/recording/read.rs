//! Reading a recording, and whether it contradicts itself.

use std::collections::BTreeMap;
use std::io::Read;

use serde::de::{Deserializer, Error as _, SeqAccess, Visitor};

use super::Recording;
use crate::cross_check::CrossCheck;
use crate::document::{self, Kind, ReadError};
use crate::histogram::{Histogram, HistogramError};
use crate::metric::{Counter, Metric};
use crate::snapshot::{Interval, SnapshotError, sums};

impl Recording {
    /// Reads and checks a recording. `what` names it in errors, usually the file name. Fields
    /// that are not known are skipped.
    ///
    /// # Errors
    /// If it cannot be read, is no recording, is newer than [`super::SCHEMA`], or contradicts itself.
    pub fn read(reader: impl Read, what: &str) -> Result<Self, ReadError> {
        let (text, _) = document::read_text(reader, what, &[&Kind::RECORDING])?;
        Self::from_text(&text, what)
    }

    /// Checks and takes over what is known to be a recording.
    pub(crate) fn from_text(text: &[u8], what: &str) -> Result<Self, ReadError> {
        let recording: Self = document::parse(text, what, &Kind::RECORDING)?;
        recording
            .check_totals()
            .and_then(|()| recording.cross_check.as_ref().map_or(Ok(()), CrossCheck::check))
            .map_err(|message| ReadError::contradiction(what, &Kind::RECORDING, message))?;
        Ok(recording)
    }

    /// Checks that the intervals, if there are any, add up to the totals; says what does not.
    fn check_totals(&self) -> Result<(), String> {
        if self.intervals.is_empty() {
            return Ok(());
        }
        let differ = |name: &str| format!("totals and intervals differ in {name}");
        let no_sum = |error: SnapshotError| format!("intervals: {error}");
        let empty = Histogram::new();
        for &metric in Metric::ALL {
            let merged = self
                .intervals
                .iter()
                .filter_map(|interval| interval.metrics.get(&metric))
                .try_fold(Histogram::new(), |sum, histogram| sum.merge(histogram))
                .map_err(|error: HistogramError| no_sum(SnapshotError::Histogram { metric, error }))?;
            if !merged.same_events(self.totals.metrics.get(&metric).unwrap_or(&empty)) {
                return Err(differ(metric.name()));
            }
        }
        let counters = self
            .intervals
            .iter()
            .try_fold(BTreeMap::new(), |sum, interval| sums(&sum, &interval.counters, Counter::name))
            .map_err(no_sum)?;
        for counter in Counter::ALL {
            if counters.get(counter).unwrap_or(&0) != self.totals.counters.get(counter).unwrap_or(&0) {
                return Err(differ(counter.name()));
            }
        }
        Ok(())
    }
}

/// Reads the intervals; the error of a faulty one says which it is, counted from 0.
pub(super) fn intervals<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Interval>, D::Error> {
    struct Intervals;
    impl<'de> Visitor<'de> for Intervals {
        type Value = Vec<Interval>;

        fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("an array of intervals")
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<Vec<Interval>, A::Error> {
            let mut intervals = Vec::new();
            while let Some(interval) = array
                .next_element()
                .map_err(|error| A::Error::custom(format_args!("interval {}: {error}", intervals.len())))?
            {
                intervals.push(interval);
            }
            Ok(intervals)
        }
    }
    deserializer.deserialize_seq(Intervals)
}
