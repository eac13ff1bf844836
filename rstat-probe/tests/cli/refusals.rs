//! What `run` and `load` refuse before anything is measured, so without privileges too.

use std::{fs, os::unix::fs::symlink, path::Path};

use assert_cmd::Command;

use crate::{error_line, names, refusal, text};

/// `run` with `arguments` in `folder`. Short, for the case that it is not refused.
fn run(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = crate::tool();
    command.current_dir(folder).env("TMPDIR", folder).arg("run").args(arguments).args(["--", "true"]);
    command
}

/// Asserts that `arguments` are refused in a line that begins so, and that nothing was written.
#[track_caller]
fn assert_refused(arguments: &[&str], line: &str) {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("folder")).unwrap();
    fs::write(folder.path().join("file"), "precious").unwrap();
    symlink("file", folder.path().join("link")).unwrap();
    let before = names(folder.path());
    let found = refusal(&run(folder.path(), arguments).output().unwrap());
    assert!(found.starts_with(line), "{arguments:?}: {found}");
    assert_eq!(names(folder.path()), before, "{arguments:?}");
    assert_eq!(fs::read_to_string(folder.path().join("file")).unwrap(), "precious", "{arguments:?}");
}

#[test]
fn no_time() {
    assert_refused(&["-d", "0"], "-d 0: ");
    assert_refused(&["-d", "0s"], "-d 0: ");
    assert_refused(&["--duration=0ms"], "-d 0: ");
}

#[test]
fn intervals_that_never_end() {
    assert_refused(&["-i", "2s", "-d", "1s"], "-i 2s is longer than -d 1s: ");
    assert_refused(&["-i", "1ms"], "-i 1ms: intervals have to be at least 10ms long");
    assert_refused(&["-i", "0"], "-i 0s: intervals have to be at least 10ms long");
}

#[test]
fn files_that_cannot_be_written() {
    for option in ["-o", "--stream"] {
        let refused = |name: &str, reason: &str| {
            assert_refused(
                &[option, name, "-d", "100ms"],
                &format!("{option} {name}: nothing was measured: {reason}"),
            );
        };
        refused("missing/folder/x.json", "the folder missing/folder does not exist");
        refused("folder", "is a folder");
        refused("folder/", "is a folder");
        refused("file/x.json", "file is not a folder");
        // Where not even root can make a file.
        refused("/proc/x.json", "cannot write into /proc");
    }
}

/// A name with a slash at its end can only be a folder.
#[test]
fn folders_that_do_not_exist_yet() {
    for option in ["-o", "--stream"] {
        assert_refused(&[option, "new/", "-d", "100ms"], &format!("{option} new/: nothing was measured: "));
    }
}

#[test]
fn two_outputs_in_one_place() {
    assert_refused(&["-o", "-", "--stream", "-"], "-o - and --stream - both want stdout");
    for (output, stream) in [("x", "x"), ("x", "./x"), ("folder/x", "folder/../folder/x"), ("file", "link")] {
        assert_refused(
            &["-o", output, "--stream", stream, "-d", "100ms"],
            "-o and --stream name the same file",
        );
    }
}

