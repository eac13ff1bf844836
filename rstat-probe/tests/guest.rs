//! The tool in a virtual machine, on kernels that this host does not run, as root and alone. `cargo xtask vm` boots
//! them and runs these tests there; plain `cargo test` leaves them out.
//!
//! A test prints figures for the verdict as lines `FIGURE: text`. What a kernel is expected to do comes from the
//! environment, which xtask's table of kernels and scenarios sets. Tests of a special scenario are in a module
//! `only_NAME`, which the usual boot skips.
#![expect(clippy::unwrap_used, reason = "helpers of tests: a panic is the verdict")]
#![expect(clippy::print_stdout, reason = "what helpers print goes into the verdict")]

mod guest {
    #[path = "../kernel/cgroup.rs"]
    #[allow(dead_code, reason = "shared with the tests on the running kernel")]
    mod cgroup;
    #[path = "../kernel/hierarchy.rs"]
    mod hierarchy;
    #[path = "../kernel/process.rs"]
    #[allow(dead_code, reason = "shared with the tests on the running kernel")]
    mod process;
    #[path = "../kernel/recorded.rs"]
    #[allow(dead_code, reason = "shared with the tests on the running kernel")]
    mod recorded;

    mod bracket;
    mod ftrace;
    mod hogs;
    mod kernel_counts;
    mod machine;
    mod tool;

    mod agreement;
    mod attaching;
    mod check;
    mod counting;
    mod cross_check;
    mod degrades;
    mod hotplug;
    mod levels;
    mod load;
    mod loads;
    mod memlock;
    mod only_crowd;
    mod only_hybrid;
    mod only_lockdown;
    mod only_trap;
    mod programs;
    mod truth;
    mod trylock;
}
