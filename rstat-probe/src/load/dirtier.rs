//! Keeps the statistics of a cgroup dirty: child processes inside it that allocate and free pages on every CPU.
//!
//! Processes, because on cgroup v2 a single thread cannot join another cgroup and the measuring process must not.
//! Pages of a memory file, because one system call allocates and one frees a whole burst: the counters move without
//! page faults and TLB shootdowns, whose interrupts would disturb the other CPUs that are being measured.

use std::ffi::OsString;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::Context;
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{FallocateFlags, MemfdFlags, fallocate, fstatfs, ftruncate, memfd_create};
use rustix::process::{Pid, Signal, getppid, set_parent_process_death_signal};
use rustix::thread::{CpuSet, sched_setaffinity, set_name};
use rustix::time::{ClockId, Timespec, clock_gettime};

/// Pages a burst allocates and frees. Each moves several counters, so that one burst passes the 64 updates which a
/// CPU keeps to itself, and all CPUs together pass the 64 per CPU below which a `memory.stat` read does not flush.
const BURST_PAGES: u64 = 64;
/// From the start of one burst to the start of the next. With a burst of some 80 us this is 4 % of each CPU.
const INTERVAL: Duration = Duration::from_millis(2);
/// The line a dirtier writes when it is in place.
pub(super) const READY: &str = "ready";
/// Before the reason when a dirtier cannot get in place.
pub(super) const FAILED: &str = "failed: ";
/// Before the number of pages a dirtier allocated, when it ends.
pub(super) const DIRTIED: &str = "dirtied ";

/// Arguments of the hidden command that [`dirtier_main`] serves.
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub(crate) struct DirtierArgs {
    /// The `cgroup.procs` file of the cgroup to join.
    #[arg(long, value_name = "FILE")]
    pub(super) procs: PathBuf,
    /// Pid of the load that started this process.
    #[arg(long, value_name = "PID")]
    pub(super) parent: u32,
    /// CPUs to visit one after the other; empty: wherever the scheduler likes.
    #[arg(long, value_name = "CPU,...", value_delimiter = ',', num_args = 0..)]
    pub(super) cpus: Vec<usize>,
    /// How many dirtiers there are: together they use one CPU's time at most.
    #[arg(long, value_name = "N")]
    pub(super) of: u32,
}

impl DirtierArgs {
    /// The command line that parses to this value.
    pub(super) fn command_line(&self) -> Vec<OsString> {
        let mut line: Vec<OsString> = vec!["--procs".into(), self.procs.clone().into()];
        line.extend(["--parent".into(), self.parent.to_string().into()]);
        line.extend(["--of".into(), self.of.to_string().into()]);
        if !self.cpus.is_empty() {
            let cpus: Vec<String> = self.cpus.iter().map(usize::to_string).collect();
            line.extend(["--cpus".into(), cpus.join(",").into()]);
        }
        line
    }
}

/// Body of a dirtier process: joins the cgroup, says so on stdout, works until stdin closes, says how much it did.
///
/// Every failure is told to the parent on stdout, which puts it into its own error. It ends with its parent.
pub(crate) fn dirtier_main(args: &DirtierArgs) -> anyhow::Result<()> {
    match Dirtier::enter(args) {
        Ok(dirtier) => {
            writeln!(io::stdout(), "{READY}")?;
            let pages = dirtier.work(io::stdin().as_fd())?;
            writeln!(io::stdout(), "{DIRTIED}{pages}")?;
        }
        Err(error) => writeln!(io::stdout(), "{FAILED}{error:#}")?,
    }
    Ok(())
}

/// A process that is in its cgroup.
struct Dirtier {
    memory: OwnedFd,
    page_size: u64,
    cpus: Vec<usize>,
    of: u32,
}

impl Dirtier {
    fn enter(args: &DirtierArgs) -> anyhow::Result<Self> {
        set_parent_process_death_signal(Some(Signal::KILL)).context("cannot tie the dirtier to its load")?;
        // A parent that died before the call above sends nothing any more.
        let parent = getppid().map(Pid::as_raw_pid);
        anyhow::ensure!(
            parent == i32::try_from(args.parent).ok(),
            "the load that started the dirtier is gone"
        );
        // Only cosmetic: started through /proc/self/exe it would be called `exe`.
        let _ = set_name(c"rstat-dirtier");
        // Woken for a moment every other millisecond, it must not queue behind all readers of its CPU each time.
        super::priority::raise();
        join(&args.procs)?;
        // Made after joining, so that even the file itself is charged to the cgroup.
        let memory = memfd_create("rstat-dirt", MemfdFlags::CLOEXEC).context("cannot make a memory file")?;
        // Of the file system, not of the file: the latter can be that of a huge page.
        let page_size = fstatfs(&memory).context("cannot ask for the page size")?.f_bsize;
        let page_size = u64::try_from(page_size).context("the page size makes no sense")?;
        Ok(Self { memory, page_size, cpus: args.cpus.clone(), of: args.of })
    }

