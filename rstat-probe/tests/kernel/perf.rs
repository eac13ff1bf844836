//! The independent witness: perf's counters of the same tracepoints, in brackets around the tool and around its load.
//!
//! perf needs tracefs, which gets mounted in a mount namespace of the commands alone.

use std::{fs, path::Path, process::Command, time::Duration};

use rstat_probe_report::{Counter, Metric, Recording, load_result::LoadResult};

use super::{
    cgroup::Cgroup,
    process::{Running, TOOL},
    recorded::{assert_consistent, count, counter, metric, recording, sections},
    storm::load,
};

pub(super) const IN_NAMESPACE: &str = "mount -t tracefs nodev /sys/kernel/tracing 2>/dev/null
test -d /sys/kernel/tracing/events/cgroup && exec \"$@\"";

/// What one perf counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) locked: u64,
    pub(super) unlock: u64,
    /// Acquisitions with `cpu` -1: one a read of `cpu.stat`, none by the kernel's own flushes.
    pub(super) reads: u64,
}

impl Counts {
    /// perf's arguments, to count in all tasks (`-a`) or in the command's.
    fn arguments(output: &Path, scope: &[&str]) -> Vec<String> {
        let mut all = vec!["perf", "stat", "-x,", "-o", output.to_str().unwrap()];
        all.extend(scope);
        all.extend(["-e", "cgroup:cgroup_rstat_locked", "-e", "cgroup:cgroup_rstat_unlock"]);
        all.extend(["-e", "cgroup:cgroup_rstat_locked", "--filter", "cpu == -1", "--"]);
        all.into_iter().map(str::to_owned).collect()
    }

    fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap();
        let counts: Vec<u64> = text
            .lines()
            .filter_map(|line| line.split_once(",,cgroup:cgroup_rstat_"))
            .map(|(number, rest)| {
                assert_eq!(rest.split(',').nth(2), Some("100.00"), "counted all the time: {text}");
                number.parse().unwrap_or_else(|_| panic!("{text}"))
            })
            .collect();
        let [locked, unlock, reads] = counts[..] else { panic!("{text}") };
        Self { locked, unlock, reads }
    }
}

/// A run of the tool between two perfs that count everywhere, and within them a third that counts the load's tasks.
#[derive(Debug)]
pub(super) struct Bracket {
    pub(super) outer: Counts,
    pub(super) inner: Counts,
    pub(super) task: Counts,
    pub(super) recording: Recording,
}

/// What a bracket runs.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setup<'a> {
    /// Words before the tool and before the load.
    pub(super) pinned: (&'a [&'a str], &'a [&'a str]),
    pub(super) run_options: &'a [&'a str],
    pub(super) threads: usize,
    pub(super) seconds: u64,
}

impl Bracket {
    pub(super) fn measure(setup: Setup<'_>, cgroup: &Cgroup) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let mut command = Command::new("unshare");
        command.args(["-m", "sh", "-c", IN_NAMESPACE, "sh"]);
        command.args(Counts::arguments(&path("outer"), &["-a"]));
        command.args(setup.pinned.0).args([TOOL, "run", "-o"]).arg(path("recording.json"));
        command.args(setup.run_options).arg("--");
        command.args(Counts::arguments(&path("inner"), &["-a"])).args(setup.pinned.1);
        command.args(Counts::arguments(&path("task"), &[]));
        command.arg(TOOL).args(load(cgroup, setup.threads, &format!("{}s", setup.seconds)));
        let finished = Running::start(&mut command).wait(Duration::from_secs(setup.seconds + 30));
        finished.assert_success();
        Self {
            outer: Counts::read(&path("outer")),
            inner: Counts::read(&path("inner")),
            task: Counts::read(&path("task")),
            recording: recording(&path("recording.json")),
        }
    }

    /// Reads of `cpu.stat` that the load counted itself.
    pub(super) fn accesses(&self) -> u64 {
        let workload = self.recording.workload.as_ref().unwrap();
        let result: LoadResult = serde_json::from_value(workload.result.clone().unwrap()).unwrap();
        let reader = result.stat_reader.unwrap();
        assert_eq!(reader.errors, 0);
        reader.accesses
    }

    /// What the tool counted in the words of [`Counts`].
    pub(super) fn tool(&self) -> Counts {
        Counts {
            locked: sections(&self.recording),
            unlock: count(&self.recording, Metric::LockHold),
            reads: sections(&self.recording) - counter(&self.recording, Counter::Yields),
        }
    }

    /// Whether nothing happened between the perfs but what happened within the inner one.
    pub(super) fn is_exact(&self) -> bool {
        self.outer == self.inner
    }

    /// Everything that holds in each try, and equality where the perfs agree.
    pub(super) fn check(&self) {
        let (outer, inner, tool, task) = (self.outer, self.inner, self.tool(), self.task);
        let accesses = self.accesses();
        println!(
            "outer {outer:?}\ntool  {tool:?}\ninner {inner:?}\ntask  {task:?}, reads by its own count {accesses}"
        );
        assert!(accesses > 0);
        for (inner, tool, outer) in [
            (inner.locked, tool.locked, outer.locked),
            (inner.unlock, tool.unlock, outer.unlock),
            (inner.reads, tool.reads, outer.reads),
        ] {
            assert!(inner <= tool && tool <= outer, "{inner} <= {tool} <= {outer}");
        }
        if self.is_exact() {
            assert_eq!(tool, inner);
        }
        self.check_load(task, accesses);
        self.check_recording();
    }

    /// The load's part, whatever else flushed: the kernel itself flushes, but never with `cpu` -1.
    fn check_load(&self, task: Counts, accesses: u64) {
        let possible = u64::from(self.recording.provenance.cpus.possible);
        assert_eq!(
            task,
            Counts { locked: accesses * (possible + 1), unlock: accesses * (possible + 1), reads: accesses }
        );
        // Others on this machine may read a cpu.stat, too; perf tells whether they did.
        if self.outer.reads == task.reads {
            assert_eq!(self.tool().reads, accesses, "exact in every try");
        }
        assert!(counter(&self.recording, Counter::Flushes) >= accesses);
    }

    fn check_recording(&self) {
        let recording = &self.recording;
        assert_consistent(recording);
        let view: u64 = metric(recording, Metric::LockHold).log2_buckets().iter().map(|b| b.count).sum();
        assert_eq!(view, count(recording, Metric::LockHold));
        assert_eq!(count(recording, Metric::LockWait), counter(recording, Counter::Contended));
        let open = recording.open;
        assert_eq!((open.at_end, open.waits_at_end, open.cpu_locks_at_end), (0, 0, 0));
        let (yields, flushes) = (counter(recording, Counter::Yields), counter(recording, Counter::Flushes));
        let possible = u64::from(recording.provenance.cpus.possible);
        // A flush of the kernel's own can be under way at an edge.
        let partly = (open.flushes_at_start + open.flushes_at_end) * possible;
        assert!((0..=partly).contains(&(yields - flushes * possible)), "{yields} yields, {flushes} flushes");
        assert_eq!(count(recording, Metric::Flush), flushes);
    }
}
