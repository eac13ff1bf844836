//! The tool counts what the kernel counts.

use rstat_probe_report::{Counter, Loss};

use super::{
    bracket::{Bracket, Open, lost, until_exact},
    cgroup::Cgroup,
    ftrace::Ftrace,
    machine,
    recorded::{counter, sections},
    tool,
};

/// The run's counts are those of the kernel, one by one.
fn assert_exact(bracket: &Bracket) {
    assert!(bracket.inner.irqsave_is_right(), "{:?}", bracket.inner);
    for recording in &bracket.recordings {
        let told = bracket.describe(recording);
        let skipped = lost(recording, Loss::RecursionMisses);
        let (sections_missed, flushes_missed) = bracket.inner.misses;
        let seen = sections(recording) + lost(recording, Loss::SectionUnseen);
        let least = bracket.inner.sections - skipped.min(bracket.inner.sections);
        assert!((least..=bracket.inner.sections + sections_missed).contains(&seen), "{told}");
        let seen = counter(recording, Counter::Flushes) + lost(recording, Loss::FlushMapFull);
        let flushes = bracket.inner.all_flushes();
        assert!((flushes - skipped.min(flushes)..=flushes + flushes_missed).contains(&seen), "{told}");
        assert!(flushes > 20, "a load: {told}");
    }
}

#[test]
#[ignore = "runs in a VM: cargo xtask vm"]
fn counts_equal_the_kernels() {
    let bracket = until_exact(&[&[]], |cgroup| tool::load(cgroup, 8, "1s"));
    println!("\nFIGURE: truth: {}", bracket.describe(&bracket.recordings[0]));
    assert_exact(&bracket);
    let contended = counter(&bracket.recordings[0], Counter::Contended);
    assert!(contended > 0, "8 readers on {} CPUs", machine::cpus("online").len());
}

#[test]
#[ignore = "runs in a VM: cargo xtask vm"]
fn counts_of_two_runs_at_once_equal_the_kernels() {
    let ftrace = Ftrace::mount();
    let cgroup = Cgroup::in_calm();
    let bracket = Open::start(&ftrace, &[&[], &[]], tool::load(&cgroup, 4, "1s")).finish();
    println!();
    for recording in &bracket.recordings {
        println!("FIGURE: two runs: {}", bracket.describe(recording));
    }
    // Starting two takes longer than memcg's worker leaves, so that edges are part of it.
    bracket.check();
    assert!(bracket.inner.all_flushes() > 20);
}
