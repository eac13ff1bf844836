//! The result of `rstat-probe load`, as a file, inside a recording, and as text.

mod charge;
mod hogs;
mod latency;
mod protection;
mod sendfile;
mod stat_reader;
#[cfg(test)]
mod tests;
mod versions;

use std::io::{self, Write};

use serde::{Deserialize, Serialize};

pub use charge::ChargeResult;
pub use hogs::HogsResult;
pub use latency::LatencySummary;
pub use protection::Protection;
pub use sendfile::SendfileResult;
pub use stat_reader::StatReaderResult;

use crate::import::Imported;
use crate::recording::EndedBy;
use crate::render::foreign;
use crate::render::text::escaped;
use crate::units;

/// What `schema` says in the load results that this crate writes.
pub const SCHEMA: &str = "rstat-probe/load-result/2";
/// The version before, which is still read: a flat `stat-reader`.
const SCHEMA_1: &str = "rstat-probe/load-result/1";

/// What [`SCHEMA`] begins with in every version.
pub(crate) const SCHEMA_FAMILY: &str = "rstat-probe/load-result/";

/// What a load did: the block that `kind` names, and those of what ran beside it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "versions::AnyVersion")]
pub struct LoadResult {
    /// [`SCHEMA`], also when an older version was read.
    pub schema: String,
    /// Which load: `stat-reader`, `hogs`, `sendfile` or `charge`.
    pub kind: String,
    /// Start, RFC 3339 in UTC.
    pub started: String,
    /// Length, ns.
    pub duration_ns: u64,
    /// 1 or 2.
    pub cgroup_version: u8,
    /// Path of the cgroup, empty when a file was named instead.
    pub cgroup: String,
    /// Threads that read statistics.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stat_reader: Option<StatReaderResult>,
    /// Processes that the OOM killer takes; alone or beside a stat reader.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hogs: Option<HogsResult>,
    /// Pairs of clients and servers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sendfile: Option<SendfileResult>,
    /// Processes that touch pages and free them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub charge: Option<ChargeResult>,
    /// Why it ended.
    pub ended_by: EndedBy,
}

/// A figure of a load that two runs of it are compared by. More is better.
#[derive(Clone, Debug, PartialEq)]
pub struct Rate {
    /// What `compare` calls it.
    pub name: &'static str,
    /// In `unit`.
    pub value: f64,
    /// As `/s`.
    pub unit: &'static str,
}

impl LoadResult {
    /// A result without any block yet.
    #[must_use]
    pub fn without_figures(
        kind: &str,
        (started, duration_ns): (String, u64),
        (cgroup_version, cgroup): (u8, String),
        ended_by: EndedBy,
    ) -> Self {
        Self {
            schema: SCHEMA.to_owned(),
            kind: kind.to_owned(),
            started,
            duration_ns,
            cgroup_version,
            cgroup,
            stat_reader: None,
            hogs: None,
            sendfile: None,
            charge: None,
            ended_by,
        }
    }

