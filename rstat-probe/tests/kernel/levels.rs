//! `load sendfile` and `load charge` on this kernel: figures, endings, what is left.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    thread,
    time::{Duration, Instant},
};

use rstat_probe_report::{
    load_result::{ChargeResult, LoadResult, Protection, SendfileResult},
    recording::EndedBy,
};
use rustix::process::Signal;

use super::{
    hierarchy::{file, is_there, loopback_connections, memory_mount, processes, top},
    process::{LIMIT, Running, TOOL, finish, tool},
    ready,
    recorded::{assert_nothing_lost, recording},
};

/// Root, and a memory controller.
fn has_memory() -> bool {
    if !ready() {
        return false;
    }
    let there = memory_mount().is_some();
    if !there {
        println!("\nSKIPPED: no memory controller");
    }
    there
}

fn result(path: &Path) -> LoadResult {
    serde_json::from_slice(&fs::read(path).unwrap()).unwrap()
}

/// Starts a load and waits until so many processes are in its leaf.
fn start(arguments: &[&str], count: usize) -> (Running, PathBuf, Vec<u32>) {
    let mut running = Running::start(tool(["load"]).args(arguments));
    let top = top(running.child.id());
    let leaf = top.join("middle/leaf");
    running.wait_for(|_| processes(&leaf).len() >= count);
    // Until they work.
    thread::sleep(Duration::from_millis(400));
    let pids = processes(&leaf);
    assert_eq!(pids.len(), count);
    (running, top, pids)
}

fn assert_gone(pids: &[u32]) {
    let begin = Instant::now();
    while let Some(pid) = pids.iter().find(|pid| is_there(**pid)) {
        assert!(begin.elapsed() < Duration::from_secs(5), "process {pid} is left behind");
        thread::sleep(Duration::from_millis(5));
    }
}

fn check_sendfile(load: &LoadResult, pairs: u32) -> SendfileResult {
    let sent = load.sendfile.clone().unwrap();
    assert_eq!((load.kind.as_str(), sent.pairs, sent.levels), ("sendfile", pairs, 3));
    assert_eq!((sent.message_bytes, sent.file_bytes), (10 * 1024, 640 * 1024));
    let is_v2 = memory_mount().unwrap().1;
    assert_eq!(load.cgroup_version, if is_v2 { 2 } else { 1 });
    match &sent.protection {
        Protection::Set { min_bytes, low_bytes } => assert!(is_v2 && low_bytes > min_bytes),
        Protection::Unset { reason } => assert!(!is_v2 && reason.contains("cgroup v2 only"), "{reason}"),
    }
    assert!(sent.slowest_megabits_per_second > 0.0, "{sent:?}");
    assert!(sent.slowest_megabits_per_second <= sent.megabits_per_second);
    assert!(sent.megabits_per_second <= sent.fastest_megabits_per_second);
    let total = sent.megabits_per_second * f64::from(pairs);
    assert!((sent.total_megabits_per_second / total - 1.0).abs() < 1e-9);
    sent
}

#[test]
#[ignore = "needs root and a memory controller"]
fn thirty_six_pairs_send() {
    if !has_memory() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("load.json");
    let before = loopback_connections();
    let arguments = ["load", "sendfile", "--pairs", "36", "--duration", "2s", "-o", path.to_str().unwrap()];
    let running = Running::start(&mut tool(arguments));
    let top = top(running.child.id());
    let finished = running.wait(LIMIT);
    finished.assert_success();
    print!("{}", finished.stdout);
    let load = result(&path);
    assert_eq!((load.duration_ns, &load.ended_by), (2_000_000_000, &EndedBy::Duration));
    let sent = check_sendfile(&load, 36);
    let by_bytes = sent.bytes as f64 * 8.0 / 2.0 / 1e6;
    assert!((sent.total_megabits_per_second / by_bytes - 1.0).abs() < 1e-9, "{sent:?}");
    assert!(
        finished.stdout.contains("36 pairs") && finished.stdout.contains("Mbit/s"),
        "{}",
        finished.stdout
    );
    assert!(!top.exists(), "{} is left behind", top.display());
    assert!(loopback_connections() <= before, "connections are left behind");
}

