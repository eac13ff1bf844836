//! Child processes of the loads: started through this program itself, heard and spoken to through pipes, never left
//! behind.
//!
//! Processes, because on cgroup v2 a single thread cannot join another cgroup and the measuring process must not.
//! A worker joins its cgroups itself, says on stdout that it is in place or why it cannot be, works until its stdin
//! is closed, and says then what it did. It dies with the thread that started it.

mod crew;
mod running;

use std::ffi::{CStr, OsString};
use std::io::{self, Read, Write};
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
use rustix::thread::set_name;
use rustix::time::Timespec;

use super::charger::{ChargerArgs, charger_main};
use super::dirtier::{DirtierArgs, dirtier_main};
use super::hogs::{SpawnerArgs, spawner_main};
use super::sendfile_worker::{ClientArgs, ServerArgs, client_main, server_main};

pub(super) use self::crew::Crew;
pub(super) use self::running::{Running, Said};

/// First argument of a worker's command line. `main` looks for it before anything else, so that starting hundreds
/// of workers costs little.
pub(crate) const WORKER: &str = "load-worker";
/// The line a worker writes when it is in place.
const READY: &str = "ready";
/// Before the reason when a worker cannot get in place or go on.
const FAILED: &str = "failed: ";
/// Before the figures of a worker, when it ends.
const DONE: &str = "done";
/// Files that a running worker takes in this process: its two pipes.
pub(super) const FILES_EACH: u64 = 2;
/// The environment variable that carries the command line when the test program is the worker.
#[cfg(test)]
const TEST_LINE: &str = "RSTAT_PROBE_TEST_WORKER";

/// What a process can be started as.
#[derive(Debug, clap::Subcommand)]
pub(crate) enum WorkerCommand {
    Dirtier(DirtierArgs),
    Spawner(SpawnerArgs),
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
        WorkerCommand::Spawner(args) => spawner_main(&args),
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
        tie_to(self.parent)?;
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

/// Lets the kernel kill this process when its parent, which must be `parent`, ends.
pub(super) fn tie_to(parent: u32) -> anyhow::Result<()> {
    set_parent_process_death_signal(Some(Signal::KILL)).context("cannot tie a process to its load")?;
    // A parent that died before the call above sends nothing any more.
    let now = getppid().map(Pid::as_raw_pid);
    anyhow::ensure!(now == i32::try_from(parent).ok(), "the load that started the process is gone");
    Ok(())
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
        Err(error) => tell_failure(&error)?,
    }
    Ok(())
}

/// In a worker: tells the parent why it cannot go on.
pub(super) fn tell_failure(error: &anyhow::Error) -> io::Result<()> {
    writeln!(io::stdout(), "{FAILED}{error:#}")
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
