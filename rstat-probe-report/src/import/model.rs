//! The one shape that all foreign files are read into.

use serde::ser::{Serialize, SerializeMap as _, SerializeSeq as _, Serializer};
use serde_json::{Map, Value};

use super::Unit;

/// One row of a foreign histogram, `[low, high)` in the histogram's unit, or `(low, high]` where
/// [`ImportedHistogram::upper_inclusive`] says so. Edges are `f64`: integers up to 2^53, all
/// powers of two and Prometheus's decimal fractions are exact in it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ImportedBucket {
    /// `None`: open below.
    pub low: Option<f64>,
    /// `None`: open above.
    pub high: Option<f64>,
    /// Events.
    pub count: u64,
}

/// A foreign histogram.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ImportedHistogram {
    /// As the file has it.
    pub name: String,
    /// The prose before it (`Patched kernel`), which may be all that tells two of one name apart.
    pub heading: Option<String>,
    /// Time of day it was printed at, as the file has it.
    pub time: Option<String>,
    /// What tells histograms of one name apart, in the order of the file (Prometheus).
    pub labels: Vec<(String, String)>,
    /// `None` where the file does not say.
    pub unit: Option<Unit>,
    /// Buckets are `(low, high]`, as Prometheus has them.
    pub upper_inclusive: bool,
    /// Rows, empty ones included, ascending.
    pub buckets: Vec<ImportedBucket>,
    /// Sum of the values in `unit`, where the file has it.
    pub sum: Option<f64>,
    /// Time measured, in s, where the file has it.
    pub elapsed_s: Option<f64>,
}

impl ImportedHistogram {
    /// The name with its heading and labels, as `heading name{key=value,...}`.
    #[must_use]
    pub fn full_name(&self) -> String {
        let name = match &self.heading {
            Some(heading) => format!("{heading} {}", self.name),
            None => self.name.clone(),
        };
        if self.labels.is_empty() {
            return name;
        }
        let labels: Vec<String> = self.labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
        format!("{name}{{{}}}", labels.join(","))
    }

    /// Sum of the counts, `None` above `u64::MAX`.
    #[must_use]
    pub fn total(&self) -> Option<u64> {
        self.buckets.iter().try_fold(0u64, |sum, bucket| sum.checked_add(bucket.count))
    }
}

/// What a foreign file says.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Imported {
    /// The format, as `bpftrace-hist`.
    pub format: String,
    /// Histograms in the order of the file.
    pub histograms: Vec<ImportedHistogram>,
    /// Rows of tables, and samples as `{"value": ...}`.
    pub rows: Vec<Map<String, Value>>,
    /// Single values.
    pub scalars: Map<String, Value>,
    /// Contradictions and doubts, a sentence each.
    pub warnings: Vec<String>,
}

/// Why a foreign file could not be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// No importer takes it.
    #[error("{what}: the format is not recognised; {beginning}; known are {known}")]
    Unrecognised {
        /// The file.
        what: String,
        /// What its first line is, as a clause.
        beginning: String,
        /// Names of the formats.
        known: String,
    },
    /// A known format that cannot be used.
    #[error("{what}:{line}: {message}")]
    Damaged {
        /// The file.
        what: String,
        /// Line, from 1 on.
        line: usize,
        /// What is wrong.
        message: String,
    },
    /// What it is was recognised, and it holds nothing that could be read.
    #[error("{what}:{line}: recognised {recognised}; {advice}")]
    Refused {
        /// The file.
        what: String,
        /// Line it was recognised by, from 1 on.
        line: usize,
        /// What it is.
        recognised: String,
        /// What to do instead.
        advice: String,
    },
}

/// Edges that are whole numbers are written as such.
struct Edge(Option<f64>);

impl Serialize for Edge {
    #[expect(clippy::cast_possible_truncation, reason = "checked to be whole and in range")]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            None => serializer.serialize_none(),
            Some(edge) if edge.fract() == 0.0 && edge.abs() < 9e18 => serializer.serialize_i64(edge as i64),
            Some(edge) => serializer.serialize_f64(edge),
        }
    }
}

impl Serialize for ImportedBucket {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut row = serializer.serialize_seq(Some(3))?;
        row.serialize_element(&Edge(self.low))?;
        row.serialize_element(&Edge(self.high))?;
        row.serialize_element(&self.count)?;
        row.end()
    }
}

impl Serialize for ImportedHistogram {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &self.name)?;
        if let Some(heading) = &self.heading {
            map.serialize_entry("heading", heading)?;
        }
        if let Some(time) = &self.time {
            map.serialize_entry("time", time)?;
        }
        if !self.labels.is_empty() {
            let labels: Map<String, Value> =
                self.labels.iter().map(|(key, value)| (key.clone(), value.clone().into())).collect();
            map.serialize_entry("labels", &labels)?;
        }
        map.serialize_entry("unit", &self.unit)?;
        if self.upper_inclusive {
            map.serialize_entry("interval", "(lo,hi]")?;
        }
        map.serialize_entry("buckets", &self.buckets)?;
        map.serialize_entry("total", &self.total())?;
        if self.sum.is_some() {
            map.serialize_entry("sum", &Edge(self.sum))?;
        }
        if self.elapsed_s.is_some() {
            map.serialize_entry("elapsed_s", &Edge(self.elapsed_s))?;
        }
        map.end()
    }
}
