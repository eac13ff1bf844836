//! `run`: measure, print, save.

mod child;
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

use std::path::Path;

use anyhow::{Context as _, bail};

use crate::{
    args::RunArguments,
    kernel::{
        plan::{AttachPlan, missing_privilege},
        session::{Options, Session},
        support::KernelSupport,
    },
};
use settings::Settings;

/// Measures as `arguments` say. Returns the exit code.
pub(crate) fn run(arguments: &RunArguments, verbose: bool) -> anyhow::Result<u8> {
    let settings = Settings::from_args(arguments)?;
    let support = KernelSupport::read(Path::new("/"))?;
    if let Some(missing) = missing_privilege(&support) {
        bail!("rstat-probe run {missing}");
    }
    let plan = AttachPlan::from_support(&support, arguments.strategy);
    if !plan.measures() {
        bail!(
            "nothing can be measured on {}: {}",
            support.release,
            plan.refusal.as_deref().unwrap_or("no hooks")
        );
    }
    let options = Options { log_faults: verbose, threads: arguments.max_threads };
    let session =
        Session::start(&plan, support.names.as_ref(), options).with_context(|| refusal(&support))?;
    // One thread: the measuring itself is in the kernel, and signals, timers and the command are
    // few.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let code = runtime.block_on(measure::measure(&settings, &support, &plan, session, verbose));
    // A blocked stdout must not keep the process alive.
    runtime.shutdown_background();
    code
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
