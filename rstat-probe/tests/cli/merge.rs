//! `merge` of copies of one recording, edited to be those of other hosts and times.

use std::{
    fs,
    io::{self, Write as _},
    os::unix::fs::symlink,
    path::Path,
    process::{Command, Output},
};

use rstat_probe_report::fleet::FLEET_SCHEMA;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::{names, recording, refusal, text};

/// A folder with recordings of the hosts a, b and c, and a second one of a.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, host, second) in [("a", "a", 10), ("a2", "a", 30), ("b", "b", 10), ("c", "c", 10)] {
        write(folder.path(), name, |json| {
            json["provenance"]["host"] = json!(host);
            json["provenance"]["started"] = json!(format!("2026-01-02T03:04:{second}Z"));
        });
    }
    folder
}

/// Writes an edited recording as `name.json`.
fn write(folder: &Path, name: &str, edit: impl FnOnce(&mut Value)) {
    let mut json = serde_json::from_str(&recording("storm.json")).unwrap();
    edit(&mut json);
    fs::write(folder.join(name).with_extension("json"), json.to_string()).unwrap();
}

fn merge(folder: &Path, arguments: &[&str]) -> Output {
    crate::tool().current_dir(folder).env("TMPDIR", folder).arg("merge").args(arguments).output().unwrap()
}

/// What it printed, without a word on stderr.
#[track_caller]
fn printed(output: &Output) -> &str {
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""), "{output:?}");
    text(&output.stdout)
}

/// A fleet, which has to follow the schema.
#[track_caller]
fn fleet(text: &str) -> Value {
    let json: Value = serde_json::from_str(text).unwrap();
    let schema: Value = serde_json::from_str(FLEET_SCHEMA).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let faults: Vec<String> = validator.iter_errors(&json).map(|error| error.to_string()).collect();
    assert_eq!(faults, Vec::<String>::new());
    json
}

#[test]
fn a_file_and_a_summary() {
    let folder = folder();
    let output = merge(folder.path(), &["a.json", "b.json", "a2.json", "c.json", "-o", "f.json"]);
    let summary = printed(&output);
    assert!(summary.starts_with("merged: 4 recordings of 3 hosts, 6.284 s of host-time\n"), "{summary}");
    assert!(summary.contains("\nlosses: none\n"), "{summary}");
    assert!(summary.contains("\nirqs_off              p99         a  "), "{summary}");
    assert!(summary.contains("\noutliers: none; "), "{summary}");
    let json = fleet(&fs::read_to_string(folder.path().join("f.json")).unwrap());
    let one: Value = serde_json::from_str(&recording("storm.json")).unwrap();
    let count = |json: &Value| json["totals"]["metrics"]["irqs_off"]["count"].as_u64().unwrap();
    assert_eq!((json["recordings"].as_u64(), count(&json)), (Some(4), 4 * count(&one)));
    let units: Vec<(&str, u64)> = json["units"]
        .as_array()
        .unwrap()
        .iter()
        .map(|unit| (unit["host"].as_str().unwrap(), count(unit) / count(&one)))
        .collect();
    assert_eq!(units, [("a", 2), ("b", 1), ("c", 1)]);
    assert_eq!(names(folder.path()), ["a.json", "a2.json", "b.json", "c.json", "f.json"]);
}

#[test]
fn the_same_fleet_by_every_way() {
    let folder = folder();
    let json = |arguments: &[&str]| {
        let output = merge(folder.path(), &[arguments, &["-o", "-"]].concat());
        fleet(printed(&output));
        printed(&output).to_owned()
    };
    let whole = json(&["a.json", "a2.json", "b.json", "c.json"]);
    assert_eq!(json(&["."]), whole, "a folder");
    assert_eq!(json(&["c.json", "a2.json", "b.json", "a.json"]), whole, "another order");
    printed(&merge(folder.path(), &["c.json", "a.json", "-o", "f"]));
    assert_eq!(json(&["b.json", "f", "a2.json"]), whole, "a fleet and recordings");
    // A fleet may be replaced by what it is merged into.
    printed(&merge(folder.path(), &["f", "b.json", "a2.json", "-o", "f"]));
    assert_eq!(fs::read_to_string(folder.path().join("f")).unwrap(), whole, "in place");
    let output = crate::tool()
        .current_dir(folder.path())
        .args(["merge", "-", "a2.json", "b.json", "c.json", "-o", "-"])
        .write_stdin(fs::read_to_string(folder.path().join("a.json")).unwrap())
        .output()
        .unwrap();
    assert_eq!(printed(&output), whole, "standard input");
}

