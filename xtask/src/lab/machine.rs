//! One machine of the lab: boots a kernel, runs a script in it, brings its files out.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use anyhow::{Context as _, Result, bail};

use crate::{
    progress::Progress,
    vm::{Boot, Image},
};

/// Memory of a guest, and more for each of its CPUs: readers, hogs and pairs are processes.
const MEMORY_MB: u32 = 1024;
const MEMORY_MB_PER_CPU: u32 = 64;
/// Only panics and what is worse: thousands of pages of the OOM killer on a serial line would be a load of their own.
const COMMAND_LINE: &str = "console=ttyS0 loglevel=3 panic=-1";

/// What all machines have in common.
pub(crate) struct Lab<'a> {
    pub(crate) initramfs: &'a Path,
    pub(crate) output: &'a Path,
    pub(crate) progress: &'a Progress,
}

/// What one of them does.
pub(crate) struct Job<'a> {
    pub(crate) name: &'a str,
    pub(crate) image: &'a Image,
    pub(crate) script: &'a str,
    pub(crate) cpus: u32,
    /// What takes longer hangs.
    pub(crate) limit: Duration,
}

impl Lab<'_> {
    /// Boots and runs the script. Its files are in the folder that is returned.
    ///
    /// # Errors
    /// The guest did not come up or end, its kernel complained, or the script failed.
    pub(crate) fn boot(&self, job: &Job<'_>) -> Result<PathBuf> {
        let Job { name, image, script, cpus, limit } = *job;
        let shared = self.output.join("boots").join(name);
        fs::create_dir_all(&shared).with_context(|| format!("cannot make {}", shared.display()))?;
        fs::write(shared.join("jobs"), script)?;
        let boot = Boot {
            image,
            initramfs: self.initramfs,
            cpus: &cpus.to_string(),
            command_line: COMMAND_LINE,
            memory_mb: MEMORY_MB + MEMORY_MB_PER_CPU * cpus,
            shared: Some(&shared),
            limit,
            log: &shared.join("console.log"),
        };
        self.progress.step(&format!("{name}: booting {}", image.release));
        let up = |_: &str, took: Duration| {
            self.progress.step(&format!("{name}: up after {:.1} s", took.as_secs_f64()));
        };
        let outcome = boot.run(up)?;
        let mut console = outcome.console;
        // The console shows only the worst of the kernel's messages.
        let messages = fs::read(shared.join("dmesg")).unwrap_or_default();
        String::from_utf8_lossy(&messages).lines().for_each(|line| console.kernel_line(line));
        let mut wrong: Vec<String> = outcome.end.into_iter().chain(console.faults).collect();
        match (&console.release, console.exit) {
            (None, _) => wrong.push("the guest did not come up".to_owned()),
            (Some(release), _) if *release != image.release => wrong.push(format!("it is {release}")),
            (_, None) => wrong.push("the loads did not end".to_owned()),
            (_, Some(0)) => {}
            (_, Some(code)) => wrong.push(format!("a load ended with exit code {code}")),
        }
        if !wrong.is_empty() {
            outcome.tail.iter().for_each(|line| println!("    {line}"));
            bail!("{name}: {} (all of it is in {})", wrong.join("; "), shared.display());
        }
        self.progress.step(&format!("{name}: done in {:.0} s", outcome.took.as_secs_f64()));
        Ok(shared)
    }

    /// Moves the recording of a job to its place.
    pub(crate) fn keep(&self, shared: &Path, job: &str, to: &Path) -> Result<()> {
        fs::create_dir_all(to.parent().unwrap_or(self.output))?;
        fs::rename(shared.join(format!("{job}.json")), to)
            .with_context(|| format!("{}: {job} left no recording", shared.display()))
    }
}
