//! Strategies that a kernel has side by side say the same of the same load.

use std::process::Command;

use rstat_probe_report::{Counter, Loss, Metric, Recording};

use super::{
    bracket::{check_sums, lost},
    cgroup::Cgroup,
    machine,
    process::Running,
    recorded::{self, counter, sections},
    tool,
};

/// Two runs, the first one outside. Not more at once: each lengthens the sections that the others measure.
type Pair = [&'static [&'static str]; 2];

const FUNCTIONS: &[&str] = &["--strategy", "lock-functions"];
const TRACEPOINTS: &[&str] = &["--strategy", "tracepoints"];
const WALK: &[&str] = &["--strategy", "walk"];
const KPROBES: &[&str] = &["--strategy", "kprobes"];

/// All that this kernel has, and what it chooses by itself.
fn pairs() -> [Pair; 2] {
    if machine::has_tracepoints() {
        [[FUNCTIONS, &[]], [FUNCTIONS, TRACEPOINTS]]
    } else {
        [[&[], WALK], [&[], KPROBES]]
    }
}

/// Flushes that may happen while the inner run starts and ends.
const EDGES: u64 = 8;
const QUANTILES: [f64; 3] = [0.5, 0.9, 0.99];
/// Ranks that may be off, as a share. About one section in a hundred waits, which takes a hundred times as long: the
/// 99th percentile can be on either side of that step.
const RANKS: f64 = 0.005;

#[test]
#[ignore = "runs in a VM: cargo xtask vm"]
fn strategies_agree() {
    if machine::is_preempt_rt() {
        println!("\nFIGURE: agreement: on PREEMPT_RT there is one strategy");
        return;
    }
    let cgroup = Cgroup::in_calm();
    println!();
    let mut wrong = Vec::new();
    for pair in pairs() {
        // Without a count by ftrace, whose events lengthen what only the lock functions see.
        let (mut command, files) = tool::nest(&pair);
        command.push(tool::path());
        // Long enough for the programs' cost to be sampled, after 1 s.
        command.extend(tool::load(&cgroup, 4, "1700ms"));
        let running = Running::start(Command::new(&command[0]).args(&command[1..]));
        let recordings = tool::recordings(running, &files);
        let [outer, inner] = &recordings[..] else { unreachable!() };
        check_counts(outer, inner);
        wrong.extend(differences(outer, inner));
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}

/// What the outer run has more are flushes at its edges, in whole or in part.
fn check_counts(outer: &Recording, inner: &Recording) {
    let seen = |recording| sections(recording) + lost(recording, Loss::SectionUnseen);
    let flushes = |recording| counter(recording, Counter::Flushes);
    let told = [outer, inner].map(|recording| {
        let losses: Vec<_> = recording.losses.iter().filter(|(_, count)| **count > 0).collect();
        let strategy = recording.provenance.strategy.as_deref().unwrap();
        format!(
            "{strategy}: {} sections, {} flushes, lost {losses:?}",
            sections(recording),
            flushes(recording)
        )
    });
    let told = told.join("; ");
    println!("FIGURE: agreement: {told}");
    // Programs on a function can be skipped. From 6.16 on the lock functions' way counts flushes by such.
    let skipped = [outer, inner].map(|recording| lost(recording, Loss::RecursionMisses));
    // The load alone has hundreds of flushes. memcg's worker comes every 2 s.
    assert!(flushes(inner) > 100, "{told}");
    assert!(flushes(outer) + skipped[0] >= flushes(inner), "{told}");
    assert!(flushes(outer) <= flushes(inner) + skipped[1] + EDGES, "{told}");

    // The walk does not see a yield after which the same thread goes on at once.
    let walks = inner.provenance.strategy.as_deref().is_some_and(|name| name.starts_with("walk"));
    let contained = if walks { counter(outer, Counter::Yields) } else { 0 };
    let per_flush = machine::sections_per_flush();
    let more = seen(outer).checked_sub(seen(inner)).unwrap_or_else(|| panic!("{told}"));
    assert!(more <= contained + EDGES * per_flush, "{told}");
    let contended = [outer, inner].map(|recording| counter(recording, Counter::Contended));
    assert!(contended[0].abs_diff(contended[1]) <= EDGES * per_flush, "{contended:?} contended: {told}");
    for recording in [outer, inner] {
        check_sums(recording, &told);
    }
}

/// Where the figures of two runs are further apart than a log2 bucket.
///
/// On an emulated CPU a section can be shorter than the programs that measure it, and a strategy whose hooks are
/// further out has the programs of both runs in its sections: so much longer one figure may be. In the scenario with
/// many possible CPUs, whose sections are long up to 6.1, it may not.
fn differences(one: &Recording, other: &Recording) -> Vec<String> {
    let mut wrong = Vec::new();
    let names = [one, other].map(|recording| recording.provenance.strategy.clone().unwrap());
    let long_sections = !machine::has_tracepoints() && machine::cpus("possible").len() >= 32;
    // A sample from before the load has the cost of hooks for all other locks, and few sections: the other one counts.
    let cost = if long_sections { 0 } else { 2 * cost(one).min(cost(other)) };
    assert!(cost < 100_000, "no sample of the programs' cost in {names:?}: {cost} ns");
    for metric in [Metric::LockHold, Metric::IrqsOff, Metric::LockWait, Metric::Flush] {
        let quantiles = |more: f64| {
            [one, other].map(|recording| {
                let histogram = recorded::metric(recording, metric);
                QUANTILES.map(|quantile| histogram.quantile(quantile + more).unwrap().low)
            })
        };
        let (at, above) = (quantiles(0.0), quantiles(RANKS));
        let said =
            format!("{names:?}: {metric} p50, p90, p99: {:?} {:?} ns, programs {cost} ns", at[0], at[1]);
        println!("FIGURE: agreement:   {said}");
        let exceeds = |times: &[u64; 3], limits: &[u64; 3]| {
            times.iter().zip(limits).any(|(time, limit)| bucket(*time) > bucket(limit + cost) + 1)
        };
        if exceeds(&at[0], &above[1]) || exceeds(&at[1], &above[0]) {
            wrong.push(said);
        }
    }
    wrong
}

/// The number of the log2 bucket that a time lies in.
fn bucket(ns: u64) -> u32 {
    ns.checked_ilog2().unwrap_or(0)
}

/// What all programs of a run take for one section, ns; very much when nobody knows.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "some thousand")]
fn cost(recording: &Recording) -> u64 {
    recording.overhead.sampled.as_ref().map_or(u32::MAX.into(), |sample| sample.ns_per_section as u64)
}
