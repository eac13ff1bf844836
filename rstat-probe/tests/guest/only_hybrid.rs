//! cgroup v1 beside v2.

use std::fs;

use super::{cgroup, tool};

#[test]
#[ignore = "runs in a VM: cargo xtask vm"]
fn the_memory_controller_is_in_v1() {
    assert_eq!(cgroup::v2_mount().unwrap().to_str(), Some("/sys/fs/cgroup/unified"));
    assert!(fs::read_to_string("/sys/fs/cgroup/memory/memory.stat").unwrap().contains("total_rss"));
    // Without --cgroup the load takes what there is: memory.stat is v1's here.
    let load =
        tool::run(["load", "stat-reader", "--stat", "memory.stat", "--threads", "4", "--duration", "1s"]);
    println!("\n{}{}", load.stdout, load.stderr);
    assert_eq!(load.code, Some(0));
    assert!(load.stdout.contains("(v1)"));
}
