//! A kernel that is locked down. Neither kind keeps one who may load programs from hooking anything; in
//! confidentiality programs may not read the kernel's memory.

use std::fs;

use rstat_probe_report::Metric;
use rustix::mount::{MountFlags, mount};

use super::{cgroup::Cgroup, machine, recorded::count, tool};

#[test]
#[ignore = "runs in a VM: cargo xtask vm"]
fn check_and_run_say_what_is_locked() {
    mount("securityfs", "/sys/kernel/security", "securityfs", MountFlags::empty(), None).unwrap();
    let kind = machine::expected("EXPECT_LOCKDOWN");
    let lockdown = fs::read_to_string("/sys/kernel/security/lockdown").unwrap();
    assert!(lockdown.contains(&format!("[{kind}]")), "{lockdown}");

    let check = tool::run(["check"]);
    println!("\n{}{}", check.stdout, check.stderr);
    assert_eq!(check.code, Some(0), "every metric can be measured");
    let named = check.stdout.lines().find(|line| line.starts_with("  lockdown ")).unwrap();
    assert!(named.contains(&kind), "{named}");
    assert_eq!(named.contains("may not read kernel memory"), kind == "confidentiality", "{named}");

    let cgroup = Cgroup::in_calm();
    let recording = tool::measure(&[], tool::load(&cgroup, 2, "1s")).recording;
    let provenance = &recording.provenance;
    let not_used: Vec<String> =
        provenance.hooks_not_used.iter().map(|hook| format!("{}: {}", hook.hook, hook.reason)).collect();
    let locks: Vec<&str> = recording.locks.iter().map(|row| row.lock.as_str()).collect();
    println!(
        "FIGURE: lockdown: {} by {} hooks, not used {not_used:?}, locks {locks:?}",
        provenance.strategy.as_deref().unwrap(),
        provenance.hooks.len()
    );
    for metric in [Metric::IrqsOff, Metric::LockHold, Metric::LockWait, Metric::Flush] {
        assert!(count(&recording, metric) > 0, "{metric}");
    }
    assert!(provenance.hooks.iter().any(|hook| hook.attach == "fentry"));
    if !machine::has("cgroup_rstat_flush_locked") {
        // What lock it is stands in the kernel's memory; when a flush begins and ends does not.
        let flush = provenance.hooks.iter().filter(|hook| hook.hook == "css_rstat_flush").count();
        assert_eq!(flush, 2, "{not_used:?}");
        assert_eq!(locks == ["unknown"], kind == "confidentiality", "{locks:?}");
    }
}
