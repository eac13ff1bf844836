//! From facts to hooks: which program goes on which hook, what each metric rests on, and what is
//! unavailable and why. Pure; names decide, never version numbers.
//!
//! There are several ways to measure ([`StrategyKind`]). The plan holds those that could work,
//! best first; the session takes the first one whose hooks the kernel accepts.

mod asked;
#[cfg(test)]
mod fixtures;
mod functions;
pub(in crate::kernel) mod hooks;
mod privilege;
#[cfg(test)]
mod tests;
mod tracepoints;
mod types;

use std::collections::BTreeMap;

use rstat_probe_report::metric::Metric;

use super::support::{KernelSupport, Names, Offsets};
use asked::{Asked, NO_KPROBES, NO_TRACEPOINTS};
pub(crate) use privilege::missing_privilege;
pub(crate) use types::*;

/// The decision.
#[derive(Clone, Debug)]
pub(crate) struct AttachPlan {
    /// Best first; empty when nothing can be measured.
    pub strategies: Vec<Strategy>,
    /// Ways that do not come into question, and why.
    pub skipped: Vec<(StrategyKind, String)>,
    pub not_used: Vec<NotUsed>,
    /// Why nothing can be measured.
    pub refusal: Option<String>,
    /// Whether the kernel has `cgroup_rstat_flush_locked`.
    pub flush_locked: bool,
    /// Whether each subsystem has a lock of its own (6.16 and later).
    pub many_locks: bool,
    pub offsets: Option<Offsets>,
    /// What the user should know before other tools are used on this kernel.
    pub warnings: Vec<String>,
}

/// Trap of 6.10 to 6.15: the record code of the events dereferences what a failed mkdir left NULL.
const TRAP: &str =
    "other tools: the classic trace events of these tracepoints (perf, ftrace, BPF `tracepoint` programs)";
const TRAP_END: &str = "with the lock held; rstat-probe uses raw tracepoints, which do not";

const RT_NEEDS_TRACEPOINTS: &str = "on PREEMPT_RT the tracepoints are needed (Linux has them from 6.10 on), because IRQs stay on and the owner of the lock can be preempted";

impl AttachPlan {
    /// Decides from `support`, within what `force` allows.
    pub(crate) fn from_support(support: &KernelSupport, force: Option<Force>) -> Self {
        let mut plan = Self {
            strategies: Vec::new(),
            skipped: Vec::new(),
            not_used: Vec::new(),
            refusal: None,
            flush_locked: false,
            many_locks: false,
            offsets: support.offsets.filter(|_| support.programs_may_read_memory()),
            warnings: Vec::new(),
        };
        let Some(names) = &support.names else {
            plan.strategies.push(blind(support));
            plan.warnings.push(format!("{TRAP} may crash this kernel {TRAP_END}"));
            return plan;
        };
        plan.flush_locked = names.function(hooks::WALK);
        plan.many_locks = names.function(hooks::CSS_FLUSH);
        let asked = Asked { support, names };
        plan.tracepoints(&asked, force);
        // Without the locks' addresses or with their functions hooked, the wait of a sleeping lock
        // would be taken for time with IRQs off.
        if support.preempt_rt {
            plan.skipped.push((StrategyKind::LockFunctions, RT_NEEDS_TRACEPOINTS.to_owned()));
        } else {
            plan.functions(&asked, force);
        }
        if plan.strategies.is_empty() {
            plan.refusal = Some(plan.why_nothing(&asked));
        }
        for strategy in &mut plan.strategies {
            cpu_locks(strategy, names);
        }
        plan
    }

    fn why_nothing(&self, asked: &Asked<'_>) -> String {
        if let (Some(error), false) = (&asked.support.btf_error, asked.support.kprobes)
            && asked.has(hooks::WALK)
        {
            return format!(
                "{NO_TRACEPOINTS}, and to hook its functions takes BTF ({error}) or kprobes (CONFIG_KPROBE_EVENTS)"
            );
        }
        match self.skipped.last() {
            Some((_, reason)) => reason.clone(),
            None => NO_TRACEPOINTS.to_owned(),
        }
    }

    /// Whether anything can be measured.
    pub(crate) fn measures(&self) -> bool {
        !self.strategies.is_empty()
    }

    /// The best way.
    pub(crate) fn best(&self) -> Option<&Strategy> {
        self.strategies.first()
    }

