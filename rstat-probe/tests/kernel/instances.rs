//! Two tools at once, and what measuring costs.

use std::{fs, thread, time::Duration};

use rustix::process::Signal;

use super::{
    cgroup::Cgroup,
    process::{LIMIT, Running, TOOL, finish, open_files, tool},
    ready,
    recorded::{assert_consistent, recording, sections},
    storm::{Storm, load},
};

/// The descriptor that keeps the kernel's BPF statistics on.
const STATISTICS: &str = "anon_inode:bpf-stats";

fn statistics_setting() -> String {
    fs::read_to_string("/proc/sys/kernel/bpf_stats_enabled").unwrap()
}

/// Counted runs of all BPF programs of a process; they grow only while statistics are on.
fn counted_runs(pid: u32) -> u64 {
    let infos = fs::read_dir(format!("/proc/{pid}/fdinfo")).unwrap();
    let texts = infos.flatten().filter_map(|info| fs::read_to_string(info.path()).ok());
    let count = |text: String| {
        text.lines().find_map(|line| line.strip_prefix("run_cnt:")?.trim().parse::<u64>().ok())
    };
    texts.filter_map(count).sum()
}

#[test]
#[ignore = "needs root and a kernel with rstat tracepoints"]
fn two_instances_count_the_same() {
    if !ready() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (outer, inner) = (folder.path().join("outer"), folder.path().join("inner"));
    let cgroup = Cgroup::in_calm();
    // The kernel's own flushes at the edges are the only reason for another try.
    for _ in 0..6 {
        let mut command = tool(["run", "-o"]);
        command.arg(&outer).args(["--", TOOL, "run", "-o"]).arg(&inner).args(["--", TOOL]);
        finish(command.args(load(&cgroup, 4, "2s"))).assert_success();
        let (outer, inner) = (recording(&outer), recording(&inner));
        assert_consistent(&outer);
        assert_consistent(&inner);
        println!("outer {}, inner {} sections", sections(&outer), sections(&inner));
        assert!(sections(&inner) > 1000 && sections(&inner) <= sections(&outer));
        if sections(&inner) == sections(&outer) {
            return;
        }
    }
    panic!("the instances never agreed");
}

#[test]
#[ignore = "needs root and a kernel with rstat tracepoints"]
fn killing_one_instance_leaves_the_other_and_the_host_alone() {
    if !ready() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("other.json");
    let setting = statistics_setting();
    let _storm = Storm::start(2);
    let mut other = Running::start(tool(["run", "-d", "5s", "-o"]).arg(&file));
    other.wait_attached();
    // Its own sample is over before the victim's begins.
    other.wait_for(|pid| open_files(pid, STATISTICS) > 0);
    other.wait_for(|pid| open_files(pid, STATISTICS) == 0);
    let other_pid = other.child.id();
    let mut victim = Running::start(&mut tool(["run"]));
    victim.wait_for(|pid| open_files(pid, STATISTICS) > 0);
    let before = counted_runs(other_pid);
    thread::sleep(Duration::from_millis(20));
    assert!(counted_runs(other_pid) > before, "statistics were on");
    victim.signal(Signal::KILL);
    assert_eq!(victim.wait(LIMIT).signal, Some(9));

    thread::sleep(Duration::from_millis(50));
    let after = counted_runs(other_pid);
    thread::sleep(Duration::from_millis(200));
    assert!(!other.has_ended());
    assert_eq!(counted_runs(other_pid), after, "statistics are off again");
    assert_eq!(statistics_setting(), setting);
    other.wait(LIMIT).assert_success();
    let recording = recording(&file);
    assert_consistent(&recording);
    println!("the other: {} sections in {} ns", sections(&recording), recording.duration_ns);
    assert!(recording.duration_ns >= 5_000_000_000);
    // It measured up to its end.
    let last = recording.intervals.iter().rev().find(|interval| interval.length_ns > 100_000_000).unwrap();
    assert!(last.counters[&rstat_probe_report::Counter::Sections] > 100);
}

#[test]
#[ignore = "needs root and a kernel with rstat tracepoints"]
fn the_own_cost_is_told() {
    if !ready() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.json");
    let setting = statistics_setting();
    let _storm = Storm::on_every_cpu();
    finish(tool(["run", "-d", "2s", "-o"]).arg(&file)).assert_success();
    assert_eq!(statistics_setting(), setting);
    let recording = recording(&file);
    assert_consistent(&recording);
    let overhead = &recording.overhead;
    let sample = overhead.sampled.as_ref().unwrap();
    println!("{:.0} ns a section, {:?} percent", sample.ns_per_section, overhead.percent_of_one_cpu);
    assert_eq!(overhead.unavailable, None);
    assert!(sample.sections > 0 && (10.0..100_000.0).contains(&sample.ns_per_section), "{sample:?}");
    assert!((50_000_000..1_000_000_000).contains(&sample.length_ns), "{sample:?}");
    let runs =
        |name: &str| sample.programs.iter().find(|it| it.program == name).map(|it| it.run_count).unwrap();
    let (locked, unlock) = (runs("lock_locked"), runs("lock_unlock"));
    // The sample begins and ends program by program, not at one moment.
    for runs in [locked, unlock] {
        assert!(runs.abs_diff(sample.sections) <= sample.sections / 20 + 1000, "{sample:?}");
    }
    let expected = sample.ns_per_section * sections(&recording) as f64 / recording.duration_ns as f64 * 100.0;
    let percent = overhead.percent_of_one_cpu.unwrap();
    assert!((percent - expected).abs() <= expected * 0.01, "{percent} percent, {expected} expected");
    // The note, the figure per section and the share are in the report.
    let shown = finish(tool(["show"]).arg(&file)).stdout;
    assert!(shown.contains("own cost: ") && shown.contains(" per section"), "{shown}");
}
