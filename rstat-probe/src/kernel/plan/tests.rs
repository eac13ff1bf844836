use std::collections::BTreeMap;

use super::*;
use crate::kernel::support::{Capability, CpuList, LockAddress, NameSource, TRACEPOINTS};

const SPIN: [&str; 2] = ["native_queued_spin_lock_slowpath", "__pv_queued_spin_lock_slowpath"];

/// 6.18 and later: three tracepoints, one flush function, everything readable.
fn newest() -> KernelSupport {
    let cpus = |text: &str, cpus: &[u32]| CpuList { text: text.to_owned(), cpus: cpus.to_vec() };
    let mut functions =
        vec!["css_rstat_flush", "_raw_spin_lock_irq", "_raw_spin_unlock_irq", "_raw_spin_trylock"];
    functions.extend(SPIN);
    KernelSupport {
        host: "host".to_owned(),
        release: "6.18.15".to_owned(),
        version: "#1 SMP PREEMPT_DYNAMIC".to_owned(),
        machine: "x86_64".to_owned(),
        build_id: None,
        preempt_rt: false,
        possible: cpus("2-5", &[2, 3, 4, 5]),
        online: cpus("2-3", &[2, 3]),
        capabilities: 1 << Capability::Bpf as u32 | 1 << Capability::Perfmon as u32,
        initial_user_namespace: true,
        lockdown: Some("none".to_owned()),
        tracefs: None,
        irqsoff: None,
        names: Some(names(&TRACEPOINTS[..3], &functions)),
        btf_error: None,
        offsets: Some(Offsets { cgroup_kn: 256, kernfs_node_id: 96, css_ss: Some(8), subsys_id: Some(156) }),
        rstat_ss_lock: Some(244),
        subsystems: BTreeMap::from([(4, "memory".to_owned())]),
        kprobes: true,
        kptr_restrict: Some(0),
        locks: vec![lock("rstat_base_lock", 0x1000), lock("memory_cgrp_subsys.rstat_ss_lock", 0x2000)],
        no_function_hooks: None,
        locks_error: None,
    }
}

/// 6.1: no tracepoints, all functions.
fn old() -> KernelSupport {
    let mut functions = vec![
        "cgroup_rstat_flush_locked",
        "cgroup_rstat_flush",
        "cgroup_base_stat_cputime_show",
        "_raw_spin_lock_irq",
        "_raw_spin_unlock_irq",
        "_raw_spin_trylock",
    ];
    functions.extend(SPIN);
    KernelSupport {
        names: Some(names(&[], &functions)),
        locks: vec![lock("cgroup_rstat_lock", 0x1000)],
        ..newest()
    }
}

/// 5.10: the same with the unlock function inlined.
fn inlined() -> KernelSupport {
    without(old(), "_raw_spin_unlock_irq")
}

fn without(mut support: KernelSupport, function: &str) -> KernelSupport {
    support.names.as_mut().unwrap().functions.remove(function);
    support
}

fn without_btf(mut support: KernelSupport) -> KernelSupport {
    support.btf_error = Some("absent".to_owned());
    support.offsets = None;
    let names = support.names.as_mut().unwrap();
    names.source = NameSource::Kallsyms;
    names.functions.values_mut().for_each(|id| *id = None);
    support
}

fn without_addresses(support: KernelSupport) -> KernelSupport {
    KernelSupport { locks: Vec::new(), locks_error: Some("hidden".to_owned()), ..support }
}

fn lock(symbol: &str, address: u64) -> LockAddress {
    LockAddress { symbol: symbol.to_owned(), subsystem: None, address }
}

fn names(tracepoints: &[&str], functions: &[&str]) -> Names {
    Names {
        source: NameSource::Btf,
        tracepoints: tracepoints.iter().map(|name| (*name).to_owned()).collect(),
        functions: functions.iter().map(|name| ((*name).to_owned(), Some(7))).collect(),
    }
}

fn plan(support: &KernelSupport) -> AttachPlan {
    AttachPlan::from_support(support, None)
}

