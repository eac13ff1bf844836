//! `cargo xtask setup`: finds what building and testing need and installs what is missing.

use std::{env, path::Path, process::Command};

use anyhow::{Result, bail};

use crate::{
    install, lab,
    linker::Linker,
    privilege, process,
    progress::Progress,
    toolchain::{self, Toolchain},
    vm,
};

/// How much to look after.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scope {
    /// What a build needs.
    Build,
    /// And what it is measured beside.
    Bench,
    /// And what the VM kernel matrix needs.
    Machines,
    /// And what building kernels needs.
    Lab,
    /// And what all the tests need; they build no kernel.
    Everything,
}

/// A machine that can build the workspace.
pub(crate) struct Ready {
    pub(crate) toolchain: Toolchain,
    linker: Linker,
    /// Set only where build.rs would choose another toolchain by itself.
    variable: Option<String>,
}

impl Ready {
    /// Gives a Cargo command the environment that `rstat-probe/build.rs` needs.
    pub(crate) fn prepare<'a>(&self, command: &'a mut Command) -> Result<&'a mut Command> {
        if let Some(name) = &self.variable {
            command.env(toolchain::VARIABLE, name);
        }
        if process::find_program("bpf-linker").is_none() {
            let folder = self.linker.path.parent().map(ToOwned::to_owned).into_iter();
            let path = env::var_os("PATH").unwrap_or_default();
            command.env("PATH", env::join_paths(folder.chain(env::split_paths(&path)))?);
        }
        Ok(command)
    }
}

/// Makes the machine ready, or says in one line what to do.
pub(crate) fn run(scope: Scope) -> Result<Ready> {
    privilege::refuse_sudo("setup")?;
    let log = Progress::of("setup");
    let ready = find(&toolchain::detect()).map_or_else(|| install::run(&log), Ok)?;
    found("eBPF toolchain", &ready.toolchain.describe());
    found("bpf-linker", &ready.linker.describe());
    if scope == Scope::Everything {
        found("eBPF clippy", &clippy(&log, &ready.toolchain));
    }
    if matches!(scope, Scope::Everything | Scope::Bench) {
        found("perf", &perf(&log));
        found("bpftrace", &bpftrace(&log));
    }
    if !matches!(scope, Scope::Build | Scope::Bench) {
        found("QEMU", &qemu(&log));
    }
    if scope == Scope::Lab {
        kernel_tools(&log)?;
    }
    Ok(ready)
}

/// A toolchain and a linker that fit each other.
pub(crate) fn find(toolchains: &[Toolchain]) -> Option<Ready> {
    let linker = Linker::find()?;
    let toolchain = toolchains.iter().find(|toolchain| linker.reads(toolchain.llvm))?.clone();
    let variable = toolchain::variable_for(&toolchain, toolchains).map(ToOwned::to_owned);
    Some(Ready { toolchain, linker, variable })
}

/// The eBPF crate compiles only for a BPF target, so its lints need a clippy of that toolchain.
fn found(what: &str, text: &str) {
    println!("setup: {what:<15} {text}");
}

fn clippy(log: &Progress, toolchain: &Toolchain) -> String {
    let version = || process::capture(toolchain.command("cargo").args(["clippy", "--version"]));
    let can_install = toolchain.core == toolchain::Core::Prebuilt;
    version()
        .or_else(|| (can_install && install::clippy(log)).then(version).flatten())
        .unwrap_or_else(|| "not found; the eBPF lints are not run".to_owned())
}

/// perf counts the same tracepoints independently of us in the live kernel tests.
fn perf(log: &Progress) -> String {
    let version = || {
        let text = process::capture(Command::new("perf").arg("--version"))?;
        Some(text.trim_start_matches("perf version ").to_owned())
    };
    version().or_else(|| install::perf(log).then(version).flatten()).unwrap_or_else(|| {
        "not found; the live kernel tests compare with it: install your distribution's perf".to_owned()
    })
}

/// bpftrace runs beside us on the same hooks in one of the live kernel tests.
fn bpftrace(log: &Progress) -> String {
    let version = || {
        let text = process::capture(Command::new("bpftrace").arg("--version"))?;
        Some(text.trim_start_matches("bpftrace ").to_owned())
    };
    version().or_else(|| install::package(log, "bpftrace").then(version).flatten()).unwrap_or_else(|| {
        "not found; a live kernel test runs it: install your distribution's bpftrace".to_owned()
    })
}

/// QEMU boots the kernels of the VM matrix, which come from Debian's archive with Debian's signature.
fn qemu(log: &Progress) -> String {
    if !Path::new(vm::KEYRING).exists() {
        install::package(log, vm::KEYRING_PACKAGE);
    }
    let version = || {
        let text = process::capture(Command::new(vm::QEMU).arg("--version"))?;
        Some(text.lines().next()?.trim_start_matches("QEMU emulator version ").to_owned())
    };
    version().or_else(|| install::package(log, vm::QEMU_PACKAGE).then(version).flatten()).unwrap_or_else(
        || format!("not found; the VM matrix needs it: install your distribution's {}", vm::QEMU),
    )
}

/// What the kernel's own build needs. Building cannot go on without, so that what is missing is an error.
fn kernel_tools(log: &Progress) -> Result<()> {
    let (header, library) = lab::LIBRARY;
    let mut missing: Vec<&str> = lab::TOOLS
        .into_iter()
        .filter(|(program, package)| !is_there(log, package, || process::find_program(program).is_some()))
        .map(|(_, package)| package)
        .collect();
    if !is_there(log, library, || Path::new(header).exists()) {
        missing.push(library);
    }
    if !missing.is_empty() {
        bail!("building a kernel needs {}: install them (the names are Debian's)", missing.join(", "));
    }
    found("kernel tools", "all there");
    Ok(())
}

/// Whether something is there, if need be after installing the package that has it.
fn is_there(log: &Progress, package: &str, found: impl Fn() -> bool) -> bool {
    found() || (install::package(log, package) && found())
}
