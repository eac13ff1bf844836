//! Debian's and Ubuntu's packages. Package lists are fetched only when something is not in them.

use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use crate::{privilege::Root, process, progress::Progress};

/// apt-get, and the way to run it as root.
pub(crate) struct Apt {
    root: Root,
    lists_are_fresh: bool,
}

impl Apt {
    /// Present where apt-get is.
    pub(crate) fn detect() -> Option<Self> {
        process::find_program("apt-get")?;
        Some(Self { root: Root::detect(), lists_are_fresh: false })
    }

    /// Whether apt could install all the packages; fetches the package lists if one is unknown.
    pub(crate) fn offers(&mut self, log: &Progress, packages: &[&str]) -> bool {
        if are_known(packages) {
            return true;
        }
        if let Err(error) = self.update(log) {
            log.step(&format!("package lists stay as they are: {error:#}"));
        }
        are_known(packages)
    }

    /// Whether installing is possible at all.
    pub(crate) fn has_root(&self) -> bool {
        self.root != Root::Unavailable
    }

    /// Installs the packages, with fresh lists if the ones here turn out to be stale.
    pub(crate) fn install(&mut self, log: &Progress, packages: &[&str]) -> Result<()> {
        log.step(&format!("apt-get install {}", packages.join(" ")));
        let mut install = vec!["install", "-y", "--no-install-recommends", "--no-remove"];
        install.extend(packages);
        if !self.has_root() {
            bail!("no root and no usable sudo; as root run `apt-get {}`", install.join(" "));
        }
        if self.run(&install).is_ok() {
            return Ok(());
        }
        // A list older than the archive names files that are gone.
        self.lists_are_fresh = false;
        self.update(log)?;
        process::retry(|| self.run(&install))
    }

    fn update(&mut self, log: &Progress) -> Result<()> {
        if !self.lists_are_fresh && self.has_root() {
            log.step("apt-get update");
            process::retry(|| self.run(&["update", "-q"]))?;
            self.lists_are_fresh = true;
        }
        Ok(())
    }

    fn run(&self, arguments: &[&str]) -> Result<()> {
        let mut command = self.root.command("env").context("no root and no usable sudo")?;
        command
            .args(["DEBIAN_FRONTEND=noninteractive", "LC_ALL=C", "apt-get"])
            .args(["-o", "Acquire::Retries=3", "-o", "DPkg::Lock::Timeout=300", "-o", "Dpkg::Use-Pty=0"])
            .args(arguments);
        if self.root != Root::SudoAsks {
            command.stdin(Stdio::null());
        }
        let status = command.status().context("cannot start apt-get")?;
        if !status.success() {
            bail!("apt-get {} failed: {}", arguments.join(" "), process::outcome(status));
        }
        Ok(())
    }
}

fn are_known(packages: &[&str]) -> bool {
    let policy = process::capture(Command::new("apt-cache").arg("policy").args(packages).env("LC_ALL", "C"));
    policy.is_some_and(|policy| packages.iter().all(|package| has_candidate(&policy, package)))
}

/// Whether the output of `apt-cache policy` names a version of the package that can be installed.
fn has_candidate(policy: &str, package: &str) -> bool {
    let mut lines = policy.lines().skip_while(|line| line.strip_suffix(':') != Some(package)).skip(1);
    lines
        .by_ref()
        .take_while(|line| line.starts_with(' '))
        .find_map(|line| line.trim().strip_prefix("Candidate:"))
        .is_some_and(|version| version.trim() != "(none)")
}

#[cfg(test)]
mod tests {
    use super::*;

    const POLICY: &str = "\
rustc-web:
  Installed: (none)
  Candidate: 1.96.0+dfsg1-1~deb12u2
  Version table:
     1.96.0+dfsg1-1~deb12u2 500
libstd-rust-dev-bpf:
  Installed: (none)
  Candidate: (none)
  Version table:
rustc:
  Installed: (none)
  Candidate: 1.63.0+dfsg1-2
  Version table:
";

    #[test]
    fn candidates() {
        assert!(has_candidate(POLICY, "rustc-web"));
        assert!(has_candidate(POLICY, "rustc"));
        assert!(!has_candidate(POLICY, "libstd-rust-dev-bpf"), "a virtual package has no candidate");
        assert!(!has_candidate(POLICY, "cargo"));
        assert!(!has_candidate("", "rustc"));
    }
}
