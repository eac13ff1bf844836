//! A load is measured: every metric that the kernel can have is there.

use rstat_probe_report::{Counter, Metric};

use super::{
    cgroup::Cgroup,
    machine,
    recorded::{count, counter, sections},
    tool,
};

#[test]
#[ignore = "runs in a VM: cargo xtask vm"]
fn measures_the_load() {
    let cgroup = Cgroup::in_calm();
    let measured = tool::measure(&[], tool::load(&cgroup, 8, "2s"));
    let recording = &measured.recording;
    println!("\n{}{}", measured.finished.stdout, measured.finished.stderr);
    let flushes = counter(recording, Counter::Flushes);
    let contended = counter(recording, Counter::Contended);
    let lost: u64 = recording.losses.values().sum();
    let yields = &recording.provenance.yield_behaviour;
    println!(
        "FIGURE: load: {} sections, {flushes} flushes, {contended} contended, {lost} lost, yields {}",
        sections(recording),
        yields.behaviour.name()
    );

    for metric in [Metric::LockWait, Metric::LockHold, Metric::Flush] {
        assert!(count(recording, metric) > 0, "{metric} is empty");
    }
    if machine::is_preempt_rt() {
        assert!(!recording.totals.metrics.contains_key(&Metric::IrqsOff), "IRQs stay on");
        let basis = &recording.provenance.metrics[&Metric::IrqsOff];
        assert!(basis.unavailable.is_some(), "{basis:?}");
    } else {
        assert!(count(recording, Metric::IrqsOff) > 0, "irqs_off is empty");
    }
    assert_eq!(yields.behaviour.name(), machine::expected("EXPECT_YIELDS"), "{yields:?}");
    let possible = machine::cpus("possible").len();
    assert_eq!(usize::try_from(recording.provenance.cpus.possible).unwrap(), possible);
}