fn programs(strategy: &Strategy) -> Vec<&str> {
    strategy.groups.iter().flat_map(|group| &group.programs).map(|planned| planned.program).collect()
}

fn kinds(plan: &AttachPlan) -> Vec<StrategyKind> {
    plan.strategies.iter().map(|strategy| strategy.kind).collect()
}

fn text(basis: &Basis) -> &str {
    match basis {
        Basis::From(text) | Basis::Unavailable(text) | Basis::Absent(text) => text,
    }
}

#[test]
fn newest_kernels() {
    let plan = plan(&newest());
    assert_eq!(kinds(&plan), [StrategyKind::Tracepoints, StrategyKind::LockFunctions]);
    let best = plan.best().unwrap();
    assert_eq!(
        programs(best),
        [
            "flush_return",
            "flush_entry",
            "flush_return_k",
            "flush_entry_k",
            "spin_native",
            "spin_pv",
            "spin_native_k",
            "spin_pv_k",
            "lock_unlock",
            "lock_locked",
            "lock_contended"
        ]
    );
    let globals = best.globals;
    assert_eq!((globals.first_cpu, globals.last_cpu), (2, 5), "possible CPUs, not online ones");
    assert_eq!(globals.locks, [0x1000, 0x2000, 0, 0]);
    assert_eq!(globals.label, Some((8, 156)));
    assert!(!globals.by_thread && !globals.flush_by_function);
    assert_eq!(globals.inferred, Inferred::Nothing);
    assert!(!plan.flush_locked && plan.many_locks && plan.warnings.is_empty());
    assert!(matches!(best.basis[&Metric::CpuLockHold], Basis::Absent(_)));
    let alone = text(&best.basis_with(&[])[&Metric::IrqsOff]).to_owned();
    assert!(alone.contains("upper bound"));
    assert!(text(&best.basis_with(&[Feature::Spin])[&Metric::IrqsOff]).ends_with("exact"));
}

#[test]
fn without_tracepoints_that_attach_the_lock_functions_try_the_lock_first() {
    let plan = plan(&newest());
    let second = &plan.strategies[1];
    assert_eq!(
        programs(second),
        ["released", "flush_return", "flush_entry", "acquired", "tried", "spin_native", "spin_pv"]
    );
    assert!(second.globals.flush_by_function);
}

#[test]
fn kernels_with_the_walk_and_per_cpu_locks() {
    let mut support = old();
    support.names.as_mut().unwrap().tracepoints = TRACEPOINTS.map(str::to_owned).to_vec();
    let plan = plan(&support);
    // A walk that yields for every CPU cannot stand in for the sections.
    assert_eq!(kinds(&plan), [StrategyKind::Tracepoints, StrategyKind::LockFunctions]);
    let best = plan.best().unwrap();
    assert_eq!((best.globals.first_cpu, best.globals.last_cpu), (-1, -1));
    assert!(plan.flush_locked && !plan.many_locks && best.globals.label.is_none());
    assert_eq!(best.groups[0].programs[0].hook, "cgroup_rstat_flush");
    assert!(best.groups.iter().any(|group| group.feature == Feature::CpuLocks));
    assert!(plan.warnings[0].contains("can crash this kernel"));
    assert!(matches!(best.basis[&Metric::CpuLockHold], Basis::From(_)));
}

#[test]
fn kernels_without_tracepoints_use_the_lock_functions() {
    let plan = plan(&old());
    assert_eq!(kinds(&plan), [StrategyKind::LockFunctions, StrategyKind::Walk, StrategyKind::WalkByKprobes]);
    assert_eq!(plan.skipped[0].0, StrategyKind::Tracepoints);
    let best = plan.best().unwrap();
    assert_eq!(
        programs(best),
        ["released", "walk_end", "walk_begin", "acquired", "spin_native", "spin_pv"],
        "no trylock before 6.10"
    );
    assert_eq!(best.globals.inferred, Inferred::Nothing);
    assert!(Metric::ALL.iter().take(4).all(|metric| matches!(best.basis[metric], Basis::From(_))));
}

