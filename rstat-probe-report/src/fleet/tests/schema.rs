//! The JSON Schema says what the types say.

use jsonschema::Validator;
use serde_json::{Value, json};

use super::*;
use crate::Counter;
use crate::facts::Fact;
use crate::recording::RECORDING_SCHEMA;
use crate::recording::tests::schema::{complaints, places};

fn validator() -> Validator {
    let schema: Value = serde_json::from_str(FLEET_SCHEMA).unwrap();
    jsonschema::draft202012::meta::validate(&schema).unwrap();
    jsonschema::draft202012::new(&schema).unwrap()
}

/// What the schema says against a fleet.
pub(crate) fn complaints_of(json: &Value) -> Vec<String> {
    complaints(&validator(), json)
}

#[test]
fn samples_are_valid() {
    for fleet in [sample(), merged(&[run("a", 10, 1_000)])] {
        assert_eq!(complaints_of(&serde_json::to_value(fleet).unwrap()), Vec::<String>::new());
    }
}

#[test]
fn names_are_those_of_the_types() {
    let schema: Value = serde_json::from_str(FLEET_SCHEMA).unwrap();
    let sorted = |mut names: Vec<String>| {
        names.sort();
        names
    };
    let names = |place: &str| {
        sorted(schema["$defs"][place]["properties"].as_object().unwrap().keys().cloned().collect())
    };
    let metrics = sorted(Metric::ALL.iter().map(ToString::to_string).collect());
    assert_eq!(names("histograms"), metrics);
    let listed: Vec<String> = serde_json::from_value(schema["$defs"]["metric"]["enum"].clone()).unwrap();
    assert_eq!(sorted(listed), metrics);
    assert_eq!(names("counters"), sorted(Counter::ALL.iter().map(ToString::to_string).collect()));
    assert_eq!(names("losses"), sorted(Loss::ALL.iter().map(ToString::to_string).collect()));
    let facts = Fact::ALL.iter().map(|fact| serde_json::to_value(fact).unwrap().as_str().unwrap().to_owned());
    assert_eq!(names("facts"), sorted(facts.collect()));
}

/// What fleets and recordings share has one shape.
#[test]
fn histograms_are_those_of_recordings() {
    let [fleet, recording]: [Value; 2] =
        [FLEET_SCHEMA, RECORDING_SCHEMA].map(|text| serde_json::from_str(text).unwrap());
    for place in ["count", "ns", "histogram", "counters", "losses"] {
        assert_eq!(fleet["$defs"][place], recording["$defs"][place], "{place}");
    }
}

#[test]
fn every_field_has_a_type_and_is_required_and_no_other_is_allowed() {
    let validator = validator();
    let good = serde_json::to_value(sample()).unwrap();
    let mut all = vec![String::new()];
    places(&good, "", &mut all);
    assert!(all.len() > 200);
    for place in &all {
        let mut bad = good.clone();
        if let Some(object) = bad.pointer_mut(place).unwrap().as_object_mut() {
            object.insert("novelty".to_owned(), json!(1));
            assert!(!validator.is_valid(&bad), "{place}/novelty");
        }
        let Some((parent, key)) = place.rsplit_once('/') else { continue };
        for wrong in [json!({"x": []}), json!([{}]), json!(-1.5), json!(true)] {
            let mut bad = good.clone();
            let slot = bad.pointer_mut(place).unwrap();
            let allowed =
                slot.is_boolean() && wrong.is_boolean() || place.ends_with("/score") && wrong.is_f64();
            *slot = wrong;
            assert_eq!(validator.is_valid(&bad), allowed, "{place} = {}", bad.pointer(place).unwrap());
        }
        let set = parent.rsplit('/').next().unwrap();
        let mut bad = good.clone();
        if !matches!(set, "metrics" | "counters" | "losses" | "facts")
            && bad.pointer_mut(parent).unwrap().as_object_mut().is_some_and(|all| all.remove(key).is_some())
        {
            assert!(!validator.is_valid(&bad), "without {place}");
        }
    }
}
