//! Attaching while everything is in motion: what began before is counted as open or not at all.

use std::{fs, thread, time::Duration};

use rstat_probe_report::{Counter, Metric};

use super::{
    cgroup::Cgroup,
    process::{LIMIT, Running, finish, tool},
    ready,
    recorded::{assert_consistent, assert_nothing_lost, counter, metric, recording, sections},
    storm::Storm,
};

/// Short-lived cgroups in one run.
const CGROUPS: u64 = 300;

#[test]
#[ignore = "needs root and a kernel with rstat tracepoints"]
fn attaching_in_a_storm_invents_no_time() {
    if !ready() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.json");
    let _storm = Storm::on_every_cpu();
    let (mut all, mut open) = (0, 0);
    for _ in 0..30 {
        let path = file.to_str().unwrap();
        finish(&mut tool(["run", "-d", "100ms", "-o", path])).assert_success();
        let recording = recording(&file);
        assert_consistent(&recording);
        assert!(recording.open.at_start <= u64::from(recording.provenance.cpus.possible));
        for name in [Metric::LockHold, Metric::LockWait, Metric::IrqsOff] {
            let longest = metric(&recording, name).max().unwrap_or(0);
            assert!(longest < recording.duration_ns + 100_000_000, "{name} {longest} ns");
        }
        all += sections(&recording);
        open += recording.open.at_start;
        fs::remove_file(&file).unwrap();
    }
    println!("30 runs, {all} sections, {open} open at the start");
    assert!(all > 30 * 100);
}

#[test]
#[ignore = "needs root and a kernel with rstat tracepoints"]
fn cgroups_that_come_and_go_lose_nothing() {
    if !ready() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.json");
    let mut running = Running::start(&mut tool(["run", "-o", file.to_str().unwrap()]));
    running.wait_attached();
    // Attached is not yet counting.
    thread::sleep(Duration::from_millis(500));
    for _ in 0..CGROUPS {
        let cgroup = Cgroup::new();
        fs::read_to_string(cgroup.path().join("cpu.stat")).unwrap();
    }
    running.signal(rustix::process::Signal::INT);
    running.wait(LIMIT).assert_success();
    let recording = recording(&file);
    assert_nothing_lost(&recording);
    let possible = u64::from(recording.provenance.cpus.possible);
    println!("{CGROUPS} cgroups, {} sections", sections(&recording));
    assert!(sections(&recording) >= CGROUPS * possible, "{}", sections(&recording));
    if !recording.provenance.yield_behaviour.flush_locked_symbol {
        // Only reads of a cpu.stat lock with cpu -1: one for each of ours.
        assert_eq!(sections(&recording) - counter(&recording, Counter::Yields), CGROUPS);
    }
}
