//! `run`: measure, print, save.

mod child;
mod measure;
mod own_cost;
mod progress;
mod provenance;
mod recorder;
mod save;
mod settings;
mod signals;
mod stdout;
mod stream;

use std::{io, path::Path};

use anyhow::{Context as _, bail};
use rstat_probe_report::{
    Recording,
    recording::EndedBy,
    render::text::{TextOptions, write_report},
};

use crate::{
    args::RunArguments,
    kernel::{
        plan::{AttachPlan, Basis, missing_privilege},
        session::{Options, Session},
        support::KernelSupport,
    },
};
use settings::{Settings, Target};

/// Measures as `arguments` say. Returns the exit code.
pub(crate) fn run(arguments: &RunArguments, verbose: bool) -> anyhow::Result<u8> {
    let settings = Settings::from_args(arguments)?;
    let support = KernelSupport::read(Path::new("/"))?;
    if let Some(missing) = missing_privilege(&support) {
        bail!("rstat-probe run {missing}");
    }
    let plan = AttachPlan::from_support(&support);
    if !plan.measures() {
        let reason = plan.basis.values().find_map(|basis| match basis {
            Basis::Unavailable(reason) => Some(reason.as_str()),
            _ => None,
        });
        bail!("nothing can be measured on {}: {}", support.release, reason.unwrap_or("no hooks"));
    }
    let options = Options {
        log_faults: verbose,
        threads: arguments.max_threads,
        tracepoints_only: arguments.tracepoints_only,
    };
    let session = Session::start(&plan, options).with_context(|| refusal(&support))?;
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

/// Columns of the terminal on stdout.
pub(crate) fn stdout_width() -> Option<usize> {
    rustix::termios::tcgetwinsize(io::stdout())
        .ok()
        .map(|size| usize::from(size.ws_col))
        .filter(|columns| *columns > 0)
}

/// The report that goes to stdout at the end.
fn report(recording: &Recording, settings: &Settings) -> anyhow::Result<Vec<u8>> {
    let mut text = Vec::new();
    if settings.output == Some(Target::Stdout) {
        recording.write(&mut text)?;
    } else if settings.prints_report() {
        write_report(&mut text, recording, &TextOptions { width: stdout_width(), heading: true })?;
    }
    Ok(text)
}

/// Saves where the user wants it, else in the folder for temporary files.
fn save(recording: &Recording, settings: &Settings) -> anyhow::Result<()> {
    let Some(Target::File(path)) = &settings.output else { return Ok(()) };
    let Err(error) = save::save(recording, path) else { return Ok(()) };
    let what = format!("cannot save {}", path.display());
    match save::save_elsewhere(recording) {
        Ok(other) => Err(error.context(format!("{what}, saved {} instead", other.display()))),
        Err(_) => Err(error.context(format!("{what}, so the recording is lost"))),
    }
}

/// The exit code when nothing failed.
fn exit_code(recording: &Recording, command: Option<u8>) -> u8 {
    match (&recording.ended_by, command) {
        (EndedBy::Error { .. }, _) => crate::FAILED,
        (_, Some(code)) => code,
        _ => 0,
    }
}
