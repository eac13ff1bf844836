//! Set-up, build, demo and tests of rstat-probe: `cargo xtask <COMMAND>`.
#![expect(clippy::print_stdout, clippy::print_stderr, reason = "a command-line program")]

mod apt;
mod bench;
mod build;
mod cargo;
mod demo;
mod duration;
mod install;
mod lab;
mod linker;
mod privilege;
mod process;
mod progress;
mod setup;
mod tee;
mod test;
mod toolchain;
mod vm;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Set-up, build, demo and tests of rstat-probe.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version, max_term_width = 100)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Finds or installs what building and testing need
    Setup,
    /// Builds the rstat-probe binary and prints where it is
    Build(build::Options),
    /// Measures a load on this kernel for some seconds and saves the recording
    Demo(demo::Options),
    /// Runs every check: format, lints, tests, live kernel tests, the VM matrix, documentation
    Test,
    /// Boots Debian's kernels from 5.10 to the newest in emulated machines and tests the tool there
    Vm(vm::Options),
    /// Measures what measuring costs on this machine, beside other tools
    Bench(bench::Options),
    /// Builds two kernels that differ in the yield only, runs the loads on both in turns, compares
    Lab(lab::Options),
}

fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Setup => setup::run(setup::Scope::Everything).map(|_| ExitCode::SUCCESS),
        Command::Build(options) => build::run(&options),
        Command::Demo(options) => demo::run(&options),
        Command::Test => test::run(),
        Command::Vm(options) => vm::run(&options),
        Command::Bench(options) => bench::run(&options),
        Command::Lab(options) => lab::run(&options),
    };
    result.unwrap_or_else(|error| {
        eprintln!("error: {error:#}");
        ExitCode::FAILURE
    })
}
