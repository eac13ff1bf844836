use super::*;
use crate::kernel::support::{CpuList, NameSource, TRACEPOINTS};

/// 6.18 and later: three tracepoints, one flush function, BTF readable.
fn capable() -> KernelSupport {
    let cpus = |text: &str, cpus: &[u32]| CpuList { text: text.to_owned(), cpus: cpus.to_vec() };
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
        names: Some(names(&TRACEPOINTS[..3], &["css_rstat_flush"])),
        btf_error: None,
        offsets: Some(Offsets { cgroup_kn: 256, kernfs_node_id: 96 }),
    }
}

fn names(tracepoints: &[&str], functions: &[&str]) -> Names {
    Names {
        source: NameSource::Btf,
        tracepoints: tracepoints.iter().map(|name| (*name).to_owned()).collect(),
        functions: functions.iter().map(|name| ((*name).to_owned(), Some(7))).collect(),
    }
}

fn programs(plan: &AttachPlan) -> Vec<&str> {
    plan.groups.iter().flat_map(|group| &group.programs).map(|planned| planned.program).collect()
}

#[test]
fn newest_kernels() {
    let plan = AttachPlan::from_support(&capable());
    assert_eq!(
        programs(&plan),
        ["lock_unlock", "lock_locked", "lock_contended", "flush_return", "flush_entry"]
    );
    assert_eq!((plan.first_cpu, plan.last_cpu), (2, 5), "possible CPUs, not online ones");
    assert!(!plan.flush_locked && plan.warnings.is_empty());
    assert!(matches!(plan.basis[&Metric::CpuLockHold], Basis::Absent(_)));
    assert!(matches!(plan.basis[&Metric::Flush], Basis::From(_)));
}

#[test]
fn kernels_with_flush_locked_and_per_cpu_locks() {
    let plan = AttachPlan::from_support(&KernelSupport {
        names: Some(names(&TRACEPOINTS, &["cgroup_rstat_flush_locked", "cgroup_rstat_flush"])),
        ..capable()
    });
    assert_eq!((plan.first_cpu, plan.last_cpu), (-1, -1));
    assert!(plan.flush_locked);
    assert_eq!(plan.groups.len(), 3);
    assert!(plan.groups[1].programs.iter().all(|planned| planned.hook == "cgroup_rstat_flush"));
    assert!(plan.warnings[0].contains("can crash this kernel"));
    assert!(matches!(plan.basis[&Metric::CpuLockHold], Basis::From(_)));
}

#[test]
fn kernels_without_tracepoints_measure_nothing_and_say_why() {
    let plan = AttachPlan::from_support(&KernelSupport {
        names: Some(names(&[], &["cgroup_rstat_flush_locked", "cgroup_rstat_flush"])),
        ..capable()
    });
    assert!(!plan.measures());
    assert!(matches!(&plan.basis[&Metric::IrqsOff], Basis::Unavailable(reason) if reason.contains("6.10")));
}

#[test]
fn rt_measures_nothing_and_says_why() {
    let plan = AttachPlan::from_support(&KernelSupport { preempt_rt: true, ..capable() });
    assert!(!plan.measures());
    assert!(
        matches!(&plan.basis[&Metric::LockHold], Basis::Unavailable(reason) if reason.contains("PREEMPT_RT"))
    );
}

#[test]
fn without_btf_the_flush_comes_from_the_tracepoints() {
    let mut support = capable();
    support.btf_error = Some("absent".to_owned());
    support.offsets = None;
    if let Some(names) = &mut support.names {
        names.source = NameSource::Kallsyms;
        names.functions.values_mut().for_each(|id| *id = None);
    }
    let plan = AttachPlan::from_support(&support);
    assert_eq!(programs(&plan), ["lock_unlock", "lock_locked", "lock_contended"]);
    assert_eq!(plan.not_used[0].reason, "fentry needs BTF");
    assert!(matches!(plan.basis[&Metric::Flush], Basis::From(_)));
}

#[test]
fn without_any_names_flush_is_unavailable_but_the_lock_is_tried() {
    let plan = AttachPlan::from_support(&KernelSupport { names: None, ..capable() });
    assert_eq!(programs(&plan), ["lock_unlock", "lock_locked", "lock_contended"]);
    assert!(matches!(&plan.basis[&Metric::Flush], Basis::Unavailable(reason) if reason.contains("kallsyms")));
    assert_eq!(plan.first_cpu, i32::MIN);
}

#[test]
fn every_metric_has_a_basis_or_a_reason() {
    for support in [
        capable(),
        KernelSupport { names: None, ..capable() },
        KernelSupport { preempt_rt: true, ..capable() },
    ] {
        let plan = AttachPlan::from_support(&support);
        for metric in Metric::ALL {
            assert!(plan.basis.contains_key(metric), "{metric:?}");
        }
    }
}

#[test]
fn privileges() {
    let with = |bits: u64| missing_privilege(&KernelSupport { capabilities: bits, ..capable() });
    let bit = |capability: Capability| 1u64 << capability as u32;
    assert_eq!(with(bit(Capability::SysAdmin)), None);
    assert_eq!(with(bit(Capability::Bpf) | bit(Capability::Perfmon)), None);
    assert!(with(bit(Capability::Bpf)).unwrap().starts_with("needs CAP_PERFMON, "));
    assert!(with(bit(Capability::Perfmon)).unwrap().starts_with("needs CAP_BPF, "));
    assert!(with(0).unwrap().starts_with("needs CAP_BPF and CAP_PERFMON, "));
    let other = KernelSupport { initial_user_namespace: false, ..capable() };
    assert!(missing_privilege(&other).unwrap().contains("user namespace"));
}
