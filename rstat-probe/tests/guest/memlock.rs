//! A low limit for locked memory, which BPF maps count against up to 5.10.

use std::{process::Command, thread};

use rustix::thread::{CapabilitySet, remove_capability_from_bounding_set};

use super::{
    process::{Finished, Running},
    tool,
};

const LIMITED: &str = "ulimit -l 64 && exec \"$@\"";

fn run_limited() -> Finished {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", LIMITED, "sh"]).arg(tool::path()).args(["run", "-d", "200ms"]);
    Running::start(&mut command).wait(tool::LIMIT)
}

#[test]
#[ignore = "runs in a VM: cargo xtask vm"]
fn a_low_limit_of_locked_memory() {
    let finished = run_limited();
    println!("\nFIGURE: memlock 64 KB: exit {:?} {}", finished.code, finished.stderr.trim_end());
    assert_eq!(finished.code, Some(0), "root may raise it: {}", finished.stderr);
    // The bounding set is a thread's own, and a child inherits it.
    let without = thread::spawn(|| {
        remove_capability_from_bounding_set(CapabilitySet::SYS_RESOURCE).unwrap();
        run_limited()
    });
    let finished = without.join().unwrap();
    println!(
        "FIGURE: memlock 64 KB, no CAP_SYS_RESOURCE: exit {:?} {}",
        finished.code,
        finished.stderr.trim_end()
    );
    if finished.code != Some(0) {
        let line = finished.assert_refused(2);
        assert!(line.contains("memlock") || line.contains("MEMLOCK"), "{line}");
    }
}
