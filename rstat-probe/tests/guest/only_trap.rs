//! Trap 1 of the kernels 6.10 to 6.15: in a `mkdir` that fails, the classic trace events of the rstat locks follow a
//! null pointer, with the lock held. Anyone with a cgroup of their own can make one fail.

use std::{
    fs,
    os::unix::{fs::chown, process::CommandExt as _},
    process::Command,
    thread,
    time::Duration,
};

use rustix::process::Signal;

use super::{
    bracket::check_sums,
    cgroup::Cgroup,
    ftrace::Ftrace,
    process::Running,
    recorded::{recording, sections},
    tool,
};

const USER: u32 = 1000;
const TIMES: u64 = 5;

/// Hidden pressure files keep their names, so that the `mkdir` gets far before it fails.
const FAIL: &str = "\
mkdir $1/own && echo 0 >$1/own/cgroup.pressure || exit 3
for _ in 1 2 3 4 5; do mkdir $1/own/cpu.pressure 2>/dev/null && exit 4; done
rmdir $1/own";

/// The user, in a cgroup of their own.
fn failing_mkdir(cgroup: &Cgroup) -> Command {
    chown(cgroup.path(), Some(USER), Some(USER)).unwrap();
    let mut command = Command::new("/bin/sh");
    command.args(["-c", FAIL, "sh"]).arg(cgroup.path()).uid(USER).gid(USER);
    command
}

#[test]
#[ignore = "runs in a VM: cargo xtask vm"]
fn survives_a_mkdir_that_fails() {
    let check = tool::run(["check"]);
    println!("\n{}{}", check.stdout, check.stderr);
    let warning = check.stdout.lines().find(|line| line.starts_with("warning: ")).unwrap();
    assert!(
        warning.contains("classic trace events") && warning.contains("can crash this kernel"),
        "{warning}"
    );

    let cgroup = Cgroup::in_calm();
    let file = tool::temporary("trap.json");
    let mut run = tool::tool(["run", "-o", file.to_str().unwrap()]);
    let mut running = Running::start(&mut run);
    running.wait_attached();
    thread::sleep(Duration::from_millis(500));
    let made = Running::start(&mut failing_mkdir(&cgroup)).wait(tool::LIMIT);
    assert_eq!(made.code, Some(0), "{made:?}");
    running.signal(Signal::INT);
    running.wait(tool::LIMIT).assert_success();
    let recording = recording(&file);
    fs::remove_file(&file).unwrap();
    let told = format!("{:?} {:?}", recording.totals.counters, recording.losses);
    println!("FIGURE: trap 1: survived {TIMES} failing mkdirs: {} sections", sections(&recording));
    check_sums(&recording, &told);
    // Each of them flushed, the last one being the removal.
    let possible = u64::from(recording.provenance.cpus.possible);
    assert!(sections(&recording) >= TIMES * (possible + 1), "{told}");
}

/// Does not return: the kernel is expected to fall over, which shows that the test above can fail.
#[test]
#[ignore = "runs in a VM: cargo xtask vm"]
fn crashes_with_the_classic_event() {
    let ftrace = Ftrace::mount();
    let cgroup = Cgroup::in_calm();
    let _count = ftrace.event("cgroup/cgroup_rstat_locked", "").started();
    let made = Running::start(&mut failing_mkdir(&cgroup)).wait(tool::LIMIT);
    panic!("the kernel survived: {made:?}");
}
