//! Where a recording comes from.

use rstat_probe_common::wire::{SUBSYSTEM_BASE, SUBSYSTEM_FIRST, SUBSYSTEM_UNKNOWN, SubsystemStats};
use rstat_probe_report::{
    Counter, Snapshot,
    recording::{Cpus, Hook, HookNotUsed, Kernel, LockTotals, MetricBasis, Provenance},
    yields::YieldBehaviour,
};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use crate::kernel::{
    plan::{AttachPlan, Basis},
    reader::Reading,
    session::Session,
    support::KernelSupport,
};

/// The provenance of a measurement whose last snapshot is `last`.
pub(crate) fn provenance(
    support: &KernelSupport,
    plan: &AttachPlan,
    session: &Session,
    started: OffsetDateTime,
    last: &Snapshot,
) -> Provenance {
    let possible = u32::try_from(support.possible.cpus.len()).unwrap_or(u32::MAX);
    let counter = |counter| last.counters.get(&counter).copied().unwrap_or(0);
    Provenance {
        started: started.format(&Rfc3339).unwrap_or_default(),
        host: support.host.clone(),
        kernel: Kernel {
            release: support.release.clone(),
            version: support.version.clone(),
            machine: support.machine.clone(),
            build_id: support.build_id.clone(),
            preempt_rt: support.preempt_rt,
        },
        cpus: Cpus {
            possible,
            possible_list: support.possible.text.clone(),
            online: u32::try_from(support.online.cpus.len()).unwrap_or(u32::MAX),
            online_list: support.online.text.clone(),
        },
        command_line: std::env::args_os().map(|word| word.to_string_lossy().into_owned()).collect(),
        strategy: Some(session.strategy().title().to_owned()),
        hooks: session
            .attached()
            .iter()
            .map(|planned| Hook {
                hook: planned.hook.to_owned(),
                attach: planned.attach.name().to_owned(),
                program: planned.program.to_owned(),
                serves: planned.serves.iter().map(ToString::to_string).collect(),
            })
            .collect(),
        hooks_not_used: session
            .not_used()
            .iter()
            .map(|hook| HookNotUsed {
                hook: hook.hook.clone(),
                attach: hook.attach.name().to_owned(),
                reason: hook.reason.clone(),
            })
            .collect(),
        metrics: session
            .basis()
            .iter()
            .map(|(metric, basis)| {
                let basis = match basis {
                    Basis::From(text) => MetricBasis { basis: Some(text.clone()), unavailable: None },
                    Basis::Unavailable(reason) | Basis::Absent(reason) => {
                        MetricBasis { basis: None, unavailable: Some(reason.clone()) }
                    }
                };
                (*metric, basis)
            })
            .collect(),
        clock: "CLOCK_MONOTONIC".to_owned(),
        yield_behaviour: YieldBehaviour::from_counters(
            counter(Counter::Flushes),
            counter(Counter::Yields),
            counter(Counter::Sections),
            possible,
            plan.flush_locked,
        ),
    }
}

/// The locks that had sections, where the kernel has several.
pub(crate) fn locks(
    support: &KernelSupport,
    plan: &AttachPlan,
    session: &Session,
    last: &Reading,
) -> Vec<LockTotals> {
    if !plan.many_locks {
        return Vec::new();
    }
    let totals = |lock: &str, part: &SubsystemStats| LockTotals {
        lock: lock.to_owned(),
        sections: part.sections,
        contended: part.contended,
        hold_ns: part.hold,
        max_hold_ns: part.hold_max,
    };
    if !session.labels() {
        let hold = &last.lock_hold;
        let unlabelled = SubsystemStats {
            sections: hold.count(),
            contended: last.contended,
            hold: u64::try_from(hold.sum()).unwrap_or(u64::MAX),
            hold_max: hold.max().unwrap_or(0),
        };
        return if hold.count() == 0 { Vec::new() } else { vec![totals("unknown", &unlabelled)] };
    }
    let name = |index: u32| match index {
        SUBSYSTEM_BASE => "base".to_owned(),
        SUBSYSTEM_UNKNOWN => "unknown".to_owned(),
        other => {
            let id = other - SUBSYSTEM_FIRST;
            support.subsystems.get(&id).cloned().unwrap_or_else(|| format!("subsystem {id}"))
        }
    };
    (0..)
        .zip(&last.subsystems)
        .filter(|(_, part)| part.sections > 0)
        .map(|(index, part)| totals(&name(index), part))
        .collect()
}
