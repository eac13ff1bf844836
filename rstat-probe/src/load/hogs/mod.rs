//! `load hogs`: processes that charge memory until the OOM killer takes them, and start again.
//!
//! Never outside of a limit: it is set before a hog is in the cgroup, and a hog is in the cgroup before it charges.

mod keeper;
mod memcg;
mod size;

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use rstat_probe_report::load_result::{HogsResult, LoadResult, SCHEMA};
use rustix::fs::{MemfdFlags, memfd_create};

use self::keeper::Keeper;
pub(super) use self::memcg::Memcg;
pub(super) use self::size::available;
use super::ending::{check_duration, now, wait};
use super::hog::{COUNTER, HogArgs};
use super::mounts::Mounts;
use super::target::shown;
use super::worker::Home;
use super::{cpus, open_files};

/// Pipes of each hog.
pub(super) const FILES_EACH: u64 = 2;

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
    let hogs = Hogs::start(processes, options.memory, memcg, cgroup.clone(), None, stop)?;

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
        schema: SCHEMA.to_owned(),
        kind: "hogs".to_owned(),
        started,
        duration_ns: u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX),
        cgroup_version: version,
        cgroup,
        stat_reader: None,
        hogs: Some(result),
        sendfile: None,
        charge: None,
        ended_by,
    })
}

/// Refuses numbers that cannot be on this host, before anything is made.
pub(super) fn check(processes: u32, memory: Option<u64>) -> anyhow::Result<()> {
    size::limit(processes, memory, size::available()?).map(|_| ())
}

/// Hogs in their cgroup. Dropping it ends them.
#[derive(Debug)]
pub(super) struct Hogs {
    keeper: Keeper,
    memcg: Memcg,
    /// As `/proc/PID/cgroup` shows it.
    cgroup: String,
    processes: u32,
    limit: u64,
    counters: File,
}

/// What hogs did up to a moment.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reading {
    oom_kills: u64,
    killed: u64,
    starts: u64,
    charged_bytes: u64,
}

impl Hogs {
    /// Limits the cgroup, starts hogs in it and waits until all are in place or `stop` is set. They wait for
    /// [`Self::go`]. `beside` is a cgroup of another hierarchy that they join as well.
    pub(super) fn start(
        processes: u32,
        memory: Option<u64>,
        memcg: Memcg,
        cgroup: String,
        beside: Option<&Path>,
        stop: &AtomicBool,
    ) -> anyhow::Result<Self> {
        let limit = size::limit(processes, memory, size::available()?)?;
        open_files::allow(u64::from(processes) * FILES_EACH)?;
        let limit = memcg.limit(limit)?;
        let counters =
            memfd_create("rstat-hogs", MemfdFlags::CLOEXEC).context("cannot make a memory file")?;
        let counters = File::from(counters);
        // Written here, so that the pages are this process's and no hog's.
        let zeros = vec![0; usize::try_from(u64::from(processes) * COUNTER)?];
        counters.write_all_at(&zeros, 0).context("cannot write a memory file")?;
        let path = PathBuf::from(format!("/proc/{}/fd/{}", std::process::id(), counters.as_raw_fd()));
        let home = Home::in_cgroups(std::iter::once(memcg.path.as_path()).chain(beside));
        let hogs =
            (0..processes).map(|slot| HogArgs::new(home.clone(), path.clone(), u64::from(slot))).collect();
        let keeper = Keeper::start(hogs, limit, stop)?;
        Ok(Self { keeper, memcg, cgroup, processes, limit, counters })
    }

    /// Lets them begin; gives the state before.
    pub(super) fn go(&self) -> anyhow::Result<Reading> {
        let reading = self.reading()?;
        self.keeper.go();
        Ok(reading)
    }

    /// Lets them begin, and waits until the first was killed, so that what follows has hogs at their limit. Not
    /// forever: hundreds of hogs on a slow CPU take long to get there.
    pub(super) fn warm_up(&self, stop: &AtomicBool) -> anyhow::Result<()> {
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
        let mut counters = vec![0; usize::try_from(u64::from(self.processes) * COUNTER)?];
        self.counters.read_exact_at(&mut counters, 0).context("cannot read the counters of the hogs")?;
        let (counters, _) = counters.as_chunks();
        let (killed, starts) = self.keeper.counts();
        Ok(Reading {
            oom_kills: self.memcg.oom_kills()?,
            killed,
            starts,
            charged_bytes: counters.iter().map(|counter| u64::from_ne_bytes(*counter)).sum(),
        })
    }

    /// Why they cannot go on.
    pub(super) fn failure(&self) -> Option<String> {
        self.keeper.failure()
    }

    /// Ends them and gives what they did between two readings. The kernel's count must agree with their ends.
    pub(super) fn stop(
        self,
        begin: &Reading,
        end: &Reading,
        elapsed: Duration,
    ) -> anyhow::Result<HogsResult> {
        let Self { keeper, memcg, cgroup, processes, limit, .. } = self;
        if let Some(failure) = keeper.failure() {
            bail!("{failure}");
        }
        let (seen, living) = keeper.stop();
        let kills = memcg.oom_kills()?;
        // Whoever lived when they were all told to end may have been killed by the kernel at that moment.
        if !(seen..=seen + living).contains(&kills) {
            log::warn!(
                "the kernel counts {kills} OOM kills in {cgroup}, but {seen} hogs were seen killed and {living} lived \
                 until the end"
            );
        }
        let seconds = elapsed.as_secs_f64();
        let oom_kills = end.oom_kills.saturating_sub(begin.oom_kills);
        let charged_bytes = end.charged_bytes.saturating_sub(begin.charged_bytes);
        Ok(HogsResult {
            processes,
            cgroup_version: memcg.version,
            cgroup,
            limit_bytes: limit,
            peak_bytes: memcg.peak(),
            oom_kills,
            oom_kills_per_second: oom_kills as f64 / seconds,
            killed: end.killed.saturating_sub(begin.killed),
            starts: end.starts,
            charged_bytes,
            charged_bytes_per_second: charged_bytes as f64 / seconds,
        })
    }
}
