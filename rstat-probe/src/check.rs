//! `check`: facts, plan, and what each metric rests on. Attaches nothing.

use std::io::{self, Write};

use crate::{
    args::CheckArguments,
    kernel::{
        facts_saved,
        plan::{AttachPlan, Basis, Group, Strategy, StrategyKind, missing_privilege},
        support::{Capability, KernelSupport, NameSource, TRACEPOINTS},
    },
};

/// Two to measure, one to see where the locks are, one for the own cost.
const NEEDED: [(Capability, &str); 4] = [
    (Capability::Bpf, "CAP_BPF"),
    (Capability::Perfmon, "CAP_PERFMON"),
    (Capability::Syslog, "CAP_SYSLOG"),
    (Capability::SysAdmin, "CAP_SYS_ADMIN"),
];

/// Prints the findings. Returns 0, 1 or 2 as `check --help` says.
pub(crate) fn run(arguments: &CheckArguments) -> anyhow::Result<u8> {
    if let Some(folder) = &arguments.save_facts {
        facts_saved::save(&arguments.root, folder)?;
    }
    let support = KernelSupport::read(&arguments.root)?;
    let plan = AttachPlan::from_support(&support, arguments.strategy);
    let missing = missing_privilege(&support);
    let mut out = io::stdout().lock();
    facts(&mut out, &support)?;
    hooks(&mut out, &support, &plan)?;
    metrics(&mut out, &plan)?;
    for warning in &plan.warnings {
        writeln!(out, "\nwarning: {warning}")?;
    }
    let unavailable = plan
        .best()
        .is_some_and(|best| best.basis.values().any(|basis| matches!(basis, Basis::Unavailable(_))));
    let code = match () {
        () if !plan.measures() || missing.is_some() => 2,
        () if unavailable => 1,
        () => 0,
    };
    let verdict = match (&missing, code) {
        (Some(missing), _) => format!("rstat-probe run {missing}"),
        (None, 0) => "rstat-probe run works here".to_owned(),
        (None, 1) => "rstat-probe run works here, but not every metric is available".to_owned(),
        (None, _) => {
            format!("nothing can be measured here: {}", plan.refusal.as_deref().unwrap_or("no hooks"))
        }
    };
    writeln!(out, "\n{verdict}")?;
    Ok(code)
}

fn facts(out: &mut impl Write, support: &KernelSupport) -> io::Result<()> {
    let mut fact = |name: &str, value: &str| writeln!(out, "  {name:<14} {value}");
    fact("kernel", &format!("{} {} {}", support.release, support.machine, support.version))?;
    fact("build id", support.build_id.as_deref().unwrap_or("unknown"))?;
    fact("CPUs", &format!("possible {}, online {}", support.possible.text, support.online.text))?;
    fact("preemption", if support.preempt_rt { "PREEMPT_RT" } else { "not PREEMPT_RT" })?;
    let btf = match (&support.btf_error, support.offsets) {
        (Some(error), _) => {
            format!(
                "not used: {error}; without it kprobes instead of fentry, no names of locks, no cgroup ids with -v"
            )
        }
        (None, Some(offsets)) => {
            let offsets = [
                ("cgroup.kn", Some(offsets.cgroup_kn)),
                ("kernfs_node.id", Some(offsets.kernfs_node_id)),
                ("cgroup_subsys_state.ss", offsets.css_ss),
                ("cgroup_subsys.id", offsets.subsys_id),
                ("cgroup_subsys.rstat_ss_lock", support.rstat_ss_lock),
            ];
            let known =
                offsets.iter().filter_map(|(member, offset)| Some(format!("{member} {}", (*offset)?)));
            format!("readable; offsets {}", known.collect::<Vec<_>>().join(", "))
        }
        (None, None) => {
            "readable; without the offsets of cgroup.kn and kernfs_node.id, -v shows no cgroup ids".to_owned()
        }
    };
    fact("BTF", &btf)?;
    let tracefs = support.tracefs.as_ref().map_or_else(
        || "not mounted; not needed (raw tracepoints are attached by name)".to_owned(),
        |path| {
            let tracer = match support.irqsoff {
                Some(true) => "; has the irqsoff tracer for run --cross-check",
                Some(false) => "; no irqsoff tracer for run --cross-check (CONFIG_IRQSOFF_TRACER)",
                None => "",
            };
            format!("{} (not needed){tracer}", path.display())
        },
    );
    fact("tracefs", &tracefs)?;
    let kprobes = if support.kprobes {
        "can be attached without tracefs"
    } else {
        "none: no /sys/bus/event_source/devices/kprobe (kernel built without CONFIG_KPROBE_EVENTS?)"
    };
    fact("kprobes", kprobes)?;
    fact("locks", &lock_addresses(support))?;
    let lockdown = match support.lockdown.as_deref() {
        // LOCKDOWN_BPF_READ_KERNEL in kernel/trace/bpf_trace.c
        Some("confidentiality") => {
            "confidentiality; programs may not read kernel memory: no names of locks, no cgroup ids with -v"
        }
        Some(level) => level,
        None => "unknown (securityfs is not mounted)",
    };
    fact("lockdown", lockdown)?;
    let names = |held: bool| {
        let of = NEEDED.iter().filter(|(capability, _)| support.has(*capability) == held);
        of.map(|(_, name)| *name).collect::<Vec<_>>().join(", ")
    };
    let capabilities = match (names(true), names(false)) {
        (held, _) if !support.initial_user_namespace => {
            format!("{held}, which do not count: this is not the initial user namespace")
        }
        (held, missing) if missing.is_empty() => held,
        (held, missing) if held.is_empty() => format!("missing {missing}"),
        (held, missing) => format!("{held}; missing {missing}"),
    };
    fact("capabilities", &capabilities)
}

