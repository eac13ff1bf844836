//! `check`: facts, plan, and what each metric rests on. Attaches nothing.

use std::io::{self, Write};

use rstat_probe_report::Metric;

use crate::{
    args::CheckArguments,
    kernel::{
        plan::{AttachPlan, Basis, missing_privilege},
        support::{Capability, KernelSupport, NameSource, TRACEPOINTS},
    },
};

/// Two to measure, one for the own cost.
const NEEDED: [(Capability, &str); 3] = [
    (Capability::Bpf, "CAP_BPF"),
    (Capability::Perfmon, "CAP_PERFMON"),
    (Capability::SysAdmin, "CAP_SYS_ADMIN"),
];

/// Prints the findings. Returns 0, 1 or 2 as `check --help` says.
pub(crate) fn run(arguments: &CheckArguments) -> anyhow::Result<u8> {
    let support = KernelSupport::read(&arguments.root)?;
    let plan = AttachPlan::from_support(&support);
    let missing = missing_privilege(&support);
    let mut out = io::stdout().lock();
    facts(&mut out, &support)?;
    hooks(&mut out, &support, &plan)?;
    metrics(&mut out, &plan)?;
    for warning in &plan.warnings {
        writeln!(out, "\nwarning: {warning}")?;
    }
    let unavailable = plan.basis.values().any(|basis| matches!(basis, Basis::Unavailable(_)));
    let code = match () {
        () if !plan.measures() || missing.is_some() => 2,
        () if unavailable => 1,
        () => 0,
    };
    let verdict = match (&missing, code) {
        (Some(missing), _) => format!("rstat-probe run {missing}"),
        (None, 0) => "rstat-probe run works here".to_owned(),
        (None, 1) => "rstat-probe run works here, but not every metric is available".to_owned(),
        (None, _) => format!("nothing can be measured here: {}", plan.refusal().unwrap_or("no hooks")),
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
            format!("not used: {error}; without it no function is hooked and -v shows no cgroup ids")
        }
        (None, Some(offsets)) => format!(
            "readable; offsets cgroup.kn {}, kernfs_node.id {}",
            offsets.cgroup_kn, offsets.kernfs_node_id
        ),
        (None, None) => {
            "readable; without the offsets of cgroup.kn and kernfs_node.id, -v shows no cgroup ids".to_owned()
        }
    };
    fact("BTF", &btf)?;
    let tracefs = support.tracefs.as_ref().map_or_else(
        || "not mounted; not needed (raw tracepoints are attached by name)".to_owned(),
        |path| format!("{} (not needed)", path.display()),
    );
    fact("tracefs", &tracefs)?;
    fact("lockdown", support.lockdown.as_deref().unwrap_or("unknown (securityfs is not mounted)"))?;
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
            let present = TRACEPOINTS.iter().filter(|name| names.tracepoint(name)).count();
            writeln!(out, "\nhooks ({source}): {present} of {} rstat tracepoints", TRACEPOINTS.len())?;
        }
    }
    if plan.measures() {
        writeln!(out, "  {:<15} {:<42} program", "attach kind", "hook")?;
    }
    for group in &plan.groups {
        for planned in &group.programs {
            let note = if group.required { "" } else { " (if the kernel lets it)" };
            writeln!(out, "  {:<15} {:<42} {}{note}", planned.attach.name(), planned.hook, planned.program)?;
        }
    }
    for hook in &plan.not_used {
        writeln!(out, "  not used: {} {}: {}", hook.attach.name(), hook.hook, hook.reason)?;
    }
    Ok(())
}

fn metrics(out: &mut impl Write, plan: &AttachPlan) -> io::Result<()> {
    writeln!(out, "\nmetrics")?;
    for (metric, basis) in &plan.basis {
        let text = match basis {
            Basis::From(text) => text.clone(),
            // Said once, below.
            Basis::Unavailable(_) if !plan.measures() => "unavailable".to_owned(),
            Basis::Unavailable(reason) => format!("unavailable: {reason}"),
            Basis::Absent(reason) => format!("does not exist here: {reason}"),
        };
        writeln!(out, "  {:<14} {text}", metric.name())?;
        if let (Metric::Flush, Some(function)) = (metric, plan.flush_function()) {
            let text = "or, if the kernel lets function hooks attach,";
            writeln!(out, "  {:<14} {text} {function} from entry to return", "")?;
        }
    }
    Ok(())
}
