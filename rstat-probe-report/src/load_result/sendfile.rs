//! What `load sendfile` did: clients that send from a file to servers over loopback.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use super::Protection;
use crate::units;

/// Pairs of a client and a server, whose memory is charged through several levels of cgroups.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SendfileResult {
    /// Pairs of a client and a server.
    pub pairs: u32,
    /// Length of a message, bytes.
    pub message_bytes: u64,
    /// Length of the file that the messages are parts of, bytes; each client has one.
    pub file_bytes: u64,
    /// Levels of cgroups above the processes, their own included.
    pub levels: u32,
    /// Whether the uppermost of them is protected from reclaim.
    pub protection: Protection,
    /// Received by all servers in the measured time, bytes.
    pub bytes: u64,
    /// Mbit (10^6 bit) received by second, the average of the pairs: what the published tables have.
    pub megabits_per_second: f64,
    /// That of the slowest pair.
    pub slowest_megabits_per_second: f64,
    /// That of the fastest pair.
    pub fastest_megabits_per_second: f64,
    /// Of all pairs together.
    pub total_megabits_per_second: f64,
}

impl SendfileResult {
    /// What two of them have in common.
    pub(super) fn identity(&self, version: u8) -> String {
        format!(
            "sendfile (cgroup v{version}), {}, messages of {}, {}, {}",
            self.pairs(),
            units::bytes(self.message_bytes),
            units::counted(self.levels.into(), "level", "levels"),
            self.protection.word()
        )
    }

    pub(super) fn pairs(&self) -> String {
        units::counted(self.pairs.into(), "pair", "pairs")
    }

    pub(super) fn sentence(&self) -> String {
        format!(
            "{} sent {} in messages of {} ({} Mbit/s each), {}",
            self.pairs(),
            units::bytes(self.bytes),
            units::bytes(self.message_bytes),
            mbit(self.megabits_per_second),
            self.protection.word()
        )
    }

    pub(super) fn write_text(&self, w: &mut impl Write) -> io::Result<()> {
        let (message, file) = (units::bytes(self.message_bytes), units::bytes(self.file_bytes));
        writeln!(w, "messages:   {message} of a file of {file}")?;
        self.protection.write_text(w, self.levels)?;
        let (average, total) = (mbit(self.megabits_per_second), mbit(self.total_megabits_per_second));
        writeln!(w, "received:   {} ({total} Mbit/s)", units::bytes(self.bytes))?;
        let (slowest, fastest) =
            (mbit(self.slowest_megabits_per_second), mbit(self.fastest_megabits_per_second));
        writeln!(w, "each pair:  {average} Mbit/s on average, {slowest} to {fastest}")
    }
}

/// Mbit/s with one decimal.
fn mbit(megabits: f64) -> String {
    format!("{megabits:.1}")
}
