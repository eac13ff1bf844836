use super::*;

/// A root with the files of a kernel; BTF is left out, so that names come from kallsyms.
fn root(kallsyms: &str, version: &str) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("proc/sys/kernel/version", version);
    write("proc/sys/kernel/osrelease", "6.12.95+deb12-cloud-amd64\n");
    write("proc/sys/kernel/hostname", "host\n");
    write("proc/self/status", "Name:\tx\nCapEff:\t000001c000000000\n");
    write("proc/self/uid_map", "         0          0 4294967295\n");
    write("proc/self/mounts", "proc /proc proc rw 0 0\nnodev /t tracefs rw 0 0\n");
    write("proc/kallsyms", kallsyms);
    write("sys/devices/system/cpu/possible", "0-7\n");
    write("sys/devices/system/cpu/online", "0-2,4\n");
    write("sys/kernel/security/lockdown", "none [integrity] confidentiality\n");
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
    assert_eq!(facts.tracefs, Some(PathBuf::from("/t")));
    assert!(facts.has(Capability::Bpf) && facts.has(Capability::Perfmon));
    assert!(!facts.has(Capability::SysAdmin));
    assert!(facts.initial_user_namespace && !facts.preempt_rt);
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
