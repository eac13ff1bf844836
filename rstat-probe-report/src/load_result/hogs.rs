//! What `load hogs` did: processes that charge memory until the OOM killer takes them.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use crate::render::text::escaped;
use crate::units;

/// Processes that charged memory up to the limit of their cgroup, and were killed and started again.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct HogsResult {
    /// Processes at a time.
    pub processes: u32,
    /// 1 or 2: of the cgroup with the limit. Beside a stat reader it may be in another hierarchy than the one that is read.
    pub cgroup_version: u8,
    /// Path of the cgroup with the limit.
    pub cgroup: String,
    /// The cgroup's memory limit, bytes.
    pub limit_bytes: u64,
    /// Most that was charged to the cgroup at once, bytes; `None` where the kernel does not count it.
    pub peak_bytes: Option<u64>,
    /// OOM kills in the cgroup, counted by the kernel.
    pub oom_kills: u64,
    /// OOM kills by second.
    pub oom_kills_per_second: f64,
    /// Processes that were seen to end by SIGKILL before the load ended. Those killed in its last moments are not among them.
    pub killed: u64,
    /// Processes started, the first ones included.
    pub starts: u64,
    /// Memory that the processes touched for the first time, bytes.
    pub charged_bytes: u64,
    /// `charged_bytes` by second.
    pub charged_bytes_per_second: f64,
}

impl HogsResult {
    /// What two of them have in common.
    pub(super) fn identity(&self) -> String {
        let limit = units::bytes(self.limit_bytes);
        format!("hogs (cgroup v{}), {}, limit {limit}", self.cgroup_version, self.processes())
    }

    pub(super) fn processes(&self) -> String {
        units::counted(self.processes.into(), "process", "processes")
    }

    pub(super) fn sentence(&self) -> String {
        format!(
            "{} charged {} ({}/s) below a limit of {}, {} ({})",
            self.processes(),
            units::bytes(self.charged_bytes),
            units::bytes_f64(self.charged_bytes_per_second),
            units::bytes(self.limit_bytes),
            units::counted(self.oom_kills, "OOM kill", "OOM kills"),
            units::rate(self.oom_kills_per_second)
        )
    }

    /// `is_beside`: the load has another cgroup, or it was said already that it is this one.
    pub(super) fn write_text(&self, w: &mut impl Write, is_beside: bool) -> io::Result<()> {
        if is_beside {
            let cgroup = escaped(&self.cgroup);
            writeln!(w, "hogs:       {} in {cgroup} (v{})", self.processes(), self.cgroup_version)?;
        }
        let peak =
            self.peak_bytes.map_or_else(String::new, |peak| format!(", at most {}", units::bytes(peak)));
        writeln!(w, "limit:      {}{peak}", units::bytes(self.limit_bytes))?;
        let (charged, rate) =
            (units::bytes(self.charged_bytes), units::bytes_f64(self.charged_bytes_per_second));
        writeln!(w, "charged:    {charged} ({rate}/s)")?;
        writeln!(
            w,
            "OOM kills:  {} ({}), {} seen; {}",
            units::count(self.oom_kills),
            units::rate(self.oom_kills_per_second),
            units::count(self.killed),
            units::counted(self.starts, "start", "starts")
        )
    }
}
