//! The arguments of `load`.

use std::{path::PathBuf, time::Duration};

use clap::{Args, Subcommand};

use super::{duration, size};
use crate::load::StatFile;

#[derive(Debug, Subcommand)]
pub(crate) enum LoadCommand {
    StatReader(StatReaderArguments),
    Hogs(HogsArguments),
    Sendfile(SendfileArguments),
    Charge(ChargeArguments),
}

/// Read one cgroup's statistics again and again from many threads.
#[derive(Debug, Args)]
pub(crate) struct StatReaderArguments {
    /// Reading threads [default: two for each online CPU].
    #[arg(long, value_name = "N")]
    pub threads: Option<u32>,
    /// How long to read, e.g. 30s, 500ms, 2m.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "10s")]
    pub duration: Duration,
    /// Which statistics. `cpu.stat` of a cgroup v2 is flushed on every read, `memory.stat` only
    /// after enough changes. [default: cpu.stat where there is a cgroup v2 and no --cgroup, else
    /// memory.stat]
    #[arg(long, value_enum)]
    pub stat: Option<StatFile>,
    /// Read this file and make no cgroup.
    #[arg(long, value_name = "PATH", conflicts_with = "cgroup")]
    pub file: Option<PathBuf>,
    /// Read the statistics of this cgroup and make none.
    #[arg(long, value_name = "NAME")]
    pub cgroup: Option<String>,
    /// Put so many hogs into the cgroup that is read, as `load hogs` does.
    #[arg(long, value_name = "N", conflicts_with_all = ["file", "cgroup"])]
    pub with_hogs: Option<u32>,
    /// The memory limit of the hogs' cgroup, e.g. 256M [default: as of `load hogs`].
    #[arg(long, value_name = "SIZE", value_parser = size, requires = "with_hogs")]
    pub hog_memory: Option<u64>,
    /// Write the result here, as JSON.
    #[arg(short, long, value_name = "FILE.json")]
    pub output: Option<PathBuf>,
}

/// Charge memory in a cgroup with a limit until the OOM killer takes the process, and start again.
///
/// The kernel logs each of these kills. Nothing outside of the cgroup is touched: the limit is set before a process is
/// in it, each process offers itself to the OOM killer, and nothing is swapped.
#[derive(Debug, Args)]
pub(crate) struct HogsArguments {
    /// Processes at a time [default: two for each online CPU].
    #[arg(long, value_name = "N")]
    pub processes: Option<u32>,
    /// How long, e.g. 30s, 500ms, 2m.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "10s")]
    pub duration: Duration,
    /// The memory limit of all together, e.g. 256M; at most half of what the host has available
    /// [default: 16M, or more where there are many processes].
    #[arg(long, value_name = "SIZE", value_parser = size)]
    pub memory: Option<u64>,
    /// Write the result here, as JSON.
    #[arg(short, long, value_name = "FILE.json")]
    pub output: Option<PathBuf>,
}

/// Send with sendfile(2) through TCP over IPv6 loopback, all in a three-level cgroup hierarchy.
///
/// Pairs of a client and a server, a process each, in the leaf; memory.min and memory.low are set on
/// the top where it is a cgroup v2. This is the published benchmark of the kernel's memory counters
/// (`netperf -6 -H ::1 -t TCP_SENDFILE -- -m 10K`, 36 of it on 72 CPUs); as there, the figure is the
/// average of the pairs, in Mbit/s of 10^6 bits received. Nothing stays behind. Needs root.
#[derive(Debug, Args)]
pub(crate) struct SendfileArguments {
    /// Pairs, at most 1000 [default: one for each online CPU].
    #[arg(long, value_name = "N")]
    pub pairs: Option<u32>,
    /// Length of a message, at most 1M.
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "10K")]
    pub message: u64,
    /// How long to send, e.g. 30s, 500ms, 2m, from the moment when all pairs are connected.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "10s")]
    pub duration: Duration,
    /// Write the result here, as JSON.
    #[arg(short, long, value_name = "FILE.json")]
    pub output: Option<PathBuf>,
}

/// Charge and free memory by page faults, in a three-level cgroup hierarchy.
///
/// Each process maps memory, touches it page by page and unmaps it, again and again, in the leaf. One
/// charge is one page (4096 bytes on x86-64; huge pages are off). The hierarchy has a memory limit that
/// the processes never reach, and does not swap; what could take more than half of the memory
/// available is refused. Nothing stays behind. Needs root.
#[derive(Debug, Args)]
pub(crate) struct ChargeArguments {
    /// Processes, at most 1000 [default: one for each online CPU].
    #[arg(long, value_name = "N")]
    pub processes: Option<u32>,
    /// What a process charges before it frees it, in whole pages.
    #[arg(long, value_name = "SIZE", value_parser = size, default_value = "4M")]
    pub bytes: u64,
    /// How long to charge, e.g. 30s, 500ms, 2m.
    #[arg(long, value_name = "TIME", value_parser = duration, default_value = "10s")]
    pub duration: Duration,
    /// Write the result here, as JSON.
    #[arg(short, long, value_name = "FILE.json")]
    pub output: Option<PathBuf>,
}
