//! `load hogs`: the limit is kept, the kernel's counts agree, and nothing is left behind however it ends.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant},
};

use rstat_probe_report::load_result::LoadResult;
use rstat_probe_report::recording::EndedBy;
use rustix::process::Signal;

use super::{
    process::{LIMIT, Running, TOOL, finish, tool},
    ready,
};

/// Where a host can have a memory controller.
const MOUNTS: [&str; 3] = ["/sys/fs/cgroup/memory", "/sys/fs/cgroup/unified", "/sys/fs/cgroup"];

/// Whether there is a cgroup with a memory limit to be had; prints why not.
fn memory_ready() -> bool {
    let on = |file: &str| {
        fs::read_to_string(file).is_ok_and(|text| text.split_whitespace().any(|word| word == "memory"))
    };
    let reason = if !rustix::process::geteuid().is_root() {
        "not root"
    } else if !Path::new("/sys/fs/cgroup/memory/memory.limit_in_bytes").exists()
        && !on("/sys/fs/cgroup/cgroup.subtree_control")
    {
        "no memory controller for new cgroups"
    } else {
        return true;
    };
    println!("\nSKIPPED: {reason}");
    false
}

fn result(file: &Path) -> LoadResult {
    serde_json::from_slice(&fs::read(file).unwrap()).unwrap()
}

/// A number of `/proc/vmstat`: of the whole machine.
fn vmstat(name: &str) -> u64 {
    let text = fs::read_to_string("/proc/vmstat").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.unwrap_or("0").parse().unwrap()
}

/// Cgroups of the load with this pid, in all hierarchies.
fn cgroups_of(pid: u32) -> Vec<PathBuf> {
    let name = format!("rstat-probe-load-{pid}");
    MOUNTS.iter().map(|mount| Path::new(mount).join(&name)).filter(|path| path.is_dir()).collect()
}

/// Descendants of a process.
fn descendants(pid: u32) -> Vec<u32> {
    let children = children(pid);
    children.iter().copied().chain(children.iter().flat_map(|child| descendants(*child))).collect()
}

/// Children of a process, whichever of its threads started them.
fn children(pid: u32) -> Vec<u32> {
    let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let lists =
        tasks.flatten().map(|task| fs::read_to_string(task.path().join("children")).unwrap_or_default());
    lists
        .flat_map(|list| list.split_whitespace().map(|pid| pid.parse().unwrap()).collect::<Vec<_>>())
        .collect()
}

fn until_gone(pids: &[u32]) {
    let deadline = Instant::now() + Duration::from_secs(5);
    for pid in pids {
        // A zombie waits for whoever has inherited it, and holds nothing.
        let lives = || {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            stat.contains("(rstat-hog") && !stat.contains(") Z ")
        };
        while lives() {
            assert!(Instant::now() < deadline, "process {pid} is left behind");
            thread::sleep(Duration::from_millis(5));
        }
    }
}

/// Starts hogs and waits until some were killed already; gives the load, its hogs and its cgroups.
fn start(arguments: &[&str]) -> (Running, Vec<u32>, Vec<PathBuf>) {
    let kills = vmstat("oom_kill");
    let mut load = Running::start(&mut tool(arguments));
    load.wait_for(|_| vmstat("oom_kill") >= kills + 3);
    let (hogs, cgroups) = (descendants(load.child.id()), cgroups_of(load.child.id()));
    assert!(!hogs.is_empty() && !cgroups.is_empty(), "{hogs:?} {cgroups:?}");
    (load, hogs, cgroups)
}

#[test]
#[ignore = "needs root and a memory controller"]
fn the_limit_is_kept_and_the_kernel_counts_the_same_kills() {
    if !memory_ready() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("hogs.json");
    let (swapped, kills) = (vmstat("pswpout"), vmstat("oom_kill"));
    let mut command = tool(["load", "hogs", "--processes", "8", "--memory", "24M", "--duration", "2s", "-o"]);
    let finished = finish(command.arg(&file));
    finished.assert_success();
    let all_kills = vmstat("oom_kill") - kills;
    let result = result(&file);
    let hogs = result.hogs.unwrap();
    println!("{} OOM kills, {} bytes charged", hogs.oom_kills, hogs.charged_bytes);
    assert_eq!((result.kind.as_str(), &result.ended_by), ("hogs", &EndedBy::Duration));
    assert_eq!((hogs.processes, hogs.limit_bytes), (8, 24 << 20));
    assert!(hogs.peak_bytes.is_none_or(|peak| peak <= hogs.limit_bytes), "{:?}", hogs.peak_bytes);
    assert_eq!(vmstat("pswpout"), swapped, "the host swapped");
    // Each kill frees less than the limit, and all memory was charged once more before the next one.
    assert!(hogs.oom_kills > 3 && hogs.charged_bytes > hogs.limit_bytes, "{hogs:?}");
    assert!(hogs.charged_bytes <= (hogs.oom_kills + 1) * hogs.limit_bytes, "{hogs:?}");
    // The whole machine had no others: those between the last reading and the end are not in the result.
    assert!((hogs.oom_kills..=hogs.oom_kills + 8).contains(&all_kills), "{all_kills}: {hogs:?}");
    assert!(hogs.killed.abs_diff(hogs.oom_kills) <= 8 && hogs.starts >= 8 + hogs.killed - 8, "{hogs:?}");
    let log = Command::new("dmesg").output().unwrap();
    assert!(!String::from_utf8_lossy(&log.stdout).contains("] Out of memory: "), "a global OOM");
}

