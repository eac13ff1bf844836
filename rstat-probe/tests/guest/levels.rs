//! `load sendfile` and `load charge` in a pure v2 hierarchy.

use std::{fs, thread, time::Duration};

use rstat_probe_report::load_result::{LoadResult, Protection};

use super::{
    hierarchy::{file, is_there, loopback_connections, memory_mount, processes, top},
    process::Running,
    tool::{self, LIMIT},
};

/// The memory controller is on for the cgroups below the root, as systemd has it, as long as this lives: other tests
/// are to find what they always found.
struct WithMemory;

impl WithMemory {
    fn new() -> Self {
        control("+memory");
        assert!(memory_mount().unwrap().1, "not cgroup v2");
        Self
    }
}

impl Drop for WithMemory {
    fn drop(&mut self) {
        control("-memory");
    }
}

fn control(controllers: &str) {
    fs::write("/sys/fs/cgroup/cgroup.subtree_control", controllers).unwrap();
}

#[test]
#[ignore = "runs in a VM: cargo xtask vm"]
fn thirty_six_pairs_below_a_protected_top() {
    // What this line says helps.
    let refused = tool::run(["load", "sendfile", "--pairs", "1", "--duration", "1s"]);
    assert!(refused.assert_refused(2).contains("'echo +memory > /sys/fs/cgroup/cgroup.subtree_control'"));
    let _on = WithMemory::new();

    let path = tool::temporary("sendfile.json");
    let arguments = ["load", "sendfile", "--pairs", "36", "--duration", "2s", "-o", path.to_str().unwrap()];
    let mut running = Running::start(&mut tool::tool(arguments));
    let top = top(running.child.id());
    let leaf = top.join("middle/leaf");
    running.wait_for(|_| processes(&leaf).len() == 72);
    let pids = processes(&leaf);
    let (min, low) = (file(&top, "memory.min"), file(&top, "memory.low"));
    for parent in [&top, &top.join("middle")] {
        assert_eq!(file(parent, "cgroup.subtree_control"), "memory");
        assert!(processes(parent).is_empty());
    }
    let finished = running.wait(LIMIT);
    println!("\n{}", finished.stdout);
    finished.assert_success();

    let load: LoadResult = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    fs::remove_file(&path).unwrap();
    let sent = load.sendfile.unwrap();
    let Protection::Set { min_bytes, low_bytes } = sent.protection else { panic!("not protected") };
    assert_eq!((min_bytes.to_string(), low_bytes.to_string()), (min.clone(), low.clone()));
    assert!(min_bytes > 0 && low_bytes == 2 * min_bytes);
    assert_eq!((load.cgroup_version, load.duration_ns, sent.pairs), (2, 2_000_000_000, 36));
    // Of 72 processes on one emulated CPU a pair can have no turn in two seconds.
    assert!(sent.bytes > 0 && sent.megabits_per_second > 0.0, "{sent:?}");
    println!(
        "FIGURE: sendfile: 36 pairs, {:.1} Mbit/s each ({:.1} to {:.1}), memory.min {min}, memory.low {low}",
        sent.megabits_per_second, sent.slowest_megabits_per_second, sent.fastest_megabits_per_second
    );
    assert!(!top.exists(), "{} is left behind", top.display());
    assert!(!pids.into_iter().any(is_there), "processes are left behind");
    assert_eq!(loopback_connections(), 0);
}

#[test]
#[ignore = "runs in a VM: cargo xtask vm"]
fn charges_below_a_limit() {
    let _on = WithMemory::new();
    let path = tool::temporary("charge.json");
    let arguments = ["load", "charge", "--processes", "3", "--duration", "2s", "-o", path.to_str().unwrap()];
    let mut running = Running::start(&mut tool::tool(arguments));
    let top = top(running.child.id());
    running.wait_for(|_| processes(&top.join("middle/leaf")).len() == 3);
    thread::sleep(Duration::from_secs(1));
    let limit = file(&top, "memory.max");
    let events = file(&top, "memory.events");
    running.wait(LIMIT).assert_success();
    let load: LoadResult = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    fs::remove_file(&path).unwrap();
    let charge = load.charge.unwrap();
    println!("FIGURE: charge: 3 processes, {:.0} charges/s below {limit} bytes", charge.charges_per_second);
    assert_eq!(charge.limit_bytes.to_string(), limit);
    assert!(events.contains("\nmax 0\n"), "{events}");
    assert!(charge.charges_per_second > 0.0 && matches!(charge.protection, Protection::Set { .. }));
    assert!(!top.exists(), "{} is left behind", top.display());
}
