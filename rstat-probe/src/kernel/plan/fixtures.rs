//! The plan for real kernels, from facts that `check --save-facts` saved there (see the README in
//! tests/fixtures). The tables are written to be read beside docs/kernels.md.

mod arguments;
mod variants;

use std::{
    fs,
    path::{Path, PathBuf},
};

use super::*;
use crate::kernel::support::Offsets;

/// What the kernels are planned to be hooked by, a row each.
struct Row {
    kernel: &'static str,
    /// Strategies, best first.
    strategies: &'static str,
    /// `m`easured, `u`navailable or a`b`sent: `irqs_off`, `lock_wait`, `lock_hold`, `flush`,
    /// `cpu_lock_wait`, `cpu_lock_hold`.
    metrics: &'static str,
    /// The groups of the best strategy, a hook and its program on a line.
    groups: &'static [&'static [&'static str]],
    /// `cpu` at the first acquisition and the last release of a flush.
    cpus: (i32, i32),
    /// Other constants of the programs that are not as most kernels have them.
    flags: &'static str,
    locks: usize,
    label: Option<(u32, u32)>,
    /// Whether the classic trace events can crash it (trap 1).
    trap: bool,
}

const TRACEPOINTS: &[&str] = &[
    "raw_tracepoint cgroup_rstat_unlock lock_unlock",
    "raw_tracepoint cgroup_rstat_locked lock_locked",
    "raw_tracepoint cgroup_rstat_lock_contended lock_contended",
];
const CPU_LOCKS: &[&str] = &[
    "raw_tracepoint cgroup_rstat_cpu_unlock cpu_unlock",
    "raw_tracepoint cgroup_rstat_cpu_unlock_fastpath cpu_unlock_fp",
    "raw_tracepoint cgroup_rstat_cpu_locked cpu_locked",
    "raw_tracepoint cgroup_rstat_cpu_locked_fastpath cpu_locked_fp",
    "raw_tracepoint cgroup_rstat_cpu_lock_contended cpu_contended",
    "raw_tracepoint cgroup_rstat_cpu_lock_contended_fastpath cpu_contended_fp",
];
const CSS: &[&str] = &["fexit css_rstat_flush flush_return", "fentry css_rstat_flush flush_entry"];
const CSS_K: &[&str] = &["kretprobe css_rstat_flush flush_return_k", "kprobe css_rstat_flush flush_entry_k"];
const CGROUP: &[&str] = &["fexit cgroup_rstat_flush flush_return", "fentry cgroup_rstat_flush flush_entry"];
const CGROUP_K: &[&str] =
    &["kretprobe cgroup_rstat_flush flush_return_k", "kprobe cgroup_rstat_flush flush_entry_k"];
const SPIN: &[&str] =
    &["fentry native_queued_spin_lock_slowpath spin_native", "fentry __pv_queued_spin_lock_slowpath spin_pv"];
const SPIN_K: &[&str] = &[
    "kprobe native_queued_spin_lock_slowpath spin_native_k",
    "kprobe __pv_queued_spin_lock_slowpath spin_pv_k",
];
const RELEASED: &[&str] = &[
    "fentry _raw_spin_unlock_irq released",
    "fexit cgroup_rstat_flush_locked walk_end",
    "fentry cgroup_rstat_flush_locked walk_begin",
    "fexit _raw_spin_lock_irq acquired",
    "fentry native_queued_spin_lock_slowpath spin_native",
    "fentry __pv_queued_spin_lock_slowpath spin_pv",
];
const INFERRED: &[&str] = &[
    "fexit cgroup_rstat_flush_locked walk_end",
    "fentry cgroup_rstat_flush_locked walk_begin",
    "raw_tracepoint sched_switch switched",
    "fexit _raw_spin_lock_irq acquired",
    "fentry native_queued_spin_lock_slowpath spin_native",
    "fentry __pv_queued_spin_lock_slowpath spin_pv",
];
const READER: &[&str] =
    &["fexit cgroup_base_stat_cputime_show reader_end", "fentry cgroup_base_stat_cputime_show reader_begin"];
/// The order: the flush, the exact begin of IRQs off, each by trampolines and else by kprobes.
const CSS_ALL: &[&[&str]] = &[CSS, CSS_K, SPIN, SPIN_K, TRACEPOINTS];

/// From 6.18 on all are alike but for what a row says.
const NEWEST: Row = Row {
    kernel: "6.18.15-cloud-amd64",
    strategies: "AB",
    metrics: "mmmmbb",
    groups: CSS_ALL,
    cpus: (0, 3),
    flags: "",
    locks: 3,
    label: Some((8, 156)),
    trap: false,
};

const ROWS: &[Row] = &[
    // No `_raw_spin_unlock_irq`.
    Row {
        kernel: "5.10.262-cloud-amd64",
        strategies: "CDE",
        groups: &[INFERRED, READER],
        flags: "infer_end",
        cpus: (0, 0),
        locks: 1,
        label: None,
        ..NEWEST
    },
    Row {
        kernel: "6.1.192-cloud-amd64",
        strategies: "BDE",
        groups: &[RELEASED],
        cpus: (0, 0),
        locks: 1,
        label: None,
        ..NEWEST
    },
    // `cgroup_rstat_flush_locked` and tracepoints.
    Row {
        kernel: "6.12.118-cloud-amd64",
        metrics: "mmmmmm",
        groups: &[CGROUP, CGROUP_K, SPIN, SPIN_K, TRACEPOINTS, CPU_LOCKS],
        cpus: (-1, -1),
        locks: 1,
        label: None,
        trap: true,
        ..NEWEST
    },
    // A lock for each subsystem, and still those of the CPUs.
    Row {
        kernel: "6.16.12-cloud-amd64",
        metrics: "mmmmmm",
        groups: &[CSS, CSS_K, SPIN, SPIN_K, TRACEPOINTS, CPU_LOCKS],
        label: Some((8, 164)),
        ..NEWEST
    },
    Row { ..NEWEST },
    // Neither kprobes nor the symbols of data.
    Row {
        kernel: "6.18.44-no-kprobes",
        strategies: "A",
        groups: &[CSS, TRACEPOINTS],
        cpus: (0, 1),
        locks: 0,
        ..NEWEST
    },
    Row { kernel: "7.0.13-cloud-amd64", ..NEWEST },
    Row { kernel: "7.3.4-cloud-amd64", ..NEWEST },
    // IRQs stay on, and what spins is no rstat lock.
    Row {
        kernel: "7.3.4-rt-amd64",
        strategies: "A",
        metrics: "bmmmbb",
        groups: &[CSS, CSS_K, TRACEPOINTS],
        flags: "by_thread",
        ..NEWEST
    },
];

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/kernels")
}

