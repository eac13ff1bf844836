//! The command line, and nothing but: no I/O, no decisions. A file for each subcommand.

mod compare;
mod load;
mod merge;
mod run;
mod show;

use std::time::Duration;

use clap::{Parser, Subcommand, ValueEnum};
use rstat_probe_report::import::Unit;

pub(crate) use self::{
    compare::{CompareArguments, CompareFormat, Resample},
    load::{ChargeArguments, HogsArguments, LoadCommand, SendfileArguments, StatReaderArguments},
    merge::MergeArguments,
    run::{CheckArguments, RunArguments},
    show::{ShowArguments, ShowFormat},
};

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

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Run(RunArguments),
    Check(CheckArguments),
    Show(ShowArguments),
    Compare(CompareArguments),
    Merge(MergeArguments),
    /// Put load on the kernel: the published workloads.
    #[command(subcommand)]
    Load(LoadCommand),
}

/// The unit of a file that does not say it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TimeUnit {
    Ns,
    Us,
    Ms,
    S,
}

impl From<TimeUnit> for Unit {
    fn from(unit: TimeUnit) -> Self {
        match unit {
            TimeUnit::Ns => Self::Ns,
            TimeUnit::Us => Self::Us,
            TimeUnit::Ms => Self::Ms,
            TimeUnit::S => Self::S,
        }
    }
}

/// A time with a unit; a bare number is seconds.
fn duration(text: &str) -> Result<Duration, String> {
    if let Ok(seconds) = text.parse::<u64>() {
        return Ok(Duration::from_secs(seconds));
    }
    humantime::parse_duration(text).map_err(|error| format!("{error}; write it as 30s, 500ms or 2m"))
}

/// A size in bytes, or with K, M or G of 1024.
fn size(text: &str) -> Result<u64, String> {
    let number = text.trim_end_matches("iB");
    let (digits, unit) = match number.char_indices().last() {
        Some((at, 'K' | 'k')) => (&number[..at], 1 << 10),
        Some((at, 'M' | 'm')) => (&number[..at], 1 << 20),
        Some((at, 'G' | 'g')) => (&number[..at], 1 << 30),
        _ => (text, 1),
    };
    let number: Option<u64> = digits.trim_end().parse().ok();
    number
        .and_then(|number| number.checked_mul(unit))
        .ok_or_else(|| "not a size; write it as 64M, 512K, 1G or in bytes".to_owned())
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

    #[test]
    fn sizes() {
        for (text, bytes) in
            [("4096", 4096), ("64M", 64 << 20), ("1g", 1 << 30), ("512 KiB", 512 << 10), ("0", 0)]
        {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for bad in ["", "M", "-1", "1T", "1.5G", "64MB", "20000000000G", "5iB", "\u{e9}"] {
            assert!(size(bad).is_err(), "{bad}");
        }
    }
}
