//! What measuring costs on this machine: the tool beside nothing, beside the least that a hook can cost, and beside
//! what else measures on the same hooks. `cargo xtask bench` builds and starts it, as root in a mount namespace.
//!
//! One thread, alone on its CPU, reads `cpu.stat` of a cgroup without a pause, which flushes at every read. What
//! measures runs on another CPU and is started anew in each round, one after the other, so that whatever the machine
//! does meanwhile falls on all of them.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program")]

#[path = "../../src/load/cgroup.rs"]
#[allow(dead_code, unused_imports, reason = "the load uses more of it, and Cargo sets cfg(test) here")]
mod cgroup;
mod measure;
mod programs;
mod storm;
mod subject;
mod table;
mod witness;

use std::{fs, path::PathBuf, process::ExitCode, time::Duration};

use anyhow::{Context as _, ensure};
use clap::Parser;

/// Measures what measuring costs.
#[derive(Parser)]
struct Arguments {
    /// The tool.
    #[arg(long, value_name = "FILE")]
    tool: PathBuf,
    /// How often each is started and measured.
    #[arg(long, value_name = "N")]
    rounds: u32,
    /// Length of each measurement, ms.
    #[arg(long, value_name = "MS")]
    length: u64,
    /// Where everything goes that was measured.
    #[arg(long, value_name = "FILE")]
    json: PathBuf,
    /// Where the table goes.
    #[arg(long, value_name = "FILE")]
    markdown: PathBuf,
    /// Only these beside nothing, empty programs and the floor.
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<String>,
    /// Set by cargo bench.
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> anyhow::Result<()> {
    ensure!(arguments.rounds > 0, "0 rounds measure nothing: --rounds must be at least 1");
    let length = Duration::from_millis(arguments.length);
    let mut subjects = subject::all(&arguments.tool);
    if !arguments.only.is_empty() {
        subjects
            .retain(|subject| subject.is_base() || arguments.only.iter().any(|name| name == subject.name));
    }
    let results = measure::all(&subjects, arguments.rounds, length)?;
    let table = table::Table::new(&results);
    println!("\n{}", table.text());
    let write = |path: &PathBuf, text: String| {
        fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
    };
    write(&arguments.json, format!("{}\n", serde_json::to_string_pretty(&results)?))?;
    write(&arguments.markdown, table.markdown())
}
