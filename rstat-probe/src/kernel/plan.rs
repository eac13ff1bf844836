//! From facts to hooks: which program goes on which hook, what each metric rests on, and what is
//! unavailable and why. Pure; names decide, never version numbers.

use std::collections::BTreeMap;

use rstat_probe_report::metric::Metric;

use super::support::{Capability, KernelSupport, Names, Offsets};

/// How a program is attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AttachKind {
    RawTracepoint,
    Fentry,
    Fexit,
}

impl AttachKind {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::RawTracepoint => "raw_tracepoint",
            Self::Fentry => "fentry",
            Self::Fexit => "fexit",
        }
    }
}

/// One program on one hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Planned {
    /// Name of the program in the eBPF object.
    pub program: &'static str,
    pub hook: &'static str,
    pub attach: AttachKind,
    pub serves: &'static [Metric],
}

/// Programs that are attached together or not at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Group {
    /// In the order of attachment: ends before begins, so that no begin lacks its end.
    pub programs: Vec<Planned>,
    /// Whether nothing can be measured without the group.
    pub required: bool,
}

impl Group {
    /// Whether the group hooks functions.
    pub(crate) fn is_function(&self) -> bool {
        self.programs.iter().any(|planned| planned.attach != AttachKind::RawTracepoint)
    }
}

/// A hook that exists or could, and is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NotUsed {
    pub hook: String,
    pub attach: AttachKind,
    pub reason: String,
}

/// What a metric rests on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Basis {
    /// Measured, and how.
    From(String),
    /// Exists on this kernel, but cannot be measured.
    Unavailable(String),
    /// This kernel has no such thing.
    Absent(String),
}

/// The decision.
#[derive(Clone, Debug)]
pub(crate) struct AttachPlan {
    pub groups: Vec<Group>,
    pub not_used: Vec<NotUsed>,
    pub basis: BTreeMap<Metric, Basis>,
    /// The tracepoint's `cpu` argument at the first acquisition of a flush.
    pub first_cpu: i32,
    /// The tracepoint's `cpu` argument at the last release of a flush.
    pub last_cpu: i32,
    /// Whether the kernel has `cgroup_rstat_flush_locked`.
    pub flush_locked: bool,
    /// BTF type id of the flush function that the plan hooks.
    pub flush_function_id: Option<u32>,
    pub offsets: Option<Offsets>,
    /// What the user should know before other tools are used on this kernel.
    pub warnings: Vec<String>,
}

const SECTION_METRICS: &[Metric] = &[Metric::LockWait, Metric::LockHold, Metric::IrqsOff, Metric::Flush];
const WAIT_METRICS: &[Metric] = &[Metric::LockWait, Metric::IrqsOff];
const FLUSH_METRICS: &[Metric] = &[Metric::Flush];
const CPU_LOCK_METRICS: &[Metric] = &[Metric::CpuLockWait, Metric::CpuLockHold];

const fn raw(program: &'static str, hook: &'static str, serves: &'static [Metric]) -> Planned {
    Planned { program, hook, attach: AttachKind::RawTracepoint, serves }
}

/// The main locks, from commit fc29e04ae1ad (6.10) on.
const LOCK: [Planned; 3] = [
    raw("lock_unlock", "cgroup_rstat_unlock", SECTION_METRICS),
    raw("lock_locked", "cgroup_rstat_locked", SECTION_METRICS),
    raw("lock_contended", "cgroup_rstat_lock_contended", WAIT_METRICS),
];

/// The per-CPU locks, from commit 21c38a3bd4ee (6.10) to 6af89c6ca717 (6.17).
const CPU_LOCK: [Planned; 6] = [
    raw("cpu_unlock", "cgroup_rstat_cpu_unlock", CPU_LOCK_METRICS),
    raw("cpu_unlock_fp", "cgroup_rstat_cpu_unlock_fastpath", CPU_LOCK_METRICS),
    raw("cpu_locked", "cgroup_rstat_cpu_locked", CPU_LOCK_METRICS),
    raw("cpu_locked_fp", "cgroup_rstat_cpu_locked_fastpath", CPU_LOCK_METRICS),
    raw("cpu_contended", "cgroup_rstat_cpu_lock_contended", CPU_LOCK_METRICS),
    raw("cpu_contended_fp", "cgroup_rstat_cpu_lock_contended_fastpath", CPU_LOCK_METRICS),
];

