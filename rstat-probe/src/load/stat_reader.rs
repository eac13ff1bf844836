//! `load stat-reader`: threads that read one cgroup's statistics again and again.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use rstat_probe_report::load_result::{LoadResult, SCHEMA, StatReaderResult};
use rstat_probe_report::recording::EndedBy;
use rustix::process::getppid;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use super::dirtiers::Dirtiers;
use super::mounts::Mounts;
use super::readers::{Outcome, read_while};
use super::signals::first_signal;
use super::target::Target;

/// More reader threads than this are taken for a mistake.
const MOST_THREADS: u32 = 10_000;
/// A longer load than this is taken for a mistake.
const LONGEST: Duration = Duration::from_hours(366 * 24);
/// How often the end of the load is looked for. It bounds how promptly a signal ends it.
const LOOK_EVERY: Duration = Duration::from_millis(10);
/// Set by `run` for the load it starts: the file the result goes to.
pub(crate) const RESULT_FILE_VARIABLE: &str = "RSTAT_PROBE_RESULT_FILE";

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
}

impl StatReaderOptions {
    /// The number of threads, in its limits.
    fn thread_count(&self) -> anyhow::Result<u32> {
        let threads = self.threads.unwrap_or_else(|| online_cpus().saturating_mul(2).min(MOST_THREADS));
        ensure!(threads > 0, "0 threads read nothing: --threads must be at least 1");
        ensure!(
            threads <= MOST_THREADS,
            "{threads} threads are too many: --threads must be at most {MOST_THREADS}"
        );
        Ok(threads)
    }
}

/// The load of the demo: `cpu.stat` where cgroup v2 is mounted, because it flushes at every read, else `memory.stat`.
pub(crate) fn built_in_load_default(duration: Duration) -> anyhow::Result<StatReaderOptions> {
    let stat = if Mounts::read()?.v2.is_some() { StatFile::CpuStat } else { StatFile::MemoryStat };
    Ok(StatReaderOptions { threads: None, duration, file: None, cgroup: None, stat })
}

/// Reads until the duration is over or `stop` is set, and cleans up.
///
/// Blocks; the calling thread must be one that stays alive, not a task's that may move. With
/// [`RESULT_FILE_VARIABLE`] set it also ends when the process that started this one is gone.
pub(crate) fn run(options: &StatReaderOptions, stop: &AtomicBool) -> anyhow::Result<LoadResult> {
    ensure!(!options.duration.is_zero(), "a load of duration 0 reads nothing: --duration must be longer");
    ensure!(
        options.duration <= LONGEST,
        "a load of more than a year is taken for a mistake: --duration must be shorter"
    );
    let threads = options.thread_count()?;
    // Declared in this order so that an early return ends the dirtiers before their cgroup is removed.
    let target = Target::resolve(options, &Mounts::read()?)?;
    let dirtiers = start_dirtiers(&target)?;

    let started = OffsetDateTime::now_utc().format(&Rfc3339).context("cannot format the time")?;
    let mut ended_by = EndedBy::Duration;
    let outcome = read_while(&target.file, threads, options.duration, |begin, all_gone| {
        ended_by = wait(begin, options.duration, stop, all_gone);
    })?;
    let dirtied = dirtiers.stop();
    let result = result(&target, threads, started, outcome, dirtied, ended_by)?;
    // The figures are good even when the removal is not.
    if let Some(Err(error)) = target.dirty.map(super::cgroup::OwnCgroup::remove) {
        log::warn!("{error:#}");
    }
    Ok(result)
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

/// Sleeps until the load is to end, and says why it does.
fn wait(begin: Instant, duration: Duration, stop: &AtomicBool, all_gone: &dyn Fn() -> bool) -> EndedBy {
    let parent = std::env::var_os(RESULT_FILE_VARIABLE).and_then(|_| getppid());
    loop {
        let left = duration.saturating_sub(begin.elapsed());
        if stop.load(Ordering::Acquire) {
            return EndedBy::Signal { name: first_signal().unwrap_or("stop").to_owned() };
        } else if left.is_zero() {
            return EndedBy::Duration;
        } else if parent.is_some() && getppid() != parent {
            return failure("the process that started the load is gone");
        } else if all_gone() {
            return failure("no reader can read any more");
        }
        thread::sleep(left.min(LOOK_EVERY));
    }
}

fn failure(message: &str) -> EndedBy {
    EndedBy::Error { message: message.to_owned() }
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
        schema: SCHEMA.to_owned(),
        kind: "stat-reader".to_owned(),
        started,
        duration_ns: u64::try_from(outcome.elapsed.as_nanos()).unwrap_or(u64::MAX),
        cgroup_version: target.version,
        cgroup: target.cgroup.clone(),
        stat_reader: Some(StatReaderResult {
            threads,
            file: target.file.display().to_string(),
            accesses,
            accesses_per_second: accesses as f64 / outcome.elapsed.as_secs_f64(),
            errors: outcome.errors,
            latency: outcome.latencies.summary(),
            dirtied,
        }),
        hogs: None,
        sendfile: None,
        charge: None,
        ended_by,
    })
}

/// How many CPUs are online, whether or not this process may run on all of them.
fn online_cpus() -> u32 {
    let listed =
        std::fs::read_to_string("/sys/devices/system/cpu/online").ok().and_then(|text| cpus_in(&text));
    listed
        .unwrap_or_else(|| thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(1)))
}

/// How many CPUs a list such as `0-3,8,10-11` has.
fn cpus_in(list: &str) -> Option<u32> {
    let mut count: u32 = 0;
    for part in list.trim().split(',') {
        let (low, high) = part.split_once('-').unwrap_or((part, part));
        let (low, high): (u32, u32) = (low.parse().ok()?, high.parse().ok()?);
        count = count.checked_add(high.checked_sub(low)?.checked_add(1)?)?;
    }
    Some(count)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(threads: Option<u32>, duration: Duration) -> StatReaderOptions {
        StatReaderOptions { threads, duration, file: None, cgroup: None, stat: StatFile::CpuStat }
    }

    #[test]
    fn absurd_options_are_refused_before_anything_is_made() {
        let second = Duration::from_secs(1);
        for (options, text) in [
            (options(Some(0), second), "at least 1"),
            (options(Some(10_001), second), "at most 10000"),
            (options(Some(1), Duration::ZERO), "duration 0"),
            (options(Some(1), Duration::MAX), "more than a year"),
        ] {
            let error = run(&options, &AtomicBool::new(false)).unwrap_err().to_string();
            assert!(error.contains(text), "{error}");
        }
        assert_eq!(options(Some(10_000), second).thread_count().unwrap(), 10_000);
        assert!(options(None, second).thread_count().unwrap() >= 2);
    }

    #[test]
    fn cpu_lists_are_counted() {
        assert_eq!(cpus_in("0-3,8,10-11\n"), Some(7));
        assert_eq!(cpus_in("0\n"), Some(1));
        for bad in ["", "3-1", "a", "0-4294967295"] {
            assert_eq!(cpus_in(bad), None, "{bad}");
        }
    }
}