/// By symbol; the addresses themselves are nobody's business (KASLR).
fn lock_addresses(support: &KernelSupport) -> String {
    if let Some(reason) = &support.locks_error {
        return reason.trim_start_matches("the locks' ").to_owned();
    }
    let symbols: Vec<&str> = support.locks.iter().map(|lock| lock.symbol.as_str()).collect();
    format!("addresses known: {}", symbols.join(", "))
}

fn hooks(out: &mut impl Write, support: &KernelSupport, plan: &AttachPlan) -> io::Result<()> {
    match &support.names {
        None => writeln!(
            out,
            "\nhooks: neither BTF nor /proc/kallsyms can be read; these are tried without knowing that they exist"
        )?,
        Some(names) => {
            let source = match names.source {
                NameSource::Btf => "BTF",
                NameSource::Kallsyms => "/proc/kallsyms",
            };
            let present = |names_of: &[&str]| names_of.iter().filter(|name| names.tracepoint(name)).count();
            let (locks, per_cpu) = TRACEPOINTS.split_at(3);
            writeln!(
                out,
                "\nhooks ({source}): {} of {} tracepoints of the locks, {} of {} of the per-CPU locks",
                present(locks),
                locks.len(),
                present(per_cpu),
                per_cpu.len()
            )?;
        }
    }
    if let Some(best) = plan.best() {
        writeln!(out, "strategy: {}: {}", best.kind.title(), best.why)?;
        writeln!(out, "  {:<15} {:<42} program", "attach kind", "hook")?;
        for group in &best.groups {
            for planned in &group.programs {
                let note = note(best, group);
                writeln!(
                    out,
                    "  {:<15} {:<42} {}{note}",
                    planned.attach.name(),
                    planned.hook,
                    planned.program
                )?;
            }
        }
    }
    for hook in &plan.not_used {
        writeln!(out, "  not used: {} {}: {}", hook.attach.name(), hook.hook, hook.reason)?;
    }
    for (kind, reason) in plan.skipped.iter().filter(|(kind, _)| *kind != StrategyKind::Tracepoints) {
        writeln!(out, "  no strategy here: {}: {reason}", kind.title())?;
    }
    let others: Vec<&str> = plan.strategies.iter().skip(1).map(|strategy| strategy.kind.title()).collect();
    if !others.is_empty() {
        writeln!(out, "  should the kernel refuse a required hook: {}", others.join(", then "))?;
    }
    Ok(())
}

/// What becomes of a group that need not attach.
fn note(strategy: &Strategy, group: &Group) -> &'static str {
    let first = strategy.groups.iter().find(|other| other.feature == group.feature);
    match (group.required, first.is_some_and(|first| first == group)) {
        (true, _) => "",
        (false, true) => " (optional)",
        (false, false) => " (instead, if refused)",
    }
}

fn metrics(out: &mut impl Write, plan: &AttachPlan) -> io::Result<()> {
    let Some(best) = plan.best() else { return Ok(()) };
    writeln!(out, "\nmetrics")?;
    for (metric, basis) in &best.basis {
        let text = match basis {
            Basis::From(text) => text.clone(),
            Basis::Unavailable(reason) => format!("unavailable: {reason}"),
            Basis::Absent(reason) => format!("not here: {reason}"),
        };
        writeln!(out, "  {:<14} {text}", metric.name())?;
        let offered = |feature| best.groups.iter().any(|group| group.feature == feature && !group.required);
        for (feature, _, text) in best.refined.iter().filter(|(_, other, _)| other == metric) {
            if offered(*feature) && matches!(basis, Basis::From(_)) {
                writeln!(out, "  {:<14} or, if the kernel lets function hooks attach, {text}", "")?;
            }
        }
    }
    Ok(())
}
