//! The arguments of `merge`.

use std::{ffi::OsString, path::PathBuf};

use clap::Args;
use rstat_probe_report::Metric;

const MERGE_EXAMPLES: &str = "Examples:
  rstat-probe merge web-*.json -o web.json
  rstat-probe merge monday/ tuesday/ -o week.json
  rstat-probe merge old-kernel.json new-kernel.json --only irqs_off,lock_wait,lock_hold,flush";

/// Sum up recordings of many hosts or runs, exactly, and name the host that differs.
///
/// All recordings must have measured the same metrics. The hosts stay apart in the sum, for `compare`
/// and `show`; of one host only, the runs do. Fleets can be merged again, in any order.
#[derive(Debug, Args)]
#[command(after_help = MERGE_EXAMPLES)]
pub(crate) struct MergeArguments {
    /// Recordings and fleets; a folder stands for every *.json in it, `-` reads standard input.
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<OsString>,
    /// Write the fleet (JSON) here and print a summary; `-` prints the fleet. Without it the whole
    /// report is printed.
    #[arg(short, long, value_name = "FLEET.json")]
    pub output: Option<PathBuf>,
    /// Sum these metrics only, for recordings that do not all have the same.
    #[arg(long, value_name = "METRIC", value_delimiter = ',', value_parser = metric)]
    pub only: Vec<Metric>,
}

fn metric(name: &str) -> Result<Metric, String> {
    name.parse().map_err(|_| {
        let names: Vec<&str> = Metric::ALL.iter().map(|metric| metric.name()).collect();
        format!("the metrics are {}", names.join(", "))
    })
}
