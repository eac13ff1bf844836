//! Whole loads on this machine's cgroups. They need root and say so when they do not have it.

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use rstat_probe_report::load_result::{LoadResult, StatReaderResult};
use rstat_probe_report::recording::EndedBy;
use rustix::process::{Pid, Signal, kill_process};

use super::mounts::Mounts;
use super::stat_reader as run;
use super::*;

/// Set for the child process of [`load_process`]: the file to read, and for how many milliseconds.
const LOAD: &str = "RSTAT_PROBE_TEST_LOAD";

/// The path of the `load` module inside the test program, which `--exact` wants.
pub(super) fn module_path_in_tests() -> String {
    let path = module_path!();
    let below_crate = path.split_once("::").map_or(path, |(_, below)| below);
    below_crate.strip_suffix("::tests").unwrap_or(below_crate).to_owned()
}

/// The mounts that cgroups can be made in, when this is root.
fn mounts_for_root(test: &str) -> Option<Mounts> {
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: needs root: {test}");
        return None;
    }
    let Mounts { v2, v1_memory } = Mounts::read().unwrap();
    // A container shows them read-only.
    let writable = |path: &PathBuf| rustix::fs::access(path, rustix::fs::Access::WRITE_OK).is_ok();
    Some(Mounts { v2: v2.filter(writable), v1_memory: v1_memory.filter(writable) })
}

fn options(stat: StatFile, milliseconds: u64) -> StatReaderOptions {
    let duration = Duration::from_millis(milliseconds);
    StatReaderOptions { threads: Some(2), duration, file: None, cgroup: None, stat, hogs: None }
}

/// Cgroups under `parent` that belong to the process `pid`.
fn cgroups_of(pid: u32, parent: &Path) -> Vec<PathBuf> {
    let name = format!("rstat-probe-load-{pid}");
    let own = |path: &PathBuf| {
        let file_name = path.file_name().unwrap().to_str().unwrap();
        file_name == name || file_name.starts_with(&format!("{name}-"))
    };
    fs::read_dir(parent).unwrap().map(|entry| entry.unwrap().path()).filter(own).collect()
}

fn pids_in(cgroup: &Path) -> Vec<u32> {
    let text = fs::read_to_string(cgroup.join("cgroup.procs")).unwrap_or_default();
    text.lines().map(|line| line.parse().unwrap()).collect()
}

fn reader(result: &LoadResult) -> &StatReaderResult {
    result.stat_reader.as_ref().unwrap()
}

fn check(result: &LoadResult) {
    let result = reader(result);
    assert!(result.accesses > 0 && result.errors == 0, "{result:?}");
    assert_eq!(result.latency.log2.iter().map(|bucket| bucket[2]).sum::<u64>(), result.accesses);
    assert_eq!(result.latency.count, result.accesses);
    assert!(result.latency.min <= result.latency.p50 && result.latency.p50 <= result.latency.p999);
    assert!(result.latency.p999 <= result.latency.max);
    assert!(result.latency.mode_pairs.is_some());
}

/// A load of one second; afterwards its cgroup and its dirtiers are gone.
fn one_second(stat: StatFile, version: u8, parent: &Path) {
    let result = run(&options(stat, 1000), &AtomicBool::new(false)).unwrap();
    check(&result);
    assert_eq!((result.cgroup_version, &result.ended_by), (version, &EndedBy::Duration));
    assert!(reader(&result).dirtied > 0);
    assert!((1_000_000_000..1_500_000_000).contains(&result.duration_ns), "{}", result.duration_ns);
    let cgroup = parent.join(result.cgroup.trim_start_matches('/'));
    assert_eq!(Path::new(&reader(&result).file), cgroup.join(stat.file_name()));
    assert!(!cgroup.exists(), "{} is left behind", cgroup.display());
    let own_tasks = fs::read_dir("/proc/self/task").unwrap();
    for task in own_tasks.map(|task| task.unwrap().path()) {
        // Only this thread's children: other tests run beside this one.
        if task.file_name().unwrap().to_str() == Some(&rustix::thread::gettid().as_raw_nonzero().to_string())
        {
            let children = fs::read_to_string(task.join("children")).unwrap_or_default();
            assert_eq!(children, "", "children are left behind");
        }
    }
}

#[test]
fn cpu_stat_on_v2() {
    let Some(mounts) = mounts_for_root("cpu_stat_on_v2") else { return };
    let Some(v2) = mounts.v2 else {
        return eprintln!("SKIPPED: needs root and a writable cgroup v2: cpu_stat_on_v2");
    };
    one_second(StatFile::CpuStat, 2, &v2);
}

