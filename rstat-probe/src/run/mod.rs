//! `run`: measure, print, save.

mod child;
mod cross_check;
mod deliver;
mod measure;
mod outlet;
mod own_cost;
mod progress;
mod provenance;
mod recorder;
mod save;
mod settings;
mod stream;
mod tracer;

use std::path::Path;

use anyhow::{Context as _, bail};
use rstat_probe_report::Metric;

use crate::{
    args::RunArguments,
    kernel::{
        plan::{AttachPlan, Basis, missing_privilege},
        session::{Options, Session},
        support::KernelSupport,
        trampoline,
    },
};
use settings::Settings;

/// Measures as `arguments` say. Returns the exit code.
pub(crate) fn run(arguments: &RunArguments, verbose: bool) -> anyhow::Result<u8> {
    let settings = Settings::from_args(arguments)?;
    let root = Path::new("/");
    let mut support = KernelSupport::without_locks(root)?;
    if let Some(missing) = missing_privilege(&support) {
        bail!("rstat-probe run {missing}");
    }
    // Only function hooks need the addresses of locks, and tracepoints do without function hooks.
    if !support.kprobes
        && let Some(names) = support.names.as_ref().filter(|names| names.has_lock_tracepoints())
    {
        support.no_function_hooks = trampoline::refusal(names);
    }
    if support.no_function_hooks.is_none() {
        support.read_locks(root);
    }
    let plan = AttachPlan::from_support(&support, arguments.strategy);
    if !plan.measures() {
        bail!(
            "nothing can be measured on {}: {}",
            support.release,
            plan.refusal.as_deref().unwrap_or("no hooks")
        );
    }
    let tracefs = if settings.cross_check { Some(traceable(&support)?) } else { None };
    let options = Options { log_faults: verbose, threads: arguments.max_threads };
    let session =
        Session::start(&plan, support.names.as_ref(), options).with_context(|| refusal(&support))?;
    if let (Some(_), Some(Basis::Unavailable(reason) | Basis::Absent(reason))) =
        (tracefs, session.basis().get(&Metric::IrqsOff))
    {
        bail!("--cross-check: irqs_off is not measured here: {reason}");
    }
    // One thread: the measuring itself is in the kernel, and signals, timers and the command are
    // few.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let code = runtime.block_on(measure::measure(&settings, &support, &plan, session, tracefs, verbose));
    // A blocked stdout must not keep the process alive.
    runtime.shutdown_background();
    code
}

/// Where tracefs is, for a cross-check that can be made.
fn traceable(support: &KernelSupport) -> anyhow::Result<&Path> {
    if support.preempt_rt {
        bail!("--cross-check: on PREEMPT_RT rstat's locks keep IRQs on, so there is nothing to compare");
    }
    tracer::check(support.tracefs.as_deref()).context("--cross-check")
}

/// What to say when the kernel refuses programs although the capabilities are there.
fn refusal(support: &KernelSupport) -> String {
    match support.lockdown.as_deref() {
        Some(level @ ("integrity" | "confidentiality")) => {
            format!("the kernel refuses the programs (lockdown={level})")
        }
        _ => "the kernel refuses the programs (a seccomp filter or security module can be the cause)"
            .to_owned(),
    }
}
