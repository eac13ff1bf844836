//! Keeps the statistics of a cgroup dirty: child processes inside it that allocate and free pages on every CPU.
//!
//! Pages of a memory file, because one system call allocates and one frees a whole burst: the counters move without
//! page faults and TLB shootdowns, whose interrupts would disturb the other CPUs that are being measured.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use anyhow::Context;
use rustix::fs::{FallocateFlags, MemfdFlags, fallocate, fstatfs, ftruncate, memfd_create};
use rustix::thread::{CpuSet, sched_setaffinity};
use rustix::time::{ClockId, clock_gettime};

use super::worker::{Home, Worker, closed, serve};

/// Pages a burst allocates and frees. Each moves several counters, so that one burst passes the 64 updates which a
/// CPU keeps to itself, and all CPUs together pass the 64 per CPU below which a `memory.stat` read does not flush.
const BURST_PAGES: u64 = 64;
/// From the start of one burst to the start of the next. With a burst of some 80 us this is 4 % of each CPU.
const INTERVAL: Duration = Duration::from_millis(2);
/// Arguments of a dirtier.
#[derive(Debug, Clone, PartialEq, Eq, clap::Args)]
pub(crate) struct DirtierArgs {
    #[command(flatten)]
    home: Home,
    /// CPUs to visit one after the other; empty: wherever the scheduler likes.
    #[arg(long, value_name = "CPU,...", value_delimiter = ',', num_args = 0..)]
    pub(super) cpus: Vec<usize>,
    /// How many dirtiers there are: together they use one CPU's time at most.
    #[arg(long, value_name = "N")]
    pub(super) of: u32,
}

impl DirtierArgs {
    /// One of `of` dirtiers.
    pub(super) fn new(home: Home, cpus: Vec<usize>, of: u32) -> Self {
        Self { home, cpus, of }
    }
}

impl Worker for DirtierArgs {
    const NAME: &'static str = "dirtier";

    fn home(&self) -> &Home {
        &self.home
    }

    fn words(&self) -> Vec<OsString> {
        let mut words: Vec<OsString> = vec!["--of".into(), self.of.to_string().into()];
        if !self.cpus.is_empty() {
            let cpus: Vec<String> = self.cpus.iter().map(usize::to_string).collect();
            words.extend(["--cpus".into(), cpus.join(",").into()]);
        }
        words
    }
}

/// Body of a dirtier process; its only figure is the number of pages it allocated.
pub(crate) fn dirtier_main(args: &DirtierArgs) -> anyhow::Result<()> {
    serve(|| Dirtier::enter(args), |dirtier| Ok(vec![dirtier.work(io::stdin().as_fd())?]))
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
        // Woken for a moment every other millisecond, it must not queue behind all readers of its CPU each time.
        super::priority::raise();
        args.home.enter(c"rstat-dirtier")?;
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::worker::{WorkerCommand, tests::parsed};
    use super::*;

    #[test]
    fn the_command_line_parses_to_what_it_was_made_from() {
        for cpus in [vec![], vec![3], vec![0, 128, 256]] {
            let home = Home::in_cgroups([Path::new("/a b"), Path::new("/c")]);
            let args = DirtierArgs::new(home, cpus, 128);
            let WorkerCommand::Dirtier(parsed) = parsed(&args) else { panic!("another worker") };
            assert_eq!(parsed, args);
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
}