#[test]
#[ignore = "needs root and a memory controller"]
fn a_signal_ends_hogs_promptly_with_their_result_and_nothing_left() {
    if !memory_ready() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("hogs.json");
    let alone = ["load", "hogs", "--processes", "4", "--duration", "1m", "-o", file.to_str().unwrap()];
    let beside =
        ["load", "stat-reader", "--with-hogs", "4", "--duration", "1m", "-o", file.to_str().unwrap()];
    for (arguments, signal, name) in [
        (&alone[..], Signal::INT, "SIGINT"),
        (&alone, Signal::HUP, "SIGHUP"),
        (&beside, Signal::TERM, "SIGTERM"),
    ] {
        let (load, hogs, cgroups) = start(arguments);
        let begin = Instant::now();
        load.signal(signal);
        let finished = load.wait(LIMIT);
        finished.assert_success();
        assert!(begin.elapsed() < Duration::from_secs(3), "{name}: {:?}", begin.elapsed());
        assert_eq!(result(&file).ended_by, EndedBy::Signal { name: name.to_owned() });
        until_gone(&hogs);
        assert!(cgroups.iter().all(|cgroup| !cgroup.exists()), "{cgroups:?} left behind");
        fs::remove_file(&file).unwrap();
    }
}

/// As in the published experiment. What starts and ends hundreds of processes among hundreds of busy threads must not
/// wait for them: on two CPUs it once took minutes.
#[test]
#[ignore = "needs root and a memory controller"]
fn hundreds_of_hogs_beside_hundreds_of_readers_end_in_time() {
    if !memory_ready() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("crowd.json");
    let v2 = ["/sys/fs/cgroup/unified/cgroup.procs", "/sys/fs/cgroup/cgroup.procs"];
    for stat in ["cpu.stat", "memory.stat"] {
        if stat == "cpu.stat" && !v2.iter().any(|file| Path::new(file).exists()) {
            println!("\nSKIPPED: cpu.stat needs cgroup v2");
            continue;
        }
        let (swapped, kills, begin) = (vmstat("pswpout"), vmstat("oom_kill"), Instant::now());
        let mut command = tool(["load", "stat-reader", "--threads", "400", "--with-hogs", "400"]);
        let load = Running::start(command.args(["--stat", stat, "--duration", "2s", "-o"]).arg(&file));
        let pid = load.child.id();
        load.wait(LIMIT).assert_success();
        let took = begin.elapsed();
        let result = result(&file);
        let (reader, hogs) = (result.stat_reader.unwrap(), result.hogs.unwrap());
        println!("{stat}: {} accesses, {} OOM kills, {took:?} in all", reader.accesses, hogs.oom_kills);
        assert!(reader.accesses > 0 && reader.errors == 0, "{reader:?}");
        assert!(hogs.starts >= 400 && hogs.charged_bytes > 0, "{hogs:?}");
        assert!(hogs.peak_bytes.is_none_or(|peak| peak <= hogs.limit_bytes), "{:?}", hogs.peak_bytes);
        assert!(vmstat("oom_kill") > kills && vmstat("pswpout") == swapped);
        // Its 2 s, at most 20 s until the first hog is killed, and what a busy machine needs.
        assert!(took < Duration::from_secs(40), "{took:?}");
        assert_eq!(cgroups_of(pid), Vec::<PathBuf>::new());
    }
}

#[test]
#[ignore = "needs root and a memory controller"]
fn killed_outright_its_hogs_go_at_once_and_its_cgroups_at_the_next_start_of_any_load() {
    if !memory_ready() {
        return;
    }
    let (load, hogs, cgroups) = start(&["load", "stat-reader", "--with-hogs", "4", "--duration", "1m"]);
    load.signal(Signal::KILL);
    assert_eq!(load.wait(LIMIT).signal, Some(9));
    until_gone(&hogs);
    // One that knows nothing of memory: it cleans all hierarchies.
    finish(&mut tool(["load", "stat-reader", "--threads", "1", "--duration", "50ms"])).assert_success();
    assert!(cgroups.iter().all(|cgroup| !cgroup.exists()), "{cgroups:?} left behind");
}

#[test]
#[ignore = "needs root, a kernel with rstat tracepoints and a memory controller"]
fn a_killed_run_takes_its_hogs_along() {
    if !memory_ready() || !ready() {
        return;
    }
    let kills = vmstat("oom_kill");
    let arguments = ["run", "--", TOOL, "load", "hogs", "--processes", "4", "--duration", "1m"];
    let mut run = Running::start(&mut tool(arguments));
    run.wait_for(|_| vmstat("oom_kill") >= kills + 3);
    let load = children(run.child.id());
    let [load] = load[..] else { panic!("{load:?} instead of one load") };
    let (hogs, cgroups) = (descendants(load), cgroups_of(load));
    assert!(!hogs.is_empty() && !cgroups.is_empty());
    run.signal(Signal::KILL);
    assert_eq!(run.wait(LIMIT).signal, Some(9));
    until_gone(&hogs);
    let deadline = Instant::now() + Duration::from_secs(3);
    while cgroups.iter().any(|cgroup| cgroup.exists()) {
        assert!(Instant::now() < deadline, "{cgroups:?} left behind");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
#[ignore = "needs root and a memory controller"]
fn limits_that_cannot_be_are_refused_before_anything_is_made() {
    if !memory_ready() {
        return;
    }
    for (arguments, words) in [
        (&["hogs", "--memory", "900000G"][..], "half of that"),
        (&["hogs", "--processes", "400", "--memory", "1M"], "too small for 400 hogs"),
        (&["hogs", "--processes", "0"], "at least 1"),
        (&["hogs", "--duration", "0"], "duration 0"),
        (&["stat-reader", "--with-hogs", "100000"], "too many"),
    ] {
        let finished = finish(tool(["load"]).args(arguments));
        assert!(finished.assert_refused(2).contains(words), "{}", finished.stderr);
        assert_eq!(finished.stdout, "");
    }
}
