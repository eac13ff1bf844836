//! Where a recording comes from.

use rstat_probe_report::{
    Counter, Metric, Snapshot,
    recording::{Cpus, Hook, HookNotUsed, Kernel, MetricBasis, Provenance},
    yields::YieldBehaviour,
};
use time::{OffsetDateTime, format_description::well_known::Rfc3339};

use crate::kernel::{
    plan::{AttachPlan, Basis},
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
        metrics: plan
            .basis
            .iter()
            .map(|(metric, basis)| {
                let basis = match basis {
                    Basis::From(text) if *metric == Metric::Flush && session.times_functions() => {
                        let function = plan.flush_function().unwrap_or_default();
                        let text = format!(
                            "{function} from entry to return; where that was not called or not seen, {text}"
                        );
                        MetricBasis { basis: Some(text), unavailable: None }
                    }
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
