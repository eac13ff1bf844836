//! `cargo xtask lab`: the yield patch before and after, for real. Two kernels that differ in the flush loop only, the
//! same loads on both in turns, and the reports that compare them.

mod cross_check;
mod kernel;
mod load;
mod machine;
mod report;
mod schedule;
mod summary;
mod variant;

use std::{
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Mutex,
    thread,
    time::Duration,
};

use anyhow::{Context as _, Result, anyhow, bail};

use self::{
    kernel::Pair,
    load::Load,
    machine::{Job, Lab},
    schedule::{SERIES, Series, Turn},
    variant::Variant,
};
use crate::{
    build, cargo, duration, privilege,
    progress::Progress,
    setup::{self, Ready},
    vm::{self, Archive, Image},
};

pub(crate) use self::kernel::{LIBRARY, TOOLS};

const INIT: &str = include_str!("init.sh");
/// Small enough to show what it is doing with `--quick`.
const QUICK: (u32, u32, Duration) = (4, 8, Duration::from_secs(5));
const USUAL: (u32, u32, Duration) = (6, 16, Duration::from_secs(10));
/// What takes longer hangs: the boot, and a load beyond its length.
const BOOT_LIMIT: Duration = Duration::from_mins(5);
const LOAD_LIMIT: Duration = Duration::from_mins(5);
/// Options of `cargo xtask lab`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Boots of each kernel [default: 6; fewer than 4 a side are not compared]
    #[arg(short, long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: Option<u32>,
    /// How long each load runs in a boot [default: 10s]
    #[arg(short, long, value_name = "TIME", value_parser = duration::parse)]
    duration: Option<Duration>,
    /// CPUs of the emulated machine [default: 16]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..=255))]
    cpus: Option<u32>,
    /// Loads to run [default: all of them]
    #[arg(short, long, value_name = "NAME", value_delimiter = ',')]
    loads: Vec<String>,
    /// 4 rounds of 5 s on 8 CPUs, with kernels that an earlier run built
    #[arg(short, long, conflicts_with = "refresh")]
    quick: bool,
    /// Machines at the same time, each of which keeps one CPU of this host busy. More than one is quicker, and they
    /// disturb each other
    #[arg(short, long, value_name = "N", default_value_t = 1)]
    jobs: usize,
    /// Without a second series of the baseline, which shows that a kernel is no different from itself
    #[arg(long)]
    no_control: bool,
    /// Build the kernels again if Debian's archive has a newer source
    #[arg(long)]
    refresh: bool,
    /// Where recordings and reports go; what an earlier lab left there is replaced
    #[arg(short, long, value_name = "DIR", default_value = "rstat-probe-lab")]
    output: PathBuf,
}

/// What a lab does, with everything decided.
struct Plan {
    rounds: u32,
    cpus: u32,
    length: Duration,
    loads: Vec<&'static Load>,
    series: Vec<&'static Series>,
}

impl Plan {
    fn new(options: &Options) -> Result<Self> {
        let (rounds, cpus, length) = if options.quick { QUICK } else { USUAL };
        let length = options.duration.unwrap_or(length);
        if length < Duration::from_secs(1) {
            bail!("a load of less than a second says nothing: --duration must be at least 1s");
        }
        Ok(Self {
            rounds: options.rounds.unwrap_or(rounds),
            cpus: options.cpus.unwrap_or(cpus),
            length,
            loads: load::select(&options.loads)?,
            series: SERIES.iter().filter(|series| !(options.no_control && series.is_control)).collect(),
        })
    }

    /// In one line.
    fn sentence(&self) -> String {
        format!(
            "{} boots in turns, {} CPUs, {} of {} each: {}",
            self.series.len() * self.rounds as usize,
            self.cpus,
            if self.loads.len() == 1 { "one load".to_owned() } else { format!("{} loads", self.loads.len()) },
            duration::format(self.length),
            self.loads.iter().map(|load| load.name).collect::<Vec<_>>().join(", ")
        )
    }

    fn limit(&self) -> Duration {
        BOOT_LIMIT + (self.length + LOAD_LIMIT) * u32::try_from(self.loads.len()).unwrap_or(u32::MAX)
    }
}