/// The flush function under its names: before and after commit a97915559f5c (6.16).
const FLUSH_FUNCTIONS: [&str; 2] = ["css_rstat_flush", "cgroup_rstat_flush"];
const FLUSH_LOCKED: &str = "cgroup_rstat_flush_locked";

const NEED_TRACEPOINTS: &str = "this kernel has no rstat tracepoints (Linux has them from 6.10 on), and hooks for older kernels are not in this version";
const NO_RT: &str = "on PREEMPT_RT the owner of the lock can be preempted, which this version cannot follow";

impl AttachPlan {
    /// Decides from `support`.
    pub(crate) fn from_support(support: &KernelSupport) -> Self {
        let mut plan = Self {
            groups: Vec::new(),
            not_used: Vec::new(),
            basis: BTreeMap::new(),
            first_cpu: -1,
            last_cpu: -1,
            flush_locked: false,
            flush_function_id: None,
            offsets: support.offsets,
            warnings: Vec::new(),
        };
        let refusal = if support.preempt_rt {
            Some(NO_RT)
        } else if support.names.as_ref().is_some_and(|names| !LOCK.iter().all(|p| names.tracepoint(p.hook))) {
            Some(NEED_TRACEPOINTS)
        } else {
            None
        };
        if let Some(reason) = refusal {
            for metric in SECTION_METRICS.iter().chain(CPU_LOCK_METRICS) {
                plan.basis.insert(*metric, Basis::Unavailable(reason.to_owned()));
            }
            if support.names.as_ref().is_some_and(|names| !has_cpu_locks(names)) {
                plan.no_cpu_locks();
            }
            return plan;
        }
        plan.groups.push(Group { programs: LOCK.to_vec(), required: true });
        plan.basis.insert(
            Metric::LockHold,
            Basis::From("cgroup_rstat_locked to cgroup_rstat_unlock on one CPU".to_owned()),
        );
        plan.basis.insert(
            Metric::LockWait,
            Basis::From(
                "cgroup_rstat_lock_contended to cgroup_rstat_locked by one thread; an upper bound, since IRQs go off a little later"
                    .to_owned(),
            ),
        );
        plan.basis.insert(
            Metric::IrqsOff,
            Basis::From("lock_wait plus lock_hold of the same acquisition; exact without a wait, an upper bound with one".to_owned()),
        );
        plan.flush(support);
        plan.cpu_locks(support.names.as_ref());
        plan
    }

    /// Whether anything can be measured.
    pub(crate) fn measures(&self) -> bool {
        !self.groups.is_empty()
    }

    /// Why something cannot be measured.
    pub(crate) fn refusal(&self) -> Option<&str> {
        self.basis.values().find_map(|basis| match basis {
            Basis::Unavailable(reason) => Some(reason.as_str()),
            _ => None,
        })
    }

