//! `check`: facts, plan, and what each metric rests on. Attaches nothing.

use std::io::{self, Write};

use crate::{
    args::CheckArguments,
    kernel::{
        plan::{AttachPlan, Basis, missing_privilege},
        support::{Capability, KernelSupport, NameSource, TRACEPOINTS},
    },
};

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
        (None, _) => "nothing can be measured here".to_owned(),
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
        (Some(error), _) => format!("not used: {error}"),
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
    let held: Vec<&str> = [
        (Capability::Bpf, "CAP_BPF"),
        (Capability::Perfmon, "CAP_PERFMON"),
        (Capability::SysAdmin, "CAP_SYS_ADMIN (for the own cost)"),
    ]
    .into_iter()
    .filter(|(capability, _)| support.has(*capability))
    .map(|(_, name)| name)
    .collect();
    fact("capabilities", &if held.is_empty() { "none of those needed".to_owned() } else { held.join(", ") })
}

fn hooks(out: &mut impl Write, support: &KernelSupport, plan: &AttachPlan) -> io::Result<()> {
    match &support.names {
        None => writeln!(out, "\nhooks: names cannot be looked up; the plan tries them")?,
        Some(names) => {
            let source = match names.source {
                NameSource::Btf => "BTF",
                NameSource::Kallsyms => "/proc/kallsyms",
            };
            let present = TRACEPOINTS.iter().filter(|name| names.tracepoint(name)).count();
            writeln!(out, "\nhooks ({source}): {present} of {} rstat tracepoints", TRACEPOINTS.len())?;
        }
    }
    for group in &plan.groups {
        for planned in &group.programs {
            let note = if group.required { "" } else { "  if the kernel lets it" };
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
            Basis::Unavailable(reason) => format!("unavailable: {reason}"),
            Basis::Absent(reason) => format!("does not exist here: {reason}"),
        };
        writeln!(out, "  {:<14} {text}", metric.name())?;
    }
    if let Some(function) = plan.flush_function() {
        writeln!(
            out,
            "  {:<14} or, if the kernel lets function hooks attach, {function} from entry to return",
            ""
        )?;
    }
    Ok(())
}
