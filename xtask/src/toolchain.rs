//! Which Rust toolchain can build eBPF programs: facts about each, then a pure decision.
//!
//! `rstat-probe/build.rs` decides in the same order when it is run without xtask.

use std::{env, path::Path, process::Command};

use crate::process;

/// The variable that names the toolchain to `rstat-probe/build.rs`.
pub(crate) const VARIABLE: &str = "RSTAT_PROBE_BPF_TOOLCHAIN";
/// The name under which the distribution's Rust is linked into rustup.
pub(crate) const LINKED: &str = "bpf";
const NIGHTLY: &str = "nightly";

/// Where the `core` library for the BPF target comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Core {
    /// A nightly builds it from the rust-src component.
    FromSource,
    /// The distribution ships it compiled.
    Prebuilt,
}

/// A toolchain that can build eBPF programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Toolchain {
    pub(crate) name: String,
    pub(crate) core: Core,
    /// rustc's release, such as `1.96.0`.
    pub(crate) release: String,
    /// Major version of rustc's LLVM; bpf-linker must read its bitcode.
    pub(crate) llvm: Option<u32>,
}

impl Toolchain {
    /// A command that runs one of its programs.
    pub(crate) fn command(&self, program: &str) -> Command {
        if process::find_program("rustup").is_none() {
            return Command::new(program);
        }
        let mut command = Command::new("rustup");
        command.args(["run", &self.name, program]);
        command
    }

    /// One phrase for the progress lines.
    pub(crate) fn describe(&self) -> String {
        let origin = match self.core {
            Core::FromSource => "nightly with rust-src",
            Core::Prebuilt => "distribution with a prebuilt BPF core",
        };
        let llvm = self.llvm.map(|major| format!(", LLVM {major}")).unwrap_or_default();
        format!("rustc {}{llvm}, {origin} (toolchain \"{}\")", self.release, self.name)
    }
}

/// What a toolchain offers. Facts only; `classify` judges them.
#[derive(Default)]
struct Facts {
    version: String,
    has_rust_src: bool,
    has_bpf_core: bool,
}

/// All toolchains of this machine that can build eBPF programs, best first.
pub(crate) fn detect() -> Vec<Toolchain> {
    let wanted = env::var(VARIABLE).ok();
    let names = wanted.as_deref().map_or_else(|| vec![NIGHTLY, LINKED], |name| vec![name]);
    let Some(list) = rustup_list() else {
        // Without rustup aya-build takes the Rust in PATH, whatever the name.
        let facts = probe(&mut Command::new("rustc"), &mut Command::new("rustc"));
        return facts
            .and_then(|facts| classify(wanted.as_deref().unwrap_or(LINKED), &facts))
            .into_iter()
            .collect();
    };
    names
        .into_iter()
        .filter(|name| is_installed(&list, name))
        .filter_map(|name| classify(name, &probe(&mut rustc(name), &mut rustc(name))?))
        .collect()
}

/// Whether rustup has a nightly, with or without rust-src.
pub(crate) fn has_nightly() -> bool {
    rustup_list().is_some_and(|list| is_installed(&list, NIGHTLY))
}

/// Whether rustup is here at all, and has the distribution's Rust linked.
pub(crate) fn needs_link() -> bool {
    rustup_list().is_some_and(|list| !is_installed(&list, LINKED))
}

/// The value of `VARIABLE` that a build needs, if build.rs would not choose this one by itself.
/// Leaving it unset keeps a later plain `cargo build` from building the eBPF object again.
pub(crate) fn variable_for<'a>(chosen: &'a Toolchain, detected: &[Toolchain]) -> Option<&'a str> {
    (detected.first() != Some(chosen) || process::find_program("rustup").is_none()).then_some(&*chosen.name)
}

fn rustup_list() -> Option<String> {
    process::capture(Command::new("rustup").args(["toolchain", "list"]))
}

fn rustc(toolchain: &str) -> Command {
    let mut command = Command::new("rustup");
    command.args(["run", toolchain, "rustc"]);
    command
}

