//! The tool on the running kernel, as root, against independent witnesses: perf's counters of the same tracepoints,
//! the load's own count of its reads, `/proc`.
//!
//! `cargo xtask test` runs these as root and one at a time. Without root or on another kernel a test prints a
//! `SKIPPED:` line with the reason and passes; xtask makes that a failure in CI.
#![expect(clippy::unwrap_used, clippy::print_stdout, reason = "helpers of tests: a panic is the verdict")]

mod kernel {
    mod cgroup;
    mod hierarchy;
    mod mount;
    mod perf;
    mod process;
    mod recorded;
    mod storm;

    mod attaching;
    mod bpftrace;
    mod closing;
    mod command;
    mod comparing;
    mod cross_check;
    mod hogs;
    mod instances;
    mod levels;
    mod limits;
    mod places;
    mod privileges;
    mod streams;
    mod truth;

    use std::{fs, process::Command, sync::OnceLock};

    /// Whether the tool can measure here; prints why not.
    fn ready() -> bool {
        let reason = if !rustix::process::geteuid().is_root() {
            "not root"
        } else if !symbols().contains(" __traceiter_cgroup_rstat_locked\n") {
            "this kernel has no rstat tracepoints"
        } else if fs::read_to_string("/proc/sys/kernel/version").is_ok_and(|text| text.contains("PREEMPT_RT"))
        {
            "PREEMPT_RT has no irqs_off, which these tests look at"
        } else if cgroup::v2_mount().is_none() {
            "no cgroup v2 is mounted"
        } else {
            return true;
        };
        println!("\nSKIPPED: {reason}");
        false
    }

    /// Whether perf can count the tracepoints here as well; prints why not.
    fn perf_ready() -> bool {
        let reason = if !ready() {
            return false;
        } else if !symbols().contains(" css_rstat_flush\n") {
            // Before commit a97915559f5c (6.16) they read pointers that can be NULL.
            "the classic events of the rstat tracepoints can crash this kernel"
        } else if !Command::new("perf").arg("version").output().is_ok_and(|done| done.status.success()) {
            "perf is not installed"
        } else {
            return true;
        };
        println!("\nSKIPPED: {reason}");
        false
    }

    /// `/proc/kallsyms`.
    fn symbols() -> &'static str {
        static SYMBOLS: OnceLock<String> = OnceLock::new();
        SYMBOLS.get_or_init(|| fs::read_to_string("/proc/kallsyms").unwrap_or_default())
    }
}
