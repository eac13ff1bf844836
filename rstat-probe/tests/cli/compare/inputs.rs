//! What `compare` takes: names, labels, folders, standard input, load results, fleets, many files.

use std::{fs, path::Path};

use serde_json::Value;

use super::{compare, json, made, measure, part, report, sample, save};
use crate::{recording, refusal, text};

#[test]
fn names_of_every_shape() {
    let folder = tempfile::tempdir().unwrap();
    let text = "@a[x:1/y]:\n[1, 2)  3 |@@|\n[2, 4)  5 |@@|\n\n@a[b=c]:\n[1, 2)  4 |@@|\n[2, 4)  1 |@@|\n";
    for file in ["m.txt", "m:1.txt", "l=m.txt"] {
        fs::write(folder.path().join(file), text).unwrap();
        for label in ["", "6.6 normal="] {
            let (left, right) = (format!("{label}{file}:@a[x:1/y]"), format!("{label}./{file}:@a[b=c]"));
            let arguments = [&left, "--with", &right, "--unit", "us", "--format", "json"];
            let json = json(&compare(folder.path(), arguments), 3);
            let pair = measure(&json, "@a[x:1/y] / @a[b=c]");
            assert_eq!(pair["events"], serde_json::json!([8, 5]), "{file}");
            let name = if label.is_empty() { file } else { "6.6 normal" };
            assert_eq!(json["baseline"]["label"], name);
        }
    }
    let line = refusal(&compare(folder.path(), ["m.txt:@b", "--with", "m.txt"]));
    assert!(line.contains("@a[x:1/y]") && line.contains("@a[b=c]"), "{line}");
}

#[test]
fn standard_input() {
    let folder = tempfile::tempdir().unwrap();
    save(folder.path(), "a.json", &made(1, 100));
    let stdin = fs::read_to_string(folder.path().join("a.json")).unwrap();
    for (arguments, measures) in [
        (&["-", "--with", "a.json"][..], 3),
        (&["a.json:flush", "--with", "-:flush"], 1),
        (&["now=-:flush", "--with", "a.json:flush"], 1),
    ] {
        let mut command = crate::tool();
        command.current_dir(folder.path()).arg("compare").args(arguments).args([
            "--format",
            "json",
            "--resamples",
            "200",
        ]);
        let json = json(&command.write_stdin(stdin.as_str()).output().unwrap(), 0);
        assert_eq!(json["measures"].as_array().unwrap().len(), measures, "{arguments:?}");
        assert!(
            json.to_string().contains("standard input") != arguments[0].starts_with("now"),
            "{arguments:?}"
        );
    }
}

/// Folders `old` and `new` with six runs each, `new` being slower.
fn runs(folder: &Path) {
    for (name, percent, seed) in [("old", 100, 10), ("new", 130, 20)] {
        fs::create_dir(folder.join(name)).unwrap();
        for run in 0..6 {
            save(&folder.join(name), &format!("{run}.json"), &made(seed + run, percent));
        }
        fs::write(folder.join(name).join("notes.txt"), "not read").unwrap();
    }
}

#[test]
fn runs_are_the_units_of_many_files() {
    let folder = tempfile::tempdir().unwrap();
    runs(folder.path());
    let of = |arguments: &[&str], level: &str, units: [u64; 2]| {
        let arguments = arguments.iter().chain(&["--only", "irqs_off", "--format", "json"]).copied();
        let json = json(&compare(folder.path(), arguments), 1);
        let irqs_off = measure(&json, "irqs_off");
        assert_eq!(
            (irqs_off["level"].as_str(), &irqs_off["units"]),
            (Some(level), &serde_json::json!(units))
        );
        json
    };
    let whole = of(&["6.6=old", "--with", "6.6-patched=new"], "run", [6, 6]);
    let (old, new) = (&whole["baseline"], &whole["candidate"]);
    assert_eq!((&old["label"], &new["label"]), (&"6.6".into(), &"6.6-patched".into()));
    assert_eq!((old["inputs"].as_u64(), new["hosts"].as_u64()), (Some(6), Some(1)));
    let files: Vec<String> = (0..6).map(|run| format!("6.6=old/{run}.json")).collect();
    let mut named: Vec<&str> = files.iter().map(String::as_str).collect();
    named.extend(["--with", "6.6-patched=new"]);
    assert_eq!(of(&named, "run", [6, 6]), whole);
    let intervals = compare(
        folder.path(),
        ["old", "--with", "new", "--only", "irqs_off", "--resample", "interval", "--format", "json"],
    );
    let intervals = json(&intervals, 1);
    assert_eq!(measure(&intervals, "irqs_off")["level"], "interval");
    assert!(measure(&intervals, "irqs_off")["units"][0].as_u64().unwrap() > 6);
}

