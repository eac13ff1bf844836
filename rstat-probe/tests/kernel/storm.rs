//! A flush storm: threads that read a cgroup's `cpu.stat`, which flushes at every read.

use std::{fs, thread, time::Duration};

use rustix::process::Signal;

use super::{
    cgroup::Cgroup,
    process::{LIMIT, Running, tool},
};

/// A storm that lasts as long as this value.
pub(super) struct Storm {
    load: Option<Running>,
    _cgroup: Cgroup,
}

impl Storm {
    /// Starts `threads` readers and waits until they read.
    pub(super) fn start(threads: usize) -> Self {
        let cgroup = Cgroup::new();
        let mut load = Running::start(&mut tool(load(&cgroup, threads, "10m")));
        load.wait_for(|pid| {
            fs::read_dir(format!("/proc/{pid}/task")).is_ok_and(|tasks| tasks.count() > threads)
        });
        thread::sleep(Duration::from_millis(50));
        Self { load: Some(load), _cgroup: cgroup }
    }

    /// Two readers a CPU.
    pub(super) fn on_every_cpu() -> Self {
        Self::start(2 * cpus())
    }
}

impl Drop for Storm {
    fn drop(&mut self) {
        let Some(mut load) = self.load.take() else { return };
        if load.has_ended() {
            assert!(thread::panicking(), "the load ended by itself");
            return;
        }
        load.signal(Signal::TERM);
        if !thread::panicking() {
            load.wait(LIMIT).assert_success();
        }
    }
}

/// Arguments of the tool's load on `cgroup`.
pub(super) fn load(cgroup: &Cgroup, threads: usize, duration: &str) -> Vec<String> {
    let threads = threads.to_string();
    ["load", "stat-reader", "--cgroup", cgroup.name(), "--stat", "cpu.stat", "--threads", &threads]
        .into_iter()
        .chain(["--duration", duration])
        .map(str::to_owned)
        .collect()
}

/// Online CPUs.
pub(super) fn cpus() -> usize {
    cpu_list().len()
}

/// The online CPU with the highest number.
pub(super) fn last_cpu() -> usize {
    *cpu_list().last().unwrap()
}

fn cpu_list() -> Vec<usize> {
    let text = fs::read_to_string("/sys/devices/system/cpu/online").unwrap();
    let ranges = text.trim().split(',').map(|part| part.split_once('-').unwrap_or((part, part)));
    ranges.flat_map(|(low, high)| low.parse().unwrap()..=high.parse::<usize>().unwrap()).collect()
}
