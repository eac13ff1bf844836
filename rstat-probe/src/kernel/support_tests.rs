use super::{
    super::{
        btf::{self, Found},
        names::BTF,
    },
    *,
};

fn put(root: &tempfile::TempDir, path: &str, content: impl AsRef<[u8]>) {
    let path = root.path().join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, content).unwrap();
}

/// A root with the files of a kernel; BTF is left out, so that names come from kallsyms.
fn root(kallsyms: &str, version: &str) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| put(&root, path, text);
    write("proc/sys/kernel/version", version);
    write("proc/sys/kernel/osrelease", "6.12.95+deb12-cloud-amd64\n");
    write("proc/sys/kernel/hostname", "host\n");
    write("proc/self/status", "Name:\tx\nCapEff:\t000001c000000000\n");
    write("proc/self/uid_map", "         0          0 4294967295\n");
    write("proc/self/mounts", "proc /proc proc rw 0 0\nnodev /t tracefs rw 0 0\n");
    write("t/available_tracers", "irqsoff function nop\n");
    write("proc/kallsyms", kallsyms);
    write("sys/devices/system/cpu/possible", "0-7\n");
    write("sys/devices/system/cpu/online", "0-2,4\n");
    write("sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
    write("proc/sys/kernel/kptr_restrict", "1\n");
    write("sys/bus/event_source/devices/kprobe/type", "8\n");
    root
}

const KALLSYMS: &str = "\
0000000000000000 T __traceiter_cgroup_rstat_locked
0000000000000000 T __traceiter_cgroup_rstat_locked_decoy
0000000000000000 T __probestub_cgroup_rstat_unlock
0000000000000000 t cgroup_rstat_flush_locked
0000000000000000 T cgroup_rstat_flush
0000000000000000 T css_rstat_flush_decoy
0000000000000000 t other\t[module]
";

#[test]
fn reads_facts_without_btf() {
    let root = root(KALLSYMS, "#1 SMP PREEMPT_DYNAMIC Debian 6.12.95\n");
    let facts = KernelSupport::read(root.path()).unwrap();
    let names = facts.names.clone().unwrap();
    assert_eq!(names.source, NameSource::Kallsyms);
    assert_eq!(names.tracepoints, ["cgroup_rstat_locked"]);
    assert_eq!(
        names.functions.keys().collect::<Vec<_>>(),
        ["cgroup_rstat_flush", "cgroup_rstat_flush_locked"]
    );
    assert!(facts.btf_error.as_ref().unwrap().contains("btf/vmlinux"));
    assert_eq!(facts.possible.cpus.len(), 8);
    assert_eq!(facts.online.cpus, [0, 1, 2, 4]);
    assert_eq!(facts.lockdown.as_deref(), Some("integrity"));
    assert_eq!((facts.tracefs.as_deref(), facts.irqsoff), (Some(Path::new("/t")), Some(true)));
    put(&root, "t/available_tracers", "preemptirqsoff nop\n");
    assert_eq!(KernelSupport::read(root.path()).unwrap().irqsoff, Some(false));
    fs::remove_file(root.path().join("t/available_tracers")).unwrap();
    assert_eq!(KernelSupport::read(root.path()).unwrap().irqsoff, None);
    assert!(facts.has(Capability::Bpf) && facts.has(Capability::Perfmon));
    assert!(!facts.has(Capability::SysAdmin));
    assert!(facts.initial_user_namespace && !facts.preempt_rt);
    assert!(facts.kprobes);
    assert_eq!(facts.kptr_restrict, Some(1));
    assert!(facts.subsystems.is_empty() && facts.offsets.is_none());
}

#[test]
fn knows_the_rt_flavour() {
    let root = root("", "#1 SMP PREEMPT_RT Debian 7.3.4\n");
    assert!(KernelSupport::read(root.path()).unwrap().preempt_rt);
}

#[test]
fn a_missing_file_is_named() {
    let root = root("", "#1\n");
    fs::remove_file(root.path().join("proc/sys/kernel/osrelease")).unwrap();
    let error = format!("{:#}", KernelSupport::read(root.path()).unwrap_err());
    assert!(error.contains("osrelease"), "{error}");
}