fn facts(kernel: &str) -> KernelSupport {
    KernelSupport::read(&folder().join(kernel)).unwrap()
}

fn plan(support: &KernelSupport) -> AttachPlan {
    AttachPlan::from_support(support, None)
}

fn letters(plan: &AttachPlan) -> String {
    let letter = |strategy: &Strategy| match strategy.kind {
        StrategyKind::Tracepoints => 'A',
        StrategyKind::LockFunctions => 'B',
        StrategyKind::InferredRelease => 'C',
        StrategyKind::Walk => 'D',
        StrategyKind::WalkByKprobes => 'E',
    };
    plan.strategies.iter().map(letter).collect()
}

fn metrics(plan: &AttachPlan) -> String {
    let Some(best) = plan.best() else { return String::new() };
    let letter = |metric| match best.basis[metric] {
        Basis::From(_) => 'm',
        Basis::Unavailable(_) => 'u',
        Basis::Absent(_) => 'b',
    };
    Metric::ALL.iter().map(letter).collect()
}

fn groups(strategy: &Strategy) -> Vec<Vec<String>> {
    let line = |planned: &Planned| format!("{} {} {}", planned.attach.name(), planned.hook, planned.program);
    strategy.groups.iter().map(|group| group.programs.iter().map(line).collect()).collect()
}

fn flags(globals: &Globals) -> String {
    let flags = [
        ("by_thread", globals.by_thread),
        ("infer_end", globals.inferred != Inferred::Nothing),
        ("infer_begin", globals.inferred == Inferred::Both),
        ("flush_by_function", globals.flush_by_function),
    ];
    flags.iter().filter(|(_, set)| *set).map(|(name, _)| *name).collect::<Vec<_>>().join(" ")
}

#[test]
fn kernels() {
    for row in ROWS {
        let kernel = row.kernel;
        let plan = plan(&facts(kernel));
        assert_eq!(letters(&plan), row.strategies, "{kernel}");
        assert_eq!(metrics(&plan), row.metrics, "{kernel}");
        let best = plan.best().unwrap();
        assert_eq!(groups(best), row.groups, "{kernel}");
        let required: Vec<_> =
            best.groups.iter().filter(|group| group.required).map(|group| group.feature).collect();
        assert_eq!(required, [Feature::Sections], "{kernel}");
        let globals = best.globals;
        assert_eq!((globals.first_cpu, globals.last_cpu), row.cpus, "{kernel}");
        assert_eq!(flags(&globals), row.flags, "{kernel}");
        assert_eq!(globals.locks.iter().filter(|lock| **lock != 0).count(), row.locks, "{kernel}");
        assert_eq!(globals.label, row.label, "{kernel}");
        let warnings: &[&str] = if row.trap { &["can crash this kernel"] } else { &[] };
        assert_eq!(plan.warnings.len(), warnings.len(), "{kernel}");
        assert!(plan.warnings.iter().zip(warnings).all(|(all, part)| all.contains(part)), "{kernel}");
        assert!(plan.refusal.is_none(), "{kernel}");
    }
}

/// A kernel without a row is not tested here. A longer name is that of a kernel under other
/// circumstances: see the goldens of `check`.
#[test]
fn every_kernel_has_a_row() {
    for entry in fs::read_dir(folder()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(ROWS.iter().any(|row| name.starts_with(row.kernel)), "{name}");
    }
}

/// KERNELS.md section 8; `cgroup_subsys.id`, which is not there, as BTF has it.
#[test]
fn offsets() {
    for (kernel, cgroup_kn, kernfs_node_id, subsys_id, rstat_ss_lock) in [
        ("5.10.262-cloud-amd64", 248, 104, 148, None),
        ("6.1.192-cloud-amd64", 248, 104, 148, None),
        ("6.12.118-cloud-amd64", 256, 96, 164, None),
        ("6.16.12-cloud-amd64", 256, 96, 164, Some(252)),
        ("6.18.15-cloud-amd64", 256, 96, 156, Some(244)),
        ("6.18.44-no-kprobes", 256, 96, 156, Some(244)),
        ("7.0.13-cloud-amd64", 256, 96, 156, Some(244)),
        ("7.3.4-cloud-amd64", 296, 96, 156, Some(244)),
        // Not in KERNELS.md: sleeping locks are longer.
        ("7.3.4-rt-amd64", 296, 96, 156, Some(280)),
    ] {
        let facts = facts(kernel);
        let offsets = Offsets { cgroup_kn, kernfs_node_id, css_ss: Some(8), subsys_id: Some(subsys_id) };
        assert_eq!(facts.offsets, Some(offsets), "{kernel}");
        assert_eq!(facts.rstat_ss_lock, rstat_ss_lock, "{kernel}");
    }
}
