//! `show` of far too much: what is plainly no recording is refused early, in little memory.

use std::{
    fs::File,
    io::Write as _,
    path::Path,
    process::{Command, Output, Stdio},
    time::{Duration, Instant},
};

use crate::refusal;

/// More than any recording should have.
const LENGTH: u64 = 200 << 20;

/// Address space that is enough for the program, but not to read the input into, KiB.
const LITTLE: u64 = 160 << 10;

/// `show` of `file` with at most `kib` of address space. A limit, since a test should not bring
/// the machine down when it fails.
fn show(file: &str, kib: u64) -> Command {
    let mut command = Command::new("sh");
    command
        .args(["-c", "ulimit -v \"$1\" && exec \"$2\" show \"$3\"", "sh"])
        .arg(kib.to_string())
        .arg(env!("CARGO_BIN_EXE_rstat-probe"))
        .arg(file)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

#[track_caller]
fn assert_is_no_json(output: &Output, file: &str) {
    let line = refusal(output);
    assert!(line.starts_with(&format!("{file}: not JSON: ")), "{line}");
}

#[test]
fn a_recording_fits_into_little_memory() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/recordings/storm.json");
    let output = show(file.to_str().unwrap(), LITTLE).output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
}

#[test]
fn zeros() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("zeros.json");
    File::create(&path).unwrap().set_len(LENGTH).unwrap();
    let path = path.to_str().unwrap();
    let start = Instant::now();
    assert_is_no_json(&show(path, LITTLE).output().unwrap(), path);
    assert!(start.elapsed() < Duration::from_secs(10), "{:?}", start.elapsed());
}

#[test]
fn zeros_without_end() {
    assert_is_no_json(&show("/dev/zero", 1 << 20).output().unwrap(), "/dev/zero");
}

/// Legal before JSON, in any number. Through a pipe, so that no disk fills up.
#[test]
fn blanks() {
    let start = Instant::now();
    let mut child = show("-", LITTLE).stdin(Stdio::piped()).spawn().unwrap();
    let mut stdin = child.stdin.take().unwrap();
    let blanks = vec![b' '; 1 << 20];
    // It may stop to read before the end.
    (0..LENGTH >> 20).try_for_each(|_| stdin.write_all(&blanks)).ok();
    drop(stdin);
    let line = refusal(&child.wait_with_output().unwrap());
    assert!(line.contains("not JSON: "), "{line}");
    assert!(start.elapsed() < Duration::from_secs(30), "{:?}", start.elapsed());
}
