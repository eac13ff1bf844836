//! The JSON Schema says what the types say.

use jsonschema::Validator;
use serde_json::{Value, json};

use super::*;

fn validator() -> Validator {
    let schema: Value = serde_json::from_str(RECORDING_SCHEMA).unwrap();
    jsonschema::draft202012::meta::validate(&schema).unwrap();
    jsonschema::draft202012::new(&schema).unwrap()
}

pub(crate) fn complaints(validator: &Validator, json: &Value) -> Vec<String> {
    validator.iter_errors(json).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

#[test]
fn sample_is_valid() {
    let json = serde_json::from_str(&written(&sample())).unwrap();
    assert_eq!(complaints(&validator(), &json), Vec::<String>::new());
}

#[test]
fn names_are_those_of_the_types() {
    let schema: Value = serde_json::from_str(RECORDING_SCHEMA).unwrap();
    let names = |place: &str| -> Vec<String> {
        schema["$defs"][place]["properties"].as_object().unwrap().keys().cloned().collect()
    };
    let sorted = |mut names: Vec<String>| {
        names.sort();
        names
    };
    let metrics = || sorted(Metric::ALL.iter().map(ToString::to_string).collect());
    assert_eq!(sorted(names("histograms")), metrics());
    assert_eq!(sorted(names("metric_bases")), metrics());
    assert_eq!(sorted(names("counters")), sorted(Counter::ALL.iter().map(ToString::to_string).collect()));
    assert_eq!(sorted(names("losses")), sorted(Loss::ALL.iter().map(ToString::to_string).collect()));
}

/// Every place in `json`, as the keys and indices that lead to it.
pub(crate) fn places(json: &Value, here: &str, all: &mut Vec<String>) {
    let children: Vec<(String, &Value)> = match json {
        Value::Object(members) => {
            members.iter().map(|(key, value)| (key.replace('~', "~0").replace('/', "~1"), value)).collect()
        }
        Value::Array(items) => {
            items.iter().enumerate().map(|(index, item)| (index.to_string(), item)).collect()
        }
        _ => return,
    };
    for (key, child) in children {
        let place = format!("{here}/{key}");
        places(child, &place, all);
        all.push(place);
    }
}

#[test]
fn every_field_has_a_type() {
    let validator = validator();
    let good = serde_json::to_value(sample()).unwrap();
    let mut all = Vec::new();
    places(&good, "", &mut all);
    assert!(all.len() > 200);
    for place in all.iter().filter(|place| !place.starts_with("/workload/result")) {
        for wrong in [json!({"x": []}), json!([{}]), json!(-1), json!(0.5), json!(true)] {
            let mut bad = good.clone();
            let slot = bad.pointer_mut(place).unwrap();
            let allowed = (slot.is_boolean() && wrong.is_boolean())
                || matches!(place.as_str(), "/tables" | "/slow_events") && wrong.is_array()
                || place.ends_with("/difference_ns") && wrong.is_i64()
                || (place.ends_with("exit_code") || place.ends_with("signal")) && wrong.is_i64()
                || ["per_flush", "per_section", "of_one_cpu"].iter().any(|end| place.ends_with(end))
                    && wrong.is_f64();
            *slot = wrong;
            assert_eq!(validator.is_valid(&bad), allowed, "{place} = {}", bad.pointer(place).unwrap());
        }
    }
}

#[test]
fn every_fixed_field_is_required() {
    let validator = validator();
    let good = serde_json::to_value(sample()).unwrap();
    let mut all = Vec::new();
    places(&good, "", &mut all);
    for place in &all {
        let (parent, key) = place.rsplit_once('/').unwrap();
        let last = parent.rsplit('/').next().unwrap();
        // What came later than the version.
        if matches!(place.as_str(), "/locks" | "/cross_check" | "/provenance/strategy") {
            continue;
        }
        // Sets of names may lack any of them.
        if matches!(last, "metrics" | "counters" | "losses") || place.starts_with("/workload/result/") {
            continue;
        }
        let mut bad = good.clone();
        if bad.pointer_mut(parent).unwrap().as_object_mut().is_some_and(|object| object.remove(key).is_some())
        {
            assert!(!validator.is_valid(&bad), "without {place}");
        }
    }
}

#[test]
fn no_field_is_added_unseen() {
    let validator = validator();
    let good = serde_json::to_value(sample()).unwrap();
    let mut all = vec![String::new()];
    places(&good, "", &mut all);
    for place in all.iter().filter(|place| !place.starts_with("/workload/result")) {
        let mut bad = good.clone();
        if let Some(object) = bad.pointer_mut(place).unwrap().as_object_mut() {
            object.insert("novelty".to_owned(), json!(1));
            assert!(!validator.is_valid(&bad), "{place}/novelty");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn generated_recordings_are_valid(recording in generate::recording()) {
        let json = serde_json::from_str(&written(&recording)).unwrap();
        prop_assert_eq!(complaints(&validator(), &json), Vec::<String>::new());
    }
}
