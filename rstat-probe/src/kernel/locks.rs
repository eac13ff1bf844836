//! The addresses of the main rstat locks: hooks on lock functions see every lock of the machine
//! and tell by the address which ones are meant.

use super::{
    kallsyms::{Address, Symbols},
    support::{Capability, KernelSupport},
};

/// Where a main rstat lock is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct LockAddress {
    /// As the kernel's source calls it, e.g. `rstat_base_lock`, `memory_cgrp_subsys.rstat_ss_lock`.
    pub symbol: String,
    /// Of what the lock guards the statistics; `None` for the base statistics (6.16 and later) and
    /// for the one lock of everything (before).
    pub subsystem: Option<String>,
    /// Never 0.
    pub address: u64,
}

/// Locks that are variables of their own: of 5.10 to 6.15, and of 6.16 and later.
const VARIABLES: [&str; 2] = ["cgroup_rstat_lock", "rstat_base_lock"];

/// The kernel's variable of a subsystem is this behind its name (include/linux/cgroup-defs.h).
const SUBSYSTEM: &str = "_cgrp_subsys";

/// Subsystems with statistics in rstat, and so with a lock of their own from 6.16 on.
const WITH_RSTAT: [&str; 2] = ["memory", "io"];

/// The symbols that the addresses are made from.
pub(crate) fn symbols() -> impl Iterator<Item = String> {
    let subsystems = WITH_RSTAT.map(|name| format!("{name}{SUBSYSTEM}"));
    VARIABLES.into_iter().map(str::to_owned).chain(subsystems)
}

/// The addresses of all main locks from `symbols`, or why not all are known. `rstat_ss_lock` is
/// the offset of the lock in `struct cgroup_subsys`.
pub(crate) fn locks(
    symbols: &Symbols,
    rstat_ss_lock: Option<u32>,
    support: &KernelSupport,
) -> Result<Vec<LockAddress>, String> {
    let mut locks = Vec::new();
    let mut unknown = Vec::new();
    for symbol in VARIABLES {
        match symbols.get(symbol) {
            Some(Address::Known(address)) => {
                locks.push(LockAddress { symbol: symbol.to_owned(), subsystem: None, address: *address });
            }
            Some(why) => unknown.push((symbol.to_owned(), *why)),
            None => {}
        }
    }
    for (name, offset) in WITH_RSTAT.iter().filter_map(|name| Some((*name, rstat_ss_lock?))) {
        let variable = format!("{name}{SUBSYSTEM}");
        match symbols.get(&variable) {
            Some(Address::Known(address)) => locks.push(LockAddress {
                symbol: format!("{variable}.rstat_ss_lock"),
                subsystem: Some(name.to_owned()),
                // An address this high comes from no kernel, and must not wrap around to 0.
                address: address.saturating_add(offset.into()),
            }),
            Some(why) => unknown.push((variable, *why)),
            None => {}
        }
    }
    // A list with gaps is worse than none: waits for the missing lock would look like no waits.
    if locks.is_empty() || !unknown.is_empty() {
        return Err(reason(&unknown, support));
    }
    if rstat_ss_lock.is_none() && locks.iter().any(|lock| lock.symbol == VARIABLES[1]) {
        return Err("the locks' addresses are unknown: where in a subsystem its lock lies takes BTF to know"
            .to_owned());
    }
    Ok(locks)
}

/// Why no lock's address is known.
fn reason(unknown: &[(String, Address)], support: &KernelSupport) -> String {
    if unknown.iter().any(|(_, why)| *why == Address::Hidden) {
        return hidden(support);
    }
    match unknown.first() {
        Some((symbol, _)) => {
            format!("the locks' addresses are unknown: /proc/kallsyms has several symbols `{symbol}`")
        }
        None => format!(
            "the locks' addresses are unknown: neither {} nor {} is in /proc/kallsyms (kernel built without CONFIG_KALLSYMS_ALL?)",
            VARIABLES[0], VARIABLES[1]
        ),
    }
}

/// Why the addresses are 0: kallsyms_show_value() of kernel/ksyms_common.c. The setting 0 also
/// shows them to everybody where kernel.perf_event_paranoid is 1 or less.
fn hidden(support: &KernelSupport) -> String {
    let held = support.has(Capability::Syslog);
    let setting = support
        .kptr_restrict
        .map_or_else(|| "kptr_restrict unknown".to_owned(), |n| format!("kptr_restrict = {n}"));
    let what = match support.kptr_restrict {
        Some(2..) if held && support.initial_user_namespace => "; `sysctl kernel.kptr_restrict=1` shows them",
        Some(2..) => "; `sysctl kernel.kptr_restrict=1` and CAP_SYSLOG show them",
        _ if !support.initial_user_namespace => "; CAP_SYSLOG counts in the initial user namespace only",
        _ if !held => "; CAP_SYSLOG, which this process lacks, shows them",
        _ => ", although this process has CAP_SYSLOG",
    };
    format!("the locks' addresses are hidden in /proc/kallsyms ({setting}){what}")
}
