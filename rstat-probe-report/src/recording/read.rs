//! Reading a recording, and everything that can be wrong with it, each in one line.

use std::io::{self, Read};

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, SeqAccess, Visitor};

use super::{Recording, SCHEMA};
use crate::histogram::{Histogram, HistogramError};
use crate::metric::{Counter, Metric};
use crate::render::text::escaped;
use crate::snapshot::{Interval, SnapshotError, sums};

/// What [`SCHEMA`] begins with in every version.
const SCHEMA_FAMILY: &str = "rstat-probe/recording/";

/// Longest input that is read, bytes: a week of intervals of 1 s is about a third of it.
const LONGEST: u64 = 2 << 30;
/// So much is enough to tell what is plainly no recording, bytes.
const BEGINNING: u64 = 1 << 20;

/// Why a recording could not be read. `what` is the name given to [`Recording::read`].
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The reader failed.
    #[error("{what}: {error}")]
    Io {
        /// What was read.
        what: String,
        /// What the reader said. Part of the message, so it is no further link of the chain.
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
    /// Longer than anything that is read into memory.
    #[error("{what}: longer than {} MiB, which is no recording", LONGEST >> 20)]
    TooLong {
        /// What was read.
        what: String,
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
    pub fn read(reader: impl Read, what: &str) -> Result<Self, RecordingError> {
        let text = read_text(reader, what)?;
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

/// Reads all of what may be a recording. Endless or huge input that is none is left early.
fn read_text(mut reader: impl Read, what: &str) -> Result<Vec<u8>, RecordingError> {
    let failed = |error| RecordingError::Io { what: what.to_owned(), error };
    let mut text = Vec::new();
    reader.by_ref().take(BEGINNING).read_to_end(&mut text).map_err(failed)?;
    check_beginning(&text, what)?;
    reader.take(LONGEST - BEGINNING + 1).read_to_end(&mut text).map_err(failed)?;
    if text.len() as u64 > LONGEST {
        return Err(RecordingError::TooLong { what: what.to_owned() });
    }
    Ok(text)
}

/// Refuses what does not begin as a JSON object does.
fn check_beginning(text: &[u8], what: &str) -> Result<(), RecordingError> {
    match text.trim_ascii_start().first() {
        Some(b'{') => Ok(()),
        None if text.len() as u64 == BEGINNING => Err(RecordingError::Syntax {
            what: what.to_owned(),
            message: "nothing but blanks".to_owned(),
            line: text.split(|byte| *byte == b'\n').count(),
            column: 1,
        }),
        _ => {
            let mut values = serde_json::Deserializer::from_slice(text).into_iter::<serde::de::IgnoredAny>();
            match values.next() {
                Some(Err(error)) if !(error.is_eof() && text.len() as u64 == BEGINNING) => {
                    Err(syntax(&error, what))
                }
                None => Err(RecordingError::Syntax {
                    what: what.to_owned(),
                    message: "EOF while parsing a value".to_owned(),
                    line: text.split(|byte| *byte == b'\n').count(),
                    column: 0,
                }),
                _ => Err(RecordingError::NotARecording {
                    what: what.to_owned(),
                    reason: "not a JSON object".to_owned(),
                }),
            }
        }
    }
}

fn syntax(error: &serde_json::Error, what: &str) -> RecordingError {
    RecordingError::Syntax {
        what: what.to_owned(),
        message: without_position(error),
        line: error.line(),
        column: error.column(),
    }
}

/// Tells other JSON and other versions from recordings that can be read.
fn check_schema(text: &[u8], what: &str) -> Result<(), RecordingError> {
    let not = |reason: String| RecordingError::NotARecording { what: what.to_owned(), reason };
    let head: Head = serde_json::from_slice(text).map_err(|error| syntax(&error, what))?;
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
        return Err(RecordingError::NewerSchema { what: what.to_owned(), found: escaped(name) });
    }
    Err(not(format!("its schema is {}, not \"{SCHEMA}\"", escaped(&schema.to_string()))))
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
