//! `cargo xtask bench`: what measuring costs on this machine, beside the least it can cost and beside other tools.

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use anyhow::{Context as _, Result, bail};

use crate::{build, cargo, duration, privilege, privilege::Root, process, setup};

/// The program that measures.
const BENCH: &str = "cost";
/// The page, and what in it is written by `--keep`.
const PAGE: &str = "docs/cost.md";
const FIGURES: &str = "docs/cost.json";
const BEGIN: &str = "<!-- written by cargo xtask bench --keep: begin -->\n";
const END: &str = "<!-- written by cargo xtask bench --keep: end -->\n";

/// Options of `cargo xtask bench`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// How often each is started and measured
    #[arg(short, long, default_value_t = 7)]
    rounds: u32,
    /// Length of each of the three measurements of a round
    #[arg(short, long, default_value = "1s", value_parser = duration::parse)]
    length: Duration,
    /// Only these beside nothing, empty programs and the floor, such as rstat-probe,bpftrace
    #[arg(long, value_name = "NAME,...")]
    only: Option<String>,
    /// Put the table into docs/cost.md and the figures into docs/cost.json
    #[arg(long)]
    keep: bool,
    /// Where the table and the figures go
    #[arg(short, long, value_name = "DIR", default_value = "rstat-probe-bench")]
    output: PathBuf,
}

/// Sets up, builds, and measures as root.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    privilege::refuse_sudo("bench")?;
    let root = Root::detect();
    if root == Root::Unavailable {
        bail!("measuring needs root, and sudo cannot be used here");
    }
    let ready = setup::run(setup::Scope::Bench)?;
    let mut command = cargo::command("build");
    command.args(["--release", "--package", build::PACKAGE, "--bin", build::PACKAGE, "--bench", BENCH]);
    let [tool, bench] = cargo::executables(ready.prepare(&mut command)?, [build::PACKAGE, BENCH])?;

    fs::create_dir_all(&options.output)
        .with_context(|| format!("cannot make {}", options.output.display()))?;
    let [json, markdown] = ["cost.json", "cost.md"].map(|name| options.output.join(name));
    // tracefs, which bpftrace and perf need, is mounted there and gone with it.
    let mut command = root.command("unshare").context("measuring needs root")?;
    command.arg("-m").arg(bench).arg("--tool").arg(&tool).arg("--json").arg(&json);
    command.arg("--markdown").arg(&markdown).arg("--rounds").arg(options.rounds.to_string());
    command.arg("--length").arg(options.length.as_millis().to_string());
    if let Some(only) = &options.only {
        command.arg("--only").arg(only);
    }
    process::run(&mut command)?;
    println!("bench: the table is in {}, the figures in {}", markdown.display(), json.display());
    if options.keep {
        keep(&cargo::workspace().join(PAGE), &markdown)?;
        fs::copy(&json, cargo::workspace().join(FIGURES))
            .with_context(|| format!("cannot write {FIGURES}"))?;
        println!("bench: {PAGE} and {FIGURES} have them too");
    }
    Ok(ExitCode::SUCCESS)
}

/// Puts the table into the page.
fn keep(page: &Path, table: &Path) -> Result<()> {
    let read =
        |path: &Path| fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()));
    let text = replaced(&read(page)?, &read(table)?)
        .with_context(|| format!("{} has no place for the table: {BEGIN}", page.display()))?;
    fs::write(page, text).with_context(|| format!("cannot write {}", page.display()))
}

/// The page with another table.
fn replaced(page: &str, table: &str) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, after) = rest.split_once(END)?;
    Some(format!("{before}{BEGIN}{table}{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_replaced_and_nothing_else() {
        let page = format!("# Cost\n\n{BEGIN}old\n{END}\nMore.\n");
        assert_eq!(replaced(&page, "new\n").unwrap(), format!("# Cost\n\n{BEGIN}new\n{END}\nMore.\n"));
        assert_eq!(replaced("# Cost\n", "new\n"), None);
        assert_eq!(replaced(BEGIN, "new\n"), None);
    }

    #[test]
    fn the_page_has_a_place_for_the_table() {
        let page = fs::read_to_string(cargo::workspace().join(PAGE)).unwrap();
        assert!(replaced(&page, "").is_some());
    }
}
