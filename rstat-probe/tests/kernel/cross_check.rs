//! `run --cross-check` where the kernel has no irqsoff tracer, which is nearly everywhere.

use std::{fs, path::Path};

use super::{
    mount::Mount,
    process::{finish, tool},
    ready,
};

fn mounts() -> String {
    fs::read_to_string("/proc/self/mounts").unwrap()
}

fn is_tracefs(line: &str) -> bool {
    line.split(' ').nth(2) == Some("tracefs")
}

/// The line that refuses it; nothing is measured and no command run.
fn refused() -> String {
    let folder = tempfile::tempdir().unwrap();
    let (output, ran) = (folder.path().join("x.json"), folder.path().join("ran"));
    let before = mounts();
    let finished = finish(tool(["run", "--cross-check", "-o"]).arg(&output).args(["--", "touch"]).arg(&ran));
    assert_eq!(mounts(), before);
    assert!(!output.exists() && !ran.exists());
    assert_eq!(finished.stdout, "");
    finished.assert_refused(2).to_owned()
}

#[test]
#[ignore = "needs root and a kernel with rstat tracepoints"]
fn a_cross_check_names_what_is_missing() {
    if !ready() {
        return;
    }
    if mounts().lines().any(is_tracefs) {
        println!("\nSKIPPED: tracefs is mounted");
        return;
    }
    assert_eq!(
        refused(),
        "error: --cross-check: tracefs is not mounted: mount -t tracefs tracefs /sys/kernel/tracing"
    );
    let tracefs = Mount::tracefs();
    let instances = |tracefs: &Path| fs::read_dir(tracefs.join("instances")).unwrap().count();
    let before = instances(tracefs.path());
    let there = fs::read_to_string(tracefs.path().join("available_tracers")).unwrap();
    let check = finish(&mut tool(["check"])).stdout;
    if there.split_whitespace().any(|tracer| tracer == "irqsoff") {
        assert!(check.contains("has the irqsoff tracer for run --cross-check"), "{check}");
        println!("\nSKIPPED: this kernel has the irqsoff tracer");
        return;
    }
    assert!(check.contains("no irqsoff tracer for run --cross-check (CONFIG_IRQSOFF_TRACER)"), "{check}");
    assert_eq!(refused(), "error: --cross-check: the kernel has no irqsoff tracer (CONFIG_IRQSOFF_TRACER)");
    assert_eq!(instances(tracefs.path()), before);
}
