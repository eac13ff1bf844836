//! Whether the cgroups of a load are protected from reclaim, as in the published benchmark.

use std::io::{self, Write};

use serde::{Deserialize, Serialize};

use crate::render::text::escaped;
use crate::units;

/// `memory.min` and `memory.low` of the uppermost cgroup of a load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protection {
    /// Both are set.
    Set {
        /// `memory.min`, bytes.
        min_bytes: u64,
        /// `memory.low`, bytes.
        low_bytes: u64,
    },
    /// Neither is set.
    Unset {
        /// Why not.
        reason: String,
    },
}

impl Protection {
    pub(super) fn word(&self) -> &'static str {
        match self {
            Self::Set { .. } => "protected",
            Self::Unset { .. } => "not protected",
        }
    }

    pub(super) fn write_text(&self, w: &mut impl Write, levels: u32) -> io::Result<()> {
        let levels = units::counted(levels.into(), "level", "levels");
        match self {
            Self::Set { min_bytes, low_bytes } => {
                let (min, low) = (units::bytes(*min_bytes), units::bytes(*low_bytes));
                writeln!(w, "hierarchy:  {levels}, memory.min {min}, memory.low {low}")
            }
            Self::Unset { reason } => writeln!(w, "hierarchy:  {levels}, not protected: {}", escaped(reason)),
        }
    }
}
