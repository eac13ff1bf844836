//! Child processes of the loads: started through this program itself, heard and spoken to through pipes, never left
//! behind.
//!
//! Processes, because on cgroup v2 a single thread cannot join another cgroup and the measuring process must not.
//! A worker joins its cgroups itself, says on stdout that it is in place or why it cannot be, works until its stdin
//! is closed, and says then what it did. It dies with the thread that started it.

use std::ffi::{CStr, OsString};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
use rustix::thread::set_name;
use rustix::time::Timespec;

use super::charger::{ChargerArgs, charger_main};
use super::dirtier::{DirtierArgs, dirtier_main};
use super::hog::{HogArgs, hog_main};
use super::sendfile_worker::{ClientArgs, ServerArgs, client_main, server_main};

/// First argument of a worker's command line. `main` looks for it before anything else, so that starting hundreds
/// of workers costs little.
pub(crate) const WORKER: &str = "load-worker";
/// The line a worker writes when it is in place.
const READY: &str = "ready";
/// Before the reason when a worker cannot get in place or go on.
const FAILED: &str = "failed: ";
/// Before the figures of a worker, when it ends.
const DONE: &str = "done";
/// How long a worker may take to end by itself before it is killed.
const END_WITHIN: Duration = Duration::from_secs(1);
/// Files that a running worker takes in this process: its two pipes.
pub(super) const FILES_EACH: u64 = 2;
/// How much longer when many end at once, on emulated CPUs too.
const END_EACH: Duration = Duration::from_millis(20);
/// The environment variable that carries the command line when the test program is the worker.
#[cfg(test)]
const TEST_LINE: &str = "RSTAT_PROBE_TEST_WORKER";

/// What a process can be started as.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum WorkerCommand {
    Dirtier(DirtierArgs),
    Hog(HogArgs),
    Server(ServerArgs),
    Client(ClientArgs),
    Charger(ChargerArgs),
}

#[derive(Debug, clap::Parser)]
struct WorkerLine {
    #[command(subcommand)]
    command: WorkerCommand,
}

/// Body of a worker: what `main` does when the first argument is [`WORKER`]. `line` begins with that argument.
pub(crate) fn worker_main(line: impl Iterator<Item = OsString>) -> anyhow::Result<()> {
    let WorkerLine { command } = clap::Parser::parse_from(line);
    match command {
        WorkerCommand::Dirtier(args) => dirtier_main(&args),
        WorkerCommand::Hog(args) => hog_main(&args),
        WorkerCommand::Server(args) => server_main(&args),
        WorkerCommand::Client(args) => client_main(&args),
        WorkerCommand::Charger(args) => charger_main(&args),
    }
}

/// Arguments that all workers have.
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub(crate) struct Home {
    /// The `cgroup.procs` files of the cgroups to join, one for each hierarchy.
    #[arg(long, value_name = "FILE")]
    procs: Vec<PathBuf>,
    /// Pid of the load that started this process.
    #[arg(long, value_name = "PID")]
    parent: u32,
}

impl Home {
    /// In these cgroups, as a child of this process.
    pub(super) fn in_cgroups<'a>(cgroups: impl IntoIterator<Item = &'a Path>) -> Self {
        let procs = cgroups.into_iter().map(|cgroup| cgroup.join("cgroup.procs")).collect();
        Self { procs, parent: std::process::id() }
    }

    fn words(&self) -> Vec<OsString> {
        let procs = self.procs.iter().flat_map(|procs| ["--procs".into(), procs.clone().into()]);
        procs.chain(["--parent".into(), self.parent.to_string().into()]).collect()
    }

    /// Ties this process to its parent, names it, and joins the cgroups.
    pub(super) fn enter(&self, name: &CStr) -> anyhow::Result<()> {
        set_parent_process_death_signal(Some(Signal::KILL)).context("cannot tie a process to its load")?;
        // A parent that died before the call above sends nothing any more.
        let parent = getppid().map(Pid::as_raw_pid);
        anyhow::ensure!(
            parent == i32::try_from(self.parent).ok(),
            "the load that started the process is gone"
        );
        // Only cosmetic: started through /proc/self/exe it would be called `exe`.
        let _ = set_name(name);
        for procs in &self.procs {
            let pid = std::process::id().to_string();
            std::fs::write(procs, pid)
                .with_context(|| format!("cannot join the cgroup through {}", procs.display()))?;
        }
        Ok(())
    }
}

