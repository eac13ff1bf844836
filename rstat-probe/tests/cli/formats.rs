//! `show` of recordings that are in order: what programs read, several files, closed pipes.

use std::{
    collections::BTreeMap,
    io::{self, BufRead as _, BufReader, Read as _},
    process::{Command, Stdio},
};

use rstat_probe_report::recording::RECORDING_SCHEMA;
use serde_json::Value;

use crate::{recording, text};

const RECORDINGS: [&str; 2] = ["storm.json", "idle.json"];

fn path(name: &str) -> String {
    format!("tests/fixtures/recordings/{name}")
}

/// What `show` prints of `files`.
#[track_caller]
fn show(format: &str, files: &[&str]) -> String {
    let mut command = crate::tool();
    command.args(["show", "--format", format]).args(files.iter().map(|name| path(name)));
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(text(&output.stderr), "");
    text(&output.stdout).to_owned()
}

/// Count of every metric in the totals.
fn counts(name: &str) -> BTreeMap<String, u64> {
    let json: Value = serde_json::from_str(&recording(name)).unwrap();
    let metrics = json["totals"]["metrics"].as_object().unwrap();
    metrics.iter().map(|(metric, histogram)| (metric.clone(), histogram["count"].as_u64().unwrap())).collect()
}

#[test]
fn fixtures_follow_the_schema() {
    let schema: Value = serde_json::from_str(RECORDING_SCHEMA).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    for name in RECORDINGS {
        let mut json: Value = serde_json::from_str(&recording(name)).unwrap();
        let faults: Vec<String> = validator.iter_errors(&json).map(|error| error.to_string()).collect();
        assert_eq!(faults, Vec::<String>::new(), "{name}");
        json["duration_ns"] = Value::from("long");
        assert!(!validator.is_valid(&json), "the schema accepts anything");
    }
}

/// The fixtures say nothing about the machine they were made on.
#[test]
fn fixtures_are_neutral() {
    for name in RECORDINGS {
        let text = recording(name);
        for trace in ["/home/", "/work/", "/root/", "/tmp/"] {
            assert!(!text.contains(trace), "{trace} in {name}");
        }
        let json: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(json["provenance"]["host"], "node1", "{name}");
    }
}

#[test]
fn json() {
    for name in RECORDINGS {
        let view: Value = serde_json::from_str(&show("json", &[name])).unwrap();
        assert_eq!(view["format"], "rstat-probe");
        assert!(view["rows"].is_array() && view["warnings"].is_array());
        let scalars = view["scalars"].as_object().unwrap();
        assert_eq!(scalars["host"], "node1");
        assert!(scalars.contains_key("sections") && scalars.contains_key("duration_ns"));
        let histograms = view["histograms"].as_array().unwrap();
        let totals: BTreeMap<String, u64> = histograms
            .iter()
            .map(|histogram| {
                let buckets = histogram["buckets"].as_array().unwrap();
                let sum: u64 = buckets.iter().map(|bucket| bucket[2].as_u64().unwrap()).sum();
                assert_eq!(histogram["total"].as_u64(), Some(sum), "{name}: {}", histogram["name"]);
                (histogram["name"].as_str().unwrap().to_owned(), sum)
            })
            .collect();
        assert_eq!(totals, counts(name), "{name}");
    }
}

#[test]
fn csv() {
    for name in RECORDINGS {
        let csv = show("csv", &[name]);
        let mut rows = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let header = rows.next().unwrap();
        let column = |name| header.iter().position(|column| *column == name).unwrap();
        let (metric, interval, count) = (column("metric"), column("interval"), column("count"));
        let (mut totals, mut parts) = (BTreeMap::new(), BTreeMap::new());
        for row in rows {
            assert_eq!(row.len(), header.len(), "{name}: {row:?}");
            let sums = if row[interval] == "total" { &mut totals } else { &mut parts };
            *sums.entry(row[metric].to_owned()).or_insert(0) += row[count].parse::<u64>().unwrap();
        }
        assert_eq!(totals, counts(name), "{name}");
        assert_eq!(parts, totals, "{name}: intervals and totals");
    }
}

#[test]
fn several_files() {
    let [storm, idle] = RECORDINGS.map(|name| show("text", &[name]));
    assert_eq!(show("text", &RECORDINGS), format!("{storm}\n{idle}"));

    let objects = show("json", &RECORDINGS);
    let objects: Vec<Value> =
        serde_json::Deserializer::from_str(&objects).into_iter().collect::<Result<_, _>>().unwrap();
    assert_eq!(objects.len(), 2);
    assert_eq!(objects[0], serde_json::from_str::<Value>(&show("json", &["storm.json"])).unwrap());

    // One table after the other, each with its header: rows do not name their file.
    let [storm, idle] = RECORDINGS.map(|name| show("csv", &[name]));
    assert_eq!(show("csv", &RECORDINGS), storm + &idle);
}

#[test]
fn standard_input() {
    for format in ["text", "json", "csv"] {
        let output = crate::tool()
            .args(["show", "--format", format, "-"])
            .write_stdin(recording("storm.json"))
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert_eq!(text(&output.stdout), show(format, &["storm.json"]));
    }
}

/// `show ... | head -1`, with more to print than a pipe takes.
#[test]
fn a_reader_that_leaves() {
    for format in ["text", "json", "csv"] {
        let mut child = Command::new(env!("CARGO_BIN_EXE_rstat-probe"))
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .args(["show", "--format", format])
            .args(std::iter::repeat_n(path("storm.json"), 100))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut first = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut first).unwrap();
        assert!(!first.is_empty());
        let mut stderr = String::new();
        child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        assert_eq!(stderr, "", "{format}");
        assert_eq!(child.wait().unwrap().code(), Some(0), "{format}");
    }
}

/// The reader left before the first byte, of `show` and of `check` and of the help.
#[test]
fn nobody_reads() {
    let (storm, kernel) = (path("storm.json"), "tests/fixtures/kernels/6.12.118-cloud-amd64");
    for arguments in [&["show", storm.as_str()][..], &["check", "--root", kernel], &["run", "--help"]] {
        let (reader, writer) = io::pipe().unwrap();
        drop(reader);
        let output = Command::new(env!("CARGO_BIN_EXE_rstat-probe"))
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .args(arguments)
            .stdout(writer)
            .output()
            .unwrap();
        assert_eq!(text(&output.stderr), "", "{arguments:?}");
        assert_eq!(output.status.code(), Some(0), "{arguments:?}");
    }
}

/// A full disk under `show > file` is an error, not a short file.
#[test]
fn a_full_disk() {
    for format in ["text", "json", "csv"] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = Command::new(env!("CARGO_BIN_EXE_rstat-probe"))
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .args(["show", "--format", format])
            .arg(path("storm.json"))
            .stdout(full)
            .output()
            .unwrap();
        assert!(crate::error_line(&output).contains("No space left on device"), "{output:?}");
    }
}
