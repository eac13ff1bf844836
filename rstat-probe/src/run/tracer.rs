//! The kernel's irqsoff tracer (kernel/trace/trace_irqsoff.c) in a tracing instance of our own: made, read, removed.
//!
//! What others have set in tracefs is left alone. The instance is locked like the cgroup of a load, so that one whose
//! lock can be taken is what a killed run left.

use std::{
    ffi::OsStr,
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, bail, ensure};
use rstat_probe_report::cross_check::{Span, TRACER};

use crate::load::try_lock;

/// Every instance of ours is called this, then the pid.
const PREFIX: &str = "rstat-probe-";
/// Tracers of which only one can be in use, over all instances (`irqsoff_busy`).
const EXCLUSIVE: [&str; 3] = [TRACER, "preemptoff", "preemptirqsoff"];
/// Of the trace buffers, each CPU's; a span without functions traced has a few entries.
const BUFFER_KB: &str = "16";
/// Where tracefs is mounted by convention.
const CONVENTION: &str = "/sys/kernel/tracing";
/// How long a removal waits for others to close files of the instance.
const BUSY_FOR: Duration = Duration::from_secs(1);

/// The tracer in use.
#[derive(Debug)]
pub(crate) struct Tracer {
    tracefs: PathBuf,
    instance: PathBuf,
    /// Never read: it only has to stay open.
    _lock: File,
}

/// Says in one line why the tracer cannot be used, if so; sets nothing, but removes what killed runs left.
///
/// # Errors
/// What is missing or in the way, and what to do about it.
pub(crate) fn check(tracefs: Option<&Path>) -> anyhow::Result<&Path> {
    let Some(tracefs) = tracefs else {
        bail!("tracefs is not mounted: mount -t tracefs tracefs {CONVENTION}");
    };
    let listed = read(&tracefs.join("available_tracers"))?;
    ensure!(
        listed.split_whitespace().any(|tracer| tracer == TRACER),
        "the kernel has no {TRACER} tracer (CONFIG_IRQSOFF_TRACER)"
    );
    // Of the whole tracefs, not of an instance: tracing_is_enabled() in kernel/trace/trace.c.
    let on = tracefs.join("tracing_on");
    ensure!(read(&on)? != "0", "tracing is off, and with it the tracer: echo 1 > {}", on.display());
    // With a threshold the tracer keeps the last span above it, not the longest.
    let threshold = tracefs.join("tracing_thresh");
    ensure!(
        read(&threshold).is_ok_and(|us| us == "0"),
        "the tracer works with a threshold, and does not keep the longest: echo 0 > {}",
        threshold.display()
    );
    remove_leftovers(&tracefs.join("instances"));
    match user(tracefs) {
        Some(user) => bail!("{user}, and only one at a time can use it"),
        None => Ok(tracefs),
    }
}

