//! Where a recording comes from and what its figures rest on.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::metric::Metric;
use crate::yields::YieldBehaviour;

/// The program that wrote a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
}

/// Where, when and with what a recording was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Provenance {
    /// Start of the measurement, RFC 3339 in UTC.
    pub started: String,
    /// Host name.
    pub host: String,
    /// The kernel.
    pub kernel: Kernel,
    /// The CPUs.
    pub cpus: Cpus,
    /// Command line of the tool.
    pub command_line: Vec<String>,
    /// The way of measuring, as `tracepoints`; absent in recordings of versions that knew one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub strategy: Option<String>,
    /// Hooks that were attached.
    pub hooks: Vec<Hook>,
    /// Hooks that were not, with the reason.
    pub hooks_not_used: Vec<HookNotUsed>,
    /// What each metric rests on, or why it is missing.
    pub metrics: BTreeMap<Metric, MetricBasis>,
    /// The clock of all times.
    pub clock: String,
    /// When flushes gave up the lock.
    #[serde(rename = "yield")]
    pub yield_behaviour: YieldBehaviour,
}

/// A kernel, as uname(2) has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kernel {
    /// As `6.12.1-amd64`.
    pub release: String,
    /// As `#1 SMP PREEMPT_DYNAMIC Debian 6.12.1-1`.
    pub version: String,
    /// As `x86_64`.
    pub machine: String,
    /// GNU build id, hex digits.
    pub build_id: Option<String>,
    /// Whether it is a PREEMPT_RT kernel, which keeps IRQs on in sections.
    pub preempt_rt: bool,
}

/// The CPUs of a host. Flushes walk over the possible ones.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cpus {
    /// Number of possible CPUs.
    pub possible: u32,
    /// As `0-3,8`.
    pub possible_list: String,
    /// Number of online CPUs.
    pub online: u32,
    /// As `0-3,8`.
    pub online_list: String,
}

/// A hook that was attached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hook {
    /// Kernel point, as `cgroup_rstat_locked`.
    pub hook: String,
    /// Attach kind, as `raw_tracepoint`.
    pub attach: String,
    /// The eBPF program.
    pub program: String,
    /// Metrics and counters that come from it.
    pub serves: Vec<String>,
}

/// A hook that was not attached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HookNotUsed {
    /// Kernel point.
    pub hook: String,
    /// Attach kind.
    pub attach: String,
    /// Why not.
    pub reason: String,
}

/// What a metric rests on; one of the two is present.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MetricBasis {
    /// The hooks it comes from, in words.
    pub basis: Option<String>,
    /// Why it could not be measured.
    pub unavailable: Option<String>,
}
