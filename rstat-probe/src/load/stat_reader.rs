//! `load stat-reader`: threads that read one cgroup's statistics again and again.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::Context;
use rstat_probe_report::load_result::{HogsResult, LoadResult, StatReaderResult};
use rstat_probe_report::recording::EndedBy;

use super::cgroup::OwnCgroup;
use super::dirtiers::Dirtiers;
use super::ending::{check_duration, nanoseconds, now, wait};
use super::hogs::Hogs;
use super::memcg::Memcg;
use super::mounts::Mounts;
use super::readers::{Outcome, read_while};
use super::target::{Target, shown};
use super::{cpus, hogs, open_files};

/// More reader threads than this are taken for a mistake.
const MOST_THREADS: u32 = 10_000;
/// Files of each reader.
const FILES_EACH: u64 = 1;

/// The file every thread reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, clap::ValueEnum)]
pub(crate) enum StatFile {
    /// Flushes when enough has changed since the last flush; cgroup v1 or v2.
    #[default]
    #[value(name = "memory.stat")]
    MemoryStat,
    /// Flushes at every read; cgroup v2 only.
    #[value(name = "cpu.stat")]
    CpuStat,
}

impl StatFile {
    /// Its name in the cgroup's directory.
    pub(crate) fn file_name(self) -> &'static str {
        match self {
            Self::MemoryStat => "memory.stat",
            Self::CpuStat => "cpu.stat",
        }
    }
}

/// What to read, with how many threads and for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StatReaderOptions {
    /// Reader threads; `None`: two per online CPU.
    pub(crate) threads: Option<u32>,
    /// How long to read.
    pub(crate) duration: Duration,
    /// An existing cgroup file to read instead of one in a cgroup of our own.
    pub(crate) file: Option<PathBuf>,
    /// An existing cgroup to read: a path from the hierarchy's mount point, or an absolute one.
    pub(crate) cgroup: Option<String>,
    /// The file to read, unless `file` names it.
    pub(crate) stat: StatFile,
    /// Hogs in the cgroup that is read, which must be one of our own.
    pub(crate) hogs: Option<BesideOptions>,
}

/// Hogs beside the readers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BesideOptions {
    /// Processes at a time.
    pub(crate) processes: u32,
    /// The memory limit, bytes; `None`: as for hogs alone.
    pub(crate) memory: Option<u64>,
}

/// The load of the demo: `cpu.stat` where cgroup v2 is mounted, because it flushes at every read, else `memory.stat`.
pub(crate) fn built_in_load_default(duration: Duration) -> anyhow::Result<StatReaderOptions> {
    let stat = if Mounts::read()?.v2.is_some() { StatFile::CpuStat } else { StatFile::MemoryStat };
    Ok(StatReaderOptions { threads: None, duration, file: None, cgroup: None, stat, hogs: None })
}

/// Reads until the duration is over or `stop` is set, and cleans up.
///
/// Blocks; the calling thread must be one that stays alive, not a task's that may move. With
/// [`super::RESULT_FILE_VARIABLE`] set it also ends when the process that started this one is gone.
pub(crate) fn run(options: &StatReaderOptions, stop: &AtomicBool) -> anyhow::Result<LoadResult> {
    check_duration(options.duration)?;
    let threads = cpus::count(options.threads, 2, MOST_THREADS, ("threads", "read"))?;
    if let Some(hogs) = options.hogs {
        hogs::check(hogs.processes, hogs.memory)?;
    }
    let mounts = Mounts::read()?;
    mounts.remove_leftovers();
    open_files::allow(u64::from(threads) * FILES_EACH)?;
    // Declared in this order so that an early return ends the processes before their cgroups are removed.
    let target = Target::resolve(options, &mounts)?;
    let mut beside = options.hogs.map(|hogs| Beside::start(hogs, &target, &mounts)).transpose()?;
    // Hogs keep their cgroups dirty, and dirtiers would be throttled by their limit.
    let dirtiers = if beside.is_some() { Dirtiers::default() } else { start_dirtiers(&target)? };
    if let Some(beside) = &mut beside {
        beside.hogs.warm_up(stop)?;
    }

    let started = now()?;
    let mut ended_by = EndedBy::Duration;
    let mut readings = None;
    let outcome = read_while(&target.file, threads, options.duration, |begin, all_gone| {
        let at_begin = beside.as_ref().map(|beside| beside.hogs.reading());
        ended_by = wait(begin, options.duration, stop, || {
            let failure = beside.as_mut().and_then(|beside| beside.hogs.failure());
            failure.or_else(|| all_gone().then(|| "no reader can read any more".to_owned()))
        });
        readings = at_begin.zip(beside.as_ref().map(|beside| beside.hogs.reading()));
    })?;
    let dirtied = dirtiers.stop();
    let mut result = result(&target, threads, started, outcome, dirtied, ended_by)?;
    if let (Some(beside), Some((begin, end))) = (beside, readings) {
        let elapsed = Duration::from_nanos(result.duration_ns);
        result.hogs = Some(beside.stop(|hogs| hogs.stop(&begin?, &end?, elapsed))?);
    }
    // The figures are good even when the removal is not.
    if let Some(Err(error)) = target.dirty.map(OwnCgroup::remove) {
        log::warn!("{error:#}");
    }
    Ok(result)
}