#[test]
fn memory_stat_on_v1() {
    let Some(mounts) = mounts_for_root("memory_stat_on_v1") else { return };
    let Some(v1) = mounts.v1_memory else {
        return eprintln!("SKIPPED: needs root and a writable cgroup v1: memory_stat_on_v1");
    };
    one_second(StatFile::MemoryStat, 1, &v1);
}

#[test]
fn an_existing_cgroup_stays_and_is_kept_dirty_by_a_child_of_it() {
    let Some(mounts) = mounts_for_root("an_existing_cgroup") else { return };
    let Some(v1) = mounts.v1_memory else {
        return eprintln!("SKIPPED: needs root and a writable cgroup v1: an_existing_cgroup");
    };
    let name = format!("rstat-probe-test-{}", std::process::id());
    let cgroup = v1.join(&name);
    fs::create_dir(&cgroup).unwrap();
    let by_name = StatReaderOptions { cgroup: Some(name.clone()), ..options(StatFile::MemoryStat, 200) };
    let by_file =
        StatReaderOptions { file: Some(cgroup.join("memory.stat")), ..options(StatFile::MemoryStat, 200) };
    let results = [by_name, by_file].map(|options| run(&options, &AtomicBool::new(false)));
    let left = fs::read_dir(&cgroup).unwrap().filter(|entry| entry.as_ref().unwrap().path().is_dir()).count();
    fs::remove_dir(&cgroup).unwrap();
    for result in results {
        let result = result.unwrap();
        check(&result);
        assert_eq!(result.cgroup, format!("/{name}"));
        assert!(reader(&result).dirtied > 0);
    }
    assert_eq!(left, 0, "the child is left behind");
}

#[test]
fn the_root_cgroup_and_v1_are_refused_for_cpu_stat() {
    let mounts = Mounts::read().unwrap();
    let Some(v2) = mounts.v2 else {
        return eprintln!("SKIPPED: needs root and a writable cgroup v2: the_root_cgroup");
    };
    let root = StatReaderOptions { file: Some(v2.join("cpu.stat")), ..options(StatFile::CpuStat, 100) };
    let error = run(&root, &AtomicBool::new(false)).unwrap_err().to_string();
    assert!(error.contains("is of the root cgroup"), "{error}");
}

/// Not a test: the load that the tests below send signals to.
#[test]
#[ignore = "the body of a child process that other tests start"]
fn load_process() {
    let Ok(stat) = std::env::var(LOAD) else { return };
    let stat = if stat == "cpu.stat" { StatFile::CpuStat } else { StatFile::MemoryStat };
    let stop = stop_flag_on_signals().unwrap();
    println!("\nrunning");
    let result = run(&options(stat, 60_000), &stop).unwrap();
    println!("\nended by {:?} after {}", result.ended_by, reader(&result).accesses);
}

/// Starts [`load_process`] and waits until its dirtiers are at work; gives it, its cgroup and its dirtiers.
fn start_load(stat: StatFile, parent: &Path) -> (Child, PathBuf, Vec<u32>) {
    let name = format!("{}::tests::load_process", module_path_in_tests());
    let mut command = Command::new("/proc/self/exe");
    command.args(["--exact", "--ignored", "--nocapture", &name]).env(LOAD, stat.file_name());
    let mut child = command.stdout(Stdio::piped()).process_group(0).spawn().unwrap();
    let cpus = rustix::thread::sched_getaffinity(None).unwrap().count() as usize;
    let deadline = Instant::now() + Duration::from_secs(20);
    while Instant::now() < deadline {
        thread::sleep(Duration::from_millis(20));
        let cgroup = cgroups_of(child.id(), parent).pop();
        let pids = cgroup.as_ref().map_or_else(Vec::new, |cgroup| pids_in(cgroup));
        if let Some(cgroup) = cgroup.filter(|_| pids.len() >= cpus.min(128)) {
            thread::sleep(Duration::from_millis(200));
            return (child, cgroup, pids);
        }
    }
    signal(&child, Signal::TERM);
    panic!("the load does not start: {}", child.wait().unwrap());
}

fn signal(child: &Child, signal: Signal) {
    kill_process(Pid::from_child(child), signal).unwrap();
}

fn until_gone(pids: &[u32]) {
    let deadline = Instant::now() + Duration::from_secs(5);
    for pid in pids {
        while Path::new(&format!("/proc/{pid}")).exists() {
            assert!(Instant::now() < deadline, "process {pid} is left behind");
            thread::sleep(Duration::from_millis(5));
        }
    }
}