    /// Allocates and frees until `until_closed` has no writer any more; gives the number of pages allocated.
    fn work(&self, until_closed: impl AsFd) -> anyhow::Result<u64> {
        let mut pages = 0;
        let mut round = 0;
        loop {
            self.visit(round);
            let (start, cpu_start) = (Instant::now(), thread_cpu_time());
            pages += self.burst()?;
            let cpu_time = thread_cpu_time().saturating_sub(cpu_start);
            if closed(&until_closed, pause(start.elapsed(), cpu_time, self.of))? {
                return Ok(pages);
            }
            round += 1;
        }
    }

    /// Moves to the next CPU of the list. A CPU that went away is no reason to stop: the others remain.
    fn visit(&self, round: usize) {
        if self.cpus.is_empty() || (self.cpus.len() == 1 && round > 0) {
            return;
        }
        let cpu = self.cpus[round % self.cpus.len()];
        if cpu < CpuSet::MAX_CPU {
            let mut set = CpuSet::new();
            set.set(cpu);
            let _ = sched_setaffinity(None, &set);
        }
    }

    fn burst(&self) -> anyhow::Result<u64> {
        // At the cgroup's memory limit the allocation fails or is cut short by reclaim: that moves counters as well.
        let length = BURST_PAGES * self.page_size;
        let allocated = fallocate(&self.memory, FallocateFlags::empty(), 0, length);
        ftruncate(&self.memory, 0).context("cannot free the pages of the memory file")?;
        Ok(if allocated.is_ok() { BURST_PAGES } else { 0 })
    }
}

/// Moves this process into the cgroup of a `cgroup.procs` file.
fn join(procs: &Path) -> anyhow::Result<()> {
    let pid = std::process::id().to_string();
    std::fs::write(procs, pid).with_context(|| format!("cannot join the cgroup through {}", procs.display()))
}

/// How long to rest after a burst that took this much wall and CPU time, for one of `of` dirtiers.
fn pause(elapsed: Duration, cpu_time: Duration, of: u32) -> Duration {
    let for_interval = INTERVAL.saturating_sub(elapsed);
    // At least as long as it worked: a burst is slow when the cgroup is at its memory limit.
    let for_share = cpu_time.saturating_mul(of.saturating_sub(1).max(1));
    for_interval.max(for_share)
}

/// CPU time this thread has used.
fn thread_cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

/// Waits; true as soon as `pipe` has no writer any more.
fn closed(pipe: impl AsFd, wait: Duration) -> anyhow::Result<bool> {
    let timeout = Timespec::try_from(wait).context("the pause is too long")?;
    let mut fds = [PollFd::new(&pipe, PollFlags::empty())];
    match poll(&mut fds, Some(&timeout)) {
        Ok(ready) => Ok(ready > 0),
        Err(rustix::io::Errno::INTR) => Ok(false),
        Err(error) => Err(error).context("cannot wait for the end of the load"),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Cli {
        #[command(flatten)]
        args: DirtierArgs,
    }

    #[test]
    fn the_command_line_parses_to_what_it_was_made_from() {
        for cpus in [vec![], vec![3], vec![0, 128, 256]] {
            let args = DirtierArgs { procs: "/a b/cgroup.procs".into(), parent: 77, cpus, of: 128 };
            let line = std::iter::once("x".into()).chain(args.command_line());
            assert_eq!(Cli::try_parse_from(line).unwrap().args, args);
        }
    }

    #[test]
    fn all_dirtiers_together_use_one_cpu_at_most() {
        let us = Duration::from_micros;
        assert_eq!(pause(us(80), us(80), 1), us(1920));
        assert_eq!(pause(us(80), us(80), 2), us(1920));
        assert_eq!(pause(us(80), us(80), 101), us(8000));
        assert_eq!(pause(us(9000), us(5000), 1), us(5000));
        assert_eq!(pause(us(9000), Duration::ZERO, 1), Duration::ZERO);
    }

    /// Not a test: the process that tests start as a dirtier, because the test program has no commands.
    #[test]
    #[ignore = "the body of a child process that other tests start"]
    fn dirtier_process() {
        let Ok(line) = std::env::var(super::super::dirtiers::TEST_LINE) else { return };
        let line = std::iter::once("x").chain(line.split('\n'));
        dirtier_main(&Cli::try_parse_from(line).unwrap().args).unwrap();
    }
}
