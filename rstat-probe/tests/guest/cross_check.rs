//! `run --cross-check`: refused where the kernel has no irqsoff tracer, as Debian's have none, and else kept and removed
//! as it should. A kernel with the tracer is no part of the matrix: boot one by hand.

use std::{fs, path::PathBuf, thread, time::Duration};

use rustix::process::Signal;

use super::{cgroup::Cgroup, ftrace::Ftrace, machine, process::Running, tool};

const RUN: [&str; 4] = ["run", "--cross-check", "-d", "60s"];

fn instances(ftrace: &Ftrace) -> Vec<PathBuf> {
    fs::read_dir(ftrace.path().join("instances")).unwrap().map(|entry| entry.unwrap().path()).collect()
}

/// Whether this kernel has the tracer; checks that it is refused where not.
fn has_tracer(ftrace: &Ftrace) -> bool {
    let tracers = fs::read_to_string(ftrace.path().join("available_tracers")).unwrap();
    let there = tracers.split_whitespace().any(|tracer| tracer == "irqsoff") && !machine::is_preempt_rt();
    if !there {
        let finished = tool::run(["run", "--cross-check", "-d", "100ms"]);
        let line = finished.assert_refused(2);
        let reason = if machine::is_preempt_rt() {
            "on PREEMPT_RT rstat's locks keep IRQs on, so there is nothing to compare"
        } else {
            "the kernel has no irqsoff tracer (CONFIG_IRQSOFF_TRACER)"
        };
        assert_eq!(line, format!("error: --cross-check: {reason}"));
        println!("FIGURE: cross-check: {reason}");
    }
    assert_eq!(instances(ftrace), Vec::<PathBuf>::new());
    there
}

#[test]
#[ignore = "runs in a VM: cargo xtask vm"]
fn needs_tracefs() {
    let finished = tool::run(["run", "--cross-check", "-d", "100ms"]);
    let line = finished.assert_refused(2);
    if !machine::is_preempt_rt() {
        assert_eq!(
            line,
            "error: --cross-check: tracefs is not mounted: mount -t tracefs tracefs /sys/kernel/tracing"
        );
    }
}

#[test]
#[ignore = "runs in a VM: cargo xtask vm"]
fn is_made_beside_a_load() {
    let ftrace = Ftrace::mount();
    if !has_tracer(&ftrace) {
        return;
    }
    let cgroup = Cgroup::in_calm();
    let measured = tool::measure(&["--cross-check"], tool::load(&cgroup, 2, "8s"));
    let check = measured.recording.cross_check.unwrap();
    println!("FIGURE: cross-check: {check:?}");
    assert!(check.windows >= 5 && check.ended_early.is_none(), "{check:?}");
    assert!(measured.finished.stdout.contains("cross-check: irqsoff tracer"), "{}", measured.finished.stdout);
    assert_eq!(instances(&ftrace), Vec::<PathBuf>::new());
}

#[test]
#[ignore = "runs in a VM: cargo xtask vm"]
fn whatever_ends_it_removes_the_tracer() {
    let ftrace = Ftrace::mount();
    if !has_tracer(&ftrace) {
        return;
    }
    let start = || {
        let mut running = Running::start(&mut tool::tool(RUN));
        running.wait_attached();
        let made = || matches!(&instances(&ftrace)[..], [one] if fs::read(one.join("current_tracer")).is_ok_and(|tracer| tracer == b"irqsoff\n"));
        running.wait_for(|_| made());
        running
    };
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        let running = start();
        running.signal(signal);
        let finished = running.wait(tool::LIMIT);
        assert_eq!((finished.code, instances(&ftrace)), (Some(0), Vec::new()), "{signal:?} {finished:?}");
    }
    let running = start();
    let second = tool::run(RUN);
    let holder = running.pid().as_raw_nonzero();
    assert_eq!(
        second.assert_refused(2),
        format!(
            "error: --cross-check: process {holder} cross-checks already, and only one at a time can use it"
        )
    );
    running.signal(Signal::KILL);
    assert_eq!(running.wait(tool::LIMIT).signal, Some(9));
    assert_eq!(instances(&ftrace).len(), 1, "nobody could remove it");
    let mut next = start();
    assert!(!next.has_ended());
    thread::sleep(Duration::from_millis(100));
    next.signal(Signal::INT);
    assert_eq!((next.wait(tool::LIMIT).code, instances(&ftrace)), (Some(0), Vec::new()));
}
