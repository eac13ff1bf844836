//! Input that is no recording, or one that was damaged: one clear line, and never a panic.

use serde_json::{Value, json};

use super::*;

fn error(text: &str) -> String {
    let error = read(text).unwrap_err().to_string();
    assert!(!error.contains('\n'), "{error}");
    error
}

/// What reading the sample says after `damage` was done to it.
fn damaged(damage: impl FnOnce(&mut Value)) -> String {
    let mut json = serde_json::to_value(sample()).unwrap();
    damage(&mut json);
    error(&json.to_string())
}

fn hold(json: &mut Value) -> &mut Value {
    &mut json["intervals"][1]["metrics"]["lock_hold"]
}

#[test]
fn no_json_has_a_place() {
    assert_eq!(error("hello"), "a.json: not JSON: expected value at line 1 column 1");
    assert_eq!(error(""), "a.json: not JSON: EOF while parsing a value at line 1 column 0");
    assert_eq!(error("{\"schema\":\n1,}"), "a.json: not JSON: trailing comma at line 2 column 3");
}

#[test]
fn other_json_is_named_as_such() {
    let schema = "\"rstat-probe/recording/1\"";
    assert_eq!(error("[1]"), "a.json: no rstat-probe recording: not a JSON object");
    assert_eq!(error("{}"), format!("a.json: no rstat-probe recording: there is no \"schema\": {schema}"));
    for other in
        ["\"rstat-probe/load-result/1\"", "7", "\"rstat-probe/recording/0\"", "\"rstat-probe/recording/x\""]
    {
        assert_eq!(
            error(&format!("{{\"schema\":{other}}}")),
            format!("a.json: no rstat-probe recording: its schema is {other}, not {schema}")
        );
    }
}

#[test]
fn later_versions_ask_for_an_update() {
    assert_eq!(
        error(r#"{"format":9,"schema":"rstat-probe/recording/7"}"#),
        "a.json: recording schema rstat-probe/recording/7 is newer than this rstat-probe reads \
         (rstat-probe/recording/1); update rstat-probe"
    );
}

#[test]
fn faulty_fields_are_named() {
    let missing = damaged(|json| drop(json.as_object_mut().unwrap().remove("losses")));
    assert!(missing.starts_with("a.json: damaged recording: missing field `losses` at line 1"), "{missing}");
    let negative = damaged(|json| json["totals"]["counters"]["sections"] = json!(-1));
    assert!(negative.contains("invalid value: integer `-1`, expected u64 at line 1 column"), "{negative}");
    let unknown = damaged(|json| json["losses"]["gremlins"] = json!(1));
    assert!(unknown.contains("unknown cause of loss \"gremlins\" at line 1"), "{unknown}");
}

#[test]
fn faulty_histograms_are_named() {
    for (damage, expected) in [
        (
            (|json| hold(json)["count"] = json!(3)) as fn(&mut Value),
            "interval 1: lock_hold: count is 3, but slots and overflow hold 2",
        ),
        (|json| hold(json)["slots"] = json!([[560, 1]]), "interval 1: lock_hold: slot 560 is out of range"),
        (|json| hold(json)["slots"] = json!([[5, 1], [4, 1]]), "interval 1: lock_hold: slot 4 is out of"),
        (|json| hold(json)["slots"] = json!([[5, 1], [5, 1]]), "interval 1: lock_hold: slot 5 is out of"),
        (|json| hold(json)["slots"] = json!([[5, 0]]), "interval 1: lock_hold: slot 5 is out of"),
        (|json| hold(json)["sum"] = json!(1), "interval 1: lock_hold: sum 1 is outside of"),
        (|json| hold(json)["sum"] = json!("+1"), "interval 1: invalid value: string \"+1\""),
        (|json| hold(json)["sum"] = json!(1.5), "interval 1: invalid type: floating point"),
        (|json| hold(json)["max"] = json!(null), "interval 1: lock_hold: min Some("),
        (|json| hold(json)["overflow"] = json!(u64::MAX), "interval 1: lock_hold: more than 2^64 - 1 events"),
        (
            |json| json["totals"]["metrics"]["flush"]["count"] = json!(1),
            "damaged recording: flush: count is 1, but slots and overflow hold 2",
        ),
    ] {
        let error = damaged(damage);
        assert!(error.contains(expected), "{error}\nlacks\n{expected}");
        assert_eq!(error.matches(" at line ").count(), 1, "{error}");
    }
}

#[test]
fn totals_must_be_the_sum_of_the_intervals() {
    for (damage, name) in [
        ((|json| json["totals"]["counters"]["yields"] = json!(6)) as fn(&mut Value), "yields"),
        (|json| drop(json["totals"]["metrics"].as_object_mut().unwrap().remove("lock_hold")), "lock_hold"),
        (|json| drop(json["intervals"].as_array_mut().unwrap().pop()), "irqs_off"),
    ] {
        let expected = format!("a.json: damaged recording: totals and intervals differ in {name}");
        assert_eq!(damaged(damage), expected);
    }
    let mut undivided = sample();
    undivided.intervals.clear();
    assert_eq!(read(&written(&undivided)).unwrap(), undivided);
    let many = damaged(|json| {
        for interval in [0, 1] {
            json["intervals"][interval]["counters"]["sections"] = json!(u64::MAX);
        }
    });
    assert_eq!(many, "a.json: damaged recording: intervals: sections is more than 2^64 - 1");
}

#[test]
fn every_truncation_is_an_error() {
    let text = written(&sample());
    for length in 0..text.len() - "}\n".len() {
        let error = Recording::read(&text.as_bytes()[..length], "a.json").unwrap_err();
        assert!(matches!(error, RecordingError::Syntax { .. }), "{length}: {error}");
    }
}

#[test]
fn errors_of_the_reader_come_through() {
    struct Broken;
    impl std::io::Read for Broken {
        fn read(&mut self, _: &mut [u8]) -> std::io::Result<usize> {
            Err(std::io::Error::other("cable cut"))
        }
    }
    assert_eq!(Recording::read(Broken, "a.json").unwrap_err().to_string(), "a.json: cable cut");
}

proptest! {
    #[test]
    fn any_byte_may_be_wrong(position in any::<proptest::sample::Index>(), byte: u8) {
        let mut text = written(&sample()).into_bytes();
        let position = position.index(text.len());
        text[position] = byte;
        // Right or wrong, but no panic, and no error that breaks the line.
        if let Err(error) = Recording::read(&text[..], "a.json") {
            prop_assert!(!error.to_string().contains('\n'));
        }
    }
}
