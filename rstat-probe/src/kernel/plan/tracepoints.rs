//! A: the rstat tracepoints, and what function hooks add to them.

use std::collections::BTreeMap;

use rstat_probe_report::metric::Metric;

use super::{
    Basis, Feature, Globals, Group, Strategy, StrategyKind,
    asked::{Asked, from},
    hooks::{CSS_FLUSH, LOCK, WALK, flush},
};

const RT: &str = "on PREEMPT_RT the rstat locks are sleeping locks, and IRQs stay on";

/// How the kernel marks a flush by tracepoints: `cpu` at the first acquisition and the last release.
fn flush_by_tracepoints(asked: &Asked<'_>) -> (i32, i32, &'static str) {
    if asked.has(WALK) {
        return (-1, -1, "first acquisition with cpu -1 to last release with cpu -1 by one thread");
    }
    let cpu = |cpu: Option<&u32>| cpu.and_then(|cpu| i32::try_from(*cpu).ok()).unwrap_or(0);
    let possible = &asked.support.possible.cpus;
    let text = "acquisition for the first possible CPU to release for the last one by one thread";
    (cpu(possible.first()), cpu(possible.last()), text)
}

/// A: the tracepoints are the truth; function hooks add to it where they attach.
pub(super) fn strategy(asked: &Asked<'_>, function: Option<&'static str>, alone: bool) -> Strategy {
    let (first_cpu, last_cpu, flush_text) = flush_by_tracepoints(asked);
    let rt = asked.support.preempt_rt;
    let mut groups = Vec::new();
    let mut refined = Vec::new();
    if let (Some(function), false) = (function, alone) {
        if asked.fentry(&[function]) {
            groups.push(Group::optional(Feature::Flush, flush(function, false)));
        }
        if asked.support.kprobes {
            groups.push(Group::optional(Feature::Flush, flush(function, true)));
        }
        let text =
            format!("{function} from call to return; where that was not called or not seen, {flush_text}");
        refined.push((Feature::Flush, Metric::Flush, text));
    }
    if !alone {
        groups.extend(asked.spin());
        let text = "first spin in the lock's slow path, else acquisition, to release on one CPU; exact";
        refined.push((Feature::Spin, Metric::IrqsOff, text.to_owned()));
    }
    groups.push(Group { programs: LOCK.to_vec(), feature: Feature::Sections, required: true });
    let irqs_off = if rt {
        Basis::Absent(RT.to_owned())
    } else {
        from(
            "lock_wait plus lock_hold of the same acquisition; exact without a wait, an upper bound with one",
        )
    };
    let wait = if rt {
        "cgroup_rstat_lock_contended to cgroup_rstat_locked by one thread"
    } else {
        "cgroup_rstat_lock_contended to cgroup_rstat_locked by one thread; an upper bound, since IRQs go off a little later"
    };
    let owner = if rt { "by one thread" } else { "on one CPU" };
    let offsets = asked.support.offsets;
    let label = (function == Some(CSS_FLUSH) && asked.support.programs_may_read_memory())
        .then(|| offsets.and_then(|offsets| offsets.css_ss.zip(offsets.subsys_id)))
        .flatten();
    Strategy {
        kind: StrategyKind::Tracepoints,
        why: "the kernel has the rstat tracepoints".to_owned(),
        groups,
        basis: BTreeMap::from([
            (Metric::LockHold, from(&format!("cgroup_rstat_locked to cgroup_rstat_unlock {owner}"))),
            (Metric::LockWait, from(wait)),
            (Metric::IrqsOff, irqs_off),
            (Metric::Flush, from(flush_text)),
        ]),
        refined,
        globals: Globals {
            first_cpu,
            last_cpu,
            by_thread: rt,
            locks: asked.locks(),
            label,
            ..Globals::default()
        },
    }
}
