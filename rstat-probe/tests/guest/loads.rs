//! The loads on this kernel: limits are kept, nothing is left behind.

use super::hogs::{self, Numbers};

#[test]
#[ignore = "runs in a VM: cargo xtask vm"]
fn readers_beside_hogs() {
    let few = Numbers { threads: 4, hogs: 6, seconds: 2, memory: "8M" };
    let oom_kills: u64 =
        ["memory.stat", "cpu.stat"].iter().map(|stat| hogs::beside_readers(stat, &few)).sum();
    assert!(oom_kills > 0, "no hog was killed");
}
