//! The truth is true: the kernel's counts are exactly what this thread does.

use std::fs;

use super::{
    cgroup::Cgroup,
    ftrace::{Counted, Ftrace},
    machine,
};

const READS: u64 = 200;

/// Reads the statistics `READS` times, each of which flushes.
fn read(cgroup: &Cgroup) {
    let file = cgroup.path().join("cpu.stat");
    for _ in 0..READS {
        fs::read(&file).unwrap();
    }
}

/// A filter for what this thread does.
fn own() -> String {
    format!("common_pid == {}", rustix::thread::gettid().as_raw_nonzero())
}

#[test]
#[ignore = "runs in a VM: cargo xtask vm"]
fn flushes_are_counted() {
    let ftrace = Ftrace::mount();
    let cgroup = Cgroup::in_calm();
    let count = if machine::has("cgroup_rstat_flush_locked") {
        ftrace.function("cgroup_rstat_flush_locked", "", &own()).started()
    } else {
        // The base statistics belong to no subsystem. A flush for another one may come along with the read.
        ftrace.function("css_rstat_flush", "ss=+8($arg1):x64", &format!("ss == 0 && {}", own())).started()
    };
    read(&cgroup);
    assert_eq!(count.finish(), Counted { hits: READS, misses: 0 });
}

#[test]
#[ignore = "runs in a VM: cargo xtask vm"]
fn sections_are_counted() {
    let ftrace = Ftrace::mount();
    let cgroup = Cgroup::in_calm();
    if machine::has_tracepoints() {
        let count = ftrace.event("cgroup/cgroup_rstat_locked", &own()).started();
        read(&cgroup);
        // Up to 6.14 one for the flush and one more after each CPU, later one for each CPU and one for the read
        // of the result.
        let expected = READS * (machine::cpus("possible").len() as u64 + 1);
        assert_eq!(count.finish(), Counted { hits: expected, misses: 0 });
    } else {
        let count = ftrace.lock("_raw_spin_lock_irq", "cgroup_rstat_lock", &own()).started();
        read(&cgroup);
        let Counted { hits, misses } = count.finish();
        let more = hits.saturating_sub(READS);
        println!("\nFIGURE: {more} acquisitions more than {READS} flushes, {misses} misses of any lock");
        // The lock is given up and taken again when the thread was to be preempted.
        assert!((READS..READS + READS / 10).contains(&hits), "{hits}");
    }
}

#[test]
#[ignore = "runs in a VM: cargo xtask vm"]
fn two_counts_of_one_event_are_apart() {
    let ftrace = Ftrace::mount();
    let cgroup = Cgroup::in_calm();
    let function = if machine::has("cgroup_rstat_flush_locked") {
        "cgroup_rstat_flush_locked"
    } else {
        "css_rstat_flush"
    };
    let outer = ftrace.function(function, "", &own()).started();
    read(&cgroup);
    let inner = ftrace.function(function, "", &own()).started();
    read(&cgroup);
    let (inner, outer) = (inner.finish(), outer.finish());
    assert!(inner.hits >= READS, "{inner:?}");
    assert_eq!(outer.hits, 2 * inner.hits);
}