#[test]
fn an_inlined_release_is_inferred_and_the_recording_will_say_so() {
    let plan = plan(&inlined());
    let best = plan.best().unwrap();
    assert_eq!(best.kind, StrategyKind::InferredRelease);
    assert_eq!(
        programs(best),
        [
            "walk_end",
            "walk_begin",
            "switched",
            "acquired",
            "spin_native",
            "spin_pv",
            "reader_end",
            "reader_begin"
        ]
    );
    assert_eq!(best.globals.inferred, Inferred::Releases);
    assert!(text(&best.basis[&Metric::LockHold]).contains("inlined"));
    assert!(text(&best.basis[&Metric::LockHold]).contains("says for how long at most"));
}

#[test]
fn hidden_addresses_leave_the_walk() {
    let plan = plan(&without_addresses(old()));
    assert_eq!(kinds(&plan), [StrategyKind::Walk, StrategyKind::WalkByKprobes]);
    let best = plan.best().unwrap();
    assert_eq!(programs(best), ["walk_end", "walk_begin", "switched", "reader_end", "reader_begin"]);
    assert!(matches!(&best.basis[&Metric::IrqsOff], Basis::Unavailable(reason) if reason.contains("hidden")));
    assert!(matches!(best.basis[&Metric::LockHold], Basis::From(_)));
    assert!(best.why.contains("hidden"), "{}", best.why);
}

#[test]
fn hidden_addresses_cost_the_tracepoints_only_the_exact_begin() {
    let plan = plan(&without_addresses(newest()));
    let best = plan.best().unwrap();
    assert!(best.groups.iter().all(|group| group.feature != Feature::Spin));
    assert_eq!(plan.not_used[0].reason, "hidden");
    assert!(matches!(best.basis[&Metric::IrqsOff], Basis::From(_)));
}

#[test]
fn without_btf_kprobes_stand_in() {
    let plan_of_old = plan(&without_btf(old()));
    assert_eq!(kinds(&plan_of_old), [StrategyKind::WalkByKprobes]);
    let best = plan_of_old.best().unwrap();
    assert_eq!(
        programs(best),
        [
            "walk_end_k",
            "walk_begin_k",
            "switched",
            "spin_native_k",
            "spin_pv_k",
            "reader_end_k",
            "reader_begin_k"
        ]
    );
    assert_eq!(best.globals.inferred, Inferred::Both);

    let plan_of_newest = plan(&without_btf(newest()));
    let best = plan_of_newest.best().unwrap();
    let flush: Vec<_> = best.groups.iter().filter(|group| group.feature == Feature::Flush).collect();
    assert_eq!(flush.len(), 1);
    assert!(!flush[0].is_trampoline());
    assert!(best.globals.label.is_none(), "no offsets without BTF");
}

#[test]
fn without_btf_and_kprobes_the_tracepoints_stand_alone() {
    let support = KernelSupport { kprobes: false, ..without_btf(newest()) };
    let plan_of_newest = plan(&support);
    assert_eq!(programs(plan_of_newest.best().unwrap()), ["lock_unlock", "lock_locked", "lock_contended"]);
    assert!(plan_of_newest.not_used[0].reason.contains("CONFIG_KPROBE_EVENTS"));

    let nothing = plan(&KernelSupport { kprobes: false, ..without_btf(old()) });
    assert!(!nothing.measures());
    assert!(nothing.refusal.unwrap().contains("kprobes"));
}

#[test]
fn rt_measures_hold_and_wait_by_thread() {
    let plan_of_rt = plan(&KernelSupport { preempt_rt: true, ..newest() });
    assert_eq!(kinds(&plan_of_rt), [StrategyKind::Tracepoints]);
    let best = plan_of_rt.best().unwrap();
    assert!(best.globals.by_thread);
    assert!(
        matches!(&best.basis[&Metric::IrqsOff], Basis::Absent(reason) if reason.contains("IRQs stay on"))
    );
    assert!(matches!(best.basis[&Metric::LockHold], Basis::From(_)));
    assert!(best.groups.iter().all(|group| group.feature != Feature::Spin));
    let nothing = plan(&KernelSupport { preempt_rt: true, ..old() });
    assert!(!nothing.measures());
    assert!(nothing.refusal.unwrap().contains("PREEMPT_RT"));
}

