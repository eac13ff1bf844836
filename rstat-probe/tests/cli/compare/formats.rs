//! Text, markdown and JSON of one comparison.

use std::path::Path;

use tempfile::TempDir;

use super::{compare, json, made, report, sample, save};

/// Columns of a mail.
const WIDTH: usize = 72;

fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    save(folder.path(), "a.json", &made(1, 100));
    save(folder.path(), "b.json", &made(2, 130));
    folder
}

#[test]
fn the_same_seed_gives_the_same_bytes() {
    let folder = folder();
    for format in ["text", "markdown", "json"] {
        let of = |seed: &str| {
            let arguments = ["a.json", "--with", "b.json", "--format", format, "--seed", seed];
            report(&compare(folder.path(), arguments), 1).to_owned()
        };
        assert_eq!(of("7"), of("7"), "{format}");
        assert_ne!(of("7"), of("8"), "{format}");
    }
}

/// Each line fits into a mail, but where a name or a number is longer than that.
#[test]
fn text_is_narrow() {
    let folder = folder();
    let pairs = [("S2", "S1"), ("S6", "S7"), ("16", "S6"), ("39", "39"), ("35", "35"), ("S4", "43")];
    let samples =
        pairs.map(|(left, right)| [sample(left), sample(right)].map(|path| path.display().to_string()));
    let own = [["a.json".to_owned(), "b.json".to_owned()]];
    for [left, right] in own.iter().chain(&samples) {
        let output = compare(folder.path(), [left, "--with", right]);
        let report = report(&output, output.status.code().unwrap());
        for line in report.lines() {
            let long_word = line.split_whitespace().any(|word| word.len() > WIDTH - 20);
            assert!(line.chars().count() <= WIDTH || long_word, "{left}: {line}");
            assert_eq!(line, line.trim_end(), "{left}");
        }
    }
}

#[test]
fn markdown_has_a_table_for_each_measure() {
    let folder = folder();
    let output = compare(folder.path(), ["a.json", "--with", "b.json", "--format", "markdown"]);
    let report = report(&output, 1);
    assert!(report.starts_with("- **verdict**: worse\n"), "{report}");
    for name in ["irqs\\_off", "lock\\_hold", "flush"] {
        assert!(report.contains(&format!("\n### {name}: ")), "{name} is not in {report}");
    }
    let tables = report.lines().filter(|line| line.starts_with("|:---|")).count();
    assert_eq!(tables, 3, "{report}");
    assert_eq!(report.lines().filter(|line| *line == "```").count(), 6, "{report}");
}

#[test]
fn json_has_all_of_it() {
    let folder = folder();
    let output =
        compare(folder.path(), ["a.json", "--with", "b.json", "--format", "json", "--confidence", "90%"]);
    let json = json(&output, 1);
    assert_eq!((&json["options"]["confidence"], &json["options"]["seed"]), (&0.9.into(), &1.into()));
    for field in ["baseline", "candidate", "differences", "measures", "rules", "verdict"] {
        assert!(!json[field].is_null(), "{field}");
    }
    let irqs_off = &json["measures"][0];
    for field in ["figures", "buckets", "tests", "rank_test", "probability_greater", "ks_distance", "verdict"]
    {
        assert!(!irqs_off[field].is_null(), "{field} of {irqs_off:#}");
    }
    let sum = |side: &str| -> u64 {
        irqs_off["buckets"].as_array().unwrap().iter().map(|bucket| bucket[side].as_u64().unwrap()).sum()
    };
    assert_eq!(serde_json::json!([sum("baseline"), sum("candidate")]), irqs_off["events"]);
}

#[test]
fn thresholds_and_measures_are_picked() {
    let folder = folder();
    let arguments = ["a.json", "--with", "b.json", "--only", "flush,irqs_off", "--above", "2us,100us"];
    let output = compare(folder.path(), arguments);
    let report = report(&output, 1);
    assert_eq!(report.matches("\nmeasure: ").count(), 2, "{report}");
    let rows: Vec<&str> = report.lines().filter(|line| line.starts_with(">= ")).collect();
    assert_eq!(rows.len(), 4, "{report}");
}

/// Names from files steer neither the terminal nor the markup.
#[test]
fn hostile_names() {
    let folder = tempfile::tempdir().unwrap();
    let text = "@a[\u{1b}[31mx|`y`<b>]:\n[1, 2)  3 |@@|\n[2, 4)  5 |@@|\n";
    std::fs::write(folder.path().join("m.txt"), text).unwrap();
    for format in ["text", "markdown", "json"] {
        let arguments = ["\u{1b}[1m=m.txt", "--with", "m.txt", "--unit", "us", "--format", format];
        let output = compare(Path::new(folder.path()), arguments);
        let report = report(&output, 3);
        assert!(!report.contains('\u{1b}'), "{}", report.escape_debug());
        assert!(format != "markdown" || !report.contains("<b>"), "{report}");
    }
}
