//! The public samples in `tests/corpus`, compared with their right values.

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
pub(super) fn assert_histograms(id: &str) {
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
pub(super) fn assert_rows(id: &str) {
    let imported = imported(id);
    let expected = expected(id);
    let right = expected["rows"].as_array().unwrap();
    assert_eq!(imported.rows.len(), right.len(), "{id}: number of rows");
    for (index, (row, right)) in imported.rows.iter().zip(right).enumerate() {
        assert_contains(row, right.as_object().unwrap(), &format!("{id}: row {index}"));
    }
}

/// Compares the scalars of sample `id` that are expected.
pub(super) fn assert_scalars(id: &str) {
    let imported = imported(id);
    let expected = expected(id);
    assert_contains(&imported.scalars, expected["scalars"].as_object().unwrap(), &format!("{id}: scalars"));
}

/// A value for each field of `right`, and the same.
pub(super) fn assert_contains(ours: &Map<String, Value>, right: &Map<String, Value>, what: &str) {
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

/// No prefix and no damaged copy of sample `id` makes the importers panic.
pub(super) fn assert_no_panic(id: &str) {
    let (text, name) = sample(id);
    let lines: Vec<&str> = text.lines().collect();
    for cut in 0..lines.len() {
        // Errors are fine here, panics are not.
        let _ = import(&lines[..cut].join("\n"), &name);
        let without: Vec<&str> =
            lines.iter().enumerate().filter(|(index, _)| *index != cut).map(|(_, line)| *line).collect();
        let _ = import(&without.join("\n"), &name);
    }
    for step in [7, 13, 31] {
        let damaged: String = text
            .chars()
            .enumerate()
            .map(|(index, c)| {
                if index % step == step - 1 {
                    char::from(b'!' + u8::try_from(index % 90).unwrap())
                } else {
                    c
                }
            })
            .collect();
        let _ = import(&damaged, &name);
    }
}
