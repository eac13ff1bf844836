//! cgroup v1 beside v2.

use std::{fs, thread, time::Duration};

use super::{cgroup, hierarchy, process::Running, tool};

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

#[test]
#[ignore = "runs in a VM: cargo xtask vm"]
fn three_levels_charge_upwards_without_protection() {
    let mut running =
        Running::start(&mut tool::tool(["load", "charge", "--processes", "2", "--duration", "3s"]));
    let top = hierarchy::top(running.child.id());
    running.wait_for(|_| hierarchy::processes(&top.join("middle/leaf")).len() == 2);
    thread::sleep(Duration::from_secs(1));
    // Before 5.11 only where `memory.use_hierarchy` says so.
    let text = hierarchy::file(&top, "memory.stat");
    let faults = text.lines().find_map(|line| line.strip_prefix("total_pgfault ")).unwrap();
    assert!(faults.parse::<u64>().unwrap() > 1000, "{text}");
    assert!(hierarchy::file(&top, "memory.max_usage_in_bytes").parse::<u64>().unwrap() > 1 << 20);
    let finished = running.wait(tool::LIMIT);
    println!("\n{}", finished.stdout);
    finished.assert_success();
    assert!(finished.stdout.contains("not protected: memory.min and memory.low exist on cgroup v2 only"));
    assert!(!top.exists(), "{} is left behind", top.display());
}
