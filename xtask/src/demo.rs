//! `cargo xtask demo`: measures a load on this kernel and leaves a recording.

use std::{
    env,
    ffi::OsString,
    fs,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use anyhow::{Context as _, Result, bail};

use crate::{build, duration, privilege, privilege::Root, process, setup};

/// Options of `cargo xtask demo`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// How long to measure
    #[arg(short, long, default_value = "10s", value_parser = duration::parse)]
    duration: Duration,
    /// Where the recording goes
    #[arg(short, long, default_value = "rstat-probe-demo.json")]
    output: PathBuf,
}

/// Sets up, builds, runs the tool as root over a load, and passes its exit code on.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    privilege::refuse_sudo("demo")?;
    let root = Root::detect();
    if root == Root::Unavailable {
        bail!("measuring needs root, and sudo cannot be used here");
    }
    let ready = setup::run(setup::Scope::Build)?;
    let binary = build::release(&ready)?;

    let before = version(&options.output);
    let mut command = root.command(&binary).context("measuring needs root")?;
    command.args(arguments(&binary, options.duration, &options.output));
    println!("demo: {}", shown(&command));
    let status = command.status().with_context(|| format!("cannot start {}", binary.display()))?;

    let after = version(&options.output);
    let output = options.output.display();
    if after.is_none() || after == before {
        bail!("rstat-probe left no recording in {output} ({})", process::outcome(status));
    }
    println!("demo: the recording is in {output}; look at it again with: {} show {output}", short(&binary));
    Ok(ExitCode::from(process::exit_code(status)))
}

/// What the demo asks of the tool: measure while its own load reads statistics.
fn arguments(binary: &Path, length: Duration, output: &Path) -> Vec<OsString> {
    let interval = duration::format(length.min(Duration::from_secs(1)));
    let length = duration::format(length);
    let mut arguments: Vec<OsString> = ["run", "-i", &interval, "-o"].map(Into::into).into();
    arguments.extend([output.into(), "--".into(), binary.into()]);
    arguments.extend(["load", "stat-reader", "--duration", &length].map(Into::into));
    arguments
}

/// Tells one content of a file from the next; nothing for a missing or empty file.
fn version(path: &Path) -> Option<(u64, i64, i64, u64)> {
    let file = fs::metadata(path).ok()?;
    (file.len() > 0).then(|| (file.ino(), file.mtime(), file.mtime_nsec(), file.len()))
}

fn shown(command: &std::process::Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| short(Path::new(word))).collect::<Vec<_>>().join(" ")
}

/// A path as it can be typed in the current folder.
fn short(path: &Path) -> String {
    let here = env::current_dir().unwrap_or_default();
    path.strip_prefix(here).unwrap_or(path).display().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(length: Duration) -> String {
        let arguments = arguments(Path::new("/t/rstat-probe"), length, Path::new("demo.json"));
        arguments.join(&OsString::from(" ")).into_string().unwrap()
    }

    #[test]
    fn the_tool_measures_its_own_load() {
        assert_eq!(
            words(Duration::from_secs(10)),
            "run -i 1s -o demo.json -- /t/rstat-probe load stat-reader --duration 10s"
        );
    }

    #[test]
    fn an_interval_is_never_longer_than_the_load() {
        assert!(words(Duration::from_millis(500)).starts_with("run -i 500ms "));
    }

    #[test]
    fn a_missing_or_empty_recording_has_no_version() {
        assert_eq!(version(Path::new("/nonexistent/demo.json")), None);
        assert_eq!(version(Path::new("/dev/null")), None);
        assert!(version(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))).is_some());
    }
}
