//! `cargo xtask vm`: boots Debian's kernels, oldest to newest, in emulated machines and runs the guest tests there.

mod archive;
mod console;
mod guest;
mod initramfs;
mod kernels;
mod machine;
mod scenario;

use std::{
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Mutex,
    thread,
};

use anyhow::{Context as _, Result, anyhow, bail};

use self::{kernels::Kernel, scenario::Scenario};
use crate::{
    privilege,
    progress::Progress,
    setup::{self, Ready},
    tee::Notes,
};

pub(crate) use self::{
    archive::{Archive, Image, KEYRING, KEYRING_PACKAGE},
    guest::{file_system, static_build},
    machine::{Boot, Outcome, PACKAGE as QEMU_PACKAGE, PROGRAM as QEMU},
};

/// Names the folder in which kernels and logs are kept.
const CACHE_VARIABLE: &str = "RSTAT_PROBE_VM_CACHE";

/// Options of `cargo xtask vm`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Kernels such as 6.1 or 7.3-rt [default: the whole matrix]
    kernels: Vec<String>,
    /// Only scenarios whose name contains this
    #[arg(short, long, value_name = "NAME")]
    scenario: Option<String>,
    /// Machines at the same time; each keeps one CPU of this host busy
    #[arg(short, long, value_name = "N", default_value_t = default_jobs())]
    jobs: usize,
    /// Fetch kernels again that are newer in Debian's archive
    #[arg(long)]
    refresh: bool,
    /// Copy the consoles' logs to this folder
    #[arg(long, value_name = "DIR")]
    keep_console: Option<PathBuf>,
}

/// Sets up, builds, boots, and says what came out.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    privilege::refuse_sudo("vm")?;
    // Before minutes are spent on building.
    scenario::select(&options.kernels, options.scenario.as_deref())?;
    let ready = setup::run(setup::Scope::Machines)?;
    boot_all(&ready, options)?;
    Ok(ExitCode::SUCCESS)
}

/// The whole matrix, as a step of `cargo xtask test`.
pub(crate) fn matrix(ready: &Ready) -> Result<Notes> {
    let options = Options {
        kernels: Vec::new(),
        scenario: None,
        jobs: default_jobs(),
        refresh: false,
        keep_console: None,
    };
    boot_all(ready, &options)
}

fn default_jobs() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

/// What is booted where, and what came out.
struct Run {
    /// In the order of the tables.
    position: usize,
    kernel: &'static Kernel,
    scenario: &'static Scenario,
    outcome: Result<Outcome>,
    log: PathBuf,
    /// What was wrong the first time, if this is the second.
    before: Vec<String>,
}

fn boot_all(ready: &Ready, options: &Options) -> Result<Notes> {
    let selected = scenario::select(&options.kernels, options.scenario.as_deref())?;
    let progress = Progress::of("vm");
    let cache = cache_folder()?;
    let logs = cache.join("logs");
    fs::create_dir_all(&logs).with_context(|| format!("cannot make {}", logs.display()))?;

    let mut archive = Archive::new(&cache);
    let images = fetch(&mut archive, &selected, options.refresh, &progress);
    let busybox = archive.busybox(|text| progress.step(text))?;
    progress.step("building the tool and the guest tests, linked statically");
    let initramfs = cache.join("initramfs.cpio");
    guest::build(ready, &busybox, &initramfs)?;

    let queue = Mutex::new(selected.into_iter().enumerate());
    let done = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..options.jobs.max(1) {
            scope.spawn(|| {
                // The queue is locked for the length of this call only.
                let next = || queue.lock().ok()?.next();
                while let Some((position, (kernel, scenario))) = next() {
                    let log = logs.join(format!("{}-{}.log", kernel.name, scenario.name));
                    let outcome = boot(kernel, scenario, &images, &initramfs, &log, &progress);
                    let run = Run { position, kernel, scenario, outcome, log, before: Vec::new() };
                    progress.step(&run.verdict());
                    if let Ok(mut done) = done.lock() {
                        done.push(run);
                    }
                }
            });
        }
    });
    let mut done = done.into_inner().map_err(|_| anyhow!("a thread that boots machines panicked"))?;
    done.sort_by_key(|run: &Run| run.position);
    for run in done.iter_mut().filter(|run| run.deserves_another_try()) {
        progress.step(&format!("{}: once more, alone", title(run.kernel, run.scenario)));
        let log = run.log.with_extension("again.log");
        let outcome = boot(run.kernel, run.scenario, &images, &initramfs, &log, &progress);
        let before = run.complaints();
        *run = Run { outcome, log, before, ..*run };
        progress.step(&run.verdict());
    }
    if let Some(folder) = &options.keep_console {
        keep(&done, folder)?;
    }
    conclude(&done, &progress)
}

/// The kernels' images. One that cannot be had fails its own runs only.
fn fetch(
    archive: &mut Archive,
    selected: &[(&'static Kernel, &'static Scenario)],
    refresh: bool,
    progress: &Progress,
) -> BTreeMap<&'static str, Result<Image>> {
    let mut images = BTreeMap::new();
    for (kernel, _) in selected {
        images
            .entry(kernel.name)
            .or_insert_with(|| archive.kernel(kernel, refresh, |text| progress.step(text)));
    }
    images
}

