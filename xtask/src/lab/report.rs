//! The reports of a lab: what `rstat-probe compare` says of each load in every format it has, and one page over them
//! all that says whether the pair did what it must.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use super::{
    Plan,
    cross_check::{self, Fit},
    load::Load,
    schedule::{SERIES, Series, Turn},
    summary::{Figures, Table},
    variant::Variant,
};
use crate::process;

/// The page over all; it also marks a folder as a lab's.
pub(crate) const FILE: &str = "lab.md";
/// `--format`, and the ending of the file.
const FORMATS: [(&str, &str); 3] = [("text", "txt"), ("markdown", "md"), ("json", "json")];
/// Exit codes of `compare` that come with a report: better or no difference, worse or mixed, not enough data.
const REPORTED: [i32; 3] = [0, 1, 3];

/// Where the recording of a load in a boot is kept.
pub(crate) fn recording(output: &Path, load: &Load, turn: &Turn) -> PathBuf {
    folder(output, load, turn.series).join(format!("{:02}.json", turn.round))
}

/// Where the recording beside the irqsoff tracer is kept.
pub(crate) fn cross_check(output: &Path, variant: Variant) -> PathBuf {
    output.join(cross_check::NAME).join(format!("{}.json", variant.name()))
}

fn folder(output: &Path, load: &Load, series: &Series) -> PathBuf {
    output.join(load.name).join(series.name)
}

/// Compares all loads and writes the page. Prints the page; gives whether everything is as it must be.
pub(crate) fn write(plan: &Plan, source: &str, tool: &Path, output: &Path) -> Result<bool> {
    let [baseline, candidate, control] = &SERIES;
    let mut table = Table::default();
    for load in &plan.loads {
        let pair = compare(tool, output, load, "compare", [baseline, candidate])?;
        let same = plan
            .series
            .contains(&control)
            .then(|| compare(tool, output, load, "control", [baseline, control]))
            .transpose()?;
        table.add(load, Figures::of(&pair)?, same.as_ref().map(Figures::of).transpose()?);
    }
    for variant in Variant::BOTH {
        let path = cross_check(output, variant);
        let text = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        table.add_fit(variant, Fit::of(&serde_json::from_slice(&text)?)?);
    }
    let page = table.page(&plan.sentence(), source);
    fs::write(output.join(FILE), &page).with_context(|| format!("cannot write {FILE}"))?;
    println!("\n{page}");
    Ok(table.is_as_expected())
}

/// One comparison in all formats; what it says in JSON is given back.
fn compare(tool: &Path, output: &Path, load: &Load, name: &str, sides: [&Series; 2]) -> Result<Value> {
    let mut json = None;
    for (format, ending) in FORMATS {
        let mut command = Command::new(tool);
        let [baseline, candidate] = sides.map(|series| {
            let mut side = std::ffi::OsString::from(format!("{}=", series.name));
            side.push(folder(output, load, series));
            side
        });
        command.arg("compare").arg(baseline).arg("--with").arg(candidate).args(["--format", format]);
        let said = command.output().with_context(|| format!("cannot start {}", tool.display()))?;
        if !said.status.code().is_some_and(|code| REPORTED.contains(&code)) {
            let reason = String::from_utf8_lossy(&said.stderr).trim().to_owned();
            bail!("comparing {} failed ({}): {reason}", load.name, process::outcome(said.status));
        }
        let path = output.join(load.name).join(format!("{name}.{ending}"));
        fs::write(&path, &said.stdout).with_context(|| format!("cannot write {}", path.display()))?;
        if format == "json" {
            json = Some(serde_json::from_slice(&said.stdout).context("compare wrote no JSON")?);
        }
    }
    json.context("compare knows no JSON")
}