/// Hogs, and a cgroup for their memory where the one that is read has no memory limit.
struct Beside {
    hogs: Hogs,
    own: Option<OwnCgroup>,
}

impl Beside {
    /// Hogs in the cgroup that is read. Where the hierarchy of that one has no memory controller they are in
    /// it all the same, and below a limit in the other hierarchy.
    fn start(options: BesideOptions, target: &Target, mounts: &Mounts) -> anyhow::Result<Self> {
        let read = target.dirty.as_ref().filter(|_| !target.existing);
        let read =
            read.context("hogs can only be in a cgroup of the load's own: leave out --file and --cgroup")?;
        let BesideOptions { processes, memory } = options;
        if let Some(memcg) = Memcg::of(read.path()) {
            let cgroup = target.cgroup.clone();
            return Ok(Self { hogs: Hogs::start(processes, memory, memcg, cgroup, None)?, own: None });
        }
        let (own, memcg) = Memcg::create(mounts)?;
        let cgroup = shown(own.path(), mounts);
        let hogs = Hogs::start(processes, memory, memcg, cgroup, Some(read.path()))?;
        Ok(Self { hogs, own: Some(own) })
    }

    /// Ends the hogs and removes the cgroup that is theirs alone.
    fn stop(self, end: impl FnOnce(Hogs) -> anyhow::Result<HogsResult>) -> anyhow::Result<HogsResult> {
        let result = end(self.hogs);
        if let Some(Err(error)) = self.own.map(OwnCgroup::remove) {
            log::warn!("{error:#}");
        }
        result
    }
}

/// Dirtiers for a target. In somebody else's cgroup the load goes on without: it may be dirty enough by itself.
fn start_dirtiers(target: &Target) -> anyhow::Result<Dirtiers> {
    let Some(cgroup) = &target.dirty else { return Ok(Dirtiers::default()) };
    match Dirtiers::start(cgroup.path()) {
        Err(error) if target.existing => {
            log::warn!("the cgroup is not kept dirty, few reads may flush: {error:#}");
            Ok(Dirtiers::default())
        }
        started => started,
    }
}

fn result(
    target: &Target,
    threads: u32,
    started: String,
    outcome: Outcome,
    dirtied: u64,
    ended_by: EndedBy,
) -> anyhow::Result<LoadResult> {
    let accesses = outcome.latencies.count();
    if let Some(error) = outcome.first_error {
        let text = format!("cannot read {}", target.file.display());
        // Without a single read there is no result.
        if accesses == 0 {
            return Err(error).context(text);
        }
        log::warn!("{} of the reads failed, the first one: {text}: {error}", outcome.errors);
    }
    Ok(LoadResult {
        stat_reader: Some(StatReaderResult {
            threads,
            file: target.file.display().to_string(),
            accesses,
            accesses_per_second: accesses as f64 / outcome.elapsed.as_secs_f64(),
            errors: outcome.errors,
            latency: outcome.latencies.summary(),
            dirtied,
        }),
        ..LoadResult::without_figures(
            "stat-reader",
            (started, nanoseconds(outcome.elapsed)),
            (target.version, target.cgroup.clone()),
            ended_by,
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(threads: Option<u32>, duration: Duration) -> StatReaderOptions {
        StatReaderOptions { threads, duration, file: None, cgroup: None, stat: StatFile::CpuStat, hogs: None }
    }

    #[test]
    fn absurd_options_are_refused_before_anything_is_made() {
        let second = Duration::from_secs(1);
        for (options, text) in [
            (options(Some(0), second), "at least 1"),
            (options(Some(10_001), second), "at most 10000"),
            (options(Some(1), Duration::ZERO), "duration 0 does nothing"),
            (options(Some(1), Duration::MAX), "more than a year"),
        ] {
            let error = run(&options, &AtomicBool::new(false)).unwrap_err().to_string();
            assert!(error.contains(text), "{error}");
        }
    }
}
