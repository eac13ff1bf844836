//! Installs what `setup` found missing: an eBPF toolchain, bpf-linker, perf.

use std::{env, fs, path::Path, process::Command, time::Duration};

use anyhow::{Context as _, Result, bail};

use crate::{
    apt::Apt,
    linker::{self, Llvm},
    process,
    progress::Progress,
    setup::{self, Ready},
    toolchain::{self, Core, Toolchain},
};

/// The distribution's Rust with a prebuilt BPF core: its names on Debian stable and on newer releases.
const RUST_PACKAGES: [[&str; 3]; 2] =
    [["rustc-web", "cargo-web", "libstd-rust-web-dev-bpf"], ["rustc", "cargo", "libstd-rust-dev-bpf"]];
/// rustup's server may be out of reach; waiting longer would not help.
const RUSTUP_LIMIT: Duration = Duration::from_secs(30);
const BY_HAND: &str = "install by hand: `rustup toolchain install nightly --component rust-src`, then bpf-linker \
    (`cargo install bpf-linker` with LLVM's development files, or its release binary in PATH)";

/// Installs until some toolchain and bpf-linker fit each other.
///
/// A toolchain that is already here is completed first; then come the distribution's packages,
/// which need no other server; then rust-src for the nightly.
pub(crate) fn run(log: &Progress) -> Result<Ready> {
    let mut installer = Installer { log, apt: Apt::detect(), present: toolchain::detect() };
    if let Ok(name) = env::var(toolchain::VARIABLE)
        && installer.present.is_empty()
    {
        bail!("{} names '{name}', which is not installed or cannot build eBPF", toolchain::VARIABLE);
    }
    let mut reasons = Vec::new();
    for source in [Installer::present, Installer::distribution, Installer::rust_src] {
        let toolchains = source(&mut installer).unwrap_or_else(|error| {
            reasons.push(format!("{error:#}"));
            Vec::new()
        });
        for toolchain in toolchains {
            match installer.complete(&toolchain) {
                Ok(ready) => return Ok(ready),
                Err(error) => reasons.push(format!("{error:#}")),
            }
        }
    }
    if reasons.is_empty() {
        bail!("no toolchain here can build eBPF; {BY_HAND}");
    }
    bail!("no toolchain here can build eBPF ({}); {BY_HAND}", reasons.join("; "))
}

/// Installs the clippy of the distribution's Rust.
pub(crate) fn clippy(log: &Progress) -> bool {
    let Some(mut apt) = Apt::detect() else { return false };
    for package in ["rust-web-clippy", "rust-clippy"] {
        if apt.offers(log, &[package]) {
            return apt.install(log, &[package]).map_err(|error| log.step(&format!("{error:#}"))).is_ok();
        }
    }
    false
}

/// Installs perf; its absence later is the live tests' business.
pub(crate) fn perf(log: &Progress) -> bool {
    let Some(mut apt) = Apt::detect() else { return false };
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
    let tools = format!("linux-tools-{}", release.trim());
    for packages in [&["linux-perf"][..], &["linux-tools-common", &tools]] {
        if apt.offers(log, packages) {
            return apt.install(log, packages).map_err(|error| log.step(&format!("{error:#}"))).is_ok();
        }
    }
    false
}

/// Installs one package; what its absence means is the caller's business.
pub(crate) fn package(log: &Progress, name: &str) -> bool {
    let Some(mut apt) = Apt::detect() else { return false };
    apt.offers(log, &[name])
        && apt.install(log, &[name]).map_err(|error| log.step(&format!("{error:#}"))).is_ok()
}

struct Installer<'a> {
    log: &'a Progress,
    apt: Option<Apt>,
    /// Toolchains that could build eBPF before anything was installed.
    present: Vec<Toolchain>,
}

impl Installer<'_> {
    #[expect(clippy::unnecessary_wraps, reason = "one signature for all sources of toolchains")]
    fn present(&mut self) -> Result<Vec<Toolchain>> {
        Ok(self.present.clone())
    }

    /// The distribution's Rust, linked into rustup where that is in use.
    fn distribution(&mut self) -> Result<Vec<Toolchain>> {
        if self.present.iter().any(|toolchain| toolchain.core == Core::Prebuilt) {
            return Ok(Vec::new());
        }
        if !has_distribution_core() {
            let Some(apt) = &mut self.apt else { return Ok(Vec::new()) };
            let Some(packages) = RUST_PACKAGES.iter().find(|packages| apt.offers(self.log, *packages)) else {
                bail!("apt offers no Rust with a BPF core");
            };
            apt.install(self.log, packages)?;
        }
        if toolchain::needs_link() {
            self.log.step("rustup toolchain link bpf /usr");
            process::run(Command::new("rustup").args(["toolchain", "link", toolchain::LINKED, "/usr"]))?;
        }
        Ok(toolchain::detect().into_iter().filter(|toolchain| toolchain.core == Core::Prebuilt).collect())
    }

    /// The nightly that is here, with rust-src from rustup's server.
    fn rust_src(&mut self) -> Result<Vec<Toolchain>> {
        let is_complete = self.present.iter().any(|toolchain| toolchain.core == Core::FromSource);
        if is_complete || !toolchain::has_nightly() {
            return Ok(Vec::new());
        }
        self.log.step("rustup component add rust-src --toolchain nightly");
        let mut command = Command::new("rustup");
        command.args(["component", "add", "rust-src", "--toolchain", "nightly"]);
        process::run_within(&mut command, RUSTUP_LIMIT)?;
        Ok(toolchain::detect().into_iter().filter(|toolchain| toolchain.core == Core::FromSource).collect())
    }

    /// Adds a bpf-linker that reads the toolchain's bitcode, unless there is one.
    fn complete(&mut self, toolchain: &Toolchain) -> Result<Ready> {
        if let Some(ready) = setup::find(&toolchain::detect()) {
            return Ok(ready);
        }
        let llvm = self.llvm(toolchain.llvm)?;
        self.log.step(&format!("cargo install bpf-linker with LLVM {} (some minutes)", llvm.major));
        llvm.install_linker()?;
        setup::find(&toolchain::detect()).context("the bpf-linker in PATH is not the one just installed")
    }

    fn llvm(&mut self, rustc_llvm: Option<u32>) -> Result<Llvm> {
        if let Some(llvm) = Llvm::find(rustc_llvm) {
            return Ok(llvm);
        }
        let major = linker::wanted_llvm(rustc_llvm)?;
        let package = format!("llvm-{major}-dev");
        if let Some(apt) = &mut self.apt
            && apt.offers(self.log, &[&package])
        {
            apt.install(self.log, &[&package])?;
        }
        Llvm::find(rustc_llvm)
            .with_context(|| format!("bpf-linker needs the development files of LLVM {major}"))
    }
}

fn has_distribution_core() -> bool {
    Path::new("/usr/lib/rustlib/bpfel-unknown-none/lib").exists()
        && process::is_executable(Path::new("/usr/bin/rustc"))
}
