//! What does not fit is counted, by cause.

use rstat_probe_report::{Counter, Loss, Metric};

use super::{
    process::{finish, tool},
    ready,
    recorded::{count, counter, recording, sections},
    storm::{Storm, cpus},
};

/// Readers at once.
const THREADS: usize = 16;

#[test]
#[ignore = "needs root and a kernel with rstat tracepoints"]
fn a_full_map_is_counted_and_touches_nothing_else() {
    if !ready() {
        return;
    }
    if cpus() == 1 {
        println!("\nSKIPPED: one CPU has no two threads at a lock");
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.json");
    let _storm = Storm::start(THREADS);
    let path = file.to_str().unwrap();
    let finished = finish(&mut tool(["run", "--max-threads", "1", "-d", "2s", "-o", path]));
    finished.assert_success();
    let recording = recording(&file);
    let lost = |loss| recording.losses.get(&loss).copied().unwrap_or(0);
    let (sections, contended) = (sections(&recording), counter(&recording, Counter::Contended));
    let (missing, full) = (lost(Loss::WaitStartMissing), lost(Loss::WaitMapFull));
    println!("{sections} sections, {contended} contended, lost {:?}", recording.losses);
    assert!(full + lost(Loss::FlushMapFull) > 0, "{:?}", recording.losses);
    assert!(lost(Loss::FlushMapFull) > 0, "two flushes at once on {} CPUs", cpus());
    for loss in [Loss::WaitMapFull, Loss::FlushMapFull] {
        assert_eq!(
            lost(loss) > 0,
            finished.stdout.contains(&format!("\nlost: {loss} ")),
            "{}",
            finished.stdout
        );
    }
    assert!(!finished.stdout.contains("\nlosses: none"));

    // Sections and holds do not depend on the map.
    assert_eq!(recording.open.at_end, 0);
    assert_eq!(count(&recording, Metric::LockHold), sections);
    assert_eq!(count(&recording, Metric::LockWait), contended - missing);
    assert_eq!(count(&recording, Metric::IrqsOff), sections - missing);
    // Each wait that was not stored is missed once, but for those at the edges.
    let edges = THREADS as u64 + lost(Loss::RecursionMisses);
    assert!(full.abs_diff(missing) <= edges, "{full} not stored, {missing} missed");
    let (yields, flushes) = (counter(&recording, Counter::Yields), counter(&recording, Counter::Flushes));
    let walks = yields / u64::from(recording.provenance.cpus.possible);
    let seen = flushes + lost(Loss::FlushMapFull);
    assert!(seen.abs_diff(walks) <= edges, "{seen} flushes counted of {walks}");
    for loss in [Loss::SectionOverwritten, Loss::TaskMismatch, Loss::ClockBackwards] {
        assert_eq!(lost(loss), 0, "{loss}");
    }
}
