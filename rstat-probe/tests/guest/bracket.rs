//! Runs of the tool between two counts by the kernel: the outer one begins before the tool and ends after it, the
//! inner one begins and ends inside. Where both are equal, nothing happened at the edges, and the tool must have
//! counted just that.

use std::{
    fs,
    path::PathBuf,
    process::Command,
    thread,
    time::{Duration, Instant},
};

use rstat_probe_report::{Counter, Loss, Metric, Recording};

use super::{
    cgroup::Cgroup,
    ftrace::{Count, Ftrace},
    kernel_counts::{Counters, KernelCounts},
    machine,
    process::Running,
    recorded::{count, counter, sections},
    tool,
};

/// Comes every 2 s and flushes; nothing else does in a quiet guest.
const WORKER: &str = "flush_memcg_stats_dwork";
const TRIES: usize = 6;

/// Switches the counters on while its arguments run.
const COUNTED: &str = "\
for file in $SWITCHES; do echo 1 >$file; done
\"$@\"
status=$?
for file in $SWITCHES; do echo 0 >$file; done
exit $status";

/// What came of nested runs.
pub(super) struct Bracket {
    pub(super) outer: KernelCounts,
    pub(super) inner: KernelCounts,
    /// Of the outermost run first.
    pub(super) recordings: Vec<Recording>,
}

/// Runs that go on.
pub(super) struct Open<'a> {
    running: Running,
    outer: Counters<'a>,
    inner: Counters<'a>,
    files: Vec<PathBuf>,
}

impl<'a> Open<'a> {
    /// Starts runs inside each other with these options, the load in the innermost.
    pub(super) fn start(ftrace: &'a Ftrace, runs: &[&[&str]], load: Vec<String>) -> Self {
        Self::start_when(ftrace, runs, load, || {})
    }

    /// The same, once `ready` returns.
    fn start_when(ftrace: &'a Ftrace, runs: &[&[&str]], load: Vec<String>, ready: impl FnOnce()) -> Self {
        let (outer, inner) = (Counters::new(ftrace), Counters::new(ftrace));
        let (mut command, files) = tool::nest(runs);
        let switches: Vec<String> =
            inner.switches().iter().map(|path| path.to_str().unwrap().to_owned()).collect();
        let switches = switches.join(" ");
        command.extend(["/bin/sh", "-c", COUNTED, "sh"].map(str::to_owned));
        command.push(tool::path());
        command.extend(load);
        ready();
        let outer = outer.started();
        let mut process = Command::new(&command[0]);
        let running = Running::start(process.args(&command[1..]).env("SWITCHES", &switches));
        Self { running, outer, inner, files }
    }

    /// Whether the load runs by now, as far as the inner count knows.
    pub(super) fn has_begun(&self) -> bool {
        let switches = self.inner.switches();
        fs::read_to_string(switches.last().unwrap()).unwrap().starts_with('1')
    }

    pub(super) fn finish(self) -> Bracket {
        let recordings = tool::recordings(self.running, &self.files);
        Bracket { outer: self.outer.finish(), inner: self.inner.finish(), recordings }
    }
}

/// Measures until nothing happens at the edges. Every try is checked as far as its edges allow.
pub(super) fn until_exact(runs: &[&[&str]], load: impl Fn(&Cgroup) -> Vec<String>) -> Bracket {
    let ftrace = Ftrace::mount();
    let cgroup = Cgroup::in_calm();
    let worker = machine::has(WORKER).then(|| ftrace.function(WORKER, "", "").started());
    let mut last = None;
    for _ in 0..TRIES {
        let ready = || worker.iter().for_each(await_next);
        let bracket = Open::start_when(&ftrace, runs, load(&cgroup), ready).finish();
        bracket.check();
        if bracket.is_exact() {
            return bracket;
        }
        last = Some((bracket.outer, bracket.inner));
    }
    panic!("flushes at the edges in {TRIES} tries: {last:?}");
}

/// memcg's worker has just been there: the next time it comes, the load runs.
fn await_next(worker: &Count<'_>) {
    let (begin, before) = (Instant::now(), worker.counted().hits);
    while worker.counted().hits == before {
        assert!(begin.elapsed() < Duration::from_secs(10), "no worker");
        thread::sleep(Duration::from_millis(10));
    }
}

impl Bracket {
    pub(super) fn is_exact(&self) -> bool {
        self.outer.same(&self.inner)
    }

    /// The counts of all runs lie between those of the kernel.
    pub(super) fn check(&self) {
        for recording in &self.recordings {
            let told = self.describe(recording);
            let strategy = recording.provenance.strategy.as_deref().unwrap();
            let skipped = lost(recording, Loss::RecursionMisses);
            // Up to 6.1 the walk yields now and then, which the strategies without lock functions do not see where
            // no other thread ran meanwhile. Later kernels yield after each CPU.
            let yields = self.outer.sections.saturating_sub(self.outer.all_flushes());
            let contained = if strategy.starts_with("walk") { yields } else { 0 };

            let flushes = counter(recording, Counter::Flushes) + lost(recording, Loss::FlushMapFull);
            let (inner, outer) = (self.inner.all_flushes(), self.outer.all_flushes());
            assert!(flushes + skipped >= inner && flushes <= outer + self.outer.misses.1, "{told}");

            let seen = sections(recording) + lost(recording, Loss::SectionUnseen);
            // A flush at an edge may be in a count in part.
            let least = self.inner.sections.saturating_sub(skipped + contained);
            let most = self.outer.sections + self.outer.misses.0;
            assert!((least..=most).contains(&seen), "{least} to {most} expected: {told}");
            check_sums(recording, &told);
            self.check_locks(recording, &told);
        }
    }

