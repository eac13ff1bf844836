//! The programs come and go under load.

use std::{
    fs,
    time::{Duration, Instant},
};

use rstat_probe_report::Loss;

use super::{
    bracket::{check_sums, lost},
    cgroup::Cgroup,
    process::Running,
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
