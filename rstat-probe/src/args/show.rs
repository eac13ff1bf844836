//! The arguments of `show`.

use std::ffi::OsString;

use clap::{Args, ValueEnum};

use super::TimeUnit;

/// Show recordings, or what other tools printed, as text, JSON or CSV. The format of a file is told
/// from its content.
///
/// Other tools: bpftrace (its text and -f json), bcc and libbpf-tools, perf lock contention, ftrace
/// (irqsoff traces, hist triggers), rtla hist, klockstat, Prometheus, HdrHistogram (.hgrm, .hlog),
/// dmesg; tables made by hand; one number a line. Also as pasted into a mail.
#[derive(Debug, Args)]
pub(crate) struct ShowArguments {
    /// Recordings, fleets, load results or files of other tools; `-` reads standard input, and
    /// FILE:NAME shows one measure or histogram of it.
    #[arg(required = true, value_name = "FILE[:NAME]")]
    pub files: Vec<OsString>,
    /// What to show it as.
    #[arg(long, value_enum, default_value_t = ShowFormat::Text)]
    pub format: ShowFormat,
    /// Unit of the numbers in files of other tools, whatever they say themselves.
    #[arg(long, value_enum)]
    pub unit: Option<TimeUnit>,
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
