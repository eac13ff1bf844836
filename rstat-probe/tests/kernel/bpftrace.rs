//! bpftrace on the same tracepoints at the same time: neither takes events from the other.

use std::{fs, process::Command};

use rstat_probe_report::{Counter, Metric};

use super::{
    cgroup::Cgroup,
    perf::IN_NAMESPACE,
    perf_ready,
    process::{TOOL, finish},
    recorded::{assert_consistent, count, counter, recording, sections},
    storm::load,
};

/// Classic events: Debian's bpftrace of 2023 knows no raw ones. See `perf_ready` for where they are safe.
const PROGRAM: &str = "tracepoint:cgroup:cgroup_rstat_locked { @locked = count(); }
tracepoint:cgroup:cgroup_rstat_unlock { @unlock = count(); }";

/// What bpftrace printed as `@name: N`.
fn counted(text: &str, name: &str) -> u64 {
    let prefix = format!("@{name}: ");
    let line = text.lines().find_map(|line| line.strip_prefix(&prefix));
    line.unwrap_or_else(|| panic!("no {prefix}in {text}")).trim().parse().unwrap()
}

#[test]
#[ignore = "needs root, bpftrace and a kernel with rstat tracepoints"]
fn next_to_bpftrace_both_are_right() {
    if !perf_ready() {
        return;
    }
    if !Command::new("bpftrace").arg("--version").output().is_ok_and(|done| done.status.success()) {
        println!("\nSKIPPED: bpftrace is not installed");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let (output, printed) = (folder.path().join("recording.json"), folder.path().join("bpftrace"));
    let cgroup = Cgroup::in_calm();
    // The kernel's own flushes at the edges are the only reason for another try.
    for _ in 0..6 {
        let words = load(&cgroup, 4, "2s").join(" ");
        let mut command = Command::new("unshare");
        command
            .args(["-m", "sh", "-c", IN_NAMESPACE, "sh", TOOL, "run", "-o"])
            .arg(&output)
            .args(["--", "bpftrace", "-q", "-o"])
            .arg(&printed);
        command.args(["-c", &format!("{TOOL} {words}"), "-e", PROGRAM]);
        let finished = finish(&mut command);
        assert_eq!(finished.code, Some(0), "{finished:?}");
        let recording = recording(&output);
        assert_consistent(&recording);
        let text = fs::read_to_string(&printed).unwrap();
        let (locked, unlock) = (counted(&text, "locked"), counted(&text, "unlock"));
        let possible = u64::from(recording.provenance.cpus.possible);
        let hold = count(&recording, Metric::LockHold);
        println!("bpftrace {locked} {unlock}, rstat-probe {} {hold}", sections(&recording));
        assert!(locked > 1000 && locked <= sections(&recording) && unlock <= hold);
        assert!(recording.losses.values().all(|lost| *lost == 0), "{:?}", recording.losses);
        assert_eq!(counter(&recording, Counter::Flushes), count(&recording, Metric::Flush));
        // Whole flushes may lie between the two begins and between the two ends.
        assert!(sections(&recording) - locked <= 64 * (possible + 1), "{locked}");
        if locked == sections(&recording) && unlock == hold {
            return;
        }
    }
    panic!("something else flushed in every try");
}
