//! The command line, and nothing but: no I/O, no decisions.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::load::{DirtierArgs, StatFile};

/// Measures how long cgroup rstat flushing keeps IRQs off, on a running kernel.
#[derive(Debug, Parser)]
#[command(version, max_term_width = 100)]
pub(crate) struct Arguments {
    /// Say more: faults seen in the kernel, the verifier's log.
    #[arg(short, long, global = true, display_order = 100)]
    pub verbose: bool,
    #[command(subcommand)]
    pub command: Command,
}

const RUN_EXAMPLES: &str = "Examples:
  sudo rstat-probe run
  sudo rstat-probe run -d 60s -i 10s -o before.json
  sudo rstat-probe run -o load.json -- rstat-probe load stat-reader --duration 30s";

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(RunArguments),
    Check(CheckArguments),
    Show(ShowArguments),
    /// Put load on the kernel: the published workloads.
    #[command(subcommand)]
    Load(LoadCommand),
}

/// Measure until Ctrl-C, the duration or the end of COMMAND; print histograms, save a recording.
///
/// Exit code: 0, or that of COMMAND (128 plus the signal that killed it: 143 when -d ended it); 2
/// when something failed (what was measured is still printed and saved as far as possible).
#[derive(Debug, Args)]
#[command(after_help = RUN_EXAMPLES)]
pub(crate) struct RunArguments {
    /// Stop after this time, e.g. 30s, 500ms, 2m. A running COMMAND is sent SIGTERM then, but not
    /// what it started itself.
    #[arg(short, long, value_name = "TIME", value_parser = duration)]
    pub duration: Option<Duration>,
    /// Print a line for every interval. Recordings hold intervals of this length, else of 1 s.
    #[arg(short, long, value_name = "TIME", value_parser = duration)]
    pub interval: Option<Duration>,
    /// Save a recording (JSON); `-` prints it instead of the report.
    #[arg(short, long, value_name = "FILE.json")]
    pub output: Option<PathBuf>,
    /// Write one line of JSON for every interval as it ends; `-` writes them to stdout instead of
    /// the report.
    #[arg(long, value_name = "FILE.ndjson")]
    pub stream: Option<PathBuf>,
    /// Do not time the flush function itself, even where the kernel would allow it.
    #[arg(long, hide = true)]
    pub tracepoints_only: bool,
    /// Threads that can wait or flush at the same time.
    #[arg(long, value_name = "N", hide = true)]
    pub max_threads: Option<u32>,
    /// Measure while this runs, and end with it.
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// Show what this kernel offers, the plan, and what each metric will rest on; attaches nothing.
///
/// Exit code: 0 when `run` would work, 1 when a metric is unavailable, 2 when nothing can be
/// measured.
#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    /// Read the facts below this folder instead of /.
    #[arg(long, value_name = "DIR", hide = true, default_value = "/")]
    pub root: PathBuf,
}

/// Show recordings, or what other tools printed, as text, JSON or CSV. The format of a file is told
/// from its content.
#[derive(Debug, Args)]
pub(crate) struct ShowArguments {
    /// Recordings or files of other tools; `-` reads standard input.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// What to show it as.
    #[arg(long, value_enum, default_value_t = ShowFormat::Text)]
    pub format: ShowFormat,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ShowFormat {
    /// The report that `run` prints.
    Text,
    /// One object a file: histograms, scalars, warnings.
    Json,
    /// One row a slot, for spreadsheets.
    Csv,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LoadCommand {
    StatReader(StatReaderArguments),
    /// Keeps the statistics of a cgroup dirty; started by the loads.
    #[command(hide = true)]
    Dirtier(DirtierArgs),
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

/// A time with a unit; a bare number is seconds.
fn duration(text: &str) -> Result<Duration, String> {
    if let Ok(seconds) = text.parse::<u64>() {
        return Ok(Duration::from_secs(seconds));
    }
    humantime::parse_duration(text).map_err(|error| format!("{error}; write it as 30s, 500ms or 2m"))
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn durations() {
        assert_eq!(duration("10"), Ok(Duration::from_secs(10)));
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("1h 30m"), Ok(Duration::from_mins(90)));
        assert!(duration("soon").is_err() && duration("").is_err() && duration("-1s").is_err());
    }
}