#[test]
fn cpu_lists() {
    assert_eq!(cpu_list("0").unwrap().cpus, [0]);
    assert_eq!(cpu_list("0-1,4-5").unwrap().cpus, [0, 1, 4, 5]);
    assert_eq!(cpu_list("").unwrap().cpus, Vec::<u32>::new());
    assert!(cpu_list("0-x").is_err());
}

#[test]
fn build_id_is_found_behind_another_note() {
    let note = |name: &[u8], kind: u32, description: &[u8]| {
        let mut bytes = Vec::new();
        for word in [name.len(), description.len(), kind as usize] {
            bytes.extend_from_slice(&u32::try_from(word).unwrap().to_ne_bytes());
        }
        for part in [name, description] {
            bytes.extend_from_slice(part);
            bytes.resize(bytes.len().next_multiple_of(4), 0);
        }
        bytes
    };
    let mut notes = note(b"Xen\0", 6, &[1, 2, 3]);
    notes.extend(note(b"GNU\0", 3, &[0xab, 0x01]));
    assert_eq!(build_id(&notes).as_deref(), Some("ab01"));
    assert_eq!(build_id(&notes[..20]), None);
}

/// A BTF as a kernel of 6.16 and later has it.
fn found() -> Found {
    let members = [
        ("cgroup.kn", 256),
        ("kernfs_node.id", 96),
        ("cgroup_subsys_state.ss", 8),
        ("cgroup_subsys.id", 148),
        ("cgroup_subsys.rstat_ss_lock", 244),
    ];
    let ids = [("cpuset_cgrp_id", 0), ("io_cgrp_id", 3), ("memory_cgrp_id", 4), ("CGROUP_SUBSYS_COUNT", 5)];
    let ids = ids.map(|(name, id)| (name.to_owned(), id)).to_vec();
    Found {
        typedefs: vec!["btf_trace_cgroup_rstat_locked".to_owned()],
        functions: [("css_rstat_flush".to_owned(), 9)].into(),
        members: members.map(|(name, offset)| (name.to_owned(), offset)).into(),
        enums: [("cgroup_subsys_id".to_owned(), ids)].into(),
    }
}

#[test]
fn reads_facts_from_btf() {
    let root = root("", "#1\n");
    put(&root, BTF, btf::trimmed(&found()));
    let facts = KernelSupport::read(root.path()).unwrap();
    let names = facts.names.unwrap();
    assert_eq!(names.source, NameSource::Btf);
    assert!(names.tracepoint("cgroup_rstat_locked") && names.function("css_rstat_flush"));
    assert!(names.btf_id("css_rstat_flush").is_some() && names.btf_id("rt_spin_lock").is_none());
    let expected = Offsets { cgroup_kn: 256, kernfs_node_id: 96, css_ss: Some(8), subsys_id: Some(148) };
    assert_eq!(facts.offsets, Some(expected));
    assert_eq!(facts.rstat_ss_lock, Some(244));
    let expected = [(0, "cpuset"), (3, "io"), (4, "memory")];
    assert_eq!(facts.subsystems, expected.map(|(id, name)| (id, name.to_owned())).into());
}

const SUBSYSTEMS: &str = "\
ffffffff83000000 D memory_cgrp_subsys
ffffffff84000000 T io_cgrp_subsys
ffffffff85000000 D cpu_cgrp_subsys
ffffffff86000000 b rstat_base_lock
ffffffffc0000000 b cgroup_rstat_lock\t[module]
";

fn addresses(facts: &KernelSupport) -> Vec<(&str, Option<&str>, u64)> {
    facts.locks.iter().map(|lock| (lock.symbol.as_str(), lock.subsystem.as_deref(), lock.address)).collect()
}

