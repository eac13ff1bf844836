//! `cargo xtask test`: every check, one after the other, with all failures together at the end.

use std::{
    env,
    process::{Command, ExitCode, Stdio},
    time::{Duration, Instant},
};

use anyhow::{Result, anyhow};

use crate::{
    cargo,
    privilege::{self, Root},
    process,
    progress::Progress,
    setup::{self, Ready},
    tee::{self, Notes},
    toolchain, vm,
};

const EBPF_PACKAGE: &str = "rstat-probe-ebpf";
/// The integration test that needs a kernel and root; its tests are `#[ignore]`d for plain `cargo test`.
const KERNEL_TEST: &str = "kernel";

type Step = (&'static str, fn(&Ready) -> Result<Notes>);

const STEPS: [Step; 7] = [
    ("format", format),
    ("lints", lints),
    ("eBPF lints", ebpf_lints),
    ("tests", tests),
    ("live kernel tests", kernel_tests),
    ("VM matrix", vm::matrix),
    ("documentation", documentation),
];

/// Runs all steps; failure when one failed or, in CI, when a test was skipped.
pub(crate) fn run() -> Result<ExitCode> {
    privilege::refuse_sudo("test")?;
    let ready = setup::run(setup::Scope::Everything)?;
    let progress = Progress::of("test");
    let mut done = Vec::new();
    for (name, step) in STEPS {
        println!();
        progress.step(name);
        let began = Instant::now();
        let result = step(&ready);
        if let Err(error) = &result {
            eprintln!("test: {name}: {error:#}");
        }
        done.push(Done { name, result, took: began.elapsed() });
    }

    println!("\ntest: summary after {:.0} s", progress.elapsed().as_secs_f64());
    for line in done.iter().flat_map(Done::lines) {
        println!("test: {line}");
    }
    Ok(if is_failure(&done, process::in_ci()) { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

struct Done {
    name: &'static str,
    result: Result<Notes>,
    took: Duration,
}

impl Done {
    fn lines(&self) -> Vec<String> {
        let (verdict, detail) = match &self.result {
            Ok(Notes { passed: 0, .. }) => ("ok", String::new()),
            Ok(notes) => ("ok", format!("  {} tests", notes.passed)),
            Err(error) => ("FAILED", format!("  {error:#}")),
        };
        let first = format!("  {verdict:<7} {:<18} {:>6.1}s{detail}", self.name, self.took.as_secs_f64());
        let skipped = self.result.iter().flat_map(|notes| &notes.skipped);
        std::iter::once(first).chain(skipped.map(|reason| format!("    SKIPPED: {reason}"))).collect()
    }
}

/// In CI nothing may be skipped: what is not run there is run nowhere.
fn is_failure(done: &[Done], in_ci: bool) -> bool {
    done.iter().any(|step| match &step.result {
        Ok(notes) => in_ci && !notes.skipped.is_empty(),
        Err(_) => true,
    })
}

fn format(_: &Ready) -> Result<Notes> {
    quiet(cargo::command("fmt").args(["--all", "--check"]))
}

fn lints(ready: &Ready) -> Result<Notes> {
    let mut command = cargo::command("clippy");
    command.args(["--workspace", "--exclude", EBPF_PACKAGE, "--all-targets", "--", "-D", "warnings"]);
    quiet(ready.prepare(&mut command)?)
}

/// The eBPF crate compiles only for a BPF target, so its lints need the toolchain that builds it.
fn ebpf_lints(ready: &Ready) -> Result<Notes> {
    let toolchain = &ready.toolchain;
    if process::capture(toolchain.command("cargo").args(["clippy", "--version"])).is_none() {
        println!("not run: the toolchain \"{}\" has no clippy", toolchain.name);
        return Ok(Notes::default());
    }
    let mut command = toolchain.command("cargo");
    command.args(["clippy", "--package", EBPF_PACKAGE, "--lib", "--bins", "--release"]);
    command.args(["--target", toolchain::bpf_target()]);
    command.current_dir(cargo::workspace()).stdin(Stdio::null());
    // As in aya-build: this value turns unstable features on for aya-ebpf alone.
    match toolchain.core {
        toolchain::Core::FromSource => command.args(["-Z", "build-std=core"]),
        toolchain::Core::Prebuilt => command.env("RUSTC_BOOTSTRAP", "aya_ebpf"),
    };
    quiet(command.args(["--", "-D", "warnings"]))
}

/// The output of tests that pass is shown too: it may hold a `SKIPPED:` line.
fn tests(ready: &Ready) -> Result<Notes> {
    let mut command = cargo::command("test");
    command.args(["--workspace", "--exclude", EBPF_PACKAGE, "--no-fail-fast", "--", "--show-output"]);
    // Plain `cargo test` takes a tenth of them: two minutes are too long while one works.
    command.env("RSTAT_PROBE_VARIANTS", "1000");
    counted(ready.prepare(&mut command)?)
}

/// Built as the user, run as root, one at a time because they share the kernel.
fn kernel_tests(ready: &Ready) -> Result<Notes> {
    let mut build = cargo::command("test");
    build.args(["--package", "rstat-probe", "--test", KERNEL_TEST, "--no-run"]);
    let binary = cargo::executable(ready.prepare(&mut build)?, KERNEL_TEST)?;
    let Some(mut command) = Root::detect().command("env") else {
        let reason = "live kernel tests need root, and sudo cannot be used here";
        println!("SKIPPED: {reason}");
        return Ok(Notes { passed: 0, skipped: vec![reason.to_owned()] });
    };
    let package = cargo::workspace().join("rstat-probe");
    // sudo clears the environment, and Cargo would run the tests in their package's folder.
    command.arg(format!("CARGO_MANIFEST_DIR={}", package.display()));
    for name in ["CI", "RUST_BACKTRACE"] {
        command.args(env::var(name).map(|value| format!("{name}={value}")));
    }
    command.arg(binary).args(["--include-ignored", "--test-threads=1", "--nocapture"]).current_dir(package);
    counted(&mut command)
}

fn documentation(ready: &Ready) -> Result<Notes> {
    let mut command = cargo::command("doc");
    command.args(["--workspace", "--exclude", EBPF_PACKAGE, "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings");
    quiet(ready.prepare(&mut command)?)
}

fn quiet(command: &mut Command) -> Result<Notes> {
    process::run(command).map(|()| Notes::default())
}

fn counted(command: &mut Command) -> Result<Notes> {
    let (status, notes) = tee::run(command)?;
    if !status.success() {
        let skipped = notes.skipped.len();
        return Err(anyhow!(
            "{}; {} tests passed, {skipped} skipped",
            process::outcome(status),
            notes.passed
        ));
    }
    Ok(notes)
}

#[cfg(test)]
mod tests_of_the_summary {
    use super::*;

    fn done(result: Result<Notes>) -> Done {
        Done { name: "tests", result, took: Duration::from_millis(1234) }
    }

    #[test]
    fn lines() {
        assert_eq!(
            done(Ok(Notes { passed: 12, skipped: vec!["no perf".to_owned()] })).lines(),
            ["  ok      tests                 1.2s  12 tests", "    SKIPPED: no perf"]
        );
        assert_eq!(
            done(Err(anyhow!("cause").context("what"))).lines(),
            ["  FAILED  tests                 1.2s  what: cause"]
        );
    }

    #[test]
    fn skipping_fails_in_ci_only() {
        let skipped = || done(Ok(Notes { passed: 1, skipped: vec!["no root".to_owned()] }));
        let clean = || done(Ok(Notes::default()));
        assert!(!is_failure(&[clean(), skipped()], false));
        assert!(is_failure(&[clean(), skipped()], true));
        assert!(!is_failure(&[clean()], true));
        assert!(is_failure(&[clean(), done(Err(anyhow!("no")))], false));
    }
}
