//! Without root: what each capability is needed for.

use std::{fs, os::unix::fs::PermissionsExt as _, path::PathBuf, process::Command};

use tempfile::TempDir;

use super::{
    process::{Finished, TOOL, finish},
    ready,
    recorded::{assert_consistent, recording, sections},
    storm::Storm,
};

/// The user nobody.
const NOBODY: u32 = 65534;

/// A folder that nobody owns, with a copy of the tool: the original may be where nobody cannot go.
struct Place {
    folder: TempDir,
    tool: PathBuf,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
        std::os::unix::fs::chown(folder.path(), Some(NOBODY), Some(NOBODY)).unwrap();
        let tool = folder.path().join("rstat-probe");
        fs::copy(TOOL, &tool).unwrap();
        Self { folder, tool }
    }

    /// Runs the tool as nobody with these capabilities, such as `bpf`.
    fn finish(&self, capabilities: &[&str], arguments: &[&str]) -> Finished {
        let set: String = ["-all".to_owned()]
            .into_iter()
            .chain(capabilities.iter().map(|name| format!("+{name}")))
            .collect::<Vec<_>>()
            .join(",");
        let mut command = Command::new("setpriv");
        command.args([format!("--reuid={NOBODY}"), format!("--regid={NOBODY}"), "--clear-groups".to_owned()]);
        command.args(["inh-caps", "ambient-caps", "bounding-set"].map(|option| format!("--{option}={set}")));
        finish(command.arg(&self.tool).args(arguments).current_dir(self.folder.path()))
    }
}

#[test]
#[ignore = "needs root and a kernel with rstat tracepoints"]
fn two_capabilities_are_enough_but_for_the_own_cost() {
    if !ready() {
        return;
    }
    let place = Place::new();
    let _storm = Storm::start(2);
    place.finish(&["bpf", "perfmon"], &["run", "-d", "500ms", "-o", "run.json"]).assert_success();
    let recording = recording(&place.folder.path().join("run.json"));
    assert_consistent(&recording);
    println!("as nobody: {} sections", sections(&recording));
    assert!(sections(&recording) > 100);
    let overhead = &recording.overhead;
    assert!(overhead.sampled.is_none() && overhead.percent_of_one_cpu.is_none(), "{overhead:?}");
    let reason = overhead.unavailable.as_deref().unwrap();
    assert!(reason.contains("CAP_SYS_ADMIN"), "{reason}");

    let check = place.finish(&["bpf", "perfmon"], &["check"]);
    check.assert_success();
    let line = check.stdout.lines().find(|line| line.contains("capabilities")).unwrap();
    let held = line.split(';').next().unwrap();
    assert!(held.ends_with(" CAP_BPF, CAP_PERFMON"), "{line}");
}

#[test]
#[ignore = "needs root and a kernel with rstat tracepoints"]
fn a_missing_capability_is_named() {
    if !ready() {
        return;
    }
    let place = Place::new();
    for (held, missing) in [
        (&["perfmon"][..], &["CAP_BPF"][..]),
        (&["bpf"], &["CAP_PERFMON"]),
        (&[], &["CAP_BPF", "CAP_PERFMON"]),
    ] {
        let names = |text: &str| {
            let named = ["CAP_BPF", "CAP_PERFMON"].into_iter().filter(|name| text.contains(name));
            assert_eq!(named.collect::<Vec<_>>(), missing, "{text}");
        };
        let run = place.finish(held, &["run", "-d", "10s"]);
        let line = run.assert_refused(2);
        assert!(line.starts_with("error: ") && run.stdout.is_empty(), "{run:?}");
        names(line);
        let check = place.finish(held, &["check"]);
        assert_eq!((check.code, check.stderr.as_str()), (Some(2), ""));
        names(check.stdout.lines().last().unwrap());
    }
}