/// The arguments of a kind of worker.
pub(super) trait Worker: clap::Args {
    /// The name of its command, as clap derives it from [`WorkerCommand`].
    const NAME: &'static str;

    /// Where it lives.
    fn home(&self) -> &Home;

    /// The words of all other arguments.
    fn words(&self) -> Vec<OsString>;

    /// The command line that parses to this value, without the program.
    fn line(&self) -> Vec<OsString> {
        let mut line = vec![WORKER.into(), Self::NAME.into()];
        line.extend(self.home().words());
        line.extend(self.words());
        line
    }
}

/// What a worker does between its start and its end. `enter` must join the cgroups; `work` gives the figures.
///
/// Every failure is told to the parent on stdout, which puts it into its own error.
pub(super) fn serve<T>(
    enter: impl FnOnce() -> anyhow::Result<T>,
    work: impl FnOnce(T) -> anyhow::Result<Vec<u64>>,
) -> anyhow::Result<()> {
    let done = enter().and_then(|entered| {
        writeln!(io::stdout(), "{READY}")?;
        work(entered)
    });
    match done {
        Ok(figures) => {
            let figures: Vec<String> = figures.iter().map(u64::to_string).collect();
            writeln!(io::stdout(), "{DONE} {}", figures.join(" "))?;
        }
        Err(error) => writeln!(io::stdout(), "{FAILED}{error:#}")?,
    }
    Ok(())
}

/// In a worker: waits; true as soon as `pipe`, its stdin, has no writer any more.
pub(super) fn closed(pipe: impl AsFd, wait: Duration) -> anyhow::Result<bool> {
    let timeout = Timespec::try_from(wait).context("the pause is too long")?;
    let mut fds = [PollFd::new(&pipe, PollFlags::empty())];
    match poll(&mut fds, Some(&timeout)) {
        Ok(ready) => Ok(ready > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error).context("cannot wait for the end of the load"),
    }
}

/// In a worker: waits for [`Running::go`]; false when the load ended before.
pub(super) fn wait_for_go() -> anyhow::Result<bool> {
    let mut byte = [0];
    let length = io::stdin().read(&mut byte).context("cannot wait for the begin of the load")?;
    Ok(length > 0)
}

/// A worker. Dropping it kills it and waits for it.
#[derive(Debug)]
pub(super) struct Running {
    child: Child,
    output: BufReader<ChildStdout>,
}

