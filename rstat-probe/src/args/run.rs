//! The arguments of `run` and of `check`.

use std::{ffi::OsString, path::PathBuf, time::Duration};

use clap::Args;

use super::duration;
use crate::kernel::plan::Force;

const RUN_EXAMPLES: &str = "Examples:
  sudo rstat-probe run
  sudo rstat-probe run -d 60s -i 10s -o before.json
  sudo rstat-probe run -o load.json -- rstat-probe load stat-reader --duration 30s";

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
    /// Let the kernel's irqsoff tracer (CONFIG_IRQSOFF_TRACER) measure, too, and say whether it
    /// agrees. It lengthens every time with IRQs off, so do not compare such a run with others.
    #[arg(long)]
    pub cross_check: bool,
    /// Measure in this way and no other.
    #[arg(long, value_enum, value_name = "STRATEGY", hide = true)]
    pub strategy: Option<Force>,
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
    /// Save the facts below DIR, e.g. for a bug report.
    ///
    /// Saves the few files in /proc and /sys that `check` reads, trimmed to what it needs, as far as
    /// this user can read them: enough to give the same answer on another machine. DIR must be empty
    /// or not exist. The host's name is left out, and the kernel's addresses are shifted so that the
    /// lowest is 0x1000: they do not tell where the kernel is in memory.
    #[arg(long, value_name = "DIR")]
    pub save_facts: Option<PathBuf>,
    /// Plan for this way of measuring and no other.
    #[arg(long, value_enum, value_name = "STRATEGY", hide = true)]
    pub strategy: Option<Force>,
}