#[test]
#[ignore = "needs root and a memory controller"]
fn charges_are_the_faults_of_the_cgroup() {
    if !has_memory() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("load.json");
    let arguments = ["charge", "--processes", "2", "--duration", "3s", "-o", path.to_str().unwrap()];
    let (running, top, _) = start(&arguments, 2);
    let is_v2 = memory_mount().unwrap().1;
    let name = if is_v2 { "pgfault " } else { "total_pgfault " };
    let faults = || -> u64 {
        let text = file(&top, "memory.stat");
        text.lines().find_map(|line| line.strip_prefix(name)?.parse().ok()).unwrap()
    };
    thread::sleep(Duration::from_secs(1));
    // Neither the limit nor swap was ever needed.
    let (limit, at_limit) = if is_v2 {
        (file(&top, "memory.max"), file(&top, "memory.events").contains("\nmax 0\n"))
    } else {
        (file(&top, "memory.limit_in_bytes"), file(&top, "memory.failcnt") == "0")
    };
    assert!(at_limit, "the load is at its limit");
    if is_v2 && top.join("memory.swap.max").exists() {
        assert_eq!(file(&top, "memory.swap.max"), "0");
    }
    // The processes end their work at the deadline by themselves. The load, which would then end them and remove the
    // cgroup, is held until the kernel's worker has brought the statistics up to date, every other second.
    running.signal(Signal::STOP);
    thread::sleep(Duration::from_secs(3 + 5));
    let by_kernel = faults();
    running.signal(Signal::CONT);
    running.wait(LIMIT).assert_success();
    let load = result(&path);
    let ChargeResult { processes, page_bytes, round_bytes, limit_bytes, charges, charges_per_second, .. } =
        load.charge.clone().unwrap();
    println!("FIGURE: {charges} charges by the load, {by_kernel} faults by the kernel");
    assert_eq!((load.duration_ns, processes, round_bytes), (3_000_000_000, 2, 4 << 20));
    assert_eq!(page_bytes, rustix::param::page_size() as u64);
    assert_eq!(limit_bytes.to_string(), limit);
    assert!((charges as f64 / 3.0 / charges_per_second - 1.0).abs() < 1e-9);
    // The processes' own beginning has faults, too, and their last look, which was not counted. What a CPU keeps to
    // itself before the kernel adds it up are some dozens.
    let (least, most) = (charges - 1_000, charges + 2 * 10_000);
    assert!((least..=most).contains(&by_kernel), "{by_kernel} faults, {charges} charges");
    assert!(!top.exists(), "{} is left behind", top.display());
}

#[test]
#[ignore = "needs root and a memory controller"]
fn signals_end_them_with_their_results_and_nothing_left() {
    if !has_memory() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("load.json");
    let before = loopback_connections();
    for (signal, name) in [(Signal::INT, "SIGINT"), (Signal::TERM, "SIGTERM"), (Signal::HUP, "SIGHUP")] {
        for (words, count) in [(["sendfile", "--pairs", "4"], 8), (["charge", "--processes", "3"], 3)] {
            let output = path.to_str().unwrap();
            let (running, top, pids) =
                start(&[&words[..], &["--duration", "1m", "-o", output]].concat(), count);
            let begin = Instant::now();
            running.signal(signal);
            running.wait(LIMIT).assert_success();
            assert!(begin.elapsed() < Duration::from_secs(3), "{:?}", begin.elapsed());
            let load = result(&path);
            assert_eq!(load.ended_by, EndedBy::Signal { name: name.to_owned() });
            assert!((200_000_000..30_000_000_000).contains(&load.duration_ns), "{}", load.duration_ns);
            match &load.sendfile {
                Some(_) => assert!(check_sendfile(&load, 4).bytes > 0),
                None => assert!(load.charge.unwrap().charges_per_second > 0.0),
            }
            assert!(!top.exists(), "{} is left behind", top.display());
            assert_gone(&pids);
        }
    }
    assert!(loopback_connections() <= before, "connections are left behind");
}

