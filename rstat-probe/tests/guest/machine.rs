//! The machine that we run in.

use std::{env, fs, sync::OnceLock};

/// An address in `/proc/kallsyms`, if the kernel has the symbol.
pub(super) fn address(symbol: &str) -> Option<u64> {
    static SYMBOLS: OnceLock<String> = OnceLock::new();
    let symbols = SYMBOLS.get_or_init(|| fs::read_to_string("/proc/kallsyms").unwrap());
    let line = symbols.lines().find(|line| line.split(' ').nth(2) == Some(symbol))?;
    Some(u64::from_str_radix(line.split(' ').next()?, 16).unwrap())
}

/// Whether the kernel has a function or variable of this name.
pub(super) fn has(symbol: &str) -> bool {
    address(symbol).is_some()
}

/// Whether the kernel has the tracepoints of the rstat locks.
pub(super) fn has_tracepoints() -> bool {
    has("__traceiter_cgroup_rstat_locked")
}

/// Sections of one flush, but for yields up to 6.1 and the reader's own one from 6.16 on.
pub(super) fn sections_per_flush() -> u64 {
    let possible = cpus("possible").len() as u64;
    match (has_tracepoints(), has("cgroup_rstat_flush_locked")) {
        (false, _) => 1,
        (true, true) => possible + 1,
        (true, false) => possible,
    }
}

/// Whether spin locks of this kernel leave IRQs on.
pub(super) fn is_preempt_rt() -> bool {
    fs::read_to_string("/proc/sys/kernel/version").unwrap().contains("PREEMPT_RT")
}

/// `uname -r`.
pub(super) fn release() -> String {
    fs::read_to_string("/proc/sys/kernel/osrelease").unwrap().trim().to_owned()
}

/// CPUs in a list such as `possible`, `present`, `online` or `offline`.
pub(super) fn cpus(list: &str) -> Vec<u32> {
    let text = fs::read_to_string(format!("/sys/devices/system/cpu/{list}")).unwrap();
    let ranges = text.trim().split(',').filter(|part| !part.is_empty());
    ranges
        .map(|part| part.split_once('-').unwrap_or((part, part)))
        .flat_map(|(low, high)| low.parse().unwrap()..=high.parse::<u32>().unwrap())
        .collect()
}

/// What xtask expects of this kernel.
pub(super) fn expected(variable: &str) -> String {
    env::var(variable)
        .unwrap_or_else(|_| panic!("{variable} is not set; these tests run in `cargo xtask vm`"))
}
