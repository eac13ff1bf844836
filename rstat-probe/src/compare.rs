//! `compare`: files of two sides -> comparison -> report and exit code.

use std::{
    collections::BTreeSet,
    io::{self, BufWriter, Write as _},
};

use anyhow::ensure;
use rstat_probe_report::{
    compare::{Comparison, Options, Rule, Side, compare},
    input::Input,
    render::comparison::{write_json, write_markdown, write_text},
};

use crate::{
    args::{CompareArguments, CompareFormat, Resample},
    input::{Named, check_stdin_once, expanded},
};

pub(crate) fn run(arguments: &CompareArguments) -> anyhow::Result<u8> {
    let mut above_ns: Vec<u64> = arguments.above.iter().map(nanoseconds).collect();
    above_ns.extend(arguments.fail_on.iter().filter_map(Rule::above_ns));
    above_ns.sort_unstable();
    let defaults = Options::default();
    let options = Options {
        seed: arguments.seed,
        resamples: usize::try_from(arguments.resamples).unwrap_or(usize::MAX),
        confidence: arguments.confidence,
        least_change: arguments.least_change,
        resample: arguments.resample.map(Into::into),
        above_ns,
        // Rules add to the usual ones, --above replaces them.
        keep_usual: arguments.above.is_empty(),
        higher_is_better: arguments.higher_is_better,
        ..defaults
    };
    let (baseline, candidate) = (expanded(&arguments.baseline)?, expanded(&arguments.with)?);
    check_stdin_once(baseline.iter().chain(&candidate))?;
    let mut baseline = side(&baseline, arguments)?;
    let mut candidate = side(&candidate, arguments)?;
    if !arguments.only.is_empty() {
        let known: BTreeSet<String> =
            baseline.names().chain(candidate.names()).map(ToOwned::to_owned).collect();
        let missing = candidate.keep_only(&arguments.only);
        let unknown: Vec<String> =
            baseline.keep_only(&arguments.only).into_iter().filter(|name| missing.contains(name)).collect();
        // What one side has only is not comparable, which the report says with the reason.
        ensure!(
            unknown.is_empty(),
            "--only {}: neither side has it; there is {}",
            unknown.join(","),
            Vec::from_iter(known).join(", ")
        );
    }
    let comparison = compare(&baseline, &candidate, &options, &arguments.fail_on)?;
    match write(&comparison, arguments.format) {
        // The verdict is the same, however much of it is read.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
        result => result?,
    }
    Ok(comparison.exit_code)
}

fn write(comparison: &Comparison, format: CompareFormat) -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    match format {
        CompareFormat::Text => write_text(&mut out, comparison)?,
        CompareFormat::Markdown => write_markdown(&mut out, comparison)?,
        CompareFormat::Json => write_json(&mut out, comparison)?,
    }
    out.flush()
}

/// Reads the files of one side one after the other; each is forgotten when its sums are taken.
fn side(files: &[Named], arguments: &CompareArguments) -> anyhow::Result<Side> {
    let keep_intervals = arguments.resample == Some(Resample::Interval);
    let mut side = Side::new(&label(files), keep_intervals);
    for file in files {
        let input = match (file.read()?, arguments.unit) {
            (Input::Foreign(imported), Some(unit)) => Input::Foreign(imported.with_unit(unit.into())),
            (input, _) => input,
        };
        side.add(input, &file.what(), file.name.as_deref()).map_err(anyhow::Error::msg)?;
    }
    Ok(side)
}

/// The user's labels, or what the files are called.
fn label(files: &[Named]) -> String {
    let mut labels: Vec<&str> = files.iter().filter_map(|file| file.label.as_deref()).collect();
    labels.dedup();
    match (labels.is_empty(), files) {
        (false, _) => labels.join(" + "),
        (true, [file]) => file.what(),
        (true, [first, ..]) => format!("{} and others", first.what()),
        (true, []) => String::new(),
    }
}

fn nanoseconds(time: &std::time::Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}
