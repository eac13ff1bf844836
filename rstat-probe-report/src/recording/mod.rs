//! A saved run: the versioned JSON that `run` writes and everything else reads. The shape is
//! described for others in `schema/recording-1.schema.json`; reading is in `read`, writing in
//! `write`.

mod provenance;
mod read;
#[cfg(test)]
pub(crate) mod tests;
mod write;

use std::collections::BTreeMap;

pub use crate::document::ReadError as RecordingError;
pub use provenance::{Cpus, Hook, HookNotUsed, Kernel, MetricBasis, Provenance, Tool};
use serde::{Deserialize, Serialize};
pub(crate) use write::write_json;

use crate::cross_check::CrossCheck;
use crate::histogram::{Histogram, metrics_from_json};
use crate::metric::{Counter, Loss, Metric};
use crate::render::text::escaped;
use crate::snapshot::Interval;

/// What `schema` says in recordings of the version that this crate writes and reads.
pub const SCHEMA: &str = "rstat-probe/recording/1";

/// The JSON Schema (draft 2020-12) of a recording.
pub const RECORDING_SCHEMA: &str = include_str!("../../schema/recording-1.schema.json");

/// A saved run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recording {
    /// [`SCHEMA`].
    pub schema: String,
    /// What wrote it.
    pub tool: Tool,
    /// Where, when and with what it was measured.
    pub provenance: Provenance,
    /// Length of the measurement, ns.
    pub duration_ns: u64,
    /// Why the measurement ended.
    pub ended_by: EndedBy,
    /// The whole measurement.
    pub totals: Totals,
    /// The measurement in parts, ascending; their sum is `totals`. Empty when it was not divided.
    #[serde(deserialize_with = "read::intervals")]
    pub intervals: Vec<Interval>,
    /// What is known to be missed, by cause; absent means 0.
    pub losses: BTreeMap<Loss, u64>,
    /// What began before or ended after the measurement and is therefore in no histogram.
    pub open: Open,
    /// What measuring cost.
    pub overhead: Overhead,
    /// The command that ran meanwhile.
    pub workload: Option<Workload>,
    /// By lock, where the kernel has several (6.16 and later) and the tool can tell them apart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub locks: Vec<LockTotals>,
    /// What the kernel's irqsoff tracer said beside us, when it was asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cross_check: Option<CrossCheck>,
    /// Attribution tables; none in this version.
    pub tables: Vec<serde_json::Value>,
    /// Slow events; none in this version.
    pub slow_events: Vec<serde_json::Value>,
}

impl Recording {
    /// Drops all metrics but the one called `name`.
    ///
    /// # Errors
    /// It has none of that name; the message lists those that it has.
    pub fn keep_only(&mut self, name: &str) -> Result<(), String> {
        let known: Vec<&str> = self.totals.metrics.keys().map(|metric| metric.name()).collect();
        if !known.contains(&name) {
            return Err(format!("there is no {}; it has {}", escaped(name), known.join(", ")));
        }
        self.totals.metrics.retain(|metric, _| metric.name() == name);
        for interval in &mut self.intervals {
            interval.metrics.retain(|metric, _| metric.name() == name);
        }
        Ok(())
    }
}

/// Why a measurement ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "reason", rename_all = "snake_case")]
pub enum EndedBy {
    /// The time asked for was over.
    Duration,
    /// A signal.
    Signal {
        /// Its name, as `SIGTERM`.
        name: String,
    },
    /// The command ended.
    Command,
    /// Nobody reads standard output any more.
    StdoutClosed,
    /// Something failed; what was measured until then is kept.
    Error {
        /// What failed.
        message: String,
    },
}

/// The whole measurement.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// By metric that is measured; absent means not measured, which [`Provenance::metrics`] explains.
    #[serde(deserialize_with = "metrics_from_json")]
    pub metrics: BTreeMap<Metric, Histogram>,
    /// By counter; absent means 0.
    pub counters: BTreeMap<Counter, u64>,
}

/// The sections on one of the main rstat locks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LockTotals {
    /// `base` (`rstat_base_lock`), the name of a subsystem (its `rstat_ss_lock`), or `unknown`.
    pub lock: String,
    /// Sections that ended.
    pub sections: u64,
    /// Those that had waited.
    pub contended: u64,
    /// Sum of the holds, ns.
    pub hold_ns: u64,
    /// Longest hold, ns.
    pub max_hold_ns: u64,
}

/// What was going on at the edges of the measurement. Counted, because it is in no histogram.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Open {
    /// Sections that were open at the start.
    pub at_start: u64,
    /// Sections that were open at the end.
    pub at_end: u64,
    /// Flushes that were running at the start.
    pub flushes_at_start: u64,
    /// Flushes that were running at the end.
    pub flushes_at_end: u64,
    /// Threads that were waiting for a lock at the end.
    pub waits_at_end: u64,
    /// Per-CPU locks that were held at the start.
    pub cpu_locks_at_start: u64,
    /// Per-CPU locks that were held at the end.
    pub cpu_locks_at_end: u64,
}

/// What measuring cost, from the kernel's BPF statistics.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Overhead {
    /// The figures, from a part of the measurement: the statistics cost time themselves.
    pub sampled: Option<OverheadSample>,
    /// Own cost over the whole measurement, percent of one CPU: `ns_per_section` by the sections
    /// per second.
    pub percent_of_one_cpu: Option<f64>,
    /// Why there are no figures.
    pub unavailable: Option<String>,
    /// What the figures contain and what they do not.
    pub note: String,
}

/// BPF statistics over a part of the measurement.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OverheadSample {
    /// Length of the sample, ns.
    pub length_ns: u64,
    /// Sections in it.
    pub sections: u64,
    /// By program.
    pub programs: Vec<ProgramCost>,
    /// Run time of all programs by section, ns. Finite: a sample without sections is none.
    pub ns_per_section: f64,
}

/// BPF statistics of one program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProgramCost {
    /// Its name.
    pub program: String,
    /// Runs.
    pub run_count: u64,
    /// Time in them, ns.
    pub run_time_ns: u64,
}

/// The command of `run -- COMMAND`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// Program and arguments.
    pub command: Vec<String>,
    /// Exit code, when it exited.
    pub exit_code: Option<i32>,
    /// Signal number, when one killed it.
    pub signal: Option<i32>,
    /// What it reported, as a [`crate::load_result::LoadResult`].
    pub result: Option<serde_json::Value>,
}