#[test]
fn without_output_the_report_is_printed() {
    let folder = folder();
    let output = merge(folder.path(), &["."]);
    let report = printed(&output);
    for part in ["fleet: 4 recordings of 3 hosts", "\nirqs_off: ", "\nhosts: by p99", "\ndiffers: "] {
        assert!(report.contains(part), "{part} is not in {report}");
    }
    assert_eq!(names(folder.path()).len(), 4, "nothing is written");
}

#[test]
fn an_outlier_is_named() {
    let folder = folder();
    // A power of two more of everything: 64 slots further up.
    write(folder.path(), "slow", |json| {
        json["provenance"]["host"] = json!("slow");
        json["intervals"] = json!([]);
        let hold = &mut json["totals"]["metrics"]["lock_hold"];
        for key in ["sum", "min", "max"] {
            hold[key] = json!(hold[key].as_u64().unwrap() * 16);
        }
        for slot in hold["slots"].as_array_mut().unwrap() {
            slot[0] = json!(slot[0].as_u64().unwrap() + 64);
        }
    });
    let output = merge(folder.path(), &[".", "-o", "f.json"]);
    assert!(printed(&output).contains("\noutliers: slow in lock_hold; the score"), "{output:?}");
}

#[test]
fn what_counts_twice_is_refused() {
    let folder = folder();
    let refused = |arguments: &[&str]| refusal(&merge(folder.path(), arguments));
    let which = "that of a started 2026-01-02T03:04:10Z";
    let line = refused(&["a.json", "./a.json"]);
    assert_eq!(line, format!("a.json and ./a.json have the same recording: {which}"));
    assert!(refused(&["a.json", "a.json"]).starts_with("a.json is named twice"));
    fs::copy(folder.path().join("a.json"), folder.path().join("copy")).unwrap();
    assert!(refused(&["a.json", "b.json", "copy"]).starts_with("a.json and copy have"));
    // The second time, the folder has the fleet of the first time.
    printed(&merge(folder.path(), &[".", "-o", "f.json"]));
    let before = fs::read_to_string(folder.path().join("f.json")).unwrap();
    let line = refused(&[".", "-o", "f.json"]);
    assert_eq!(line, format!("./a.json and ./f.json have the same recording: {which}"));
    assert_eq!(fs::read_to_string(folder.path().join("f.json")).unwrap(), before);
    assert_eq!(refused(&["-", "-"]), "- is named twice, but there is only one standard input");
}

#[test]
fn other_metrics_are_refused_or_left_out() {
    let folder = folder();
    write(folder.path(), "old", |json| {
        json["provenance"]["host"] = json!("old");
        json["intervals"] = json!([]);
        for metric in ["cpu_lock_wait", "cpu_lock_hold"] {
            json["totals"]["metrics"].as_object_mut().unwrap().remove(metric).unwrap();
            json["provenance"]["metrics"][metric] = json!({"basis": null, "unavailable": "no hooks"});
        }
    });
    assert_eq!(
        refusal(&merge(folder.path(), &["a.json", "old.json"])),
        "old.json lacks cpu_lock_wait, cpu_lock_hold, which a.json has (no hooks); --only \
         irqs_off,lock_wait,lock_hold,flush sums what both have"
    );
    let output = merge(folder.path(), &["a.json", "old.json", "--only", "irqs_off,lock_hold", "-o", "-"]);
    let json = fleet(printed(&output));
    let metrics: Vec<&String> = json["totals"]["metrics"].as_object().unwrap().keys().collect();
    assert_eq!(metrics, ["irqs_off", "lock_hold"]);
    let line = refusal(&merge(folder.path(), &["a.json", "old.json", "--only", "cpu_lock_wait"]));
    assert_eq!(line, "old.json lacks cpu_lock_wait, which --only names (no hooks)");
    let output = merge(folder.path(), &["a.json", "--only", "jitter"]);
    let stderr = text(&output.stderr);
    assert!(output.status.code() == Some(2) && stderr.contains("the metrics are irqs_off, "), "{stderr}");
}

#[test]
fn overlaps_are_warned_of() {
    let folder = folder();
    write(folder.path(), "twin", |json| {
        json["provenance"]["host"] = json!("a");
        json["provenance"]["started"] = json!("2026-01-02T03:04:11Z");
    });
    let output = merge(folder.path(), &["a.json", "twin.json", "-o", "f.json"]);
    let stderr = text(&output.stderr);
    assert_eq!((output.status.code(), stderr.lines().count()), (Some(0), 1), "{output:?}");
    assert!(stderr.starts_with("warning: a: 2 of its 2 recordings overlap in time"), "{stderr}");
}

