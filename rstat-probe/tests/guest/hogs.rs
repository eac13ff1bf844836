//! A load with hogs, and what the machine shows before and after it.

use std::{fs, path::Path, process::Command, time::Duration};

use rstat_probe_report::load_result::LoadResult;

use super::{process::Running, tool};

/// Hundreds of processes take their time to start on one emulated CPU.
const LIMIT: Duration = Duration::from_secs(200);
const CONTROL: &str = "/sys/fs/cgroup/cgroup.subtree_control";
const PRINTK: &str = "/proc/sys/kernel/printk";
const MOUNTS: [&str; 3] = ["/sys/fs/cgroup", "/sys/fs/cgroup/unified", "/sys/fs/cgroup/memory"];

pub(super) struct Numbers {
    pub(super) threads: u32,
    pub(super) hogs: u32,
    pub(super) seconds: u32,
    /// The limit of the hogs.
    pub(super) memory: &'static str,
}

/// Runs readers of `stat` beside hogs, checks what there is to check, and gives the number of OOM kills.
pub(super) fn beside_readers(stat: &str, numbers: &Numbers) -> u64 {
    let _quiet = Quiet::new();
    let _memory = MemoryController::on();
    let file = tool::temporary("hogs.json");
    let [threads, hogs, duration] =
        [numbers.threads.to_string(), numbers.hogs.to_string(), format!("{}s", numbers.seconds)];
    let mut command = tool::tool(["load", "stat-reader", "--stat", stat, "--threads", &threads]);
    command
        .args(["--with-hogs", &hogs, "--hog-memory", numbers.memory, "--duration", &duration, "-o"])
        .arg(&file);
    let before = counters();
    let finished = Running::start(&mut command).wait(LIMIT);
    let after = counters();
    assert_eq!((finished.code, finished.stderr.as_str()), (Some(0), ""), "{}", finished.stdout);
    let result: LoadResult = serde_json::from_slice(&fs::read(&file).unwrap()).unwrap();
    fs::remove_file(&file).unwrap();
    let (reader, hogs) = (result.stat_reader.unwrap(), result.hogs.unwrap());
    println!(
        "FIGURE: {} readers of {stat} (v{}), {} hogs (v{}): {} accesses, mode {:?} ns, {} OOM kills, {} MiB charged",
        reader.threads,
        result.cgroup_version,
        hogs.processes,
        hogs.cgroup_version,
        reader.accesses,
        reader.latency.mode_pairs.unwrap(),
        hogs.oom_kills,
        hogs.charged_bytes >> 20
    );
    assert!(reader.accesses > 0 && reader.errors == 0);
    assert!(hogs.starts >= u64::from(hogs.processes));
    // Before 5.19 v2 does not have it.
    assert!(hogs.peak_bytes.is_none_or(|peak| peak <= hogs.limit_bytes), "{:?}", hogs.peak_bytes);
    assert_eq!(after.swapped_out, before.swapped_out, "the machine swapped");
    let kills = after.oom_kills - before.oom_kills;
    assert!((hogs.oom_kills..=hogs.oom_kills + 2 * hogs.starts).contains(&kills), "{kills} kills");
    kernel_is_well();
    nothing_is_left();
    // Those before the readers began are not in the result.
    kills
}

struct Counters {
    swapped_out: u64,
    oom_kills: u64,
}

/// What `/proc/vmstat` counts on the whole machine.
fn counters() -> Counters {
    let text = fs::read_to_string("/proc/vmstat").unwrap();
    let number = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        line.unwrap_or("0").parse().unwrap()
    };
    Counters { swapped_out: number("pswpout"), oom_kills: number("oom_kill") }
}

/// What the quiet console does not show.
fn kernel_is_well() {
    let log = Command::new("dmesg").output().unwrap();
    let log = String::from_utf8_lossy(&log.stdout).into_owned();
    for fault in ["WARNING: ", "BUG: ", "Oops: ", "] Out of memory: "] {
        assert!(!log.contains(fault), "{fault} in the kernel's log");
    }
}

fn nothing_is_left() {
    for entry in fs::read_dir("/proc").unwrap() {
        let name = fs::read_to_string(entry.unwrap().path().join("comm")).unwrap_or_default();
        assert_ne!(name.trim(), "rstat-hog", "a hog is left");
    }
    for mount in MOUNTS.map(Path::new).into_iter().filter(|mount| mount.is_dir()) {
        let left = fs::read_dir(mount).unwrap().map(|entry| entry.unwrap().file_name());
        let left: Vec<_> =
            left.filter(|name| name.to_string_lossy().starts_with("rstat-probe-load-")).collect();
        assert_eq!(left.len(), 0, "{left:?} in {}", mount.display());
    }
}

/// Keeps the kernel's line for each OOM kill from the serial line, which is slow.
struct Quiet(String);

impl Quiet {
    fn new() -> Self {
        let before = fs::read_to_string(PRINTK).unwrap();
        // What comes before a panic is more severe.
        fs::write(PRINTK, "3").unwrap();
        Self(before)
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        let _ = fs::write(PRINTK, &self.0);
    }
}

/// The memory controller of cgroup v2, where v2 has it, is on for the cgroups of the tests.
struct MemoryController(bool);

impl MemoryController {
    fn on() -> Self {
        let controllers = fs::read_to_string("/sys/fs/cgroup/cgroup.controllers").unwrap_or_default();
        let is_there = controllers.split_whitespace().any(|word| word == "memory");
        if is_there {
            fs::write(CONTROL, "+memory").unwrap();
        }
        Self(is_there)
    }
}

impl Drop for MemoryController {
    fn drop(&mut self) {
        if self.0 {
            let _ = fs::write(CONTROL, "-memory");
        }
    }
}