impl Running {
    /// Starts a worker. The calling thread must stay alive as long as it: the kernel kills it when the thread ends.
    pub(super) fn start<W: Worker>(worker: &W) -> anyhow::Result<Self> {
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
    pub(super) fn wait_until_ready(&mut self) -> anyhow::Result<()> {
        self.hear(READY).map(drop)
    }

    /// Waits for a line that begins with `word`; gives what comes after it.
    pub(super) fn hear(&mut self, word: &str) -> anyhow::Result<String> {
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
    pub(super) fn go(&mut self) {
        if let Some(stdin) = &mut self.child.stdin {
            let _ = stdin.write_all(b"g");
        }
    }

    /// Tells a worker that listens a line. One that is dead notices nothing.
    pub(super) fn tell(&mut self, line: &str) {
        if let Some(stdin) = &mut self.child.stdin {
            let _ = stdin.write_all(format!("{line}\n").as_bytes());
        }
    }

    /// Tells the worker to end.
    pub(super) fn tell_end(&mut self) {
        drop(self.child.stdin.take());
    }

    /// The figures of a worker that was told to end; `None` when it had none by `deadline` and was killed.
    pub(super) fn figures(&mut self, deadline: Instant) -> Option<Vec<u64>> {
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

    /// Its output: has no writer any more, which `poll` tells, when the worker has ended.
    pub(super) fn output(&self) -> BorrowedFd<'_> {
        self.output.get_ref().as_fd()
    }

    /// Waits for a worker that has ended or is ending: how it ended and what it had said until then.
    pub(super) fn end(&mut self) -> anyhow::Result<(ExitStatus, Said)> {
        let status = self.child.wait().context("cannot wait for a process of the load")?;
        let mut output = String::new();
        let _ = self.output.read_to_string(&mut output);
        let failed = output.lines().find_map(|line| Some(line.split_once(FAILED)?.1.to_owned()));
        let ready = output.lines().any(|line| line.ends_with(READY));
        Ok((status, failed.map_or(if ready { Said::Ready } else { Said::Nothing }, Said::Failed)))
    }

    /// Kills it without waiting for it.
    pub(super) fn kill(&mut self) {
        let _ = self.child.kill();
    }

    /// Whether it has ended.
    pub(super) fn has_ended(&mut self) -> bool {
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
pub(super) enum Said {
    /// It was not in place.
    Nothing,
    /// It was in place.
    Ready,
    /// Why it could not go on.
    Failed(String),
}

/// Workers of one load; dropping them kills all and waits for them.
#[derive(Debug, Default)]
pub(super) struct Crew(Vec<Running>);

impl Crew {
    /// Starts them side by side and waits until all are in their cgroups. See [`Running::start`].
    pub(super) fn start<W: Worker>(workers: &[W]) -> anyhow::Result<Self> {
        let mut crew = Self::default();
        for worker in workers {
            crew.push(Running::start(worker)?);
        }
        crew.wait_until_ready()?;
        Ok(crew)
    }

    /// Takes in one more.
    pub(super) fn push(&mut self, running: Running) {
        self.0.push(running);
    }

    /// Waits until all are in their cgroups.
    pub(super) fn wait_until_ready(&mut self) -> anyhow::Result<()> {
        self.0.iter_mut().try_for_each(Running::wait_until_ready)
    }

    /// Each of them.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Running> {
        self.0.iter_mut()
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Tells each a line.
    pub(super) fn tell(&mut self, line: &str) {
        self.0.iter_mut().for_each(|running| running.tell(line));
    }

    /// Why one of them has ended, if one has, which none does unless something is wrong.
    pub(super) fn why_lost(&mut self) -> Option<String> {
        let at = self.0.iter_mut().position(Running::has_ended)?;
        let lost = &mut self.0[at];
        let why = match lost.end() {
            Ok((_, Said::Failed(reason))) => reason,
            Ok((status, _)) => status.to_string(),
            Err(error) => format!("{error:#}"),
        };
        Some(format!("a process of the load ended before its time: {why}"))
    }

    /// Ends all of them and gives the figures of each. Nothing fails here: what does not end is killed and has none.
    pub(super) fn stop(mut self) -> Vec<Option<Vec<u64>>> {
        self.0.iter_mut().for_each(Running::tell_end);
        let each = END_EACH.saturating_mul(u32::try_from(self.0.len()).unwrap_or(u32::MAX));
        let deadline = Instant::now() + END_WITHIN + each;
        self.0.iter_mut().map(|running| running.figures(deadline)).collect()
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        // All first, so that they end side by side.
        self.0.iter_mut().for_each(Running::kill);
    }
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
    let name = format!("{}::worker::tests::worker_process", super::tests::module_path_in_tests());
    let mut command = Command::new("/proc/self/exe");
    command.args(["--exact", "--ignored", "--nocapture", &name]).env(TEST_LINE, line.join("\n"));
    command
}

#[cfg(test)]
pub(super) mod tests {
    use clap::Parser as _;

    use super::*;

    /// What the command line of a worker parses to.
    pub(in crate::load) fn parsed(worker: &impl Worker) -> WorkerCommand {
        WorkerLine::try_parse_from(worker.line()).unwrap().command
    }

    #[test]
    fn the_reason_of_a_worker_that_cannot_join_arrives() {
        let home = Home::in_cgroups([Path::new("/nonexistent")]);
        let error = Crew::start(&[DirtierArgs::new(home, vec![], 1)]).unwrap_err();
        let text = format!("{error:#}");
        assert!(
            text.starts_with("cannot join the cgroup through /nonexistent/cgroup.procs: No such file"),
            "{text}"
        );
    }

    /// Not a test: the process that tests start as a worker, because the test program has no commands.
    #[test]
    #[ignore = "the body of a child process that other tests start"]
    fn worker_process() {
        let Ok(line) = std::env::var(TEST_LINE) else { return };
        worker_main(line.split('\n').map(OsString::from)).unwrap();
    }
}
