//! `load hogs`: processes that charge memory until the OOM killer takes them, and start again.
//!
//! Never outside of a limit: it is set before a hog is in the cgroup, and a hog is in the cgroup before it charges.

mod counters;
mod fork;
mod hog;
mod size;
mod spawner;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::bail;
use rstat_probe_report::load_result::{HogsResult, LoadResult};

use self::counters::{Counted, Counters};
pub(crate) use self::spawner::{SpawnerArgs, spawner_main};
use super::cpus;
use super::ending::{check_duration, nanoseconds, now, wait};
use super::memcg::Memcg;
use super::memory::available;
use super::mounts::Mounts;
use super::target::shown;
use super::worker::{Crew, Home};

/// How long others wait at most for the first OOM kill.
const WARM_UP: Duration = Duration::from_secs(20);
/// How often they look for it.
const LOOK_EVERY: Duration = Duration::from_millis(5);

/// How many hogs, with how much memory and for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HogsOptions {
    /// Processes at a time; `None`: two per online CPU.
    pub(crate) processes: Option<u32>,
    /// How long.
    pub(crate) duration: Duration,
    /// The memory limit of their cgroup, bytes; `None`: enough for them to charge something.
    pub(crate) memory: Option<u64>,
}

/// Keeps hogs until the duration is over or `stop` is set, and cleans up. Blocks.
pub(crate) fn run(options: &HogsOptions, stop: &AtomicBool) -> anyhow::Result<LoadResult> {
    check_duration(options.duration)?;
    let processes = options.processes.unwrap_or_else(|| cpus::online().saturating_mul(2));
    let mounts = Mounts::read()?;
    mounts.remove_leftovers();
    check(processes, options.memory)?;
    // Declared in this order so that an early return ends the hogs before their cgroup is removed.
    let (own, memcg) = Memcg::create(&mounts)?;
    let cgroup = shown(own.path(), &mounts);
    let version = memcg.version;
    let mut hogs = Hogs::start(processes, options.memory, memcg, cgroup.clone(), None)?;

    let started = now()?;
    let begin = Instant::now();
    let at_begin = hogs.go()?;
    let ended_by = wait(begin, options.duration, stop, || hogs.failure());
    let elapsed = begin.elapsed();
    let at_end = hogs.reading()?;
    let result = hogs.stop(&at_begin, &at_end, elapsed)?;
    // The figures are good even when the removal is not.
    if let Err(error) = own.remove() {
        log::warn!("{error:#}");
    }
    Ok(LoadResult {
        hogs: Some(result),
        ..LoadResult::without_figures("hogs", (started, nanoseconds(elapsed)), (version, cgroup), ended_by)
    })
}

/// Refuses numbers that cannot be on this host, before anything is made.
pub(super) fn check(processes: u32, memory: Option<u64>) -> anyhow::Result<()> {
    size::limit(processes, memory, available()?).map(|_| ())
}

/// Hogs in their cgroup. Dropping it ends them.
#[derive(Debug)]
pub(super) struct Hogs {
    /// The process that starts them.
    spawner: Crew,
    memcg: Memcg,
    /// As `/proc/PID/cgroup` shows it.
    cgroup: String,
    processes: u32,
    limit: u64,
    counters: Counters,
}

/// What hogs did up to a moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reading {
    oom_kills: u64,
    counted: Counted,
}

impl Hogs {
    /// Limits the cgroup, starts hogs in it and waits until all are in place. They wait for [`Self::go`]. The calling
    /// thread must stay alive as long as they. `beside` is a cgroup of another hierarchy that they are in as well.
    pub(super) fn start(
        processes: u32,
        memory: Option<u64>,
        memcg: Memcg,
        cgroup: String,
        beside: Option<&Path>,
    ) -> anyhow::Result<Self> {
        let limit = memcg.limit(size::limit(processes, memory, available()?)?)?;
        let counters = Counters::create(processes)?;
        let spawner = SpawnerArgs {
            home: Home::in_cgroups(beside),
            memcg: memcg.path.clone(),
            counters: counters.path(),
            hogs: processes,
            limit,
        };
        let spawner = Crew::start(&[spawner])?;
        Ok(Self { spawner, memcg, cgroup, processes, limit, counters })
    }

    /// Lets them begin; gives the state before.
    pub(super) fn go(&mut self) -> anyhow::Result<Reading> {
        let reading = self.reading()?;
        self.spawner.go();
        Ok(reading)
    }

    /// Lets them begin, and waits until the first was killed, so that what follows has hogs at their limit. Not
    /// forever: hundreds of hogs on a slow CPU take long to get there.
    pub(super) fn warm_up(&mut self, stop: &AtomicBool) -> anyhow::Result<()> {
        let at_begin = self.go()?;
        let begin = Instant::now();
        while begin.elapsed() < WARM_UP && !stop.load(Ordering::Acquire) && self.failure().is_none() {
            if self.reading()?.oom_kills > at_begin.oom_kills {
                break;
            }
            thread::sleep(LOOK_EVERY);
        }
        Ok(())
    }

    /// The state at this moment.
    pub(super) fn reading(&self) -> anyhow::Result<Reading> {
        Ok(Reading { oom_kills: self.memcg.oom_kills()?, counted: self.counters.read()? })
    }

    /// Why they cannot go on.
    pub(super) fn failure(&mut self) -> Option<String> {
        self.spawner.why_lost()
    }

    /// Ends them and gives what they did between two readings. The kernel's count must agree with their ends.
    pub(super) fn stop(
        mut self,
        begin: &Reading,
        end: &Reading,
        elapsed: Duration,
    ) -> anyhow::Result<HogsResult> {
        if let Some(failure) = self.failure() {
            bail!("{failure}");
        }
        let Self { spawner, memcg, cgroup, processes, limit, counters } = self;
        // They all end with the process that started them, in time or not.
        let living = spawner.stop_all(processes).into_iter().flatten().flatten().next();
        let living = living.unwrap_or_else(|| processes.into());
        let (seen, kills) = (counters.read()?.killed, memcg.oom_kills()?);
        // Whoever lived when they were all told to end may have been killed by the kernel at that moment.
        if !(seen..=seen + living).contains(&kills) {
            log::warn!(
                "the kernel counts {kills} OOM kills in {cgroup}, but {seen} hogs were seen killed and {living} lived \
                 until the end"
            );
        }
        let seconds = elapsed.as_secs_f64();
        let oom_kills = end.oom_kills.saturating_sub(begin.oom_kills);
        let charged_bytes = end.counted.touched.saturating_sub(begin.counted.touched);
        Ok(HogsResult {
            processes,
            cgroup_version: memcg.version,
            cgroup,
            limit_bytes: limit,
            peak_bytes: memcg.peak(),
            oom_kills,
            oom_kills_per_second: oom_kills as f64 / seconds,
            killed: end.counted.killed.saturating_sub(begin.counted.killed),
            starts: end.counted.starts,
            charged_bytes,
            charged_bytes_per_second: charged_bytes as f64 / seconds,
        })
    }
}