    /// Each lock has the sections of its flushes.
    fn check_locks(&self, recording: &Recording, told: &str) {
        let labelled = recording.locks.iter().any(|row| row.lock != "unknown");
        if !labelled {
            return;
        }
        let row = |lock| recording.locks.iter().find(|row| row.lock == lock).map_or(0, |row| row.sections);
        let possible = u64::from(recording.provenance.cpus.possible);
        // A flush whose entry was skipped, or was before the run began, has no label.
        let unknown = row("unknown");
        let unseen = counter(recording, Counter::UnseenEntries) + recording.open.flushes_at_start;
        assert!(unknown <= possible * (unseen + 4), "{unseen} entries not seen: {told}");
        assert!(unknown * 10 <= sections(recording), "{told}");
        for (inner, outer) in self.inner.flushes.iter().zip(&self.outer.flushes) {
            let reads =
                if inner.0 == "base" { (self.inner.reads, self.outer.reads) } else { Default::default() };
            let seen = row(inner.0);
            assert!(seen + unknown >= possible * inner.1 + reads.0, "{}: {told}", inner.0);
            assert!(seen <= possible * (outer.1 + self.outer.misses.1) + reads.1, "{}: {told}", inner.0);
        }
        let all: u64 = recording.locks.iter().map(|row| row.sections).sum();
        assert_eq!(all, count(recording, Metric::LockHold), "{told}");
        let contended: u64 = recording.locks.iter().map(|row| row.contended).sum();
        assert_eq!(contended, counter(recording, Counter::Contended), "{told}");
    }

    /// The counts of a run beside the kernel's.
    pub(super) fn describe(&self, recording: &Recording) -> String {
        let losses: Vec<String> = recording
            .losses
            .iter()
            .filter(|(_, count)| **count > 0)
            .map(|(loss, count)| format!("{loss} {count}"))
            .collect();
        let losses = if losses.is_empty() { "none".to_owned() } else { losses.join(", ") };
        let locks: Vec<String> =
            recording.locks.iter().map(|row| format!("{} {}", row.lock, row.sections)).collect();
        let locks = if locks.is_empty() { String::new() } else { format!(", locks {}", locks.join(" ")) };
        let flushes: Vec<String> =
            self.inner.flushes.iter().map(|(lock, count)| format!("{lock} {count}")).collect();
        format!(
            "{}: sections {} (kernel {}..{}), flushes {} (kernel {}..{}: {}), contended {}, unseen returns {}, \
             lost: {losses}{locks}; reads {}, kprobe misses {:?}, {:?}",
            recording.provenance.strategy.as_deref().unwrap_or("?"),
            sections(recording),
            self.inner.sections,
            self.outer.sections,
            counter(recording, Counter::Flushes),
            self.inner.all_flushes(),
            self.outer.all_flushes(),
            flushes.join(" "),
            counter(recording, Counter::Contended),
            counter(recording, Counter::UnseenReturns),
            self.inner.reads,
            self.outer.misses,
            self.inner.irqsave,
        )
    }
}

pub(super) fn lost(recording: &Recording, loss: Loss) -> u64 {
    recording.losses.get(&loss).copied().unwrap_or(0)
}

/// Every event is in every metric that it belongs to, or in a loss.
pub(super) fn check_sums(recording: &Recording, told: &str) {
    let lost = |loss| lost(recording, loss);
    let broken = lost(Loss::SectionOverwritten) + lost(Loss::TaskMismatch) + lost(Loss::ClockBackwards);
    let holds = sections(recording) - recording.open.at_end - broken;
    assert_eq!(count(recording, Metric::LockHold), holds, "{told}");
    assert_eq!(lost(Loss::ClockBackwards), 0, "{told}");
    let measured = |metric| recording.totals.metrics.contains_key(&metric);
    if measured(Metric::IrqsOff) {
        // Without the exact begin of the spin, irqs_off needs that of the wait.
        let least = holds - lost(Loss::WaitStartMissing);
        assert!((least..=holds).contains(&count(recording, Metric::IrqsOff)), "{told}");
    }
    if measured(Metric::LockWait) {
        let waits = count(recording, Metric::LockWait) + lost(Loss::WaitStartMissing);
        let contended = counter(recording, Counter::Contended);
        assert!((contended - broken.min(contended)..=contended).contains(&waits), "{waits} waits: {told}");
    }
    if measured(Metric::Flush) {
        assert_eq!(count(recording, Metric::Flush), counter(recording, Counter::Flushes), "{told}");
    }
}
