//! The arguments of `compare`.

use std::{ffi::OsString, time::Duration};

use clap::{Args, ValueEnum};
use rstat_probe_report::compare::{Level, Rule};

use super::{TimeUnit, duration};

// clap would put the baseline behind --with, which takes all files that follow it.
const COMPARE_USAGE: &str =
    "rstat-probe compare [OPTIONS] <[LABEL=]FILE[:NAME]>... --with <[LABEL=]FILE[:NAME]>...";

const COMPARE_EXAMPLES: &str = "Examples:
  rstat-probe compare before.json --with after.json
  rstat-probe compare 6.6=old/ --with 6.6-patched=new/ --format markdown
  rstat-probe compare mail.txt:'normal @hold_ns' --with mail.txt:'patched @hold_ns'
  rstat-probe compare a.json --with b.json --fail-on 'irqs_off.p99>+10%' --fail-on 'flush.max>50ms'";

/// Compare two sides, each one file or many: figures, both histograms, how sure the differences
/// are, and a verdict.
///
/// Hosts are resampled where there are several, else runs, else the intervals of one run; single
/// values of plain samples. At least 4 a side are needed for intervals and a test.
///
/// Exit code: 0 better or no difference, 1 worse or mixed, 2 error, 3 not enough data (one
/// histogram a side is described, no more), 4 not comparable. With --fail-on the rules alone decide:
/// 0 all held, 1 one is broken, 3 one cannot be decided.
#[derive(Debug, Args)]
#[command(after_help = COMPARE_EXAMPLES, override_usage = COMPARE_USAGE)]
pub(crate) struct CompareArguments {
    /// The baseline: recordings, fleets, load results or files of other tools (see `show`). A folder
    /// stands for every *.json in it, `-` reads standard input, FILE:NAME picks one measure or
    /// histogram of a file, and LABEL is what the report calls the side.
    #[arg(required = true, value_name = "[LABEL=]FILE[:NAME]")]
    pub baseline: Vec<OsString>,
    /// The candidate, in the same way.
    #[arg(long, required = true, num_args = 1.., value_name = "[LABEL=]FILE[:NAME]")]
    pub with: Vec<OsString>,
    /// How to write the report.
    #[arg(long, value_enum, default_value_t = CompareFormat::Text)]
    pub format: CompareFormat,
    /// Exit with 1 when this holds; can be given several times. A limit with a sign is one of the
    /// change, as irqs_off.p99>+10% or load.accesses_per_second.mean<-5%, one without is one of the
    /// candidate, as flush.max>50ms or lock_hold.above_1ms>0.1%. Figures: count, rate, time_share,
    /// mean, p50, p90, p99, p99.9, max, above_TIME; a change of time_share or above_TIME is one in
    /// percentage points.
    #[arg(long, value_name = "RULE")]
    pub fail_on: Vec<Rule>,
    /// Compare these measures only, by their names in the report and with commas between them.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    pub only: Vec<String>,
    /// Show the shares of events above these times, as 1ms,20ms, instead of the usual ones.
    #[arg(long, value_name = "TIME", value_delimiter = ',', value_parser = duration)]
    pub above: Vec<Duration>,
    /// Unit of the numbers in files of other tools, whatever they say themselves.
    #[arg(long, value_enum)]
    pub unit: Option<TimeUnit>,
    /// Of plain samples more is better, as of a throughput.
    #[arg(long)]
    pub higher_is_better: bool,
    /// What to resample instead of what follows from the files.
    #[arg(long, value_enum)]
    pub resample: Option<Resample>,
    /// Confidence of the intervals, and 100 % less the level of the verdict's tests.
    #[arg(long, value_name = "PERCENT", value_parser = confidence, default_value = "95%")]
    pub confidence: f64,
    /// Smaller changes are no difference, however sure they are.
    #[arg(long, value_name = "PERCENT", value_parser = share, default_value = "5%")]
    pub least_change: f64,
    /// Resamples of the bootstrap.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(100..=1_000_000), default_value = "2000")]
    pub resamples: u32,
    /// Seed of the resampling; the same input and seed give the same report.
    #[arg(long, value_name = "N", default_value = "1")]
    pub seed: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CompareFormat {
    /// 72 columns, for terminals and mails.
    Text,
    /// For issues and pull requests.
    Markdown,
    /// Everything, for programs.
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Resample {
    /// Intervals of all recordings: says nothing of how much runs differ.
    Interval,
    /// Recordings.
    Run,
    /// Hosts.
    Host,
}

impl From<Resample> for Level {
    fn from(resample: Resample) -> Self {
        match resample {
            Resample::Interval => Self::Interval,
            Resample::Run => Self::Run,
            Resample::Host => Self::Host,
        }
    }
}

/// A percentage as a share of 0..1, both ends excluded; `95` is `95%`.
fn confidence(text: &str) -> Result<f64, String> {
    let share = share(text)?;
    if (0.5..1.0).contains(&share) { Ok(share) } else { Err("it must be from 50% to below 100%".to_owned()) }
}

/// A percentage as a share.
fn share(text: &str) -> Result<f64, String> {
    let number = text.trim().trim_end_matches('%').trim_end().parse::<f64>();
    match number {
        Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(percent / 100.0),
        _ => Err("write it as 5%, from 0% to 100%".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentages() {
        assert_eq!((share("5%"), share(" 2.5 % "), confidence("95")), (Ok(0.05), Ok(0.025), Ok(0.95)));
        assert!(share("-1%").is_err() && share("nan").is_err() && confidence("100%").is_err());
    }
}
