//! `cargo xtask build`: the release binary, its eBPF object included.

use std::{
    path::PathBuf,
    process::{Command, ExitCode},
};

use anyhow::{Context as _, Result};

use crate::{cargo, privilege, process, setup};

/// The package, and the binary it makes.
pub(crate) const PACKAGE: &str = "rstat-probe";

/// Options of `cargo xtask build`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Build without optimisation
    #[arg(long)]
    debug: bool,
    /// Link the C library in, so that the binary runs on any host of this architecture
    #[arg(long = "static")]
    is_static: bool,
}

/// Sets up, builds, and prints the path of the binary as the last line.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    privilege::refuse_sudo("build")?;
    let ready = setup::run(setup::Scope::Build)?;
    println!("{}", binary(&ready, options)?.display());
    Ok(ExitCode::SUCCESS)
}

/// Builds the optimised binary for this host.
pub(crate) fn release(ready: &setup::Ready) -> Result<PathBuf> {
    binary(ready, &Options { debug: false, is_static: false })
}

fn binary(ready: &setup::Ready, options: &Options) -> Result<PathBuf> {
    let mut command = cargo::command("build");
    command.args(["--package", PACKAGE, "--bin", PACKAGE]);
    if !options.debug {
        command.arg("--release");
    }
    if options.is_static {
        // Naming the target keeps the flags away from build scripts and procedural macros.
        command.arg("--target").arg(host()?).env("RUSTFLAGS", "-C target-feature=+crt-static");
    }
    cargo::executable(ready.prepare(&mut command)?, PACKAGE)
}

fn host() -> Result<String> {
    let version = process::capture(Command::new("rustc").arg("-vV").current_dir(cargo::workspace()))
        .context("rustc -vV failed")?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc -vV names no host")?.to_owned())
}
