//! Runs a test command with its output on this terminal at once, and remembers what a summary needs.

use std::{
    io::{self, Read, Write},
    process::{Command, ExitStatus, Stdio},
    thread,
};

use anyhow::{Context as _, Result, anyhow};

/// What a test command said.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Notes {
    /// Tests passed, from the closing lines of all test binaries.
    pub(crate) passed: u64,
    /// The text after `SKIPPED:` of each such line.
    pub(crate) skipped: Vec<String>,
}

impl Notes {
    fn read_line(&mut self, line: &str) {
        if let Some(counts) = line.strip_prefix("test result: ") {
            self.passed += passed(counts);
        }
        if let Some(reason) = skipped(line) {
            self.skipped.push(reason.to_owned());
        }
    }
}

/// Runs to the end; both streams are passed on as they come.
pub(crate) fn run(command: &mut Command) -> Result<(ExitStatus, Notes)> {
    run_into(command, io::stdout(), io::stderr())
}

fn run_into(
    command: &mut Command,
    out: impl Write,
    err: impl Write + Send + 'static,
) -> Result<(ExitStatus, Notes)> {
    let mut child =
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().context("cannot start the tests")?;
    let errors = child.stderr.take().map(|stderr| thread::spawn(move || pass_on(stderr, err)));
    let mut notes = match child.stdout.take() {
        Some(stdout) => pass_on(stdout, out)?,
        None => Notes::default(),
    };
    if let Some(errors) = errors {
        let said = errors.join().map_err(|_| anyhow!("the thread that passes stderr on panicked"))??;
        notes.skipped.extend(said.skipped);
    }
    Ok((child.wait()?, notes))
}

/// Copies bytes as they come (a running test's half line too) and reads the complete lines.
fn pass_on(mut from: impl Read, mut to: impl Write) -> Result<Notes> {
    let mut notes = Notes::default();
    let mut line = Vec::new();
    let mut buffer = [0; 8192];
    loop {
        let length = match from.read(&mut buffer) {
            Ok(0) => break,
            Ok(length) => length,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error).context("reading the tests' output"),
        };
        // A closed terminal must not stop the tests: their pipe is drained all the same.
        let _ = to.write_all(&buffer[..length]).and_then(|()| to.flush());
        for byte in &buffer[..length] {
            if *byte == b'\n' {
                notes.read_line(&String::from_utf8_lossy(&line));
                line.clear();
            } else {
                line.push(*byte);
            }
        }
    }
    notes.read_line(&String::from_utf8_lossy(&line));
    Ok(notes)
}

/// `ok. 12 passed; 0 failed; ...` of libtest's closing line.
fn passed(counts: &str) -> u64 {
    let words: Vec<&str> = counts.split_whitespace().collect();
    let count = words.windows(2).find(|pair| pair[1] == "passed;").and_then(|pair| pair[0].parse().ok());
    count.unwrap_or(0)
}

/// The reason in a `SKIPPED:` line. With --nocapture libtest's `test NAME ... ` stands before it.
fn skipped(line: &str) -> Option<&str> {
    let said = if line.starts_with("test ") {
        line.split_once(" ... ").map_or(line, |(_, said)| said)
    } else {
        line
    };
    said.strip_prefix("SKIPPED:").map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_lines_add_up() {
        let output = "running 2 tests\ntest a ... ok\n\ntest result: ok. 2 passed; 0 failed; 1 ignored\n\
            test result: FAILED. 40 passed; 1 failed; 0 ignored";
        let mut copy = Vec::new();
        let notes = pass_on(output.as_bytes(), &mut copy).unwrap();
        assert_eq!(notes, Notes { passed: 42, skipped: vec![] });
        assert_eq!(copy, output.as_bytes());
    }

    #[test]
    fn skipped_lines() {
        assert_eq!(skipped("SKIPPED: no perf"), Some("no perf"));
        assert_eq!(skipped("test kernel::truth ... SKIPPED: no perf"), Some("no perf"));
        assert_eq!(skipped("test kernel::truth ... ok"), None);
        assert_eq!(skipped("nothing was SKIPPED: here"), None);
    }

    #[test]
    fn both_streams_and_the_exit() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo SKIPPED: one; echo SKIPPED: two >&2; printf 'no newline'; exit 3"]);
        let (status, notes) = run_into(&mut command, io::sink(), io::sink()).unwrap();
        assert_eq!(status.code(), Some(3));
        assert_eq!(notes.skipped, ["one", "two"]);
    }
}