fn probe(version: &mut Command, sysroot: &mut Command) -> Option<Facts> {
    let version = process::capture(version.arg("-vV"))?;
    let sysroot = process::capture(sysroot.args(["--print", "sysroot"]))?;
    let rustlib = Path::new(&sysroot).join("lib/rustlib");
    Some(Facts {
        version,
        has_rust_src: rustlib.join("src/rust/library/core").exists(),
        has_bpf_core: rustlib.join(bpf_target()).join("lib").exists(),
    })
}

/// The BPF target with this host's byte order.
pub(crate) fn bpf_target() -> &'static str {
    if cfg!(target_endian = "big") { "bpfeb-unknown-none" } else { "bpfel-unknown-none" }
}

fn classify(name: &str, facts: &Facts) -> Option<Toolchain> {
    let field = |key: &str| facts.version.lines().find_map(|line| line.strip_prefix(key)).map(str::trim);
    let release = field("release:")?.to_owned();
    let llvm = field("LLVM version:").and_then(|version| version.split('.').next()?.parse().ok());
    let core = if facts.has_rust_src && release.contains("nightly") {
        Core::FromSource
    } else if facts.has_bpf_core {
        Core::Prebuilt
    } else {
        return None;
    };
    Some(Toolchain { name: name.to_owned(), core, release, llvm })
}

/// Whether `rustup toolchain list` has the name, alone or followed by a host triple.
fn is_installed(list: &str, name: &str) -> bool {
    list.lines().filter_map(|line| line.split_whitespace().next()).any(|installed| {
        installed.strip_prefix(name).is_some_and(|rest| {
            rest.is_empty()
                || rest
                    .strip_prefix('-')
                    .is_some_and(|triple| triple.starts_with(|first: char| first.is_ascii_alphabetic()))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const NIGHTLY_VERSION: &str = "rustc 1.97.0-nightly (e50aa6fba 2026-05-19)\nbinary: rustc\nrelease: 1.97.0-nightly\nLLVM version: 22.1.4";
    const DEBIAN_VERSION: &str = "rustc 1.96.0 (ac68faa20 2026-05-25) (built from a source tarball)\nbinary: rustc\nhost: x86_64-unknown-linux-gnu\nrelease: 1.96.0\nLLVM version: 22.1.8";

    fn facts(version: &str, has_rust_src: bool, has_bpf_core: bool) -> Facts {
        Facts { version: version.to_owned(), has_rust_src, has_bpf_core }
    }

    #[test]
    fn nightly_needs_rust_src() {
        let nightly = classify("nightly", &facts(NIGHTLY_VERSION, true, false)).unwrap();
        assert_eq!(nightly.core, Core::FromSource);
        assert_eq!(nightly.release, "1.97.0-nightly");
        assert_eq!(nightly.llvm, Some(22));
        assert_eq!(classify("nightly", &facts(NIGHTLY_VERSION, false, false)), None);
    }

    #[test]
    fn stable_needs_a_prebuilt_core() {
        let debian = classify("bpf", &facts(DEBIAN_VERSION, false, true)).unwrap();
        assert_eq!((debian.core, debian.llvm), (Core::Prebuilt, Some(22)));
        assert_eq!(classify("stable", &facts(DEBIAN_VERSION, true, false)), None);
    }

    #[test]
    fn odd_versions() {
        assert_eq!(classify("bpf", &facts("", false, true)), None);
        let unknown = classify("bpf", &facts("release: 1.96.0\nLLVM version: none", false, true)).unwrap();
        assert_eq!(unknown.llvm, None);
        assert!(unknown.describe().starts_with("rustc 1.96.0, distribution"));
    }

    #[test]
    fn names_in_rustups_list() {
        let list = "stable-x86_64-unknown-linux-gnu (active, default)\nnightly-2026-01-02-x86_64-unknown-linux-gnu\nbpf\n";
        assert!(is_installed(list, "stable"));
        assert!(is_installed(list, "bpf"));
        assert!(is_installed(list, "nightly-2026-01-02"));
        assert!(!is_installed(list, "nightly"), "a dated nightly is not `nightly`");
        assert!(!is_installed(list, "bp"));
        assert!(is_installed("nightly-x86_64-unknown-linux-gnu\n", "nightly"));
        assert!(!is_installed("no installed toolchains\n", "nightly"));
    }
}
