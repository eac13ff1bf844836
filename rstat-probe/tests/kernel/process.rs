//! Programs with a time limit, and what they leave.

use std::{
    ffi::OsStr,
    fs::{self, File},
    io::{Read as _, Seek as _},
    os::unix::process::ExitStatusExt as _,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use rustix::process::{Pid, Signal, kill_process};

/// The binary under test.
pub(super) const TOOL: &str = env!("CARGO_BIN_EXE_rstat-probe");
/// What takes longer hangs.
pub(super) const LIMIT: Duration = Duration::from_secs(30);

/// The tool with these arguments.
pub(super) fn tool<A: AsRef<OsStr>>(arguments: impl IntoIterator<Item = A>) -> Command {
    let mut command = Command::new(TOOL);
    command.args(arguments).stdin(Stdio::null());
    command
}

/// Runs `command` to its end.
pub(super) fn finish(command: &mut Command) -> Finished {
    Running::start(command).wait(LIMIT)
}

/// A program that runs; killed when dropped.
pub(super) struct Running {
    pub(super) child: Child,
    out: File,
    err: File,
}

impl Running {
    /// Starts it with stdout and stderr in files.
    pub(super) fn start(command: &mut Command) -> Self {
        let out = tempfile::tempfile().unwrap();
        let stdout = Stdio::from(out.try_clone().unwrap());
        Self::start_with(command, stdout, out)
    }

    /// Starts it with this stdout.
    pub(super) fn start_onto(command: &mut Command, stdout: Stdio) -> Self {
        Self::start_with(command, stdout, tempfile::tempfile().unwrap())
    }

    fn start_with(command: &mut Command, stdout: Stdio, out: File) -> Self {
        let err = tempfile::tempfile().unwrap();
        let child = command.stdout(stdout).stderr(err.try_clone().unwrap()).spawn();
        let child = child.unwrap_or_else(|error| panic!("{command:?}: {error}"));
        Self { child, out, err }
    }

    pub(super) fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    pub(super) fn signal(&self, signal: Signal) {
        kill_process(self.pid(), signal).unwrap();
    }

    /// Waits until the tool's programs are attached and signals no longer kill it.
    pub(super) fn wait_attached(&mut self) {
        self.wait_for(|pid| open_files(pid, "anon_inode:bpf_link") >= 3 && catches_interrupts(pid));
    }

    /// Waits for something that `/proc` shows of the process with this id.
    pub(super) fn wait_for(&mut self, seen: impl Fn(u32) -> bool) {
        let begin = Instant::now();
        while !seen(self.child.id()) {
            if let Some(status) = self.child.try_wait().unwrap() {
                panic!("ended before it was ready: {status}: {}", text(&mut self.err));
            }
            assert!(begin.elapsed() < LIMIT, "not ready after {LIMIT:?}");
            thread::sleep(Duration::from_millis(1));
        }
    }

    /// Whether it ended.
    pub(super) fn has_ended(&mut self) -> bool {
        self.child.try_wait().unwrap().is_some()
    }

    /// Waits for its end, and panics when that takes longer than `limit`.
    pub(super) fn wait(mut self, limit: Duration) -> Finished {
        let begin = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            let told = || text(&mut self.err.try_clone().unwrap());
            assert!(begin.elapsed() < limit, "no end after {limit:?}: {}", told());
            thread::sleep(Duration::from_millis(2));
        };
        Finished {
            code: status.code(),
            signal: status.signal(),
            stdout: text(&mut self.out),
            stderr: text(&mut self.err),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a program left.
#[derive(Debug)]
pub(super) struct Finished {
    pub(super) code: Option<i32>,
    pub(super) signal: Option<i32>,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl Finished {
    /// Exit code 0, and not a word on stderr.
    pub(super) fn assert_success(&self) {
        assert_eq!((self.code, self.signal, self.stderr.as_str()), (Some(0), None, ""), "{}", self.stdout);
    }

    /// Exit code `code` and one line of error, which is returned.
    pub(super) fn assert_refused(&self, code: i32) -> &str {
        assert_eq!(self.code, Some(code), "{self:?}");
        assert_eq!(self.stderr.lines().count(), 1, "{}", self.stderr);
        self.stderr.trim_end()
    }
}

/// Open descriptors of a process that are links to `what`.
pub(super) fn open_files(pid: u32, what: &str) -> usize {
    let Ok(entries) = fs::read_dir(format!("/proc/{pid}/fd")) else { return 0 };
    let links = entries.flatten().filter_map(|entry| fs::read_link(entry.path()).ok());
    links.filter(|link| link.as_os_str() == what).count()
}

/// Whether a process has a handler for SIGINT.
fn catches_interrupts(pid: u32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 0b10 != 0)
}

fn text(file: &mut File) -> String {
    let mut bytes = Vec::new();
    file.rewind().unwrap();
    file.read_to_end(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes).into_owned()
}
