//! Places that cannot be written, and the host left as it was.

use std::{
    fs::{self, File},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use rustix::process::Signal;

use super::{
    mount::Mount,
    process::{Finished, LIMIT, Running, TOOL, finish, tool},
    ready,
    recorded::{assert_is_report, recording},
};

/// The recording that a line of error says was saved elsewhere; checked and removed.
fn assert_saved_elsewhere(finished: &Finished, wanted: &Path) {
    let line = finished.assert_refused(2);
    let begin = format!("error: cannot save {}, saved ", wanted.display());
    let rest = line.strip_prefix(&begin).unwrap_or_else(|| panic!("{line}"));
    let (other, _) = rest.split_once(" instead: ").unwrap_or_else(|| panic!("{line}"));
    assert!(recording(Path::new(other)).duration_ns > 0);
    fs::remove_file(other).unwrap();
    assert_is_report(&finished.stdout);
}

/// Files in a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
}

#[test]
#[ignore = "needs root and a kernel with rstat tracepoints"]
fn a_full_disk_loses_no_recording() {
    if !ready() {
        return;
    }
    let full = Mount::full();
    let target = full.path().join("out.json");
    let finished = finish(tool(["run", "-d", "500ms", "-o"]).arg(&target));
    assert!(finished.stderr.contains("No space left on device"), "{}", finished.stderr);
    assert_saved_elsewhere(&finished, &target);
    assert_eq!(files(full.path()), [full.path().join("filler")], "no half of a file stays");

    let stream = full.path().join("out.ndjson");
    let finished = finish(tool(["run", "-d", "500ms", "-i", "100ms", "--stream"]).arg(&stream));
    let line = finished.assert_refused(2);
    assert!(line.starts_with("error: ") && line.contains(stream.to_str().unwrap()), "{line}");
    assert!(line.contains("No space left on device"), "{line}");
    assert_is_report(&finished.stdout);
}

#[test]
#[ignore = "needs root and a kernel with rstat tracepoints"]
fn a_full_stdout_is_an_error_and_the_recording_is_saved() {
    if !ready() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.json");
    let full = File::options().write(true).open("/dev/full").unwrap();
    let mut command = tool(["run", "-d", "300ms", "-o"]);
    let finished = Running::start_onto(command.arg(&file), Stdio::from(full)).wait(LIMIT);
    let line = finished.assert_refused(2);
    assert!(line.starts_with("error: ") && line.contains("No space left on device"), "{line}");
    assert!(recording(&file).duration_ns > 0);
}

#[test]
#[ignore = "needs root and a kernel with rstat tracepoints"]
fn a_folder_that_vanishes_loses_no_recording() {
    if !ready() {
        return;
    }
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("folder");
    fs::create_dir(&folder).unwrap();
    let target = folder.join("out.json");
    let mut running = Running::start(tool(["run", "-d", "1s", "-o"]).arg(&target));
    running.wait_attached();
    fs::remove_dir(&folder).unwrap();
    let finished = running.wait(LIMIT);
    assert!(finished.stderr.contains("No such file or directory"), "{}", finished.stderr);
    assert_saved_elsewhere(&finished, &target);
}

#[test]
#[ignore = "needs root and a kernel with rstat tracepoints"]
fn an_unwritable_place_is_refused_before_measuring() {
    if !ready() {
        return;
    }
    let read_only = Mount::read_only();
    let started = read_only.path().with_extension("started");
    for option in ["-o", "--stream"] {
        let target = read_only.path().join("out");
        let mut command = tool(["run", option]);
        let finished = finish(command.arg(&target).args(["-d", "10s", "--", "touch"]).arg(&started));
        let line = finished.assert_refused(2);
        assert!(line.starts_with("error: ") && line.contains(target.to_str().unwrap()), "{line}");
        assert!(line.contains("Read-only file system"), "{line}");
        assert!(finished.stdout.is_empty() && !started.exists(), "nothing was measured");
    }
}

/// Unmounts every tracefs, and every debugfs because a look into it would mount tracefs; then runs `$1` with results
/// in `$2`.
const WITHOUT_TRACEFS: &str = r#"
awk '$3 ~ /^(tracefs|debugfs)$/ { print $2 }' /proc/self/mounts | sort -r |
while read -r path; do umount -l "$path" || exit 9; done
cat /proc/self/mounts > "$2/before"
"$1" run -d 300ms -o "$2/run.json" || exit
cat /proc/self/mounts > "$2/after"
"$1" check > "$2/check"
"#;

#[test]
#[ignore = "needs root and a kernel with rstat tracepoints"]
fn without_tracefs_it_works_and_mounts_nothing() {
    if !ready() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new("unshare");
    command.args(["-m", "sh", "-c", WITHOUT_TRACEFS, "sh", TOOL]).arg(folder.path());
    finish(&mut command).assert_success();
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert!(!read("before").contains(" tracefs "), "{}", read("before"));
    assert_eq!(read("before"), read("after"));
    assert!(recording(&folder.path().join("run.json")).duration_ns > 0);
    let check = read("check");
    let line = check.lines().find(|line| line.trim_start().starts_with("tracefs"));
    assert!(line.is_some_and(|line| line.contains("not mounted") && line.contains("not needed")), "{check}");
}

#[test]
#[ignore = "needs root and a kernel with rstat tracepoints"]
fn a_pipe_as_the_file_gets_the_recording() {
    if !ready() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let running = Running::start(tool(["run", "-d", "300ms", "-o"]).arg(&pipe));
    let reader = thread::spawn({
        let pipe = pipe.clone();
        move || fs::read(pipe).unwrap()
    });
    running.wait(Duration::from_secs(10)).assert_success();
    let text = reader.join().unwrap();
    super::recorded::recording_of(&text, "the pipe");
    assert_eq!(files(folder.path()), [pipe], "the pipe is still there");
}

#[test]
#[ignore = "needs root and a kernel with rstat tracepoints"]
fn a_pipe_that_nobody_reads_does_not_hold_it() {
    if !ready() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    for option in ["-o", "--stream"] {
        let running = Running::start(tool(["run", "-d", "200ms", option]).arg(&pipe));
        thread::sleep(Duration::from_secs(1));
        running.signal(Signal::TERM);
        // With -o it was measured and cannot be handed over; a stream waits before measuring.
        let code = running.wait(Duration::from_secs(5)).code;
        assert_ne!(code, Some(0), "{option}");
    }
}

#[test]
#[ignore = "needs root and a kernel with rstat tracepoints"]
fn a_pipe_that_breaks_is_told() {
    if !ready() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let pipe = folder.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let running = Running::start(tool(["run", "-i", "50ms", "-d", "2s", "--stream"]).arg(&pipe));
    drop(File::open(&pipe).unwrap());
    let finished = running.wait(LIMIT);
    let line = finished.assert_refused(2);
    assert!(line.starts_with(&format!("error: --stream {} ended early: ", pipe.display())), "{line}");
    assert_is_report(&finished.stdout);
}
