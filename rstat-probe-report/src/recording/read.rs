//! Reading a recording, and everything that can be wrong with it, each in one line.

use std::io::{self, Read};

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, SeqAccess, Visitor};

use super::{Recording, SCHEMA};
use crate::histogram::{Histogram, HistogramError};
use crate::metric::{Counter, Metric};
use crate::snapshot::{Interval, SnapshotError, sums};

/// What [`SCHEMA`] begins with in every version.
const SCHEMA_FAMILY: &str = "rstat-probe/recording/";

/// Why a recording could not be read. `what` is the name given to [`Recording::read`].
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The reader failed.
    #[error("{what}: {error}")]
    Io {
        /// What was read.
        what: String,
        /// What the reader said.
        #[source]
        error: io::Error,
    },
    /// Not JSON, or JSON that breaks off.
    #[error("{what}: not JSON: {message} at line {line} column {column}")]
    Syntax {
        /// What was read.
        what: String,
        /// What the parser said.
        message: String,
        /// From 1 on.
        line: usize,
        /// From 1 on.
        column: usize,
    },
    /// JSON, but not ours.
    #[error("{what}: no rstat-probe recording: {reason}")]
    NotARecording {
        /// What was read.
        what: String,
        /// What is missing or found instead.
        reason: String,
    },
    /// A recording of a later version.
    #[error(
        "{what}: recording schema {found} is newer than this rstat-probe reads ({SCHEMA}); update rstat-probe"
    )]
    NewerSchema {
        /// What was read.
        what: String,
        /// Its schema.
        found: String,
    },
    /// A recording with a field that is missing, of the wrong type or contradicts another.
    #[error("{what}: damaged recording: {message} at line {line} column {column}")]
    Field {
        /// What was read.
        what: String,
        /// What is wrong with which field.
        message: String,
        /// From 1 on.
        line: usize,
        /// From 1 on.
        column: usize,
    },
    /// The totals are not the sum of the intervals.
    #[error("{what}: damaged recording: totals and intervals differ in {name}")]
    Totals {
        /// What was read.
        what: String,
        /// Name of the metric or the counter.
        name: &'static str,
    },
    /// The intervals have no sum.
    #[error("{what}: damaged recording: intervals: {error}")]
    Intervals {
        /// What was read.
        what: String,
        /// Why not.
        #[source]
        error: SnapshotError,
    },
}

/// The one field that is read before the version is known.
#[derive(Deserialize)]
struct Head {
    schema: Option<serde_json::Value>,
}

impl Recording {
    /// Reads and checks a recording. `what` names it in errors, usually the file name. Fields
    /// that are not known are skipped.
    ///
    /// # Errors
    /// If it cannot be read, is no recording, is newer than [`SCHEMA`], or contradicts itself.
    pub fn read(mut reader: impl Read, what: &str) -> Result<Self, RecordingError> {
        let mut text = Vec::new();
        reader.read_to_end(&mut text).map_err(|error| RecordingError::Io { what: what.to_owned(), error })?;
        check_schema(&text, what)?;
        let recording: Self = serde_json::from_slice(&text).map_err(|error| RecordingError::Field {
            what: what.to_owned(),
            message: without_position(&error),
            line: error.line(),
            column: error.column(),
        })?;
        recording.check_totals(what)?;
        Ok(recording)
    }

    /// Checks that the intervals, if there are any, add up to the totals.
    fn check_totals(&self, what: &str) -> Result<(), RecordingError> {
        if self.intervals.is_empty() {
            return Ok(());
        }
        let differ = |name| RecordingError::Totals { what: what.to_owned(), name };
        let no_sum = |error| RecordingError::Intervals { what: what.to_owned(), error };
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
            .try_fold(std::collections::BTreeMap::new(), |sum, interval| {
                sums(&sum, &interval.counters, Counter::name)
            })
            .map_err(no_sum)?;
        for counter in Counter::ALL {
            if counters.get(counter).unwrap_or(&0) != self.totals.counters.get(counter).unwrap_or(&0) {
                return Err(differ(counter.name()));
            }
        }
        Ok(())
    }
}

/// Tells other JSON and other versions from recordings that can be read.
fn check_schema(text: &[u8], what: &str) -> Result<(), RecordingError> {
    let not = |reason: String| RecordingError::NotARecording { what: what.to_owned(), reason };
    let head: Head = serde_json::from_slice(text).map_err(|error| {
        if error.is_data() {
            return not("not a JSON object".to_owned());
        }
        RecordingError::Syntax {
            what: what.to_owned(),
            message: without_position(&error),
            line: error.line(),
            column: error.column(),
        }
    })?;
    // serde would take an array for a struct, too.
    if text.trim_ascii_start().first() != Some(&b'{') {
        return Err(not("not a JSON object".to_owned()));
    }
    let Some(schema) = head.schema else {
        return Err(not(format!("there is no \"schema\": \"{SCHEMA}\"")));
    };
    let name = schema.as_str().unwrap_or_default();
    if name == SCHEMA {
        return Ok(());
    }
    let version =
        |name: &str| name.strip_prefix(SCHEMA_FAMILY).and_then(|version| version.parse::<u64>().ok());
    if version(name) > version(SCHEMA) {
        return Err(RecordingError::NewerSchema { what: what.to_owned(), found: name.to_owned() });
    }
    Err(not(format!("its schema is {schema}, not \"{SCHEMA}\"")))
}

/// The message of a parse error alone: the position is printed once, at the end of the line.
fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let position = format!(" at line {} column {}", error.line(), error.column());
    text.strip_suffix(&position).unwrap_or(&text).to_owned()
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
