//! The exact sum of many recordings: what `merge` writes. The hosts stay apart as units, because
//! events of one host are not independent and a comparison must resample hosts; summing is in
//! `builder`, finding the host that differs in `spread`, reading in `read`. The shape is described
//! for others in `schema/fleet-1.schema.json`.

mod builder;
mod error;
mod read;
mod runs;
mod spread;
mod sums;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::BTreeMap;
use std::io::{self, Write};

pub use builder::FleetBuilder;
pub use error::FleetError;
use serde::{Deserialize, Serialize};
pub use spread::{Farthest, MIN_EVENTS, MIN_UNITS, OUTLIER_SCORE, Spread, Statistic};

use crate::facts::Facts;
use crate::metric::Loss;
use crate::recording::{Open, Tool, Totals, write_json};

/// What `schema` says in fleets of the version that this crate writes and reads.
pub const SCHEMA: &str = "rstat-probe/fleet/1";

/// The JSON Schema (draft 2020-12) of a fleet.
pub const FLEET_SCHEMA: &str = include_str!("../../schema/fleet-1.schema.json");

/// The sum of recordings that measured the same metrics.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fleet {
    /// [`SCHEMA`].
    pub schema: String,
    /// What wrote it.
    pub tool: Tool,
    /// How many recordings went in.
    pub recordings: u64,
    /// What `units` are.
    pub unit: UnitKind,
    /// The lengths of all measurements together, ns: host-time, which rates and time shares are by.
    pub duration_ns: u64,
    /// All events of all recordings.
    pub totals: Totals,
    /// What is known to be missed, by cause; absent means 0.
    pub losses: BTreeMap<Loss, u64>,
    /// What began before or ended after a measurement and is therefore in no histogram.
    pub open: Open,
    /// Kernels, CPUs, hooks, yield behaviour and loads of all recordings.
    pub facts: Facts,
    /// The hosts, ascending by name, or the runs of the one host, ascending by start; their sum is
    /// everything above.
    pub units: Vec<FleetUnit>,
    /// How the units differ: two entries for each metric. Follows from `units`, and is derived from
    /// them again when a fleet is read.
    pub outliers: Vec<Spread>,
    /// What makes the sum doubtful, each in a line. Follows from `units`, too.
    pub warnings: Vec<String>,
}

/// What is resampled in a comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum UnitKind {
    /// There are several hosts.
    Host,
    /// All recordings come from one host: its runs are the replicates there are.
    Run,
}

impl UnitKind {
    /// The noun for one and for many.
    #[must_use]
    pub const fn nouns(self) -> (&'static str, &'static str) {
        match self {
            Self::Host => ("host", "hosts"),
            Self::Run => ("run", "runs"),
        }
    }
}

/// One host, or one run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FleetUnit {
    /// Host name.
    pub host: String,
    /// Start of the earliest of its recordings, RFC 3339 in UTC.
    pub started: String,
    /// How many recordings it is the sum of.
    pub recordings: u64,
    /// The lengths of its measurements together, ns.
    pub duration_ns: u64,
    /// All its events.
    pub totals: Totals,
    /// What is known to be missed, by cause; absent means 0.
    pub losses: BTreeMap<Loss, u64>,
    /// What began before or ended after a measurement.
    pub open: Open,
    /// Kernels, CPUs, hooks, yield behaviour and loads of its recordings.
    pub facts: Facts,
    /// The recordings, ascending by start. None is in a fleet twice.
    pub runs: Vec<FleetRun>,
}

/// One recording in a fleet. With the host name these two tell recordings apart: both are exact to
/// the nanosecond.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct FleetRun {
    /// Start of the measurement, RFC 3339 in UTC.
    pub started: String,
    /// Length of the measurement, ns.
    pub duration_ns: u64,
}

impl Fleet {
    /// Writes the fleet as JSON in the layout of recordings, so that a unit is one line. The same
    /// fleet always gives the same bytes.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write(&self, mut writer: impl Write) -> io::Result<()> {
        write_json(self, &mut writer)
    }

    /// What tells `unit` from the others: its host, or its start when all are runs of one host.
    #[must_use]
    pub fn unit_name<'a>(&self, unit: &'a FleetUnit) -> &'a str {
        match self.unit {
            UnitKind::Host => &unit.host,
            UnitKind::Run => &unit.started,
        }
    }

    /// How many hosts there are.
    #[must_use]
    pub fn hosts(&self) -> usize {
        match self.unit {
            UnitKind::Host => self.units.len(),
            UnitKind::Run => self.units.len().min(1),
        }
    }
}
