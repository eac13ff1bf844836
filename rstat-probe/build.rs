//! Builds the eBPF crate from source and leaves the object in `OUT_DIR` for `include_bytes`.

use std::{env, path::Path, process::Command};

use anyhow::{Context as _, anyhow, bail};
use aya_build::Toolchain;

/// Names the rustup toolchain that builds the eBPF programs.
const TOOLCHAIN_VARIABLE: &str = "RSTAT_PROBE_BPF_TOOLCHAIN";

fn main() -> anyhow::Result<()> {
    println!("cargo:rerun-if-env-changed={TOOLCHAIN_VARIABLE}");
    let metadata = cargo_metadata::MetadataCommand::new().no_deps().exec().context("cargo metadata")?;
    let folder = |name: &str| {
        let package = metadata.packages.iter().find(|package| package.name.as_str() == name);
        let package = package.ok_or_else(|| anyhow!("package {name} not found in the workspace"))?;
        package.manifest_path.parent().with_context(|| format!("the package {name} has no folder"))
    };
    let root_dir = folder("rstat-probe-ebpf")?;
    // Both sides of the maps are built from it. aya-build looks at the eBPF package alone.
    println!("cargo:rerun-if-changed={}", folder("rstat-probe-common")?);

    let toolchain = toolchain()?;
    if !has_source(&toolchain) {
        // A distribution's stable rustc with a prebuilt core: aya-ebpf needs unstable features,
        // and any other value would make aya-build ask for -Zbuild-std, which needs rust-src.
        // SAFETY: a build script's main has no other threads yet.
        unsafe { env::set_var("RUSTC_BOOTSTRAP", "aya_ebpf") };
    }
    aya_build::build_ebpf(
        [aya_build::Package { name: "rstat-probe-ebpf", root_dir: root_dir.as_str(), ..Default::default() }],
        Toolchain::Custom(&toolchain),
    )
}

/// The first toolchain that can build for BPF, unless the user names one.
fn toolchain() -> anyhow::Result<String> {
    if let Ok(name) = env::var(TOOLCHAIN_VARIABLE) {
        return Ok(name);
    }
    for name in ["nightly", "bpf"] {
        if (name == "nightly" && has_source(name)) || (name == "bpf" && has_bpf_core(name)) {
            return Ok(name.to_owned());
        }
    }
    bail!(
        "no Rust toolchain here can build eBPF programs; run `cargo xtask setup`, \
         or name a rustup toolchain in {TOOLCHAIN_VARIABLE}"
    )
}

fn sysroot(toolchain: &str) -> Option<String> {
    let output = Command::new("rustup")
        .args(["run", toolchain, "rustc", "--print", "sysroot"])
        .env_remove("RUSTC")
        .output()
        .ok()
        .filter(|output| output.status.success())?;
    Some(String::from_utf8(output.stdout).ok()?.trim().to_owned())
}

fn has_source(toolchain: &str) -> bool {
    sysroot(toolchain).is_some_and(|root| Path::new(&root).join("lib/rustlib/src/rust/library/core").exists())
}

fn has_bpf_core(toolchain: &str) -> bool {
    sysroot(toolchain)
        .is_some_and(|root| Path::new(&root).join("lib/rustlib/bpfel-unknown-none/lib").exists())
}
