//! The public samples in `tests/corpus`, compared with their right values. What is special about
//! single ones is in the tests of the importers.

use std::{fs, path::PathBuf};

use serde_json::{Map, Value};

use super::{Imported, import};

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/corpus")
}

/// The text of sample `id`, with its file name.
pub(super) fn sample(id: &str) -> (String, String) {
    let entries = fs::read_dir(folder().join("samples")).unwrap();
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| name.starts_with(&format!("{id}-")));
    assert_eq!(names.len(), 1, "samples of {id}: {names:?}");
    let text = fs::read_to_string(folder().join("samples").join(&names[0])).unwrap();
    (text, names.remove(0))
}

/// The right values of sample `id`.
pub(super) fn expected(id: &str) -> Value {
    let path = folder().join("expected").join(format!("{id}.json"));
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

/// Reads sample `id`.
pub(super) fn imported(id: &str) -> Imported {
    let (text, name) = sample(id);
    import(&text, &name).unwrap_or_else(|error| panic!("{id}: {error}"))
}

/// Compares the histograms of sample `id`, bucket for bucket, with names, units, totals and sums.
fn assert_histograms(id: &str) {
    let imported = imported(id);
    let expected = expected(id);
    let right = expected["histograms"].as_array().unwrap();
    let names = |values: Vec<&str>| values.join("\n");
    assert_eq!(
        names(imported.histograms.iter().map(|histogram| histogram.name.as_str()).collect()),
        names(right.iter().map(|histogram| histogram["name"].as_str().unwrap_or("")).collect()),
        "{id}: names"
    );
    for (histogram, right) in imported.histograms.iter().zip(right) {
        let ours = serde_json::to_value(histogram).unwrap();
        let name = &histogram.name;
        assert_eq!(ours["unit"], right["unit"], "{id}: unit of {name}");
        assert_same(&ours["buckets"], &right["buckets"], &format!("{id}: buckets of {name}"));
        assert_eq!(ours["total"], right["total"], "{id}: total of {name}");
        if let Some(sum) = right.get("sum").filter(|sum| !sum.is_null()) {
            assert_same(&ours["sum"], sum, &format!("{id}: sum of {name}"));
        }
    }
}

/// Compares the rows of sample `id` in the fields that the right rows have.
fn assert_rows(id: &str) {
    let imported = imported(id);
    let expected = expected(id);
    let right = expected["rows"].as_array().unwrap();
    assert_eq!(imported.rows.len(), right.len(), "{id}: number of rows");
    for (index, (row, right)) in imported.rows.iter().zip(right).enumerate() {
        assert_contains(row, right.as_object().unwrap(), &format!("{id}: row {index}"));
    }
}

/// Compares the scalars of sample `id` that are expected.
fn assert_scalars(id: &str) {
    let imported = imported(id);
    let expected = expected(id);
    assert_contains(&imported.scalars, expected["scalars"].as_object().unwrap(), &format!("{id}: scalars"));
}

/// A value for each field of `right`, and the same.
fn assert_contains(ours: &Map<String, Value>, right: &Map<String, Value>, what: &str) {
    for (key, value) in right {
        let found = ours.get(key).unwrap_or_else(|| panic!("{what}: no {key} in {ours:?}"));
        assert_same(found, value, &format!("{what}: {key}"));
    }
}

/// Equal, where 1 and 1.0 are and the last digits of a fraction are not compared.
pub(super) fn assert_same(ours: &Value, right: &Value, what: &str) {
    match (ours, right) {
        (Value::Number(a), Value::Number(b)) if a != b => {
            let (a, b) = (a.as_f64().unwrap(), b.as_f64().unwrap());
            assert!((a - b).abs() <= 1e-12 * b.abs(), "{what}: {a} is not {b}");
        }
        (Value::Array(a), Value::Array(b)) => {
            assert_eq!(a.len(), b.len(), "{what}: length");
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                assert_same(a, b, &format!("{what}[{index}]"));
            }
        }
        (Value::Object(a), Value::Object(b)) => assert_contains(a, b, what),
        _ => assert_eq!(ours, right, "{what}"),
    }
}

/// Parts of expected values that ours differ from on purpose: sample, part, reason.
const OTHERWISE: &[(&str, &str, &str)] = &[
    ("73", "histograms", "the name is that of its file in another project"),
    ("S1", "histograms", "the name is without the @ there, and with it for the same text in 01"),
    ("S2", "histograms", "as S1"),
    ("67", "scalars", "the true unit is what the text does not say"),
];

#[test]
fn all_samples_give_their_right_values() {
    let files = fs::read_dir(folder().join("expected")).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut ids: Vec<String> = names.map(|name| name.trim_end_matches(".json").to_owned()).collect();
    ids.sort();
    assert!(ids.len() > 60);
    // The last is about two samples, and statistics.
    for id in ids.iter().map(String::as_str).filter(|id| *id != "S6-S7") {
        let right = expected(id);
        let compared = |part: &str| {
            right.get(part).is_some_and(|part| !part.is_null())
                && !OTHERWISE.iter().any(|(sample, other, _)| *sample == id && *other == part)
        };
        if compared("histograms") {
            assert_histograms(id);
        }
        if compared("rows") {
            assert_rows(id);
        }
        if compared("scalars") {
            assert_scalars(id);
        }
        // Those of the references have names of their own, and quotes are no format here.
        let format = right["format"].as_str().unwrap().trim_end_matches("-quoted");
        let ours = imported(id).format;
        let same = ours == format || (format == "bcc-hist-perkey" && ours == "bcc-hist");
        assert!(same || id.starts_with('S') || id == "69", "{id}: {ours}, right is {format}");
    }
}
