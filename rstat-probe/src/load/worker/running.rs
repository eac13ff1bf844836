//! One child process, seen from the load that started it.

use std::io::{BufRead, BufReader, Read, Write};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use super::{DONE, FAILED, READY, Worker};

/// A worker. Dropping it kills it and waits for it.
#[derive(Debug)]
pub(in crate::load) struct Running {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Running {
    /// Starts a worker. The calling thread must stay alive as long as it: the kernel kills it when the thread ends.
    pub(in crate::load) fn start<W: Worker>(worker: &W) -> anyhow::Result<Self> {
        use std::os::unix::process::CommandExt as _;

        let mut child = command(worker)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::inherit())
            // Ctrl-C is for the load: it ends its workers itself and asks them what they did.
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot start a {} process", W::NAME))?;
        match child.stdout.take() {
            Some(output) => Ok(Self { child, output: BufReader::new(output) }),
            None => bail!("a {} process has no output", W::NAME),
        }
    }

    /// Waits until the worker is in its cgroups.
    pub(in crate::load) fn wait_until_ready(&mut self) -> anyhow::Result<()> {
        self.hear(READY).map(drop)
    }

    /// Waits for a line that begins with `word`; gives what comes after it.
    pub(in crate::load) fn hear(&mut self, word: &str) -> anyhow::Result<String> {
        let mut line = String::new();
        loop {
            line.clear();
            let length = self.output.read_line(&mut line).context("cannot hear a process of the load")?;
            if let Some((_, reason)) = line.trim_end().split_once(FAILED) {
                bail!("{reason}");
            }
            // Not only at its beginning, because the test program prints something of its own first.
            if let Some((_, rest)) = line.trim_end().rsplit_once(word) {
                return Ok(rest.to_owned());
            }
            if length == 0 {
                bail!("a process of the load ended at once");
            }
        }
    }

    /// Lets a worker that waits for it begin. One that is dead notices nothing.
    pub(in crate::load) fn go(&mut self) {
        if let Some(stdin) = &mut self.child.stdin {
            let _ = stdin.write_all(b"g");
        }
    }

    /// Tells a worker that listens a line. One that is dead notices nothing.
    pub(in crate::load) fn tell(&mut self, line: &str) {
        if let Some(stdin) = &mut self.child.stdin {
            let _ = stdin.write_all(format!("{line}\n").as_bytes());
        }
    }

    /// Tells the worker to end.
    pub(in crate::load) fn tell_end(&mut self) {
        drop(self.child.stdin.take());
    }

    /// The figures of a worker that was told to end; `None` when it had none by `deadline` and was killed.
    pub(in crate::load) fn figures(&mut self, deadline: Instant) -> Option<Vec<u64>> {
        while matches!(self.child.try_wait(), Ok(None)) {
            if Instant::now() >= deadline {
                let _ = self.child.kill();
                let _ = self.child.wait();
                return None;
            }
            thread::sleep(Duration::from_millis(1));
        }
        let mut output = String::new();
        let _ = self.output.read_to_string(&mut output);
        let figures = output.lines().find_map(|line| line.strip_prefix(DONE))?;
        figures.split_whitespace().map(|word| word.parse().ok()).collect()
    }

    /// Waits for a worker that has ended or is ending: how it ended and what it had said until then.
    pub(in crate::load) fn end(&mut self) -> anyhow::Result<(ExitStatus, Said)> {
        let status = self.child.wait().context("cannot wait for a process of the load")?;
        let mut output = String::new();
        let _ = self.output.read_to_string(&mut output);
        let failed = output.lines().find_map(|line| Some(line.split_once(FAILED)?.1.to_owned()));
        let ready = output.lines().any(|line| line.ends_with(READY));
        Ok((status, failed.map_or(if ready { Said::Ready } else { Said::Nothing }, Said::Failed)))
    }

    /// Kills it without waiting for it.
    pub(in crate::load) fn kill(&mut self) {
        let _ = self.child.kill();
    }

    /// Whether it has ended.
    pub(in crate::load) fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What a worker had said when it ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in crate::load) enum Said {
    /// It was not in place.
    Nothing,
    /// It was in place.
    Ready,
    /// Why it could not go on.
    Failed(String),
}

/// This program again, as a worker.
#[cfg(not(test))]
fn command(worker: &impl Worker) -> Command {
    use std::os::unix::process::CommandExt as _;

    // Not the path of the program: it may have been replaced or removed meanwhile.
    let mut command = Command::new("/proc/self/exe");
    command.arg0("rstat-probe").args(worker.line());
    command
}

/// The test program again, at the ignored test that is a worker's body.
#[cfg(test)]
fn command(worker: &impl Worker) -> Command {
    let line: Vec<_> = worker.line().into_iter().map(|word| word.into_string().unwrap()).collect();
    let name = format!("{}::worker::tests::worker_process", super::super::tests::module_path_in_tests());
    let mut command = Command::new("/proc/self/exe");
    command.args(["--exact", "--ignored", "--nocapture", &name]).env(super::TEST_LINE, line.join("\n"));
    command
}