/// clap says these, in more than one line.
#[test]
fn usage() {
    for (arguments, names) in [
        (&["run", "-d", "soon"][..], &["'soon'", "--duration <TIME>", "write it as 30s, 500ms or 2m"][..]),
        (&["run", "-d", ""], &["--duration <TIME>"]),
        (&["run", "-d", "1 parsec"], &["'1 parsec'", "--duration <TIME>", "parsec"]),
        (&["run", "--duration=-1s"], &["'-1s'", "--duration <TIME>"]),
        (&["run", "-d", "99999999999999999999s"], &["--duration <TIME>"]),
        (&["run", "-i", "often"], &["'often'", "--interval <TIME>"]),
        (&["run", "-o", ""], &["--output <FILE.json>"]),
        (&["run", "-o"], &["--output <FILE.json>"]),
        (&["run", "true"], &["'true'", "--"]),
        (&["run", "--fast"], &["--fast"]),
        (&["show"], &["<FILE[:NAME]>"]),
        (&["show", "--format", "xml", "x"], &["'xml'", "--format <FORMAT>", "text, json, csv"]),
        (&["load", "stat-reader", "--stat", "io.stat"], &["'io.stat'", "--stat <STAT>", "cpu.stat"]),
        (&["load", "stat-reader", "--file", "x", "--cgroup", "y"], &["--file <PATH>", "--cgroup <NAME>"]),
        (&["load", "sendfile", "--message", "10X"], &["'10X'", "--message <SIZE>", "write it as"]),
        (&["load", "charge", "--bytes", "1.5M"], &["'1.5M'", "--bytes <SIZE>"]),
        (&["jog"], &["'jog'"]),
    ] {
        let output = crate::tool().args(arguments).output().unwrap();
        let stderr = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {output:?}");
        assert!(stderr.starts_with("error: "), "{arguments:?}: {stderr}");
        assert_eq!(text(&output.stdout), "", "{arguments:?}");
        for name in names {
            assert!(stderr.contains(name), "{arguments:?}: no {name} in {stderr}");
        }
    }
}

/// Help that was not asked for goes to stderr.
#[test]
fn no_command() {
    for arguments in [&[][..], &["load"]] {
        let output = crate::tool().args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert_eq!(text(&output.stdout), "");
        assert!(text(&output.stderr).contains("Usage: rstat-probe"), "{output:?}");
    }
}

#[test]
fn loads_that_cannot_work() {
    for (arguments, names) in [
        (&["--file", "missing/memory.stat"][..], "missing/memory.stat"),
        (&["--threads", "0", "--file", "/proc/self/stat"], "thread"),
    ] {
        let mut command = crate::tool();
        command.args(["load", "stat-reader", "--duration", "100ms"]).args(arguments);
        let line = error_line(&command.output().unwrap());
        assert!(line.contains(names), "{arguments:?}: {line}");
    }
}

/// Before a cgroup is made, so without privileges too.
#[test]
fn loads_in_levels_that_make_no_sense() {
    for (arguments, line) in [
        (&["sendfile", "--pairs", "0"][..], "0 pairs send nothing: --pairs must be at least 1"),
        (&["sendfile", "--pairs", "1001"], "1001 pairs are too many: --pairs must be at most 1000"),
        (&["sendfile", "--message", "0"], "messages of 0 bytes send nothing: --message must be at least 1"),
        (
            &["sendfile", "--message", "2M"],
            "messages of 2097152 bytes are too long: --message must be at most 1M",
        ),
        (&["sendfile", "--duration", "0s"], "a load of duration 0 does nothing: --duration must be longer"),
        (&["charge", "--processes", "0"], "0 processes charge nothing: --processes must be at least 1"),
        (&["charge", "--bytes", "0"], "rounds of 0 bytes charge nothing: --bytes must be at least 1"),
        (&["charge", "--duration", "0s"], "a load of duration 0 does nothing: --duration must be longer"),
        (&["sendfile", "-o", "missing/x.json"], "--output missing/x.json: no load was run: "),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let mut command = crate::tool();
        command.current_dir(folder.path()).arg("load").args(arguments);
        if !arguments.contains(&"--duration") {
            command.args(["--duration", "100ms"]);
        }
        let found = refusal(&command.output().unwrap());
        assert!(found.starts_with(line), "{arguments:?}: {found}");
        assert_eq!(names(folder.path()), Vec::<String>::new());
    }
}

/// More than this host has, by its own count.
#[test]
fn charges_that_would_press_on_the_host() {
    let command = ["load", "charge", "--processes", "1000", "--bytes", "1000G", "--duration", "100ms"];
    let line = refusal(&crate::tool().args(command).output().unwrap());
    assert!(
        line.contains("more than half of the") && line.contains("use fewer --processes or less --bytes"),
        "{line}"
    );
}
