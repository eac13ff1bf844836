//! CPUs that come and go during a run.

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use rstat_probe_report::Counter;

use super::{
    bracket::Open,
    cgroup::Cgroup,
    ftrace::Ftrace,
    machine,
    recorded::{counter, sections},
    tool,
};

/// Brings CPUs back as they were.
struct Cpus;

impl Cpus {
    fn set(cpu: u32, online: bool) {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/online");
        let written = fs::write(&path, if online { "1" } else { "0" });
        written.unwrap_or_else(|error| panic!("{path}: {error}"));
        assert_eq!(machine::cpus("online").contains(&cpu), online);
    }
}

impl Drop for Cpus {
    fn drop(&mut self) {
        Self::set(1, true);
        Self::set(3, false);
    }
}

#[test]
#[ignore = "runs in a VM: cargo xtask vm"]
fn cpus_come_and_go() {
    assert_eq!(machine::cpus("online"), [0, 1, 2]);
    assert_eq!(machine::cpus("possible"), [0, 1, 2, 3]);
    let ftrace = Ftrace::mount();
    let cgroup = Cgroup::in_calm();
    let open = Open::start(&ftrace, &[&[]], tool::load(&cgroup, 4, "3s"));
    let begin = Instant::now();
    while !open.has_begun() {
        assert!(begin.elapsed() < tool::LIMIT);
        thread::sleep(Duration::from_millis(10));
    }
    let _cpus = Cpus;
    let begin = Instant::now();
    for (cpu, online) in [(3, true), (1, false), (1, true), (3, false)] {
        Cpus::set(cpu, online);
        thread::sleep(Duration::from_millis(50));
    }
    let took = begin.elapsed();
    assert!(open.has_begun(), "the load went on meanwhile");
    let bracket = open.finish();
    println!("\nFIGURE: hotplug in {took:.1?}: {}", bracket.describe(&bracket.recordings[0]));
    bracket.check();
    let recording = &bracket.recordings[0];
    let seen = (sections(recording), counter(recording, Counter::Flushes));
    assert!(seen.0 > 100 && seen.1 > 20, "{}", bracket.describe(recording));
    assert!(recording.provenance.cpus.possible > recording.provenance.cpus.online);
}
