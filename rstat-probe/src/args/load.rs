//! The arguments of `load`.

use std::{path::PathBuf, time::Duration};

use clap::{Args, Subcommand};

use super::duration;
use crate::load::StatFile;

#[derive(Debug, Subcommand)]
pub(crate) enum LoadCommand {
    StatReader(StatReaderArguments),
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
    /// Write the result here, as JSON.
    #[arg(short, long, value_name = "FILE.json")]
    pub output: Option<PathBuf>,
}
