//! `check` on the facts of kernels that are not the running one, beyond its goldens. What is
//! planned for each of them, and for variants of them, is tested in src/kernel/plan/fixtures.rs.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Output,
};

use tempfile::TempDir;

use crate::{refusal, text};

const BTF: &str = "sys/kernel/btf/vmlinux";
const KALLSYMS: &str = "proc/kallsyms";
const KPROBES: &str = "sys/bus/event_source/devices/kprobe/type";

fn kernels() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/kernels")
}

fn check(root: &Path) -> Output {
    crate::tool().arg("check").arg("--root").arg(root).output().unwrap()
}

/// The kernel that is changed below: it has the most to lose.
const KERNEL: &str = "6.12.118-cloud-amd64";

/// A copy of one of the kernels in the fixtures, to be changed.
fn copy_of(kernel: &str) -> TempDir {
    fn copy(from: &Path, to: &Path) {
        for entry in fs::read_dir(from).unwrap() {
            let entry = entry.unwrap();
            let to = to.join(entry.file_name());
            if entry.file_type().unwrap().is_dir() {
                fs::create_dir(&to).unwrap();
                copy(&entry.path(), &to);
            } else {
                // Not fs::copy: a read-only source gives a read-only copy.
                fs::write(&to, fs::read(entry.path()).unwrap()).unwrap();
            }
        }
    }
    let root = tempfile::tempdir().unwrap();
    copy(&kernels().join(kernel), root.path());
    root
}

#[test]
fn every_kernel_has_a_golden() {
    for entry in fs::read_dir(kernels()).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let golden =
            Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/check").join(format!("{name}.trycmd"));
        assert!(golden.exists(), "{}", golden.display());
    }
}

/// The exit codes in one place: goldens are refreshed without much thought.
#[test]
fn exit_codes() {
    for (kernel, code) in [
        ("5.10.262-cloud-amd64", 0),
        ("5.10.262-cloud-amd64-kptr-restrict-2", 1),
        ("6.1.192-cloud-amd64", 0),
        ("6.1.192-cloud-amd64-confidentiality", 0),
        ("6.1.192-cloud-amd64-no-btf", 0),
        ("6.12.118-cloud-amd64", 0),
        ("6.12.118-cloud-amd64-no-symbols", 1),
        ("6.12.118-cloud-amd64-unprivileged", 2),
        ("6.16.12-cloud-amd64", 0),
        ("6.18.15-cloud-amd64", 0),
        ("6.18.15-cloud-amd64-user-namespace", 2),
        ("6.18.44-no-kprobes", 0),
        ("7.0.13-cloud-amd64", 0),
        ("7.3.4-cloud-amd64", 0),
        ("7.3.4-cloud-amd64-confidentiality", 0),
        ("7.3.4-rt-amd64", 0),
    ] {
        let output = check(&kernels().join(kernel));
        assert_eq!(output.status.code(), Some(code), "{kernel}: {output:?}");
        assert_eq!(text(&output.stderr), "", "{kernel}");
    }
}

/// Each needed capability, missing in turn; CAP_SYS_ADMIN stands in for both.
#[test]
fn capabilities() {
    for (effective, missing) in [
        ("000000c000000000", None),
        ("0000000000200000", None),
        ("0000008000000000", Some("CAP_PERFMON")),
        ("0000004000000000", Some("CAP_BPF")),
        ("0000013fffdfffff", Some("CAP_BPF and CAP_PERFMON")),
    ] {
        let root = copy_of(KERNEL);
        let path = root.path().join("proc/self/status");
        let status = fs::read_to_string(&path).unwrap();
        fs::write(&path, status.replace("CapEff:\t000001ffffffffff", &format!("CapEff:\t{effective}")))
            .unwrap();
        let output = check(root.path());
        let verdict = text(&output.stdout).lines().next_back().unwrap();
        if let Some(missing) = missing {
            assert_eq!(output.status.code(), Some(2), "{effective}");
            let begin = format!("rstat-probe run needs {missing}, which this process lacks; ");
            assert!(verdict.starts_with(&begin), "{effective}: {verdict}");
        } else {
            assert_eq!(output.status.code(), Some(0), "{effective}");
            assert_eq!(verdict, "rstat-probe run works here", "{effective}");
        }
    }
}

#[test]
fn lockdown_is_shown() {
    let root = copy_of(KERNEL);
    fs::write(root.path().join("sys/kernel/security/lockdown"), "none [integrity] confidentiality\n")
        .unwrap();
    let stdout = check(root.path()).stdout;
    assert!(text(&stdout).contains("\n  lockdown       integrity\n"), "{}", text(&stdout));
}

/// Without symbols nothing is known about what the kernel lacks.
#[test]
fn unknown_is_not_absent() {
    let stdout = check(&kernels().join("6.12.118-cloud-amd64-no-symbols")).stdout;
    assert!(!text(&stdout).contains("does not exist"), "{}", text(&stdout));
}

