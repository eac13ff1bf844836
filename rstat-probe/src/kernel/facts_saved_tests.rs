//! Of saved facts, and of the BTF in them.

use super::{
    super::super::{
        facts_saved,
        names::{FUNCTIONS, read_btf},
    },
    *,
};

/// What the plan is made from, but for what may differ in saved facts.
fn comparable(mut facts: KernelSupport) -> String {
    facts.host.clear();
    facts.btf_error = facts.btf_error.map(|_| String::new());
    let known = |id: &mut Option<u32>| *id = id.map(|_| 0);
    facts.names.iter_mut().flat_map(|names| names.functions.values_mut()).for_each(known);
    let lowest = facts.locks.iter().map(|lock| lock.address).min().unwrap_or_default();
    facts.locks.iter_mut().for_each(|lock| lock.address -= lowest);
    format!("{facts:#?}")
}

#[track_caller]
fn assert_saves(root: &Path) -> tempfile::TempDir {
    let saved = tempfile::tempdir().unwrap();
    facts_saved::save(root, saved.path()).unwrap();
    let facts = KernelSupport::read(root).unwrap();
    for lock in &facts.locks {
        let kallsyms = fs::read_to_string(saved.path().join("proc/kallsyms")).unwrap();
        assert!(!kallsyms.contains(&format!("{:x}", lock.address)), "{kallsyms}");
    }
    assert_eq!(comparable(KernelSupport::read(saved.path()).unwrap()), comparable(facts));
    saved
}

#[test]
fn saved_facts_are_the_same_facts() {
    let root = root(&format!("{KALLSYMS}{SUBSYSTEMS}"), "#1 SMP PREEMPT_RT\n");
    put(&root, "proc/sys/kernel/hostname", "secret\n");
    put(&root, "proc/self/mounts", "//nas/secret /s cifs rw 0 0\nnodev /t tracefs rw 0 0\n");
    assert_saves(root.path());
    put(&root, BTF, btf::trimmed(&found()));
    let saved = assert_saves(root.path());
    let kallsyms = "\
0000000000000000 T __traceiter_cgroup_rstat_locked
0000000000000000 t cgroup_rstat_flush_locked
0000000000000000 T cgroup_rstat_flush
0000000000001000 D memory_cgrp_subsys
0000000001001000 T io_cgrp_subsys
0000000003001000 b rstat_base_lock
";
    let saved = |path: &str| fs::read_to_string(saved.path().join(path)).unwrap();
    assert_eq!(saved("proc/kallsyms"), kallsyms);
    assert_eq!(saved("proc/sys/kernel/hostname"), "host\n");
    assert_eq!(saved("proc/self/mounts"), "nodev /t tracefs rw 0 0\n");
    assert_eq!(saved("t/available_tracers"), "irqsoff function nop\n");
    assert_eq!(saved("proc/self/status"), "CapEff:\t000001c000000000\n");
}

/// The kernel that runs here, whatever of it can be read.
#[test]
fn this_host_can_be_saved() {
    assert_saves(Path::new("/"));
}

#[test]
fn trimmed_btf_of_this_host() {
    let Ok(whole) = read_btf(Path::new("/")) else {
        return eprintln!("SKIPPED: needs a readable /{BTF}: trimmed_btf_of_this_host");
    };
    let root = tempfile::tempdir().unwrap();
    let blob = btf::trimmed(&whole);
    put(&root, BTF, &blob);
    assert!(blob.len() < 4000, "{} bytes", blob.len());
    let mut again = read_btf(root.path()).unwrap();
    assert!(again.functions.keys().eq(whole.functions.keys()));
    assert!(whole.functions.keys().any(|name| FUNCTIONS[..3].contains(&name.as_str())));
    again.functions.clone_from(&whole.functions);
    assert_eq!(again, whole);
}
