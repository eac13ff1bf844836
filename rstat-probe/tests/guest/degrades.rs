//! What is missing is named, and what is left is measured.

use std::{fs, os::unix::process::CommandExt as _, path::PathBuf};

use rstat_probe_report::{Metric, Recording};
use rustix::mount::{MountFlags, UnmountFlags, mount, mount_bind, unmount};

use super::{
    cgroup::Cgroup,
    machine,
    process::{Finished, Running},
    recorded::count,
    tool,
};

const BTF: &str = "/sys/kernel/btf/vmlinux";
const KPROBES: &str = "/sys/bus/event_source/devices/kprobe";
const KPTR_RESTRICT: &str = "/proc/sys/kernel/kptr_restrict";

/// Something in the guest that is hidden until this is dropped.
enum Hidden {
    Mounted(PathBuf),
    Setting(&'static str, String),
}

impl Hidden {
    /// An empty file in the place of BTF.
    fn btf() -> Self {
        let empty = tool::temporary("empty");
        fs::write(&empty, "").unwrap();
        mount_bind(&empty, BTF).unwrap();
        Self::Mounted(BTF.into())
    }

    /// An empty folder in the place of the PMU by which kprobes are made.
    fn kprobes() -> Self {
        let place = fs::canonicalize(KPROBES).unwrap();
        mount("tmpfs", &place, "tmpfs", MountFlags::empty(), None).unwrap();
        Self::Mounted(place)
    }

    fn addresses() -> Self {
        let before = fs::read_to_string(KPTR_RESTRICT).unwrap();
        fs::write(KPTR_RESTRICT, "2").unwrap();
        Self::Setting(KPTR_RESTRICT, before)
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        match self {
            Self::Mounted(place) => unmount(&*place, UnmountFlags::DETACH).unwrap(),
            Self::Setting(path, before) => fs::write(path, before).unwrap(),
        }
    }
}

/// `check`, which names all of `words`.
fn check(expected: &[i32], words: &[&str]) -> Finished {
    let check = tool::run(["check"]);
    println!("{}{}", check.stdout, check.stderr);
    assert!(check.code.is_some_and(|code| expected.contains(&code)), "{:?}", check.code);
    for word in words {
        assert!(check.stdout.contains(word), "no {word:?} in {}", check.stdout);
    }
    check
}

/// Measures a little, says how, and checks which metrics there are.
fn measure(what: &str, strategy: &str, waits: bool) -> Recording {
    let cgroup = Cgroup::new();
    let recording = tool::measure(&[], tool::load(&cgroup, 4, "300ms")).recording;
    let used = recording.provenance.strategy.clone().unwrap();
    let metrics: Vec<String> = recording
        .totals
        .metrics
        .iter()
        .map(|(metric, histogram)| format!("{metric} {}", histogram.count()))
        .collect();
    println!("FIGURE: {what}: {used}: {}", metrics.join(", "));
    assert_eq!(used, strategy);
    assert!(count(&recording, Metric::LockHold) > 10 && count(&recording, Metric::Flush) > 10);
    let has = |metric| recording.totals.metrics.contains_key(&metric);
    assert_eq!(has(Metric::LockWait), waits);
    assert_eq!(has(Metric::IrqsOff), waits && !machine::is_preempt_rt());
    for metric in [Metric::LockWait, Metric::IrqsOff] {
        assert_ne!(has(metric), recording.provenance.metrics[&metric].unavailable.is_some());
    }
    recording
}

fn hooks(recording: &Recording, attach: &str) -> usize {
    recording.provenance.hooks.iter().filter(|hook| hook.attach == attach).count()
}

fn strategy_without_btf() -> &'static str {
    if machine::has_tracepoints() { "tracepoints" } else { "walk by kprobes" }
}