#[test]
fn lock_addresses() {
    let root = root(SUBSYSTEMS, "#1\n");
    let facts = KernelSupport::read(root.path()).unwrap();
    let base = ("rstat_base_lock", None, 0xffff_ffff_8600_0000);
    assert_eq!(addresses(&facts), [], "the others need the offset from BTF, and a part is no use");
    assert!(facts.locks_error.unwrap().contains("takes BTF"));
    put(&root, BTF, btf::trimmed(&found()));
    let facts = KernelSupport::read(root.path()).unwrap();
    let memory = ("memory_cgrp_subsys.rstat_ss_lock", Some("memory"), 0xffff_ffff_8300_00f4);
    let io = ("io_cgrp_subsys.rstat_ss_lock", Some("io"), 0xffff_ffff_8400_00f4);
    assert_eq!(addresses(&facts), [base, memory, io]);
    assert_eq!(facts.locks_error, None);
    // A list without one that is ambiguous would be wrong.
    put(&root, "proc/kallsyms", format!("{SUBSYSTEMS}ffffffff83000000 D memory_cgrp_subsys\n"));
    let facts = KernelSupport::read(root.path()).unwrap();
    assert_eq!(addresses(&facts), []);
    assert!(facts.locks_error.unwrap().contains("several symbols `memory_cgrp_subsys`"));
    // Kernels before 6.16 have one lock and no such member.
    put(&root, "proc/kallsyms", "ffffffff87000000 b cgroup_rstat_lock\n");
    let facts = KernelSupport::read(root.path()).unwrap();
    assert_eq!(addresses(&facts), [("cgroup_rstat_lock", None, 0xffff_ffff_8700_0000)]);
}

#[test]
fn why_no_lock_address_is_known() {
    let hide = |line: &str| format!("0000000000000000{}\n", &line[16..]);
    let hidden: String = SUBSYSTEMS.lines().map(hide).collect();
    let twice = "ff b cgroup_rstat_lock\n";
    let twice = [twice, twice].concat();
    let (without, with) = ("000001c000000000", "000001c400000000");
    let initial = "0 0 4294967295\n";
    for (kallsyms, kptr_restrict, capabilities, uid_map, reason) in [
        (
            "",
            "0\n",
            with,
            initial,
            "the locks' addresses are unknown: neither cgroup_rstat_lock nor rstat_base_lock is in /proc/kallsyms (kernel built without CONFIG_KALLSYMS_ALL?)",
        ),
        (
            &twice,
            "0\n",
            with,
            initial,
            "the locks' addresses are unknown: /proc/kallsyms has several symbols `cgroup_rstat_lock`",
        ),
        (
            &hidden,
            "2\n",
            with,
            initial,
            "the locks' addresses are hidden in /proc/kallsyms (kptr_restrict = 2); `sysctl kernel.kptr_restrict=1` shows them",
        ),
        (
            &hidden,
            "2\n",
            without,
            initial,
            "the locks' addresses are hidden in /proc/kallsyms (kptr_restrict = 2); `sysctl kernel.kptr_restrict=1` and CAP_SYSLOG show them",
        ),
        (
            &hidden,
            "1\n",
            without,
            initial,
            "the locks' addresses are hidden in /proc/kallsyms (kptr_restrict = 1); CAP_SYSLOG, which this process lacks, shows them",
        ),
        (
            &hidden,
            "0\n",
            without,
            initial,
            "the locks' addresses are hidden in /proc/kallsyms (kptr_restrict = 0); CAP_SYSLOG, which this process lacks, shows them",
        ),
        (
            &hidden,
            "x\n",
            without,
            initial,
            "the locks' addresses are hidden in /proc/kallsyms (kptr_restrict unknown); CAP_SYSLOG, which this process lacks, shows them",
        ),
        (
            &hidden,
            "1\n",
            with,
            "0 1000 1\n",
            "the locks' addresses are hidden in /proc/kallsyms (kptr_restrict = 1); CAP_SYSLOG counts in the initial user namespace only",
        ),
        (
            &hidden,
            "1\n",
            with,
            initial,
            "the locks' addresses are hidden in /proc/kallsyms (kptr_restrict = 1), although this process has CAP_SYSLOG",
        ),
    ] {
        let root = root(kallsyms, "#1\n");
        put(&root, "proc/sys/kernel/kptr_restrict", kptr_restrict);
        put(&root, "proc/self/status", format!("CapEff:\t{capabilities}\n"));
        put(&root, "proc/self/uid_map", uid_map);
        let facts = KernelSupport::read(root.path()).unwrap();
        assert_eq!(facts.locks_error.as_deref(), Some(reason));
        assert_eq!(facts.locks, []);
    }
    let root = root("", "#1\n");
    fs::remove_file(root.path().join("proc/kallsyms")).unwrap();
    let facts = KernelSupport::read(root.path()).unwrap();
    let reason = "the locks' addresses are unknown: cannot read /proc/kallsyms: No such file or directory (os error 2)";
    assert_eq!(facts.locks_error.as_deref(), Some(reason));
    assert_eq!(facts.names, None);
}

#[path = "facts_saved_tests.rs"]
mod saved;