/// Sets up, builds kernels and tool, boots in turns, compares.
pub(crate) fn run(options: &Options) -> Result<ExitCode> {
    privilege::refuse_sudo("lab")?;
    let plan = Plan::new(options)?;
    let progress = Progress::of("lab");
    let vm_cache = vm::cache_folder()?;
    let cache = vm_cache.join("lab");
    if options.quick && Pair::kept(&cache).is_none() {
        bail!(
            "--quick takes kernels that are built, and none are in {}: run `cargo xtask lab` first",
            cache.display()
        );
    }
    let output = std::path::absolute(&options.output)?;
    prepare(&output)?;

    let ready = setup::run(setup::Scope::Lab)?;
    let mut archive = Archive::new(&vm_cache);
    let pair = Pair::get(&cache, &mut archive, options.refresh, &|text| progress.step(text))?;
    progress.step(&format!("both kernels are there, of Debian's source {}", pair.source));
    let tool = build::release(&ready)?;
    let initramfs = output.join("initramfs.cpio");
    let busybox = archive.busybox(|text| progress.step(text))?;
    file_system(&ready, &busybox, &initramfs)?;

    progress.step(&plan.sentence());
    let lab = Lab { initramfs: &initramfs, output: &output, progress: &progress };
    boot_all(&plan, options.jobs, |turn| boot(&lab, &plan, turn, &pair.image(turn.series.variant)))?;
    cross_check(&lab, &pair)?;
    fs::remove_file(&initramfs)?;
    let is_as_expected = report::write(&plan, &pair.source, &tool, &output)?;
    progress.step(&format!("reports and recordings are in {}", output.display()));
    Ok(if is_as_expected { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// An empty folder for the output. Only what a lab made is removed.
fn prepare(output: &Path) -> Result<()> {
    let mark = output.join(report::FILE);
    if output.exists()
        && !mark.exists()
        && fs::read_dir(output).is_ok_and(|mut entries| entries.next().is_some())
    {
        bail!("{} is not empty and no lab's: name another folder with -o", output.display());
    }
    if output.exists() {
        fs::remove_dir_all(output).with_context(|| format!("cannot empty {}", output.display()))?;
    }
    fs::create_dir_all(output).with_context(|| format!("cannot make {}", output.display()))?;
    // So that the next lab knows an interrupted one.
    fs::write(&mark, "This lab has not ended.\n").with_context(|| format!("cannot write {}", mark.display()))
}

/// The tool, linked statically and optimised as users have it, and busybox.
fn file_system(ready: &Ready, busybox: &Path, path: &Path) -> Result<()> {
    let mut command = cargo::command("build");
    command.args(["--package", build::PACKAGE, "--bin", build::PACKAGE, "--release"]);
    vm::static_build(&mut command);
    let tool = cargo::executable(ready.prepare(&mut command)?, build::PACKAGE)?;
    let mut archive = vm::file_system(INIT, &[("busybox", busybox), (build::PACKAGE, &tool)])?;
    fs::write(path, archive.finish()).with_context(|| format!("cannot write {}", path.display()))
}

/// Boots in turns, so many at a time. After a failure nothing more is begun.
fn boot_all(plan: &Plan, jobs: usize, boot: impl Fn(&Turn) -> Result<()> + Sync) -> Result<()> {
    let queue = Mutex::new(schedule::turns(&plan.series, plan.rounds).into_iter());
    let failure = Mutex::new(None);
    thread::scope(|scope| {
        for _ in 0..jobs.max(1) {
            scope.spawn(|| {
                // The queue is locked for the length of this call only.
                let next = || queue.lock().ok()?.next();
                while let Some(turn) = next() {
                    if let Err(error) = boot(&turn)
                        && let (Ok(mut queue), Ok(mut failure)) = (queue.lock(), failure.lock())
                    {
                        queue.by_ref().for_each(drop);
                        failure.get_or_insert(error);
                    }
                }
            });
        }
    });
    let failure = failure.into_inner().map_err(|_| anyhow!("a thread that boots machines panicked"))?;
    failure.map_or(Ok(()), Err)
}

/// One boot with all loads; their recordings are moved to where the reports look for them.
fn boot(lab: &Lab<'_>, plan: &Plan, turn: &Turn, image: &Image) -> Result<()> {
    let shared = lab.boot(&Job {
        name: &turn.name(),
        image,
        script: &load::script(&plan.loads, plan.cpus, plan.length),
        cpus: plan.cpus,
        limit: plan.limit(),
    })?;
    for load in &plan.loads {
        lab.keep(&shared, load.name, &report::recording(lab.output, load, turn))?;
    }
    Ok(())
}

/// One boot of each kernel beside its irqsoff tracer.
fn cross_check(lab: &Lab<'_>, pair: &Pair) -> Result<()> {
    for variant in Variant::BOTH {
        let name = format!("{}-{}", cross_check::NAME, variant.name());
        let shared = lab.output.join("boots").join(&name);
        fs::create_dir_all(&shared).with_context(|| format!("cannot make {}", shared.display()))?;
        fs::write(shared.join("wide.sh"), cross_check::LOAD)?;
        let image = &pair.image(variant);
        let (script, cpus, limit) = (&cross_check::script(), cross_check::CPUS, BOOT_LIMIT * 2);
        let shared = lab.boot(&Job { name: &name, image, script, cpus, limit })?;
        lab.keep(&shared, cross_check::NAME, &report::cross_check(lab.output, variant))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
