//! What `load charge` did: page faults and frees below several levels of cgroups.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use super::Protection;
use crate::units;

/// Processes that touch new pages and free them again, charged through several levels of cgroups.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ChargeResult {
    /// Processes.
    pub processes: u32,
    /// Levels of cgroups above the processes, their own included.
    pub levels: u32,
    /// Whether the uppermost of them is protected from reclaim.
    pub protection: Protection,
    /// What a process charges before it frees it, bytes.
    pub round_bytes: u64,
    /// The memory limit of all of them, which they do not reach, bytes.
    pub limit_bytes: u64,
    /// Size of a page, bytes: one charge.
    pub page_bytes: u64,
    /// Pages that were charged, and freed, by all processes.
    pub charges: u64,
    /// Charges by second, of all processes together.
    pub charges_per_second: f64,
}

impl ChargeResult {
    /// What two of them have in common.
    pub(super) fn identity(&self, version: u8) -> String {
        format!(
            "charge (cgroup v{version}), {}, rounds of {}, {}, {}",
            self.processes(),
            units::bytes(self.round_bytes),
            units::counted(self.levels.into(), "level", "levels"),
            self.protection.word()
        )
    }

    pub(super) fn processes(&self) -> String {
        units::counted(self.processes.into(), "process", "processes")
    }

    pub(super) fn sentence(&self) -> String {
        format!(
            "{} made {} of {} ({}), {}",
            self.processes(),
            units::counted(self.charges, "charge", "charges"),
            units::bytes(self.page_bytes),
            units::rate(self.charges_per_second),
            self.protection.word()
        )
    }

    pub(super) fn write_text(&self, w: &mut impl Write) -> io::Result<()> {
        self.protection.write_text(w, self.levels)?;
        let (round, limit) = (units::bytes(self.round_bytes), units::bytes(self.limit_bytes));
        writeln!(w, "rounds:     {round}, below a limit of {limit}")?;
        writeln!(
            w,
            "charges:    {} of {} ({})",
            units::count(self.charges),
            units::bytes(self.page_bytes),
            units::rate(self.charges_per_second)
        )
    }
}