    /// What two runs of the same load have in common, for comparing them: kind, numbers, limits, and
    /// the name of the file without the cgroup's, which is different each time.
    #[must_use]
    pub fn identity(&self) -> String {
        let version = self.cgroup_version;
        let parts = [
            self.stat_reader.as_ref().map(|it| it.identity(version)),
            self.hogs.as_ref().map(HogsResult::identity),
            self.sendfile.as_ref().map(|it| it.identity(version)),
            self.charge.as_ref().map(|it| it.identity(version)),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }

    /// What the load measured of itself and runs are compared by, without latencies. What ran
    /// beside it is a condition and no figure.
    #[must_use]
    pub fn rates(&self) -> Vec<Rate> {
        let rate = |name, unit, value: Option<f64>| value.map(|value| Rate { name, value, unit });
        let reader = self.stat_reader.as_ref().map(|it| it.accesses_per_second);
        let hogs = self.hogs.as_ref().filter(|_| self.kind == "hogs").map(|it| it.charged_bytes_per_second);
        let sendfile = self.sendfile.as_ref().map(|it| it.megabits_per_second);
        let charge = self.charge.as_ref().map(|it| it.charges_per_second);
        let rates = [
            rate("load.accesses_per_second", "/s", reader),
            rate("load.charged_bytes_per_second", "B/s", hogs),
            rate("load.megabits_per_second", "Mbit/s", sendfile),
            rate("load.charges_per_second", "/s", charge),
        ];
        rates.into_iter().flatten().collect()
    }

    /// The result in one line of free text, everything from outside escaped.
    #[must_use]
    pub fn sentence(&self) -> String {
        let parts = [
            self.stat_reader.as_ref().map(|it| format!("stat-reader: {}", it.sentence())),
            self.hogs.as_ref().map(|it| format!("hogs: {}", it.sentence())),
            self.sendfile.as_ref().map(|it| format!("sendfile: {}", it.sentence())),
            self.charge.as_ref().map(|it| format!("charge: {}", it.sentence())),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }

    /// Writes the result for people to read.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_text(&self, w: &mut impl Write) -> io::Result<()> {
        let ended = match &self.ended_by {
            EndedBy::Duration => "the time was over".to_owned(),
            EndedBy::Signal { name } => escaped(name),
            EndedBy::Command => "the command ended".to_owned(),
            EndedBy::StdoutClosed => "nobody reads the output".to_owned(),
            EndedBy::Error { message } => format!("error: {}", escaped(message)),
        };
        let size = match self {
            Self { stat_reader: Some(it), .. } => it.threads(),
            Self { hogs: Some(it), .. } => it.processes(),
            Self { sendfile: Some(it), .. } => it.pairs(),
            Self { charge: Some(it), .. } => it.processes(),
            _ => "of unknown size".to_owned(),
        };
        writeln!(w, "load:       {}, {size}", escaped(&self.kind))?;
        if let Some(reader) = &self.stat_reader {
            writeln!(w, "file:       {}", escaped(&reader.file))?;
        }
        // Beside hogs nothing else makes statistics dirty.
        let dirtied = self.stat_reader.as_ref().filter(|_| self.hogs.is_none());
        let dirtied = dirtied.map(|it| units::counted(it.dirtied, "time", "times"));
        let dirtied = dirtied.map_or_else(String::new, |times| format!(", made dirty {times}"));
        let place = if self.cgroup.is_empty() {
            format!("v{}", self.cgroup_version)
        } else {
            format!("{} (v{})", escaped(&self.cgroup), self.cgroup_version)
        };
        writeln!(w, "cgroup:     {place}{dirtied}")?;
        writeln!(w, "ran for:    {} from {}", units::duration(self.duration_ns, 4), escaped(&self.started))?;
        writeln!(w, "ended by:   {ended}")?;
        if let Some(hogs) = &self.hogs {
            hogs.write_text(w, self.kind != "hogs")?;
        }
        if let Some(sendfile) = &self.sendfile {
            sendfile.write_text(w)?;
        }
        if let Some(charge) = &self.charge {
            charge.write_text(w)?;
        }
        match &self.stat_reader {
            Some(reader) => reader.write_text(w),
            None => Ok(()),
        }
    }

    /// Writes the latencies as rows `name,unit,low,high,count`, or the rates of a load without
    /// latencies as rows `name,unit,value`.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn write_csv(&self, w: &mut impl Write) -> io::Result<()> {
        if let Some(reader) = &self.stat_reader {
            let histograms = vec![reader.latency.histogram()];
            return foreign::write_csv(w, &Imported { histograms, ..Imported::default() });
        }
        writeln!(w, "name,unit,value")?;
        for Rate { name, value, unit } in self.rates() {
            writeln!(w, "{name},{unit},{value}")?;
        }
        Ok(())
    }
}
