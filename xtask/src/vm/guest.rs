//! What runs in the guests: the tool and its tests, linked statically, and the file system around them.

use std::{fs, path::Path, process::Command};

use anyhow::{Context as _, Result, bail};

use super::initramfs::Initramfs;
use crate::{cargo, setup::Ready};

const TARGET: &str = "x86_64-unknown-linux-gnu";
const TOOL: &str = "rstat-probe";
/// The integration test whose tests are `#[ignore]`d everywhere but in a guest.
const TEST: &str = "guest";

const INIT: &str = include_str!("init.sh");
const USERS: &str = "root:x:0:0:root:/:/bin/sh\nuser:x:1000:1000:user:/tmp:/bin/sh\n";
const GROUPS: &str = "root:x:0:\nuser:x:1000:\n";

/// Builds the binaries and writes the file system to `path`.
pub(crate) fn build(ready: &Ready, busybox: &Path, path: &Path) -> Result<()> {
    let mut command = cargo::command("test");
    // One build for both: Cargo builds a package's binary for its integration tests.
    command.args(["--package", TOOL, "--test", TEST, "--no-run"]);
    static_build(&mut command);
    // Quick to build, yet not slow: a CPU that is emulated is slow enough.
    for (name, value) in [("OPT_LEVEL", "1"), ("DEBUG", "false"), ("STRIP", "symbols")] {
        command.env(format!("CARGO_PROFILE_DEV_{name}"), value);
    }
    let [tool, test] = cargo::executables(ready.prepare(&mut command)?, [TOOL, TEST])?;
    let mut archive = file_system(INIT, &[("busybox", busybox), (TOOL, &tool), (TEST, &test)])?;
    fs::write(path, archive.finish()).with_context(|| format!("cannot write {}", path.display()))
}

/// Makes a Cargo command build for guests, which have no C library.
pub(crate) fn static_build(command: &mut Command) {
    command.args(["--target", TARGET]).env("RUSTFLAGS", "-C target-feature=+crt-static");
}

/// A guest's file system with these programs in `/bin`.
pub(crate) fn file_system(init: &str, programs: &[(&str, &Path)]) -> Result<Initramfs> {
    let mut archive = Initramfs::default();
    for folder in ["bin", "dev", "etc", "lab", "proc", "sys"] {
        archive.folder(folder, 0o755);
    }
    archive
        .folder("tmp", 0o1777)
        // The kernel opens it for init before anything is mounted.
        .device("dev/console", 0o600, (5, 1))
        .file("init", 0o755, init.as_bytes())
        .file("etc/passwd", 0o644, USERS.as_bytes())
        .file("etc/group", 0o644, GROUPS.as_bytes());
    for (name, path) in programs {
        let binary = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        if needs_interpreter(&binary) {
            bail!("{name} is not linked statically, so that it cannot run in a guest");
        }
        archive.file(&format!("bin/{name}"), 0o755, &binary);
    }
    Ok(archive)
}

/// Whether an ELF binary names a dynamic linker, which the guests do not have.
fn needs_interpreter(binary: &[u8]) -> bool {
    const NAME: &[u8] = b"/lib64/ld-linux-x86-64.so.2\0";
    // It stands near the start, in a segment of its own.
    binary[..binary.len().min(4096)].windows(NAME.len()).any(|window| window == NAME)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn init_is_a_script_for_busybox() {
        assert!(INIT.starts_with("#!/bin/busybox sh\n"));
        assert!(INIT.contains("/bin/guest --include-ignored --test-threads=1 --nocapture"));
    }

    #[test]
    fn dynamic_binaries_are_told() {
        assert!(needs_interpreter(b"\x7fELF.../lib64/ld-linux-x86-64.so.2\0..."));
        assert!(!needs_interpreter(b"\x7fELF"));
    }
}
