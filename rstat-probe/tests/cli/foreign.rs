//! `show` of what other tools print: every sample of the corpus, in every format.

use std::{fs, path::Path};

use serde_json::Value;

/// perf trace and perf sched: tables of times by task, which have no home here yet.
const REFUSED: [&str; 3] = ["81-", "83-", "84-"];

#[test]
fn every_sample_is_shown_or_refused_in_one_line() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../rstat-probe-report/tests/corpus/samples");
    let mut shown = 0;
    let mut refused = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        let output = crate::tool().args(["show", "--format", "json"]).arg(&path).output().unwrap();
        if output.status.code() == Some(2) {
            assert_eq!(String::from_utf8(output.stderr).unwrap().lines().count(), 1, "{name}");
            refused.push(name);
            continue;
        }
        assert_eq!(output.status.code(), Some(0), "{name}: {output:?}");
        let json: Value = serde_json::from_slice(&output.stdout).unwrap();
        for field in ["format", "histograms", "rows", "scalars", "warnings"] {
            assert!(json.get(field).is_some(), "{name}: {field}");
        }
        for format in ["text", "csv"] {
            crate::tool().args(["show", "--format", format]).arg(&path).assert().success();
        }
        shown += 1;
    }
    assert!(shown > 50, "{shown}");
    for name in &refused {
        assert!(REFUSED.iter().any(|id| name.starts_with(id)), "{name} is refused");
    }
}

#[test]
fn the_published_pair_has_its_totals() {
    for (sample, total) in
        [("S1-rstat-6.6-patched-mail.txt", 1_593_864), ("S2-rstat-6.6-normal-mail.txt", 3_356_044)]
    {
        let path = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../rstat-probe-report/tests/corpus/samples")
            .join(sample);
        let output = crate::tool().args(["show", "--format", "json"]).arg(&path).output().unwrap();
        let json: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(json["histograms"][0]["total"], total, "{sample}");
        assert_eq!(json["histograms"][0]["unit"], "ns", "{sample}");
    }
}