#[test]
#[ignore = "runs in a VM: cargo xtask vm"]
fn without_btf() {
    let _hidden = Hidden::btf();
    println!();
    check(&[0, 1], &["BTF            not used: ", "; without it ", "hooks (/proc/kallsyms)"]);
    let recording = measure("no BTF", strategy_without_btf(), true);
    assert_eq!(hooks(&recording, "fentry") + hooks(&recording, "fexit"), 0);
    assert!(hooks(&recording, "kprobe") > 0);
}

#[test]
#[ignore = "runs in a VM: cargo xtask vm"]
fn without_addresses() {
    // The tests look addresses up later, too.
    machine::address("css_rstat_flush");
    let _hidden = Hidden::addresses();
    println!();
    check(&[0, 1], &["hidden in /proc/kallsyms (kptr_restrict = 2)"]);
    let strategy = if machine::has_tracepoints() { "tracepoints" } else { "walk" };
    let recording = measure("kptr_restrict=2", strategy, machine::has_tracepoints());
    let slow = recording.provenance.hooks.iter().any(|hook| hook.hook.contains("slowpath"));
    assert!(!slow, "whose waits they are cannot be told");
}

#[test]
#[ignore = "runs in a VM: cargo xtask vm"]
fn without_btf_and_addresses() {
    machine::address("css_rstat_flush");
    let _hidden = (Hidden::btf(), Hidden::addresses());
    println!();
    check(&[0, 1], &["not used: ", "kptr_restrict = 2"]);
    measure("no BTF, kptr_restrict=2", strategy_without_btf(), machine::has_tracepoints());
}

#[test]
#[ignore = "runs in a VM: cargo xtask vm"]
fn without_kprobes() {
    let _hidden = Hidden::kprobes();
    println!();
    check(&[0], &["kprobes        none: "]);
    let strategy = if machine::has_tracepoints() {
        "tracepoints"
    } else if machine::has("_raw_spin_unlock_irq") {
        "lock functions"
    } else {
        "lock function, inferred releases"
    };
    let recording = measure("no kprobes", strategy, true);
    assert_eq!(hooks(&recording, "kprobe"), 0);
}

#[test]
#[ignore = "runs in a VM: cargo xtask vm"]
fn without_btf_and_kprobes() {
    let _hidden = (Hidden::btf(), Hidden::kprobes());
    println!();
    if machine::has_tracepoints() {
        check(&[0, 1], &["not used: ", "kprobes        none: "]);
        let recording = measure("no BTF, no kprobes", "tracepoints", true);
        assert!(recording.provenance.hooks.iter().all(|hook| hook.attach == "raw_tracepoint"));
        return;
    }
    check(&[2], &["nothing can be measured here: ", "kprobes"]);
    let refused = tool::run(["run", "-d", "1s"]);
    println!("FIGURE: no BTF, no kprobes: {}", refused.assert_refused(2));
    assert!(refused.stderr.contains("kprobes"));
}

#[test]
#[ignore = "runs in a VM: cargo xtask vm"]
fn without_privileges() {
    let as_user = |arguments: &[&str]| {
        let mut command = tool::tool(arguments);
        Running::start(command.uid(1000).gid(1000)).wait(tool::LIMIT)
    };
    let check = as_user(&["check"]);
    println!("\n{}{}", check.stdout, check.stderr);
    assert_eq!(check.code, Some(2));
    assert!(check.stdout.contains("missing CAP_BPF, CAP_PERFMON"), "{}", check.stdout);
    let refused = as_user(&["run", "-d", "1s"]);
    println!("FIGURE: uid 1000: {}", refused.assert_refused(2));
    assert!(refused.stderr.contains("needs CAP_BPF and CAP_PERFMON"));
}

#[test]
#[ignore = "runs in a VM: cargo xtask vm"]
fn without_tracefs() {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    assert!(!mounts.contains("tracefs") && !mounts.contains("debugfs"), "{mounts}");
    println!();
    check(&[0], &["tracefs        not mounted; not needed"]);
}
