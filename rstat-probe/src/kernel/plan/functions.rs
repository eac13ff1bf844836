//! Ways to measure without tracepoints: the lock's own functions, or the walk over the CPUs.

use std::collections::BTreeMap;

use rstat_probe_report::metric::Metric;

use super::{
    Basis, Feature, Globals, Group, Inferred, Strategy, StrategyKind,
    asked::{Asked, NO_KPROBES, NO_TRACEPOINTS, from},
    hooks::{
        ACQUIRED, FLUSH_FUNCTIONS, LOCK_IRQ, READER, RELEASED, SWITCHED, TRIED, TRYLOCK, UNLOCK, WALK, flush,
        reader, walk,
    },
};

const INLINED: &str = "this kernel has spin_unlock_irq inlined";
const BOUND: &str =
    "; a reader of cpu.stat holds the lock a little longer, and the report says for how long at most";

/// B and, where releases are inlined, C: the lock's own functions, by its address.
pub(super) fn lock_functions(asked: &Asked<'_>, without_trylock: bool) -> Result<Strategy, String> {
    if asked.support.locks.is_empty() {
        return Err(asked.why_no_locks().to_owned());
    }
    let walks = asked.has(WALK);
    let flush_functions = [WALK].into_iter().chain(FLUSH_FUNCTIONS);
    let Some(flush_function) = flush_functions.into_iter().find(|name| asked.has(name)) else {
        return Err("the kernel has no flush function under a known name".to_owned());
    };
    let paths = asked.slow_paths(false);
    if paths.is_empty() || !asked.fentry(&[LOCK_IRQ, flush_function]) {
        return Err(asked.why_no_fentry(&[LOCK_IRQ, flush_function]));
    }
    if !walks && !asked.has_tracepoints() {
        return Err(format!("{WALK} is inlined, and with it the flushes of readers of cpu.stat"));
    }
    let sees_release = asked.fentry(&[UNLOCK]);
    if !sees_release && !walks {
        return Err(format!("{UNLOCK} is inlined, and there is no {WALK} to stand in for it"));
    }
    let mut programs = Vec::new();
    if sees_release {
        programs.push(RELEASED);
    }
    programs.extend(if walks { walk(false) } else { flush(flush_function, false) });
    if !sees_release {
        programs.push(SWITCHED);
    }
    programs.push(ACQUIRED);
    // The commit that brought the tracepoints made the first attempt a trylock.
    let tries = asked.has_tracepoints() && !without_trylock;
    if tries && !asked.fentry(&[TRYLOCK]) {
        return Err(asked.why_no_fentry(&[TRYLOCK]));
    }
    if tries {
        programs.push(TRIED);
    }
    programs.extend(paths);
    let mut groups = vec![Group { programs, feature: Feature::Sections, required: true }];
    let ends = if !sees_release {
        groups.extend(bound(asked, false));
        format!("return of {WALK}, next acquisition or switch to another thread, because {INLINED}{BOUND}")
    } else if walks {
        format!("call of {UNLOCK}; where IRQs are kept off, {WALK} from call to return")
    } else {
        format!("call of {UNLOCK}")
    };
    let acquired = if tries {
        format!("return of {TRYLOCK} or {LOCK_IRQ} with the lock")
    } else {
        format!("return of {LOCK_IRQ} with the lock")
    };
    Ok(Strategy {
        kind: if sees_release { StrategyKind::LockFunctions } else { StrategyKind::InferredRelease },
        why: why(asked),
        groups,
        basis: BTreeMap::from([
            (Metric::LockHold, from(&format!("{acquired} to {ends}"))),
            (Metric::LockWait, from("first spin in the lock's slow path to acquisition on one CPU")),
            (
                Metric::IrqsOff,
                from(
                    "lock_wait plus lock_hold of the same acquisition; a lower bound for flushes that are called with IRQs off",
                ),
            ),
            (Metric::Flush, from(&flush_text(flush_function))),
        ]),
        refined: Vec::new(),
        globals: Globals {
            locks: asked.locks(),
            inferred: if sees_release { Inferred::Nothing } else { Inferred::Releases },
            flush_by_function: !walks,
            ..Globals::default()
        },
    })
}

/// Why a strategy without tracepoints comes into question.
fn why(asked: &Asked<'_>) -> String {
    if asked.has_tracepoints() {
        return "should the tracepoints be refused".to_owned();
    }
    if asked.support.locks.is_empty() {
        return format!("{NO_TRACEPOINTS}, and {}", asked.why_no_locks());
    }
    match asked.support.btf_error {
        Some(_) => format!("{NO_TRACEPOINTS}, and BTF, which fentry needs, is not there"),
        None => NO_TRACEPOINTS.to_owned(),
    }
}

fn flush_text(function: &str) -> String {
    if function == WALK {
        format!("first spin in the lock's slow path, else acquisition, to return of {WALK}")
    } else {
        format!("{function} from call to return")
    }
}

/// Programs that say how much at most an inferred end of a section is too early.
fn bound(asked: &Asked<'_>, kprobes: bool) -> Option<Group> {
    let there = if kprobes { asked.support.kprobes && asked.has(READER) } else { asked.fentry(&[READER]) };
    there.then(|| Group::optional(Feature::Bound, reader(kprobes)))
}

/// D, or E with kprobes: the walk over the CPUs alone, with the waits where the lock is known.
pub(super) fn walk_only(asked: &Asked<'_>, kprobes: bool) -> Result<Strategy, String> {
    if !asked.has(WALK) {
        return Err(format!("the kernel has no {WALK}"));
    }
    if asked.has_tracepoints() {
        return Err("kernels with the tracepoints yield inside the walk where no hook sees it".to_owned());
    }
    if kprobes && !asked.support.kprobes {
        return Err(NO_KPROBES.to_owned());
    }
    if !kprobes && !asked.fentry(&[WALK]) {
        return Err(asked.why_no_fentry(&[WALK]));
    }
    let mut programs = walk(kprobes).to_vec();
    programs.push(SWITCHED);
    let paths = if asked.support.locks.is_empty() { Vec::new() } else { asked.slow_paths(kprobes) };
    let waits = !paths.is_empty();
    programs.extend(paths);
    let mut groups = vec![Group { programs, feature: Feature::Sections, required: true }];
    groups.extend(bound(asked, kprobes));
    let hold = format!(
        "{WALK} from call to return; a yield that switches to another thread ends it there and the rest is counted as lost, one that does not is contained{BOUND}"
    );
    let unavailable = || {
        Basis::Unavailable(format!(
            "waits cannot be told from those for other locks: {}",
            if asked.support.locks.is_empty() {
                asked.why_no_locks()
            } else {
                "no slow path of spin locks can be hooked"
            }
        ))
    };
    let (wait, irqs_off) = if waits {
        (
            from("first spin in the lock's slow path to the walk on one CPU"),
            from("lock_wait plus lock_hold of the same acquisition, with what lock_hold contains and lacks"),
        )
    } else {
        (unavailable(), unavailable())
    };
    Ok(Strategy {
        kind: if kprobes { StrategyKind::WalkByKprobes } else { StrategyKind::Walk },
        why: why(asked),
        groups,
        refined: Vec::new(),
        basis: BTreeMap::from([
            (Metric::LockHold, from(&hold)),
            (Metric::LockWait, wait),
            (Metric::IrqsOff, irqs_off),
            (Metric::Flush, from(&flush_text(WALK))),
        ]),
        globals: Globals { locks: asked.locks(), inferred: Inferred::Both, ..Globals::default() },
    })
}