    fn tracepoints(&mut self, asked: &Asked<'_>, force: Option<Force>) {
        if !asked.has_tracepoints() {
            self.skipped.push((StrategyKind::Tracepoints, NO_TRACEPOINTS.to_owned()));
            return;
        }
        // The events got safe when their argument became a css: commit a97915559f5c (6.16).
        if !self.many_locks {
            self.warnings.push(format!("{TRAP} can crash this kernel {TRAP_END}"));
        }
        let function = hooks::FLUSH_FUNCTIONS.into_iter().find(|name| asked.names.function(name));
        if matches!(force, None | Some(Force::Tracepoints)) {
            self.strategies.push(tracepoints::strategy(asked, function, force.is_some()));
        }
        let without = |hook: &str, reason: &str| NotUsed {
            hook: hook.to_owned(),
            attach: AttachKind::Fentry,
            reason: reason.to_owned(),
        };
        if let Some(reason) = no_function_hooks(asked, function) {
            self.not_used.push(without(function.unwrap_or(hooks::FLUSH_FUNCTIONS[0]), &reason));
        }
        if asked.support.locks.is_empty() && !asked.support.preempt_rt {
            self.not_used.push(without(hooks::SLOW_PATHS[0].2, asked.why_no_locks()));
        }
    }

    fn functions(&mut self, asked: &Asked<'_>, force: Option<Force>) {
        let without_trylock = force == Some(Force::LockFunctionsWithoutTrylock);
        let wanted = |forces: &[Force]| force.is_none_or(|force| forces.contains(&force));
        if wanted(&[Force::LockFunctions, Force::LockFunctionsWithoutTrylock]) {
            self.add(StrategyKind::LockFunctions, functions::lock_functions(asked, without_trylock));
        }
        if wanted(&[Force::Walk]) {
            self.add(StrategyKind::Walk, functions::walk_only(asked, false));
        }
        if wanted(&[Force::Kprobes]) {
            self.add(StrategyKind::WalkByKprobes, functions::walk_only(asked, true));
        }
    }

    fn add(&mut self, kind: StrategyKind, strategy: Result<Strategy, String>) {
        match strategy {
            Ok(strategy) => self.strategies.push(strategy),
            Err(reason) => self.skipped.push((kind, reason)),
        }
    }
}

/// Why no function can be hooked beside the tracepoints, if none can.
fn no_function_hooks(asked: &Asked<'_>, function: Option<&str>) -> Option<String> {
    let Some(function) = function else { return Some("the kernel has no such function".to_owned()) };
    let fentry = asked.fentry(&[function]);
    (!fentry && !asked.support.kprobes)
        .then(|| format!("{}, and {NO_KPROBES}", asked.why_no_fentry(&[function])))
}

/// The tracepoints are tried without knowing that they are there.
fn blind(support: &KernelSupport) -> Strategy {
    let names = Names {
        source: super::support::NameSource::Kallsyms,
        tracepoints: Vec::new(),
        functions: BTreeMap::new(),
    };
    let mut strategy = tracepoints::strategy(&Asked { support, names: &names }, None, true);
    "the names of hooks cannot be looked up; the tracepoints are tried".clone_into(&mut strategy.why);
    // No cpu argument equals this one, so that no flush is ever begun.
    (strategy.globals.first_cpu, strategy.globals.last_cpu) = (i32::MIN, i32::MIN);
    let unknown = |text: &str| {
        Basis::Unavailable(format!(
            "neither /sys/kernel/btf/vmlinux nor /proc/kallsyms can be read, so it is unknown {text}"
        ))
    };
    strategy.basis.insert(Metric::Flush, unknown("how this kernel marks a flush"));
    for metric in [Metric::CpuLockWait, Metric::CpuLockHold] {
        strategy.basis.insert(metric, unknown("whether this kernel has such locks"));
    }
    strategy
}

/// The per-CPU locks, by their tracepoints.
fn cpu_locks(strategy: &mut Strategy, names: &Names) {
    let (hold, wait) = if hooks::CPU_LOCK.iter().all(|planned| names.tracepoint(planned.hook)) {
        strategy.groups.push(Group::optional(Feature::CpuLocks, hooks::CPU_LOCK));
        (
            Basis::From(
                "cgroup_rstat_cpu_locked to _cpu_unlock on one CPU, flush and update path".to_owned(),
            ),
            Basis::From(
                "cgroup_rstat_cpu_lock_contended to _cpu_locked by one thread, flush and update path"
                    .to_owned(),
            ),
        )
    } else {
        let gone = names.function(hooks::CSS_FLUSH);
        let absent = || {
            Basis::Absent(if gone {
                "no per-CPU rstat locks with tracepoints (Linux has them from 6.10 to 6.16)".to_owned()
            } else {
                "the per-CPU rstat locks have no tracepoints (Linux has them from 6.10 to 6.16)".to_owned()
            })
        };
        (absent(), absent())
    };
    strategy.basis.insert(Metric::CpuLockHold, hold);
    strategy.basis.insert(Metric::CpuLockWait, wait);
}
