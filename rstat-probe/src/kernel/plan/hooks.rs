//! The table of programs and hooks. Names, never version numbers; the order inside a group is that
//! of attachment: ends before begins, so that no begin lacks its end.

use rstat_probe_report::metric::Metric;

use super::{AttachKind, Planned};

const SECTION_METRICS: &[Metric] = &[Metric::LockWait, Metric::LockHold, Metric::IrqsOff, Metric::Flush];
const WAIT_METRICS: &[Metric] = &[Metric::LockWait, Metric::IrqsOff];
const HOLD_METRICS: &[Metric] = &[Metric::LockHold, Metric::IrqsOff];
const FLUSH_METRICS: &[Metric] = &[Metric::Flush];
const CPU_LOCK_METRICS: &[Metric] = &[Metric::CpuLockWait, Metric::CpuLockHold];

const fn planned(
    program: &'static str,
    attach: AttachKind,
    hook: &'static str,
    serves: &'static [Metric],
) -> Planned {
    Planned { program, hook, attach, serves }
}

const fn raw(program: &'static str, hook: &'static str, serves: &'static [Metric]) -> Planned {
    planned(program, AttachKind::RawTracepoint, hook, serves)
}

const fn entry(program: &'static str, hook: &'static str, serves: &'static [Metric]) -> Planned {
    planned(program, AttachKind::Fentry, hook, serves)
}

const fn exit(program: &'static str, hook: &'static str, serves: &'static [Metric]) -> Planned {
    planned(program, AttachKind::Fexit, hook, serves)
}

/// The main locks, from commit fc29e04ae1ad (6.10) on.
pub(super) const LOCK: [Planned; 3] = [
    raw("lock_unlock", "cgroup_rstat_unlock", SECTION_METRICS),
    raw("lock_locked", "cgroup_rstat_locked", SECTION_METRICS),
    raw("lock_contended", "cgroup_rstat_lock_contended", WAIT_METRICS),
];

/// The per-CPU locks, from commit 21c38a3bd4ee (6.10) to 6af89c6ca717 (6.17).
pub(super) const CPU_LOCK: [Planned; 6] = [
    raw("cpu_unlock", "cgroup_rstat_cpu_unlock", CPU_LOCK_METRICS),
    raw("cpu_unlock_fp", "cgroup_rstat_cpu_unlock_fastpath", CPU_LOCK_METRICS),
    raw("cpu_locked", "cgroup_rstat_cpu_locked", CPU_LOCK_METRICS),
    raw("cpu_locked_fp", "cgroup_rstat_cpu_locked_fastpath", CPU_LOCK_METRICS),
    raw("cpu_contended", "cgroup_rstat_cpu_lock_contended", CPU_LOCK_METRICS),
    raw("cpu_contended_fp", "cgroup_rstat_cpu_lock_contended_fastpath", CPU_LOCK_METRICS),
];

/// The walk over the CPUs with the lock held, up to 6.14.
pub(super) const WALK: &str = "cgroup_rstat_flush_locked";
/// The flush function from commit a97915559f5c (6.16) on.
pub(super) const CSS_FLUSH: &str = "css_rstat_flush";
/// The flush function under its names.
pub(in crate::kernel) const FLUSH_FUNCTIONS: [&str; 2] = [CSS_FLUSH, "cgroup_rstat_flush"];
/// Releases an rstat lock, where it is not inlined (`UNINLINE_SPIN_UNLOCK` in kernel/Kconfig.locks).
pub(super) const UNLOCK: &str = "_raw_spin_unlock_irq";
/// Acquires an rstat lock.
pub(super) const LOCK_IRQ: &str = "_raw_spin_lock_irq";
/// Tries to, from 6.10 on.
pub(super) const TRYLOCK: &str = "_raw_spin_trylock";
/// Reads `cpu.stat`, with the hold and release functions inlined into it up to 6.14.
pub(super) const READER: &str = "cgroup_base_stat_cputime_show";
/// Where a CPU spins: on bare metal (two names), and as a guest.
pub(super) const SLOW_PATHS: [(&str, &str, &str); 3] = [
    ("spin_native", "spin_native_k", "native_queued_spin_lock_slowpath"),
    ("spin_native", "spin_native_k", "queued_spin_lock_slowpath"),
    ("spin_pv", "spin_pv_k", "__pv_queued_spin_lock_slowpath"),
];

pub(super) const RELEASED: Planned = entry("released", UNLOCK, HOLD_METRICS);
pub(super) const ACQUIRED: Planned = exit("acquired", LOCK_IRQ, SECTION_METRICS);
pub(super) const TRIED: Planned = exit("tried", TRYLOCK, SECTION_METRICS);
/// Fires with IRQs off; the thread that leaves is still current.
pub(super) const SWITCHED: Planned = raw("switched", "sched_switch", HOLD_METRICS);

/// Both ends of a function under the names of the programs.
pub(super) const fn pair(
    function: &'static str,
    (end, begin): (&'static str, &'static str),
    kprobes: bool,
    serves: &'static [Metric],
) -> [Planned; 2] {
    let (at_end, at_begin) = if kprobes {
        (AttachKind::Kretprobe, AttachKind::Kprobe)
    } else {
        (AttachKind::Fexit, AttachKind::Fentry)
    };
    [planned(end, at_end, function, serves), planned(begin, at_begin, function, serves)]
}

/// The flush function from call to return.
pub(super) const fn flush(function: &'static str, kprobes: bool) -> [Planned; 2] {
    let programs =
        if kprobes { ("flush_return_k", "flush_entry_k") } else { ("flush_return", "flush_entry") };
    pair(function, programs, kprobes, FLUSH_METRICS)
}

/// The walk from call to return.
pub(super) const fn walk(kprobes: bool) -> [Planned; 2] {
    let programs = if kprobes { ("walk_end_k", "walk_begin_k") } else { ("walk_end", "walk_begin") };
    pair(WALK, programs, kprobes, SECTION_METRICS)
}

/// The reader of `cpu.stat` from call to return.
pub(super) const fn reader(kprobes: bool) -> [Planned; 2] {
    let programs = if kprobes { ("reader_end_k", "reader_begin_k") } else { ("reader_end", "reader_begin") };
    pair(READER, programs, kprobes, HOLD_METRICS)
}

/// The slow paths that `exists` knows.
pub(super) fn slow_paths(exists: impl Fn(&str) -> bool, kprobes: bool) -> Vec<Planned> {
    let there = SLOW_PATHS.into_iter().filter(|(_, _, function)| exists(function));
    let mut programs: Vec<Planned> = there
        .map(|(fentry, kprobe, function)| {
            if kprobes {
                planned(kprobe, AttachKind::Kprobe, function, WAIT_METRICS)
            } else {
                entry(fentry, function, WAIT_METRICS)
            }
        })
        .collect();
    // One program is one function: the second name of the first one is not there beside it.
    programs.dedup_by_key(|planned| planned.program);
    programs
}