    /// The flush function that the plan hooks.
    pub(crate) fn flush_function(&self) -> Option<&'static str> {
        self.groups.iter().find(|group| group.is_function())?.programs.first().map(|planned| planned.hook)
    }

    fn flush(&mut self, support: &KernelSupport) {
        let Some(names) = &support.names else {
            self.basis.insert(
                Metric::Flush,
                Basis::Unavailable(
                    "neither /sys/kernel/btf/vmlinux nor /proc/kallsyms can be read, so it is unknown how this kernel marks a flush"
                        .to_owned(),
                ),
            );
            // No cpu argument equals this one, so that no flush is ever begun.
            (self.first_cpu, self.last_cpu) = (i32::MIN, i32::MIN);
            return;
        };
        self.flush_locked = names.function(FLUSH_LOCKED);
        // The events got safe when their argument became a css: commit a97915559f5c (6.16).
        if !names.function("css_rstat_flush") {
            self.warnings.push(
                "other tools: the classic trace events of these tracepoints (perf, ftrace, BPF `tracepoint` programs) can crash this kernel with the lock held; rstat-probe uses raw tracepoints, which do not"
                    .to_owned(),
            );
        }
        let tracepoints = if self.flush_locked {
            "first acquisition with cpu -1 to last release with cpu -1 by one thread"
        } else {
            let cpu = |cpu: Option<&u32>| cpu.and_then(|cpu| i32::try_from(*cpu).ok()).unwrap_or(0);
            self.first_cpu = cpu(support.possible.cpus.first());
            self.last_cpu = cpu(support.possible.cpus.last());
            "acquisition for the first possible CPU to release for the last one by one thread"
        };
        let function = FLUSH_FUNCTIONS.into_iter().find(|name| names.function(name));
        let reason = match function {
            None => Some("the kernel has no such function".to_owned()),
            Some(name) => {
                self.flush_function_id = names.functions.get(name).copied().flatten();
                self.flush_function_id.is_none().then(|| "fentry needs BTF".to_owned())
            }
        };
        if let (Some(function), None) = (function, &reason) {
            let hook = |program, attach| Planned { program, hook: function, attach, serves: FLUSH_METRICS };
            self.groups.push(Group {
                programs: vec![
                    hook("flush_return", AttachKind::Fexit),
                    hook("flush_entry", AttachKind::Fentry),
                ],
                required: false,
            });
        } else if let Some(reason) = reason {
            self.not_used.push(NotUsed {
                hook: function.unwrap_or(FLUSH_FUNCTIONS[0]).to_owned(),
                attach: AttachKind::Fentry,
                reason,
            });
        }
        self.basis.insert(Metric::Flush, Basis::From(tracepoints.to_owned()));
    }

    fn cpu_locks(&mut self, names: Option<&Names>) {
        let Some(names) = names else {
            for metric in CPU_LOCK_METRICS {
                self.basis.insert(
                    *metric,
                    Basis::Unavailable(
                        "the names of hooks cannot be looked up, so it is unknown whether this kernel has such locks"
                            .to_owned(),
                    ),
                );
            }
            return;
        };
        if !has_cpu_locks(names) {
            self.no_cpu_locks();
            return;
        }
        self.groups.push(Group { programs: CPU_LOCK.to_vec(), required: false });
        self.basis.insert(
            Metric::CpuLockHold,
            Basis::From(
                "cgroup_rstat_cpu_locked to _cpu_unlock on one CPU, flush and update path".to_owned(),
            ),
        );
        self.basis.insert(
            Metric::CpuLockWait,
            Basis::From(
                "cgroup_rstat_cpu_lock_contended to _cpu_locked by one thread, flush and update path"
                    .to_owned(),
            ),
        );
    }

    fn no_cpu_locks(&mut self) {
        for metric in CPU_LOCK_METRICS {
            self.basis.insert(
                *metric,
                Basis::Absent(
                    "no per-CPU rstat locks with tracepoints (Linux has them from 6.10 to 6.16)".to_owned(),
                ),
            );
        }
    }
}

fn has_cpu_locks(names: &Names) -> bool {
    CPU_LOCK.iter().all(|planned| names.tracepoint(planned.hook))
}

/// What the process lacks to load and attach the programs: one line, or none.
///
/// Rules: `bpf_prog_load` in kernel/bpf/syscall.c; CAP_SYS_ADMIN stands in for both.
pub(crate) fn missing_privilege(support: &KernelSupport) -> Option<String> {
    const HOW: &str = "run it with sudo, or give the file both (setcap cap_bpf,cap_perfmon+ep)";
    if !support.initial_user_namespace {
        return Some(
            "needs CAP_BPF and CAP_PERFMON in the initial user namespace, and this process is in another one (a rootless container?); run it on the host"
                .to_owned(),
        );
    }
    if support.has(Capability::SysAdmin) {
        return None;
    }
    let missing: Vec<&str> = [(Capability::Bpf, "CAP_BPF"), (Capability::Perfmon, "CAP_PERFMON")]
        .into_iter()
        .filter(|(capability, _)| !support.has(*capability))
        .map(|(_, name)| name)
        .collect();
    (!missing.is_empty()).then(|| format!("needs {}, which this process lacks; {HOW}", missing.join(" and ")))
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
