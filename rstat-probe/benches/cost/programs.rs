//! The kernel's eBPF programs, whoever has loaded them, and their figures.

use std::collections::BTreeMap;
use std::fs;
use std::os::fd::{AsFd as _, AsRawFd as _};

use aya::programs::loaded_programs;

/// Run time and runs by program id; they grow while the kernel's BPF statistics are on.
pub(crate) type Figures = BTreeMap<u32, (u64, u64)>;

/// Ids of all loaded programs but `others`.
pub(crate) fn ids_without(others: &[u32]) -> Vec<u32> {
    let ids = loaded_programs().filter_map(|program| Some(program.ok()?.id()));
    ids.filter(|id| !others.contains(id)).collect()
}

/// Figures of the programs with these ids.
pub(crate) fn figures(ids: &[u32]) -> Figures {
    let programs = loaded_programs().filter_map(Result::ok).filter(|program| ids.contains(&program.id()));
    // One that is gone meanwhile is of no interest.
    programs
        .filter_map(|program| {
            let fd = program.fd().ok()?;
            let text = fs::read_to_string(format!("/proc/self/fdinfo/{}", fd.as_fd().as_raw_fd())).ok()?;
            Some((program.id(), (number(&text, "run_time_ns")?, number(&text, "run_cnt")?)))
        })
        .collect()
}

fn number(fdinfo: &str, name: &str) -> Option<u64> {
    let line = fdinfo.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line?.trim().parse().ok()
}

/// Run time of all programs together for each section, ns: `locked` and `unlock` run once for each.
pub(crate) fn ns_per_section(before: &Figures, after: &Figures) -> Option<f64> {
    let grown = |id: &u32, now: &(u64, u64)| {
        let then = before.get(id).copied().unwrap_or_default();
        (now.0 - then.0, now.1 - then.1)
    };
    let grown: Vec<(u64, u64)> = after.iter().map(|(id, now)| grown(id, now)).collect();
    let sections = grown.iter().map(|(_, runs)| *runs).max().filter(|sections| *sections > 0)?;
    Some(grown.iter().map(|(time, _)| *time).sum::<u64>() as f64 / sections as f64)
}