impl Tracer {
    /// Makes the instance and switches the tracer on. [`check`] goes before.
    ///
    /// # Errors
    /// What failed; nothing is left behind.
    pub(crate) fn start(tracefs: &Path) -> anyhow::Result<Self> {
        let instance = tracefs.join("instances").join(format!("{PREFIX}{}", std::process::id()));
        fs::create_dir(&instance).with_context(|| format!("cannot make {}", instance.display()))?;
        let lock = try_lock(&instance).and_then(|lock| lock.ok_or_else(|| io::Error::other("it is in use")));
        let lock = lock
            .inspect_err(|_| remove(&instance))
            .with_context(|| format!("cannot lock {}", instance.display()))?;
        // From here on dropping it removes the instance.
        let tracer = Self { tracefs: tracefs.to_owned(), instance, _lock: lock };
        tracer.set("buffer_size_kb", BUFFER_KB)?;
        // Tracing each function would lengthen what is measured.
        if tracer.file("options/function-trace").exists() {
            tracer.set("options/function-trace", "0")?;
        }
        match fs::write(tracer.file("current_tracer"), TRACER) {
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                let user = user(tracefs).unwrap_or_else(|| format!("somebody else uses the {TRACER} tracer"));
                Err(error).context(format!("{user}, and only one at a time can use it"))
            }
            result => result.with_context(|| format!("cannot switch on the {TRACER} tracer")),
        }?;
        Ok(tracer)
    }

    /// Stops tracing until [`Tracer::go_on`].
    pub(crate) fn pause(&self) -> anyhow::Result<()> {
        self.set("tracing_on", "0")
    }

    /// Traces again.
    pub(crate) fn go_on(&self) -> anyhow::Result<()> {
        self.set("tracing_on", "1")
    }

    /// Takes the longest span since the last time and forgets it; `None` when there was none.
    pub(crate) fn take(&self) -> anyhow::Result<Option<Span>> {
        ensure!(
            read(&self.tracefs.join("tracing_on"))? != "0",
            "somebody switched tracing off ({}/tracing_on)",
            self.tracefs.display()
        );
        // Of the trace alone it is not known whether it is of this window.
        let longest = read(&self.file("tracing_max_latency"))?;
        if longest == "0" {
            return Ok(None);
        }
        let text = read(&self.file("trace"))?;
        let span = Span::from_trace(&text).map_err(|error| anyhow::anyhow!("{error}"))?;
        self.set("tracing_max_latency", "0")?;
        Ok(Some(span))
    }

    fn file(&self, name: &str) -> PathBuf {
        self.instance.join(name)
    }

    fn set(&self, name: &str, value: &str) -> anyhow::Result<()> {
        let path = self.file(name);
        fs::write(&path, value).with_context(|| format!("cannot write {value} to {}", path.display()))
    }
}

impl Drop for Tracer {
    fn drop(&mut self) {
        remove(&self.instance);
    }
}

/// The content of a file without its newline. Names of tasks need not be UTF-8.
fn read(path: &Path) -> anyhow::Result<String> {
    let content = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(String::from_utf8_lossy(&content).trim_end().to_owned())
}

/// Who has one of the exclusive tracers, as a clause.
fn user(tracefs: &Path) -> Option<String> {
    let instances = fs::read_dir(tracefs.join("instances")).into_iter().flatten().flatten();
    let folders = [tracefs.to_owned()].into_iter().chain(instances.map(|entry| entry.path()));
    for folder in folders {
        let file = folder.join("current_tracer");
        let Ok(tracer) = read(&file) else { continue };
        if !EXCLUSIVE.contains(&tracer.as_str()) {
            continue;
        }
        return Some(match folder.file_name().and_then(owner_pid) {
            Some(pid) => format!("process {pid} cross-checks already"),
            None => format!("the {tracer} tracer is in use (echo nop > {} ends that)", file.display()),
        });
    }
    None
}

/// Removes the instances that killed runs left. A failure is only worth a warning.
fn remove_leftovers(instances: &Path) {
    for entry in fs::read_dir(instances).into_iter().flatten().flatten() {
        let path = entry.path();
        // Somebody's lock says that it is in use.
        if owner_pid(&entry.file_name()).is_some()
            && let Ok(Some(_lock)) = try_lock(&path)
        {
            remove(&path);
            log::info!("removed the tracing instance {} of an earlier run", path.display());
        }
    }
}

/// Removes an instance, and with it switches off its tracer.
fn remove(instance: &Path) {
    let deadline = Instant::now() + BUSY_FOR;
    let error = loop {
        match fs::remove_dir(instance) {
            Ok(()) => return,
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy && Instant::now() < deadline => {
                thread::sleep(Duration::from_millis(10));
            }
            Err(error) => break error,
        }
    };
    log::warn!("cannot remove the tracing instance {}: {error}", instance.display());
    // Whoever holds it open need not have it trace.
    let _ = fs::write(instance.join("current_tracer"), "nop");
}

/// The pid in the name of an instance of ours; `None` for every other name.
fn owner_pid(name: &OsStr) -> Option<u32> {
    let name = name.to_str()?;
    let pid: u32 = name.strip_prefix(PREFIX)?.parse().ok()?;
    // Writing it again refuses spellings such as `+7` or `007` that we never make.
    (format!("{PREFIX}{pid}") == name).then_some(pid)
}

#[cfg(test)]
#[path = "tracer_tests.rs"]
mod tests;
