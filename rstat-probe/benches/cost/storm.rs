//! The load: one thread that reads one cgroup's `cpu.stat`, alone on its CPU.

use std::fs::{self, File};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::Context as _;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::cgroup::OwnCgroup;

/// Where v2 is mounted.
const MOUNTS: [&str; 2] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"];

/// The thread reads from its start until it is dropped.
pub(crate) struct Storm {
    reads: Arc<AtomicU64>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
    /// Removed after the thread has ended.
    _cgroup: OwnCgroup,
}

impl Storm {
    /// Starts it on the last CPU, and moves the calling thread, and what it starts, away from there.
    pub(crate) fn start() -> anyhow::Result<Self> {
        let mounted = |folder: &&&str| Path::new(folder).join("cgroup.procs").exists();
        let v2 = MOUNTS
            .iter()
            .find(mounted)
            .context("cgroup v2 is not mounted, and v1 does not flush at each read")?;
        let cgroup = OwnCgroup::create(Path::new(v2))?;
        let file = File::open(cgroup.path().join("cpu.stat")).context("cannot open cpu.stat")?;
        let (busy, others) = cpus()?;
        sched_setaffinity(None, &others).context("cannot leave a CPU to the load")?;
        let (reads, stop) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let (counter, end) = (Arc::clone(&reads), Arc::clone(&stop));
        let thread = thread::Builder::new().name("storm".to_owned()).spawn(move || {
            if sched_setaffinity(None, &busy).is_ok() {
                read(&file, &counter, &end);
            }
        });
        Ok(Self { reads, stop, thread: Some(thread.context("cannot start a thread")?), _cgroup: cgroup })
    }

    /// Reads per second, over `length`.
    pub(crate) fn rate(&self, length: Duration) -> f64 {
        let (begin, before) = (Instant::now(), self.reads.load(Ordering::Relaxed));
        thread::sleep(length);
        let reads = self.reads.load(Ordering::Relaxed) - before;
        reads as f64 / begin.elapsed().as_secs_f64()
    }
}

impl Drop for Storm {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn read(file: &File, reads: &AtomicU64, stop: &AtomicBool) {
    let mut buffer = [0; 4096];
    let mut count = 0;
    while !stop.load(Ordering::Relaxed) && file.read_at(&mut buffer, 0).is_ok() {
        count += 1;
        // There is no other writer.
        reads.store(count, Ordering::Relaxed);
    }
}

/// The last CPU that this process may use, and all others, or the same where there is none.
fn cpus() -> anyhow::Result<(CpuSet, CpuSet)> {
    let mut others = sched_getaffinity(None).context("cannot read the CPUs of this process")?;
    let last = (0..CpuSet::MAX_CPU).rfind(|cpu| others.is_set(*cpu)).context("no CPU may be used")?;
    let mut busy = CpuSet::new();
    busy.set(last);
    if others.count() > 1 {
        others.unset(last);
    }
    Ok((busy, others))
}

/// What is said of the machine: kernel, processor, CPUs.
pub(crate) fn machine() -> Vec<(&'static str, String)> {
    let line = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let cpuinfo = line("/proc/cpuinfo");
    let model = cpuinfo.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    let threads = thread::available_parallelism().map_or(0, std::num::NonZero::get);
    vec![
        ("kernel", line("/proc/sys/kernel/osrelease")),
        ("processor", model.map_or_else(String::new, |(_, model)| model.to_owned())),
        ("CPUs online", line("/sys/devices/system/cpu/online")),
        ("CPUs possible", line("/sys/devices/system/cpu/possible")),
        ("CPUs used", threads.to_string()),
        ("clock", line("/sys/devices/system/clocksource/clocksource0/current_clocksource")),
        ("BPF JIT", line("/proc/sys/net/core/bpf_jit_enable")),
    ]
}

/// The size of a program, bytes.
pub(crate) fn size(path: &Path) -> Option<u64> {
    fs::metadata(path).map(|file| file.len()).ok()
}

/// Where a program is found.
pub(crate) fn find(name: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?)
        .map(|folder| folder.join(name))
        .find(|path| path.is_file())
}
