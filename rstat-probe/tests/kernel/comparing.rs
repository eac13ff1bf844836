//! `compare` of recordings of this kernel: one load against itself, and against a slowed one.
//!
//! Runs are the units, and the sides take turns: what drifts on a shared machine drifts on both.
//! Confidence is 99.9 %, so that chance makes one run of this test in a thousand fail, not one in twenty.

use std::{
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use serde_json::Value;

use super::{
    process::{TOOL, finish, tool},
    ready,
    recorded::{assert_nothing_lost, recording},
};

/// Of 10 and 10 runs there are 184,756 deals: so many that 99.9 % can be reached for six measures at once.
const RUNS: usize = 10;

/// Keeps CPUs busy until it is dropped.
struct Hogs(Vec<Child>);

impl Hogs {
    fn start(count: usize) -> Self {
        let hog =
            |_| Command::new("sh").args(["-c", "while :; do :; done"]).stdin(Stdio::null()).spawn().unwrap();
        Self((0..count).map(hog).collect())
    }
}

impl Drop for Hogs {
    fn drop(&mut self) {
        for hog in &mut self.0 {
            // It can only have ended already.
            let _ = hog.kill();
            let _ = hog.wait();
        }
    }
}

/// Measures the load once.
fn measure(folder: &Path, name: &str, run: usize) -> PathBuf {
    let file = folder.join(format!("{name}-{run}.json"));
    let load = ["--", TOOL, "load", "stat-reader", "--duration", "500ms", "--threads", "2"];
    finish(tool(["run", "-o"]).arg(&file).args(load)).assert_success();
    assert_nothing_lost(&recording(&file));
    file
}

/// Compares, and returns the comparison with the exit code.
fn compare(baseline: &[PathBuf], candidate: &[PathBuf]) -> (Value, Option<i32>) {
    let options = ["--confidence", "99.9%", "--format", "json"];
    let finished = finish(tool(["compare"]).args(baseline).arg("--with").args(candidate).args(options));
    assert_eq!(finished.stderr, "");
    (serde_json::from_str(&finished.stdout).unwrap(), finished.code)
}

fn outcome<'a>(comparison: &'a Value, name: &str) -> &'a str {
    let measures = comparison["measures"].as_array().unwrap();
    let measure =
        measures.iter().find(|measure| measure["name"] == name).unwrap_or_else(|| panic!("no {name}"));
    measure["verdict"]["outcome"].as_str().unwrap()
}

#[test]
#[ignore = "needs root and a kernel with rstat tracepoints"]
fn one_load_is_no_difference_and_a_slowed_one_is() {
    if !ready() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut sides: [Vec<PathBuf>; 3] = Default::default();
    let cpus = std::thread::available_parallelism().map_or(2, usize::from);
    for run in 0..RUNS {
        // Every other round in the other order, so that nobody is always first.
        for (side, name) in [[(0, "one"), (1, "other")], [(1, "other"), (0, "one")]][run % 2] {
            sides[side].push(measure(folder.path(), name, run));
        }
        let hogs = Hogs::start(2 * cpus);
        sides[2].push(measure(folder.path(), "slowed", run));
        drop(hogs);
    }
    let (alike, code) = compare(&sides[0], &sides[1]);
    assert_eq!((&alike["verdict"]["outcome"], code), (&Value::from("no_difference"), Some(0)), "{alike}");
    for name in ["irqs_off", "lock_hold", "flush", "load.accesses_per_second"] {
        assert_eq!(outcome(&alike, name), "no_difference", "{alike}");
    }
    assert_eq!(alike["measures"][0]["level"], "run");

    // The readers share their CPUs with twice as many others: fewer reads. What a read takes while it is not
    // interrupted stays as it was, so that nothing is said here of latencies and holds.
    let (slowed, code) = compare(&sides[0], &sides[2]);
    assert_eq!(code, Some(1), "{slowed}");
    assert_eq!(outcome(&slowed, "load.accesses_per_second"), "worse", "{slowed}");
    let overall = slowed["verdict"]["outcome"].as_str().unwrap();
    assert!(["worse", "mixed"].contains(&overall), "{slowed}");
}
