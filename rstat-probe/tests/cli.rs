//! The command line without privileges: help, refusals, `check` on the facts of other kernels,
//! `show`, `merge` and `compare`. Nothing here attaches to the kernel or needs root, and all of it
//! passes as root too.
//!
//! What users read is compared with the files in `cli/*/`. After an intended change:
//!
//! ```console
//! $ TRYCMD=overwrite cargo test -p rstat-probe --test cli
//! $ git diff rstat-probe/tests/cli
//! ```
//!
//! A new case is a `.trycmd` file with a fenced block, the command line after a `$` and `? 2` where
//! the exit code is not 0; the command above fills in the output. Where the fixtures come from is
//! in `fixtures/README.md`.
#![expect(clippy::unwrap_used, reason = "a panic is how a test reports")]

#[path = "cli/compare/mod.rs"]
mod compare;
#[path = "cli/damage.rs"]
mod damage;
#[path = "cli/facts.rs"]
mod facts;
#[path = "cli/foreign.rs"]
mod foreign;
#[path = "cli/formats.rs"]
mod formats;
#[path = "cli/goldens.rs"]
mod goldens;
#[path = "cli/kernels.rs"]
mod kernels;
#[path = "cli/large_input.rs"]
mod large_input;
#[path = "cli/merge.rs"]
mod merge;
#[path = "cli/refusals.rs"]
mod refusals;

use std::{path::Path, process::Output, time::Duration};

use assert_cmd::Command;

/// Exit code of whatever is refused.
const REFUSED: i32 = 2;

/// What hangs is to fail.
const TIMEOUT: Duration = Duration::from_mins(1);

/// The program, run where the paths in the goldens start.
fn tool() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rstat-probe"));
    command.current_dir(env!("CARGO_MANIFEST_DIR")).env("NO_COLOR", "1").timeout(TIMEOUT);
    command
}

/// The text of a recording in the fixtures.
fn recording(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/recordings").join(name);
    std::fs::read_to_string(path).unwrap()
}

/// The one line that a command printed when it refused: exit code 2, nothing on stdout, one line
/// on stderr that begins with `error: `. Returns what comes after that.
#[track_caller]
fn refusal(output: &Output) -> String {
    assert_eq!(text(&output.stdout), "", "stdout is for data; {output:?}");
    error_line(output)
}

/// As [`refusal`], with data allowed on stdout.
#[track_caller]
fn error_line(output: &Output) -> String {
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(REFUSED), "{output:?}");
    let line = stderr.strip_suffix('\n').unwrap_or_else(|| panic!("no whole line: {output:?}"));
    assert!(!line.contains(['\n', '\r']), "more than a line: {stderr}");
    assert_repeats_nothing(line);
    line.strip_prefix("error: ").unwrap_or_else(|| panic!("no error: {line}")).to_owned()
}

/// Chains of causes tend to say the same twice: `x: Is a directory: Is a directory`.
#[track_caller]
fn assert_repeats_nothing(line: &str) {
    let parts: Vec<&str> = line.split(": ").collect();
    assert!(parts.windows(2).all(|pair| pair[0] != pair[1]), "says it twice: {line}");
}

/// What is in a folder, by name.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[track_caller]
fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}