#[test]
fn without_any_names_the_tracepoints_are_tried() {
    let plan = plan(&KernelSupport { names: None, ..newest() });
    let best = plan.best().unwrap();
    assert_eq!(programs(best), ["lock_unlock", "lock_locked", "lock_contended"]);
    assert!(matches!(&best.basis[&Metric::Flush], Basis::Unavailable(reason) if reason.contains("kallsyms")));
    assert_eq!(best.globals.first_cpu, i32::MIN);
}

#[test]
fn a_forced_strategy_is_the_only_one() {
    for (force, support, kind) in [
        (Force::Tracepoints, newest(), StrategyKind::Tracepoints),
        (Force::LockFunctions, newest(), StrategyKind::LockFunctions),
        (Force::LockFunctions, inlined(), StrategyKind::InferredRelease),
        (Force::Walk, old(), StrategyKind::Walk),
        (Force::Kprobes, old(), StrategyKind::WalkByKprobes),
    ] {
        let plan = AttachPlan::from_support(&support, Some(force));
        assert_eq!(kinds(&plan), [kind], "{force:?}");
    }
    let plan = AttachPlan::from_support(&newest(), Some(Force::Tracepoints));
    assert_eq!(programs(plan.best().unwrap()).len(), 3);
    let plan = AttachPlan::from_support(&newest(), Some(Force::LockFunctionsWithoutTrylock));
    assert!(!programs(plan.best().unwrap()).contains(&"tried"));
    assert!(!AttachPlan::from_support(&newest(), Some(Force::Walk)).measures());
}

#[test]
fn every_metric_has_a_basis_or_a_reason_in_every_strategy() {
    for support in [
        newest(),
        old(),
        inlined(),
        without_addresses(old()),
        without_btf(old()),
        without_btf(newest()),
        KernelSupport { names: None, ..newest() },
        KernelSupport { preempt_rt: true, ..newest() },
    ] {
        for strategy in plan(&support).strategies {
            for metric in Metric::ALL {
                assert!(strategy.basis.contains_key(metric), "{metric:?} in {:?}", strategy.kind);
            }
        }
    }
}

#[test]
fn no_program_is_on_two_hooks_and_ends_attach_first() {
    for support in [newest(), old(), inlined(), without_addresses(old()), without_btf(old())] {
        for strategy in plan(&support).strategies {
            for group in &strategy.groups {
                let mut names: Vec<_> = group.programs.iter().map(|planned| planned.program).collect();
                let place = |name: &str| names.iter().position(|other| *other == name);
                for (end, begin) in
                    [("walk_end", "walk_begin"), ("released", "acquired"), ("lock_unlock", "lock_locked")]
                {
                    assert!(place(end) <= place(begin) || place(end).is_none(), "{names:?}");
                }
                names.sort_unstable();
                names.dedup();
                assert_eq!(names.len(), group.programs.len());
            }
        }
    }
}

#[test]
fn privileges() {
    let with = |bits: u64| missing_privilege(&KernelSupport { capabilities: bits, ..newest() });
    let bit = |capability: Capability| 1u64 << capability as u32;
    assert_eq!(with(bit(Capability::SysAdmin)), None);
    assert_eq!(with(bit(Capability::Bpf) | bit(Capability::Perfmon)), None);
    assert!(with(bit(Capability::Bpf)).unwrap().starts_with("needs CAP_PERFMON, "));
    assert!(with(bit(Capability::Perfmon)).unwrap().starts_with("needs CAP_BPF, "));
    assert!(with(0).unwrap().starts_with("needs CAP_BPF and CAP_PERFMON, "));
    let other = KernelSupport { initial_user_namespace: false, ..newest() };
    assert!(missing_privilege(&other).unwrap().contains("user namespace"));
}