#[test]
fn a_signal_ends_it_promptly_with_its_result_and_nothing_left() {
    let Some(mounts) = mounts_for_root("a_signal_ends_it") else { return };
    let places = [(StatFile::CpuStat, mounts.v2), (StatFile::MemoryStat, mounts.v1_memory)];
    for (stat, parent) in places.into_iter().filter_map(|(stat, parent)| Some((stat, parent?))) {
        for one in [Signal::TERM, Signal::INT, Signal::HUP] {
            let (mut child, cgroup, dirtiers) = start_load(stat, &parent);
            let start = Instant::now();
            signal(&child, one);
            // A second one on the heels of the first must not break the way out.
            signal(&child, Signal::TERM);
            let mut output = String::new();
            child.stdout.take().unwrap().read_to_string(&mut output).unwrap();
            assert!(child.wait().unwrap().success());
            assert!(start.elapsed() < Duration::from_secs(2), "{one:?}: {:?}", start.elapsed());
            let name = if one == Signal::INT {
                "SIGINT"
            } else if one == Signal::HUP {
                "SIGHUP"
            } else {
                "SIGTERM"
            };
            // Both may be there when the thread looks, and then either counts as the first.
            let named = output.contains(name) || output.contains("SIGTERM");
            assert!(
                named && output.contains("ended by Signal ") && !output.contains("after 0\n"),
                "{output}"
            );
            assert!(!cgroup.exists(), "{} is left behind", cgroup.display());
            until_gone(&dirtiers);
        }
    }
}

#[test]
fn killed_outright_its_dirtiers_go_at_once_and_its_cgroup_at_the_next_start() {
    let Some(mounts) = mounts_for_root("killed_outright") else { return };
    let Some(v2) = mounts.v2 else {
        return eprintln!("SKIPPED: needs root and a writable cgroup v2: killed_outright");
    };
    let (mut child, cgroup, dirtiers) = start_load(StatFile::CpuStat, &v2);
    signal(&child, Signal::KILL);
    child.wait().unwrap();
    until_gone(&dirtiers);
    run(&options(StatFile::CpuStat, 50), &AtomicBool::new(false)).unwrap();
    assert!(!cgroup.exists(), "{} is left behind", cgroup.display());
}

#[test]
fn started_by_a_run_it_ends_when_that_is_gone() {
    let Some(mounts) = mounts_for_root("started_by_a_run") else { return };
    let Some(v2) = mounts.v2 else {
        return eprintln!("SKIPPED: needs root and a writable cgroup v2: started_by_a_run");
    };
    // A shell in between plays the run that gets killed.
    let name = format!("{}::tests::load_process", module_path_in_tests());
    let exe = fs::read_link("/proc/self/exe").unwrap();
    let mut shell = Command::new("sh")
        .args(["-c", "\"$0\" --exact --ignored --nocapture \"$1\" & echo \"pid $!\"; wait"])
        .arg(exe)
        .arg(name)
        .env(LOAD, "cpu.stat")
        .env(RESULT_FILE_VARIABLE, "/dev/null")
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(shell.stdout.take().unwrap()).lines().map(Result::unwrap);
    let load: u32 = lines.find_map(|line| line.strip_prefix("pid ")?.parse().ok()).unwrap();
    lines.find(|line| line == "running").unwrap();
    thread::sleep(Duration::from_millis(500));
    shell.kill().unwrap();
    shell.wait().unwrap();
    let end = lines.find(|line| line.starts_with("ended by ")).unwrap();
    assert!(end.contains("the process that started the load is gone"), "{end}");
    until_gone(&[load]);
    assert_eq!(cgroups_of(load, &v2), Vec::<PathBuf>::new());
}

#[test]
fn the_result_file_is_written_whole_and_with_plain_rights() {
    use std::os::unix::fs::PermissionsExt;

    let Some(mounts) = mounts_for_root("the_result_file") else { return };
    if mounts.v2.is_none() {
        return eprintln!("SKIPPED: needs root and a writable cgroup v2: the_result_file");
    }
    let result = run(&options(StatFile::CpuStat, 50), &AtomicBool::new(false)).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("result.json");
    fs::write(&path, "something old and longer").unwrap();
    let link = folder.path().join("link.json");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    write_result(&result, &link).unwrap();
    assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
    let read: LoadResult = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    assert_eq!(reader(&read).accesses, reader(&result).accesses);
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o077, 0o044);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
    let error = write_result(&result, Path::new("/nonexistent/x.json")).unwrap_err();
    assert!(
        format!("{error:#}").starts_with("cannot write the load's result to /nonexistent/x.json: No such")
    );
    write_result(&result, Path::new("/dev/null")).unwrap();
    assert!(!fs::metadata("/dev/null").unwrap().is_file());
}