#[test]
fn what_is_no_recording_is_named() {
    let folder = folder();
    let refused = |name: &str| refusal(&merge(folder.path(), &["a.json", name, "-o", "f.json"]));
    assert_eq!(refused("missing.json"), "cannot read missing.json: No such file or directory (os error 2)");
    fs::create_dir(folder.path().join("empty")).unwrap();
    fs::write(folder.path().join("empty/.hidden.json"), "{").unwrap();
    fs::write(folder.path().join("empty/notes.txt"), "{").unwrap();
    assert_eq!(refused("empty"), "empty: there is no *.json in this folder");
    for (content, line) in [
        ("", "not JSON: EOF while parsing"),
        ("hello", "not JSON: expected value at line 1 column 1"),
        ("[]", "no rstat-probe recording or fleet: not a JSON object"),
        ("{}", "no rstat-probe recording or fleet: there is no \"schema\": \"rstat-probe/recording/1\" or "),
        (r#"{"schema":"rstat-probe/fleet/2"}"#, "fleet schema rstat-probe/fleet/2 is newer than"),
        (r#"{"schema":"rstat-probe/fleet/1"}"#, "damaged fleet: missing field `"),
        (r#"{"schema":"rstat-probe/recording/1"}"#, "damaged recording: missing field `"),
    ] {
        fs::write(folder.path().join("x"), content).unwrap();
        let found = refused("x");
        assert!(found.starts_with(&format!("x: {line}")), "{found}\nis not\n{line}");
    }
    printed(&merge(folder.path(), &["a.json", "b.json", "-o", "good"]));
    let mut json = fleet(&fs::read_to_string(folder.path().join("good")).unwrap());
    json["totals"]["counters"]["sections"] = json!(1);
    fs::write(folder.path().join("x"), json.to_string()).unwrap();
    let line = refusal(&merge(folder.path(), &["c.json", "x"]));
    assert_eq!(line, "x: damaged fleet: totals and units differ in sections");
    assert!(!folder.path().join("f.json").exists());
}

/// `compare` takes them, and so people try.
#[test]
fn parts_of_files_are_refused() {
    for argument in ["a.json:flush", "old=a.json", "-:flush"] {
        let line = refusal(&merge(folder().path(), &["b.json", argument]));
        assert!(line.contains("can only be merged as a whole"), "{argument}: {line}");
    }
}

/// Before anything is read: the inputs do not even exist.
#[test]
fn places_that_cannot_be_written() {
    let folder = folder();
    fs::create_dir(folder.path().join("folder")).unwrap();
    for (place, reason) in [
        ("missing/f.json", "the folder missing does not exist; create it first"),
        ("folder", "is a folder; name a file in it"),
        ("new/", "is a folder; name a file in it"),
        ("a.json/f.json", "a.json is not a folder"),
    ] {
        let line = refusal(&merge(folder.path(), &["missing.json", "-o", place]));
        assert_eq!(line, format!("-o {place}: nothing was merged: {reason}"));
    }
}

#[test]
fn links_stay_and_devices_are_written_to() {
    let folder = folder();
    symlink("f.json", folder.path().join("link")).unwrap();
    printed(&merge(folder.path(), &["a.json", "-o", "link"]));
    assert!(folder.path().join("link").is_symlink() && folder.path().join("f.json").is_file());
    let output = merge(folder.path(), &["a.json", "-o", "/dev/full"]);
    let line = refusal(&output);
    assert_eq!(line, "cannot write /dev/full: No space left on device (os error 28)");
    printed(&merge(folder.path(), &["a.json", "-o", "/dev/null"]));
}

#[test]
fn nobody_reads() {
    let folder = folder();
    for arguments in [&["."][..], &[".", "-o", "-"], &[".", "-o", "f"]] {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let output = Command::new(env!("CARGO_BIN_EXE_rstat-probe"))
            .current_dir(folder.path())
            .arg("merge")
            .args(arguments)
            .stdout(writer)
            .output()
            .unwrap();
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), ""), "{arguments:?}");
    }
    fleet(&fs::read_to_string(folder.path().join("f")).unwrap());
    let mut full = fs::File::options().write(true).open("/dev/full").unwrap();
    assert!(full.write_all(b"x").is_err());
    let output = Command::new(env!("CARGO_BIN_EXE_rstat-probe"))
        .current_dir(folder.path())
        .args(["merge", "a.json", "-o", "-"])
        .stdout(full)
        .output()
        .unwrap();
    assert!(crate::error_line(&output).contains("No space left on device"), "{output:?}");
}