/// An alternative stands below the metric that it is one for.
#[test]
fn the_flush_function_belongs_to_flush() {
    let stdout = check(&kernels().join(KERNEL)).stdout;
    let stdout = text(&stdout);
    let after = stdout.split("\n  flush ").nth(1).unwrap().lines().nth(1).unwrap();
    assert!(after.contains("cgroup_rstat_flush from call to return"), "{stdout}");
}

#[test]
fn broken_roots() {
    for file in [
        "proc/sys/kernel/version",
        "proc/sys/kernel/osrelease",
        "proc/sys/kernel/hostname",
        "proc/self/status",
        "sys/devices/system/cpu/possible",
        "sys/devices/system/cpu/online",
    ] {
        let root = copy_of(KERNEL);
        let path = root.path().join(file);
        fs::remove_file(&path).unwrap();
        assert_eq!(
            refusal(&check(root.path())),
            format!("cannot read {}: No such file or directory (os error 2)", path.display())
        );
    }
    let line = refusal(&check(Path::new("missing")));
    assert!(line.starts_with("cannot read missing/proc/"), "{line}");
}

/// Facts that are no facts: still one line that says which.
#[test]
fn odd_facts() {
    for (file, content, named) in [
        ("sys/devices/system/cpu/possible", "0-x\n", "CPU list"),
        ("proc/self/status", "Name:\tx\n", "CapEff"),
        ("proc/self/status", "CapEff:\tall\n", "CapEff"),
    ] {
        let root = copy_of(KERNEL);
        fs::write(root.path().join(file), content).unwrap();
        let line = refusal(&check(root.path()));
        assert!(line.contains(named), "{line}");
    }
}

/// A BTF that cannot be read is a note, and the names come from kallsyms.
#[test]
fn broken_btf() {
    let whole = fs::read(kernels().join(KERNEL).join(BTF)).unwrap();
    let cut = &whole[..whole.len() / 2];
    for content in [&b""[..], b"\0\0", b"hello, I am no BTF at all", cut] {
        let root = copy_of(KERNEL);
        fs::write(root.path().join(BTF), content).unwrap();
        let output = check(root.path());
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let stdout = text(&output.stdout);
        assert!(stdout.contains("\n  BTF            not used: cannot read "), "{stdout}");
        assert!(
            stdout.contains(
                "\nhooks (/proc/kallsyms): 3 of 3 tracepoints of the locks, 6 of 6 of the per-CPU locks\n"
            ),
            "{stdout}"
        );
    }
}

/// Whatever is missing, `check` says so, and what is done without it.
#[test]
fn what_is_missing_is_named() {
    for (kernel, missing, code, parts) in [
        (
            KERNEL,
            &[BTF][..],
            0,
            &["BTF            not used: cannot read ", "  kprobe          cgroup_rstat_flush"],
        ),
        (KERNEL, &[KPROBES], 0, &["kprobes        none", "  fentry          cgroup_rstat_flush"]),
        (
            KERNEL,
            &[BTF, KPROBES],
            0,
            &["kprobes        none", "not used: fentry cgroup_rstat_flush: fentry needs BTF"],
        ),
        (
            "6.1.192-cloud-amd64",
            &[KALLSYMS],
            1,
            &["locks          addresses are unknown: cannot read ", "lock_wait      unavailable: "],
        ),
        (
            "6.1.192-cloud-amd64",
            &[BTF, KPROBES],
            2,
            &["walk: fentry needs BTF", "nothing can be measured here: "],
        ),
    ] {
        let root = copy_of(kernel);
        for file in missing {
            fs::remove_file(root.path().join(file)).unwrap();
        }
        let output = check(root.path());
        let stdout = text(&output.stdout);
        assert_eq!(output.status.code(), Some(code), "{kernel} without {missing:?}: {stdout}");
        for part in parts {
            assert!(stdout.contains(part), "{kernel} without {missing:?}: no `{part}` in {stdout}");
        }
    }
}

/// Only whole names count: a real kallsyms is full of names that contain the wanted ones, and
/// modules may have symbols of the same name.
#[test]
fn lookalikes() {
    let root = copy_of(KERNEL);
    fs::remove_file(root.path().join(BTF)).unwrap();
    let expected = check(root.path());
    let path = root.path().join(KALLSYMS);
    let kallsyms = fs::read_to_string(&path).unwrap();
    let lookalikes = kallsyms.lines().flat_map(|line| {
        let name = &line[19..];
        [
            format!("ffffffff81000010 T __pfx_{name}\n"),
            format!("ffffffff81000020 t {name}.cold\n"),
            format!("ffffffffc0000010 t {name}\t[module]\n"),
            format!("{line}\n"),
        ]
    });
    fs::write(&path, lookalikes.collect::<String>()).unwrap();
    assert_eq!(check(root.path()), expected);
    // None of them stands in for what is not there.
    let kallsyms = fs::read_to_string(&path).unwrap().replace(" cgroup_rstat_flush\n", " other\n");
    fs::write(&path, kallsyms).unwrap();
    let stdout = check(root.path()).stdout;
    assert!(!text(&stdout).contains("kprobe          cgroup_rstat_flush "), "{}", text(&stdout));
}