fn boot(
    kernel: &Kernel,
    scenario: &Scenario,
    images: &BTreeMap<&'static str, Result<Image>>,
    initramfs: &Path,
    log: &Path,
    progress: &Progress,
) -> Result<Outcome> {
    let image = match images.get(kernel.name) {
        Some(Ok(image)) => image,
        Some(Err(error)) => bail!("{error:#}"),
        None => bail!("kernel {} was not fetched", kernel.name),
    };
    let (name, cpus) = (title(kernel, scenario), scenario.cpus);
    progress.step(&format!("{name}: booting {}", image.release));
    let command_line = scenario.command_line(kernel);
    let (command_line, memory_mb) = (command_line.as_str(), machine::MEMORY_MB);
    let boot =
        Boot { image, initramfs, cpus, command_line, memory_mb, shared: None, limit: scenario.limit, log };
    boot.run(|release, took| {
        progress.step(&format!("{name}: {release} is up after {:.1} s", took.as_secs_f64()));
    })
}

impl Run {
    fn complaints(&self) -> Vec<String> {
        match &self.outcome {
            Ok(outcome) => self.scenario.judge(outcome.complaints()),
            Err(error) => vec![format!("{error:#}")],
        }
    }

    fn failed(&self) -> bool {
        !self.complaints().is_empty()
    }

    /// Emulated CPUs stand still while the host's are busy, which a test of times can fail by. Other complaints of a
    /// kernel are never tried again, and a first failure is always shown.
    fn deserves_another_try(&self) -> bool {
        self.failed() && self.outcome.as_ref().is_ok_and(|outcome| outcome.console.faults_are_of_time())
    }

    /// One line.
    fn verdict(&self) -> String {
        let verdict = match (self.failed(), self.before.is_empty()) {
            (true, _) => "FAILED",
            (false, true) => "ok",
            (false, false) => "ok (2nd)",
        };
        let name = title(self.kernel, self.scenario);
        let Ok(outcome) = &self.outcome else { return format!("{verdict:<7} {name:<22}") };
        let console = &outcome.console;
        let release = console.release.as_deref().unwrap_or("did not boot");
        let boot = outcome.boot.map_or(String::new(), |boot| format!("  boot {:>4.1} s", boot.as_secs_f64()));
        let failed = if console.failed > 0 { format!(", {} failed", console.failed) } else { String::new() };
        let seconds = outcome.took.as_secs_f64();
        format!(
            "{verdict:<7} {name:<22} {release:<28} {:>3} tests{failed}  {seconds:>4.0} s{boot}",
            console.passed + console.failed
        )
    }
}

/// A kernel, and the scenario where that is not the usual one.
fn title(kernel: &Kernel, scenario: &Scenario) -> String {
    match scenario.name {
        "default" => kernel.name.to_owned(),
        name => format!("{} {name}", kernel.name),
    }
}

/// Prints all verdicts, the figures, and last what failed.
fn conclude(done: &[Run], progress: &Progress) -> Result<Notes> {
    let mut notes = Notes::default();
    println!("\nvm: summary after {:.0} s", progress.elapsed().as_secs_f64());
    for run in done {
        println!("vm: {}", run.verdict());
        let Ok(outcome) = &run.outcome else { continue };
        notes.passed += outcome.console.passed;
        for figure in &outcome.console.figures {
            println!("vm:           {figure}");
        }
        let name = title(run.kernel, run.scenario);
        notes.skipped.extend(outcome.console.skipped.iter().map(|reason| format!("{name}: {reason}")));
    }
    for reason in &notes.skipped {
        println!("vm: SKIPPED: {reason}");
    }
    for run in done.iter().filter(|run| !run.failed()) {
        for complaint in &run.before {
            println!("vm: {} failed the first time: {complaint}", title(run.kernel, run.scenario));
        }
    }
    let failed: Vec<&Run> = done.iter().filter(|run| run.failed()).collect();
    for run in &failed {
        println!("\nvm: {} failed:", title(run.kernel, run.scenario));
        for complaint in run.complaints() {
            println!("vm:   {complaint}");
        }
        if let Ok(outcome) = &run.outcome {
            println!("vm:   the end of {} (| kernel, > tests):", run.log.display());
            outcome.tail.iter().for_each(|line| println!("    {line}"));
        }
    }
    if !failed.is_empty() {
        let names: Vec<String> = failed.iter().map(|run| title(run.kernel, run.scenario)).collect();
        bail!("{} of {} boots failed: {}", failed.len(), done.len(), names.join(", "));
    }
    Ok(notes)
}

fn keep(done: &[Run], folder: &Path) -> Result<()> {
    fs::create_dir_all(folder).with_context(|| format!("cannot make {}", folder.display()))?;
    for log in done.iter().map(|run| &run.log).filter(|log| log.exists()) {
        fs::copy(log, folder.join(log.file_name().unwrap_or_default()))
            .with_context(|| format!("cannot copy {}", log.display()))?;
    }
    Ok(())
}

/// Where kernels and logs are kept from run to run.
pub(crate) fn cache_folder() -> Result<PathBuf> {
    if let Some(folder) = env::var_os(CACHE_VARIABLE) {
        return Ok(std::path::absolute(folder)?);
    }
    let base = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let base = base.or_else(|| env::home_dir().map(|home| home.join(".cache")));
    Ok(base.with_context(|| format!("no home folder; name one in {CACHE_VARIABLE}"))?.join("rstat-probe/vm"))
}

#[cfg(test)]
mod tests;
