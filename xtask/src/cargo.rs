//! The workspace, the Cargo that started us, and what it built.

use std::{
    env,
    ffi::OsStr,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, Result, bail};
use serde_json::Value;

use crate::process;

/// The root folder of the workspace.
pub(crate) fn workspace() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.parent().unwrap_or(package)
}

/// Cargo, run in the workspace.
pub(crate) fn command(subcommand: &str) -> Command {
    let mut command = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.arg(subcommand).current_dir(workspace()).stdin(Stdio::null());
    command
}

/// Where `cargo install` puts programs.
pub(crate) fn bin_folder() -> Option<PathBuf> {
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| env::home_dir().map(|user| user.join(".cargo")))?;
    Some(home.join("bin"))
}

/// Runs a build and returns the executable of one target.
pub(crate) fn executable(command: &mut Command, target: &str) -> Result<PathBuf> {
    executables(command, [target]).map(|[path]| path)
}

/// Runs a build and returns the executables of some targets.
pub(crate) fn executables<const N: usize>(command: &mut Command, targets: [&str; N]) -> Result<[PathBuf; N]> {
    command.arg("--message-format=json-render-diagnostics");
    let mut child = command.stdout(Stdio::piped()).spawn().context("cannot start cargo")?;
    let mut found = [const { None }; N];
    if let Some(stdout) = child.stdout.take() {
        for line in BufReader::new(stdout).lines() {
            let line = line.context("reading cargo's messages")?;
            for (path, target) in found.iter_mut().zip(targets) {
                *path = executable_in(&line, target).or(path.take());
            }
        }
    }
    let status = child.wait()?;
    if !status.success() {
        let subcommand = command.get_args().next().map(OsStr::to_string_lossy).unwrap_or_default();
        bail!("cargo {subcommand} failed: {}", process::outcome(status));
    }
    if let Some(missing) = found.iter().position(Option::is_none) {
        bail!("cargo built no executable for the target {}", targets[missing]);
    }
    Ok(found.map(Option::unwrap_or_default))
}

/// The executable that one of Cargo's JSON messages names, if it is the target's.
fn executable_in(message: &str, target: &str) -> Option<PathBuf> {
    let message: Value = serde_json::from_str(message).ok()?;
    if message.get("reason")? != "compiler-artifact" || message.pointer("/target/name")? != target {
        return None;
    }
    message.get("executable")?.as_str().map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workspace_has_the_manifest() {
        assert!(workspace().join("Cargo.lock").exists());
    }

    #[test]
    fn executable_of_the_target_only() {
        let artifact = r#"{"reason":"compiler-artifact","target":{"kind":["test"],"name":"kernel"},"executable":"/t/a \"b\"/kernel-1"}"#;
        assert_eq!(executable_in(artifact, "kernel"), Some(PathBuf::from("/t/a \"b\"/kernel-1")));
        assert_eq!(executable_in(artifact, "cli"), None);
        let library =
            r#"{"reason":"compiler-artifact","target":{"kind":["lib"],"name":"kernel"},"executable":null}"#;
        assert_eq!(executable_in(library, "kernel"), None);
        let other = r#"{"reason":"build-script-executed","target":{"name":"kernel"},"executable":"/x"}"#;
        assert_eq!(executable_in(other, "kernel"), None);
        assert_eq!(executable_in("not JSON", "kernel"), None);
    }
}