/// A recording that is named twice would count as two runs.
#[test]
fn copies_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    save(folder.path(), "a.json", &made(1, 100));
    let output = compare(folder.path(), ["a.json", "./a.json", "--with", "a.json", "--only", "flush"]);
    assert_eq!(output.status.code(), Some(2), "{output:?}");
    assert!(text(&output.stderr).contains("a.json and ./a.json are the same recording"), "{output:?}");
}

#[test]
fn hosts_of_a_fleet_are_units() {
    let folder = tempfile::tempdir().unwrap();
    for (fleet, percent) in [("old", 100), ("new", 130)] {
        let mut merge = crate::tool();
        merge.current_dir(folder.path()).args(["merge", "-o", &format!("{fleet}.json")]);
        for host in 0..5 {
            let mut made = made(percent + host, percent);
            made.provenance.host = format!("host{host}");
            save(folder.path(), &format!("{fleet}{host}"), &made);
            merge.arg(format!("{fleet}{host}"));
        }
        merge.assert().success();
    }
    for files in [
        &["old.json", "--with", "new.json"][..],
        &["old.json", "--with", "new0", "new1", "new2", "new3", "new4"],
    ] {
        let arguments = files.iter().chain(&["--format", "json"]).copied();
        let json = json(&compare(folder.path(), arguments), 1);
        let irqs_off = measure(&json, "irqs_off");
        assert_eq!((&irqs_off["level"], &irqs_off["units"]), (&"host".into(), &serde_json::json!([5, 5])));
        assert_eq!(json["candidate"]["hosts"], 5);
    }
}

/// The result of a load alone, and inside a recording.
#[test]
fn loads() {
    let folder = tempfile::tempdir().unwrap();
    let storm: Value = serde_json::from_str(&recording("storm.json")).unwrap();
    fs::write(folder.path().join("load.json"), storm["workload"]["result"].to_string()).unwrap();
    fs::write(folder.path().join("storm.json"), storm.to_string()).unwrap();
    let arguments = ["load.json", "--with", "storm.json", "--format", "json"];
    let both = json(&compare(folder.path(), arguments), 3);
    let (rate, latency) = (measure(&both, "load.accesses_per_second"), measure(&both, "load.latency"));
    assert_eq!((&rate["verdict"]["outcome"], &latency["events"][1]), (&"no_difference".into(), &1853.into()));
    assert_eq!(rate["higher_is_better"], true);
    let arguments = ["load.json:load.latency", "--with", "load.json:load.latency"];
    assert!(report(&compare(folder.path(), arguments), 3).contains("measure: load.latency"));
}

/// Recordings against what bpftrace printed: wide buckets against narrow ones.
#[test]
fn ours_against_theirs() {
    let folder = tempfile::tempdir().unwrap();
    save(folder.path(), "a.json", &made(1, 100));
    let theirs = sample("S1");
    let output = compare(folder.path(), ["a.json:lock_hold", "--with", theirs.to_str().unwrap()]);
    let report = report(&output, 3);
    assert!(report.contains("1,593,864") && report.contains("verdict: worse, unreplicated"), "{report}");
}

#[test]
fn what_has_no_figures_is_refused() {
    let splat = sample("86");
    let line =
        refusal(&compare(Path::new("."), [splat.to_str().unwrap(), "--with", &part("54", "After patch")]));
    assert!(line.contains("there is nothing to compare"), "{line}");
}
