//! Input that is no fleet, or one that was damaged: one clear line, and never a panic.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

/// What reading the sample says after `damage` was done to it.
fn damaged(damage: impl FnOnce(&mut Value)) -> String {
    let mut json = serde_json::to_value(sample()).unwrap();
    damage(&mut json);
    let error = read(&json.to_string()).unwrap_err().to_string();
    assert!(!error.contains('\n'), "{error}");
    error.strip_prefix("f.json: ").unwrap().to_owned()
}

#[test]
fn other_things_are_named_as_such() {
    let error = |text: &str| read(text).unwrap_err().to_string();
    assert_eq!(error("{"), "f.json: not JSON: EOF while parsing an object at line 1 column 1");
    assert_eq!(error("{}"), "f.json: no rstat-probe fleet: there is no \"schema\": \"rstat-probe/fleet/1\"");
    assert_eq!(
        error(r#"{"schema":"rstat-probe/recording/1"}"#),
        "f.json: no rstat-probe fleet: its schema is \"rstat-probe/recording/1\", not \"rstat-probe/fleet/1\""
    );
    assert_eq!(
        error(r#"{"schema":"rstat-probe/fleet/2"}"#),
        "f.json: fleet schema rstat-probe/fleet/2 is newer than this rstat-probe reads \
         (rstat-probe/fleet/1); update rstat-probe"
    );
    let either = |text: &str| Document::read(text.as_bytes(), "f.json").unwrap_err().to_string();
    assert_eq!(
        either(r#"{"schema":"x"}"#),
        "f.json: no rstat-probe recording or fleet: its schema is \"x\", not \"rstat-probe/recording/1\" or \
         \"rstat-probe/fleet/1\""
    );
    assert!(either(r#"{"schema":"rstat-probe/fleet/9"}"#).starts_with("f.json: fleet schema"));
    assert!(either(r#"{"schema":"rstat-probe/recording/9"}"#).starts_with("f.json: recording schema"));
    assert!(
        either(r#"{"schema":"rstat-probe/fleet/1"}"#).starts_with("f.json: damaged fleet: missing field")
    );
}

#[test]
fn faulty_fields_are_named() {
    let missing = damaged(|json| drop(json.as_object_mut().unwrap().remove("units")));
    assert!(missing.starts_with("damaged fleet: missing field `units` at line 1"), "{missing}");
    let count = damaged(|json| json["units"][1]["totals"]["metrics"]["flush"]["count"] = json!(1));
    assert!(count.starts_with("damaged fleet: flush: count is 1, but"), "{count}");
    let fact = damaged(|json| json["facts"]["weather"] = json!(["fair"]));
    assert!(fact.contains("unknown variant `weather`"), "{fact}");
}

#[test]
fn what_contradicts_is_named() {
    type Damage = fn(&mut Value);
    for (damage, expected) in [
        ((|json| json["recordings"] = json!(7)) as Damage, "totals and units differ in recordings"),
        (|json| json["duration_ns"] = json!(7), "totals and units differ in duration_ns"),
        (|json| json["totals"]["counters"]["yields"] = json!(7), "totals and units differ in yields"),
        (|json| json["losses"]["task_mismatch"] = json!(7), "totals and units differ in task_mismatch"),
        (|json| json["units"][0]["losses"]["task_mismatch"] = json!(7), "totals and units differ in task_m"),
        (|json| json["open"]["at_end"] = json!(7), "totals and units differ in open"),
        (|json| json["facts"]["machine"] = json!(["x"]), "totals and units differ in facts"),
        (
            |json| {
                json["totals"]["metrics"]["flush"] = json["units"][0]["totals"]["metrics"]["flush"].clone();
            },
            "totals and units differ in flush",
        ),
        (
            |json| drop(json["totals"]["metrics"].as_object_mut().unwrap().remove("flush")),
            "totals and units differ in flush",
        ),
        (
            |json| drop(json["units"][2]["totals"]["metrics"].as_object_mut().unwrap().remove("flush")),
            "some units have flush, others lack it",
        ),
        (|json| json["units"] = json!([]), "there are no units"),
        (|json| json["units"][4]["recordings"] = json!(1), "unit 4: recordings is 1, but there are 2 runs"),
        (|json| json["units"][4]["duration_ns"] = json!(1), "unit 4: duration_ns is 1, but the runs have 50"),
        (|json| json["units"][4]["runs"] = json!([]), "unit 4: a host with 0 runs"),
        (
            |json| json["units"][4]["started"] = json!("2026-01-02T03:04:07.5Z"),
            "unit 4: units and runs have to be in order, each once",
        ),
        (
            |json| json["units"][4]["runs"].as_array_mut().unwrap().reverse(),
            "unit 4: units and runs have to be in order, each once",
        ),
        (
            |json| json["units"].as_array_mut().unwrap().swap(0, 1),
            "unit 0: units and runs have to be in order, each once",
        ),
        (
            |json| {
                let run = json["units"][4]["runs"][0].clone();
                json["units"][4]["runs"][1] = run;
            },
            "the recording of web-4 started 2026-01-02T03:04:05.5Z is in it twice",
        ),
        (|json| json["unit"] = json!("run"), "unit 4: a run with 2 runs"),
        (
            |json| json["units"].as_array_mut().unwrap().truncate(1),
            "the units have to be hosts when there are several, and else runs",
        ),
        (
            |json| {
                for unit in [0, 1] {
                    json["units"][unit]["totals"]["counters"]["sections"] = json!(u64::MAX);
                }
            },
            "the units' sections is more than 2^64 - 1",
        ),
    ] {
        let found = damaged(damage);
        assert!(found.starts_with(&format!("damaged fleet: {expected}")), "{found}\nis not\n{expected}");
    }
}

/// They follow from the units, so that a file cannot lie about them.
#[test]
fn outliers_and_warnings_are_derived_anew() {
    let mut json = serde_json::to_value(sample()).unwrap();
    json["outliers"][0]["farthest"]["host"] = json!("innocent");
    json["warnings"] = json!([]);
    json["novelty"] = json!({"is": "skipped"});
    assert_eq!(read(&json.to_string()).unwrap(), sample());
}

#[test]
fn every_truncation_is_an_error() {
    let text = written(&sample());
    for length in (0..text.len() - "}\n".len()).step_by(7) {
        let error = Fleet::read(&text.as_bytes()[..length], "f.json").unwrap_err();
        assert!(matches!(error, ReadError::Syntax { .. }), "{length}: {error}");
    }
}

proptest! {
    #[test]
    fn any_byte_may_be_wrong(position in any::<proptest::sample::Index>(), byte: u8) {
        let mut text = written(&sample()).into_bytes();
        let position = position.index(text.len());
        text[position] = byte;
        // Right or wrong, but no panic, and no error that breaks the line.
        if let Err(error) = Fleet::read(&text[..], "f.json") {
            prop_assert!(!error.to_string().contains('\n'));
        }
    }
}
