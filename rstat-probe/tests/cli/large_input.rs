//! Far too much input: what is plainly nothing is refused early, all of it in little memory.

use std::{
    fs::File,
    io::Write as _,
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};

use crate::refusal;

/// More than any file should have.
const LENGTH: u64 = 1 << 30;

/// Address space that is enough for the program, but not to read the input into, KiB.
const LITTLE: u64 = 160 << 10;

/// Address space for the longest text that is read at all, KiB.
const ENOUGH: u64 = 400 << 10;

/// Much longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(45);

const STORM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/recordings/storm.json");

/// `command` of `file`, against the storm where two are needed, and at most `kib` of address space.
/// A limit, since a test should not bring the machine down when it fails.
fn command(command: &str, file: &str, kib: u64) -> Command {
    let rest: &[&str] = if command == "compare" { &["--with", STORM, "--resamples", "200"] } else { &[] };
    let mut shell = Command::new("timeout");
    shell
        .args(["60", "sh", "-c", "ulimit -v \"$1\" && shift && exec \"$@\"", "sh"])
        .arg(kib.to_string())
        .args([env!("CARGO_BIN_EXE_rstat-probe"), command, file])
        .args(rest)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    shell
}

/// The error about what `write` wrote into a pipe, so that no disk fills up.
#[track_caller]
fn piped(name: &str, kib: u64, write: impl Fn(&mut dyn std::io::Write) -> std::io::Result<()>) -> String {
    let start = Instant::now();
    let mut child = command(name, "-", kib).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    // It may stop to read before the end.
    write(&mut stdin).ok();
    drop(stdin);
    let output: Output = child.wait_with_output().unwrap();
    assert!(start.elapsed() < PATIENCE, "{:?}", start.elapsed());
    refusal(&output)
}

/// `LENGTH` bytes of `pattern`.
#[track_caller]
fn refused_pattern(name: &str, kib: u64, pattern: &[u8]) -> String {
    let block = pattern.repeat((1 << 20) / pattern.len());
    piped(name, kib, |w| (0..LENGTH / block.len() as u64).try_for_each(|_| w.write_all(&block)))
}

#[test]
fn a_recording_fits_into_little_memory() {
    let output = command("show", STORM, LITTLE).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[test]
fn zeros() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("zeros.json");
    File::create(&path).unwrap().set_len(LENGTH).unwrap();
    for file in [path.to_str().unwrap(), "/dev/zero"] {
        for name in ["show", "compare"] {
            let start = Instant::now();
            let line = refusal(&command(name, file, LITTLE).output().unwrap());
            assert!(line.starts_with(&format!("{file}:1: recognised binary data")), "{line}");
            assert!(start.elapsed() < PATIENCE, "{:?}", start.elapsed());
        }
    }
}

/// Blanks are legal before JSON, in any number.
#[test]
fn what_its_beginning_gives_away() {
    for (pattern, right) in [
        (&b" "[..], "nothing but blanks in its first MiB"),
        (b"h\0i\0\n\0", "1: recognised UTF-16"),
        (b"{\"level\": \"info\"}\n", "not JSON: trailing characters at line 2"),
    ] {
        for name in ["show", "compare"] {
            let line = refused_pattern(name, LITTLE, pattern);
            let rest = line.strip_prefix("standard input:").unwrap_or_else(|| panic!("{line}"));
            assert!(rest.trim_start().starts_with(right), "{line}");
        }
    }
}

#[test]
fn lines_of_text() {
    for name in ["show", "compare"] {
        let line = refused_pattern(name, ENOUGH, b"a line of a log, as there are many\n");
        assert!(line.starts_with("standard input: longer than 64 MiB"), "{line}");
    }
}

/// Just short enough to be read.
#[test]
fn many_short_lines() {
    let block = b"1234567\n".repeat(1 << 17);
    let line = piped("show", ENOUGH, |w| (0..62).try_for_each(|_| w.write_all(&block)));
    assert!(line.starts_with("standard input:2000001: more than 2000000 lines are not read"), "{line}");
}

/// What a program writes into a named pipe is read like a file.
#[test]
fn a_named_pipe() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
    for name in ["show", "compare"] {
        let child = command(name, path.to_str().unwrap(), ENOUGH).spawn().unwrap();
        let mut pipe = File::options().write(true).open(&path).unwrap();
        pipe.write_all(crate::recording("storm.json").as_bytes()).unwrap();
        drop(pipe);
        let output = child.wait_with_output().unwrap();
        assert_eq!((output.status.code(), crate::text(&output.stderr)), (Some(0), ""), "{output:?}");
    }
}
