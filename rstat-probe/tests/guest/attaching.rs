//! The programs come and go under load.

use std::{
    fs, thread,
    time::{Duration, Instant},
};

use rstat_probe_report::{Histogram, Loss, Metric};
use rustix::thread::{CpuSet, sched_setaffinity};

use super::{
    bracket::{check_sums, lost},
    cgroup::Cgroup,
    machine,
    process::{Running, open_files},
    recorded::{recording, sections},
    tool,
};

/// So many times at most, and not for much longer than this: up to 6.1 a function hook that goes takes seconds.
const ROUNDS: usize = 20;
const TIME: Duration = Duration::from_secs(12);

#[test]
#[ignore = "runs in a VM: cargo xtask vm"]
fn attaches_and_detaches_under_load() {
    let cgroup = Cgroup::in_calm();
    let load = Running::start(&mut tool::tool(tool::load(&cgroup, 2, "10m")));
    let file = tool::temporary("attaching.json");
    let path = file.to_str().unwrap();
    let (mut all, mut longest, mut skipped) = (0, 0, 0);
    let begin = Instant::now();
    let mut round = 0;
    while round < ROUNDS && begin.elapsed() < TIME {
        round += 1;
        let finished = tool::run(["run", "-d", "60ms", "-o", path]);
        finished.assert_success();
        let recording = recording(&file);
        let told = format!("round {round}: {:?} {:?}", recording.totals.counters, recording.losses);
        check_sums(&recording, &told);
        for (metric, histogram) in &recording.totals.metrics {
            let max = histogram.max().unwrap_or(0);
            // The end waits a little for what is open.
            assert!(max <= recording.duration_ns + 50_000_000, "{metric} {max} ns: {told}");
            longest = longest.max(max);
        }
        all += sections(&recording);
        skipped += lost(&recording, Loss::RecursionMisses);
    }
    fs::remove_file(&file).unwrap();
    drop(load);
    println!(
        "\nFIGURE: attached {ROUNDS} times: {all} sections, longest time {} us, {skipped} skipped",
        longest / 1000
    );
    assert!(all > 100);
}

/// Longer than the programs take to attach and counting takes to begin, shorter than a wait since then would be.
const LONG_AGO: Duration = Duration::from_millis(1500);

#[test]
#[ignore = "runs in a VM: cargo xtask vm"]
fn a_wait_before_the_measurement_is_in_no_table() {
    let cgroup = Cgroup::in_calm();
    let load = Running::start(&mut tool::tool(tool::load(&cgroup, 8, "10m")));
    let file = tool::temporary("before.json");
    let mut run = Running::start(&mut tool::tool(["run", "-d", "4s", "-o", file.to_str().unwrap()]));
    run.wait_for(|pid| open_files(pid, "anon_inode:bpf_link") >= 3);
    drop(load);
    thread::sleep(LONG_AGO + LONG_AGO / 2);
    // The first acquisitions of each CPU since the load went.
    for cpu in machine::cpus("online") {
        let stat = cgroup.path().join("cpu.stat");
        let reader = thread::spawn(move || {
            let mut set = CpuSet::new();
            set.set(cpu.try_into().unwrap());
            sched_setaffinity(None, &set).unwrap();
            fs::read_to_string(stat).unwrap();
        });
        reader.join().unwrap();
    }
    run.wait(tool::LIMIT).assert_success();
    let recording = recording(&file);
    fs::remove_file(&file).unwrap();
    let longest = |metric| {
        let histogram = recording.totals.metrics.get(&metric);
        Duration::from_nanos(histogram.and_then(Histogram::max).unwrap_or(0))
    };
    let times = [Metric::IrqsOff, Metric::LockWait, Metric::LockHold, Metric::Flush].map(longest);
    println!("\nFIGURE: after a load: {} sections, longest times {times:?}", sections(&recording));
    assert!(sections(&recording) >= 3 && times.iter().all(|time| *time < LONG_AGO), "{times:?}");
}