#[test]
#[ignore = "needs root and a memory controller"]
fn killed_outright_the_processes_go_at_once_and_the_cgroups_at_the_next_start() {
    if !has_memory() {
        return;
    }
    for (words, count) in [(["sendfile", "--pairs", "4"], 8), (["charge", "--processes", "3"], 3)] {
        let (running, top, pids) = start(&[&words[..], &["--duration", "1m"]].concat(), count);
        running.signal(Signal::KILL);
        assert_eq!(running.wait(LIMIT).signal, Some(9));
        assert_gone(&pids);
        // Any load will do; somebody else's may have been quicker.
        let next = ["load", "stat-reader", "--stat", "memory.stat", "--threads", "1", "--duration", "50ms"];
        finish(&mut tool(next)).assert_success();
        assert!(!top.exists(), "{} is left behind", top.display());
    }
}

#[test]
#[ignore = "needs root and a memory controller"]
fn a_process_that_is_killed_ends_the_load_and_is_told() {
    if !has_memory() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("load.json");
    let arguments = ["sendfile", "--pairs", "3", "--duration", "1m", "-o", path.to_str().unwrap()];
    let (running, top, pids) = start(&arguments, 6);
    let one = rustix::process::Pid::from_raw(i32::try_from(pids[0]).unwrap()).unwrap();
    rustix::process::kill_process(one, Signal::KILL).unwrap();
    let finished = running.wait(Duration::from_secs(10));
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(finished.stderr.contains("warning: a process of the load ended"), "{finished:?}");
    let load = result(&path);
    let EndedBy::Error { message } = &load.ended_by else { panic!("{:?}", load.ended_by) };
    assert!(message.contains("SIGKILL"), "{message}");
    assert!(!top.exists());
    assert_gone(&pids);
}

#[test]
#[ignore = "needs root and a kernel with rstat tracepoints"]
fn the_result_is_in_the_recording() {
    if !has_memory() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.json");
    let load = ["--", TOOL, "load", "sendfile", "--pairs", "2", "--duration", "1s"];
    finish(tool(["run", "-o"]).arg(&path).args(load)).assert_success();
    let recording = recording(&path);
    assert_nothing_lost(&recording);
    let workload = recording.workload.unwrap();
    let load: LoadResult = serde_json::from_value(workload.result.unwrap()).unwrap();
    check_sendfile(&load, 2);
}

/// Two sets of six, compared as the published tables are.
#[test]
#[ignore = "needs root and a memory controller"]
fn two_sets_compare() {
    if !has_memory() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut sides = [Vec::new(), Vec::new()];
    for run in 0..6 {
        for (side, name) in [(0, "small"), (1, "large")] {
            let path = folder.path().join(format!("{name}-{run}.json"));
            // Messages of 100 bytes cost a system call each.
            let message = ["100", "10K"][side];
            let words =
                ["load", "sendfile", "--pairs", "2", "--duration", "300ms", "--message", message, "-o"];
            finish(tool(words).arg(&path)).assert_success();
            sides[side].push(path);
        }
    }
    let finished = finish(tool(["compare"]).args(&sides[0]).arg("--with").args(&sides[1]));
    println!("{}{}", finished.stdout, finished.stderr);
    assert!(finished.stdout.contains("load.megabits_per_second"), "{}", finished.stdout);
    assert_eq!(finished.code, Some(0), "more is better: {}", finished.stdout);
}

/// A network namespace of its own has a loopback that is down.
#[test]
#[ignore = "needs root and a memory controller"]
fn without_the_ipv6_loopback_it_is_refused_in_a_line() {
    if !has_memory() {
        return;
    }
    if !Command::new("unshare").args(["-n", "true"]).status().is_ok_and(|status| status.success()) {
        return println!("\nSKIPPED: no unshare");
    }
    let finished = finish(Command::new("unshare").args(["-n", TOOL, "load", "sendfile", "--duration", "1s"]));
    let line = finished.assert_refused(2);
    assert!(line.starts_with("error: the IPv6 loopback address ::1 cannot be used"), "{line}");
}
