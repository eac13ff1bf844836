//! `load charge`: page faults and frees in a three-level cgroup hierarchy.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use anyhow::{Context, ensure};
use rstat_probe_report::load_result::{ChargeResult, LoadResult, Protection};
use rstat_probe_report::units;
use rustix::param::page_size;

use super::charger::ChargerArgs;
use super::ending::check_duration;
use super::hierarchy::{Hierarchy, LEVELS};
use super::measured::{Measured, measure};
use super::memory::available;
use super::mounts::Mounts;
use super::window::Done;
use super::worker::{Crew, FILES_EACH, Home};
use super::{cpus, open_files};

/// More processes than this are taken for a mistake.
const MOST_PROCESSES: u32 = 1000;
/// What a process may take beside its rounds: page tables, stacks, kernel memory, what its CPU holds in reserve.
const OVERHEAD: u64 = 16 * 1024 * 1024;

/// How much to charge and for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ChargeOptions {
    /// Processes; `None`: one for each online CPU.
    pub(crate) processes: Option<u32>,
    /// Bytes of a round, rounded up to whole pages.
    pub(crate) bytes: u64,
    /// Length of the measured window.
    pub(crate) duration: Duration,
}

/// Charges until the duration is over or `stop` is set, and cleans up. See [`super::stat_reader()`] for the calling thread.
pub(crate) fn charge(options: &ChargeOptions, stop: &AtomicBool) -> anyhow::Result<LoadResult> {
    check_duration(options.duration)?;
    let processes = cpus::count(options.processes, 1, MOST_PROCESSES, ("processes", "charge"))?;
    ensure!(options.bytes > 0, "rounds of 0 bytes charge nothing: --bytes must be at least 1");
    let round = options.bytes.checked_next_multiple_of(page_size() as u64).context("--bytes is too much")?;
    let limit = limit(processes, round, available()?)?;

    open_files::allow(u64::from(processes) * FILES_EACH)?;
    let hierarchy = Hierarchy::create(&Mounts::read()?)?;
    let limit = hierarchy.limit(limit)?;
    let protection = hierarchy.protect()?;
    let worker = || ChargerArgs { home: Home::in_cgroups([hierarchy.leaf()]), bytes: round };
    let workers: Vec<ChargerArgs> = (0..processes).map(|_| worker()).collect();
    // Declared after its cgroup, so that an early return ends the processes before the cgroup is removed.
    let crew = Crew::start(&workers)?;
    let measured = measure(crew, workers.len(), options.duration, stop)?;
    let result = result(&hierarchy, (processes, round, limit), protection, measured);
    hierarchy.remove_or_warn();
    Ok(result)
}

/// The memory limit of all processes, which they never reach: their rounds and what they take beside them.
///
/// Refused when it is more than half of what the host has available: the load must not press on anybody else.
fn limit(processes: u32, round: u64, available: u64) -> anyhow::Result<u64> {
    let limit = round.saturating_add(OVERHEAD).saturating_mul(processes.into());
    ensure!(
        limit <= available / 2,
        "{processes} processes with rounds of {} can take {} with what they need beside them, more than half of the {} \
         that are available: use fewer --processes or less --bytes",
        units::bytes(round),
        units::bytes(limit),
        units::bytes(available)
    );
    Ok(limit)
}

fn result(
    hierarchy: &Hierarchy,
    (processes, round_bytes, limit_bytes): (u32, u64, u64),
    protection: Protection,
    measured: Measured,
) -> LoadResult {
    LoadResult {
        charge: Some(ChargeResult {
            processes,
            levels: LEVELS,
            protection,
            round_bytes,
            limit_bytes,
            page_bytes: page_size() as u64,
            charges: measured.done.iter().map(|done| done.amount).sum(),
            charges_per_second: measured.done.iter().copied().map(Done::per_second).sum(),
        }),
        ..LoadResult::without_figures(
            "charge",
            (measured.started, measured.duration_ns),
            hierarchy.place(),
            measured.ended_by,
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absurd_options_are_refused_before_anything_is_made() {
        let second = Duration::from_secs(1);
        for (processes, bytes, duration, text) in [
            (Some(0), 4096, second, "--processes must be at least 1"),
            (Some(1001), 4096, second, "--processes must be at most 1000"),
            (None, 0, second, "--bytes must be at least 1"),
            (None, u64::MAX, second, "--bytes is too much"),
            (Some(1), 1 << 50, second, "use fewer --processes or less --bytes"),
            (None, 4096, Duration::ZERO, "--duration must be longer"),
        ] {
            let options = ChargeOptions { processes, bytes, duration };
            let error = charge(&options, &AtomicBool::new(false)).unwrap_err().to_string();
            assert!(error.contains(text) && error.lines().count() == 1, "{error}");
        }
    }

    #[test]
    fn the_limit_holds_all_rounds_and_leaves_half_of_the_memory() {
        let mib = 1024 * 1024;
        assert_eq!(limit(2, 4 * mib, 80 * mib).unwrap(), 40 * mib);
        assert!(limit(2, 4 * mib, 80 * mib - 2).is_err());
        assert!(limit(1000, u64::MAX - 4095, u64::MAX).is_err());
    }
}
